//! Protocols, pipelines, foreign tables and other ways to run a script, in whole runs.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use model::{Length, Point, Reading, RunRecord};

use super::*;
use crate::suite::run_once;
use workloads::transactions::Transactions;
use workloads::workload::{Action, Grants, Task, Workload as _};

fn point(pairs: &[(&str, &str)]) -> Point {
    let mut point = Point::from([
        ("script".to_owned(), Value::Text("select-only".to_owned())),
        ("clients".to_owned(), Value::Int(3)),
        ("scale".to_owned(), Value::Int(1)),
        ("rate".to_owned(), Value::Float(0.0)),
    ]);
    point.extend(pairs.iter().map(|(key, text)| {
        ((*key).to_owned(), text.parse().map_or_else(|_| Value::Text((*text).to_owned()), Value::Int))
    }));
    point
}

pub(super) fn task(pairs: &[(&str, &str)]) -> Task {
    Transactions.make_task(&point(pairs), &Grants::default()).unwrap()
}

/// Runs a task as the conductor would.
pub(super) fn run(system: &dyn System, task: &Task, length: Length) -> Result<RunRecord, Failure> {
    let Action::Stream(stream) = &task.action else { panic!() };
    if task.tables() == Tables::Own {
        system.prepare(&task.dataset).unwrap();
    }
    system.settle().unwrap();
    run_once(system, stream, length)
}

fn count(record: &RunRecord, metric: &str) -> f64 {
    let found = record.measurements.iter().find(|measurement| measurement.metric.id == metric);
    match &found.unwrap_or_else(|| panic!("no {metric}")).reading {
        Reading::Value(value) => *value,
        Reading::Unavailable(reason) => panic!("{metric}: {reason}"),
    }
}

#[test]
fn scripts_run_in_every_way() {
    let server = start(Connect::Socket, &[("max_connections", "30")]);
    every_protocol_and_pipeline_counts_right(&server);
    tables_of_others_are_left_alone(&server);
    transactions_that_stay_open_are_told(&server);
    serialization_failures_are_tried_again(&server);
    connections_beyond_the_servers_limit(&server);
    server.drop_all().unwrap();
}

/// A database that holds bytes of any encoding, as old ones do.
#[test]
fn bytes_that_are_no_utf_8_are_read_by_scripts() {
    let server = start(Connect::Socket, &[]);
    server.run("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    let bytes = server.endpoint.on_database("bytes");
    let mut client = bytes.open_client("-c client_encoding=SQL_ASCII").unwrap();
    client.execute("CREATE TABLE latin AS SELECT convert_from('\\xe9'::bytea, 'SQL_ASCII') AS t").unwrap();
    client.close_and_wait();
    let Address { host, port, user, .. } = &server.endpoint.address;
    let url = format!("postgres://{user}@/bytes?host={host}&port={port}");
    let system = open(&url, &[], Consent::OwnOnly).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("latin.sql");
    for (script, protocol, fails) in [
        ("SELECT t, 'é' FROM latin;", "prepared", false),
        ("SELECT t, 'é' FROM latin;", "simple", false),
        ("SELECT length(t) AS n FROM latin \\gset\nSELECT 1 / (2 - :n);", "simple", false),
        ("SELECT t FROM latin \\gset\nSELECT 1 FROM latin WHERE t = :t;", "prepared", true),
    ] {
        std::fs::write(&file, script).unwrap();
        let task = task(&[("script", file.to_str().unwrap()), ("tables", "none"), ("protocol", protocol)]);
        match run(&*system, &task, Length::Transactions(10)) {
            Ok(record) => assert!(!fails && count(&record, "errors") == 0.0, "{script}, {protocol}"),
            Err(failure) => assert!(fails && failure.cause.contains("not UTF-8"), "{script}, {protocol}: {failure}"),
        }
    }
    // Étalon's own tables, too.
    run(&*system, &task(&[("script", "tpcb-like")]), Length::Transactions(10)).unwrap();
    system.drop_all().unwrap();
    server.drop_all().unwrap();
}

/// The run itself compares the client's counts with the server's tables.
fn every_protocol_and_pipeline_counts_right(server: &PostgresSystem) {
    for (script, protocol, pipeline) in [
        ("select-only", "extended", "1"),
        ("select-only", "prepared", "20"),
        ("select-only", "extended", "7"),
        ("tpcb-like", "simple", "1"),
        ("tpcb-like", "extended", "1"),
        ("tpcb-like", "prepared", "4"),
        ("select-update", "simple", "1"),
        ("select-update", "extended", "3"),
        ("select-update", "prepared", "5"),
    ] {
        let task = task(&[("script", script), ("protocol", protocol), ("pipeline", pipeline)]);
        let record =
            run(server, &task, Length::Transactions(40)).unwrap_or_else(|f| panic!("{script}, {protocol}: {f}"));
        let depth: u64 = pipeline.parse().unwrap();
        let each = 40u64.div_ceil(depth) * depth;
        let recorded: Histogram<u64> = Deserializer::new().deserialize(&mut &record.series[0].histogram[..]).unwrap();
        assert_eq!((recorded.len(), count(&record, "errors")), (3 * each, 0.0), "{script}, {protocol}, {pipeline}");
        let commits = count(&record, "server_commits") as u64;
        if script != "select-only" {
            assert!(commits >= 3 * each, "{script}, {protocol}, {pipeline}: {commits}");
        }
    }
}

fn tables_of_others_are_left_alone(server: &PostgresSystem) {
    server.run(
        "DROP SCHEMA etalon CASCADE; CREATE TABLE public.mine (k integer PRIMARY KEY, n integer); \
         INSERT INTO public.mine VALUES (1, 0)",
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.sql");
    std::fs::write(&file, "UPDATE mine SET n = n + :step WHERE k = 1;").unwrap();
    let task = task(&[("script", file.to_str().unwrap()), ("tables", "none"), ("define", "step=2"), ("clients", "1")]);
    let system: PostgresSystem = testing::made_for(server.endpoint.clone(), None, Tables::None);
    run(&system, &task, Length::Transactions(25)).unwrap();
    assert_eq!(system.scalar("SELECT n FROM mine").unwrap(), 50);
    // Built-in scripts run on foreign pgbench tables, whatever was in them.
    server.run(
        "CREATE TABLE public.pgbench_accounts AS SELECT g AS aid, 1 AS bid, 7 AS abalance FROM generate_series(1, 1000) g",
    );
    let built_in = self::task(&[("script", "select-update"), ("tables", "none"), ("protocol", "simple")]);
    run(&system, &built_in, Length::Transactions(5)).unwrap();
    system.drop_all().unwrap();
    let left = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(server.text(left), "2");
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
    server.run("DROP TABLE public.mine, public.pgbench_accounts");
}

fn transactions_that_stay_open_are_told(server: &PostgresSystem) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open.sql");
    std::fs::write(&file, "\\set a random(1, 100)\nBEGIN;\nUPDATE pgbench_accounts SET bid = 1 WHERE aid = :a;\n")
        .unwrap();
    for (protocol, pipeline) in [("prepared", "1"), ("simple", "1"), ("prepared", "4")] {
        let pairs = [("script", file.to_str().unwrap()), ("protocol", protocol), ("pipeline", pipeline)];
        let failure = run(server, &task(&pairs), Length::Transactions(5)).unwrap_err();
        assert!(failure.cause.contains("the script ends in an open transaction"), "{protocol}, {pipeline}: {failure}");
    }
}

fn serialization_failures_are_tried_again(server: &PostgresSystem) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hot.sql");
    let script = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT abalance FROM pgbench_accounts WHERE aid = 1;\n\\sleep 1 ms\n\
                  UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 1;\nCOMMIT;\n";
    std::fs::write(&file, script).unwrap();
    let record = |max_tries: &str| {
        let pairs = [("script", file.to_str().unwrap()), ("max_tries", max_tries), ("clients", "4")];
        run(server, &task(&pairs), Length::Transactions(20)).unwrap()
    };
    let once = record("1");
    assert!(count(&once, "errors_serialization") > 0.0);
    let often = record("0");
    assert_eq!(count(&often, "errors"), 0.0);
    assert!(count(&often, "retries") > 0.0);
    assert_eq!(server.scalar("SELECT abalance FROM pgbench_accounts WHERE aid = 1").unwrap(), 80);
}

fn connections_beyond_the_servers_limit(server: &PostgresSystem) {
    let failure = run(server, &task(&[("clients", "60")]), Length::Transactions(1)).unwrap_err();
    assert!(failure.cause.contains("[SQLSTATE 53300]"), "{failure}");
    assert!(failure.cause.contains("connections were made"), "{failure}");
    let hint = failure.hint.clone().unwrap();
    assert!(hint.contains("max_connections is 30") && hint.contains("3 are reserved"), "{hint}");
    // Nothing is left to disturb the next run.
    run(server, &task(&[("clients", "20")]), Length::Transactions(1)).unwrap();
}
