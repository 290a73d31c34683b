//! One private PostgreSQL for all tests of this binary.

use std::fs;
use std::sync::OnceLock;

use rustls::pki_types::CertificateDer;
use wire::postgres::{Config, Encryption, frontend};

use super::pg_client::Client;
use super::private::{Private, User, free_port, programs};
use super::transport::{SelfSigned, Transport};

pub struct PgServer {
    _private: Private,
    pub port: u16,
    pub certificate: CertificateDer<'static>,
}

/// Roles are named for the way they log in.
const HBA: &str = "
host    all postgres 127.0.0.1/32 trust
host    all trusted  127.0.0.1/32 trust
host    all limited  127.0.0.1/32 password
host    all clear    127.0.0.1/32 password
host    all hashed   127.0.0.1/32 md5
host    all scram    127.0.0.1/32 scram-sha-256
hostssl all tlsonly  127.0.0.1/32 scram-sha-256
host    all shut     127.0.0.1/32 reject
host    all gss      127.0.0.1/32 ident
";

const ROLES: &str = "
CREATE ROLE trusted LOGIN SUPERUSER;
SET password_encryption = 'md5';
CREATE ROLE hashed LOGIN PASSWORD 'secret';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear LOGIN PASSWORD 'secret';
CREATE ROLE scram LOGIN PASSWORD 'sécret';
CREATE ROLE limited LOGIN PASSWORD 'secret' CONNECTION LIMIT 0;
CREATE ROLE tlsonly LOGIN PASSWORD 'secret';
CREATE ROLE shut LOGIN;
CREATE TABLE accounts (aid int PRIMARY KEY, abalance int NOT NULL, filler char(84));
INSERT INTO accounts SELECT n, n % 7, '' FROM generate_series(1, 1000) n;
";

const BIN_FOLDERS: &[&str] = &[
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/18/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/14/bin",
];

pub fn server() -> &'static PgServer {
    static SERVER: OnceLock<PgServer> = OnceLock::new();
    SERVER.get_or_init(PgServer::start)
}

impl PgServer {
    fn start() -> Self {
        let bin = programs(BIN_FOLDERS, &["initdb", "postgres"], "PostgreSQL");
        let program = |name: &str| bin.join(name).display().to_string();
        let user = User::new("postgres");
        let folder = user.folder("wire-pg-");
        let data = folder.join("data").display().to_string();
        user.run(&[
            &program("initdb"),
            "-D",
            &data,
            "-U",
            "postgres",
            "--no-sync",
            "--no-instructions",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=trust",
        ]);
        let signed = SelfSigned::new();
        for (name, content, mode) in [
            ("data/server.crt", signed.certificate_pem.as_str(), "644"),
            ("data/server.key", &signed.key_pem, "600"),
            ("data/pg_hba.conf", HBA, "600"),
        ] {
            fs::write(folder.join(name), content).unwrap();
            user.take_over(&folder.join(name), mode);
        }
        let port = free_port();
        let settings = format!(
            "-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c ssl=on -c fsync=off \
             -c max_connections=40 -c shared_buffers=32MB -c logging_collector=off",
            folder.display()
        );
        let postgres = program("postgres");
        let mut command = vec![postgres.as_str(), "-D", &data];
        command.extend(settings.split_whitespace());
        let private = Private::start(folder.clone(), "INT", &user.command(&command));
        let server = Self { _private: private, port, certificate: signed.certificate };
        server._private.wait_until(|| Client::connect(&server, Config::new("postgres")).is_ok());
        let mut admin = Client::connect(&server, Config::new("postgres")).unwrap();
        let mut out = Vec::new();
        frontend::write_query(ROLES, &mut out).unwrap();
        admin.run(&out).unwrap();
        server
    }

    pub fn open(&self) -> std::io::Result<Transport> {
        Transport::connect(self.port)
    }
}

pub fn trusted() -> Client {
    Client::connect(server(), Config { database: Some("postgres".into()), ..Config::new("trusted") }).unwrap()
}

pub fn config(user: &str, password: &str, encryption: Encryption) -> Config {
    Config { database: Some("postgres".into()), password: Some(password.into()), encryption, ..Config::new(user) }
}
