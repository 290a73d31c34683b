//! A real PgBouncer before a real server, with an application that uses the same pool while étalon measures through it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::process::{ServerProcess, ServerSpec};
use host::scratch::Scratch;
use model::plan::PrivatePooler;
use model::{Length, MarkKind, RunRecord};

use super::*;
use crate::postgres::tests::modes::{run, task};
use crate::server::private::{Recipe as _, give_to_user, server_user};
use workloads::work::{StreamTask, StreamWork};
use workloads::workload::{Action, Task};

/// It takes a while, and names its table without a schema.
const APPLICATION: &str = "SELECT count(*) FROM orders, pg_sleep(0.02)";

pub(super) struct Bouncer {
    port: u16,
    // Ends before its folder.
    process: ServerProcess,
    _scratch: Scratch,
}

fn program() -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/opt/homebrew/bin", "/usr/local/bin"]
        .map(|folder| Path::new(folder).join("pgbouncer"))
        .into_iter()
        .find(|path| path.exists())
}

impl Bouncer {
    /// `None`: it is not installed.
    pub(super) fn start(server: &PostgresSystem, mode: &str, more: &str) -> Option<Bouncer> {
        let Some(program) = program() else {
            println!("skipped: pgbouncer is not installed");
            return None;
        };
        let user = server_user("PgBouncer", "postgres").unwrap();
        let scratch = Scratch::new("pgbouncer", None).unwrap();
        if user.is_some() {
            scratch.allow_passage().unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = &server.endpoint.address;
        let (config, users) = (scratch.path().join("pgbouncer.ini"), scratch.path().join("users.txt"));
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\npool_mode = {mode}\n{more}\n",
            address.port,
            users.display(),
        );
        std::fs::write(&config, settings).unwrap();
        std::fs::write(&users, format!("\"etalon\" \"{}\"\n", address.password.as_deref().unwrap())).unwrap();
        for file in [&config, &users] {
            give_to_user(file, user.as_ref()).unwrap();
        }
        let spec = ServerSpec::new(program, scratch.path().join("log")).with_args([&config]).in_scratch(&scratch);
        let spec = match user {
            Some(user) => spec.run_as(user),
            None => spec,
        };
        let bouncer = Bouncer { port, process: ServerProcess::spawn(spec).unwrap(), _scratch: scratch };
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "{}", bouncer.process.log_tail(20));
            thread::sleep(Duration::from_millis(20));
        }
        Some(bouncer)
    }

    fn endpoint(&self, server: &PostgresSystem) -> Endpoint {
        let Address { user, database, password, .. } = &server.endpoint.address;
        Endpoint::new(Address::without_tls("127.0.0.1", self.port, user, database, password.as_deref())).unwrap()
    }

    pub(super) fn url(&self, server: &PostgresSystem) -> String {
        server.own_url().replace(&format!(":{}/", server.endpoint.address.port), &format!(":{}/", self.port))
    }
}

/// Asks through the pool while `measure` works, from several connections that come and go. Returns its answers.
fn next_to_an_application<T>(endpoint: &Endpoint, measure: impl FnOnce() -> T) -> (T, u64) {
    /// Stops the application even where an assertion fails.
    struct Stop<'a>(&'a AtomicBool);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut client = endpoint.open_client("").unwrap();
                    for _ in 0..5 {
                        assert_eq!(client.query_first_value(APPLICATION).unwrap(), "3");
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                    client.close_and_wait();
                }
            });
        }
        let stopping = Stop(&stop);
        let measured = measure();
        drop(stopping);
        (measured, answers.load(Ordering::Relaxed))
    })
}

/// What each of the pool's sessions holds once étalon is gone.
fn nothing_is_left(endpoint: &Endpoint, server: &PostgresSystem) {
    let mut clients: Vec<_> = (0..4).map(|_| endpoint.open_client("").unwrap()).collect();
    for client in &mut clients {
        client.execute("BEGIN").unwrap();
        for (name, value) in
            [("search_path", "\"$user\", public"), ("lock_timeout", "0"), ("statement_timeout", "1min")]
        {
            assert_eq!(client.query_first_value(&format!("SHOW {name}")).unwrap(), value);
        }
        let kept = "SELECT count(*) FROM pg_prepared_statements";
        assert_eq!(client.query_first_value(kept).unwrap(), "0");
    }
    for client in clients {
        client.close_and_wait();
    }
    assert_eq!(server.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
}

fn is_not_counted(record: &RunRecord) -> Option<&str> {
    record.marks.iter().find(|mark| mark.kind == MarkKind::NotCounted).map(|mark| mark.detail.as_str())
}

fn server_with_orders() -> PostgresSystem {
    let server = start(Connect::Tcp, &[("statement_timeout", "1min")]);
    server.run("CREATE TABLE public.orders AS SELECT generate_series(1, 3) AS id");
    // Its own claim is of this process, too.
    server.control.close_session();
    server
}

#[test]
fn an_application_never_fails_beside_transaction_pooling() {
    let server = server_with_orders();
    let Some(bouncer) = Bouncer::start(&server, "transaction", "default_pool_size = 8") else { return };
    let endpoint = bouncer.endpoint(&server);
    let ((), answers) = next_to_an_application(&endpoint, || {
        let pooled = open(&bouncer.url(&server), &[("work_mem", "5MB")], Consent::OwnOnly).unwrap();
        let facts = pooled.facts().unwrap();
        assert_eq!(facts.get("path.pooler"), Some("PgBouncer, which lends a session for each transaction"));
        assert_eq!(facts.get("setting.work_mem"), Some("5MB"));
        for (script, protocol) in [
            ("select-only", "simple"),
            ("tpcb-like", "simple"),
            ("tpcb-like", "extended"),
            ("select-update", "extended"),
        ] {
            let task = task(&[("script", script), ("protocol", protocol)]);
            let record = run(&*pooled, &task, Length::Transactions(200)).unwrap_or_else(|f| panic!("{protocol}: {f}"));
            // Rows that a script leaves are counted through a pooler, too.
            let is_counted_by_rows = script != "select-only";
            assert_eq!(is_not_counted(&record).is_none(), is_counted_by_rows, "{script}, {protocol}");
        }
        let refused = run(&*pooled, &task(&[]), Length::Transactions(20)).unwrap_err();
        assert!(refused.kind == FailureKind::Unsupported && refused.tried.contains("prepared"), "{refused}");
        assert!(refused.hint.unwrap().contains("`protocol = \"simple\"`"));
        let refused = pooled.connect_session(SessionKind::Spatial).err().unwrap();
        assert!(refused.cause.contains("for each transaction"), "{refused}");
        a_rival_is_refused(&bouncer.url(&server));
        pooled.drop_all().unwrap();
    });
    assert!(answers > 20, "{answers}");
    nothing_is_left(&endpoint, &server);
    server.drop_all().unwrap();
}

/// The same lock refuses it, whichever way the two go.
fn a_rival_is_refused(url: &str) {
    let mut rival = Endpoint::new(Address::parse_url(url, &|_| None).unwrap()).unwrap();
    let mut client = rival.open_client("").unwrap();
    rival.pooler = pooler::find_pooler(&mut client, &rival).unwrap();
    client.execute("BEGIN").unwrap();
    let lock = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1702125932";
    assert_eq!(client.query_first_value(lock).unwrap(), "1", "the open transaction's");
    client.close_and_wait();
}

#[test]
fn an_application_never_fails_beside_session_pooling() {
    let server = server_with_orders();
    for (reset, shown) in [
        ("", "PgBouncer, which lends a session to each client"),
        ("server_reset_query =", "PgBouncer, which lends a session to each client and does not reset it for the next"),
    ] {
        let more = format!("default_pool_size = 12\n{reset}");
        let Some(bouncer) = Bouncer::start(&server, "session", &more) else { return };
        let endpoint = bouncer.endpoint(&server);
        let ((), answers) = next_to_an_application(&endpoint, || {
            let pooled = open(&bouncer.url(&server), &[], Consent::OwnOnly).unwrap();
            assert_eq!(pooled.facts().unwrap().get("path.pooler"), Some(shown));
            let protocol = if reset.is_empty() { "prepared" } else { "simple" };
            let record = run(&*pooled, &task(&[("protocol", protocol)]), Length::Transactions(200)).unwrap();
            // Sessions that are lent to a client are its own as long.
            assert_eq!(is_not_counted(&record).is_none(), reset.is_empty(), "{:?}", is_not_counted(&record));
            pooled.drop_all().unwrap();
        });
        assert!(answers > 20, "{answers}");
        nothing_is_left(&endpoint, &server);
    }
    server.drop_all().unwrap();
}

#[test]
fn a_pool_that_cannot_serve_is_refused_in_one_sentence() {
    let server = server_with_orders();
    let Some(bouncer) = Bouncer::start(&server, "statement", "") else { return };
    let failure = refusal(&bouncer.url(&server), &[]);
    assert!(failure.cause.contains("single statements") && failure.hint.is_some(), "{failure}");
    let bouncer = Bouncer::start(&server, "session", "max_client_conn = 2").unwrap();
    let (endpoint, mut held) = (bouncer.endpoint(&server), Vec::new());
    let failure = loop {
        match endpoint.open_client("") {
            Ok(client) => held.push(client),
            Err(failure) => break failure,
        }
    };
    assert!(held.len() < 3 && failure.hint.is_some_and(|hint| hint.contains("`max_client_conn`")), "{}", held.len());
    held.into_iter().for_each(Client::close_and_wait);
    let bouncer = Bouncer::start(&server, "session", "default_pool_size = 1").unwrap();
    let failure = refusal(&bouncer.url(&server), &[]);
    assert!(failure.cause.contains("two clients no sessions") && failure.hint.is_some(), "{failure}");
    server.drop_all().unwrap();
}

#[test]
fn settings_for_each_transaction_reach_prepared_statements() {
    let server = start(Connect::Socket, &[]);
    let mut endpoint = server.endpoint.clone();
    let lends = pooler::Lends::Transaction { prepares: true };
    endpoint.pooler = Some(Pooler { name: "a pooler".to_owned(), lends });
    // As if a pooler brought statements along: the server itself does.
    let pooled = made::<PostgresServer>(endpoint, None);
    let folder = tempfile::tempdir().unwrap();
    let serializable = folder.path().join("serializable.sql").display().to_string();
    let text = "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT abalance FROM pgbench_accounts WHERE aid = 1;\nCOMMIT;\n";
    std::fs::write(&serializable, text).unwrap();
    for protocol in ["prepared", "extended", "simple"] {
        for script in ["tpcb-like", "select-only", &serializable] {
            run(&pooled, &task(&[("script", script), ("protocol", protocol)]), Length::Transactions(50)).unwrap();
        }
    }
    let log = PathBuf::from(server.text("SHOW data_directory")).parent().unwrap().join("server.log");
    let said = std::fs::read_to_string(&log).unwrap_or_else(|cause| panic!("{}: {cause}", log.display()));
    assert!(!said.contains("WARNING"), "a line for each transaction: {said}");
    assert_eq!(pooled.text("SELECT current_setting('search_path')"), "etalon");
    let mut client = pooled.open_client().unwrap();
    assert_eq!(client.query_first_value("SHOW search_path").unwrap(), "etalon");
    client.execute_alone("SELECT 1").unwrap();
    client.execute("BEGIN").unwrap();
    client.execute("SELECT 1/0").unwrap_err();
    client.execute("ROLLBACK").unwrap();
    assert_eq!(client.execute_and_ask_alone("SHOW search_path"), "\"$user\", public");
    drop(pooled);
    server.drop_all().unwrap();
}

impl Client {
    /// Executes and asks without what is set for each transaction.
    fn execute_and_ask_alone(&mut self, sql: &str) -> String {
        self.query_rows_alone(sql).unwrap().remove(0).remove(0).unwrap()
    }
}

fn private_plan(mode: &str, connect: Connect) -> SystemPlan {
    let bin_dir = std::env::var("ETALON_TEST_POSTGRES_BIN").ok();
    let pooler = Some(PrivatePooler { name: "pgbouncer".to_owned(), mode: mode.to_owned(), size: None });
    let server = PrivateServer { engine: "postgres".to_owned(), bin_dir, connect, pooler, ..PrivateServer::default() };
    SystemPlan {
        name: "pooled".to_owned(),
        engine: "postgres".to_owned(),
        server: Some(server),
        ..SystemPlan::default()
    }
}

fn open_private(mode: &str, connect: Connect) -> Option<PostgresSystem> {
    if program().is_none() {
        println!("skipped: pgbouncer is not installed");
        return None;
    }
    let plan = private_plan(mode, connect);
    let request = OpenRequest::new(&plan, Consent::OwnOnly);
    let (private, endpoint) = PostgresRecipe::start_server(plan.server.as_ref().unwrap(), &request).unwrap();
    Some(ServerSystem::new(endpoint, SessionSettings::default(), Some(private), &request).unwrap())
}

fn refused_program(system: &PostgresSystem, task: &Task) -> Option<Failure> {
    let Action::Stream(StreamTask { work: StreamWork::Statements(program), .. }) = &task.action else { panic!() };
    system.refuse_program(program).err()
}

#[test]
fn private_pooler_lives_and_ends_with_its_server() {
    for (mode, connect, lends) in [
        ("transaction", Connect::Socket, "lends a session for each transaction"),
        ("session", Connect::Tcp, "lends a session to each client"),
    ] {
        let Some(system) = open_private(mode, connect) else { return };
        let facts = system.facts().unwrap();
        let path = facts.get("path.pooler").unwrap();
        assert!(path.starts_with("PgBouncer 1.") && path.ends_with(lends), "{path}");
        let size = if mode == "session" { 90 } else { 20 };
        let told = format!("pgbouncer: pool_mode = {mode}, default_pool_size = {size}");
        assert_eq!(facts.get("server.pooler"), Some(&*told));
        assert!(facts.get("server.pooler.version").unwrap().starts_with("1."));
        // Before the first run, where it cannot be done.
        let refused = refused_program(&system, &task(&[("protocol", "prepared")]));
        assert_eq!(refused.is_none(), mode == "session" || path.contains("1.24"), "{refused:?}");
        if let Some(refused) = refused {
            assert!(refused.hint.unwrap().starts_with("write `protocol = \"simple\"`"));
        }
        assert_eq!(refused_program(&system, &task(&[("protocol", "simple")])), None);
        let mut copy = backup::PostgresBackups { system: &system }.direct_endpoint();
        copy.startup = Some(("replication", "true"));
        copy.open_client("").unwrap().close_and_wait();
        for round in 0..2 {
            let record =
                run(&system, &task(&[("script", "tpcb-like"), ("protocol", "simple")]), Length::Transactions(50));
            record.unwrap_or_else(|failure| panic!("{mode}, round {round}: {failure}"));
            system.begin_round().unwrap();
        }
        let pooler = system.lock_private().unwrap().recipe.pooler_pid().unwrap();
        // One that ends is started again, as a server is.
        assert!(signal("-KILL", pooler));
        system.wait_until_available().unwrap();
        let again = system.lock_private().unwrap().recipe.pooler_pid().unwrap();
        assert_ne!(pooler, again);
        run(&system, &task(&[("protocol", "simple")]), Length::Transactions(50)).unwrap();
        system.drop_all().unwrap();
        assert!(!signal("-0", again), "it runs on");
    }
}

fn signal(signal: &str, pid: u32) -> bool {
    let mut kill = std::process::Command::new("kill");
    kill.args([signal, &pid.to_string()]).stderr(std::process::Stdio::null()).status().unwrap().success()
}

/// The sessions are counted through the server's own way in, which no client has.
#[test]
fn private_pooler_has_fewer_sessions_than_clients() {
    let Some(system) = open_private("transaction", Connect::Socket) else { return };
    let many = task(&[("clients", "40"), ("protocol", "simple")]);
    run(&system, &many, Length::Transactions(20)).unwrap();
    let owner = system.lock_private().unwrap().recipe.owner.clone().unwrap();
    let mut client = owner.open_client("").unwrap();
    let sessions = client
        .query_first_value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        .unwrap();
    client.close_and_wait();
    let sessions: u32 = sessions.parse().unwrap();
    assert!((2..=21).contains(&sessions), "{sessions}");
    system.drop_all().unwrap();
}
