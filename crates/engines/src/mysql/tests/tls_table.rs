//! TLS compared with MariaDB's own client: the table of `docs/tls.md`, and further options.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;
use crate::server::tls::testing::{Made, TlsOutcome, chmod, make, make_client, walk};

/// A server with changeable certificate, and an account without password.
struct Stage {
    server: MySqlSystem,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        make("names `127.0.0.1`").write(folder.path(), private::server_user().unwrap().as_ref());
        make_client(folder.path(), "visitor");
        let file = |name: &str| folder.path().join(name).display().to_string();
        let files =
            [("ssl_cert", file("server.crt")), ("ssl_key", file("server.key")), ("ssl_ca", file("clients.crt"))];
        let pairs: Vec<(&str, &str)> = files.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let server = start(Connect::Tcp, &pairs);
        server.run("CREATE USER visitor@'%'");
        Stage { server, folder }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn give(&self, made: &Made) {
        made.write(self.folder.path(), private::server_user().unwrap().as_ref());
        self.server.run("FLUSH SSL");
    }

    /// Options in MariaDB's client's words, separated by `&`.
    fn client(&self, options: &str) -> TlsOutcome {
        let Place::Tcp { host, port } = &self.server.endpoint.address.place else { panic!() };
        let mut command = Command::new("mariadb");
        command.arg(format!("--defaults-file={}", self.file(".my.cnf"))).args(["--protocol=tcp", "-u", "visitor"]);
        command.args([format!("-h{host}"), format!("-P{port}")]);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            command.arg(format!("--{option}"));
        }
        // Later versions verify by default.
        let file = fs::read_to_string(self.file(".my.cnf")).unwrap();
        if ![options, &file].iter().any(|words| words.contains("ssl-verify-server-cert")) {
            command.arg("--skip-ssl-verify-server-cert");
        }
        let command = command.args(["-N", "-B", "-e", "SHOW STATUS LIKE 'Ssl_version'"]);
        let output = command.stdin(Stdio::null()).output().expect("this test needs MariaDB's client");
        let said = String::from_utf8_lossy(&output.stdout);
        match (output.status.success(), said.contains("TLSv1")) {
            (true, true) => TlsOutcome::Encrypted,
            (true, false) => TlsOutcome::Plain,
            (false, _) => TlsOutcome::Refused,
        }
    }

    fn etalon(&self, options: &str) -> TlsOutcome {
        let Place::Tcp { host, port } = &self.server.endpoint.address.place else { panic!() };
        let url = format!("mysql://visitor@{host}:{port}/?{options}");
        let home = self.folder.path().display().to_string();
        let endpoint =
            Address::parse_url(&url, &|name: &str| (name == "HOME").then(|| home.clone())).and_then(Endpoint::new);
        match endpoint.and_then(|endpoint| endpoint.open_client(Purpose::Load)) {
            Err(_) => TlsOutcome::Refused,
            Ok(client) if client.encryption().is_some() => TlsOutcome::Encrypted,
            Ok(_) => TlsOutcome::Plain,
        }
    }

    /// Étalon first.
    fn both(&self, options: &str) -> (TlsOutcome, TlsOutcome) {
        (self.etalon(options), self.client(options))
    }
}

#[test]
fn certificates_are_taken_and_refused_as_by_mariadb() {
    let stage = Stage::new();
    fs::write(stage.file(".my.cnf"), "").unwrap();
    let (root, own) = (format!("ssl-ca={}", stage.file("root.crt")), format!("ssl-ca={}", stage.file("server.crt")));
    let list = format!("ssl-crl={}", stage.file("root.crl"));
    walk(
        "### By certificate, MariaDB",
        |made| stage.give(made),
        |way| {
            let options = match way {
                "`ssl`" => "ssl=1".to_owned(),
                "`ssl-ca`" => format!("ssl=1&{root}"),
                "`ssl-verify-server-cert`" => format!("ssl=1&{root}&ssl-verify-server-cert=1"),
                "`ssl-crl`" => format!("ssl=1&{root}&{list}"),
                "pinned" => format!("ssl=1&{own}"),
                "pinned, verified" => format!("ssl=1&{own}&ssl-verify-server-cert=1"),
                other => panic!("docs/tls.md: no test connects by {other}"),
            };
            stage.both(&options)
        },
    );
    stage.server.drop_all().unwrap();
}

#[test]
fn options_and_files_are_those_of_mariadb_s_client() {
    use TlsOutcome::{Encrypted, Plain, Refused};
    let stage = Stage::new();
    let file = |text: &str| fs::write(stage.file(".my.cnf"), format!("[client]\n{text}\n")).unwrap();
    file("");
    let root = format!("ssl-ca={}", stage.file("root.crt"));
    let (cert, key) = (stage.file("client.crt"), stage.file("client.key"));
    chmod("0600", &PathBuf::from(&key));
    let alike = |options: &str, expected: TlsOutcome| {
        assert_eq!(stage.both(options), (expected, expected), "étalon and mariadb by {options}");
    };
    // Where étalon is stricter, with the client's outcome.
    let stricter = |options: &str, own: TlsOutcome, client: TlsOutcome| {
        assert_eq!(stage.both(options), (own, client), "étalon and mariadb by {options}");
    };
    alike("ssl=0", Plain);
    alike("", Encrypted);
    alike(&format!("{root}&ssl-verify-server-cert=1"), Encrypted);
    alike("tls-version=TLSv1.2&ssl=1", Encrypted);
    alike("ssl=1&ssl-verify-server-cert=1", Refused);
    alike("ssl=1&ssl-ca=/no/such/file", Refused);
    stage.server.run("ALTER USER visitor@'%' REQUIRE X509");
    alike("ssl=1", Refused);
    alike(&format!("ssl=1&ssl-cert={cert}&ssl-key={key}"), Encrypted);
    alike(&format!("ssl=1&ssl-cert={cert}&ssl-key=/no/such/file"), Refused);
    chmod("0644", &PathBuf::from(&key));
    stricter(&format!("ssl=1&ssl-cert={cert}&ssl-key={key}"), Refused, Encrypted);
    stage.server.run("ALTER USER visitor@'%' REQUIRE NONE");
    stage.give(&make("names another host"));
    file(&format!("ssl-ca={}\nssl-verify-server-cert", stage.file("root.crt")));
    alike("", Refused);
    // The URL overrides the file.
    assert_eq!(stage.etalon("ssl-mode=verify_ca"), Encrypted);
    assert_eq!(stage.etalon("ssl-mode=disabled"), Plain);
    file("");
    let modes = |query: &str, expected: [TlsOutcome; 5]| {
        let modes = ["disabled", "preferred", "required", "verify_ca", "verify_identity"];
        for (mode, expected) in modes.into_iter().zip(expected) {
            assert_eq!(stage.etalon(&format!("ssl-mode={mode}{query}")), expected, "{mode}{query}");
        }
    };
    modes("", [Plain, Encrypted, Encrypted, Refused, Refused]);
    modes(&format!("&{root}"), [Plain, Encrypted, Encrypted, Encrypted, Refused]);
    stage.give(&make("another authority"));
    modes(&format!("&{root}"), [Plain, Refused, Refused, Refused, Refused]);
    let list = format!("ssl-crl={}", stage.file("root.crl"));
    assert_eq!(stage.etalon(&format!("ssl=1&{list}")), Refused, "a list without an authority");
    assert_eq!(stage.etalon(&format!("ssl-mode=disabled&ssl-verify-server-cert=1&{root}")), Refused);
    stage.server.drop_all().unwrap();
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".my.cnf"), "").unwrap();
    let server = start(Connect::Tcp, &[]);
    server.run("CREATE USER visitor@'%'");
    let stage = Stage { server, folder };
    assert_eq!(stage.both("ssl=0"), (TlsOutcome::Plain, TlsOutcome::Plain));
    assert_eq!(stage.both(""), (TlsOutcome::Plain, TlsOutcome::Plain));
    assert_eq!(stage.etalon("ssl=1"), TlsOutcome::Refused);
    // MariaDB's client falls back to no TLS unless it verifies.
    assert_eq!(stage.both("ssl=1&ssl-verify-server-cert=1"), (TlsOutcome::Refused, TlsOutcome::Refused));
    let url =
        |mode: &str| Address::parse_url(&format!("mysql://u@h/?ssl-ca=/x&ssl-mode={mode}"), &|_| None).unwrap().tls;
    let arguments = |mode: &str, program: &str| url(mode).program_arguments(Path::new(program));
    assert_eq!(arguments("required", "/bin/mariadb-dump").unwrap_err().kind, FailureKind::Unsupported);
    assert_eq!(arguments("verify_ca", "mariadb").unwrap_err().kind, FailureKind::Unsupported);
    let verified = ["--ssl", "--ssl-verify-server-cert", "--ssl-ca=/x"];
    assert_eq!(arguments("verify_identity", "mariadb-dump").unwrap(), verified);
    assert_eq!(arguments("verify_ca", "/nowhere/mysqldump").unwrap(), ["--ssl-mode=VERIFY_CA", "--ssl-ca=/x"]);
    stage.server.drop_all().unwrap();
}
