//! The spatial suite on real engines, small: their answers equal the oracle's.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "shared/procedure.rs"]
mod procedure;
#[path = "shared/releases.rs"]
mod releases;

use std::path::Path;

use load::error::Failure;
use model::{Absence, Measurement, NoValue, Reading, RunRecord, SystemPlan, Value};
use workloads::session::SessionKind;
use workloads::spatial::Query;
use workloads::system::System;

use procedure::{open, private, reading, system};
use releases::folders_of;

fn sqlite(folder: &Path) -> SystemPlan {
    // Only the answers matter here, not durability.
    system("sqlite", format!("sqlite:{}/country.db", folder.display()), &[("synchronous", "OFF")])
}

fn run(system: &dyn System, keys: &[(&str, Value)]) -> Result<RunRecord, Failure> {
    procedure::run("spatial", system, keys)
}

fn small(side: i64) -> Vec<(&'static str, Value)> {
    vec![
        ("side", Value::Int(side)),
        ("queries", Value::Text("all".to_owned())),
        ("executions", Value::Int(3)),
        ("cold", Value::Bool(false)),
    ]
}

fn assert_all_right(name: &str, record: &RunRecord) {
    for measurement in record.measurements.iter().filter(|m| m.metric.id.starts_with("elapsed/")) {
        let Measurement { metric, reading } = measurement;
        assert!(matches!(reading, Reading::Value(ms) if *ms > 0.0), "{name}: {}: {reading:?}", metric.id);
    }
    assert_eq!(reading(record, "answers_right"), &Reading::Value(15.0), "{name}");
    for metric in ["elapsed/suite", "published/suite", "load", "index_build"] {
        assert!(matches!(reading(record, metric), Reading::Value(ms) if *ms > 0.0), "{name}: {metric}");
    }
}

#[test]
fn spatialite_answers_as_the_oracle_does() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let system = open(&sqlite(folder.path()));
    let facts = system.read_session_facts(SessionKind::Spatial).unwrap();
    assert!(facts.get("spatialite.version").is_some());
    for (seed, points) in [(1, "uniform"), (2, "clustered")] {
        let mut keys = small(9);
        keys.extend([("data_seed", Value::Int(seed)), ("points", Value::Text(points.to_owned()))]);
        assert_all_right(points, &run(&*system, &keys).unwrap());
    }
    system.drop_all().unwrap();
}

/// SQLite's planner must use the R-tree for the second table of a join, and not scan it.
#[test]
fn joins_in_spatialite_go_by_the_r_tree() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let system = open(&sqlite(folder.path()));
    run(&*system, &small(9)).unwrap();
    let mut session = system.connect_session(SessionKind::Spatial).unwrap();
    let dialect = system.spatial_dialect().unwrap();
    for query in Query::all() {
        let sql = dialect.query_text(query, 4_096).unwrap();
        if !sql.contains("SpatialIndex") {
            continue;
        }
        let plan = session.query(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps: Vec<String> = plan.iter().map(|row| format!("{:?}", row[3])).collect();
        let by_row = steps.iter().any(|step| step.contains("USING INTEGER PRIMARY KEY (rowid=?)"));
        assert!(by_row, "{}: {steps:?}", query.name());
    }
    drop(session);
    system.drop_all().unwrap();
}

/// Polygons with holes that touch in every way; lines at any angle, with points.
fn of_files() -> [Vec<(&'static str, Value)>; 2] {
    let files =
        ["lands", "roads"].map(|name| format!("{}/../workloads/tests/shapes/{name}.json", env!("CARGO_MANIFEST_DIR")));
    files.map(|file| [small(9), vec![("shapes", Value::Text(file))]].concat())
}

fn assert_all_right_of_shapes(name: &str, system: &dyn System) {
    for keys in of_files() {
        let record = run(system, &keys).unwrap();
        for measurement in record.measurements.iter().filter(|m| m.metric.id.starts_with("elapsed/")) {
            let Measurement { metric, reading } = measurement;
            assert!(matches!(reading, Reading::Value(ms) if *ms > 0.0), "{name}: {}: {reading:?}", metric.id);
        }
        assert_eq!(reading(&record, "answers_right"), &Reading::Value(14.0), "{name}: all but S9");
    }
}

#[test]
fn spatialite_and_postgis_answer_as_the_oracle_does_on_shapes_of_a_file() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let system = open(&sqlite(folder.path()));
    assert_all_right_of_shapes("spatialite", &*system);
    system.drop_all().unwrap();
    let system = open(&private("postgres", None, &[("fsync", "off")]));
    assert_all_right_of_shapes("postgis", &*system);
    system.drop_all().unwrap();
}

#[test]
fn postgis_answers_as_the_oracle_does() {
    let system = open(&private("postgres", None, &[("fsync", "off")]));
    let facts = system.read_session_facts(SessionKind::Spatial).unwrap();
    assert!(facts.get("postgis.version").is_some() && facts.get("geos.version").is_some());
    let mut keys = small(9);
    keys.push(("clients", Value::Int(3)));
    assert_all_right("postgis", &run(&*system, &keys).unwrap());
    system.drop_all().unwrap();
}

/// All but the union, for which it has an aggregate since 8.0.24, and `ST_Relate`.
#[test]
fn mysql_answers_as_the_oracle_does() {
    for folder in folders_of("mysql") {
        let system = open(&private("mysql", Some(folder), &[("innodb_flush_log_at_trx_commit", "0")]));
        let record = run(&*system, &small(9)).unwrap();
        for Measurement { metric, reading } in &record.measurements {
            let is_lacking = ["elapsed/suite", "elapsed/S8-union", "elapsed/S14-relate"].contains(&metric.id.as_str());
            if metric.id.starts_with("elapsed/") && !is_lacking {
                assert!(matches!(reading, Reading::Value(ms) if *ms > 0.0), "{}: {reading:?}", metric.id);
            }
        }
        assert_eq!(reading(&record, "answers_right"), &Reading::Value(13.0));
        let union = Reading::Unavailable(Absence::Unsupported.with_reason("the engine has no union as an aggregate"));
        assert_eq!(reading(&record, "elapsed/S8-union"), &union);
        system.drop_all().unwrap();
    }
}

/// MariaDB 10.11 and 11.4 give wrong answers to three of the queries and none to two: both are found and shown, and stop
/// nothing. Other versions may do better.
#[test]
fn mariadb_is_judged_query_by_query() {
    for bin_dir in std::iter::once(None).chain(folders_of("mariadb").into_iter().map(Some)) {
        judge_mariadb(bin_dir);
    }
}

fn judge_mariadb(bin_dir: Option<String>) {
    let system = open(&private("mariadb", bin_dir, &[("innodb_flush_log_at_trx_commit", "0")]));
    let product = system.facts().unwrap().get("server.product").unwrap().to_owned();
    let mut keys = small(9);
    // With this seed's data a distance from a point to a line comes out wrong.
    keys.push(("data_seed", Value::Int(1)));
    let record = run(&*system, &keys).unwrap();
    let right =
        ["S2-area", "S3-length", "S4-inside", "S5-touch", "S6-cross", "S7-clip", "S9-buffer", "S10-knn", "S12-hull"];
    for query in right {
        let reading = reading(&record, &format!("elapsed/{query}"));
        assert!(matches!(reading, Reading::Value(ms) if *ms > 0.0), "{product}: {query}: {reading:?}");
    }
    let Reading::Unavailable(why) = reading(&record, "elapsed/suite") else { panic!("a total without S8") };
    assert!(why.reason.starts_with("no total without S"), "{why}");
    let union = Reading::Unavailable(Absence::Unsupported.with_reason("the engine has no union as an aggregate"));
    assert_eq!(reading(&record, "elapsed/S8-union"), &union);
    if product == "MariaDB" {
        // It measures to the nearest corner of the line.
        let within = reading(&record, "elapsed/S11-within");
        assert!(
            matches!(within, Reading::Unavailable(NoValue { kind: Absence::Wrong, reason }) if reason.starts_with("pairs: expected")),
            "{within:?}"
        );
    }
    system.drop_all().unwrap();
}
