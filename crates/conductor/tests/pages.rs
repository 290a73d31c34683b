//! Page inserts on real engines, small: what is counted, and how far it agrees with the operating system.

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
use std::time::Duration;

use load::datum::Datum;
use load::error::Failure;
use model::{Reading, RunRecord, SystemPlan, Value};
use workloads::session::SessionKind;
use workloads::system::System;

use procedure::{open, private, reading, system};
use releases::folders_of;

fn sqlite(folder: &Path, settings: &[(&str, &str)]) -> SystemPlan {
    system("sqlite", format!("sqlite:{}/pages.db", folder.display()), settings)
}

fn run(system: &dyn System, statements: i64) -> Result<RunRecord, Failure> {
    procedure::run("pages", system, &[("statements", Value::Int(statements))])
}

fn value(record: &RunRecord, id: &str) -> f64 {
    match reading(record, id) {
        Reading::Value(value) => *value,
        Reading::Unavailable(reason) => panic!("{id}: {reason}"),
    }
}

fn reason<'r>(record: &'r RunRecord, id: &str) -> &'r str {
    match reading(record, id) {
        Reading::Unavailable(missing) => &missing.reason,
        Reading::Value(value) => panic!("{id} is {value}"),
    }
}

fn notes(record: &RunRecord) -> String {
    record.marks.iter().map(|mark| mark.detail.as_str()).collect::<Vec<_>>().join("\n")
}

/// What holds on every engine.
fn assert_sound(name: &str, record: &RunRecord, statements: f64) {
    let page = value(record, "page_size");
    assert_eq!(value(record, "rows"), statements * 8.0, "{name}");
    let pages = value(record, "row_size") / page;
    assert!((0.99..1.25).contains(&pages), "{name}: a row takes {pages} pages");
    let sum = value(record, "insert") + value(record, "flush");
    assert!((value(record, "elapsed") - sum).abs() < 1e-9, "{name}");
    assert!((value(record, "commits") * value(record, "insert") / statements - 1.0).abs() < 1e-6, "{name}");
    // Every row is in the data once; and in the log, with its page or without. MySQL's rows are shorter.
    let row = page - 704.0;
    assert!(value(record, "write_bytes/data") >= statements * 8.0 * row, "{name}: the checkpoint has not ended");
    assert!(value(record, "log_per_commit") >= 8.0 * row, "{name}");
    let whole = record.series.iter().find(|series| series.interval.is_none());
    assert!(whole.is_some(), "{name} has no response times");
}

/// On a private server the engine's counters, plus what they are known to leave out, add up to the operating system's.
/// `unexplained` is in per cent.
fn assert_true(name: &str, record: &RunRecord) {
    if host::disk::ProcIo::for_process(std::process::id()).is_err() {
        // Not every operating system counts what a process writes.
        return;
    }
    let share = value(record, "unexplained/writes");
    assert!(share.abs() <= 5.0, "{name}: {share} % of what the system has written is not accounted for");
}

#[test]
fn sqlite_is_counted_to_the_byte() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let system =
        open(&sqlite(folder.path(), &[("page_size", "8192"), ("journal_mode", "WAL"), ("synchronous", "FULL")]));
    let record = run(&*system, 100).unwrap();
    assert_sound("sqlite", &record, 100.0);
    assert_eq!(value(&record, "page_size"), 8192.0);
    // A frame of the log is a page and 24 bytes; a commit syncs once.
    let frames = (value(&record, "write_bytes/log.wal") - 32.0) / (8192.0 + 24.0);
    assert!((800.0..1_300.0).contains(&frames), "{frames} frames");
    assert!((100.0..110.0).contains(&value(&record, "syncs/log")));
    assert!(value(&record, "wait_per_commit/log") > 0.0 && value(&record, "mib_write/log") > 0.0);
    let again = run(&*system, 100).unwrap();
    assert_sound("sqlite, once more", &again, 100.0);
    system.drop_all().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
}

#[test]
fn sqlite_s_rollback_journal_is_a_log_too_and_pages_may_be_of_any_size() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let system = open(&sqlite(folder.path(), &[("synchronous", "OFF")]));
    let record = run(&*system, 64).unwrap();
    assert_eq!(value(&record, "page_size"), 4096.0);
    let pages = value(&record, "row_size") / 4096.0;
    assert!((0.99..1.25).contains(&pages), "a row takes {pages} pages");
    assert!(value(&record, "writes/log.journal") > 0.0);
    assert_eq!(value(&record, "syncs/log"), 0.0);
    assert_eq!(reason(&record, "avg_sync/log"), "there were no syncs");
    system.drop_all().unwrap();
}

#[test]
fn every_version_of_postgresql_accounts_for_what_it_writes() {
    let timing = [("track_io_timing", "on"), ("track_wal_io_timing", "on")];
    for bin_dir in std::iter::once(None).chain(folders_of("postgres").into_iter().map(Some)) {
        let name = bin_dir.clone().unwrap_or_else(|| "the installed PostgreSQL".to_owned());
        let system = open(&private("postgres", bin_dir, &timing));
        let record = run(&*system, 300).unwrap();
        assert_sound(&name, &record, 300.0);
        assert_true(&name, &record);
        assert!(value(&record, "avg_sync/log") > 0.0, "{name}");
        assert!(value(&record, "mib_write/log") > 0.0, "{name}");
        assert!((300.0..400.0).contains(&value(&record, "syncs/log")), "{name}");
        assert!(!notes(&record).contains("track_"), "{name}: {}", notes(&record));
        system.drop_all().unwrap();
    }
}

#[test]
fn postgresql_without_timing_goes_on_and_says_how_to_switch_it_on() {
    let system = open(&private("postgres", None, &[("fsync", "off")]));
    let record = run(&*system, 32).unwrap();
    assert!(reason(&record, "avg_write/log").contains("SET track_wal_io_timing = on"));
    assert!(notes(&record).contains("SET track_io_timing = on"), "{}", notes(&record));
    assert!(value(&record, "commits") > 0.0 && value(&record, "elapsed") > 0.0);
    system.drop_all().unwrap();
}

#[test]
fn mariadb_and_mysql_account_for_what_they_write_by_file() {
    let of = |engine| folders_of(engine).into_iter().map(move |folder| (engine, Some(folder)));
    for (engine, bin_dir) in std::iter::once(("mariadb", None)).chain(of("mariadb")).chain(of("mysql")) {
        let name = bin_dir.clone().unwrap_or_else(|| engine.to_owned());
        let system = open(&private(engine, bin_dir, &[("performance_schema", "ON"), ("innodb_page_size", "8k")]));
        let record = run(&*system, 300).unwrap();
        assert_sound(&name, &record, 300.0);
        assert_eq!(value(&record, "page_size"), 8192.0);
        assert!(value(&record, "writes/data.tio.ibd") >= 2_400.0, "{name}");
        assert!(value(&record, "avg_write/data") > 0.0, "{name}");
        if engine == "mysql" {
            assert!(value(&record, "avg_write/log") > 0.0, "{name}");
            // Its rows are in both logs, of which it keeps the binary one by default.
            assert!(value(&record, "write_bytes/log") > 2.0 * 2_400.0 * 7_488.0, "{name}");
            assert!(reason(&record, "unexplained/writes").contains("page cache"), "{name}");
        } else {
            assert!(reason(&record, "avg_write/log").contains("MDEV-27848"), "{name}");
            assert_true(&name, &record);
        }
        system.drop_all().unwrap();
    }
}

#[test]
fn mariadb_without_performance_schema_goes_on_and_says_how_to_switch_it_on() {
    let system = open(&private("mariadb", None, &[]));
    let record = run(&*system, 100).unwrap();
    assert_sound("mariadb", &record, 100.0);
    assert_eq!(value(&record, "page_size"), 16_384.0);
    assert!(reason(&record, "avg_write/data").contains("performance_schema = ON"));
    // A checkpoint would not help the log.
    assert!(reason(&record, "avg_write/log").contains("MDEV-27848"));
    assert!(notes(&record).contains("performance_schema = ON"), "{}", notes(&record));
    assert!(value(&record, "write_bytes/data.innodb") > 0.0);
    system.drop_all().unwrap();
}

/// Role of étalon's private servers.
const OWNER: &str = "etalon";

fn socket(system: &dyn System) -> String {
    let rows = system.connect_session(SessionKind::Plain).unwrap().query("SHOW unix_socket_directories").unwrap();
    match &rows[0][0] {
        Datum::Text(folder) => folder.to_string(),
        other => panic!("{other:?}"),
    }
}

fn url(server: &dyn System, role: &str) -> String {
    format!("postgres://{role}@{}/postgres", socket(server).replace('/', "%2F"))
}

/// A role that may neither checkpoint nor see the log's folder: the rest is measured.
#[test]
fn a_role_without_rights_measures_what_it_may() {
    let server = open(&private("postgres", None, &[("fsync", "off")]));
    let mut admin = server.connect_session(SessionKind::Plain).unwrap();
    admin.execute("CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain").unwrap();
    let opened = open(&system("postgres", url(&*server, "plain"), &[]));
    let record = run(&*opened, 16).unwrap();
    assert!(value(&record, "commits") > 0.0 && value(&record, "insert") > 0.0);
    assert!(reason(&record, "elapsed").contains("GRANT pg_checkpoint"), "{}", reason(&record, "elapsed"));
    assert!(reason(&record, "file_size/log").contains("permission denied"));
    assert!(reason(&record, "unseen/writes").contains("not étalon's own"));
    assert!(notes(&record).contains("no checkpoint, so that the elapsed time has no end"), "{}", notes(&record));
    opened.drop_all().unwrap();
    drop(opened);
    drop(admin);
    server.drop_all().unwrap();
}

/// The conductor then waits for the server and repeats the run; nothing of a half run is kept.
#[test]
fn a_server_that_dies_fails_the_run() {
    let server = open(&private("postgres", None, &[("fsync", "off")]));
    let opened = open(&system("postgres", url(&*server, OWNER), &[]));
    let kill = || {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO tio%' AND \
                   pid <> pg_backend_pid()";
        (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            server.scalar(end).unwrap() > 0
        })
    };
    let failure = std::thread::scope(|scope| {
        let killer = scope.spawn(kill);
        let failure = run(&*opened, 1_000_000).unwrap_err();
        assert!(killer.join().unwrap(), "nothing was there to be ended");
        failure
    });
    assert!(failure.may_pass(), "{failure:?}");
    let record = run(&*opened, 16).unwrap();
    assert_eq!(value(&record, "rows"), 128.0, "what half a run has left is gone");
    opened.drop_all().unwrap();
    drop(opened);
    server.drop_all().unwrap();
}
