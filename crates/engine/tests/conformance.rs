//! One suite for every engine of the registry: whoever adds one passes this, or is not done.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::step::{self, StepContext};
use engine::target::{Engine, LoadKind, OpenRequest, Target};
use engine::traffic::Traffic;
use engine::trial::TrialRun;
use engine::workloads::{Action, Grants};
use engine::{Consent, FailureKind, Registry, Silent};
use model::plan::{Connect, PrivateServer};
use model::{Length, MarkKind, OnError, Order, Point, Reading, Schedule, SystemPlan, TrialState, Value};

/// Servers that étalon cannot start, and the variables that name one.
const NAMED: [(&str, &str); 1] = [("sqlserver", "ETALON_TEST_MSSQL")];

/// The engine that a build has only with the feature of its name; others refuse it, which has a test of its own.
const FEATURE: (&str, bool) = ("sqlcipher", cfg!(feature = "sqlcipher"));

/// A system of an engine that the test may do with as it likes; none where nobody names a server, or the build has no such engine.
fn system(engine: &dyn Engine, folder: &Path) -> Option<SystemPlan> {
    let spec = engine.spec();
    if FEATURE == (spec.name, false) {
        return None;
    }
    if let Some((_, variable)) = NAMED.iter().find(|(name, _)| *name == spec.name) {
        let Ok(url) = std::env::var(variable) else {
            eprintln!("{}: left out, since {variable} names no server", spec.name);
            return None;
        };
        return Some(named(spec.name, url, None));
    }
    let start = |name: &&str| PrivateServer { engine: (*name).to_owned(), bin_dir: None, connect: Connect::Socket };
    let server = spec.private_servers.first().map(start);
    let url = if server.is_some() { String::new() } else { format!("{}:{}/db", spec.schemes[0], folder.display()) };
    Some(named(spec.name, url, server))
}

fn named(name: &str, url: String, server: Option<PrivateServer>) -> SystemPlan {
    let (name, engine) = (name.to_owned(), name.to_owned());
    SystemPlan { name, engine, url, settings: std::collections::BTreeMap::new(), server, volume: None, alias_of: None }
}

fn schedule() -> Schedule {
    Schedule {
        blocks: 1,
        warmup: Duration::from_millis(100),
        length: Length::Duration(Duration::from_millis(400)),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
    }
}

/// The engines that answer statements; the others have suites of their own.
fn on_every_sql_engine(check: impl Fn(&str, &dyn Target)) {
    on_every_engine(|name, target| {
        if target.carries() == LoadKind::Statements {
            check(name, target);
        }
    });
}

fn on_every_engine(check: impl Fn(&str, &dyn Target)) {
    let registry = Registry::built_in();
    for engine in registry.engines() {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let Some(system) = system(*engine, folder.path()) else { continue };
        let request = OpenRequest::new(&system, Consent::OwnOnly);
        let target = registry.open(&request).unwrap_or_else(|failure| panic!("{}: {failure}", system.name));
        check(&system.name, &*target);
        target.drop_all().unwrap();
        drop(target);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{}: left behind {left:?}", system.name);
    }
}

/// Every built-in script runs, its counts agree with the server's, and every trial meets the same tables.
#[test]
fn every_engine_runs_every_script_and_counts_right() {
    on_every_sql_engine(|name, target| {
        let workload = Registry::built_in().workload("transactions").unwrap();
        // A server that somebody names may take its time with a connection's first statement.
        let schedule = match NAMED.iter().any(|(engine, _)| *engine == name) {
            true => Schedule {
                warmup: Duration::from_secs(2),
                length: Length::Duration(Duration::from_secs(2)),
                ..schedule()
            },
            false => schedule(),
        };
        for (script, clients) in [("select-only", 1), ("select-update", 2), ("simple-update", 2), ("tpcb-like", 3)] {
            let point = Point::from([
                ("script".to_owned(), Value::Text(script.to_owned())),
                ("clients".to_owned(), Value::Int(clients)),
                ("scale".to_owned(), Value::Int(1)),
                ("rate".to_owned(), Value::Float(0.0)),
            ]);
            let task = workload.task(&point, &Grants::default()).unwrap();
            let Action::Stream(stream) = &task.action else { panic!("{script} is a stream") };
            target.prepare(&task.dataset).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            target.settle().unwrap();
            match target.scalar("SELECT sum(abalance) FROM pgbench_accounts") {
                Ok(sum) => assert_eq!(sum, 0, "{name}: {script} meets what another trial left"),
                Err(failure) => assert_eq!(failure.kind, FailureKind::Unsupported, "{name}: {failure}"),
            }
            let interrupt = AtomicBool::new(false);
            let run = TrialRun { target, task: stream, schedule: &schedule, seed: 7, interrupt: &interrupt };
            let record = run.run(&mut Silent).unwrap_or_else(|failure| panic!("{name}, {script}: {failure}"));
            assert_eq!(record.state, TrialState::Measured);
            let throughput = record.measurements.iter().find(|m| m.metric.id == "throughput").unwrap();
            assert!(matches!(throughput.reading, Reading::Value(rate) if rate > 0.0), "{name}, {script}");
            assert!(!record.series.is_empty());
        }
    });
}

/// A script on tables that étalon did not make leaves none of its rows: it is counted by its sessions, or the trial says that it
/// was not.
#[test]
fn every_engine_counts_a_script_on_the_tables_of_others_or_says_that_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("own.sql");
    std::fs::write(&script, "SELECT 1;\nBEGIN;\nSELECT 2;\nCOMMIT;\n").unwrap();
    on_every_sql_engine(|name, target| {
        let text = |text: &str| Value::Text(text.to_owned());
        let point = Point::from([
            ("script".to_owned(), text(script.to_str().unwrap())),
            ("tables".to_owned(), text("none")),
            ("clients".to_owned(), Value::Int(2)),
            ("scale".to_owned(), Value::Int(1)),
            ("rate".to_owned(), Value::Float(0.0)),
        ]);
        let task = Registry::built_in().workload("transactions").unwrap().task(&point, &Grants::default()).unwrap();
        let Action::Stream(stream) = &task.action else { panic!("a script is a stream") };
        target.prepare(&task.dataset).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let schedule = Schedule { warmup: Duration::ZERO, length: Length::Transactions(50), ..schedule() };
        let interrupt = AtomicBool::new(false);
        let run = TrialRun { target, task: stream, schedule: &schedule, seed: 7, interrupt: &interrupt };
        let record = run.run(&mut Silent).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let is_not_counted = record.marks.iter().any(|mark| mark.kind == MarkKind::NotCounted);
        let has_sessions = record.measurements.iter().any(|one| one.metric.id.starts_with("server_session_"));
        // A simulated system has nobody who could have counted.
        assert!(is_not_counted != has_sessions || name == "sim", "{name}: {:?}", record.marks);
    });
}

/// super-smack's scripts bring their own statements: the table's, and queries with the words in them or as parameters.
#[test]
fn every_engine_runs_super_smack_s_scripts() {
    on_every_sql_engine(|name, target| {
        let workload = Registry::built_in().workload("super-smack").unwrap();
        let schedule = Schedule { warmup: Duration::ZERO, length: Length::Transactions(40), ..schedule() };
        for protocol in ["simple", "prepared"] {
            let text = |text: &str| Value::Text(text.to_owned());
            let point = Point::from([
                ("script".to_owned(), text("update-select")),
                ("clients".to_owned(), Value::Int(2)),
                ("arguments".to_owned(), text("")),
                ("protocol".to_owned(), text(protocol)),
                ("rate".to_owned(), Value::Float(0.0)),
            ]);
            let task = workload.task(&point, &Grants::default()).unwrap();
            let Action::Stream(stream) = &task.action else { panic!("a script is a stream") };
            target.prepare(&task.dataset).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            target.settle().unwrap();
            // T-SQL's `LEN` does not count the blanks at the end.
            let letters = if name == "sqlserver" { "LEN(pass)" } else { "length(trim(pass))" };
            let changed = &format!("SELECT count(*) FROM http_auth WHERE {letters} < 25");
            let count = |sql: &str| match target.scalar(sql) {
                Ok(count) => Some(count),
                Err(failure) => {
                    assert_eq!(failure.kind, FailureKind::Unsupported, "{name}: {failure}");
                    None
                }
            };
            assert!(count("SELECT count(*) FROM http_auth").is_none_or(|count| count == 90_000), "{name}");
            assert!(count(changed).is_none_or(|count| count == 0), "{name} meets what another trial left");
            let interrupt = AtomicBool::new(false);
            let run = TrialRun { target, task: stream, schedule: &schedule, seed: 7, interrupt: &interrupt };
            let record = run.run(&mut Silent).unwrap_or_else(|failure| panic!("{name}, {protocol}: {failure}"));
            assert_eq!(record.state, TrialState::Measured);
            let failed = record.marks.iter().find(|mark| mark.kind == MarkKind::Errors);
            assert_eq!(failed, None, "{name}, {protocol}");
            // 40 updates of 750 rows; few of them meet twice. The stock passwords have 25 letters, the new ones fewer.
            assert!(count(changed).is_none_or(|count| (30..=40).contains(&count)), "{name}, {protocol}");
        }
    });
}

/// A table that one statement makes inside the server: the same rows everywhere, or why the engine has no sessions.
#[test]
fn every_engine_makes_the_published_table() {
    on_every_sql_engine(|name, target| {
        let workload = Registry::built_in().workload("table-creation").unwrap();
        let point = Point::from([("thread_count".to_owned(), Value::Int(3)), ("digits".to_owned(), Value::Int(3))]);
        let task = workload.task(&point, &Grants::default()).unwrap();
        let Action::Step(procedure) = &task.action else { panic!("it is a step") };
        target.prepare(&task.dataset).unwrap();
        let interrupt = AtomicBool::new(false);
        let schedule = schedule();
        let mut context =
            StepContext { target, schedule: &schedule, seed: 7, interrupt: &interrupt, observer: &mut Silent };
        match step::run(&**procedure, &mut context) {
            Ok(record) => {
                let elapsed = &record.measurements[0];
                assert!(elapsed.metric.id == "elapsed" && matches!(elapsed.reading, Reading::Value(s) if s > 0.0));
                let rows = target.scalar("SELECT count(*) FROM table_a");
                assert!(rows.is_ok_and(|rows| rows == 3_000), "{name}");
            }
            Err(failure) => assert_eq!(failure.kind, FailureKind::Unsupported, "{name}: {failure}"),
        }
    });
}

#[test]
fn every_engine_says_what_it_is_and_what_its_commits_promise() {
    on_every_engine(|name, target| {
        let facts = target.facts().unwrap_or_else(|failure| panic!("{name}: {failure}"));
        for fact in ["server.product", "server.version"] {
            assert!(facts.get(fact).is_some_and(|value| !value.is_empty()), "{name} does not say its {fact}");
        }
        assert!(facts.durability().is_some(), "{name} does not say its durability");
        assert_eq!(
            facts.differences(&target.facts().unwrap()),
            [],
            "{name}: identity facts must not change by themselves"
        );
    });
}

#[test]
fn a_statement_that_no_engine_takes_is_a_clear_failure() {
    on_every_sql_engine(|name, target| {
        let program = engine::workloads::transactions::compile("FROBNICATE THE ROWS;", &[]).unwrap();
        let task = engine::workloads::StreamTask {
            work: program.into(),
            clients: 0..2,
            pace: engine::worker::Pace::Closed,
            threads: engine::target::Threads::Best,
            traffic: Traffic::default(),
        };
        let schedule = schedule();
        let interrupt = AtomicBool::new(false);
        let run = TrialRun { target, task: &task, schedule: &schedule, seed: 7, interrupt: &interrupt };
        match run.run(&mut Silent) {
            Err(failure) => assert!(failure.to_string().contains("FROBNICATE"), "{name}: {failure}"),
            // The simulated server understands everything.
            Ok(_) => assert_eq!(name, "sim"),
        }
    });
}

/// The families whose other engines have suites of their own, on servers that étalon cannot start.
#[test]
fn a_named_server_passes_every_family() {
    let text = |text: &str| Value::Text(text.to_owned());
    type Family<'a> = (&'a str, &'a [(&'a str, Value)], &'a [&'a str]);
    let families: [Family<'_>; 4] = [
        ("pages", &[("statements", Value::Int(60))], &["commits", "elapsed", "writes/log", "write_bytes/data"]),
        ("spatial", &[("side", Value::Int(6)), ("runs", Value::Int(1)), ("queries", text("all"))], &["elapsed/suite"]),
        (
            "backup",
            &[("size_mib", Value::Int(4)), ("codec", text("ms_xpress")), ("where", text("server"))],
            &["backup_rate", "restore_rate", "backup_size", "rows_verified"],
        ),
        ("backup", &[("codec", text("none")), ("destination", text("nul"))], &["backup_rate", "backup_size"]),
    ];
    on_every_sql_engine(|name, target| {
        if !NAMED.iter().any(|(engine, _)| *engine == name) {
            return;
        }
        // A PostgreSQL that speaks TDS has no files, geometries and backups of SQL Server's, and says so of each figure.
        let facts = target.facts().unwrap();
        let stands_in = facts.get("server.product").is_some_and(|product| product.starts_with("Babelfish"));
        for (family, changed, metrics) in &families {
            let workload = Registry::built_in().workload(family).unwrap();
            let keys = workload.spec().keys.iter();
            let mut point: Point = keys.filter_map(|key| Some((key.name.to_owned(), key.default?.value()?))).collect();
            point.extend(changed.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            let task = workload.task(&point, &Grants::default()).unwrap();
            let Action::Step(procedure) = &task.action else { panic!("{family} is a step") };
            target.prepare(&task.dataset).unwrap_or_else(|failure| panic!("{name}, {family}: {failure}"));
            target.settle().unwrap();
            let (interrupt, schedule) = (AtomicBool::new(false), schedule());
            let mut context =
                StepContext { target, schedule: &schedule, seed: 7, interrupt: &interrupt, observer: &mut Silent };
            let record = step::run(&**procedure, &mut context);
            let record = record.unwrap_or_else(|failure| panic!("{name}, {family}: {failure}"));
            for metric in *metrics {
                let Some(found) = record.measurements.iter().find(|one| one.metric.id == *metric) else {
                    assert!(stands_in, "{name}, {family}: there is no {metric}");
                    continue;
                };
                let known = match &found.reading {
                    Reading::Value(_) => true,
                    Reading::Unavailable(reason) => stands_in && !reason.is_empty(),
                };
                assert!(known, "{name}, {family}: {found:?}");
            }
        }
    });
}
