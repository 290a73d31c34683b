//! What others put next to étalon's tables, or built on them, stays and is named, however étalon ends; and a server that ends idle
//! sessions takes no claim from étalon. What they ask a server
//! in the meantime is said.

use std::fs::File;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::{Scene, ran};
use crate::server::ROLE;
use crate::server_changes::{Database, answer, fresh_postgres, mariadb, mariadb_command, psql_command, wait_until};

struct Subject {
    server: Database,
    url: String,
    command: fn(&Database) -> Command,
    /// Makes tables and a view of others that need étalon's.
    dependents: &'static str,
    /// What étalon says of them when it would have to make its tables again.
    refusal: &'static str,
    /// Removes them.
    removal: &'static str,
    ends_idle_sessions: &'static [&'static str],
    /// How others come to a database of their own.
    connect: &'static str,
    /// Others hold a whole table for a second, then its rows.
    holds: [&'static str; 2],
    /// A session that reads no table reports no transactions to PostgreSQL's counters.
    statement: &'static str,
    /// A statement that works for longer than a test takes.
    long: [&'static str; 2],
}

fn subjects() -> [Subject; 2] {
    let postgres = fresh_postgres();
    let mariadb = mariadb();
    [
        Subject {
            url: format!("postgres://{ROLE}@127.0.0.1:{}/a?sslmode=disable", postgres.port),
            server: postgres,
            command: |server| psql_command(server.port, "a"),
            dependents: "CREATE TABLE public.refs (b int REFERENCES etalon.pgbench_branches (bid)); \
                         CREATE VIEW public.seen AS SELECT count(*) FROM etalon.pgbench_tellers",
            refusal: "view public.seen depends on table etalon.pgbench_tellers",
            removal: "DROP TABLE public.refs; DROP VIEW public.seen",
            ends_idle_sessions: &["ALTER SYSTEM SET idle_session_timeout = '1s'", "SELECT pg_reload_conf()"],
            connect: "\\connect postgres\n",
            holds: [
                "BEGIN; LOCK TABLE etalon.pgbench_branches IN SHARE MODE; SELECT pg_sleep(1); COMMIT",
                "BEGIN; SELECT 1 FROM etalon.pgbench_branches FOR UPDATE; SELECT pg_sleep(1); COMMIT",
            ],
            statement: "SELECT 1 FROM pg_class LIMIT 1;\n",
            long: ["-c", "SELECT count(*) FROM generate_series(1, 1000000000000) n"],
        },
        Subject {
            url: format!("mariadb://t@127.0.0.1:{}/?ssl-mode=disabled", mariadb.port),
            server: mariadb,
            command: mariadb_command,
            dependents: "CREATE TABLE a.refs (b int, FOREIGN KEY (b) REFERENCES etalon.pgbench_branches (bid)); \
                         CREATE VIEW a.seen AS SELECT count(*) FROM etalon.pgbench_tellers",
            refusal: "foreign key refs_ibfk_1 of table a.refs depends on table etalon.pgbench_branches",
            removal: "DROP TABLE a.refs; DROP VIEW a.seen",
            ends_idle_sessions: &["SET GLOBAL wait_timeout = 1, GLOBAL interactive_timeout = 1"],
            connect: "",
            holds: [
                "LOCK TABLES etalon.pgbench_branches WRITE; DO SLEEP(1); UNLOCK TABLES",
                "BEGIN; SELECT 1 FROM etalon.pgbench_branches FOR UPDATE; DO SLEEP(1); COMMIT",
            ],
            statement: "SELECT 1;\n",
            long: ["-e", "SELECT BENCHMARK(100000000000, MD5('x'))"],
        },
    ]
}

impl Subject {
    fn ask(&self, sql: &str) -> Result<String, String> {
        let client = (self.command)(&self.server);
        let asks = if client.get_program() == "psql" { "-Atc" } else { "-Nse" };
        answer(client, &[asks, sql])
    }

    #[track_caller]
    fn done(&self, sql: &str) {
        self.ask(sql).unwrap_or_else(|said| panic!("{sql}: {said}"));
    }

    fn wait_until(&self, sql: &str) {
        let started = Instant::now();
        while let Err(said) = self.ask(sql) {
            assert!(started.elapsed() < Duration::from_secs(60), "{sql}: {said}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait_for_load(&self) {
        let count = || self.ask("SELECT count(*) FROM etalon.pgbench_history").unwrap_or_default();
        wait_until("the first transaction", || count().trim().parse().is_ok_and(|rows: u64| rows > 0));
    }

    fn tables(&self) -> String {
        let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'etalon' AND table_name <> \
                      'etalon_marker' ORDER BY table_name";
        self.ask(tables).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn plan(&self, duration: &str) -> String {
        format!(
            "[systems.a]\nurl = \"{}\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"tpcb-like\"\n\
             [schedule]\nrounds = 2\nwarmup = \"100ms\"\nduration = \"{duration}\"\n",
            self.url
        )
    }
}

#[test]
fn things_of_others_stay_through_signals_kills_and_resumes() {
    for subject in subjects() {
        let scene = Scene::new();
        scene.write("p.toml", &subject.plan("2s"));
        let mut started = scene.start(&["run", "p.toml"]);
        subject.wait_until("CREATE TABLE etalon.theirs (x int)");
        subject.wait_until("SELECT 1 FROM etalon.pgbench_history LIMIT 1");
        assert!(Command::new("kill").args(["-INT", &started.id().to_string()]).status().unwrap().success());
        ran(started.wait_with_output().unwrap()).says(130, &["what étalon did not make", "table etalon.theirs"]);
        assert_eq!(subject.tables(), "theirs");

        let store = scene.store().display().to_string();
        started = scene.start(&["resume", &store]);
        subject.wait_until("SELECT 1 FROM etalon.pgbench_history LIMIT 1");
        started.kill().unwrap();
        started.wait().unwrap();
        subject.done(subject.dependents);
        scene.etalon(&["resume", &store]).says(3, &[subject.refusal, "étalon leaves it as it is"]);
        subject.done("SELECT count(*) FROM etalon.pgbench_branches");
        subject.done(subject.removal);
        scene.etalon(&["resume", &store]).says(0, &["table etalon.theirs"]);
        assert_eq!(subject.tables(), "theirs");
    }
}

#[test]
fn a_server_that_ends_idle_sessions_takes_no_claim() {
    for subject in subjects() {
        subject.ends_idle_sessions.iter().for_each(|sql| subject.done(sql));
        let scene = Scene::new();
        scene.write("long.toml", &subject.plan("6s")).write("short.toml", &subject.plan("100ms"));
        let first = scene.start(&["run", "long.toml", "-o", "long"]);
        subject.wait_until("SELECT 1 FROM etalon.pgbench_history LIMIT 1");
        // Étalon's own session asks nothing meanwhile.
        thread::sleep(Duration::from_secs(2));
        let second = scene.etalon(&["run", "short.toml", "-o", "short"]);
        second.says(3, &["another étalon", "is using it", "no run had begun"]);
        ran(first.wait_with_output().unwrap()).says(0, &[]);
        scene.etalon(&["run", "short.toml", "-o", "short"]).says(0, &[]);
    }
}

#[test]
fn what_others_ask_a_server_is_said() {
    let scene = Scene::new();
    for (place, subject) in subjects().into_iter().enumerate() {
        scene.write("p.toml", &subject.plan("2s"));
        scene.write("others.sql", &(subject.connect.to_owned() + &subject.statement.repeat(1_000_000)));
        let said = |output: &str| {
            let ran = scene.etalon(&["run", "p.toml", "--json", "-o", &format!("{output}-{place}")]);
            ran.says(0, &[]);
            ran.stdout.contains("other-clients")
        };
        let statements = File::open(scene.path().join("others.sql")).unwrap();
        let mut others = (subject.command)(&subject.server).stdin(statements).stdout(Stdio::null()).spawn().unwrap();
        let with_others = said("with");
        let was_at_work = others.try_wait().unwrap().is_none();
        others.kill().unwrap();
        others.wait().unwrap();
        assert!(with_others && was_at_work, "{}", subject.url);
        assert!(!said("alone"), "{}", subject.url);
        let mut others = (subject.command)(&subject.server).args(subject.long).stdout(Stdio::null()).spawn().unwrap();
        let with_one_statement = said("long");
        let was_at_work = others.try_wait().unwrap().is_none();
        others.kill().unwrap();
        others.wait().unwrap();
        assert!(with_one_statement && was_at_work, "{}", subject.url);
    }
}

#[test]
fn a_load_that_waits_for_locks_of_others_has_no_verdict() {
    let scene = Scene::new();
    for (place, subject) in subjects().into_iter().enumerate() {
        let plan = |duration| {
            subject.plan(duration).replace("rounds = 2", "rounds = 1").replace("script", "clients = 4\nscript")
        };
        scene.write("p.toml", &plan("6s"));
        for (way, hold) in subject.holds.iter().enumerate() {
            let started = scene.start(&["run", "p.toml", "--json", "-o", &format!("{place}-{way}")]);
            subject.wait_for_load();
            subject.done(hold);
            // On a busy machine the first one comes when the load is about to end, or finds no client waiting.
            (0..2).for_each(|_| drop(subject.ask(hold)));
            let ran = ran(started.wait_with_output().unwrap());
            ran.says(0, &[]);
            assert!(ran.stdout.contains("other-locks"), "{hold}: {}", ran.stdout);
        }
        scene.write("p.toml", &plan("2s"));
        let alone = scene.etalon(&["run", "p.toml", "--json", "-o", &format!("{place}-alone")]);
        alone.says(0, &[]);
        assert!(!alone.stdout.contains("other-locks"), "{}: {}", subject.url, alone.stdout);
    }
}
