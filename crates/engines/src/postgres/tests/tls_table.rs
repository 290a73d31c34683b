//! TLS compared with libpq: the table of `docs/tls.md`, and the user's files and variables.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::server::tls::testing::{Made, TlsOutcome, chmod, make, make_client, walk};

struct Stage {
    server: PostgresSystem,
    folder: tempfile::TempDir,
    programs: PathBuf,
}

/// Asks whether `psql`'s own connection is encrypted.
const ENCRYPTED: &str = "SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()";

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        make("names `localhost`").write(folder.path(), private::server_user().unwrap().as_ref());
        make_client(folder.path(), "visitor");
        let file = |name: &str| folder.path().join(name).display().to_string();
        let files = [
            ("ssl", "on".to_owned()),
            ("ssl_cert_file", file("server.crt")),
            ("ssl_key_file", file("server.key")),
            ("ssl_ca_file", file("clients.crt")),
        ];
        let pairs: Vec<(&str, &str)> = files.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let server = start(Connect::Tcp, &pairs);
        let programs =
            Programs::find(PostgresServer::private_server(Connect::Tcp).bin_dir.as_deref(), None).unwrap().folder;
        let stage = Stage { server, folder, programs };
        stage.server.run("CREATE ROLE visitor LOGIN");
        stage.admit("host all visitor 127.0.0.1/32 trust");
        stage
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Waits until the server has reloaded.
    fn reload(&self) {
        let loaded = "SELECT pg_conf_load_time()";
        let before = self.server.text(loaded);
        self.server.run("SELECT pg_reload_conf()");
        let started = Instant::now();
        while self.server.text(loaded) == before {
            assert!(started.elapsed() < Duration::from_secs(60), "the server does not read its files again");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn admit(&self, line: &str) {
        // The first line is the test's own login.
        let text = format!("host all etalon 127.0.0.1/32 scram-sha-256\n{line}\n");
        fs::write(self.server.text("SHOW hba_file"), text).unwrap();
        self.reload();
    }

    fn give(&self, made: &Made) {
        made.write(self.folder.path(), private::server_user().unwrap().as_ref());
        self.reload();
    }

    fn url(&self, host: &str, query: &str) -> String {
        format!("postgres://visitor@{host}:{}/postgres?{query}", self.server.endpoint.address.port)
    }

    fn tls(&self, query: &str) -> Address {
        Address::parse_url(&self.url("localhost", query), &|_| None).unwrap()
    }

    fn psql(&self, url: &str, variables: &[(&str, &str)]) -> TlsOutcome {
        let own = self.programs.join("psql");
        let program = if own.is_file() { own } else { PathBuf::from("psql") };
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        let home = self.folder.path().join("home");
        command.env("HOME", home).envs(variables.iter().copied()).args(["-X", "-w", "-A", "-t", "-c", ENCRYPTED, url]);
        let output = command.stdin(Stdio::null()).output().expect("this test needs psql");
        match (output.status.success(), String::from_utf8_lossy(&output.stdout).trim()) {
            (true, "t") => TlsOutcome::Encrypted,
            (true, "f") => TlsOutcome::Plain,
            (true, other) => panic!("psql said {other}"),
            (false, _) => TlsOutcome::Refused,
        }
    }

    fn etalon(&self, url: &str, variables: &[(&str, &str)]) -> TlsOutcome {
        let home = self.file("home");
        let endpoint = match Address::parse_url(url, &|name: &str| {
            let all = [("HOME", home.as_str())];
            let found = variables.iter().chain(&all).find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
        .and_then(Endpoint::new)
        {
            Ok(endpoint) => endpoint,
            Err(_) => return TlsOutcome::Refused,
        };
        match endpoint.open_client("") {
            Err(_) => TlsOutcome::Refused,
            Ok(mut client) => {
                let encrypted = client.query_first_value(&ENCRYPTED.replace("ssl FROM", "ssl::text FROM")).unwrap();
                client.close_and_wait();
                if encrypted == "true" { TlsOutcome::Encrypted } else { TlsOutcome::Plain }
            }
        }
    }

    fn alike(&self, query: &str, variables: &[(&str, &str)], expected: TlsOutcome) {
        let found = self.both(&self.url("localhost", query), variables);
        assert_eq!(found, (expected, expected), "étalon and psql by {query} {variables:?}");
    }

    /// Étalon first.
    fn both(&self, url: &str, variables: &[(&str, &str)]) -> (TlsOutcome, TlsOutcome) {
        (self.etalon(url, variables), self.psql(url, variables))
    }
}

#[test]
fn certificates_are_taken_and_refused_as_by_libpq() {
    let stage = Stage::new();
    let (root, own) =
        (format!("sslrootcert={}", stage.file("root.crt")), format!("sslrootcert={}", stage.file("server.crt")));
    let lists = format!("{root}&sslcrl={}", stage.file("root.crl"));
    walk(
        "### By certificate, PostgreSQL",
        |made| stage.give(made),
        |way| {
            let (host, query) = match way {
                "`require`" => ("localhost", "sslmode=require".to_owned()),
                "`prefer` + root" => ("localhost", format!("sslmode=prefer&{root}")),
                "`require` + root" => ("localhost", format!("sslmode=require&{root}")),
                "`verify-ca` + root" => ("127.0.0.1", format!("sslmode=verify-ca&{root}")),
                "`verify-full` + root" => ("localhost", format!("sslmode=verify-full&{root}")),
                "by address" => ("127.0.0.1", format!("sslmode=verify-full&{root}")),
                "`verify-ca` + list" => ("localhost", format!("sslmode=verify-ca&{lists}")),
                "`verify-ca`, pinned" => ("localhost", format!("sslmode=verify-ca&{own}")),
                "`verify-full`, pinned" => ("localhost", format!("sslmode=verify-full&{own}")),
                other => panic!("docs/tls.md: no test connects by {other}"),
            };
            stage.both(&stage.url(host, &query), &[])
        },
    );
    stage.server.drop_all().unwrap();
}

#[test]
fn options_files_and_variables_are_those_of_libpq() {
    use TlsOutcome::{Encrypted, Plain, Refused};
    let stage = Stage::new();
    let home = stage.folder.path().join("home/.postgresql");
    fs::create_dir_all(&home).unwrap();
    let root = format!("sslrootcert={}", stage.file("root.crt"));
    // Where étalon is stricter, with psql's outcome.
    let stricter = |query: &str, psql: TlsOutcome| {
        let found = stage.both(&stage.url("localhost", query), &[]);
        assert_eq!(found, (Refused, psql), "étalon and psql by {query}");
    };
    stage.alike("", &[], Encrypted);
    stage.alike("sslmode=disable", &[], Plain);
    stage.alike("sslmode=allow", &[], Plain);
    stage.alike("sslmode=maybe", &[], Refused);
    stage.alike("ssl=true", &[], Encrypted);
    stage.alike("sslsni=0", &[], Encrypted);
    stage.alike("sslmode=verify-ca", &[], Refused);
    stage.alike("sslmode=verify-full", &[], Refused);
    stage.alike("sslmode=disable", &[("PGSSLMODE", "require")], Plain);
    stage.alike("", &[("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", &stage.file("root.crt"))], Encrypted);
    stage.alike(&format!("{root}&sslmode=require&ssl_max_protocol_version=TLSv1.2"), &[], Encrypted);
    stage.alike("ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2", &[], Refused);
    let full = format!("sslmode=verify-full&{root}");
    for (host, query, expected) in [
        ("localhost", "hostaddr=127.0.0.1", Encrypted),
        ("elsewhere.example", "hostaddr=127.0.0.1", Refused),
        ("", "hostaddr=127.0.0.1", Refused),
    ] {
        let url = stage.url(host, &format!("{full}&{query}"));
        assert_eq!(stage.both(&url, &[]), (expected, expected), "{url}");
    }
    let variables = stage.tls(&format!("{full}&channel_binding=require&sslsni=0")).environment_variables().unwrap();
    assert!(variables.contains(&("PGSSLMODE", "verify-full".to_owned())), "{variables:?}");
    assert!(variables.contains(&("PGSSLROOTCERT", stage.file("root.crt"))), "{variables:?}");
    assert!(variables.contains(&("PGCHANNELBINDING", "require".to_owned())), "{variables:?}");
    let secret = stage.tls(&format!("sslmode=require&sslcert={}&sslpassword=hunter2", stage.file("client.crt")));
    assert_eq!(secret.environment_variables().unwrap_err().kind, FailureKind::Unsupported);
    assert!(!format!("{:?}", secret.tls).contains("hunter2"));
    let url = stage.url("", &format!("sslmode=verify-ca&{root}&hostaddr=127.0.0.1"));
    assert_eq!(stage.both(&url, &[]), (Encrypted, Encrypted), "{url}");
    stricter("sslmode=require&sslrootcert=/no/such/file", Encrypted);
    stricter(&format!("sslmode=verify-ca&{root}&sslcrl=/no/such/file"), Encrypted);
    stricter("sslmode=require&sslcrl=/no/such/file", Encrypted);
    stricter("sslmode=require&sslcert=/no/such/file", Encrypted);
    // libpq 15 takes `system` for a file's name; from 16 on it refuses weak modes, too.
    for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
        let url = stage.url("localhost", &format!("sslmode={mode}&sslrootcert=system"));
        assert_eq!(stage.etalon(&url, &[]), Refused, "{url}");
    }
    stage.alike("sslmode=verify-ca&sslrootcert=system", &[], Refused);
    stage.alike("sslmode=verify-full&sslrootcert=system", &[], Refused);
    let (own, psql) = stage.both(&stage.url("localhost", "sslmode=require&sslnegotiation=direct"), &[]);
    assert_eq!(own, psql, "from 17 on both know it");
    stage.alike("sslmode=prefer&sslnegotiation=direct", &[], Refused);
    by_the_users_own_files(&stage, &home);
    by_the_clients_certificate(&stage, &home);
    stage.server.drop_all().unwrap();
}

fn by_the_users_own_files(stage: &Stage, home: &Path) {
    use TlsOutcome::{Encrypted, Plain, Refused};
    let modes = |expected: [TlsOutcome; 5]| {
        let modes = ["allow", "prefer", "require", "verify-ca", "verify-full"];
        modes.iter().zip(expected).for_each(|(mode, expected)| stage.alike(&format!("sslmode={mode}"), &[], expected));
    };
    fs::copy(stage.file("root.crt"), home.join("root.crt")).unwrap();
    modes([Plain, Encrypted, Encrypted, Encrypted, Encrypted]);
    stage.give(&make("another authority"));
    fs::copy(stage.file("root.crt"), home.join("root.crt")).unwrap();
    modes([Plain, Plain, Refused, Refused, Refused]);
    stage.give(&make("revoked"));
    fs::copy(stage.file("root.crt"), home.join("root.crt")).unwrap();
    modes([Plain, Encrypted, Encrypted, Encrypted, Encrypted]);
    fs::copy(stage.file("root.crl"), home.join("root.crl")).unwrap();
    modes([Plain, Plain, Refused, Refused, Refused]);
    fs::remove_file(home.join("root.crl")).unwrap();
    // A folder of lists with OpenSSL's names.
    let lists = stage.folder.path().join("lists");
    fs::create_dir(&lists).unwrap();
    fs::copy(stage.file("root.crl"), lists.join("list.pem")).unwrap();
    assert!(Command::new("openssl").arg("rehash").arg(&lists).status().unwrap().success());
    stage.alike(&format!("sslmode=verify-ca&sslcrldir={}", lists.display()), &[], Refused);
    stage.alike("sslmode=verify-ca", &[("PGSSLCRL", &stage.file("root.crl"))], Refused);
    fs::remove_file(home.join("root.crt")).unwrap();
}

/// The server requires a client's certificate.
fn by_the_clients_certificate(stage: &Stage, home: &Path) {
    use TlsOutcome::{Encrypted, Refused};
    stage.admit("hostssl all visitor 127.0.0.1/32 cert");
    let (cert, key) = (stage.file("client.crt"), stage.file("client.key"));
    let named = format!("sslcert={cert}&sslkey={key}");
    stage.alike("sslmode=require", &[], Refused);
    stage.alike(&named, &[], Encrypted);
    stage.alike("", &[("PGSSLCERT", &cert), ("PGSSLKEY", &key)], Encrypted);
    stage.alike(&format!("sslmode=require&sslcert={cert}"), &[], Refused);
    for (from, to) in [(&cert, "postgresql.crt"), (&key, "postgresql.key")] {
        fs::copy(from, home.join(to)).unwrap();
    }
    stage.alike("", &[], Encrypted);
    for (mode, expected) in [("0640", host::process::is_root()), ("0644", false), ("0400", true)] {
        chmod(mode, &home.join("postgresql.key"));
        stage.alike("sslmode=require", &[], if expected { Encrypted } else { Refused });
    }
    assert_eq!(stage.etalon(&stage.url("localhost", "sslmode=require&sslcertmode=disable"), &[]), Refused);
    let closed = stage.file("closed.key");
    let arguments = ["pkcs8", "-topk8", "-in", &key, "-passout", "pass:hunter2", "-out", &closed];
    assert!(Command::new("openssl").args(arguments).status().unwrap().success());
    chmod("0600", Path::new(&closed));
    let closed = format!("sslmode=require&sslcert={cert}&sslkey={closed}");
    stage.alike(&format!("{closed}&sslpassword=hunter2"), &[], Encrypted);
    stage.alike(&format!("{closed}&sslpassword=wrong"), &[], Refused);
    stage.alike(&closed, &[], Refused);
}

/// The process's environment selects the system's authorities, so another process connects.
#[test]
fn system_authorities_are_those_of_the_process() {
    const URL: &str = "ETALON_TEST_TLS_URL";
    if let Ok(url) = std::env::var(URL) {
        let endpoint = Address::parse_url(&url, &|_| None).and_then(Endpoint::new).unwrap();
        return endpoint.open_client("").unwrap().close_and_wait();
    }
    let stage = Stage::new();
    let connects = |host: &str, query: &str| {
        let module = module_path!().split_once("::").unwrap().1;
        let name = format!("{module}::system_authorities_are_those_of_the_process");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &name]).env(URL, stage.url(host, query)).env_remove("SSL_CERT_DIR");
        let output = command.env("SSL_CERT_FILE", stage.file("root.crt")).stdin(Stdio::null()).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("running 1 test"));
        output.status.success()
    };
    assert!(connects("localhost", "sslrootcert=system"));
    assert!(connects("localhost", "sslrootcert=system&sslmode=verify-full"));
    assert!(!connects("127.0.0.1", "sslrootcert=system"), "another name");
    stage.give(&make("another authority"));
    assert!(!connects("localhost", "sslrootcert=system"), "another authority");
    stage.server.drop_all().unwrap();
}
