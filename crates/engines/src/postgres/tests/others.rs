//! What others put into étalon's schema or database, or built on its tables, and claims that are lost.

use std::thread;
use std::time::{Duration, Instant};

use super::databases::{opened, server_and_url};
use super::*;
use workloads::transactions::pgbench_tables;

const THINGS: [&str; 5] = [
    "CREATE TABLE etalon.notes AS SELECT 42 AS answer",
    "CREATE VIEW public.rich AS SELECT aid FROM etalon.pgbench_accounts WHERE abalance > 0",
    "CREATE TABLE public.branch (bid int REFERENCES etalon.pgbench_branches)",
    "CREATE FUNCTION public.name_of(etalon.pgbench_tellers) RETURNS text LANGUAGE sql AS 'SELECT $1.filler::text'",
    "CREATE FUNCTION public.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
     CREATE TRIGGER noted AFTER INSERT ON etalon.pgbench_history EXECUTE FUNCTION public.noted()",
];

/// Things of others in PostgreSQL's words.
const NAMES: [&str; 5] =
    ["table etalon.notes", "view public.rich", "public.branch", "public.name_of(etalon.pgbench_tellers)", "noted on"];

/// How many of them are there.
fn count(server: &PostgresSystem) -> String {
    server.text(
        "SELECT (SELECT count(*) FROM pg_class WHERE relname IN ('notes', 'rich', 'branch')) + (SELECT count(*) FROM pg_proc \
         WHERE proname = 'name_of') + (SELECT count(*) FROM pg_trigger WHERE tgname = 'noted') + (SELECT count(*) FROM \
         pg_constraint WHERE conname = 'branch_bid_fkey')",
    )
}

#[test]
fn things_of_others_stay_and_are_named() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let data = pgbench_tables(1);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&data).unwrap();
    THINGS.iter().for_each(|sql| server.run(sql));
    assert_eq!(count(&server), "6");
    // The tables cannot be made again, and nothing is changed by the attempt.
    let failure = system.prepare(&data).unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    assert!(NAMES[1..].iter().all(|name| failure.cause.contains(name)) && failure.hint.is_some(), "{failure}");
    assert_eq!(server.text("SELECT count(*) FROM etalon.pgbench_accounts"), "100000");
    let failure = system.drop_all().unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    assert!(NAMES.iter().all(|name| failure.cause.contains(name)), "{failure}");
    assert_eq!(count(&server), "6");
    drop(system);
    // An étalon that comes later leaves them, too, whatever the user allows in étalon's own place.
    for consent in [Consent::OwnOnly, Consent::DropForeign] {
        let later = open(&server.own_url(), &[], consent).unwrap();
        assert_eq!(later.prepare(&data).unwrap_err().kind, FailureKind::NotOurs);
        assert_eq!(count(&server), "6");
    }
    server.run("DROP VIEW public.rich; DROP TABLE public.branch; DROP FUNCTION public.name_of");
    server.run("DROP TRIGGER noted ON etalon.pgbench_history");
    // A table next to étalon's disturbs no one.
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&data).unwrap();
    assert_eq!(server.text("SELECT answer FROM etalon.notes"), "42");
    let failure = system.drop_all().unwrap_err();
    assert!(failure.cause.contains("table etalon.notes"), "{failure}");
    assert_eq!(
        server.text("SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'etalon'::regnamespace"),
        "notes"
    );
    server.run("DROP TABLE etalon.notes");
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
}

#[test]
fn a_sequence_and_statistics_on_a_table_stay_with_it() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("CREATE SEQUENCE etalon.pgbench_accounts_my_seq OWNED BY etalon.pgbench_accounts.aid; SELECT setval('etalon.pgbench_accounts_my_seq', 4711)");
    server.run("CREATE STATISTICS public.paired ON tid, bid FROM etalon.pgbench_history");
    // Part of its table.
    server.run("ALTER TABLE etalon.pgbench_tellers ADD n serial");
    let failure = system.drop_all().unwrap_err();
    for thing in ["sequence etalon.pgbench_accounts_my_seq", "statistics object public.paired"] {
        assert!(failure.kind == FailureKind::NotOurs && failure.cause.contains(thing), "{failure}");
    }
    assert_eq!(server.text("SELECT last_value FROM etalon.pgbench_accounts_my_seq"), "4711");
    assert_eq!(server.text("SELECT count(*) FROM pg_statistic_ext"), "1");
    assert_eq!(server.text("SELECT to_regclass('etalon.pgbench_tellers') IS NULL"), "t");
    server.run("DROP SEQUENCE etalon.pgbench_accounts_my_seq; DROP STATISTICS public.paired");
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
}

#[test]
fn things_named_as_étalons_stay_however_often_it_drops() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("CREATE FUNCTION etalon.pgbench_accounts() RETURNS int LANGUAGE sql AS 'SELECT 42'");
    server.run("CREATE TABLE etalon.\"PGBENCH_HISTORY\" (note text)");
    for _ in 0..2 {
        let failure = system.drop_all().unwrap_err();
        for thing in ["function etalon.pgbench_accounts()", "table etalon.\"PGBENCH_HISTORY\""] {
            assert!(failure.cause.contains(thing), "{failure}");
        }
        assert_eq!(server.text("SELECT etalon.pgbench_accounts()"), "42");
        assert_eq!(server.text("SELECT count(*) FROM etalon.\"PGBENCH_HISTORY\""), "0");
    }
    assert_eq!(server.text("SELECT to_regclass('etalon.pgbench_accounts') IS NULL"), "t");
}

#[test]
fn a_table_that_others_put_in_place_of_étalons_stays() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    let data = pgbench_tables(1);
    system.prepare(&data).unwrap();
    // One that was rewritten is the same.
    server.run("ALTER TABLE etalon.pgbench_tellers ALTER filler TYPE varchar(90)");
    server.run("VACUUM FULL etalon.pgbench_branches");
    server.run("DROP TABLE etalon.pgbench_history");
    server.run("CREATE TABLE etalon.pgbench_history AS SELECT 42 AS mine");
    let failure = system.prepare(&data).unwrap_err();
    assert!(failure.cause.contains("table etalon.pgbench_history"), "{failure}");
    for _ in 0..2 {
        let failure = system.drop_all().unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(failure.cause.contains("table etalon.pgbench_history"), "{failure}");
        assert_eq!(server.text("SELECT mine FROM etalon.pgbench_history"), "42");
        let tables = "SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'etalon'::regnamespace AND relkind = 'r'";
        assert_eq!(server.text(tables), "pgbench_history");
    }
}

#[test]
fn a_view_that_writes_nothing_in_place_of_a_table_stays() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("DROP TABLE etalon.pgbench_history");
    server.run(
        "CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE VIEW \
         etalon.pgbench_history AS SELECT 1 AS tid; CREATE TRIGGER nothing INSTEAD OF INSERT ON etalon.pgbench_history FOR EACH ROW \
         EXECUTE FUNCTION public.nothing()",
    );
    let failure = system.drop_all().unwrap_err();
    assert!(failure.cause.contains("view etalon.pgbench_history"), "{failure}");
    assert_eq!(server.text("SELECT tid FROM etalon.pgbench_history"), "1");
}

/// Each of these can let commits off the log, or hide rows, where no setting of the server shows it.
#[test]
fn what_others_add_to_etalons_tables_is_a_change() {
    const ADDED: [(&str, &str); 10] = [
        ("ALTER TABLE {} ALTER delta TYPE public.outer_hurried", "check inner_hurry"),
        ("ALTER TABLE {} ADD later public.late", "domain late"),
        ("CREATE CAST (int AS public.mood) WITH FUNCTION public.mood_of(int) AS ASSIGNMENT", "cast from integer"),
        ("ALTER TABLE {} ADD CONSTRAINT hurry CHECK (public.hurry(delta))", "check hurry"),
        (
            "ALTER TABLE {} ADD CHECK (set_config('synchronous_commit', 'off', true) <> '')",
            "check pgbench_history_check",
        ),
        ("CREATE INDEX hurried ON {} (public.hurry(delta))", "index hurried"),
        ("CREATE POLICY gains ON {} USING (delta > 0)", "policy gains"),
        ("ALTER TABLE {} ENABLE ROW LEVEL SECURITY", "row security"),
        ("CREATE RULE drained AS ON INSERT TO {} DO INSTEAD NOTHING", "rule drained"),
        ("ALTER TABLE {} ALTER filler SET DEFAULT public.hurry(1)::text", "default 6"),
    ];
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("CREATE FUNCTION public.hurry(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true'");
    let before = system.facts().unwrap();
    assert_eq!(before.get("instance.added_by_others"), Some("nothing"));
    // The tables of a user's own script have such.
    server.run(
        "CREATE TYPE public.mood AS ENUM ('fine'); CREATE DOMAIN public.small AS int DEFAULT 1 CHECK (abs(VALUE) < 9); ALTER TABLE \
         etalon.pgbench_history ADD CHECK (abs(delta) >= 0), ADD n serial, ALTER mtime SET DEFAULT now(), ADD m public.mood, ADD s \
         public.small[]",
    );
    server.run(
        "CREATE DOMAIN public.hurried AS int CONSTRAINT inner_hurry CHECK (public.hurry(VALUE)); CREATE DOMAIN public.outer_hurried AS \
         public.hurried; CREATE DOMAIN public.late AS bool DEFAULT public.hurry(1); CREATE FUNCTION public.mood_of(int) RETURNS \
         public.mood LANGUAGE sql AS 'SELECT ''fine''::public.mood'",
    );
    assert!(system.facts().unwrap().changes_since(&before).is_empty());
    for (add, named) in ADDED {
        server.run(&add.replace("{}", "etalon.pgbench_history"));
        let now = system.facts().unwrap();
        let names: Vec<String> = now.changes_since(&before).into_iter().map(|change| change.name).collect();
        assert_eq!(names, ["instance.added_by_others"], "{add}");
        let said = now.get("instance.added_by_others").unwrap();
        assert!(said.contains(&format!("{named} on pgbench_history")), "{said}");
    }
}

#[test]
fn an_index_that_others_make_is_a_change() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    let before = system.facts().unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(system.facts().unwrap().changes_since(&before), []);
    // A trigger on étalon's own statement.
    server.run(
        "CREATE FUNCTION public.advise() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN CREATE INDEX IF NOT EXISTS advised ON \
         etalon.pgbench_accounts (bid); END$$; CREATE EVENT TRIGGER advise ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE \
         FUNCTION public.advise()",
    );
    system.prepare(&pgbench_tables(2)).unwrap();
    let now = system.facts().unwrap();
    assert_eq!(now.get("instance.added_by_others"), Some("index advised on pgbench_accounts"));
    let changes = now.changes_since(&before);
    assert!(changes.iter().any(|change| change.name == "instance.added_by_others"), "{changes:?}");
}

#[test]
fn a_procedure_with_another_text_is_a_change() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    let before = system.facts().unwrap();
    let data = testing::order_entry_procedures();
    let plants = [
        ("ALTER PROCEDURE {} SET synchronous_commit = off", ""),
        ("ALTER PROCEDURE {} SET work_mem = '1MB'", "ALTER PROCEDURE {} RESET ALL"),
        ("ALTER PROCEDURE {} SECURITY DEFINER", ""),
        ("CREATE PROCEDURE {}(int) LANGUAGE plpgsql AS 'BEGIN END'", ""),
    ];
    for (plant, then) in plants {
        system.prepare(&data).unwrap();
        assert_eq!(system.facts().unwrap().changes_since(&before), []);
        for sql in [plant, then].iter().filter(|sql| !sql.is_empty()) {
            server.run(&sql.replace("{}", "etalon.enter_payment"));
        }
        let now = system.facts().unwrap();
        assert_eq!(now.get("instance.added_by_others"), Some("another text of procedure enter_payment"), "{plant}");
    }
    server.run("DROP PROCEDURE etalon.enter_payment(int)");
    // A trigger on étalon's own statement.
    server.run(
        "CREATE FUNCTION public.hurry() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN IF tg_tag = 'CREATE PROCEDURE' THEN ALTER \
         PROCEDURE etalon.enter_order SET synchronous_commit = off; END IF; END$$; CREATE EVENT TRIGGER hurry ON ddl_command_end \
         EXECUTE FUNCTION public.hurry()",
    );
    system.prepare(&data).unwrap();
    let now = system.facts().unwrap();
    assert_eq!(now.get("instance.added_by_others"), Some("another text of procedure enter_order"));
}

#[test]
fn a_session_of_another_program_is_not_ended() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    // Also where the user gave étalon the name of that program.
    for name in ["etalon", "psql"] {
        let system = opened(&format!("{}?application_name={name}", server.own_url()), Reset::Restore).unwrap();
        system.prepare(&pgbench_tables(1)).unwrap();
        let mut theirs = server.endpoint.on_database("etalon").open_client("").unwrap();
        theirs.execute("SET application_name = 'psql'").unwrap();
        let failure = system.drop_all().unwrap_err();
        assert!(failure.cause.contains("`psql`"), "{failure}");
        assert_eq!(theirs.query_first_value("SELECT 1").unwrap(), "1");
        theirs.close_and_wait();
        let started = Instant::now();
        while system.drop_all().is_err() {
            assert!(started.elapsed() < Duration::from_secs(10), "the session has ended");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_name_that_others_took_is_refused_by_name() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let (data, url) = (pgbench_tables(1), server.own_url());
    let system = open(&url, &[], Consent::OwnOnly).unwrap();
    system.prepare(&Dataset { name: "none".to_owned(), ..Default::default() }).unwrap();
    server.run("CREATE TABLE etalon.pgbench_tellers AS SELECT 42 AS mine");
    let failure = system.prepare(&data).unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    assert!(failure.cause.contains("table etalon.pgbench_tellers"), "{failure}");
    assert_eq!(server.text("SELECT mine FROM etalon.pgbench_tellers"), "42");
    drop(system);
    // The user may give it up.
    let system = open(&url, &[], Consent::DropForeign).unwrap();
    system.prepare(&data).unwrap();
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
}

#[test]
fn what_scripts_and_steps_make_is_etalons() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    let mut data = pgbench_tables(1);
    data.afterwards
        .push("CREATE VIEW few AS SELECT * FROM pgbench_tellers; CREATE TYPE mood AS ENUM ('fine')".to_owned());
    data.later.push("made_in_a_run".to_owned());
    for _ in 0..2 {
        system.prepare(&data).unwrap();
        server.run("CREATE TABLE etalon.made_in_a_run (x int)");
    }
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
}

#[test]
fn things_in_etalons_database_stay_and_are_named() {
    let (server, url) = server_and_url();
    let system = opened(&url, Reset::Restore).unwrap();
    let data = pgbench_tables(1);
    system.prepare(&data).unwrap();
    system.prepare(&data).unwrap();
    let mine = server.endpoint.on_database("etalon");
    let run = |sql: &str| {
        let mut client = mine.open_client("").unwrap();
        client.execute(sql).unwrap();
        client.close_and_wait();
    };
    run("CREATE TABLE public.notes (x int); CREATE SCHEMA shop");
    run("SELECT lo_create(4711); CREATE FOREIGN DATA WRAPPER far; CREATE COLLATION public.plain (locale = 'C')");
    run("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC");
    run("CREATE CONVERSION public.turned FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8");
    run("CREATE OPERATOR FAMILY public.kin USING btree");
    run("CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler");
    run("UPDATE etalon.pgbench_accounts SET abalance = 1 WHERE aid = 1");
    for failure in [system.prepare(&data).unwrap_err(), system.drop_all().unwrap_err()] {
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        for thing in ["table public.notes", "schema shop", "4711", "far", "collation public.plain", "default acl"] {
            assert!(failure.cause.contains(thing), "{failure}");
        }
        for thing in ["conversion public.turned", "operator family public.kin", "access method heap2"] {
            assert!(failure.cause.contains(thing), "{failure}");
        }
    }
    drop(system);
    // Of an étalon that was killed, too.
    let failure = opened(&url, Reset::Restore).and_then(|system| system.prepare(&data).map(|_| ())).err().unwrap();
    assert!(failure.cause.contains("table public.notes"), "{failure}");
    run("DROP TABLE public.notes; DROP SCHEMA shop");
    run("SELECT lo_unlink(4711); DROP FOREIGN DATA WRAPPER far; DROP COLLATION public.plain");
    run("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC");
    run("DROP CONVERSION public.turned; DROP OPERATOR FAMILY public.kin USING btree; DROP ACCESS METHOD heap2");
    let system = opened(&url, Reset::Restore).unwrap();
    system.prepare(&data).unwrap();
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM pg_database WHERE datname LIKE 'etalon%'"), "0");
}

/// The session with étalon's claim on a database.
const HOLDER: &str = "SELECT coalesce(string_agg(DISTINCT pid::text, ' '), '') FROM pg_locks WHERE locktype = 'advisory' AND \
                      classid = 1702125932 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = 'shop')";

/// Waits until `is_so`, for some seconds.
fn soon(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(10), "it does not come");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_idle_claim_is_kept_alive_and_taken_again() {
    let server = start(Connect::Tcp, &[("fsync", "off"), ("idle_session_timeout", "300ms")]);
    server.run("CREATE DATABASE shop");
    let url = server.own_url().replace("/postgres", "/shop");
    let system = open(&url, &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    let holder = server.text(HOLDER);
    assert!(!holder.is_empty() && !holder.contains(' '), "{holder}");
    thread::sleep(Duration::from_secs(1));
    assert_eq!(server.text(HOLDER), holder, "the server ends no session that holds a claim");
    // One that is ended all the same comes back at once, and the run goes on.
    server.run(&format!("SELECT pg_terminate_backend({holder})"));
    soon(|| !["", &holder].contains(&server.text(HOLDER).as_str()));
    system.check_claim().unwrap();
    system.drop_all().unwrap();
    soon(|| server.text(HOLDER).is_empty());
}

#[test]
fn a_claim_that_another_took_ends_the_run() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    server.run("CREATE DATABASE shop");
    let url = server.own_url().replace("/postgres", "/shop");
    let system = open(&url, &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    let mut rival = server.endpoint.on_database("shop").open_client("").unwrap();
    let take = format!("SELECT pg_advisory_lock_shared({}, 1)", i32::from_be_bytes(*b"etal"));
    let ended = thread::scope(|scope| {
        let run = scope.spawn(|| {
            let length = Duration::from_secs(60);
            testing::life::run_of(&*system, "SELECT 1;\n\\sleep 10 ms\n", 1, length)
        });
        thread::sleep(Duration::from_secs(1));
        rival.execute(&take).unwrap();
        server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = \
             1702125932 AND objid <> 1 AND database = (SELECT oid FROM pg_database WHERE datname = 'shop')",
        );
        let started = Instant::now();
        let ended = run.join().unwrap();
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        ended
    });
    let failure = ended.unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    assert!(failure.cause.contains("another étalon"), "{failure}");
    assert_eq!(system.prepare(&pgbench_tables(1)).unwrap_err().kind, FailureKind::NotOurs);
    rival.close_and_wait();
    soon(|| system.prepare(&pgbench_tables(1)).is_ok());
    system.check_claim().unwrap();
}

#[test]
fn a_claim_missing_for_long_voids_what_was_measured() {
    let server = start(Connect::Tcp, &[("fsync", "off")]);
    server.run("CREATE DATABASE shop");
    let url = server.own_url().replace("/postgres", "/shop");
    let system = open(&url, &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("ALTER DATABASE shop ALLOW_CONNECTIONS false");
    server.run(&format!("SELECT pg_terminate_backend({})", server.text(HOLDER)));
    // On a busy machine a session ends some time after it was told to.
    soon(|| server.text(HOLDER).is_empty());
    thread::sleep(Duration::from_secs(2));
    server.run("ALTER DATABASE shop ALLOW_CONNECTIONS true");
    soon(|| !server.text(HOLDER).is_empty());
    let failure = system.check_claim().unwrap_err();
    assert_eq!(failure.kind, FailureKind::ConnectionLost, "{failure}");
    system.prepare(&pgbench_tables(1)).unwrap();
    system.check_claim().unwrap();
}
