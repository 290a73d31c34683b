//! TLS in each of MySQL's modes, with an authority of the test's own.

use std::time::Duration;

use super::*;
use crate::server::testing::life;
use crate::server::tls::testing::make;
use load::generator::ThreadLimit;
use workloads::transactions::pgbench_tables;

#[test]
fn tls_is_what_ssl_mode_says() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    make("names `localhost`").write(folder.path(), private::server_user().unwrap().as_ref());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let pairs = [("ssl_cert", file("server.crt")), ("ssl_key", file("server.key"))];
    let pairs = [(pairs[0].0, pairs[0].1.as_str()), (pairs[1].0, pairs[1].1.as_str())];
    let server = start(Connect::Tcp, &pairs);
    let root = format!("ssl-ca={}", file("root.crt"));
    let by_address = |query: &str| format!("{}?{query}", server.own_url());
    assert_eq!(tls(by_address("ssl-mode=disabled")), "off");
    assert!(tls(by_address("")).starts_with("TLSv1.3 "), "the default is to prefer it");
    assert!(tls(by_address("ssl-mode=required")).starts_with("TLSv1.3 "));
    assert!(tls(by_address(&format!("ssl-mode=verify_ca&{root}"))).starts_with("TLSv1.3 "));
    assert!(tls(by_address(&root)).starts_with("TLSv1.3 "));

    let failure = refusal(&by_address(&format!("ssl-mode=verify_identity&{root}")), &[]);
    assert!(failure.cause.contains("not valid for name"), "{failure}");
    assert!(failure.hint.is_some() && failure.tried.contains("encrypt"), "{failure}");
    let other = tempfile::tempdir().unwrap();
    make("names `localhost`").write(other.path(), None);
    let failure = refusal(&by_address(&format!("ssl-ca={}", other.path().join("root.crt").display())), &[]);
    assert!(failure.cause.contains("UnknownIssuer") || failure.cause.contains("BadSignature"), "{failure}");
    let failure = refusal(&by_address("ssl-mode=verify_ca&ssl-ca=/no/such/file"), &[]);
    assert_eq!(failure.kind, FailureKind::Missing);
    assert!(failure.tried.contains("/no/such/file"), "{failure}");
    by_the_socket(&server, &root);
    a_run_over_tls(&*open_by(by_address("ssl-mode=required")));
    only_encrypted(&server);
    server.drop_all().unwrap();
}

fn open_by(url: String) -> Box<dyn System> {
    open(&url, &[], Consent::OwnOnly).unwrap_or_else(|failure| panic!("{url}: {failure}"))
}

fn tls(url: String) -> String {
    open_by(url).facts().unwrap().get("path.tls").unwrap().to_owned()
}

/// A socket can check a name that the certificate has.
fn by_the_socket(server: &MySqlSystem, root: &str) {
    let socket = server.text("SELECT @@socket");
    for (query, is_encrypted) in
        [("ssl-mode=preferred".to_owned(), false), (format!("ssl-mode=verify_identity&{root}"), true)]
    {
        let facts = open_by(format!("mysql://root@localhost/?socket={socket}&{query}")).facts().unwrap();
        assert_eq!(facts.get("path.kind"), Some("socket"));
        assert_eq!(facts.get("path.tls") != Some("off"), is_encrypted, "{query}");
    }
}

fn a_run_over_tls(system: &dyn System) {
    system.prepare(&pgbench_tables(1)).unwrap();
    let script = "\\set aid random(1, 1000)\nBEGIN;\nUPDATE pgbench_accounts SET abalance = 1 WHERE aid = :aid;\nCOMMIT;\n\
                  SELECT aid FROM pgbench_accounts WHERE aid = :aid \\gset\nSELECT :aid + 0;";
    assert_eq!(system.split_clients(0..2, ThreadLimit::Best), [0..1, 1..2]);
    let record = life::run_of(system, script, 2, Duration::from_millis(300)).unwrap();
    assert_eq!(record.state, model::RunState::Measured);
    system.drop_all().unwrap();
}

fn only_encrypted(server: &MySqlSystem) {
    server.run("CREATE USER closed@'127.0.0.1' IDENTIFIED BY 'x' REQUIRE SSL");
    server.run("GRANT ALL ON *.* TO closed@'127.0.0.1'");
    let url = server.url("closed", "x", "");
    assert!(open(&url, &[], Consent::OwnOnly).is_ok());
    assert_eq!(refusal(&format!("{url}?ssl-mode=disabled"), &[]).kind, FailureKind::Login);
}
