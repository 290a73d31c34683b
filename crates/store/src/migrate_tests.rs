//! The mechanism, with steps that exist in the tests only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use model::plan::ComparisonRules;
use model::{Benchmark, Length, OnError, Order, Plan, PlannedRun, Schedule, SystemPlan, Value};

use super::*;
use crate::{Header, Store};

/// A step after the newest that there is.
const NEXT: &str = "
    CREATE TABLE marks_new (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs (id),
                            kind TEXT NOT NULL, detail TEXT NOT NULL, weight INTEGER NOT NULL) STRICT;
    INSERT INTO marks_new SELECT id, run_id, kind, detail, 1 FROM marks;
    DROP TABLE marks;
    ALTER TABLE marks_new RENAME TO marks;
    ALTER TABLE runs ADD COLUMN note TEXT;
    UPDATE runs SET note = 'from an older version';";

fn with(next: &'static str) -> Vec<&'static str> {
    STEPS.iter().copied().chain([next]).collect()
}

fn header() -> Header {
    let system = SystemPlan {
        name: "a".into(),
        engine: "sim".into(),
        url: "sim:".into(),
        settings: BTreeMap::new(),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    };
    let point = BTreeMap::from([("clients".to_owned(), Value::Int(4))]);
    Header {
        etalon_version: "0.1.0".into(),
        build: "debug".into(),
        created_unix_ms: 1,
        plan: Plan {
            fleet: None,
            name: "p".into(),
            systems: vec![system],
            benchmarks: vec![Benchmark {
                name: "b".into(),
                workload: "w".into(),
                stands_for: None,
                points: vec![point],
                by_default: BTreeSet::new(),
            }],
            schedule: Schedule {
                rounds: 2,
                warmup: Duration::ZERO,
                length: Length::Duration(Duration::from_secs(1)),
                order: Order::Interleaved,
                seed: 1,
                on_error: OnError::Stop,
                until_sure: None,
                caches: model::Caches::Warmed,
            },
            comparison: ComparisonRules {
                baseline: "a".into(),
                margin: 0.03,
                level: 0.95,
                allow_unequal_durability: false,
                allow_sequential_order: false,
                allow_different_rows: false,
            },
        },
        plan_text: String::new(),
        plan_path: None,
        plan_hash: "h".into(),
        command: "etalon run".into(),
    }
}

fn order() -> Vec<PlannedRun> {
    (0..2).map(|n| PlannedRun { position: n, round: n, case: 0 }).collect()
}

fn fixture() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    Store::create(&path, &header(), &order()).unwrap().close().unwrap();
    (dir, path)
}

fn user_version(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn version_0_becomes_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
    conn.execute_batch("VACUUM").unwrap();
    drop(conn);
    assert_eq!(user_version(&path), 0);
    // Tables, but no experiment in them: that is no store that anybody could have made.
    assert!(matches!(Store::open(&path), Err(StoreError::Damaged { .. })));
    assert_eq!(user_version(&path), newest_version(STEPS));
    conn = Connection::open(&path).unwrap();
    crate::header::save_plan(&conn, &path, &header(), &order()).unwrap();
    drop(conn);
    assert_eq!(*Store::open(&path).unwrap().header(), header());
}

#[test]
fn an_older_store_keeps_its_content() {
    let (_dir, path) = fixture();
    let mut store = Store::open_with(&path, &with(NEXT)).unwrap();
    assert_eq!(*store.header(), header());
    assert_eq!(store.pending().unwrap(), order());
    let notes: Vec<String> = store.query_rows("x", "SELECT note FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(notes, ["from an older version"; 2]);
    store.begin_run(order()[0], 5).unwrap();
    store.check_integrity().unwrap();
    // Foreign keys are on again.
    assert!(store.conn.execute("INSERT INTO marks VALUES (NULL, 99, 'k', 'd', 1)", []).is_err());
    store.close().unwrap();
    assert_eq!(user_version(&path), newest_version(STEPS) + 1);
}

#[test]
fn series_of_version_1_are_kept_and_the_backlog_may_join_them() {
    let mut conn = Connection::open_in_memory().unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    migrate(&mut conn, Path::new("x"), &[schema::V1]).unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    fn insert(kind: &str) -> String {
        format!("INSERT INTO series VALUES (NULL, 1, 'h', '{kind}', NULL, 5, 0, x'01')")
    }
    conn.execute_batch(&insert("response")).unwrap();
    assert!(conn.execute_batch(&insert("backlog")).is_err());
    conn.execute_batch(schema::V2).unwrap();
    conn.execute_batch(&insert("backlog")).unwrap();
    assert!(conn.execute_batch(&insert("backlog")).is_err(), "once for each run, host, kind and interval");
    assert!(conn.execute_batch(&insert("other")).is_err());
    let rows: i64 = conn.query_row("SELECT count(*) FROM series", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 2);
}

#[test]
fn runs_of_version_2_are_kept_and_may_be_superseded() {
    let mut conn = Connection::open_in_memory().unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    migrate(&mut conn, Path::new("x"), &[schema::V1, schema::V2]).unwrap();
    conn.execute_batch(
        "INSERT INTO cells VALUES (0, 'b', 'w', 's', '{}');
         INSERT INTO trials VALUES (1, 0, 0, 0, 1, 'measured', NULL, 5, 1.5);
         INSERT INTO measurements VALUES (1, 1, 'throughput', 'tx/s', 'higher', 'primary', 7.0, NULL)",
    )
    .unwrap();
    assert!(conn.execute_batch("UPDATE trials SET state = 'superseded', reason = 'why'").is_err());
    let supersede = "UPDATE runs SET state = 'superseded', reason = 'why'";
    migrate(&mut conn, Path::new("x"), STEPS).unwrap();
    assert_eq!([count(&conn, "results"), count(&conn, "journal")], [1, 1]);
    assert!(conn.execute_batch("UPDATE runs SET state = 'superseded'").is_err(), "without a reason");
    conn.execute_batch(supersede).unwrap();
    assert_eq!([count(&conn, "results"), count(&conn, "measurements")], [0, 1]);
    // A measurement still has to be of a run.
    conn.pragma_update(None, "foreign_keys", true).unwrap();
    assert!(conn.execute_batch("UPDATE measurements SET run_id = 2").is_err());
}

fn count(conn: &Connection, view: &str) -> i64 {
    conn.query_row(&format!("SELECT count(*) FROM {view}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn reading_an_older_store_leaves_the_file_alone() {
    let (_dir, path) = fixture();
    let before = std::fs::read(&path).unwrap();
    let store = Store::open_read_only_with(&path, &with(NEXT)).unwrap();
    assert_eq!(store.pending().unwrap(), order());
    let notes: Vec<String> = store.query_rows("x", "SELECT note FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(notes.len(), 2);
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let (_dir, path) = fixture();
    Store::open_with(&path, &with(NEXT)).unwrap().close().unwrap();
    let before = std::fs::read(&path).unwrap();
    for result in [Store::open(&path), Store::open_read_only(&path)] {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::NewerVersion { found: 10, known: 9, .. }), "{error}");
        assert!(error.to_string().contains("has version 10, this étalon knows versions up to 9"), "{error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let (_dir, path) = fixture();
    let broken = "ALTER TABLE runs ADD COLUMN note TEXT; INSERT INTO nowhere VALUES (1);";
    assert!(Store::open_with(&path, &with(broken)).is_err());
    let orphans = "DELETE FROM cases;";
    let error = Store::open_with(&path, &with(orphans)).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(user_version(&path), newest_version(STEPS));
    let store = Store::open(&path).unwrap();
    assert_eq!(store.pending().unwrap(), order());
    assert!(store.conn.prepare("SELECT note FROM runs").is_err());
}

#[test]
fn a_plan_of_version_3_opens_with_the_words_of_today() {
    let mut conn = Connection::open_in_memory().unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    migrate(&mut conn, Path::new("x"), &[schema::V1, schema::V2, schema::V3]).unwrap();
    let mut plan = serde_json::to_value(&header().plan).unwrap();
    plan["name"] = "\"blocks\": of \"blocks\":".into();
    let schedule = plan["schedule"].as_object_mut().unwrap();
    let rounds = schedule.remove("rounds").unwrap();
    schedule.insert("blocks".to_owned(), rounds);
    let save = "INSERT INTO experiment VALUES (1, 'p', '0.1.0', 'debug', 1, 'etalon run', NULL, 'h', '', ?1)";
    conn.execute(save, [plan.to_string()]).unwrap();
    conn.execute_batch(
        "INSERT INTO facts VALUES ('a', 'imported.repetitions', 'blocks', NULL, 'passing', 1);
         INSERT INTO facts VALUES ('a', 'checkpoint_before_trial', 'yes', NULL, 'identity', 1);",
    )
    .unwrap();
    migrate(&mut conn, Path::new("x"), STEPS).unwrap();
    let read: String = conn.query_row("SELECT plan_json FROM experiment", [], |row| row.get(0)).unwrap();
    let read: Plan = serde_json::from_str(&read).unwrap();
    assert_eq!(read, Plan { name: "\"blocks\": of \"blocks\":".into(), ..header().plan });
    let facts = "SELECT group_concat(name || '=' || value, ' ' ORDER BY name) FROM facts";
    let facts: String = conn.query_row(facts, [], |row| row.get(0)).unwrap();
    assert_eq!(facts, "checkpoint_before_run=yes imported.repetitions=rounds");
}

#[test]
fn reasons_of_version_5_become_data() {
    let mut conn = Connection::open_in_memory().unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    migrate(&mut conn, Path::new("x"), &STEPS[..5]).unwrap();
    conn.execute_batch(
        "INSERT INTO cases VALUES (0, 'b', 'w', 's', '{}');
         INSERT INTO runs VALUES (1, 0, 0, 0, 1, 'measured', NULL, 5, 1.5);
         INSERT INTO runs VALUES (2, 1, 1, 0, 1, 'aborted', 'interrupted by the user: connection lost', 5, 0);
         INSERT INTO runs VALUES (3, 2, 2, 0, 1, 'aborted', 'it hung', 5, 0);
         INSERT INTO measurements VALUES (1, 1, 'throughput', 'tx/s', 'higher', 'primary', 7.0, NULL);
         INSERT INTO measurements VALUES (2, 1, 'm2', '', 'lower', 'primary', NULL, 'wrong answer: unsupported: 5');
         INSERT INTO measurements VALUES (3, 1, 'm3', '', 'lower', 'primary', NULL, 'unsupported: no union');
         INSERT INTO measurements VALUES (4, 1, 'm4', '', 'lower', 'primary', NULL, 'failed: 24144');
         INSERT INTO measurements VALUES (5, 1, 'm5', '', 'lower', 'primary', NULL, 'fewer than 1000 reads in the run');
         INSERT INTO measurements VALUES (6, 1, 'm6', '', 'lower', 'primary', NULL, 'fewer than two numbers of it');
         INSERT INTO measurements VALUES (7, 1, 'other_load_on_b', 'cores', 'lower', 'diagnostic', 1.0, NULL);
         INSERT INTO measurements VALUES (8, 1, 'other_load_on_b: c', 'cores', 'lower', 'diagnostic', 1.0, NULL);
         INSERT INTO marks VALUES (1, 1, 'warm-up-too-short', 'the rate of b changed its level after 7 of 60 intervals');
         INSERT INTO marks VALUES (2, 1, 'errors', '12 × serialization: could not serialize access');
         INSERT INTO marks VALUES (3, 1, 'errors', '1 × constraint: deadlock: no');
         INSERT INTO marks VALUES (4, 1, 'machine-busy', 'b: others used 2 cores');
         INSERT INTO marks VALUES (5, 1, 'machine-busy', 'b: c: others used 3 cores');
         INSERT INTO marks VALUES (6, 1, 'machine-busy', 'others: 4 cores');
         INSERT INTO marks VALUES (7, 1, 'note', 'b: is no host here')",
    )
    .unwrap();
    migrate(&mut conn, Path::new("x"), STEPS).unwrap();
    let rows = |sql: &str| {
        let mut query = conn.prepare(sql).unwrap();
        let rows = query.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        rows.map(|row| row.unwrap().unwrap_or_default()).collect::<Vec<_>>()
    };
    let of_measurements =
        "SELECT concat_ws('|', absence, operations_needed, unavailable) FROM measurements ORDER BY id";
    assert_eq!(
        rows(of_measurements),
        [
            "",
            "wrong|unsupported: 5",
            "unsupported|no union",
            "failed|24144",
            "too-few-operations|1000|fewer than 1000 reads in the run",
            "unavailable|fewer than two numbers of it",
            "",
            "",
        ]
    );
    let of_marks = "SELECT concat_ws('|', host, detail, data) FROM marks ORDER BY id";
    assert_eq!(
        rows(of_marks),
        [
            "the rate of b changed its level after 7 of 60 intervals|{\"change_point\":{\"after\":7,\"of\":60}}",
            "12 × serialization: could not serialize access|\"lost_to_others\"",
            "1 × constraint: deadlock: no",
            "b|others used 2 cores",
            "b: c|others used 3 cores",
            "others: 4 cores",
            "b: is no host here",
        ]
    );
    assert_eq!(rows("SELECT state FROM runs ORDER BY id"), ["measured", "aborted", "failed"]);
    let data = rows("SELECT data FROM marks WHERE id = 1").remove(0);
    let data: model::MarkData = serde_json::from_str(&data).unwrap();
    assert_eq!(data, model::MarkData::ChangePoint { after: 7, of: 60 });
}
