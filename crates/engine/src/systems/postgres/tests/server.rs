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
use crate::target::Threads;
use crate::traffic::Traffic;
use crate::worker::Pace;
use crate::workloads::StreamTask;
use crate::workloads::transactions::{compile, pgbench_tables};

#[test]
fn a_private_server_from_its_making_to_its_removal() {
    let target = start(Connect::Socket, &[("shared_buffers", "32MB"), ("synchronous_commit", "off")]);
    says_what_it_is(&target);
    prepares_the_same_tables_every_time(&target);
    makes_them_anew_only_if_something_was_written(&target);
    counts_forwards(&target);
    for way in lane::WAYS {
        lane::every_kind_of_value_arrives(&target, way);
        lane::errors_have_classes_and_a_way_back(&target, way);
        lane::one_of_two_in_a_deadlock_is_told(&target, way);
        lane::the_last_row_of_each_result_is_kept(&target, way);
        lane::a_pipeline_ends_as_its_first_failure(&target, way);
        lane::unprepared_statements_run_as_well(&target, way);
        lane::clients_connect_anew(&target, way);
        lane::a_backend_that_is_ended_is_a_lost_connection(&target, way);
    }
    a_rival_is_not_disturbed(&target);
    is_started_anew_between_rounds(&target);
    comes_back_after_a_kill_in_mid_run(&target);
    leaves_nothing(&target);
}

fn says_what_it_is(target: &PostgresTarget) {
    let facts = target.facts().unwrap();
    assert_eq!(facts.get("server.product"), Some("PostgreSQL"));
    assert!(facts.get("server.version").unwrap().starts_with("PostgreSQL "));
    assert_eq!(facts.get("setting.shared_buffers"), Some("32MB"));
    assert_eq!(facts.get("database.encoding"), Some("UTF8"));
    assert_eq!(facts.get("database.collation"), Some("C"));
    assert_eq!((facts.get("path.kind"), facts.get("path.tls")), (Some("socket"), Some("off")));
    assert!(facts.get("server.made_by").unwrap().contains("initdb -A trust"));
    assert!(facts.get("data_directory.filesystem").is_some(), "{:?}", facts.entries.get("data_directory.filesystem"));
    // A server that cannot answer has not refused a privilege: no facts then.
    let mut client = target.client();
    client.execute("BEGIN").unwrap();
    client.execute("SELECT 1/0").unwrap_err();
    assert!(facts::data_place(&mut client, &target.endpoint.address).is_err());
    let durability = facts.durability().unwrap();
    assert_eq!(durability.tier, DurabilityTier::Delayed);
    assert!(durability.because.contains("fsync=on") && durability.because.contains("synchronous_commit=off"));
    assert_eq!(facts.get("checkpoint_before_run"), Some("yes"));
    println!("{}", facts.get("client.reactor").unwrap());
    // An equally made server is the same system, as a resume needs.
    let other = start(Connect::Socket, &[("shared_buffers", "32MB"), ("synchronous_commit", "off")]);
    assert_eq!(facts.differences(&other.facts().unwrap()), []);
}

/// What a run meets: rows with their places, sizes, statistics.
fn state(target: &PostgresTarget) -> String {
    let tables = "SELECT string_agg(concat_ws(' ', relname, relpages, reltuples, relallvisible), ', ' ORDER BY relname) \
                  FROM pg_class WHERE relnamespace = 'etalon'::regnamespace";
    let rows = "SELECT md5(string_agg(concat_ws(' ', ctid, a), ',' ORDER BY ctid)) FROM pgbench_accounts a";
    let pending = "SELECT string_agg(relname || ' ' || n_mod_since_analyze || ' ' || n_dead_tup, ', ' ORDER BY relname) \
                   FROM pg_stat_user_tables WHERE schemaname = 'etalon'";
    [tables, rows, pending].map(|sql| target.text(sql)).join("; ")
}

fn prepares_the_same_tables_every_time(target: &PostgresTarget) {
    let data = pgbench_tables(1);
    let started = Instant::now();
    target.prepare(&data).unwrap();
    println!("100,000 rows prepared in {:?}", started.elapsed());
    target.settle().unwrap();
    let first = state(target);
    assert!(first.contains("pgbench_accounts 1640 100000 1640"), "{first}");
    assert!(first.contains("pgbench_accounts 0 0"), "automatic vacuum would come: {first}");
    target.run("UPDATE pgbench_accounts SET abalance = 7 WHERE aid < 1000; DROP TABLE pgbench_history; CREATE TABLE more (x int)");
    target.prepare(&data).unwrap();
    target.settle().unwrap();
    assert_eq!(state(target), first);
    assert_eq!(target.scalar("SELECT sum(abalance) FROM pgbench_accounts").unwrap(), 0);
    assert_eq!(target.scalar("SELECT sum(delta) FROM pgbench_history").unwrap(), 0);
    assert_eq!(target.scalar("SELECT 'x'").unwrap_err().kind, FailureKind::Verification);
    let broken = target.scalar("SELECT nothing FROM nowhere").unwrap_err();
    assert!(broken.cause.contains("42P01"), "{broken}");
}

fn makes_them_anew_only_if_something_was_written(target: &PostgresTarget) {
    let data = pgbench_tables(1);
    let file = |target: &PostgresTarget| {
        target.prepare(&data).unwrap();
        target.settle().unwrap();
        target.text("SELECT relfilenode FROM pg_class WHERE oid = 'etalon.pgbench_accounts'::regclass")
    };
    // A recently used server may still write its own statistics.
    let patience = Instant::now();
    let mut first = file(target);
    loop {
        let second = file(target);
        if second == first {
            break;
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "it is made anew each time");
        first = second;
    }
    assert_eq!(target.text("SELECT count(*) FROM pgbench_accounts WHERE aid < 1000"), "999");
    assert_eq!(file(target), first);
    let mut anew = |sql: &str| {
        target.run(sql);
        let now = file(target);
        assert_ne!(now, first, "{sql}");
        first = now;
    };
    anew("UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 1");
    anew("SELECT 1 FROM pgbench_accounts WHERE aid = 1 FOR UPDATE");
    anew("BEGIN; DELETE FROM pgbench_history; UPDATE pgbench_tellers SET tbalance = 1; ROLLBACK");
    anew("CREATE TABLE public.other (x int); DROP TABLE public.other");
    // In progress, but without a lock in the way.
    let mut writer = target.client();
    writer.execute("CREATE TABLE public.third (x int); BEGIN; INSERT INTO public.third VALUES (1)").unwrap();
    let (one, two) = (file(target), file(target));
    assert_ne!(one, two);
    writer.execute("ROLLBACK").unwrap();
    writer.close();
    let now = file(target);
    target.begin_round().unwrap();
    assert_ne!(file(target), now, "each block begins with tables that were just made");
}

fn counts_forwards(target: &PostgresTarget) {
    let before = target.counters().unwrap();
    for name in
        ["commits", "rollbacks", "deadlocks", "blocks_read", "blocks_hit", "temp_bytes", "wal_bytes", "checkpoints"]
    {
        assert!(before.get(name).is_some(), "{name}: {before:?}");
    }
    let mut client = target.client();
    for _ in 0..50 {
        client.execute("UPDATE pgbench_branches SET bbalance = bbalance + 1").unwrap();
    }
    client.close();
    target.settle().unwrap();
    let patience = Instant::now();
    loop {
        let since = target.counters().unwrap().since(&before);
        let value = |name: &str| since.get(name).unwrap();
        assert!(since.counts.keys().all(|name| value(name) >= 0.0), "{since:?}");
        if value("commits") >= 50.0 && value("wal_bytes") > 0.0 && value("checkpoints") >= 1.0 {
            return;
        }
        assert!(patience.elapsed() < Duration::from_secs(5), "{since:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_started_anew_between_rounds(target: &PostgresTarget) {
    let pid = target.private().unwrap().running.pid();
    let before = target.text("SELECT count(*) FROM pgbench_accounts");
    target.begin_round().unwrap();
    assert_ne!(target.private().unwrap().running.pid(), pid);
    assert_eq!(target.text("SELECT count(*) FROM pgbench_accounts"), before);
    assert_eq!(target.text("SELECT current_setting('shared_buffers')"), "32MB");
}

fn a_rival_is_not_disturbed(target: &PostgresTarget) {
    let mut rival = target.client();
    rival.execute(&format!("SELECT pg_advisory_lock_shared({}, 1)", i32::from_be_bytes(*b"etal"))).unwrap();
    target.control.close();
    let failure = target.counters().unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs);
    assert!(failure.cause.contains("another étalon (`etalon`)") && failure.hint.is_some(), "{failure}");
    rival.close();
    // A session ends a moment after its connection.
    assert!(target.counters().is_ok());
}

fn run(target: &PostgresTarget, length: Duration) -> Result<model::RunRecord, Failure> {
    let mut program =
        compile("\\set aid random(1, 1000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;", &[]).unwrap();
    program.check = None;
    let (threads, traffic) = (Threads::Best, Traffic::default());
    let task = StreamTask { work: program.into(), clients: 0..3, pace: Pace::Closed, threads, traffic };
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::ZERO,
        length: Length::Duration(length),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
    };
    let interrupt = AtomicBool::new(false);
    RunTask { target, task: &task, schedule: &schedule, seed: 1, interrupt: &interrupt }.run(&mut Silent)
}

fn comes_back_after_a_kill_in_mid_run(target: &PostgresTarget) {
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

fn leaves_nothing(target: &PostgresTarget) {
    let folder = PathBuf::from(target.text("SHOW data_directory"));
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
        let opened = Postgres.open(&OpenRequest::new(&system, Consent::OwnOnly));
        opened.err().unwrap()
    };
    let failure = refused(&[("shared_bufers", "1GB")]);
    assert_eq!((failure.kind, failure.hint.as_deref()), (FailureKind::Plan, Some("did you mean `shared_buffers`?")));
    let failure = refused(&[("wal_level", "sideways")]);
    assert_eq!(failure.kind, FailureKind::Plan);
    assert!(failure.cause.contains("wal_level") && failure.cause.contains("minimal, replica, logical"), "{failure}");
    let failure = refused(&[("shared_buffers", "4000GB")]);
    assert!(failure.cause.contains("Cannot allocate memory"), "{failure}");
    assert!(failure.hint.is_some());
    assert_eq!(refused(&[("port", "5432")]).kind, FailureKind::Plan);
    assert_eq!(refused(&[("search_path", "public")]).kind, FailureKind::Plan);
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
    assert!(!endpoint.address.host.starts_with(deep.to_str().unwrap()));
    let client = endpoint.connect("").unwrap();
    client.close();
    private.remove().unwrap();
    assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 0);
    assert!(!std::path::Path::new(&endpoint.address.host).exists());
}

fn open_the_way(folder: &std::path::Path) {
    let status = Command::new("chmod").arg("0755").arg(folder).status().unwrap();
    assert!(status.success());
}

/// A tmpfs, unmounted on drop.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None`, with the reason printed, where it cannot be mounted.
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=0755");
        let mut mount = Command::new("mount");
        match mount.args(["-t", "tmpfs", "-o", &options, "etalon-test"]).arg(folder.path()).status() {
            Ok(status) if status.success() => {
                open_the_way(folder.path());
                Some(SmallDisk(folder))
            }
            other => {
                println!("skipped: cannot mount a small file system: {other:?}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_device_is_told_as_one() {
    let Some(disk) = SmallDisk::mount("90m") else { return };
    let full = |result: Result<(), Failure>| {
        let failure = result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::DiskFull, "{failure}");
        assert!(failure.hint.is_some());
    };
    let (private, endpoint) = started(private_server(Connect::Socket), &[], Some(disk.0.path())).unwrap();
    let target = made(endpoint, Some(private));
    let facts = target.facts().unwrap();
    assert_eq!(facts.durability().unwrap().tier, DurabilityTier::Memory);
    assert_eq!(facts.get("data_directory.filesystem"), Some("tmpfs"));
    full(target.prepare(&pgbench_tables(8)));
    target.drop_all().unwrap();
    std::fs::write(disk.0.path().join("fill"), vec![0; 70 << 20]).unwrap();
    full(started(private_server(Connect::Socket), &[], Some(disk.0.path())).map(|_| ()));
}

/// Every durability row that a server here can have, set and read back.
#[test]
fn promises_are_read_back_from_the_server() {
    use crate::systems::durability::tests::combinations;
    let target = start(Connect::Socket, &[]);
    let mut client = target.client();
    let promised = |target: &PostgresTarget| target.facts().unwrap().durability().unwrap();
    for rule in durability::TABLE {
        for settings in combinations(rule) {
            if settings.contains_key("system") || settings.contains_key("unlogged tables") {
                continue;
            }
            for (name, value) in &settings {
                client.execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
            }
            client.execute("SELECT pg_reload_conf()").unwrap();
            // The server lists its processes with a delay.
            let deadline = Instant::now() + Duration::from_secs(20);
            while promised(&target).tier != rule.tier && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
            let found = promised(&target);
            assert_eq!((found.tier, found.except.as_deref()), (rule.tier, None), "{settings:?}: {found:?}");
            assert!(found.because.contains(rule.why), "{found:?}");
            client.execute("ALTER SYSTEM RESET ALL").unwrap();
        }
    }
    client.execute("SELECT pg_reload_conf(); CREATE UNLOGGED TABLE public.loose (x int)").unwrap();
    assert_eq!(promised(&target).tier, DurabilityTier::Durable, "étalon's own tables are logged");
    let mut on_theirs = target;
    on_theirs.tables = Tables::None;
    let all = promised(&on_theirs);
    assert!(all.tier == DurabilityTier::Unsafe && all.because.contains("empties them"), "{all:?}");
    client.execute("CREATE TABLE public.firm (x int)").unwrap();
    let some = promised(&on_theirs);
    assert!(
        some.tier == DurabilityTier::Durable && some.except.is_some_and(|text| text.contains("some of the tables"))
    );
    client.close();
}
