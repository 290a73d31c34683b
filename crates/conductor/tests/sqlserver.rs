//! SQL Server, as far as it can be tested without one: against `tds_server`, which speaks TDS and understands no SQL.
//! `ETALON_TEST_MSSQL` names a real one for the conformance suite.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail the test")]

#[path = "shared/experiment.rs"]
mod experiment;
mod sqlserver_families;
mod tds_server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use conductor::Registry;
use load::error::{Failure, FailureKind};
use load::observer::Silent;
use model::{Length, OnError, Order, Point, RunRecord, RunState, Schedule, SystemPlan, Value};
use workloads::system::{Consent, Notices, OpenRequest, System};
use workloads::work::RunTask;
use workloads::workload::{Action, Grants, Task};

use tds_server::{Asked, Encryption, PASSWORD, Reply, Server, certificate, error};

fn system(url: &str, settings: &[(&str, Value)]) -> SystemPlan {
    SystemPlan {
        name: "mssql".to_owned(),
        engine: "sqlserver".to_owned(),
        url: url.to_owned(),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    }
}

fn open(url: &str) -> Result<Box<dyn System>, Failure> {
    Registry::built_in().open_system(&OpenRequest::new(&system(url, &[]), Consent::OwnOnly))
}

fn refusal(url: &str) -> Failure {
    match open(url) {
        Ok(_) => panic!("{url} was let in"),
        Err(failure) => failure,
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn task(keys: &[(&str, Value)]) -> Task {
    let mut point = Point::from([
        ("script".to_owned(), text("tpcb-like")),
        ("clients".to_owned(), Value::Int(1)),
        ("scale".to_owned(), Value::Int(1)),
        ("rate".to_owned(), Value::Float(0.0)),
    ]);
    point.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    Registry::built_in().workload("transactions").unwrap().make_task(&point, &Grants::default()).unwrap()
}

/// Without warm-up.
fn run(system: &dyn System, task: &Task, transactions: u64) -> Result<RunRecord, Failure> {
    let Action::Stream(stream) = &task.action else { panic!("a script is a stream") };
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::ZERO,
        length: Length::Transactions(transactions),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    };
    let interrupt = AtomicBool::new(false);
    RunTask { system, task: stream, schedule: &schedule, seed: 7, interrupt: &interrupt }.run_here(&mut Silent)
}

fn value(record: &RunRecord, metric: &str) -> Option<f64> {
    record.measurements.iter().find(|one| one.metric.id == metric)?.reading.value()
}

/// Without this process's number in the name of a lock.
fn without_process(sql: &str) -> String {
    let mut parts = sql.split("N'etalon ");
    let first = parts.next().unwrap_or_default().to_owned();
    let number = |c: char| c.is_ascii_digit();
    parts.fold(first, |told, part| told + "N'etalon PROCESS" + part.trim_start_matches(number))
}

/// What was asked, one line each; what repeats is said once.
fn transcript(server: &Server) -> String {
    let mut lines: Vec<(String, u32)> = Vec::new();
    for asked in &server.database().log {
        let line = match asked {
            // A claim's session is pinged each second.
            Asked::Batch(sql) if sql == "SET NOCOUNT OFF" => continue,
            Asked::Batch(sql) => without_process(sql),
            Asked::Call(call) => {
                let name = match call.procedure {
                    10 => "sp_executesql",
                    12 => "sp_execute",
                    _ => "sp_prepexec",
                };
                format!("{name} ({} parameters): {}", call.parameters.len(), call.sql)
            }
            Asked::Rows((rows, _)) => format!("{rows} rows"),
            Asked::Attention => "attention".to_owned(),
        };
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    lines
        .into_iter()
        .map(|(line, count)| if count > 1 { format!("{line}  -- {count} times\n") } else { line + "\n" })
        .collect()
}

#[test]
fn an_experiment_asks_in_t_sql() {
    let server = Server::plain();
    let settings = [("recovery", text("simple")), ("lock_timeout", Value::Int(5000))];
    let system = system(&server.url(), &settings);
    let registry = Registry::built_in();
    let opened = registry.open_system(&OpenRequest::new(&system, Consent::OwnOnly)).unwrap();
    opened.facts().unwrap();
    let task = task(&[]);
    opened.prepare(&task.dataset).unwrap();
    opened.settle().unwrap();
    let record = run(&*opened, &task, 20).unwrap();
    assert_eq!(record.state, RunState::Measured);
    opened.drop_all().unwrap();
    let database = server.database();
    assert_eq!(database.history, 20);
    let copied = [("pgbench_accounts", 100_000), ("pgbench_branches", 1), ("pgbench_tellers", 10)];
    assert_eq!(database.copied, BTreeMap::from(copied.map(|(name, rows)| (name.to_owned(), rows))));
    assert!(!database.exists, "nothing of étalon's is left");
    assert_eq!(database.logins[0], ("sa".to_owned(), String::new(), "etalon".to_owned()));
    drop(database);
    insta::assert_snapshot!(transcript(&server));
}

#[test]
fn two_engines_stand_in_one_plan() {
    let server = Server::plain();
    let folder = tempfile::tempdir().unwrap();
    let outcome = experiment::conduct(&format!(
        "[systems.here]\nurl = \"sqlite:{}/x.db\"\n[systems.there]\nurl = \"{}\"\n[[benchmarks]]\nworkload = \
         \"transactions\"\nscript = \"tpcb-like\"\n[schedule]\nrounds = 1\nwarmup = \"50ms\"\nduration = \"300ms\"\n",
        folder.path().display(),
        server.url()
    ));
    let facts = outcome.store().facts().unwrap();
    let restriction = |system: &str| facts[system].get(model::facts::PUBLICATION).map(str::to_owned);
    assert_eq!(restriction("here"), None);
    assert!(restriction("there").unwrap().contains("Microsoft's written approval"));
    assert!(!server.database().exists, "nothing of étalon's is left");
    let kept = std::fs::read(outcome.store().path()).unwrap();
    let password = PASSWORD.replace(' ', "%20");
    let holds = |secret: &str| kept.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(!holds(PASSWORD) && !holds(&password), "the password is in the store");
}

#[test]
fn every_script_and_protocol_counts_right() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    for protocol in ["prepared", "extended", "simple"] {
        for script in ["select-only", "select-update", "simple-update", "tpcb-like"] {
            let task = task(&[("script", text(script)), ("protocol", text(protocol)), ("clients", Value::Int(3))]);
            // Another test has loaded the tables.
            let empty = workloads::dataset::Dataset { name: "empty".to_owned(), ..Default::default() };
            system.prepare(&empty).unwrap();
            let record = run(&*system, &task, 30).unwrap_or_else(|failure| panic!("{script}, {protocol}: {failure}"));
            assert_eq!(record.state, RunState::Measured);
            assert_eq!(value(&record, "errors"), Some(0.0), "{script}, {protocol}: {:?}", record.marks);
        }
    }
    let log = server.database().log.clone();
    let calls = |procedure: u16| {
        log.iter().filter(|asked| matches!(asked, Asked::Call(call) if call.procedure == procedure)).count()
    };
    // Each of three clients prepares each statement once, and executes it 30 times: 1 + 2 + 3 + 5 statements.
    assert_eq!(calls(13), 3 * 11);
    assert_eq!(calls(12), 3 * 30 * 11 - calls(13));
    assert_eq!(calls(10), 3 * 30 * 11);
    let is_lost =
        |asked: &&Asked| matches!(asked, Asked::Call(call) if call.sql.starts_with("INSERT") && call.transaction == 0);
    let lost = log.iter().find(is_lost);
    assert_eq!(lost, None, "a request within a transaction carries its descriptor");
}

#[test]
fn a_deadlock_s_victim_is_tried_again_and_other_errors_are_counted() {
    for (number, class, retried) in [
        (1205, "deadlock", true),
        (3960, "serialization", true),
        (1222, "lock_timeout", false),
        (2627, "constraint", false),
    ] {
        let count = AtomicU32::new(0);
        let script = move |asked: &Asked| match asked {
            Asked::Call(call) if call.sql.starts_with("UPDATE pgbench_tellers") => {
                // The second of them only.
                (count.fetch_add(1, Ordering::Relaxed) == 1).then(|| error(number, 1, 13, "scripted"))
            }
            _ => None,
        };
        let server = Server::start(Encryption::None, Arc::new(script));
        let system = open(&server.url()).unwrap();
        let empty = workloads::dataset::Dataset { name: "empty".to_owned(), ..Default::default() };
        system.prepare(&empty).unwrap();
        let record = run(&*system, &task(&[("max_tries", Value::Int(3))]), 5).unwrap();
        assert_eq!(record.state, RunState::Measured, "{number}");
        if retried {
            assert_eq!((value(&record, "retries"), value(&record, "errors")), (Some(1.0), Some(0.0)), "{number}");
        } else {
            let id = format!("errors_{class}");
            assert_eq!((value(&record, &id), value(&record, "retries")), (Some(1.0), None), "{number}");
        }
        let rollbacks = server.batches().iter().filter(|sql| sql.contains("ROLLBACK TRANSACTION")).count();
        assert_eq!(rollbacks, 1, "{number}: the transaction was open, and the server was told to roll it back");
    }
}

#[test]
fn a_statement_that_the_server_does_not_take_is_named_before_the_run() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    let program = workloads::transactions::compile("FROBNICATE THE ROWS;", &[]).unwrap();
    let mut task = task(&[]);
    let Action::Stream(stream) = &mut task.action else { panic!("a script is a stream") };
    stream.work = program.into();
    let failure = run(&*system, &task, 5).err().unwrap();
    let said = failure.to_string();
    assert!(said.contains("FROBNICATE") && said.contains("Incorrect syntax near 'ROWS'. [102"), "{said}");
}

#[test]
fn logins_that_are_refused_say_why_and_never_the_password() {
    let server = Server::plain();
    let cases = [
        (server.url_of("sa", "hunter2", "encrypt=false"), FailureKind::Login, "state 8", "the password is wrong"),
        (
            server.url().replace("/?", "/nothing?"),
            FailureKind::Missing,
            "Cannot open database \"nothing\" requested by the login. [4060",
            "CREATE DATABASE [nothing]",
        ),
        (
            server.url().replace("encrypt=false", "encrypt=true"),
            FailureKind::Unsupported,
            "no encryption",
            "encrypt=false",
        ),
        ("mssql://sa:hunter2@127.0.0.1:1/".to_owned(), FailureKind::Unreachable, "", "sqlcmd -S 127.0.0.1,1 -U sa"),
    ];
    for (url, kind, cause, hint) in cases {
        let failure = refusal(&url);
        let told = failure.hint.clone().unwrap_or_default();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.cause.contains(cause) && told.contains(hint), "{failure}: {told}");
        assert!(!format!("{failure} {told}").contains("hunter2") && !told.contains(PASSWORD), "{failure}");
    }
}

/// The scripted server refuses a user whose name is a number with that error.
#[test]
fn each_refusal_of_a_login_has_a_reason_and_what_to_do() {
    let server = Server::plain();
    for (number, kind, hint) in [
        (18_452, FailureKind::Login, "SQL authentication only"),
        (18_461, FailureKind::Login, "single-user mode"),
        (18_470, FailureKind::Login, "ALTER LOGIN … ENABLE"),
        (18_486, FailureKind::Login, "UNLOCK"),
        (18_487, FailureKind::Login, "set a new password"),
        (18_488, FailureKind::Login, "set a new password"),
        (17_892, FailureKind::Login, "logon trigger"),
        (4064, FailureKind::Missing, "default database"),
        (911, FailureKind::Missing, "CREATE DATABASE"),
        (916, FailureKind::Permission, "CREATE USER"),
        (40_615, FailureKind::Permission, "firewall"),
        (40_914, FailureKind::Permission, "firewall"),
        (17_809, FailureKind::Other, "user connections"),
        (10_928, FailureKind::Other, "fewer clients"),
        (17_142, FailureKind::Unreachable, "starting or ending"),
        (18_451, FailureKind::Unreachable, "starting or ending"),
        (17_819, FailureKind::Unsupported, "TDS 8"),
        (17_835, FailureKind::Login, "encrypt=true"),
        (19_999, FailureKind::Other, "error log"),
    ] {
        let failure = refusal(&server.url_of(&number.to_string(), PASSWORD, "encrypt=false"));
        let told = failure.hint.clone().unwrap_or_default();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.cause.contains(&format!("[{number}")) && told.contains(hint), "{failure}: {told}");
        assert!(!format!("{failure} {told}").contains(PASSWORD), "{failure}");
    }
}

#[test]
fn encryption_is_what_the_url_says() {
    let (pem, config) = certificate("127.0.0.1");
    let (_, others) = certificate("elsewhere.example");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    let ca = format!("encrypt=true&ca_file={}", file.display());
    let tls = |system: &dyn System| system.facts().unwrap().get("path.tls").unwrap().to_owned();

    let login_only = Server::start(Encryption::Login(Arc::clone(&config)), Arc::new(|_| None));
    assert_eq!(tls(&*open(&login_only.url()).unwrap()), "login only");
    let forced = Server::start(Encryption::Everything(Arc::clone(&config)), Arc::new(|_| None));
    assert!(tls(&*open(&forced.url()).unwrap()).starts_with("TLSv1.2"), "a server that insists is followed");
    assert!(tls(&*open(&forced.url_of("sa", PASSWORD, &ca)).unwrap()).starts_with("TLSv1.2"));
    let exactly = |mode: &str| format!("encrypt={mode}&ServerCertificate={}", file.display());
    assert!(tls(&*open(&forced.url_of("sa", PASSWORD, &exactly("mandatory"))).unwrap()).starts_with("TLSv1.2"));
    assert_eq!(tls(&*open(&login_only.url_of("sa", PASSWORD, &exactly("optional"))).unwrap()), "login only");
    let blind = forced.url_of("sa", PASSWORD, "encrypt=true&trust_server_certificate=true");
    let system = open(&blind).unwrap();
    let empty = workloads::dataset::Dataset { name: "empty".to_owned(), ..Default::default() };
    system.prepare(&empty).unwrap();
    let record = run(&*system, &task(&[("clients", Value::Int(2))]), 10).unwrap();
    assert_eq!(record.state, RunState::Measured);

    let unknown = Server::start(Encryption::Everything(Arc::clone(&others)), Arc::new(|_| None));
    for options in [exactly("mandatory"), exactly("optional"), ca.replace("=true", "=false")] {
        let failure = refusal(&unknown.url_of("sa", PASSWORD, &options));
        assert!(failure.tried.starts_with("encrypt the connection to"), "{options}: {failure}");
    }
    let elsewhere = forced.url_of("sa", PASSWORD, &format!("{ca}&HostNameInCertificate=elsewhere.example"));
    assert!(refusal(&elsewhere).tried.starts_with("encrypt the connection to"));
    let failure = refusal(&unknown.url_of("sa", PASSWORD, &ca));
    assert!(failure.tried.starts_with("encrypt the connection to"), "{failure}");
    assert!(failure.hint.unwrap().contains("trust_server_certificate=true"));
    assert_eq!(unknown.database().logins.len(), 0, "the login was sent to somebody unknown");
}

#[test]
fn what_the_login_may_not_see_is_told_with_the_permission_that_it_takes() {
    // The permission by its name, and "the user does not have permission to perform this action" beside it.
    for (number, words) in
        [(300, "VIEW SERVER STATE permission was denied on object 'server'."), (297, "The user may not.")]
    {
        let server = Server::answering("sys.dm_os_", error(number, 1, 14, words));
        let system = open(&server.url()).unwrap();
        let facts = system.facts().unwrap();
        let reason = facts.entries["host.cpu_count"].reading.clone().unwrap_err();
        assert!(reason.contains(&format!("[{number}")) && reason.contains("GRANT VIEW SERVER STATE"), "{reason}");
        assert_eq!(facts.get("setting.max_degree_of_parallelism"), Some("0"));
        let counters = system.counters().unwrap();
        assert_eq!(counters.value_of("batch_requests"), None);
        assert!(system.server_cpu_s().unwrap_err().contains("VIEW SERVER STATE"));
    }

    let settle =
        Server::answering("CHECKPOINT", error(262, 1, 14, "CHECKPOINT permission denied in database 'etalon'."));
    let system = open(&settle.url()).unwrap();
    system.settle().unwrap();
    assert!(system.facts().unwrap().entries["checkpoint_before_run"].reading.is_err());
}

#[test]
fn a_login_that_may_only_read_is_refused_before_anything_is_made() {
    let no = Reply::Tokens(tds_server::result(&["#"], &[&[Some("0")]]));
    let server = Server::answering("HAS_PERMS_BY_NAME", no);
    let failure = refusal(&server.url());
    assert_eq!(failure.kind, FailureKind::Permission, "{failure}");
    assert!(failure.hint.unwrap().contains("dbcreator"));
    let made = server.batches().iter().any(|sql| sql.starts_with("CREATE"));
    assert!(!made);
}

/// A read-only replica is refused before anything is made, and one that turns read-only later fails at its first
/// write.
#[test]
fn a_server_that_only_reads_is_told_from_one_that_may_not_be_written() {
    let only_reads = Reply::Tokens(tds_server::result(&[""], &[&[Some("READ_ONLY")]]));
    let server = Server::answering("Updateability", only_reads);
    server.database().exists = true;
    let failure = refusal(&server.url());
    assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
    assert!(failure.cause.contains("read-only") && failure.hint.unwrap().contains("primary"));

    let refused = error(3906, 1, 16, "Failed to update database \"etalon\" because the database is read-only.");
    let server = Server::answering("CREATE TABLE [pgbench", refused);
    let system = open(&server.url()).unwrap();
    let failure = system.prepare(&task(&[]).dataset).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permission, "{failure}");
    assert!(failure.cause.contains("[3906") && failure.hint.unwrap().contains("read-only"));
}

#[test]
fn a_rival_and_a_stranger_s_database_are_left_alone() {
    let taken = Reply::Tokens(tds_server::result(&["#"], &[&[Some("-1")]]));
    let rival = Server::answering("sp_getapplock", taken);
    let started = Instant::now();
    let failure = refusal(&rival.url());
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    assert!(started.elapsed() < Duration::from_secs(30));

    let stranger = Server::answering(
        "sys.objects WHERE is_ms_shipped",
        Reply::Tokens(tds_server::result(&["#"], &[&[Some("3")]])),
    );
    stranger.database().exists = true;
    let failure = refusal(&stranger.url());
    assert!(failure.cause.contains("étalon did not make it") && failure.hint.unwrap().contains("--yes"));
    assert!(!stranger.batches().iter().any(|sql| sql.contains("DROP")));
}

#[test]
fn a_server_that_breaks_the_protocol_or_goes_away_ends_no_worker() {
    let noise = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let torn = vec![4, 1, 0, 12, 0, 0, 1, 0, 0xd1, 1, 2, 3];
    let endless = [&[4, 1, 0, 20, 0, 0, 1, 0, 0xaa, 0xff, 0xff][..], &[7; 9]].concat();
    let killed = error(596, 1, 21, "Cannot continue the execution because the session is in the kill state.");
    // A failover: the replica takes no more queries or writes, or its transactions were given up.
    let moved = [976, 983, 40_143, 40_613].map(|number| error(number, 1, 14, "scripted"));
    let broken = [Reply::Raw(noise), Reply::Raw(torn), Reply::Raw(endless), Reply::Close, killed];
    for broken in broken.into_iter().chain(moved) {
        let count = AtomicU32::new(0);
        let script = {
            let broken = broken.clone();
            move |asked: &Asked| match asked {
                Asked::Call(call) if call.sql.starts_with("SELECT") => {
                    (count.fetch_add(1, Ordering::Relaxed) == 3).then(|| broken.clone())
                }
                _ => None,
            }
        };
        let server = Server::start(Encryption::None, Arc::new(script));
        let system = open(&server.url()).unwrap();
        let empty = workloads::dataset::Dataset { name: "empty".to_owned(), ..Default::default() };
        system.prepare(&empty).unwrap();
        let started = Instant::now();
        let record = run(&*system, &task(&[("script", text("select-only")), ("clients", Value::Int(2))]), 20);
        assert!(started.elapsed() < Duration::from_secs(20), "{broken:?}");
        match record {
            Ok(record) => {
                assert!(
                    value(&record, "errors_connection_lost").is_some_and(|lost| lost >= 1.0),
                    "{broken:?}: {record:?}"
                );
            }
            Err(failure) => assert_eq!(failure.kind, FailureKind::ConnectionLost, "{broken:?}: {failure}"),
        }
        assert!(system.counters().is_ok(), "the control plane goes on");
    }
}

#[test]
fn durability_follows_from_the_database_s_options() {
    let forced = Reply::Tokens(tds_server::result(
        &["recovery_model_desc", "delayed_durability_desc"],
        &[&[Some("SIMPLE"), Some("FORCED")]],
    ));
    let server = Server::answering("sys.databases WHERE database_id", forced);
    let durability = open(&server.url()).unwrap().facts().unwrap().durability().unwrap();
    assert_eq!(durability.tier, model::DurabilityTier::Delayed);
    assert!(durability.because.contains("delayed_durability=FORCED"));
}

/// A PostgreSQL that speaks TDS lacks these statistics; the load runs without them. Any other refusal ends it.
#[test]
fn statistics_that_a_server_does_not_have_are_left_out() {
    let answers = |number| {
        let server =
            Server::answering("UPDATE STATISTICS", error(number, 1, 16, "'UPDATE STATISTICS' is not supported"));
        let system = open(&server.url()).unwrap();
        system.prepare(&task(&[]).dataset)
    };
    answers(33_557_097).unwrap();
    assert!(answers(208).unwrap_err().cause.contains("not supported"));
}

#[test]
fn the_scripted_server_keeps_its_transactions_apart() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    let mut session = system.connect_session(workloads::session::SessionKind::Plain).unwrap();
    session.execute("BEGIN TRANSACTION").unwrap();
    session.execute("INSERT INTO pgbench_history (tid) VALUES (1)").unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_history").unwrap(), 0);
    session.execute("COMMIT TRANSACTION").unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_history").unwrap(), 1);
}

/// Étalon's own question is told of, and an interrupt ends it.
#[test]
fn a_statement_without_an_answer_is_told_of_and_left() {
    let asks_aside = "sys.dm_exec_requests WHERE session_id";
    let silent = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&silent);
    let server = Server::start(
        Encryption::None,
        Arc::new(move |asked| {
            if let Asked::Batch(sql) = asked
                && is_silent.load(Ordering::SeqCst)
                && !sql.contains(asks_aside)
            {
                std::thread::sleep(Duration::from_secs(20));
            }
            None
        }),
    );
    let (teller, told) = std::sync::mpsc::channel();
    let teller = std::sync::Mutex::new(teller);
    let notices = Notices::new(move |notice| drop(teller.lock().unwrap().send(notice.text().to_owned())));
    let interrupt = Arc::new(AtomicBool::new(false));
    let plan = system(&server.url(), &[]);
    let request =
        OpenRequest { notices, interrupt: Arc::clone(&interrupt), ..OpenRequest::new(&plan, Consent::OwnOnly) };
    let opened = Registry::built_in().open_system(&request).unwrap();
    silent.store(true, Ordering::SeqCst);
    let took = std::thread::scope(|scope| {
        let asked = scope.spawn(|| opened.counters());
        let said = told.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(said.contains("has not answered étalon's SELECT for 5 s"), "{said}");
        interrupt.store(true, Ordering::SeqCst);
        let interrupted = Instant::now();
        assert_eq!(asked.join().unwrap().unwrap_err().kind, FailureKind::Interrupted);
        interrupted.elapsed()
    });
    assert!(took < Duration::from_secs(2), "{took:?}");
}
