use std::fs;
use std::thread;
use std::time::Duration;

use super::*;
use crate::server::tls::testing::make;
use workloads::transactions::pgbench_tables;

#[test]
fn tls_is_what_sslmode_says() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    make("names `localhost`").write(folder.path(), private::server_user().unwrap().as_ref());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let server = start(
        Connect::Tcp,
        &[("ssl", "on"), ("ssl_cert_file", &file("server.crt")), ("ssl_key_file", &file("server.key"))],
    );
    let root = format!("sslrootcert={}", file("root.crt"));
    let by_address = |query: &str| format!("{}?{query}", server.own_url());
    let by_name = |query: &str| by_address(query).replace("@127.0.0.1:", "@localhost:");
    assert_eq!(tls(by_address("sslmode=disable")), "off");
    assert_eq!(tls(by_address("sslmode=allow")), "off");
    assert!(tls(by_address("")).starts_with("TLSv1.3 "), "the default is to prefer it");
    assert!(tls(by_address("sslmode=require")).starts_with("TLSv1.3 "));
    assert!(tls(by_address(&format!("sslmode=verify-ca&{root}"))).starts_with("TLSv1.3 "));
    assert!(tls(by_name(&format!("sslmode=verify-full&{root}"))).starts_with("TLSv1.3 "));

    let failure = refusal(&by_address(&format!("sslmode=verify-full&{root}")), &[]);
    assert!(failure.cause.contains("not valid for name"), "{failure}");
    let failure = refusal(&by_name("sslmode=verify-full"), &[]);
    assert!(failure.cause.contains("needs authorities"), "{failure}");
    assert!(failure.hint.unwrap().contains("sslrootcert=system"));
    let failure = refusal(&by_name("sslmode=verify-ca&sslrootcert=/no/such/file"), &[]);
    assert_eq!(failure.kind, FailureKind::Missing);
    assert!(failure.tried.contains("/no/such/file"), "{failure}");
    only_encrypted_or_only_plain(&server, &by_address);
    the_load_is_encrypted_too(&by_name(&format!("sslmode=verify-full&{root}&channel_binding=require")));
    server.drop_all().unwrap();
}

fn tls(url: String) -> String {
    let system = open(&url, &[], Consent::OwnOnly).unwrap_or_else(|failure| panic!("{url}: {failure}"));
    system.facts().unwrap().get("path.tls").unwrap().to_owned()
}

/// The role is let in encrypted, or plain, but not both ways.
fn only_encrypted_or_only_plain(server: &PostgresSystem, by_address: &dyn Fn(&str) -> String) {
    let file = PathBuf::from(server.text("SHOW hba_file"));
    let admit = |line: &str, url: &str| {
        // The first line is the test's own login.
        let text = format!("host all etalon 127.0.0.1/32 scram-sha-256\n{line} all visitor 127.0.0.1/32 trust\n");
        fs::write(&file, text).unwrap();
        server.run("SELECT pg_reload_conf()");
        thread::sleep(Duration::from_millis(300));
        let address = Address::parse_url(url, &|_| None).unwrap();
        let mut client = Endpoint::new(address).unwrap().open_client("").unwrap();
        let encrypted = client.query_first_value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").unwrap();
        client.close_and_wait();
        encrypted
    };
    server.run("CREATE ROLE visitor LOGIN");
    let visitor = |query: &str| {
        let (_, place) = by_address(query).split_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        format!("postgres://visitor@{place}")
    };
    assert_eq!(admit("hostssl", &visitor("sslmode=allow")), "t");
    assert_eq!(admit("hostnossl", &visitor("sslmode=prefer")), "f");
    let failure = refusal(&visitor("sslmode=require"), &[]);
    assert_eq!(failure.kind, FailureKind::Login);
    assert!(failure.hint.unwrap().contains("pg_hba.conf"));
}

/// Everything that the lane does, by TLS with channel binding.
fn the_load_is_encrypted_too(url: &str) {
    let address = Address::parse_url(url, &|_| None).unwrap();
    let system: PostgresSystem = made(Endpoint::new(address).unwrap(), None);
    system.prepare(&pgbench_tables(1)).unwrap();
    for way in testing::lane::WAYS {
        lane::is_encrypted(&system, way);
        lane::every_kind_of_value_arrives(&system, way);
        lane::errors_have_classes_and_a_way_back(&system, way);
        lane::the_last_row_of_each_result_is_kept(&system, way);
        lane::a_pipeline_ends_as_its_first_failure(&system, way);
        lane::clients_connect_anew(&system, way);
        lane::a_backend_that_is_ended_is_a_lost_connection(&system, way);
    }
    // The lane's tests made them.
    system.run("DROP TABLE kinds, pairs, piped");
    system.drop_all().unwrap();
}
