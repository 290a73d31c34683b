//! Tests of every engine's counts: scripts of every kind on a real server, and a lying lane.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::{DurabilityTier, Length, MarkKind, OnError, Order, Point, RunRecord, Schedule, Value};

use load::error::{Failure, FailureKind};
use load::observer::Silent;
use workloads::system::System;
use workloads::transactions::Transactions;
use workloads::work::RunTask;
use workloads::work::StreamTask;
use workloads::workload::{Action, Grants, Workload as _};

/// Transactions per client, and clients.
const EACH: u64 = 40;
const CLIENTS: u64 = 3;

/// Users' scripts with statements, `COMMIT`s, and PostgreSQL transactions.
const OWN: [(&str, &str, [u64; 3]); 4] = [
    ("two", "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\nSELECT 1;\n", [2, 0, 2]),
    ("undone", "BEGIN;\nUPDATE pgbench_accounts SET abalance = 7 WHERE aid = :a;\nROLLBACK;\n", [3, 0, 1]),
    ("both", "SELECT 1;\nBEGIN;\nSELECT 2;\nCOMMIT;\n", [4, 1, 2]),
    ("branches", "\\if :a > 50\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\nSELECT 3;\n", [2, 0, 2]),
];

/// Tables of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    New,
    /// The file of the previous run is used.
    Used,
}

/// Runs a script as a workload on a system, and returns the record.
fn run_script(
    system: &dyn System,
    on: On,
    script: &str,
    protocol: &str,
    more: &[(&str, Value)],
) -> Result<RunRecord, Failure> {
    let mut point = Point::from([
        ("script".to_owned(), Value::Text(script.to_owned())),
        ("protocol".to_owned(), Value::Text(protocol.to_owned())),
        ("clients".to_owned(), Value::Int(CLIENTS as i64)),
        ("scale".to_owned(), Value::Int(1)),
        ("rate".to_owned(), Value::Float(0.0)),
    ]);
    point.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let task = Transactions.make_task(&point, &Grants::default()).unwrap();
    let Action::Stream(stream) = &task.action else { panic!("{script} is a stream") };
    if on == On::New {
        system.prepare(&task.dataset).unwrap();
        system.settle().unwrap();
    }
    run_once(system, stream, Length::Transactions(EACH))
}

/// Runs once without warm-up.
pub(crate) fn run_once(system: &dyn System, task: &StreamTask, length: Length) -> Result<RunRecord, Failure> {
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::ZERO,
        length,
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    };
    let interrupt = AtomicBool::new(false);
    RunTask { system, task, schedule: &schedule, seed: 1, interrupt: &interrupt }.run_here(&mut Silent)
}

/// What a run's commits promised, where the run is marked with that.
pub(crate) fn marked_tier(record: &RunRecord) -> Option<DurabilityTier> {
    record.marks.iter().find_map(|mark| mark.kind.promised_durability())
}

/// A folder in memory that a server's user may write to, if there is one here.
pub(crate) fn in_memory(user: &str) -> Option<tempfile::TempDir> {
    let shm = Path::new("/dev/shm");
    let is_memory = host::disk::filesystem_of(shm).is_ok_and(|found| found.backing == host::disk::Backing::Memory);
    let folder = is_memory.then(|| tempfile::Builder::new().prefix("etalon-").tempdir_in(shm).ok()).flatten();
    match (&folder, host::process::user_by_name(user)) {
        (Some(folder), Ok(user)) if host::process::is_root() => {
            host::process::chown(folder.path(), &user).unwrap();
        }
        (None, _) => println!("skipped: there is no folder in memory"),
        _ => {}
    }
    folder
}

/// A run's value of a metric, as a whole number.
fn count_of_metric(record: &RunRecord, metric: &str) -> Option<u64> {
    let found = record.measurements.iter().find(|one| one.metric.id == metric)?;
    Some(found.reading.value()? as u64)
}

fn is_not_counted(record: &RunRecord) -> Option<&str> {
    record.marks.iter().find(|mark| mark.kind == MarkKind::NotCounted).map(|mark| mark.detail.as_str())
}

/// Writes a script file, and returns its path.
fn write_script(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(format!("{name}.sql"));
    std::fs::write(&file, format!("\\set a random(1, 100)\n{text}")).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Asserts that counts agree for every kind of load.
pub(crate) fn counts_agree(system: &dyn System, protocols: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for protocol in protocols {
        for script in ["select-only", "select-update", "tpcb-like"] {
            let record = run_script(system, On::New, script, protocol, &[])
                .unwrap_or_else(|f| panic!("{script}, {protocol}: {f}"));
            assert_eq!(is_not_counted(&record), None, "{script}, {protocol}");
        }
        let mut mix = vec!["select-only@2".to_owned()];
        for (name, text, per_transaction) in OWN {
            let script = write_script(folder.path(), name, text);
            let record = run_script(system, On::Used, &script, protocol, &[])
                .unwrap_or_else(|f| panic!("{name}, {protocol}: {f}"));
            assert_eq!(is_not_counted(&record), None, "{name}, {protocol}");
            assert_eq!(all_counted(&record, per_transaction), None, "{name}, {protocol}");
            mix.push(script);
        }
        let record = run_script(system, On::Used, &mix.join(", "), protocol, &[])
            .unwrap_or_else(|f| panic!("mix, {protocol}: {f}"));
        assert_eq!(is_not_counted(&record), None, "mix, {protocol}");
        tables_of_others_make_no_difference(system, folder.path(), protocol);
        what_is_explained_is_counted_or_said_not_to_be(system, folder.path(), protocol);
        failures_are_allowed_for(system, folder.path(), protocol);
    }
}

/// Counted by sessions, since no rows are left.
fn tables_of_others_make_no_difference(system: &dyn System, folder: &Path, protocol: &str) {
    let (name, text, per_transaction) = OWN[2];
    let script = write_script(folder, name, text);
    let none = ("tables", Value::Text("none".to_owned()));
    let record = run_script(system, On::New, &script, protocol, &[none])
        .unwrap_or_else(|f| panic!("tables = \"none\", {protocol}: {f}"));
    assert_eq!(is_not_counted(&record), None, "tables = \"none\", {protocol}");
    assert_eq!(all_counted(&record, per_transaction), None, "tables = \"none\", {protocol}");
}

/// Engines that do not count `EXPLAIN` say so without failing the run.
fn what_is_explained_is_counted_or_said_not_to_be(system: &dyn System, folder: &Path, protocol: &str) {
    let script = write_script(folder, "explained", "EXPLAIN SELECT 1;\nSELECT 2;\n");
    let record =
        run_script(system, On::Used, &script, protocol, &[]).unwrap_or_else(|f| panic!("explained, {protocol}: {f}"));
    match is_not_counted(&record) {
        Some(why) => assert!(why.contains("EXPLAIN"), "{protocol}: {why}"),
        None => assert_eq!(all_counted(&record, [2, 0, 2]), None, "explained, {protocol}"),
    }
}

/// The first session count that differs per transaction.
fn all_counted(record: &RunRecord, [statements, commits, transactions]: [u64; 3]) -> Option<String> {
    let all = [
        ("server_session_statements", statements),
        ("server_session_commits", commits),
        ("server_session_transactions", transactions),
    ];
    let counted: Vec<_> = all
        .into_iter()
        .filter_map(|(id, each)| Some((id, count_of_metric(record, id)?, each * EACH * CLIENTS)))
        .collect();
    if counted.is_empty() {
        return Some("nothing was counted".to_owned());
    }
    let wrong = counted.into_iter().find(|(_, seen, expected)| seen != expected);
    wrong.map(|(id, seen, expected)| format!("{id}: {seen} and not {expected}"))
}

/// Failed work may or may not have been done, inside a transaction and outside.
fn failures_are_allowed_for(system: &dyn System, folder: &Path, protocol: &str) {
    let insert = "\\set b random(1, 500)\nINSERT INTO pgbench_branches (bid, bbalance) VALUES (:b, 0);\n";
    for (name, text) in
        [("failing", insert.to_owned()), ("failing-block", format!("BEGIN;\nSELECT 1;\n{insert}COMMIT;\n"))]
    {
        let script = write_script(folder, name, &text);
        // SQLite's writers wait for each other; lock time-outs are failures.
        let record =
            run_script(system, On::New, &script, protocol, &[]).unwrap_or_else(|f| panic!("{name}, {protocol}: {f}"));
        assert!(count_of_metric(&record, "errors").unwrap() > 0, "{name}, {protocol}: nothing failed");
        assert_eq!(is_not_counted(&record), None, "{name}, {protocol}");
    }
}

/// A reconnect loses a session's counts: the run says so.
pub(crate) fn new_connections_are_not_counted(system: &dyn System) {
    let record = run_script(system, On::New, "select-only", "prepared", &[("reconnect", Value::Int(10))]).unwrap();
    let detail = is_not_counted(&record).unwrap_or_default();
    assert!(detail.contains("connections were made anew"), "{detail:?}");
    // A writing script's rows still count.
    let record = run_script(system, On::New, "select-update", "prepared", &[("reconnect", Value::Int(10))]).unwrap();
    assert_eq!(is_not_counted(&record), None);
}

/// Behind a proxy with other sessions nothing is counted, and no run fails.
pub(crate) fn sessions_elsewhere_are_not_counted(system: &dyn System) {
    let record = run_script(system, On::New, "select-only", "prepared", &[]).unwrap();
    let detail = is_not_counted(&record).unwrap_or_default();
    assert!(detail.contains("is not the one that the client was let into"), "{detail:?}");
}

/// Lanes that claim unsubmitted operations give no result.
pub(crate) fn lies_are_caught(system: &dyn System, protocols: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let own = write_script(folder.path(), "two", OWN[0].1);
    let mix = format!("select-only, {own}");
    for protocol in protocols {
        for script in ["select-only", "select-update", &own, &mix] {
            match run_script(system, On::New, script, protocol, &[]) {
                Err(failure) => {
                    assert_eq!(failure.kind, FailureKind::Verification, "{script}, {protocol}: {failure}");
                    let compared = ["the client counted", "the server returned", "the server changed"];
                    assert!(
                        compared.iter().any(|said| failure.cause.contains(said)),
                        "{script}, {protocol}: {failure}"
                    );
                }
                Ok(_) => panic!("{script}, {protocol}: nobody noticed"),
            }
        }
    }
}

/// Forwards methods to an inner system, except [`System::drive`].
macro_rules! delegate_to_system {
    () => {
        fn facts(&self) -> Result<Facts, Failure> {
            self.0.facts()
        }

        fn dialect(&self) -> &'static dyn Dialect {
            self.0.dialect()
        }

        fn placement(&self) -> Placement {
            self.0.placement()
        }

        fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
            self.0.prepare(data)
        }

        fn settle(&self) -> Result<(), Failure> {
            self.0.settle()
        }

        fn counters(&self) -> Result<Counters, Failure> {
            self.0.counters()
        }

        fn scalar(&self, sql: &str) -> Result<i64, Failure> {
            self.0.scalar(sql)
        }

        fn drop_all(&self) -> Result<(), Failure> {
            self.0.drop_all()
        }
    };
}
pub(crate) use delegate_to_system;
