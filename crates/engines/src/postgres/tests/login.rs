//! Foreign servers: logins, privileges, schemas, settings.

use std::fs;
use std::time::Instant;

use model::DurabilityTier;

use super::*;
use crate::server::system::Settings as _;
use crate::server::testing::Refusals;
use workloads::transactions::pgbench_tables;

const PASSWORD: &str = "hunter2-is-no-secret";

#[test]
fn a_server_of_others() {
    let server = start(Connect::Tcp, &[("max_connections", "20")]);
    server.run(&format!(
        "CREATE ROLE shopper LOGIN PASSWORD '{PASSWORD}'; CREATE ROLE closed LOGIN CONNECTION LIMIT 0 PASSWORD '{PASSWORD}'"
    ));
    server.run("CREATE DATABASE shop OWNER shopper");
    let said = Refusals::default();
    let refused = |failure: Failure, kind: FailureKind| said.note(failure, kind);
    logins_that_fail(&server, &refused);
    statements_that_are_wrong_fail_at_once(&server);
    the_password_file_is_used_and_its_rights_matter(&server);
    doors_that_are_closed(&server, &refused);
    limits_on_connections_have_their_own_hints(&server, &refused);
    binding_without_tls_has_its_own_hint(&server, &refused);
    rights_that_are_missing(&server, &refused);
    schemas_of_others(&server, &refused);
    settings_of_a_session(&server, &refused);
    said.are_without(20, &[PASSWORD, "wrong-one", server.endpoint.address.password.as_deref().unwrap()]);
    server.drop_all().unwrap();
}

type Refused<'a> = &'a dyn Fn(Failure, FailureKind) -> Failure;

fn logins_that_fail(server: &PostgresSystem, refused: Refused<'_>) {
    let failure = refused(refusal(&server.url("shopper", "wrong-one", "shop"), &[]), FailureKind::Login);
    assert!(failure.cause.contains("28P01"), "{failure}");
    let hint = failure.hint.unwrap();
    assert!(
        hint.contains("password in the URL was refused") && hint.contains("PGPASSWORD") && hint.contains("~/.pgpass")
    );
    let port = server.endpoint.address.port;
    assert!(hint.contains(&format!("127.0.0.1:{port}:shop:shopper:PASSWORD")), "{hint}");
    let failure = refused(refusal(&server.url("shopper", "", "shop"), &[]), FailureKind::Login);
    assert!(failure.cause.contains("none was given"), "{failure}");
    refused(refusal(&server.url("nobody_known", PASSWORD, "shop"), &[]), FailureKind::Login);
    let failure = refused(refusal(&server.url("shopper", PASSWORD, "shoppe"), &[]), FailureKind::Missing);
    assert!(failure.hint.unwrap().contains(&format!("createdb -h 127.0.0.1 -p {port} -U shopper shoppe")));
    let failure = refused(refusal(&server.url("closed", PASSWORD, "shop"), &[]), FailureKind::Other);
    assert!(failure.cause.contains("53300"), "{failure}");
}

fn statements_that_are_wrong_fail_at_once(server: &PostgresSystem) {
    let failure = server.endpoint.open_client("-c no_such_setting=1").err().unwrap();
    assert!(failure.kind == FailureKind::Plan && failure.cause.contains("no_such_setting"), "{failure}");
    let [right, wrong] = ["SELECT $1::integer", "SELECT nothing FROM nowhere"].map(|sql| {
        let statements = PostgresServer::prepared(&[sql]);
        let opened = SessionSettings::default().open_lane(&server.endpoint, &statements);
        opened.map_err(|error| error.to_failure(&server.endpoint))
    });
    assert!(right.is_ok());
    let failure = wrong.err().unwrap();
    assert!(failure.cause.contains("42P01") && failure.tried.contains("prepare"), "{failure}");
    for (attributes, goes) in [("any", true), ("read-write", true), ("read-only", false)] {
        let url = format!("{}?target_session_attrs={attributes}", server.own_url());
        assert_eq!(open_by(&url).is_ok(), goes, "{attributes}");
    }
}

fn open_by(url: &str) -> Result<(), Failure> {
    Endpoint::new(Address::parse_url(url, &|_| None).unwrap())?.open_client("").map(Client::close_and_wait)
}

fn the_password_file_is_used_and_its_rights_matter(server: &PostgresSystem) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pgpass");
    fs::write(&file, format!("127.0.0.1:*:shop:shopper:{PASSWORD}\n")).unwrap();
    let address = |mode: &str| {
        assert!(std::process::Command::new("chmod").arg(mode).arg(&file).status().unwrap().success());
        Address::parse_url(&server.url("shopper", "", "shop"), &|name: &str| {
            (name == "PGPASSFILE").then(|| file.display().to_string())
        })
        .unwrap()
    };
    let client = Endpoint::new(address("0600")).unwrap().open_client("").unwrap();
    client.close_and_wait();
    let failure = Endpoint::new(address("0640")).unwrap().open_client("").err().unwrap();
    assert_eq!(failure.kind, FailureKind::Login);
    assert!(failure.hint.unwrap().contains("others may read it: chmod 0600"));
}

fn doors_that_are_closed(server: &PostgresSystem, refused: Refused<'_>) {
    let file = PathBuf::from(server.text("SHOW hba_file"));
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, "host postgres all 127.0.0.1/32 trust\nhost shop closed 127.0.0.1/32 trust\n").unwrap();
    server.run("SELECT pg_reload_conf()");
    let started = Instant::now();
    let failure = loop {
        // The server reloads the file a moment later.
        match open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly) {
            Err(failure) => break failure,
            Ok(_) => assert!(started.elapsed().as_secs() < 10),
        }
    };
    let failure = refused(failure, FailureKind::Login);
    let hint = failure.hint.unwrap();
    assert!(hint.contains("host  shop  shopper  127.0.0.1/32  scram-sha-256"), "{hint}");
    assert!(!hint.contains("reject"), "{hint}");
    refused(refusal(&server.url("nobody_known", PASSWORD, "postgres"), &[]), FailureKind::Login);
    let reject = "host shop shopper 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 scram-sha-256\n";
    fs::write(&file, reject).unwrap();
    server.run("SELECT pg_reload_conf()");
    let failure = loop {
        let failure = refusal(&server.url("shopper", PASSWORD, "shop"), &[]);
        if failure.cause.contains("rejects") {
            break failure;
        }
        assert!(started.elapsed().as_secs() < 10, "{failure}");
    };
    let hint = refused(failure, FailureKind::Login).hint.unwrap();
    assert!(hint.starts_with("a line of the server's pg_hba.conf says `reject`"), "{hint}");
    // What it says helps.
    let line = hint.rsplit_once("): ").unwrap().1;
    fs::write(&file, format!("{line}\n{reject}")).unwrap();
    server.run("SELECT pg_reload_conf()");
    while open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).is_err() {
        assert!(started.elapsed().as_secs() < 20);
    }
    fs::write(&file, before).unwrap();
    server.run("SELECT pg_reload_conf()");
    while open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).is_err() {
        assert!(started.elapsed().as_secs() < 20);
    }
}

fn limits_on_connections_have_their_own_hints(server: &PostgresSystem, refused: Refused<'_>) {
    let failure = refused(refusal(&server.url("closed", PASSWORD, "shop"), &[]), FailureKind::Other);
    let hint = failure.hint.unwrap();
    assert!(hint.starts_with("`ALTER ROLE \"closed\" CONNECTION LIMIT -1`"), "{hint}");
    server.run("ALTER DATABASE shop CONNECTION LIMIT 0");
    let failure = refused(refusal(&server.url("shopper", PASSWORD, "shop"), &[]), FailureKind::Other);
    let hint = failure.hint.unwrap();
    assert!(hint.starts_with("`ALTER DATABASE \"shop\" CONNECTION LIMIT -1`"), "{hint}");
    server.run("ALTER DATABASE shop CONNECTION LIMIT -1");
    // Clients of a run fail with the hint of their own limit, too.
    server.run("ALTER ROLE shopper CONNECTION LIMIT 2");
    let system = open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).unwrap();
    let failure = modes::run(&*system, &modes::task(&[]), model::Length::Transactions(5)).unwrap_err();
    let failure = refused(failure, FailureKind::Other);
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("ALTER ROLE \"shopper\"")), "{failure:?}");
    system.drop_all().unwrap();
    server.run("ALTER ROLE shopper CONNECTION LIMIT -1");
}

fn binding_without_tls_has_its_own_hint(server: &PostgresSystem, refused: Refused<'_>) {
    for mode in ["disable", "prefer"] {
        let url = format!("{}?channel_binding=require&sslmode={mode}", server.url("shopper", PASSWORD, "shop"));
        let failure = refused(refusal(&url, &[]), FailureKind::Unsupported);
        assert!(failure.cause.contains("the connection is not encrypted"), "{failure}");
        assert!(failure.hint.unwrap().contains("`sslmode=require`"));
    }
}

fn rights_that_are_missing(server: &PostgresSystem, refused: Refused<'_>) {
    let failure = refused(refusal(&server.url("shopper", PASSWORD, "postgres"), &[]), FailureKind::Permission);
    assert!(failure.hint.unwrap().contains("GRANT CREATE ON DATABASE postgres TO shopper"));
    let system = open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    system.settle().unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    let facts = system.facts().unwrap();
    assert!(facts.entries["checkpoint_before_run"].reading.clone().unwrap_err().contains("pg_checkpoint"));
    // Where the process's folder may be read, the role need not be allowed to ask for it.
    match &facts.entries["data_directory.filesystem"].reading {
        Ok(filesystem) => assert_eq!(Some(&**filesystem), server.facts().unwrap().get("data_directory.filesystem")),
        Err(reason) => assert!(reason.contains("pg_read_all_settings"), "{reason}"),
    }
    assert_eq!(facts.durability().unwrap().tier, DurabilityTier::Durable);
    assert!(!format!("{facts:?}").contains(PASSWORD));
    assert_eq!(facts.get("path.kind"), Some("tcp"));
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
    let failure = refused(
        refusal(&server.url("shopper", PASSWORD, "shop"), &[("log_statement", "all")]),
        FailureKind::Permission,
    );
    assert!(failure.tried.contains("log_statement"), "{failure}");
}

fn schemas_of_others(server: &PostgresSystem, refused: Refused<'_>) {
    server.run("CREATE SCHEMA etalon; CREATE TABLE etalon.precious (x integer)");
    let failure = refused(refusal(&server.own_url(), &[]), FailureKind::NotOurs);
    assert!(failure.hint.unwrap().contains("--yes"));
    let theirs = || server.text("SELECT count(*) FROM pg_tables WHERE tablename = 'precious'");
    assert_eq!(theirs(), "1");
    let system = open(&server.own_url(), &[], Consent::DropForeign).unwrap();
    system.drop_all().unwrap();
    assert_eq!(theirs(), "1", "what étalon did not make it does not drop at its end");
    system.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(theirs(), "0");
    // Two systems of a plan in one database, and foreign tables.
    server.run("CREATE TABLE public.pgbench_accounts (x integer); INSERT INTO public.pgbench_accounts VALUES (1)");
    let second = open(&server.own_url(), &[("synchronous_commit", "off")], Consent::OwnOnly).unwrap();
    second.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    second.drop_all().unwrap();
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT count(*) FROM public.pgbench_accounts"), "1");
}

fn settings_of_a_session(server: &PostgresSystem, refused: Refused<'_>) {
    let url = server.own_url();
    let pairs =
        [("synchronous_commit", "off"), ("work_mem", "7MB"), ("post_auth_delay", "0"), ("application_name", "a b\\c")];
    let system = open(&url, &pairs, Consent::OwnOnly).unwrap();
    let facts = system.facts().unwrap();
    assert_eq!(facts.durability().unwrap().tier, DurabilityTier::Delayed);
    assert_eq!((facts.get("setting.work_mem"), facts.get("setting.lock_timeout")), (Some("7MB"), Some("0")));
    assert_eq!(facts.get("setting.application_name"), Some("a b\\c"));
    drop(system);
    let failure = refused(refusal(&url, &[("shared_buffers", "1GB")]), FailureKind::Plan);
    assert!(failure.hint.unwrap().contains("server = { engine = \"postgres\" }"));
    let failure = refused(refusal(&url, &[("synchronos_commit", "off")]), FailureKind::Plan);
    assert_eq!(failure.hint.as_deref(), Some("did you mean `synchronous_commit`?"));
    let failure = refused(refusal(&url, &[("synchronous_commit", "perhaps")]), FailureKind::Plan);
    assert!(failure.hint.unwrap().contains("remote_apply"));
    refused(refusal(&url, &[("post_auth_delay", "soon")]), FailureKind::Plan);
}
