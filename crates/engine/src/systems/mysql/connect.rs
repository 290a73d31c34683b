use std::io;
use std::sync::Arc;
use std::time::Duration;

use host::reactor::Socket;
use rustls::pki_types::ServerName;
use wire::Secret;
use wire::mysql::{Config, Encryption, ErrorPacket, Feature, Identity, Medium, PublicKey};

use super::tls::SslMode;
use super::url::{Address, PasswordSource, Place, ServerKey};
use crate::error::{Failure, FailureKind};
use crate::lane::ErrorClass;
use crate::systems::mysql::lane::{AskError, Client, log_in};
use crate::systems::server::dialogue::{ServerError as _, Tls};
use crate::systems::server::refusal::{self, Explain};
use crate::systems::server::{VIGILANCE, is_this_host};

/// Beyond the connection's own time-out, for handshake and login.
const LOGIN_GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Prepare, count and clean up.
    Control,
    /// The load: a message may hold several statements.
    Load,
}

pub(super) type Refusal = refusal::Refusal<ErrorPacket>;
/// Of a lane.
pub(super) type OpenError = refusal::OpenError<ErrorPacket>;

#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) address: Address,
    tls: Option<Tls>,
}

impl Endpoint {
    pub(super) fn new(address: Address) -> Result<Endpoint, Failure> {
        let Some(config) = address.tls.client()? else { return Ok(Endpoint { address, tls: None }) };
        let config = Arc::new(config);
        let host = match &address.place {
            Place::Socket(_) => "localhost".to_owned(),
            Place::Tcp { host, .. } => host.clone(),
        };
        let name = ServerName::try_from(host).map_err(|_| {
            Failure::new(FailureKind::Plan, format!("connect to {}", address.shown()), "the host's name is no DNS name")
        })?;
        Ok(Endpoint { address, tls: Some(Tls { config, name }) })
    }

    pub(super) fn connect(&self, purpose: Purpose) -> Result<Client, Failure> {
        self.try_connect(purpose).map_err(|refusal| self.explain(&refusal))
    }

    /// [`Endpoint::connect`] with an unformatted error.
    pub(super) fn try_connect(&self, purpose: Purpose) -> Result<Client, Refusal> {
        let encryption = match self.address.tls.mode {
            SslMode::Disabled => Encryption::Off,
            SslMode::Preferred => Encryption::Prefer,
            SslMode::Required | SslMode::VerifyCa | SslMode::VerifyIdentity => Encryption::Require,
        };
        match self.try_once(purpose, encryption) {
            // Like MySQL's clients: preferred TLS is optional.
            Err(Refusal::Tls(_)) if self.address.tls.can_do_without() => self.try_once(purpose, Encryption::Off),
            other => other,
        }
    }

    fn try_once(&self, purpose: Purpose, encryption: Encryption) -> Result<Client, Refusal> {
        let timeout = self.address.connect_timeout;
        let patience = timeout + LOGIN_GRACE;
        let socket = self.dial(timeout).map_err(|cause| Refusal::of_io(&cause, patience))?;
        let config = self.login(purpose, encryption);
        log_in(socket, config, self.tls.as_ref(), patience).map_err(|error| Refusal::of(error, patience))
    }

    fn dial(&self, timeout: Duration) -> io::Result<Socket> {
        match &self.address.place {
            Place::Socket(path) => Socket::connect_unix(path, timeout),
            Place::Tcp { host, port } => Socket::connect_tcp(host, *port, timeout, VIGILANCE),
        }
    }

    fn login(&self, purpose: Purpose, encryption: Encryption) -> Config {
        let address = &self.address;
        Config {
            database: address.database.clone(),
            password: address.password.as_deref().map(Secret::from),
            encryption,
            medium: if address.is_socket() { Medium::Local } else { Medium::Network },
            identity: match address.tls.mode {
                SslMode::VerifyCa | SslMode::VerifyIdentity => Identity::Proven,
                SslMode::Disabled | SslMode::Preferred | SslMode::Required => Identity::Unproven,
            },
            public_key: match address.server_key {
                ServerKey::Refuse => PublicKey::Refuse,
                ServerKey::Ask => PublicKey::Request,
            },
            attributes: vec![("program_name".to_owned(), "etalon".to_owned())],
            local_files: if purpose == Purpose::Control { Feature::Use } else { Feature::Avoid },
            multi_statements: if purpose == Purpose::Load { Feature::Use } else { Feature::Avoid },
            ..Config::new(address.user.clone())
        }
    }
}

impl Explain for Endpoint {
    type Error = ErrorPacket;

    fn explain(&self, refusal: &Refusal) -> Failure {
        if let Refusal::Server(error) = refusal {
            return self.explain_server(error);
        }
        let (cause, kind, hint) = self.explain_words(refusal);
        let tried = match refusal {
            Refusal::Tls(_) | Refusal::NoTls => "encrypt the connection to",
            _ => "connect to",
        };
        Failure::new(kind, format!("{tried} {}", self.address.shown()), cause).hint(hint)
    }

    fn explain_asked(&self, tried: &str, error: &AskError) -> Failure {
        failure(tried, error)
    }
}

impl Endpoint {
    /// Message, kind and hint.
    fn explain_words(&self, refusal: &Refusal) -> (String, FailureKind, String) {
        let check = self.check_hint();
        match refusal {
            Refusal::Server(error) => (error.said(), FailureKind::Other, check),
            Refusal::Silent(patience) => (
                format!("nothing answered within {} s", patience.as_secs()),
                FailureKind::Unreachable,
                format!("something listens there that may not be MySQL, or hangs; {check}"),
            ),
            Refusal::Io(kind, said) => {
                let (kind, hint) = match kind {
                    io::ErrorKind::PermissionDenied => {
                        (FailureKind::Permission, "this user may not use the server's socket".to_owned())
                    }
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                        let hint = format!("it ended the connection before the login was done; {check}");
                        (FailureKind::Unreachable, hint)
                    }
                    _ => {
                        let start = "start the server (`systemctl start mariadb`, `systemctl start mysql`)";
                        (FailureKind::Unreachable, format!("{start}, or correct the address: {check}"))
                    }
                };
                (said.clone(), kind, hint)
            }
            Refusal::NoTls => (
                "the server offers no TLS".to_owned(),
                FailureKind::Unsupported,
                "give the server a certificate (`ssl_cert`, `ssl_key`), or write `ssl-mode=preferred`".to_owned(),
            ),
            Refusal::Tls(said) => (
                said.clone(),
                FailureKind::Other,
                "name the authority that signed the server's certificate, or that certificate itself if nobody else has signed \
                 it: `ssl-ca=/path/to/ca.pem`; `ssl-mode=verify_ca` does not compare the host's name"
                    .to_owned(),
            ),
            Refusal::Insecure => (
                "the server asks for the password itself, and the connection is not encrypted".to_owned(),
                FailureKind::Login,
                "write `ssl-mode=required`; or, where nobody can sit in between, `get-server-public-key=1`".to_owned(),
            ),
            Refusal::Unproven => (
                "the server asks for the password itself (mysql_clear_password), and nobody has checked who it is".to_owned(),
                FailureKind::Login,
                "write `ssl-mode=verify_identity`, with `ssl-ca=/path/to/ca.pem` where the authority is one of your own"
                    .to_owned(),
            ),
            Refusal::Other(said) => {
                (said.clone(), FailureKind::Other, format!("is it MySQL or MariaDB that listens there? {check}"))
            }
        }
    }

    fn check_hint(&self) -> String {
        let user = &self.address.user;
        match &self.address.place {
            Place::Socket(path) => format!("`mysqladmin -u {user} -S {} ping` asks the same", path.display()),
            Place::Tcp { host, port } => format!("`mysqladmin -u {user} -h {host} -P {port} ping` asks the same"),
        }
    }

    fn explain_server(&self, error: &ErrorPacket) -> Failure {
        let Address { user, database, .. } = &self.address;
        let database = database.as_deref().unwrap_or_default();
        let (kind, hint) = match error.code {
            1045 | 1698 | 1862 => (FailureKind::Login, self.password_hint()),
            1130 => {
                let host = error.message.split('\'').nth(1).unwrap_or("HOST");
                (FailureKind::Login, format!("on the server: `CREATE USER '{user}'@'{host}' IDENTIFIED BY '…'`"))
            }
            1044 => {
                (FailureKind::Permission, format!("`GRANT ALL ON {database}.* TO …`, or leave it away from the URL"))
            }
            1049 => (
                FailureKind::Missing,
                format!("`CREATE DATABASE {database}` makes it; étalon needs none, and works in one of its own"),
            ),
            1040 | 1203 | 1226 => {
                (FailureKind::Other, "raise `max_connections` on the server, or ask for fewer clients".to_owned())
            }
            1129 => (FailureKind::Login, "`mysqladmin flush-hosts` on the server lets this host in again".to_owned()),
            3159 => (FailureKind::Login, "write `ssl-mode=required`".to_owned()),
            _ => (FailureKind::Other, "look into the server's error log".to_owned()),
        };
        Failure::new(kind, format!("connect to {}", self.address.shown()), error.said()).hint(hint)
    }

    fn password_hint(&self) -> String {
        let user = &self.address.user;
        let refused = match &self.address.password_source {
            PasswordSource::Url => "the password in the URL was refused; ".to_owned(),
            PasswordSource::Environment => "the password in MYSQL_PWD was refused; ".to_owned(),
            PasswordSource::File(file) => format!("the password in {} was refused; ", file.display()),
            PasswordSource::Nowhere(Some(ignored)) => format!("{ignored}; "),
            PasswordSource::Nowhere(None) => "no password was given; ".to_owned(),
        };
        let socket = if self.address.is_socket() {
            format!(
                "; an account that goes by `unix_socket` wants étalon to run as the operating system's user `{user}`"
            )
        } else {
            String::new()
        };
        format!(
            "{refused}set MYSQL_PWD, or put `password=…` under `[client]` into ~/.my.cnf, which nobody else may read (chmod \
             0600){socket}"
        )
    }

    /// By its address the server must be on this machine.
    pub(super) fn is_local(&self) -> bool {
        match &self.address.place {
            Place::Socket(_) => true,
            Place::Tcp { host, .. } => is_this_host(host),
        }
    }
}

pub(super) fn failure(tried: impl Into<String>, error: &AskError) -> Failure {
    let tried = tried.into();
    let AskError::Server(packet) = error else {
        return Failure::new(FailureKind::ConnectionLost, tried, error);
    };
    let class = packet.error_class();
    let kind = match (class, packet.code) {
        (ErrorClass::ConnectionLost, _) => FailureKind::ConnectionLost,
        (ErrorClass::DiskFull, _) => FailureKind::DiskFull,
        // No such function, stored or built in.
        (_, 1128 | 1305) => FailureKind::Unsupported,
        (_, 1044 | 1142 | 1143 | 1227 | 1290 | 1370 | 1792 | 1836) => FailureKind::Permission,
        _ => FailureKind::Other,
    };
    let failure = Failure::new(kind, tried, error);
    match (class, packet.code) {
        (ErrorClass::LockTimeout, _) => failure.hint("another session holds a lock on étalon's tables; end it"),
        (ErrorClass::DiskFull, _) => failure.hint("free space on the server's device, or choose a smaller `scale`"),
        (_, 1290 | 1792 | 1836) => failure.hint("the server is read-only; étalon needs one that it can write to"),
        (_, 1820) => failure.hint("the account's password has expired: set a new one with `ALTER USER`"),
        (_, 1295) => failure.hint("the server prepares no such statement; let the script's statements travel as text"),
        (_, 3750) => failure.hint("the server wants every table to have a key: `sql_require_primary_key = 0`"),
        _ => failure,
    }
}
