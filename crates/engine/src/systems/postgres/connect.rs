use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use postgres::config::{SslMode, SslNegotiation};
use postgres::{Client, Config, NoTls};
use rustls::pki_types::ServerName;
use tokio_postgres_rustls::MakeRustlsConnect;
use wire::postgres::ScramCache;

use super::tls::Negotiation;
use super::url::{Address, PasswordSource};
use crate::error::{Failure, FailureKind};
use crate::lane::{ErrorClass, OpError};
use crate::systems::postgres::lane::{TlsClient, class_of_state, server_said};

/// For a server that is starting.
pub(super) const STARTING_PATIENCE: Duration = Duration::from_secs(20);
/// Polling interval.
pub(super) const STARTING_POLL: Duration = Duration::from_millis(100);
/// Beyond the connection's own time-out, for handshake and login.
pub(super) const LOGIN_GRACE: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) address: Address,
    encryption: Option<MakeRustlsConnect>,
    /// For the load's clients.
    pub(super) tls: Option<TlsClient>,
    /// Derived keys.
    pub(super) scram: ScramCache,
    /// Extra startup parameter of the load's clients.
    pub(super) startup: Option<(&'static str, &'static str)>,
}

impl Endpoint {
    pub(super) fn new(address: Address) -> Result<Endpoint, Failure> {
        let config = address.tls.client()?;
        let encryption = config.clone().map(MakeRustlsConnect::new);
        let tls = match config {
            Some(config) => {
                let name = ServerName::try_from(address.host.clone()).map_err(|error| {
                    Failure::new(FailureKind::Plan, format!("encrypt the connection to {}", address.shown()), error)
                })?;
                Some(TlsClient { config: Arc::new(config), name })
            }
            None => None,
        };
        Ok(Endpoint { address, encryption, tls, scram: ScramCache::default(), startup: None })
    }

    /// `options`: settings that only a new session can have, as `-c name=value`.
    pub(super) fn connect(&self, options: &str) -> Result<Client, Failure> {
        let started = Instant::now();
        loop {
            match self.try_modes(options) {
                Ok(client) => return Ok(client),
                Err(Refusal::Starting(_)) if started.elapsed() < STARTING_PATIENCE => thread::sleep(STARTING_POLL),
                Err(refusal) => return Err(self.explain(refusal)),
            }
        }
    }

    fn try_modes(&self, options: &str) -> Result<Client, Refusal> {
        let mut first = None;
        for mode in self.address.tls.mode.attempts() {
            match self.try_once(*mode, options) {
                Ok(client) => return Ok(client),
                Err(refusal) if refusal.is_about_encryption() => first = first.or(Some(refusal)),
                Err(refusal) => return Err(first.unwrap_or(refusal)),
            }
        }
        // There is at least one mode.
        Err(first.unwrap_or(Refusal::Silent(Duration::ZERO)))
    }

    /// In a thread, since the driver limits only the time to open the socket: a silent listener would block for ever.
    fn try_once(&self, mode: SslMode, options: &str) -> Result<Client, Refusal> {
        let mut config = self.address.config.clone();
        config.ssl_mode(mode);
        config.ssl_negotiation(match self.address.tls.negotiation {
            Negotiation::Asked => SslNegotiation::Postgres,
            Negotiation::Direct => SslNegotiation::Direct,
        });
        if !options.is_empty() {
            let own = config.get_options().map(|own| format!("{own} ")).unwrap_or_default();
            config.options(&format!("{own}{options}"));
        }
        let patience = config.get_connect_timeout().copied().unwrap_or_default() + LOGIN_GRACE;
        let encryption = self.encryption.clone();
        let (answer, heard) = mpsc::channel();
        let connect = move || {
            // After a timeout nobody listens, and the connection is closed.
            let _ = answer.send(open(&config, encryption));
        };
        thread::Builder::new().name("etalon-connect".to_owned()).spawn(connect).map_err(Refusal::Thread)?;
        match heard.recv_timeout(patience) {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(Refusal::of(error)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(Refusal::Silent(patience)),
        }
    }
}

fn open(config: &Config, encryption: Option<MakeRustlsConnect>) -> Result<Client, postgres::Error> {
    match encryption {
        Some(encryption) => config.connect(encryption),
        None => config.connect(NoTls),
    }
}

pub(super) enum Refusal {
    Io(io::ErrorKind, String),
    Tls(String),
    /// With SQLSTATE.
    Server(String, String),
    /// Or shutting down.
    Starting(String),
    /// Required, but not given.
    NoPassword,
    /// A listener without answer.
    Silent(Duration),
    Thread(io::Error),
    Other(String),
}

/// Made by the driver about unknown bytes, not by the operating system.
fn is_of_the_driver(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other)
}

impl Refusal {
    fn of(error: postgres::Error) -> Refusal {
        let text = said(&error);
        if let Some(db) = error.as_db_error() {
            return match db.code().code() {
                "57P03" => Refusal::Starting(text),
                code => Refusal::Server(code.to_owned(), text),
            };
        }
        // The driver's error kinds show only in words.
        let kind = error.to_string();
        if kind.contains("TLS") {
            return Refusal::Tls(error.source().map_or(kind, |source| source.to_string()));
        }
        if text.contains("password missing") {
            return Refusal::NoPassword;
        }
        match io_error(&error) {
            Some(io) if is_of_the_driver(io.kind()) => Refusal::Other(text),
            Some(io) => Refusal::Io(io.kind(), io.to_string()),
            None => Refusal::Other(text),
        }
    }

    /// Another `sslmode` might help.
    pub(super) fn is_about_encryption(&self) -> bool {
        match self {
            Refusal::Tls(_) => true,
            Refusal::Server(state, _) => state == "28000",
            _ => false,
        }
    }
}

impl Endpoint {
    pub(super) fn explain(&self, refusal: Refusal) -> Failure {
        let address = &self.address;
        let fail = |kind, cause: String| Failure::new(kind, format!("connect to {}", address.shown()), cause);
        match refusal {
            Refusal::Server(state, said) => self.explain_server(&state, &said),
            Refusal::NoPassword => {
                fail(FailureKind::Login, "the server asks for a password, and none was given".to_owned())
                    .hint(self.password_hint())
            }
            Refusal::Starting(said) => {
                let cause = format!("after {} s still: {said}", STARTING_PATIENCE.as_secs());
                fail(FailureKind::Unreachable, cause).hint("look into the server's log")
            }
            Refusal::Silent(patience) => {
                fail(FailureKind::Unreachable, format!("nothing answered within {} s", patience.as_secs())).hint(
                    format!("something listens there that may not be PostgreSQL, or hangs; {}", self.check_hint()),
                )
            }
            Refusal::Io(kind, said) => self.explain_io(kind, said),
            Refusal::Tls(said) => self.explain_tls(&said),
            Refusal::Thread(error) => fail(FailureKind::Other, format!("no thread could be started: {error}")),
            Refusal::Other(said) => fail(FailureKind::Other, said)
                .hint(format!("is it PostgreSQL that listens there? {}", self.check_hint())),
        }
    }

    fn explain_io(&self, kind: io::ErrorKind, said: String) -> Failure {
        let address = &self.address;
        let (kind, hint) = match kind {
            io::ErrorKind::PermissionDenied => {
                (FailureKind::Permission, format!("this user may not use the socket in {}", address.host))
            }
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                let hint = format!("it ended the connection before the login was done; {}", self.check_hint());
                (FailureKind::Unreachable, hint)
            }
            _ => {
                let start = "start the server (`systemctl start postgresql`, `pg_ctl -D FOLDER start`)";
                (FailureKind::Unreachable, format!("{start}, or correct the address: {}", self.check_hint()))
            }
        };
        Failure::new(kind, format!("connect to {}", address.shown()), said).hint(hint)
    }

    fn check_hint(&self) -> String {
        let Address { host, port, .. } = &self.address;
        format!("`pg_isready -h {host} -p {port}` asks the same")
    }

    fn explain_tls(&self, said: &str) -> Failure {
        let tried = format!("encrypt the connection to {}", self.address.shown());
        if said.contains("does not support TLS") {
            return Failure::new(FailureKind::Unsupported, tried, "the server offers no TLS")
                .hint("set `ssl = on` and a certificate on the server, or write `sslmode=prefer`");
        }
        Failure::new(FailureKind::Other, tried, said).hint(
            "name the authority that signed the server's certificate, or that certificate itself if nobody else has signed \
             it: `sslrootcert=/path/to/root.crt`; `sslmode=verify-ca` does not compare the host's name",
        )
    }

    fn explain_server(&self, state: &str, said: &str) -> Failure {
        let Address { host, port, user, database, .. } = &self.address;
        let (kind, hint) = match state {
            "28P01" => (FailureKind::Login, self.password_hint()),
            "28000" if said.contains("pg_hba.conf") => (FailureKind::Login, self.hba_hint(said)),
            "28000" if said.contains("does not exist") => {
                (FailureKind::Login, format!("`createuser -h {host} -p {port} {user}` makes the role"))
            }
            "28000" if said.contains("authentication failed") => {
                let hint = format!("run étalon as the operating system's user `{user}`, or go by TCP with a password");
                (FailureKind::Login, hint)
            }
            "28000" => (FailureKind::Login, format!("look at the role in psql: `\\du {user}`")),
            "3D000" => (FailureKind::Missing, format!("`createdb -h {host} -p {port} {database}` makes it")),
            // 15 names the role, later releases the WAL sender.
            "42501" if said.contains("replication") || said.contains("WAL sender") => {
                (FailureKind::Permission, format!("`ALTER ROLE {user} REPLICATION`: it takes that to copy a server"))
            }
            "42501" => (FailureKind::Permission, format!("`GRANT CONNECT ON DATABASE {database} TO {user}`")),
            "53300" => {
                (FailureKind::Other, "raise `max_connections` on the server, or ask for fewer clients".to_owned())
            }
            "22023" | "42704" | "55P02" => (FailureKind::Plan, "correct the settings or `options`".to_owned()),
            _ => (FailureKind::Other, "look into the server's log".to_owned()),
        };
        Failure::new(kind, format!("connect to {}", self.address.shown()), said).hint(hint)
    }

    fn password_hint(&self) -> String {
        let Address { host, port, user, database, password, .. } = &self.address;
        let host = if self.address.is_socket() { "localhost" } else { host };
        let refused = match password {
            PasswordSource::Url => "the password in the URL was refused; ".to_owned(),
            PasswordSource::Environment => "the password in PGPASSWORD was refused; ".to_owned(),
            PasswordSource::File(file) => format!("the password in {} was refused; ", file.display()),
            PasswordSource::Nowhere(Some(ignored)) => format!("{ignored}; "),
            PasswordSource::Nowhere(None) => String::new(),
        };
        format!(
            "{refused}set PGPASSWORD, or put the line `{host}:{port}:{database}:{user}:PASSWORD` into ~/.pgpass, which \
             nobody else may read (chmod 0600)"
        )
    }

    /// For this login.
    fn hba_hint(&self, said: &str) -> String {
        let Address { user, database, .. } = &self.address;
        let line = match said.split_once("host \"").and_then(|(_, rest)| rest.split_once('"')) {
            _ if self.address.is_socket() => format!("local  {database}  {user}  scram-sha-256"),
            Some((client, _)) => {
                let bits = if client.contains(':') { 128 } else { 32 };
                format!("host  {database}  {user}  {client}/{bits}  scram-sha-256")
            }
            None => format!("host  {database}  {user}  ADDRESS/32  scram-sha-256"),
        };
        format!("put this line into the server's pg_hba.conf and reload it (`SELECT pg_reload_conf()`): {line}")
    }
}

fn classify(error: &postgres::Error) -> OpError {
    let class = match error.as_db_error() {
        Some(db) => class_of_state(db.code().code()),
        None if error.is_closed() || io_error(error).is_some() => ErrorClass::ConnectionLost,
        None => ErrorClass::Statement,
    };
    OpError { class, message: said(error) }
}

/// Behind the driver's.
fn io_error(error: &postgres::Error) -> Option<&io::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

fn said(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => server_said(db.message(), db.detail(), db.code().code()),
        None => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(inner) = cause {
                text = format!("{text}: {inner}");
                cause = inner.source();
            }
            text
        }
    }
}

pub(super) fn failure(tried: impl Into<String>, error: &postgres::Error) -> Failure {
    let tried = tried.into();
    let op = classify(error);
    let state = error.code().map(|code| code.code()).unwrap_or_default();
    let kind = match (op.class, state) {
        (ErrorClass::ConnectionLost, _) => FailureKind::ConnectionLost,
        (ErrorClass::DiskFull, _) => FailureKind::DiskFull,
        (_, "42501") => FailureKind::Permission,
        // undefined_function, feature_not_supported
        (_, "42883" | "0A000") => FailureKind::Unsupported,
        _ => FailureKind::Other,
    };
    let failure = Failure::new(kind, tried, op.message);
    match (op.class, state) {
        (ErrorClass::LockTimeout, _) => failure.hint("another session holds a lock on étalon's tables; end it"),
        (ErrorClass::DiskFull, _) => failure.hint("free space on the server's device, or choose a smaller `scale`"),
        (_, "25006") => failure.hint("the server or the role is read-only; étalon needs one that it can write to"),
        _ => failure,
    }
}
