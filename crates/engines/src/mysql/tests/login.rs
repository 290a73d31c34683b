//! Foreign servers: logins, privileges, databases, settings.

use model::DurabilityTier;

use super::*;
use crate::server::testing::Refusals;
use crate::server::testing::lane::{Probe, native};
use load::lane::ErrorClass;
use workloads::transactions::{Transactions, pgbench_tables};
use workloads::work::{StreamTask, StreamWork};
use workloads::workload::{Action, Grants, Task, Workload as _};

const PASSWORD: &str = "hunter2-is-no-secret";

of_both_products!(a_server_of_others, settings_that_others_chose_do_not_break_runs);

/// Étalon's sessions do not inherit these settings of the server unless they are to be measured.
fn settings_that_others_chose_do_not_break_runs() {
    let server = start(Connect::Tcp, &[]);
    let oracle = if product() == Product::MariaDb { "'ORACLE'" } else { "'ANSI'" };
    for (name, value) in [
        ("autocommit", "0"),
        ("init_connect", "'SET autocommit = 0'"),
        ("sql_mode", oracle),
        ("sql_mode", "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'"),
        ("max_allowed_packet", "1024"),
    ] {
        server.control.close_session();
        let before = server.text(&format!("SELECT @@GLOBAL.{name}"));
        server.run(&format!("SET GLOBAL {name} = {value}"));
        server.run("CREATE USER IF NOT EXISTS plain@'127.0.0.1' IDENTIFIED BY 'p'");
        server.run("GRANT ALL ON etalon.* TO plain@'127.0.0.1'");
        let system = open(&server.url("plain", "p", ""), &[], Consent::OwnOnly).unwrap();
        for (script, protocol) in [("tpcb-like", "prepared"), ("tpcb-like", "simple"), ("select-only", "prepared")] {
            let record = run(&*system, &task(&[("script", script), ("protocol", protocol)]));
            let record = record.unwrap_or_else(|failure| panic!("{name} = {value}, {script}, {protocol}: {failure:?}"));
            let errors = record.measurements.iter().find(|one| one.metric.id == "errors").unwrap();
            assert_eq!(errors.reading, model::Reading::Value(0.0), "{name} = {value}, {script}, {protocol}");
        }
        if name == "max_allowed_packet" {
            statements_beyond_the_packet_are_refused(&*system);
        }
        system.drop_all().unwrap();
        let before = if before.parse::<u64>().is_ok() { before } else { format!("'{before}'") };
        server.run(&format!("SET GLOBAL {name} = {before}"));
    }
    server.drop_all().unwrap();
}

fn statements_beyond_the_packet_are_refused(system: &dyn System) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.sql");
    std::fs::write(&file, format!("SELECT '{}';", "x".repeat(2_000))).unwrap();
    let long = task(&[("script", file.to_str().unwrap()), ("tables", "none")]);
    let Action::Stream(StreamTask { work: StreamWork::Statements(program), .. }) = &long.action else { panic!() };
    let failure = system.refuse_program(program).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unsupported);
    assert!(failure.cause.contains("1024 bytes") && failure.hint.unwrap().contains("SET GLOBAL max_allowed_packet"));
}

fn task(pairs: &[(&str, &str)]) -> Task {
    let mut point: model::Point =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), model::Value::Text((*value).to_owned()))).collect();
    for (key, number) in [("clients", 2), ("scale", 1)] {
        point.insert(key.to_owned(), model::Value::Int(number));
    }
    Transactions.make_task(&point, &Grants::default()).unwrap()
}

fn run(system: &dyn System, task: &Task) -> Result<model::RunRecord, Failure> {
    let Action::Stream(stream) = &task.action else { panic!() };
    system.prepare(&task.dataset)?;
    system.settle()?;
    crate::suite::run_once(system, stream, model::Length::Transactions(20))
}

fn a_server_of_others() {
    let settings = [("max_connections", "20"), ("plugin_load_add", "auth_ed25519")];
    let server = start(Connect::Tcp, if product() == Product::MariaDb { &settings } else { &settings[..1] });
    for sql in [
        "CREATE DATABASE shop",
        "CREATE USER shopper@'127.0.0.1' IDENTIFIED BY '{}'",
        "GRANT ALL ON shop.* TO shopper@'127.0.0.1'",
        "GRANT ALL ON etalon.* TO shopper@'127.0.0.1'",
        "CREATE USER poor@'127.0.0.1' IDENTIFIED BY '{}'",
        "GRANT SELECT ON shop.* TO poor@'127.0.0.1'",
        "CREATE USER few@'127.0.0.1' IDENTIFIED BY '{}' WITH MAX_USER_CONNECTIONS 2",
        "GRANT ALL ON *.* TO few@'127.0.0.1'",
    ] {
        server.run(&sql.replace("{}", PASSWORD));
    }
    let said = Refusals::default();
    let refused = |failure: Failure, kind: FailureKind| said.note(failure, kind);
    logins_that_fail(&server, &refused);
    every_way_to_log_in(&server);
    rights_that_are_missing(&server, &refused);
    databases_of_others(&server, &refused);
    settings_of_a_session(&server, &refused);
    more_connections_than_there_are(&server, &refused);
    said.are_without(11, &[PASSWORD, "wrong-one", server.endpoint.address.password.as_deref().unwrap()]);
    server.drop_all().unwrap();
}

type Refused<'a> = &'a dyn Fn(Failure, FailureKind) -> Failure;

fn logins_that_fail(server: &MySqlSystem, refused: Refused<'_>) {
    let failure = refused(refusal(&server.url("shopper", "wrong-one", "shop"), &[]), FailureKind::Login);
    assert!(failure.cause.contains("1045"), "{failure}");
    let hint = failure.hint.unwrap();
    assert!(
        hint.contains("password in the URL was refused") && hint.contains("MYSQL_PWD") && hint.contains("~/.my.cnf")
    );
    refused(refusal(&server.url("nobody_known", PASSWORD, "shop"), &[]), FailureKind::Login);
    // An account without privileges gets no answer whether a database exists.
    let failure = refused(refusal(&server.url("shopper", PASSWORD, "shoppe"), &[]), FailureKind::Permission);
    assert!(failure.hint.unwrap().contains("shoppe"));
    // No TCP account without password.
    for user in ["root", "mariadb.sys", ""] {
        let failure = refusal(&format!("mysql://127.0.0.1:{}/?user={user}", server.port()), &[]);
        assert_eq!(failure.kind, FailureKind::Login, "{user}: {failure}");
    }
    let failure = refused(refusal(&server.own_url_of("shoppe"), &[]), FailureKind::Missing);
    assert!(failure.hint.unwrap().contains("CREATE DATABASE shoppe"));
}

fn every_way_to_log_in(server: &MySqlSystem) {
    match product() {
        Product::MariaDb => by_ed25519(server),
        Product::MySql => by_caching_sha2(server),
    }
    let system = open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).unwrap();
    let facts = system.facts().unwrap();
    assert_eq!(facts.get("path.kind"), Some("tcp"));
    // From the option file.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".my.cnf");
    let text = format!("[client]\nhost=127.0.0.1\nport={}\nuser=shopper\npassword={PASSWORD}\n", server.port());
    std::fs::write(&file, text).unwrap();
    assert!(std::process::Command::new("chmod").arg("0600").arg(&file).status().unwrap().success());
    let address = Address::parse_url("mysql:///shop", &|name: &str| {
        (name == "HOME").then(|| folder.path().display().to_string())
    })
    .unwrap();
    Endpoint::new(address).unwrap().open_client(Purpose::Control).unwrap().close_and_wait();
}

fn by_ed25519(server: &MySqlSystem) {
    server.run(&format!("CREATE USER edward@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')"));
    server.run("GRANT ALL ON etalon.* TO edward@'127.0.0.1'");
    let system = open(&server.url("edward", PASSWORD, ""), &[], Consent::OwnOnly).unwrap();
    assert_eq!(system.facts().unwrap().get("path.login"), Some("client_ed25519"));
}

/// Logs in without encryption by the server's public key, if that may be asked for; the server then knows the account,
/// and a hash will do. Its encryption is by ciphers that étalon does not have.
fn by_caching_sha2(server: &MySqlSystem) {
    server.run(&format!("CREATE USER edward@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'"));
    server.run("GRANT ALL ON etalon.* TO edward@'127.0.0.1'");
    let with_key = server.url("edward", PASSWORD, "");
    let plain = with_key.split_once('?').unwrap().0;
    let failure = refusal(plain, &[]);
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("get-server-public-key=1")), "{failure:?}");
    for url in [&with_key, plain] {
        let facts = open(url, &[], Consent::OwnOnly).unwrap().facts().unwrap();
        assert_eq!((facts.get("path.login"), facts.get("path.tls")), (Some("caching_sha2_password"), Some("off")));
    }
    let failure = refusal(&format!("{plain}?ssl-mode=required"), &[]);
    assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("ECDHE")), "{failure:?}");
}

fn rights_that_are_missing(server: &MySqlSystem, refused: Refused<'_>) {
    let failure = refused(refusal(&server.url("poor", PASSWORD, "shop"), &[]), FailureKind::Permission);
    assert_eq!(failure.hint.as_deref(), Some("`GRANT ALL ON etalon.* TO 'poor'@'127.0.0.1'`"));
    let system = open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    system.settle().unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    let facts = system.facts().unwrap();
    assert!(facts.entries["checkpoint_before_run"].reading.clone().unwrap_err().contains("RELOAD"));
    assert_eq!(facts.durability().unwrap().tier, DurabilityTier::Durable);
    assert!(!format!("{facts:?}").contains(PASSWORD));
    drop(system);
    server.run("GRANT RELOAD ON *.* TO shopper@'127.0.0.1'");
    let system = open(&server.url("shopper", PASSWORD, "shop"), &[], Consent::OwnOnly).unwrap();
    system.settle().unwrap();
    assert!(system.facts().unwrap().get("checkpoint_before_run").unwrap().contains("FOR EXPORT"));
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'etalon'"), "0");
    // A server that is not promoted yet is not back.
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("SET GLOBAL read_only = ON");
    let failure = system.prepare(&pgbench_tables(1)).unwrap_err();
    assert!(failure.may_pass() && failure.cause.contains("[1290,"), "{failure:?}");
    assert!(system.wait_until_available().unwrap_err().cause.contains("read-only"));
    let plan =
        SystemPlan { engine: "mysql".to_owned(), url: server.url("shopper", PASSWORD, ""), ..SystemPlan::default() };
    assert!(system::why_read_only::<MySqlServer>(&plan).is_some());
    server.run("SET GLOBAL read_only = OFF");
    assert_eq!(system::why_read_only::<MySqlServer>(&plan), None);
    system.wait_until_available().unwrap();
    system.drop_all().unwrap();
    server.run("SET GLOBAL read_only = ON");
    let failure = refused(refusal(&server.url("shopper", PASSWORD, ""), &[]), FailureKind::Unsupported);
    assert!(failure.cause.contains("read-only"), "{failure}");
    server.run("SET GLOBAL read_only = OFF");
}

fn databases_of_others(server: &MySqlSystem, refused: Refused<'_>) {
    server.run("CREATE DATABASE etalon");
    server.run("CREATE TABLE etalon.precious (x INT)");
    // The opened server holds this process's claim.
    let failure = refused(refusal(&server.own_url(), &[]), FailureKind::NotOurs);
    assert!(failure.hint.unwrap().contains("--yes"));
    let theirs = || server.text("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'precious'");
    assert_eq!(theirs(), "1");
    let system = open(&server.own_url(), &[], Consent::DropForeign).unwrap();
    system.drop_all().unwrap();
    assert_eq!(theirs(), "1", "what étalon did not make it does not drop at its end");
    system.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(theirs(), "0");
    // Two systems of a plan on one server, and foreign tables.
    server.run("CREATE TABLE shop.pgbench_accounts (x INT)");
    let second = open(&server.own_url_of("shop"), &[("sort_buffer_size", "1M")], Consent::OwnOnly).unwrap();
    second.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    second.drop_all().unwrap();
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT COUNT(*) FROM shop.pgbench_accounts"), "0");
    // A given database stays, and is empty again.
    server.run("CREATE DATABASE etalon");
    system.prepare(&pgbench_tables(1)).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'etalon'"), "1");
    assert_eq!(server.text("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'etalon'"), "0");
    server.run("DROP DATABASE etalon");
}

fn settings_of_a_session(server: &MySqlSystem, refused: Refused<'_>) {
    let url = server.own_url();
    let pairs = [("sort-buffer-size", "1M"), ("transaction_isolation", "READ-COMMITTED"), ("max_statement_time", "30")];
    let system = open(&url, &pairs[..1], Consent::OwnOnly).unwrap();
    assert_eq!(system.facts().unwrap().get("setting.sort_buffer_size"), Some("1048576"));
    drop(system);
    let failure = refused(refusal(&url, &[("innodb_buffer_pool_size", "1G")]), FailureKind::Plan);
    assert!(failure.hint.unwrap().contains("server = { engine = \"mariadb\" }"));
    let failure = refused(refusal(&url, &[("sort_bufer_size", "1M")]), FailureKind::Plan);
    assert_eq!(failure.hint.as_deref(), Some("did you mean `sort_buffer_size`?"));
    let failure = refusal(&url, &[("sql_mode", "perhaps")]);
    assert_eq!(failure.kind, FailureKind::Plan);
    assert!(failure.cause.contains("perhaps"), "{failure}");
    assert_eq!(refusal(&url, &[("autocommit", "0")]).kind, FailureKind::Plan);
}

fn more_connections_than_there_are(server: &MySqlSystem, refused: Refused<'_>) {
    let endpoint = Endpoint::new(Address::parse_url(&server.url("few", PASSWORD, ""), &|_| None).unwrap()).unwrap();
    let held = [0, 1].map(|_| endpoint.open_client(Purpose::Load).unwrap());
    let failure = refused(endpoint.open_client(Purpose::Load).err().unwrap(), FailureKind::Other);
    assert!(failure.cause.contains("1226") || failure.cause.contains("1203"), "{failure}");
    assert!(failure.hint.unwrap().contains("WITH MAX_USER_CONNECTIONS 0"));
    let error = endpoint.try_connect(Purpose::Load).err().unwrap().to_op_error(&endpoint);
    assert_eq!(error.class, ErrorClass::TooManyConnections);
    held.into_iter().for_each(Client::close_and_wait);
    // A refused reconnect has its class, and works again later.
    let statements = MySqlServer::prepared(&["SELECT 1"]);
    let mut lane = Probe(native::<MySqlServer>(&endpoint, &SessionSettings::default(), Choice::Auto, 1, statements));
    lane.reconnect(0).unwrap();
    let mut held = vec![endpoint.open_client(Purpose::Load).unwrap()];
    server.run("SET GLOBAL max_connections = 10");
    while let Ok(client) = server.endpoint.open_client(Purpose::Load) {
        held.push(client);
    }
    let failure = refused(server.endpoint.open_client(Purpose::Load).err().unwrap(), FailureKind::Other);
    assert!(failure.cause.contains("1040") && failure.hint.unwrap().contains("max_connections"));
    held.into_iter().for_each(Client::close_and_wait);
    lane.submit(0, 0, &[]).unwrap();
    use load::lane::Lane as _;
    lane.0.close();
}
