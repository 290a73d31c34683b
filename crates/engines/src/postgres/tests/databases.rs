//! Étalon's tables in databases of their own, on a server of others.

use std::time::{Duration, Instant};

use host::process::StopSignal;
use model::Reset;

use super::server::SmallDisk;
use super::*;
use crate::owner::MARKER;
use crate::server::system::{Purpose, Settings as _};
use workloads::dataset::Dataset;
use workloads::permits::Permits;
use workloads::session::SessionKind;
use workloads::system::Part;
use workloads::transactions::pgbench_tables;

/// Everything of étalon's names.
const DATABASES: &str = "SELECT coalesce(string_agg(datname, ' ' ORDER BY datname), '') FROM pg_database \
                         WHERE datname LIKE 'etalon%'";

/// One table of ten rows.
fn small() -> Dataset {
    Dataset {
        name: "small".to_owned(),
        afterwards: vec!["CREATE TABLE small AS SELECT generate_series(1, 10) AS id".to_owned()],
        ..Dataset::default()
    }
}

fn plan(url: &str, reset: Reset) -> SystemPlan {
    SystemPlan { name: "s".to_owned(), url: url.to_owned(), reset: Some(reset), ..SystemPlan::default() }
}

pub(super) fn opened(url: &str, reset: Reset) -> Result<PostgresSystem, Failure> {
    opened_as(url, reset, Consent::OwnOnly, Part::Whole)
}

fn opened_as(url: &str, reset: Reset, consent: Consent, part: Part) -> Result<PostgresSystem, Failure> {
    let plan = plan(url, reset);
    let request = OpenRequest { part, ..OpenRequest::new(&plan, consent) };
    let address: Address = crate::server::url::Address::parse_permitted(url, &|_| None, &Permits::All)?;
    let (endpoint, session) = PostgresServer::connect_for_plan(address, &request)?;
    ServerSystem::new(endpoint, session, None, &request)
}

/// A server with a role that may make databases and no more, and that role's URL.
pub(super) fn server_and_url() -> (PostgresSystem, String) {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    server.run("CREATE ROLE bench LOGIN CREATEDB PASSWORD 'x'");
    let url = server.url("bench", "x", "postgres");
    (server, url)
}

/// Bytes that `work` adds to the log.
fn logged(server: &PostgresSystem, work: impl FnOnce()) -> i64 {
    const END_OF_LOG: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')";
    let before = server.scalar(END_OF_LOG).unwrap();
    work();
    server.scalar(END_OF_LOG).unwrap() - before
}

#[test]
fn tables_come_back_and_nothing_stays() {
    let (server, url) = server_and_url();
    for reset in [Reset::Restore, Reset::Clone] {
        let system = opened(&url, reset).unwrap();
        let (mut data, mut few) = (pgbench_tables(1), small());
        for made in [&mut data, &mut few] {
            made.later.push("more".to_owned());
        }
        println!("{}", System::explain_reset(&system, &data).unwrap());
        assert!(System::explain_reset(&system, &data).unwrap().starts_with(&reset.to_string()));
        for round in 0..2 {
            system.prepare(&data).unwrap();
            assert_eq!(system.scalar("SELECT sum(abalance) FROM pgbench_accounts").unwrap(), 0, "{round}");
            system.settle().unwrap();
            system.run("UPDATE pgbench_accounts SET abalance = 1 WHERE aid < 1000; DROP TABLE pgbench_history");
            system.prepare(&few).unwrap();
            assert_eq!(system.scalar("SELECT count(*) FROM small").unwrap(), 10);
            assert!(system.scalar("SELECT count(*) FROM pgbench_accounts").is_err(), "other tables are there, too");
            system.run("DELETE FROM small");
            system.prepare(&few).unwrap();
            assert_eq!(system.scalar("SELECT count(*) FROM small").unwrap(), 10);
            system.begin_round().unwrap();
        }
        assert_eq!(server.text(DATABASES), "etalon etalon_kept_1 etalon_kept_2");
        assert!(system.kept_bytes() > 16 << 20, "{}", system.kept_bytes());
        is_as_it_was_made(&system, reset);
        let untouched = "SELECT oid FROM pg_database WHERE datname = 'etalon'";
        let (one, _) = (system.prepare(&data).unwrap(), system.settle().unwrap());
        let before = server.text(untouched);
        system.prepare(&data).unwrap();
        assert_eq!(server.text(untouched), before, "{one:?}: nothing was written, and it was copied again");
        system.drop_all().unwrap();
        assert_eq!(server.text(DATABASES), "");
        system.drop_all().unwrap();
        assert_eq!(server.text("SELECT count(*) FROM pg_stat_activity WHERE usename = 'bench'"), "0");
    }
    server.drop_all().unwrap();
}

fn is_as_it_was_made(system: &PostgresSystem, reset: Reset) {
    let facts = system.facts().unwrap();
    assert_eq!(facts.get("database.name"), Some("etalon"));
    assert_eq!((facts.get("database.encoding"), facts.get("database.collation")), (Some("UTF8"), Some("C")));
    // What others made is where the URL says.
    let mut outside = system.session_settings_for(Tables::None).open_session(&system.endpoint, Purpose::Load).unwrap();
    assert_eq!(outside.query_first_value("SELECT current_database()").unwrap(), "postgres");
    outside.close_and_wait();
    assert_eq!(system.text("SELECT current_database()"), "etalon");
    let mut session = system.connect_session(SessionKind::Plain).unwrap();
    session.execute("CREATE TABLE more (x int)").unwrap();
    drop(session);
    assert!(System::wait_until_available(system).is_ok(), "{reset}");
}

#[test]
fn small_databases_are_logged_and_large_ones_are_copied_by_file() {
    let (server, url) = server_and_url();
    let of = |reset: Reset, data: &Dataset| {
        let system = opened(&url, reset).unwrap();
        system.prepare(data).unwrap();
        system.begin_round().unwrap();
        let bytes = logged(&server, || system.prepare(data).unwrap());
        system.drop_all().unwrap();
        println!("{reset} of {}: {bytes} bytes of log", data.name);
        bytes
    };
    if server.scalar("SELECT current_setting('server_version_num')").unwrap() >= 150_000 {
        assert!(of(Reset::Restore, &small()) > 3 << 20);
    }
    assert!(of(Reset::Clone, &small()) < 1 << 20);
    assert!(of(Reset::Restore, &pgbench_tables(1)) < 1 << 20);
    server.drop_all().unwrap();
}

fn refused(failure: Failure, kind: FailureKind, words: &str) {
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(format!("{failure} {:?}", failure.hint).contains(words), "{failure} {:?}", failure.hint);
}

#[test]
fn what_a_killed_étalon_left_is_removed_and_what_others_made_stays() {
    let (server, url) = server_and_url();
    // Between `CREATE DATABASE` and its comment there is only the limit; an earlier étalon's copy may be closed.
    let limit = i32::from_be_bytes(*b"etal");
    server.run(&format!("CREATE DATABASE etalon OWNER bench CONNECTION LIMIT {limit}"));
    server.run("CREATE DATABASE etalon_kept_7 OWNER bench ALLOW_CONNECTIONS false");
    server.run(&format!("COMMENT ON DATABASE etalon_kept_7 IS '{MARKER} (process 1, system 1)'"));
    server.run("CREATE DATABASE etalon_kept_1");
    server.run("CREATE DATABASE etalon_kept_of_mine");
    let system = opened(&url, Reset::Restore).unwrap();
    assert_eq!(server.text(DATABASES), "etalon etalon_kept_1 etalon_kept_of_mine");
    system.prepare(&small()).unwrap();
    assert_eq!(server.text(DATABASES), "etalon etalon_kept_1 etalon_kept_2 etalon_kept_of_mine");
    // Of the same plan, with other settings.
    let other = opened(&url, Reset::Clone).unwrap();
    other.prepare(&small()).unwrap();
    system.prepare(&small()).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM small").unwrap(), 10);
    other.drop_all().unwrap();
    system.prepare(&small()).unwrap();
    system.drop_all().unwrap();
    assert_eq!(server.text(DATABASES), "etalon_kept_1 etalon_kept_of_mine");
    // By another étalon, from another database of the server.
    server.run("CREATE DATABASE shop");
    let mut rival = Endpoint::new(server.endpoint.on_database("shop").address).unwrap().open_client("").unwrap();
    rival.execute(&format!("SELECT pg_advisory_lock_shared({}, 1)", i32::from_be_bytes(*b"etdb"))).unwrap();
    refused(opened(&url, Reset::Restore).err().unwrap(), FailureKind::NotOurs, "another étalon");
    rival.close_and_wait();
    server.run("CREATE DATABASE etalon OWNER bench");
    refused(opened(&url, Reset::Restore).err().unwrap(), FailureKind::NotOurs, "the database `etalon`");
    assert_eq!(server.text(DATABASES), "etalon etalon_kept_1 etalon_kept_of_mine");
    let system = opened_as(&url, Reset::Restore, Consent::DropForeign, Part::Whole).unwrap();
    system.prepare(&small()).unwrap();
    system.drop_all().unwrap();
    assert_eq!(server.text(DATABASES), "etalon_kept_1 etalon_kept_of_mine");
    let named = server.url("bench", "x", "etalon");
    refused(opened(&named, Reset::Clone).err().unwrap(), FailureKind::Plan, "such as `postgres`");
    server.run("CREATE ROLE poor LOGIN PASSWORD 'x'");
    let poor = server.url("poor", "x", "postgres");
    refused(opened(&poor, Reset::Clone).err().unwrap(), FailureKind::Permission, "ALTER ROLE poor CREATEDB");
    server.drop_all().unwrap();
}

#[test]
fn what_is_in_the_way_of_a_copy_is_told_and_a_lost_copy_is_made_anew() {
    let (server, url) = server_and_url();
    let system = opened(&url, Reset::Restore).unwrap();
    system.prepare(&small()).unwrap();
    server.run("ALTER DATABASE etalon_kept_1 ALLOW_CONNECTIONS true");
    let visitor = server.endpoint.on_database("etalon_kept_1").open_client("").unwrap();
    system.run("DELETE FROM small");
    let failure = system.prepare(&small()).unwrap_err();
    let told = format!("{failure} {:?}", failure.hint);
    assert!(told.contains("`etalon` is connected to it") && told.contains("pg_terminate_backend"), "{told}");
    assert!(System::wait_until_available(&system).is_ok(), "the server is there, if not the tables");
    visitor.close_and_wait();
    system.prepare(&small()).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM small").unwrap(), 10);
    // A host that only loads is where the tables are, and holds nothing.
    let load = opened_as(&url, Reset::Restore, Consent::OwnOnly, Part::Load).unwrap();
    assert_eq!(load.text("SELECT count(*) FROM small"), "10");
    system.run("DELETE FROM small");
    system.prepare(&small()).unwrap();
    assert_eq!(load.text("SELECT count(*) FROM small"), "10");
    server.run("DROP DATABASE etalon_kept_1");
    system.run("DELETE FROM small");
    system.prepare(&small()).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM small").unwrap(), 10);
    a_server_that_dies_is_no_end(&server, &system);
    system.drop_all().unwrap();
    assert_eq!(server.text(DATABASES), "");
    server.drop_all().unwrap();
}

#[test]
fn letters_and_their_order_are_those_of_the_url_s_database() {
    let (server, _) = server_and_url();
    let kinds = [
        "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'",
        "ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C'",
        "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
        "ENCODING 'UTF8' LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'",
    ];
    let mut tried = 0;
    for kind in kinds {
        let made = server.open_client().unwrap().execute(&format!("CREATE DATABASE shop TEMPLATE template0 {kind}"));
        if let Err(error) = made {
            println!("not of this release and build: {kind}: {error}");
            continue;
        }
        tried += 1;
        let system = opened(&server.url("bench", "x", "shop"), Reset::Restore).unwrap();
        let [own, theirs] = ["etalon", "shop"].map(|name| {
            let columns = "- 'oid' - 'datname' - 'datdba' - 'datconnlimit' - 'datfrozenxid' - 'datminmxid'";
            server.text(&format!("SELECT to_jsonb(d) {columns} FROM pg_database d WHERE datname = '{name}'"))
        });
        assert_eq!(own, theirs);
        system.drop_all().unwrap();
        server.run("DROP DATABASE shop");
    }
    assert!(tried >= 2);
    server.drop_all().unwrap();
}

#[test]
fn a_server_that_lets_nobody_into_the_new_database_is_told() {
    let (server, url) = server_and_url();
    let hba = server.text("SHOW hba_file");
    let before = std::fs::read_to_string(&hba).unwrap();
    std::fs::write(&hba, format!("host etalon bench 127.0.0.1/32 reject\n{before}")).unwrap();
    server.run("SELECT pg_reload_conf()");
    let started = Instant::now();
    let failure = loop {
        match opened(&url, Reset::Restore) {
            Err(failure) => break failure,
            Ok(system) => system.drop_all().unwrap(),
        }
        assert!(started.elapsed() < Duration::from_secs(10), "it does not read its configuration");
    };
    assert_eq!(failure.kind, FailureKind::Login, "{failure}");
    assert!(failure.hint.as_ref().unwrap().contains("host  etalon  bench"), "{failure:?}");
    assert_eq!(server.text(DATABASES), "");
    server.drop_all().unwrap();
}

fn a_server_that_dies_is_no_end(server: &PostgresSystem, system: &PostgresSystem) {
    system.run("DELETE FROM small");
    // It is in recovery for a moment, and its sessions are gone.
    server.lock_private().unwrap().running.signal(StopSignal::Kill);
    let failure = system.prepare(&small()).unwrap_err();
    assert!(failure.may_pass() && failure.hint.is_some(), "{failure:?}");
    server.wait_until_available().unwrap();
    system.wait_until_available().unwrap();
    system.prepare(&small()).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM small").unwrap(), 10);
}

#[test]
fn a_full_device_is_told_and_the_next_copy_goes_on() {
    let Some(disk) = SmallDisk::mount("160m") else { return };
    let (private, endpoint) = started::<PostgresServer>(Connect::Tcp, &[], Some(disk.0.path())).unwrap();
    let server: PostgresSystem = made(endpoint, Some(private));
    let (system, data) = (opened(&server.own_url(), Reset::Restore).unwrap(), pgbench_tables(1));
    system.prepare(&data).unwrap();
    system.run("DELETE FROM pgbench_accounts WHERE aid < 1000");
    // Or its space would do for the copy.
    server.run("DROP DATABASE etalon WITH (FORCE)");
    let filler = disk.0.path().join("fill");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 1 << 16]).is_ok() {}
    file.set_len(file.metadata().unwrap().len() - (8 << 20)).unwrap();
    let failure = system.prepare(&data).unwrap_err();
    assert_eq!(failure.kind, FailureKind::DiskFull, "{failure}");
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("rebuild")), "{failure:?}");
    assert!(System::wait_until_available(&system).is_ok());
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    system.prepare(&data).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    system.drop_all().unwrap();
    server.drop_all().unwrap();
}

#[test]
fn a_plan_is_told_what_is_made() {
    let restore = plan("postgres://me@h/shop", Reset::Restore);
    let made = Postgres.explain_made(&restore).unwrap();
    assert!(made.contains("`etalon_kept_1`"), "{made}");
    assert!(
        Postgres.explain_dropped(&restore).starts_with("what étalon made in the databases"),
        "{}",
        Postgres.explain_dropped(&restore)
    );
    assert!(Postgres.needed_privileges(&restore).unwrap().contains("ALTER ROLE me CREATEDB"));
    assert_eq!(Postgres.choose_reset(&restore, 0), Ok(Some(Reset::Restore)));
    let usual = SystemPlan { reset: None, ..restore };
    assert_eq!(Postgres.choose_reset(&usual, 1 << 40), Ok(Some(Reset::Rebuild)));
    assert!(Postgres.explain_made(&usual).unwrap().starts_with("the schema `etalon`"));
}
