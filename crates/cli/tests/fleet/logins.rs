//! Ordinary logins of servers that let them reach further than their database.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::hostile::{Conductor, SECRET, agent, at};
use crate::nats::Nats;
use crate::scene::Scene;
use crate::server::{ROLE, Server as Postgres};

const PATIENCE: Duration = Duration::from_secs(60);

/// MariaDB in a folder of its own.
struct MariaDb {
    folder: tempfile::TempDir,
    port: u16,
    process: Child,
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn folder_of(user: &str) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("etalon-login-").tempdir().unwrap();
    if host::process::is_root() {
        host::process::chown(folder.path(), &host::process::user_by_name(user).unwrap()).unwrap();
    }
    folder
}

fn started(folder: tempfile::TempDir, port: u16, mut command: Command) -> MariaDb {
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    let server = MariaDb { folder, port, process: command.spawn().unwrap() };
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < PATIENCE, "a server does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[track_caller]
fn done(mut command: Command) {
    let output = command.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn mariadbd() -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/libexec"].map(PathBuf::from);
    folders.into_iter().map(|folder| folder.join("mariadbd")).find(|path| path.exists()).unwrap()
}

/// Starts MariaDB with an account that has two databases and nothing else.
fn mariadb(options: &[&str]) -> MariaDb {
    let folder = folder_of("mysql");
    let data = format!("--datadir={}", folder.path().join("data").display());
    let user: &[&str] = if host::process::is_root() { &["--user=mysql"] } else { &[] };
    let mut install = Command::new("mariadb-install-db");
    install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    install.args(user).arg(&data).env("TMPDIR", folder.path());
    done(install);
    let (port, socket) = (free_port(), folder.path().join("socket"));
    let mut command = Command::new(mariadbd());
    command.arg("--no-defaults").args(user).arg(&data).arg(format!("--socket={}", socket.display()));
    command
        .args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--port", &port.to_string()])
        .args(options)
        .env("TMPDIR", folder.path());
    let server = started(folder, port, command);
    mariadb_sql(
        &server,
        &format!(
            "CREATE DATABASE shop; CREATE USER {ACCOUNT} IDENTIFIED BY '{SECRET}'; GRANT ALL ON shop.* TO {ACCOUNT}; \
         GRANT ALL ON etalon.* TO {ACCOUNT}"
        ),
    );
    server
}

const ACCOUNT: &str = "e@'127.0.0.1'";

fn mariadb_sql(server: &MariaDb, sql: &str) {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-u", "root", "--socket"]).arg(server.folder.path().join("socket"));
    client.args(["-e", sql]);
    done(client);
}

fn psql(server: &Postgres, database: &str, sql: &str) {
    let mut client = Command::new("psql");
    client.args(["-X", "-q", "-h"]).arg(server.folder()).args(["-U", ROLE, "-d", database, "-c", sql]);
    done(client);
}

#[test]
fn a_mariadb_that_reaches_beyond_its_data_folder_is_refused() {
    let nats = Nats::open();
    for (options, refusal) in [
        (&[][..], Some("`DATA DIRECTORY`")),
        (&["--skip-symbolic-links", "--plugin-load-add=ha_federatedx"], Some("connect to others")),
        (&["--skip-symbolic-links"], None),
    ] {
        let scene = Scene::new();
        let server = mariadb(options);
        let address = format!("127.0.0.1:{}", server.port);
        let _agent = agent(&scene, &nats, &["--allow", &address]);
        let mut conductor = Conductor::new(&nats);
        let system = at("mariadb", &format!("mariadb://e@{address}/?ssl-mode=disabled"));
        if let Some(refusal) = refusal {
            let refused = conductor.refused(&system);
            assert!(refused.cause.contains(refusal), "{refused}");
        } else {
            mariadb_sql(&server, &format!("GRANT CREATE USER ON *.* TO {ACCOUNT}"));
            let refused = conductor.refused(&system);
            assert!(refused.cause.contains("rename accounts"), "{refused}");
            mariadb_sql(&server, &format!("REVOKE CREATE USER ON *.* FROM {ACCOUNT}"));
            conductor.open(&system).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[test]
fn a_postgres_that_connects_elsewhere_is_refused() {
    let nats = Nats::open();
    let scene = Scene::new();
    let server = Postgres::start(&[]);
    for sql in ["CREATE ROLE e LOGIN", "CREATE DATABASE shop", "GRANT CREATE ON DATABASE shop TO e"] {
        psql(&server, "postgres", sql);
    }
    let folder = server.folder().display();
    let address = format!("{folder}/.s.PGSQL.5432");
    let _agent = agent(&scene, &nats, &["--allow", &address]);
    let mut conductor = Conductor::new(&nats);
    let system = at("postgres", &format!("postgres:///shop?host={folder}&user=e"));
    for (sql, word) in [
        ("CREATE EXTENSION dblink", "dblink"),
        (
            "DROP EXTENSION dblink; CREATE EXTENSION postgres_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO e",
            "foreign",
        ),
        (
            "DROP EXTENSION postgres_fdw CASCADE; CREATE ROLE adm SUPERUSER; CREATE ROLE mid; GRANT adm TO mid; GRANT mid TO e",
            "superuser's role",
        ),
        ("REVOKE mid FROM e; CREATE ROLE cr CREATEROLE; GRANT cr TO e", "may make roles"),
        ("REVOKE cr FROM e; GRANT EXECUTE ON FUNCTION lo_import(text) TO e", "files by a function"),
        (
            "REVOKE EXECUTE ON FUNCTION lo_import(text) FROM e; GRANT ALTER SYSTEM ON PARAMETER archive_command TO e",
            "parameters that are not every role's",
        ),
        (
            "REVOKE ALTER SYSTEM ON PARAMETER archive_command FROM e; GRANT SET ON PARAMETER session_preload_libraries TO e",
            "parameters that are not every role's",
        ),
    ] {
        psql(&server, "shop", sql);
        let refused = conductor.refused(&system);
        assert!(refused.cause.contains(word), "{refused}");
    }
    psql(&server, "shop", "REVOKE SET ON PARAMETER session_preload_libraries FROM e");
    conductor.open(&system).unwrap_or_else(|failure| panic!("{failure}"));
    // A library is loaded before the login is asked.
    let preloading = format!("postgres:///shop?host={folder}&user=e&options=-csession_preload_libraries%3D/none.so");
    let refused = conductor.refused(&at("postgres", &preloading));
    assert!(refused.tried.contains("`options`"), "{refused}");
}
