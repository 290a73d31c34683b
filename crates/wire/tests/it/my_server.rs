//! One private MariaDB for all tests of this binary.

use std::fs;
use std::sync::OnceLock;

use rustls::pki_types::CertificateDer;
use wire::mysql::{Config, Medium};

use super::my_client::Client;
use super::private::{Private, User, free_port, programs};
use super::transport::{SelfSigned, Transport};

pub struct MyServer {
    _private: Private,
    pub port: u16,
    pub certificate: CertificateDer<'static>,
}

/// Accounts are named for the way they log in.
const SET_UP: &[&str] = &[
    "CREATE DATABASE bench",
    "CREATE USER native IDENTIFIED VIA mysql_native_password USING PASSWORD('sécret')",
    "CREATE USER edward IDENTIFIED VIA ed25519 USING PASSWORD('secret')",
    "CREATE USER either IDENTIFIED VIA ed25519 USING PASSWORD('secret') OR mysql_native_password USING PASSWORD('other')",
    "CREATE USER empty IDENTIFIED BY ''",
    "CREATE USER tlsonly IDENTIFIED BY 'secret' REQUIRE SSL",
    "GRANT ALL ON *.* TO native, edward, either, empty, tlsonly",
    "CREATE TABLE bench.accounts (aid INT PRIMARY KEY, abalance INT NOT NULL, filler CHAR(84))",
    "INSERT INTO bench.accounts SELECT seq, seq % 7, 'x' FROM mysql.seq_1_to_1000",
];

const FOLDERS: &[&str] = &["/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

pub fn server() -> &'static MyServer {
    static SERVER: OnceLock<MyServer> = OnceLock::new();
    SERVER.get_or_init(MyServer::start)
}

impl MyServer {
    fn start() -> Self {
        let daemon = programs(FOLDERS, &["mariadbd"], "MariaDB").join("mariadbd").display().to_string();
        let install = programs(FOLDERS, &["mariadb-install-db"], "MariaDB").join("mariadb-install-db");
        let user = User::new("mysql");
        let folder = user.folder("wire-my-");
        let data = format!("--datadir={}", folder.join("data").display());
        fs::create_dir(folder.join("data")).unwrap();
        user.take_over(&folder.join("data"), "700");
        let install = install.display().to_string();
        // A server that starts removes what others have in a folder for temporary files that it shares with them.
        let temporary = format!("TMPDIR={}", folder.display());
        user.run(&[
            "env",
            &temporary,
            &install,
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            &data,
        ]);
        let signed = SelfSigned::new();
        for (name, content) in [("server.crt", &signed.certificate_pem), ("server.key", &signed.key_pem)] {
            fs::write(folder.join(name), content).unwrap();
            user.take_over(&folder.join(name), "600");
        }
        let port = free_port();
        let at = folder.display();
        let settings = format!(
            "--socket={at}/socket --pid-file={at}/pid --port={port} --bind-address=127.0.0.1 --ssl-cert={at}/server.crt \
             --ssl-key={at}/server.key --local-infile=1 --plugin-load-add=auth_ed25519 --innodb-buffer-pool-size=32M \
             --innodb-flush-log-at-trx-commit=0 --max-allowed-packet=64M --max-connections=60 \
             --character-set-server=utf8mb4"
        );
        let mut command = vec!["env", &temporary, daemon.as_str(), "--no-defaults", &data];
        command.extend(settings.split_whitespace());
        let private = Private::start(folder.clone(), "TERM", &user.command(&command));
        let server = Self { _private: private, port, certificate: signed.certificate };
        server._private.wait_until(|| Client::connect(&server, root()).is_ok());
        let mut admin = Client::connect(&server, root()).unwrap();
        for sql in SET_UP {
            admin.query(sql).unwrap();
        }
        server
    }

    pub fn open(&self) -> std::io::Result<Transport> {
        Transport::connect(self.port)
    }
}

pub fn root() -> Config {
    Config { medium: Medium::Local, ..Config::new("root") }
}

pub fn client() -> Client {
    client_with(Config { database: Some("bench".into()), ..root() })
}

pub fn client_with(config: Config) -> Client {
    Client::connect(server(), config).unwrap()
}
