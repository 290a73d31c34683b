//! A private server's whole life.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use model::{Durability, DurabilityTier};

use super::*;
use crate::server::testing::fakes::listen;
use crate::server::testing::lane::{WAYS, one_of_two_in_a_deadlock_is_told};
use crate::server::testing::life;
use crate::suite::sessions_elsewhere_are_not_counted;
use workloads::transactions::pgbench_tables;

#[test]
fn a_private_server_from_its_making_to_its_removal() {
    let system = start(Connect::Socket, &[("shared_buffers", "32MB"), ("synchronous_commit", "off")]);
    says_what_it_is(&system);
    prepares_the_same_tables_every_time(&system);
    makes_them_anew_only_if_something_was_written(&system);
    counts_forwards(&system);
    for way in WAYS {
        lane::every_kind_of_value_arrives(&system, way);
        lane::errors_have_classes_and_a_way_back(&system, way);
        one_of_two_in_a_deadlock_is_told(&system, way, "UPDATE pairs SET v = v + 1 WHERE k = $1");
        lane::the_last_row_of_each_result_is_kept(&system, way);
        lane::a_pipeline_ends_as_its_first_failure(&system, way);
        lane::unprepared_statements_run_as_well(&system, way);
        lane::clients_connect_anew(&system, way);
        lane::a_backend_that_is_ended_is_a_lost_connection(&system, way);
    }
    a_rival_is_not_disturbed(&system);
    life::is_started_anew_between_rounds(&system);
    assert_eq!(system.text("SELECT current_setting('shared_buffers')"), "32MB");
    life::comes_back_after_a_kill_in_mid_run(&system);
    life::is_not_kept_once_killed(&system);
    life::leaves_nothing(&system, "SHOW data_directory");
}

fn says_what_it_is(system: &PostgresSystem) {
    let facts = system.facts().unwrap();
    assert_eq!(facts.get("server.product"), Some("PostgreSQL"));
    assert!(facts.get("server.version").unwrap().starts_with("PostgreSQL "));
    assert_eq!(facts.get("setting.shared_buffers"), Some("32MB"));
    assert_eq!(facts.get("database.encoding"), Some("UTF8"));
    assert_eq!(facts.get("database.collation"), Some("C"));
    assert_eq!((facts.get("path.kind"), facts.get("path.tls")), (Some("socket"), Some("off")));
    assert!(facts.get("server.made_by").unwrap().contains("initdb -A trust"));
    assert!(facts.get("data_directory.filesystem").is_some(), "{:?}", facts.entries.get("data_directory.filesystem"));
    // A server that cannot answer has not refused a privilege: no facts then.
    let mut client = system.open_client().unwrap();
    client.execute("BEGIN").unwrap();
    client.execute("SELECT 1/0").unwrap_err();
    assert!(facts::find_data_place(&mut client, &system.endpoint.address).is_err());
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
fn state(system: &PostgresSystem) -> String {
    let tables = "SELECT string_agg(concat_ws(' ', relname, relpages, reltuples, relallvisible), ', ' ORDER BY relname) \
                  FROM pg_class WHERE relnamespace = 'etalon'::regnamespace";
    let rows = "SELECT md5(string_agg(concat_ws(' ', ctid, a), ',' ORDER BY ctid)) FROM pgbench_accounts a";
    let pending = "SELECT string_agg(relname || ' ' || n_mod_since_analyze || ' ' || n_dead_tup, ', ' ORDER BY relname) \
                   FROM pg_stat_user_tables WHERE schemaname = 'etalon'";
    [tables, rows, pending].map(|sql| system.text(sql)).join("; ")
}

fn prepares_the_same_tables_every_time(system: &PostgresSystem) {
    let changes = [
        "UPDATE pgbench_accounts SET abalance = 7 WHERE aid < 1000",
        "DROP TABLE pgbench_history; CREATE TABLE more (x int)",
    ];
    let first = life::prepares_the_same_tables_every_time(system, state, &changes, "42P01");
    assert!(first.contains("pgbench_accounts 1640 100000 1640"), "{first}");
    assert!(first.contains("pgbench_accounts 0 0"), "automatic vacuum would come: {first}");
}

fn makes_them_anew_only_if_something_was_written(system: &PostgresSystem) {
    let data = pgbench_tables(1);
    let file = |system: &PostgresSystem| {
        system.prepare(&data).unwrap();
        system.settle().unwrap();
        system.text("SELECT relfilenode FROM pg_class WHERE oid = 'etalon.pgbench_accounts'::regclass")
    };
    // A recently used server may still write its own statistics.
    let started = Instant::now();
    let mut first = file(system);
    loop {
        let second = file(system);
        if second == first {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it is made anew each time");
        first = second;
    }
    assert_eq!(system.text("SELECT count(*) FROM pgbench_accounts WHERE aid < 1000"), "999");
    assert_eq!(file(system), first);
    let mut anew = |sql: &str| {
        system.run(sql);
        let now = file(system);
        assert_ne!(now, first, "{sql}");
        first = now;
    };
    anew("UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 1");
    anew("SELECT 1 FROM pgbench_accounts WHERE aid = 1 FOR UPDATE");
    anew("BEGIN; DELETE FROM pgbench_history; UPDATE pgbench_tellers SET tbalance = 1; ROLLBACK");
    anew("CREATE TABLE public.other (x int); DROP TABLE public.other");
    // In progress, but without a lock in the way.
    let mut writer = system.open_client().unwrap();
    writer.execute("CREATE TABLE public.third (x int); BEGIN; INSERT INTO public.third VALUES (1)").unwrap();
    let (one, two) = (file(system), file(system));
    assert_ne!(one, two);
    writer.execute("ROLLBACK").unwrap();
    writer.close_and_wait();
    let now = file(system);
    system.begin_round().unwrap();
    assert_ne!(file(system), now, "each block begins with tables that were just made");
}

fn counts_forwards(system: &PostgresSystem) {
    let before = system.counters().unwrap();
    for name in
        ["commits", "rollbacks", "deadlocks", "blocks_read", "blocks_hit", "temp_bytes", "wal_bytes", "checkpoints"]
    {
        assert!(before.value_of(name).is_some(), "{name}: {before:?}");
    }
    let mut client = system.open_client().unwrap();
    for _ in 0..50 {
        client.execute("UPDATE pgbench_branches SET bbalance = bbalance + 1").unwrap();
    }
    client.close_and_wait();
    system.settle().unwrap();
    let started = Instant::now();
    loop {
        let since = system.counters().unwrap().since(&before);
        let value = |name: &str| since.value_of(name).unwrap();
        assert!(since.counts.keys().all(|name| value(name) >= 0.0), "{since:?}");
        if value("commits") >= 50.0 && value("wal_bytes") > 0.0 && value("checkpoints") >= 1.0 {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{since:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn a_rival_is_not_disturbed(system: &PostgresSystem) {
    let mut rival = system.open_client().unwrap();
    rival.execute(&format!("SELECT pg_advisory_lock_shared({}, 1)", i32::from_be_bytes(*b"etal"))).unwrap();
    system.control.close_session();
    let failure = system.counters().unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs);
    assert!(failure.cause.contains("another étalon (`etalon`)") && failure.hint.is_some(), "{failure}");
    rival.close_and_wait();
    // A session ends a moment after its connection.
    assert!(system.counters().is_ok());
}

#[test]
fn a_private_server_that_does_not_start_says_why() {
    let refused = testing::refused_start::<PostgresServer>;
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

#[test]
fn a_deep_folder_is_no_hindrance() {
    life::a_deep_folder_is_no_hindrance::<PostgresServer>(|endpoint| endpoint.address.host.as_str().into());
}

#[test]
fn the_server_counts_what_the_client_claims() {
    testing::the_server_counts_what_the_client_claims::<PostgresServer>(&["prepared", "extended", "simple"]);
}

#[test]
fn large_data_sets_are_loaded_in_parts() {
    testing::parts::large_data_sets_are_loaded_in_parts::<PostgresServer>();
}

/// A proxy that hands out its own session numbers, like a pooler.
fn proxy(port: u16) -> u16 {
    const KEY: &[u8] = b"K\0\0\0\x0c";
    listen(move |mut client| {
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(std::net::Shutdown::Write);
        });
        thread::spawn(move || {
            let (mut bytes, mut is_let_in) = (vec![0; 1 << 16], false);
            while let Ok(count @ 1..) = server.read(&mut bytes) {
                let key = bytes[..count].windows(KEY.len()).position(|part| part == KEY);
                if let (false, Some(at)) = (is_let_in, key) {
                    bytes[at + KEY.len() + 3] ^= 1;
                    is_let_in = true;
                }
                if client.write_all(&bytes[..count]).is_err() {
                    return;
                }
            }
            let _ = client.shutdown(std::net::Shutdown::Write);
        });
    })
}

#[test]
fn sessions_behind_a_proxy_are_not_counted() {
    let server = start(Connect::Tcp, &[]);
    let address = &server.endpoint.address;
    let (user, database) = (&address.user, &address.database);
    let by_proxy = Address::without_tls("127.0.0.1", proxy(address.port), user, database, address.password.as_deref());
    let system: PostgresSystem = made(Endpoint::new(by_proxy).unwrap(), None);
    sessions_elsewhere_are_not_counted(&system);
    system.drop_all().unwrap();
}

/// A tmpfs, unmounted on drop.
pub(super) struct SmallDisk(pub(super) tempfile::TempDir);

impl SmallDisk {
    /// `None`, with the reason printed, where it cannot be mounted.
    pub(super) fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=0755");
        let mut mount = Command::new("mount");
        match mount.args(["-t", "tmpfs", "-o", &options, "etalon-test"]).arg(folder.path()).status() {
            Ok(status) if status.success() => {
                life::open_the_way(folder.path());
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
    let (private, endpoint) = started::<PostgresServer>(Connect::Socket, &[], Some(disk.0.path())).unwrap();
    let system: PostgresSystem = made(endpoint, Some(private));
    let facts = system.facts().unwrap();
    assert_eq!(facts.durability().unwrap().tier, DurabilityTier::Memory);
    assert_eq!(facts.get("data_directory.filesystem"), Some("tmpfs"));
    assert_disk_full(&system.prepare(&pgbench_tables(8)).unwrap_err());
    system.drop_all().unwrap();
    std::fs::write(disk.0.path().join("fill"), vec![0; 70 << 20]).unwrap();
    let refused = started::<PostgresServer>(Connect::Socket, &[], Some(disk.0.path()));
    assert_disk_full(&refused.err().unwrap());
}

fn assert_disk_full(failure: &Failure) {
    assert_eq!(failure.kind, FailureKind::DiskFull, "{failure}");
    assert!(failure.hint.is_some());
}

fn promised(system: &PostgresSystem) -> Durability {
    system.facts().unwrap().durability().unwrap()
}

/// Every durability row that a server here can have, set and read back.
#[test]
fn promises_are_read_back_from_the_server() {
    use crate::durability::tests::combinations;
    let system = start(Connect::Socket, &[]);
    let mut client = system.open_client().unwrap();
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
            while promised(&system).tier != rule.tier && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
            let found = promised(&system);
            assert_eq!((found.tier, found.except.as_deref()), (rule.tier, None), "{settings:?}: {found:?}");
            assert!(found.because.contains(rule.why), "{found:?}");
            client.execute("ALTER SYSTEM RESET ALL").unwrap();
        }
    }
    client.execute("SELECT pg_reload_conf(); CREATE UNLOGGED TABLE public.loose (x int)").unwrap();
    assert_eq!(promised(&system).tier, DurabilityTier::Durable, "others' tables are not the load's");
    // As an event trigger of others may make them.
    client.execute("CREATE SCHEMA etalon; CREATE UNLOGGED TABLE etalon.loose (x int)").unwrap();
    assert_eq!(promised(&system).tier, DurabilityTier::Unsafe, "étalon's own tables are not logged");
    client.execute("DROP SCHEMA etalon CASCADE").unwrap();
    let mut on_theirs = system;
    on_theirs.tables = Tables::None;
    let all = promised(&on_theirs);
    assert!(all.tier == DurabilityTier::Unsafe && all.because.contains("empties them"), "{all:?}");
    client.execute("CREATE TABLE public.firm (x int)").unwrap();
    let some = promised(&on_theirs);
    assert!(
        some.tier == DurabilityTier::Durable && some.except.is_some_and(|text| text.contains("some of the tables"))
    );
    // The facts of a private server, which is started again, leave out what distinguishes it from another one.
    let read = || facts::read_facts(&mut on_theirs.open_client().unwrap(), &on_theirs.endpoint, Tables::None).unwrap();
    let mut before = read();
    for change in
        ["CREATE INDEX ON public.firm (x)", "ALTER TABLE public.firm ADD y int", "DROP INDEX public.firm_x_idx"]
    {
        client.execute(change).unwrap();
        let now = read();
        let names: Vec<String> = now.changes_since(&before).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["instance.indexes_and_triggers"], "{change}");
        let sides: Vec<String> = now.differences_of_sides(&before).into_iter().map(|one| one.name).collect();
        assert_eq!(sides, ["schema"], "{change}");
        before = now;
    }
    client.execute("DROP TABLE public.firm; CREATE TABLE public.firm (x int, y int)").unwrap();
    assert_eq!(read().differences_of_sides(&before), [], "two equal tables with other numbers");
    let mut before = read();
    for change in [
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER far FOREIGN DATA WRAPPER w OPTIONS (dbname 'one')",
        "ALTER SERVER far OPTIONS (SET dbname 'other')",
        "CREATE STATISTICS public.both ON x, y FROM public.firm",
        "ALTER TABLE public.firm ALTER x SET STATISTICS 500",
        "ALTER TABLE public.firm REPLICA IDENTITY FULL",
    ] {
        client.execute(change).unwrap();
        let now = read();
        let names: Vec<String> = now.changes_since(&before).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["instance.indexes_and_triggers"], "{change}");
        before = now;
    }
    client.close_and_wait();
}
