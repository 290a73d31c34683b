//! A private server's life.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use host::process::StopSignal;
use model::plan::Connect;
use model::{Length, RunRecord, RunState};

use super::{Tested, started};
use crate::server::system::{Purpose, Server, ServerSystem, Settings as _};
use crate::suite::run_once;
use load::error::{Failure, FailureKind};
use load::generator::{LoadShape, ThreadLimit};
use load::stream::Retry;
use load::traffic::NetworkTraffic;
use load::worker::Pace;
use workloads::system::System;
use workloads::transactions::{ScriptOptions, compile_with, pgbench_tables};
use workloads::work::StreamTask;

/// Conflicts are tried again.
pub(crate) fn run_of(system: &dyn System, script: &str, clients: u32, length: Duration) -> Result<RunRecord, Failure> {
    let options = ScriptOptions { retry: Retry { max_tries: 0, within_ns: None }, ..ScriptOptions::default() };
    let program = compile_with(script, &options).unwrap();
    let (threads, traffic) = (ThreadLimit::Best, NetworkTraffic::default());
    let task = StreamTask {
        work: program.into(),
        shape: LoadShape { clients: 0..clients, pace: Pace::Closed, threads, traffic },
    };
    run_once(system, &task, Length::Duration(length))
}

/// `state` is what a run meets: rows with their places, sizes, statistics; `changes` change it.
pub(crate) fn prepares_the_same_tables_every_time<S: Server>(
    system: &ServerSystem<S>,
    state: impl Fn(&ServerSystem<S>) -> String,
    changes: &[&str],
    no_such_table: &str,
) -> String {
    let data = pgbench_tables(1);
    let started = Instant::now();
    system.prepare(&data).unwrap();
    println!("100,000 rows prepared in {:?}", started.elapsed());
    system.settle().unwrap();
    let first = state(system);
    changes.iter().for_each(|change| system.run(change));
    assert_ne!(state(system), first);
    system.prepare(&data).unwrap();
    system.settle().unwrap();
    assert_eq!(state(system), first);
    assert_eq!(system.scalar("SELECT sum(abalance) FROM pgbench_accounts").unwrap(), 0);
    assert_eq!(system.scalar("SELECT sum(delta) FROM pgbench_history").unwrap(), 0);
    assert_eq!(system.scalar("SELECT 'x'").unwrap_err().kind, FailureKind::Verification);
    let broken = system.scalar("SELECT nothing FROM nowhere").unwrap_err();
    assert!(broken.cause.contains(no_such_table), "{broken}");
    first
}

pub(crate) fn is_started_anew_between_rounds<S: Server>(system: &ServerSystem<S>) {
    system.prepare(&pgbench_tables(1)).unwrap();
    let pid = system.lock_private().unwrap().running.pid();
    system.begin_round().unwrap();
    assert_ne!(system.lock_private().unwrap().running.pid(), pid);
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
}

pub(crate) fn comes_back_after_a_kill_in_mid_run<S: Server>(system: &ServerSystem<S>) {
    system.prepare(&pgbench_tables(1)).unwrap();
    let run = |length: Duration| {
        let script = "\\set aid random(1, 1000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;";
        run_of(system, script, 3, length)
    };
    let pid = system.lock_private().unwrap().running.pid().unwrap();
    let cpu_s = system.server_cpu_s().unwrap();
    let failure = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            system.lock_private().unwrap().running.signal(StopSignal::Kill);
        });
        run(Duration::from_secs(20)).unwrap_err()
    });
    assert!(cpu_s > 0.0);
    assert_eq!(failure.kind, FailureKind::ConnectionLost, "{failure}");
    assert!(failure.may_pass());
    system.wait_until_available().unwrap();
    assert_ne!(system.lock_private().unwrap().running.pid(), Some(pid));
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    assert_eq!(run(Duration::from_millis(300)).unwrap().state, RunState::Measured);
    system.wait_until_available().unwrap();
}

/// A copy of what a killed server leaves would be recovered in each start.
pub(crate) fn is_not_kept_once_killed<S: Server>(system: &ServerSystem<S>) {
    let mut private = system.lock_private().unwrap();
    let kept = private.copy_folder(0).unwrap();
    private.running.signal(StopSignal::Kill);
    while private.running.is_running().unwrap() {
        thread::sleep(Duration::from_millis(5));
    }
    let failure = private.stop_and_keep_data(&kept).unwrap_err();
    assert!(failure.to_string().contains("cannot keep the loaded data: it was killed (signal: 9"), "{failure}");
    assert!(failure.may_pass() && !kept.exists());
    drop(private);
    system.wait_until_available().unwrap();
}

pub(crate) fn leaves_nothing<S: Server>(system: &ServerSystem<S>, data_folder: &str) {
    let folder = PathBuf::from(system.text(data_folder));
    assert!(folder.is_dir());
    system.drop_all().unwrap();
    assert!(!folder.parent().unwrap().exists());
    assert!(system.counters().is_err());
    assert!(system.wait_until_available().unwrap_err().cause.contains("removed"));
    system.drop_all().unwrap();
}

/// Paths too long for a socket get a shorter one elsewhere.
pub(crate) fn a_deep_folder_is_no_hindrance<S: Tested>(socket: impl Fn(&S::Endpoint) -> PathBuf) {
    let base = tempfile::tempdir_in("/var/tmp").unwrap();
    let deep = base.path().join("a".repeat(60)).join("b".repeat(60));
    // The server's user must be able to traverse it.
    std::fs::create_dir_all(&deep).unwrap();
    for folder in deep.ancestors().take_while(|folder| folder.starts_with(base.path())) {
        open_the_way(folder);
    }
    let (mut private, endpoint) = started::<S>(Connect::Socket, &[], Some(&deep)).unwrap();
    let socket = socket(&endpoint);
    assert!(!socket.starts_with(&deep) && socket.exists());
    S::Session::default().open_session(&endpoint, Purpose::Load).unwrap().close_and_wait();
    private.remove_server().unwrap();
    assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 0);
    assert!(!socket.exists());
}

pub(crate) fn open_the_way(folder: &Path) {
    assert!(Command::new("chmod").arg("0755").arg(folder).status().unwrap().success());
}
