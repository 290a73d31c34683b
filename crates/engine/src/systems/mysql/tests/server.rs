//! A private server's whole life.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use host::process::StopSignal;
use model::{DurabilityTier, Length, OnError, Order, Schedule};

use super::*;
use crate::observer::Silent;
use crate::run::RunTask;
use crate::stream::Retry;
use crate::target::Threads;
use crate::traffic::Traffic;
use crate::worker::Pace;
use crate::workloads::StreamTask;
use crate::workloads::transactions::{Options, compile_with, pgbench_tables};

#[test]
fn a_private_server_from_its_making_to_its_removal() {
    let target = start(Connect::Socket, &[("innodb-buffer-pool-size", "64M"), ("innodb_flush_log_at_trx_commit", "2")]);
    says_what_it_is(&target);
    prepares_the_same_tables_every_time(&target);
    counts_forwards(&target);
    for way in lane::WAYS {
        lane::every_kind_of_value_arrives(&target, way);
        lane::errors_have_classes_and_a_way_back(&target, way);
        lane::one_of_two_in_a_deadlock_is_told(&target, way);
        lane::the_last_row_of_each_result_is_kept(&target, way);
        lane::columns_that_change_are_noticed(&target, way);
        lane::a_connection_that_is_killed_is_lost_and_made_anew(&target, way);
    }
    deadlocks_are_tried_again(&target);
    a_rival_is_not_disturbed(&target);
    is_started_anew_between_rounds(&target);
    comes_back_after_a_kill_in_mid_run(&target);
    leaves_nothing(&target);
}

fn says_what_it_is(target: &MySqlTarget) {
    let facts = target.facts().unwrap();
    assert!(["MariaDB", "MySQL"].contains(&facts.get("server.product").unwrap()));
    assert_eq!(facts.get("setting.innodb_buffer_pool_size"), Some("67108864"));
    assert_eq!(facts.get("database.engine"), Some("InnoDB"));
    assert_eq!((facts.get("path.kind"), facts.get("path.tls")), (Some("socket"), Some("off")));
    assert!(facts.get("server.made_by").unwrap().contains("--"));
    assert!(facts.get("data_directory.filesystem").is_some(), "{:?}", facts.entries.get("data_directory.filesystem"));
    let durability = facts.durability().unwrap();
    assert_eq!(durability.tier, DurabilityTier::Delayed);
    assert!(durability.because.contains("innodb_flush_log_at_trx_commit=2"));
    assert!(facts.get("checkpoint_before_run").is_some());
    println!("{}", facts.get("client.reactor").unwrap());
    // An equally made server is the same system, as a resume needs.
    let pairs = [("innodb-buffer-pool-size", "64M"), ("innodb_flush_log_at_trx_commit", "2")];
    let other = start(Connect::Socket, &pairs);
    assert_eq!(facts.differences(&other.facts().unwrap()), []);
}

/// What a run meets: rows and statistics.
fn state(target: &MySqlTarget) -> String {
    let tables = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = \
                  'etalon'";
    let rows = "CHECKSUM TABLE pgbench_accounts";
    let size = "SELECT clustered_index_size FROM mysql.innodb_table_stats WHERE database_name = 'etalon' AND table_name = \
                'pgbench_accounts'";
    let mut client = target.client();
    let sum = client.rows(rows).unwrap();
    format!("{} {sum:?} {}", client.one(tables).unwrap(), client.one(size).unwrap())
}

fn prepares_the_same_tables_every_time(target: &MySqlTarget) {
    let data = pgbench_tables(1);
    let started = Instant::now();
    target.prepare(&data).unwrap();
    println!("100,000 rows prepared in {:?}", started.elapsed());
    target.settle().unwrap();
    let first = state(target);
    target.run("UPDATE pgbench_accounts SET abalance = 7 WHERE aid < 1000");
    target.run("DROP TABLE pgbench_history");
    target.run("CREATE TABLE more (x INT)");
    assert_ne!(state(target), first);
    target.prepare(&data).unwrap();
    target.settle().unwrap();
    assert_eq!(state(target), first);
    if target.checkpoint == Checkpoint::Sharp {
        // An unsettled server writes a page now and then.
        let dirty = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = \
                     'Innodb_buffer_pool_pages_dirty'";
        assert!(target.scalar(dirty).unwrap() < 20, "{}", target.scalar(dirty).unwrap());
    }
    // Without local files the rows come by statements.
    let sum = "SELECT CONCAT_WS(' ', COUNT(*), SUM(aid), SUM(bid), SUM(CRC32(filler))) FROM pgbench_accounts";
    let by_file = target.text(sum);
    target.run("SET GLOBAL local_infile = OFF");
    target.prepare(&data).unwrap();
    assert_eq!(target.text(sum), by_file);
    target.run("SET GLOBAL local_infile = ON");
    assert_eq!(target.scalar("SELECT sum(abalance) FROM pgbench_accounts").unwrap(), 0);
    assert_eq!(target.scalar("SELECT sum(delta) FROM pgbench_history").unwrap(), 0);
    assert_eq!(target.scalar("SELECT 'x'").unwrap_err().kind, FailureKind::Verification);
    let broken = target.scalar("SELECT nothing FROM nowhere").unwrap_err();
    assert!(broken.cause.contains("1146"), "{broken}");
}

fn counts_forwards(target: &MySqlTarget) {
    let before = target.counters().unwrap();
    assert_eq!(before.get("commits"), None, "a count that would be wrong");
    for name in ["statements", "commit_statements", "rollback_statements", "lock_waits", "log_bytes", "data_syncs"] {
        assert!(before.get(name).is_some(), "{name}: {before:?}");
    }
    let mut client = target.client();
    for _ in 0..50 {
        client.execute("UPDATE pgbench_branches SET bbalance = bbalance + 1").unwrap();
    }
    client.close();
    let since = target.counters().unwrap().since(&before);
    let value = |name: &str| since.get(name).unwrap();
    assert!(value("statements") >= 50.0 && value("statements") < 60.0, "{since:?}");
    assert!(value("log_bytes") > 0.0 && value("commit_statements") == 0.0, "{since:?}");
}

fn a_rival_is_not_disturbed(target: &MySqlTarget) {
    target.control.close();
    let mut rival = target.client();
    assert_eq!(rival.one("SELECT GET_LOCK('etalon', 0)").unwrap(), "1");
    let failure = target.counters().unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs);
    assert!(failure.cause.contains("another étalon") && failure.cause.contains(" of "), "{failure}");
    assert!(failure.hint.is_some(), "{failure}");
    rival.execute("DO RELEASE_LOCK('etalon')").unwrap();
    assert!(target.counters().is_ok());
    rival.close();
}

fn schedule(length: Duration) -> Schedule {
    Schedule {
        rounds: 1,
        warmup: Duration::ZERO,
        length: Length::Duration(length),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
    }
}

fn run_of(target: &MySqlTarget, script: &str, clients: u32, length: Duration) -> Result<model::RunRecord, Failure> {
    let options = Options { retry: Retry { max_tries: 0, within_ns: None }, ..Options::default() };
    let program = compile_with(script, &options).unwrap();
    let (threads, traffic) = (Threads::Best, Traffic::default());
    let task = StreamTask { work: program.into(), clients: 0..clients, pace: Pace::Closed, threads, traffic };
    let (schedule, interrupt) = (schedule(length), AtomicBool::new(false));
    RunTask { target, task: &task, schedule: &schedule, seed: 1, interrupt: &interrupt }.run(&mut Silent)
}

fn run(target: &MySqlTarget, length: Duration) -> Result<model::RunRecord, Failure> {
    let script = "\\set aid random(1, 1000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;";
    run_of(target, script, 3, length)
}

/// Two rows in random order: clients deadlock sooner or later.
fn deadlocks_are_tried_again(target: &MySqlTarget) {
    target.prepare(&pgbench_tables(1)).unwrap();
    let before = target.counters().unwrap();
    let script = "\\set a random(1, 3)\n\\set b random(1, 3)\nBEGIN;\n\
                  UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\n\
                  UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :b;\nCOMMIT;";
    let record = run_of(target, script, 8, Duration::from_millis(1_000)).unwrap();
    let value = |id: &str| {
        let found = record.measurements.iter().find(|one| one.metric.id == id);
        found.unwrap_or_else(|| panic!("no {id} in {:?}", record.measurements)).reading.clone()
    };
    let since = target.counters().unwrap().since(&before);
    if let Some(deadlocks) = since.get("deadlocks") {
        assert!(deadlocks > 0.0, "{since:?}");
    }
    assert!(since.get("rollback_statements").unwrap() > 0.0, "{since:?}");
    assert!(matches!(value("throughput"), model::Reading::Value(rate) if rate > 0.0));
    // Each deadlock retries its victim, except at the run's end.
    let number = |id: &str| match value(id) {
        model::Reading::Value(number) => number,
        model::Reading::Unavailable(reason) => panic!("{id}: {reason}"),
    };
    assert!(number("retries") > 0.0 && number("errors") <= 8.0, "{:?}", record.measurements);
    // Aborted work left nothing: every commit adds two.
    let sum = target.scalar("SELECT SUM(abalance) FROM pgbench_accounts").unwrap();
    assert_eq!(sum as f64, 2.0 * since.get("commit_statements").unwrap());
}

fn is_started_anew_between_rounds(target: &MySqlTarget) {
    target.prepare(&pgbench_tables(1)).unwrap();
    let pid = target.private().unwrap().running.pid();
    target.begin_round().unwrap();
    assert_ne!(target.private().unwrap().running.pid(), pid);
    assert_eq!(target.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    assert_eq!(target.scalar("SELECT @@innodb_buffer_pool_size").unwrap(), 67_108_864);
}

fn comes_back_after_a_kill_in_mid_run(target: &MySqlTarget) {
    target.prepare(&pgbench_tables(1)).unwrap();
    let pid = target.private().unwrap().running.pid().unwrap();
    let cpu_s = target.server_cpu_s().unwrap();
    let failure = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            target.private().unwrap().running.signal(StopSignal::Kill);
        });
        run(target, Duration::from_secs(20)).unwrap_err()
    });
    assert!(cpu_s > 0.0);
    assert_eq!(failure.kind, FailureKind::ConnectionLost, "{failure}");
    assert!(failure.may_pass());
    target.revive().unwrap();
    assert_ne!(target.private().unwrap().running.pid(), Some(pid));
    assert_eq!(target.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    let record = run(target, Duration::from_millis(300)).unwrap();
    assert_eq!(record.state, model::RunState::Measured);
    target.revive().unwrap();
}

fn leaves_nothing(target: &MySqlTarget) {
    let folder = PathBuf::from(target.text("SELECT @@datadir"));
    assert!(folder.is_dir());
    target.drop_all().unwrap();
    assert!(!folder.parent().unwrap().exists());
    assert!(target.counters().is_err());
    assert!(target.revive().unwrap_err().cause.contains("removed"));
    target.drop_all().unwrap();
}

#[test]
fn a_private_server_that_does_not_start_says_why() {
    let refused = |pairs: &[(&str, &str)]| {
        let system = system("", Some(Connect::Socket), pairs);
        let opened = MySql.open(&OpenRequest::new(&system, Consent::OwnOnly));
        opened.err().unwrap_or_else(|| panic!("{pairs:?} started"))
    };
    let failure = refused(&[("inodb_buffer_pool_size", "1G")]);
    let hint = failure.hint.as_deref();
    assert_eq!((failure.kind, hint), (FailureKind::Plan, Some("did you mean `innodb_buffer_pool_size`?")), "{failure}");
    let failure = refused(&[("innodb_flush_method", "sideways")]);
    assert_eq!(failure.kind, FailureKind::Plan, "{failure}");
    assert!(failure.cause.contains("sideways"), "{failure}");
    assert_eq!(refused(&[("port", "3306")]).kind, FailureKind::Plan);
    assert_eq!(refused(&[("skip-networking", "0")]).kind, FailureKind::Plan);
    assert_eq!(refused(&[("autocommit", "0")]).kind, FailureKind::Plan);
}

/// Paths too long for a socket get a shorter one elsewhere.
#[test]
fn a_deep_folder_is_no_hindrance() {
    let base = tempfile::tempdir_in("/var/tmp").unwrap();
    let deep = base.path().join("a".repeat(60)).join("b".repeat(60));
    // The server's user must be able to traverse it.
    std::fs::create_dir_all(&deep).unwrap();
    for folder in deep.ancestors().take_while(|folder| folder.starts_with(base.path())) {
        open_the_way(folder);
    }
    let (mut private, endpoint) = started(private_server(Connect::Socket), &[], Some(&deep)).unwrap();
    let Place::Socket(socket) = &endpoint.address.place else { panic!("TCP") };
    assert!(!socket.starts_with(&deep) && socket.exists());
    endpoint.connect(Purpose::Load).unwrap().close();
    private.remove().unwrap();
    assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 0);
    assert!(!socket.exists());
}

fn open_the_way(folder: &std::path::Path) {
    let status = Command::new("chmod").arg("0755").arg(folder).status().unwrap();
    assert!(status.success());
}

/// Every durability row that MariaDB can have, set and read back.
#[test]
fn promises_are_read_back_from_the_server() {
    let promised = |target: &MySqlTarget| target.facts().unwrap().durability().unwrap();
    let expect = |target: &MySqlTarget, tier: DurabilityTier, words: &str| {
        let found = promised(target);
        assert!(found.tier == tier && found.because.contains(words), "{words}: {found:?}");
    };
    let target = start(Connect::Socket, &[("log_bin", "log"), ("sync_binlog", "1")]);
    let mut client = target.client();
    expect(&target, DurabilityTier::Durable, "sync_binlog=1");
    for (set, back, tier, words) in [
        ("sync_binlog = 0", "sync_binlog = 1", DurabilityTier::Delayed, "the binary log lost"),
        (
            "innodb_flush_log_at_trx_commit = 0",
            "innodb_flush_log_at_trx_commit = 1",
            DurabilityTier::Delayed,
            "even a crash",
        ),
        (
            "innodb_flush_log_at_trx_commit = 2",
            "innodb_flush_log_at_trx_commit = 1",
            DurabilityTier::Delayed,
            "once a second",
        ),
        ("default_storage_engine = Aria", "default_storage_engine = InnoDB", DurabilityTier::Unsafe, "engine=Aria"),
        ("default_storage_engine = MyISAM", "default_storage_engine = InnoDB", DurabilityTier::Unsafe, "a half of one"),
        ("default_storage_engine = MEMORY", "default_storage_engine = InnoDB", DurabilityTier::Memory, "in memory"),
    ] {
        client.execute(&format!("SET GLOBAL {set}")).unwrap();
        expect(&target, tier, words);
        client.execute(&format!("SET GLOBAL {back}")).unwrap();
    }
    expect(&target, DurabilityTier::Durable, "sync_binlog=1");
    client.close();
    for (name, value, tier, words) in [
        ("innodb_doublewrite", "OFF", DurabilityTier::Unsafe, "tears"),
        ("innodb_flush_method", "nosync", DurabilityTier::Unsafe, "not synced"),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC", DurabilityTier::Durable, "other than the log's"),
    ] {
        expect(&start(Connect::Socket, &[(name, value)]), tier, words);
    }
}
