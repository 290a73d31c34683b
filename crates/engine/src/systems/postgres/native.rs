//! Connections of the load: address, settings, `sslmode` and error messages as with the stock driver.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use host::reactor::{Socket, Vigilance};
use postgres::config::{self, SslMode};
use wire::postgres::{ChannelBinding, Config, Encryption, ErrorFields};
use wire::{Secret, WireError};

use super::connect::{Endpoint, LOGIN_GRACE, Refusal, STARTING_PATIENCE, STARTING_POLL};
use super::session::Session;
use super::tls::Negotiation;
use crate::error::{Failure, FailureKind};
use crate::systems::postgres::lane::{LoginError, Opened, Question, fields_said, log_in};

impl Session {
    /// With this session's settings and prepared `statements`.
    pub(super) fn open_native(&self, endpoint: &Endpoint, statements: &[String]) -> Result<Opened, Failure> {
        let mut opened = endpoint.connect_native(&self.options)?;
        let ask = |opened: &mut Opened, tried: &str, question: &Question<'_>| {
            opened.ask(question).map_err(|error| asked(tried, &error))
        };
        if !self.sql.is_empty() {
            ask(&mut opened, "give a session its settings", &Question::Execute(&self.sql))?;
        }
        if !statements.is_empty() {
            ask(&mut opened, "prepare the script's statements", &Question::Prepare(statements))?;
        }
        // The load's statements have no time limit.
        opened.set_timeout(None).map_err(|error| asked("lift a connection's time limit", &error.into()))?;
        Ok(opened)
    }
}

impl Endpoint {
    pub(super) fn connect_native(&self, options: &str) -> Result<Opened, Failure> {
        let started = Instant::now();
        loop {
            match self.try_native_modes(options) {
                Ok(opened) => return Ok(opened),
                Err(Refusal::Starting(_)) if started.elapsed() < STARTING_PATIENCE => thread::sleep(STARTING_POLL),
                Err(refusal) => return Err(self.explain(refusal)),
            }
        }
    }

    fn try_native_modes(&self, options: &str) -> Result<Opened, Refusal> {
        let mut first = None;
        for mode in self.address.tls.mode.attempts() {
            match self.try_native(*mode, options) {
                Ok(opened) => return Ok(opened),
                Err(refusal) if refusal.is_about_encryption() => first = first.or(Some(refusal)),
                Err(refusal) => return Err(first.unwrap_or(refusal)),
            }
        }
        // There is at least one mode.
        Err(first.unwrap_or(Refusal::Silent(Duration::ZERO)))
    }

    fn try_native(&self, mode: SslMode, options: &str) -> Result<Opened, Refusal> {
        let timeout = self.address.config.get_connect_timeout().copied().unwrap_or_default();
        let patience = timeout + LOGIN_GRACE;
        let socket = self.dial(timeout.max(Duration::from_secs(1))).map_err(|cause| refusal_of_io(&cause, patience))?;
        let opened = log_in(socket, self.login(mode, options), self.tls.as_ref(), patience);
        opened.map_err(|error| refusal(error, patience))
    }

    fn dial(&self, timeout: Duration) -> io::Result<Socket> {
        let address = &self.address;
        if address.is_socket() {
            let name = format!(".s.PGSQL.{}", address.port);
            return Socket::connect_unix(&Path::new(&address.host).join(name), timeout);
        }
        let config = &address.config;
        let vigilance = Vigilance {
            user_timeout: config.get_tcp_user_timeout().copied(),
            keepalive_idle: config.get_keepalives().then(|| config.get_keepalives_idle()),
            keepalive_interval: config.get_keepalives_interval(),
            keepalive_retries: config.get_keepalives_retries(),
        };
        match config.get_hostaddrs().first() {
            Some(numeric) => Socket::connect_tcp(&numeric.to_string(), address.port, timeout, vigilance),
            None => Socket::connect_tcp(&address.host, address.port, timeout, vigilance),
        }
    }

    fn login(&self, mode: SslMode, options: &str) -> Config {
        let address = &self.address;
        let mut login = Config::new(&*address.user);
        login.database = Some(address.database.clone());
        login.password = address.config.get_password().map(Secret::new);
        login.scram = self.scram.clone();
        login.encryption = match mode {
            _ if self.tls.is_none() => Encryption::Off,
            SslMode::Disable => Encryption::Off,
            SslMode::Prefer => Encryption::Prefer,
            _ if address.tls.negotiation == Negotiation::Direct => Encryption::Direct,
            _ => Encryption::Require,
        };
        login.channel_binding = match address.config.get_channel_binding() {
            config::ChannelBinding::Disable => ChannelBinding::Disable,
            config::ChannelBinding::Require => ChannelBinding::Require,
            _ => ChannelBinding::Prefer,
        };
        if let Some(name) = address.config.get_application_name() {
            login.parameters.push(("application_name".to_owned(), name.to_owned()));
        }
        login.parameters.extend(self.startup.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let all: Vec<&str> =
            address.config.get_options().into_iter().chain([options]).filter(|o| !o.is_empty()).collect();
        if !all.is_empty() {
            login.parameters.push(("options".to_owned(), all.join(" ")));
        }
        login
    }
}

fn refusal_of_io(cause: &io::Error, patience: Duration) -> Refusal {
    match cause.kind() {
        // A blocking read's time-out.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refusal::Silent(patience),
        kind => Refusal::Io(kind, cause.to_string()),
    }
}

fn refusal(error: LoginError, patience: Duration) -> Refusal {
    match error {
        LoginError::Io(cause) => refusal_of_io(&cause, patience),
        LoginError::Tls(error) => Refusal::Tls(error.to_string()),
        LoginError::Server(error) | LoginError::Wire(WireError::RefusedByPostgres(error)) => refusal_of_server(&error),
        LoginError::Wire(WireError::PasswordMissing) => Refusal::NoPassword,
        LoginError::Wire(WireError::TlsRefused) => Refusal::Tls("server does not support TLS".to_owned()),
        LoginError::Wire(error) => Refusal::Other(error.to_string()),
    }
}

fn refusal_of_server(error: &ErrorFields) -> Refusal {
    match error.code.as_str() {
        "57P03" => Refusal::Starting(fields_said(error)),
        code => Refusal::Server(code.to_owned(), fields_said(error)),
    }
}

/// Over an open connection.
pub(super) fn asked(tried: &str, error: &LoginError) -> Failure {
    let kind = match error {
        LoginError::Io(_) | LoginError::Wire(_) | LoginError::Tls(_) => FailureKind::ConnectionLost,
        LoginError::Server(error) if error.ends_connection() => FailureKind::ConnectionLost,
        LoginError::Server(error) if error.code.as_str() == "42501" => FailureKind::Permission,
        LoginError::Server(_) => FailureKind::Other,
    };
    Failure::new(kind, tried, error)
}
