//! What an engine promises to the workloads: that each of them runs on it, and that its counts are right.

use std::time::Duration;

use conductor::Registry;
use load::error::Failure;
use load::error::FailureKind;
use model::{Length, Mark, MarkKind, Point, Reading, RunRecord, RunState, Schedule, Value};
use workloads::system::System;
use workloads::work::StreamTask;
use workloads::workload::{Action, Grants};

use super::subject::{Subject, reading, run, run_for, schedule, step_of, value};

crate::cases! {
    Statements every_script_runs_and_is_counted,
    Statements a_script_on_the_tables_of_others_is_counted_or_says_that_it_is_not,
    Statements super_smack_s_scripts_run,
    Statements the_published_table_is_made,
    Rows pages_are_filled_and_counted,
    Named every_family_runs_on_a_named_server,
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The task of a stream on tables that are made for it.
fn prepared(system: &dyn System, workload: &str, keys: &[(&str, Value)]) -> StreamTask {
    let point: Point = keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let task = Registry::built_in().workload(workload).unwrap().make_task(&point, &Grants::default()).unwrap();
    system.prepare(&task.dataset).unwrap_or_else(|failure| panic!("{failure}"));
    system.settle().unwrap();
    let Action::Stream(stream) = task.action else { panic!("{workload} is a stream") };
    stream
}

/// A number that a query gives; nothing where no rows are held.
fn count(system: &dyn System, sql: &str) -> Option<i64> {
    let none = |failure: Failure| assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
    system.scalar(sql).map_err(none).ok()
}

/// Each built-in script runs, its counts agree with the server's, and every run meets the same tables.
fn every_script_runs_and_is_counted(subject: &Subject) {
    // A server that somebody names may take its time with a connection's first statement.
    let schedule = if subject.is_named() {
        Schedule { length: Length::Duration(Duration::from_secs(2)), ..schedule(Duration::from_secs(2)) }
    } else {
        schedule(Duration::from_millis(100))
    };
    for (script, clients) in [("select-only", 1), ("select-update", 2), ("simple-update", 2), ("tpcb-like", 3)] {
        let (scale, rate) = (("scale", Value::Int(1)), ("rate", Value::Float(0.0)));
        let keys = [("script", text(script)), ("clients", Value::Int(clients)), scale, rate];
        let stream = prepared(&*subject.system, "transactions", &keys);
        let sum = count(&*subject.system, "SELECT sum(abalance) FROM pgbench_accounts");
        assert!(sum.is_none_or(|sum| sum == 0), "{script} meets what another run left");
        let record = match run_for(&*subject.system, &stream, &schedule) {
            // A busy machine may give it no processor in all of that time. What ended too late has changed the tables.
            Err(failure) if failure.kind == FailureKind::NothingEnded => {
                let length = Length::Duration(Duration::from_secs(10));
                let stream = prepared(&*subject.system, "transactions", &keys);
                run_for(&*subject.system, &stream, &Schedule { length, ..schedule.clone() })
            }
            record => record,
        };
        let record = record.unwrap_or_else(|failure| panic!("{script}: {failure}"));
        assert_eq!(record.state, RunState::Measured);
        assert!(value(&record, "throughput") > 0.0, "{script}");
        rows_are_those_of(script, &record);
        assert!(!record.series.is_empty());
    }
}

/// A lane that counts rows counts those of the script. An update that changes nothing may count as none.
fn rows_are_those_of(script: &str, record: &RunRecord) {
    let (returned, changed) = match script {
        "select-only" => (1.0, 0.0),
        "select-update" => return,
        "simple-update" => (1.0, 2.0),
        _ => (1.0, 4.0),
    };
    for (id, expected) in [("rows_returned", returned), ("rows_changed", changed)] {
        let Some(measured) = record.measurements.iter().find(|one| one.metric.id == id) else { continue };
        let rows = measured.reading.value().unwrap_or(f64::NAN);
        assert!((rows - expected).abs() <= 0.1 * expected, "{script}: {rows} {id}, where a transaction has {expected}");
    }
}

/// A script on tables that étalon did not make leaves none of its rows: it is counted by its sessions, or the run says that it
/// was not.
fn a_script_on_the_tables_of_others_is_counted_or_says_that_it_is_not(subject: &Subject) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("own.sql");
    std::fs::write(&script, "SELECT 1;\nBEGIN;\nSELECT 2;\nCOMMIT;\n").unwrap();
    let keys = [
        ("script", text(script.to_str().unwrap())),
        ("tables", text("none")),
        ("clients", Value::Int(2)),
        ("scale", Value::Int(1)),
        ("rate", Value::Float(0.0)),
    ];
    let stream = prepared(&*subject.system, "transactions", &keys);
    let record = run(&*subject.system, &stream, 50).unwrap_or_else(|failure| panic!("{failure}"));
    let is_not_counted = record.marks.iter().any(|mark| mark.kind == MarkKind::NotCounted);
    let has_sessions = record.measurements.iter().any(|one| one.metric.id.starts_with("server_session_"));
    // A simulated system has nobody who could have counted.
    assert!(is_not_counted != has_sessions || subject.name == "sim", "{:?}", record.marks);
}

/// super-smack's scripts bring their own statements: the table's, and queries with the words in them or as parameters.
fn super_smack_s_scripts_run(subject: &Subject) {
    for protocol in ["simple", "prepared"] {
        let keys = [
            ("script", text("update-select")),
            ("clients", Value::Int(2)),
            ("arguments", text("")),
            ("protocol", text(protocol)),
            ("rate", Value::Float(0.0)),
        ];
        // T-SQL's `LEN` does not count the blanks at the end.
        let letters = if subject.name == "sqlserver" { "LEN(pass)" } else { "length(trim(pass))" };
        let changed = &format!("SELECT count(*) FROM http_auth WHERE {letters} < 25");
        let count = |sql: &str| count(&*subject.system, sql);
        let run_anew = || {
            let stream = prepared(&*subject.system, "super-smack", &keys);
            assert!(count("SELECT count(*) FROM http_auth").is_none_or(|count| count == 90_000));
            assert!(count(changed).is_none_or(|count| count == 0), "it meets what another run left");
            let record = run(&*subject.system, &stream, 40).unwrap_or_else(|failure| panic!("{protocol}: {failure}"));
            assert_eq!(record.state, RunState::Measured);
            record.marks.into_iter().find(|mark| mark.kind == MarkKind::Errors)
        };
        // Two writers may wait longer for each other than the settings allow where a disk is slow.
        let errors: Vec<Mark> = (0..3).map_while(|_| run_anew()).collect();
        assert!(errors.len() < 3, "{protocol}: {errors:?}");
        // 40 updates of 750 rows; few of them meet twice. The stock passwords have 25 letters, the new ones fewer.
        assert!(count(changed).is_none_or(|count| (30..=40).contains(&count)), "{protocol}");
    }
}

/// A table that one statement makes inside the server: the same rows everywhere, or why the engine has no sessions.
fn the_published_table_is_made(subject: &Subject) {
    let keys = [("thread_count", Value::Int(3)), ("digits", Value::Int(3))];
    match step_of(&*subject.system, "table-creation", &keys) {
        Ok(record) => {
            assert!(value(&record, "elapsed") > 0.0);
            assert_eq!(subject.count("SELECT count(*) FROM table_a"), 3_000);
        }
        Err(failure) => assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}"),
    }
}

fn pages_are_filled_and_counted(subject: &Subject) {
    let record = match step_of(&*subject.system, "pages", &[("statements", Value::Int(60))]) {
        Ok(record) => record,
        Err(failure) => {
            assert!(subject.system.pages_dialect().is_none() && failure.kind == FailureKind::Unsupported, "{failure}");
            return;
        }
    };
    assert_eq!(value(&record, "rows"), 480.0);
    let page = value(&record, "page_size");
    assert!(page >= 512.0 && (page as u64).is_power_of_two(), "pages of {page} bytes");
    assert!(value(&record, "elapsed") > 0.0 && value(&record, "commits") > 0.0);
    // Pages that are small beside a row's own head hold it in two.
    let pages = value(&record, "row_size") / page;
    assert!((0.98..2.1).contains(&pages), "a row takes {pages} pages");
    for id in ["writes/data", "write_bytes/data", "write_bytes/log"] {
        match reading(&record, id) {
            Some(Reading::Value(count)) => assert!(*count > 0.0, "{id}: {count}"),
            Some(Reading::Unavailable(missing)) => assert!(!missing.reason.is_empty(), "{id}"),
            None => panic!("there is no {id}"),
        }
    }
}

/// The families whose other engines have suites of their own, on servers that étalon cannot start.
fn every_family_runs_on_a_named_server(subject: &Subject) {
    type Family<'a> = (&'a str, &'a [(&'a str, Value)], &'a [&'a str]);
    let families: [Family<'_>; 4] = [
        ("pages", &[("statements", Value::Int(60))], &["commits", "elapsed", "writes/log", "write_bytes/data"]),
        (
            "spatial",
            &[("side", Value::Int(6)), ("executions", Value::Int(1)), ("queries", text("all"))],
            &["elapsed/suite"],
        ),
        (
            "backup",
            &[("size_mib", Value::Int(4)), ("codec", text("ms_xpress")), ("where", text("server"))],
            &["backup_rate", "restore_rate", "backup_size", "rows_verified"],
        ),
        ("backup", &[("codec", text("none")), ("destination", text("nul"))], &["backup_rate", "backup_size"]),
    ];
    // A PostgreSQL that speaks TDS has no files, geometries and backups of SQL Server's, and says so of each figure.
    let facts = subject.system.facts().unwrap();
    let stands_in = facts.get("server.product").is_some_and(|product| product.starts_with("Babelfish"));
    let is_known = |record: &RunRecord, metric: &str| match reading(record, metric) {
        Some(Reading::Value(_)) => true,
        Some(Reading::Unavailable(missing)) => stands_in && !missing.reason.is_empty(),
        None => stands_in,
    };
    for (family, changed, metrics) in &families {
        let record = step_of(&*subject.system, family, changed);
        let record = record.unwrap_or_else(|failure| panic!("{family}: {failure}"));
        for metric in *metrics {
            assert!(is_known(&record, metric), "{family}, {metric}: {:?}", reading(&record, metric));
        }
    }
}
