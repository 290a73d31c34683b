//! Pools, tasks and hung servers, against a real PostgreSQL; skipped, with a note, if there is none.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use conductor::Registry;
use load::error::{Failure, FailureKind};
use load::observer::{Observer, Silent};
use load::worker::TaskLog;
use model::plan::PrivateServer;
use model::{Length, MarkKind, OnError, Order, Point, Reading, RunRecord, Schedule, SystemPlan, Value};
use workloads::system::{Consent, OpenRequest, System};
use workloads::work::RunTask;
use workloads::work::StreamTask;
use workloads::workload::Grants;
use workloads::workload::{Action, Task};

struct Server {
    system: Box<dyn System>,
    scratch: tempfile::TempDir,
}

/// `None` if PostgreSQL is not installed.
fn server(max_connections: i64) -> Option<Server> {
    let scratch = tempfile::tempdir().unwrap();
    let system = SystemPlan {
        name: "postgres".to_owned(),
        engine: "postgres".to_owned(),
        url: String::new(),
        settings: BTreeMap::from([("max_connections".to_owned(), Value::Int(max_connections))]),
        server: Some(PrivateServer { engine: "postgres".to_owned(), ..PrivateServer::default() }),
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    };
    let request =
        OpenRequest { scratch_base: Some(scratch.path().to_owned()), ..OpenRequest::new(&system, Consent::OwnOnly) };
    match Registry::built_in().open_system(&request) {
        Ok(opened) => Some(Server { system: opened, scratch }),
        Err(failure) if failure.kind == FailureKind::Missing => {
            eprintln!("left out: {failure}");
            None
        }
        Err(failure) => panic!("{failure}"),
    }
}

fn task(keys: &[(&str, Value)]) -> Task {
    let base = [("clients", Value::Int(1)), ("scale", Value::Int(1)), ("rate", Value::Float(0.0))];
    let point: Point = base.iter().chain(keys).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Registry::built_in().workload("transactions").unwrap().make_task(&point, &Grants::default()).unwrap()
}

fn stream(task: &Task) -> &StreamTask {
    let Action::Stream(stream) = &task.action else { panic!("transactions are a stream") };
    stream
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn run(server: &Server, task: &Task, length: Duration, observer: &mut dyn Observer) -> Result<RunRecord, Failure> {
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::from_millis(200),
        length: Length::Duration(length),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    };
    let interrupt = AtomicBool::new(false);
    let system = &*server.system;
    RunTask { system, task: stream(task), schedule: &schedule, seed: 3, interrupt: &interrupt }.run_here(observer)
}

fn value(record: &RunRecord, id: &str) -> f64 {
    let found = record.measurements.iter().find(|measurement| measurement.metric.id == id);
    match &found.unwrap_or_else(|| panic!("no {id}")).reading {
        Reading::Value(value) => *value,
        Reading::Unavailable(reason) => panic!("no {id}: {reason}"),
    }
}

#[test]
fn a_pool_larger_than_the_server_takes_goes_on_with_what_it_got() {
    let Some(server) = server(12) else { return };
    let task = task(&[("script", text("select-only")), ("clients", Value::Int(40)), ("pool.size", Value::Int(30))]);
    server.system.prepare(&task.dataset).unwrap();
    let record = run(&server, &task, Duration::from_secs(1), &mut Silent).unwrap();
    let got = value(&record, "pool_connections");
    assert!((4.0..12.0).contains(&got), "{got}");
    let mark = record.marks.iter().find(|mark| mark.kind == MarkKind::Errors).unwrap();
    let refused = format!("{} of 30 connections of the pool were refused", 30.0 - got);
    assert!(mark.detail.starts_with(&refused), "{}", mark.detail);
    assert!(mark.detail.contains("53300") || mark.detail.contains("too many"), "{}", mark.detail);
    assert!(value(&record, "throughput") > 0.0 && value(&record, "pool_wait_p50") > 0.0);
    assert!(value(&record, "connect_max") > 0.0);
    server.system.drop_all().unwrap();
}

#[derive(Default)]
struct Tasks(Vec<TaskLog>);

impl Observer for Tasks {
    fn tasks_ended(&mut self, logs: &[TaskLog]) {
        self.0 = logs.to_vec();
    }
}

#[test]
fn the_published_tasks_run_in_processes_of_their_own() {
    let Some(server) = server(50) else { return };
    let task = task(&[
        ("script", text("postgresql-tasks")),
        ("tasks", Value::Int(20)),
        ("processes", Value::Int(3)),
        ("pool.size", Value::Int(10)),
        ("pool.acquire_timeout", text("60s")),
    ]);
    server.system.prepare(&task.dataset).unwrap();
    assert_eq!(server.system.scalar("SELECT count(*) FROM etalon.table_a").unwrap(), 1_000_000);
    let mut tasks = Tasks::default();
    let record = run(&server, &task, Duration::from_millis(1), &mut tasks).unwrap();
    assert_eq!((value(&record, "errors"), value(&record, "pool_connections")), (0.0, 30.0));
    assert_eq!(tasks.0.iter().map(|log| log.process).collect::<Vec<_>>(), [0, 1, 2]);
    for log in &tasks.0 {
        assert_eq!(log.tasks.len(), 20);
        let least_ns = log.tasks.iter().map(|task| task.response_ns.unwrap()).min().unwrap();
        assert!(least_ns >= 50_000_000, "a task pauses for 50 ms at least: {least_ns}");
        assert!(log.tasks.windows(2).all(|pair| pair[0].ended_ns <= pair[1].ended_ns));
    }
    assert_eq!(
        server.system.scalar("SELECT count(DISTINCT (thread_id, a_value)) FROM etalon.table_a").unwrap(),
        1_000_000
    );
    server.system.drop_all().unwrap();
}

fn pid_file(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries
        .map(|entry| entry.path())
        .find_map(|path| if path.is_dir() { pid_file(&path) } else { path.ends_with("postmaster.pid").then_some(path) })
}

/// Sends a signal to a server and all of its processes, by their ids.
fn signal(name: &str, postmaster: &str) {
    let children = Command::new("ps").args(["-o", "pid=", "--ppid", postmaster]).output().unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    let pids = std::iter::once(postmaster).chain(children.split_whitespace());
    Command::new("kill").arg(format!("-{name}")).args(pids).status().unwrap();
}

#[test]
fn a_server_that_freezes_ends_the_run_with_the_reason() {
    if std::env::consts::OS != "linux" {
        return eprintln!("left out: it freezes processes with the tools of Linux");
    }
    let Some(server) = server(20) else { return };
    let task = task(&[("script", text("select-only")), ("clients", Value::Int(4))]);
    server.system.prepare(&task.dataset).unwrap();
    let pid = std::fs::read_to_string(pid_file(server.scratch.path()).unwrap()).unwrap();
    let postmaster = pid.lines().next().unwrap().to_owned();
    let began = Instant::now();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1_200));
            signal("STOP", &postmaster);
        });
        run(&server, &task, Duration::from_secs(2), &mut Silent)
    });
    signal("CONT", &postmaster);
    let failure = outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ConnectionLost);
    let text = failure.to_string();
    assert!(text.contains("has not answered after the end of the run for 1"), "{text}");
    assert!(text.contains("4 operations were given up"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    server.system.wait_until_available().unwrap();
    server.system.drop_all().unwrap();
}
