//! The handshake: everything from a fresh connection to a session.

use crate::{Result, WireError};

use super::prelogin::EncryptionOption;
use super::scanner::Scan;
use super::{Config, Encryption, Medium, Scanner, ServerMessage, Session, Sink, login, prelogin};

/// The use of TLS, once both sides have agreed on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsScope {
    /// The login alone: after it both sides go on unencrypted.
    Login,
    Connection,
}

/// The caller's next step, after sending what was appended.
#[derive(Debug)]
pub enum Progress {
    Receive,
    /// Start TLS, its handshake wrapped in packets ([`wrap_tls`](super::wrap_tls), [`unwrap_tls`](super::unwrap_tls)),
    /// then call [`Handshake::tls_started`]. Nothing after that handshake is wrapped.
    StartTls(TlsScope),
    /// Ask another server, as this one says.
    Redirect {
        host: String,
        port: u16,
    },
    Ready(Box<Session>),
}

#[derive(Debug)]
enum State {
    Begin,
    Prelogin(Vec<u8>),
    Tls,
    Login,
    Over,
}

/// The handshake of one connection.
#[derive(Debug)]
pub struct Handshake {
    config: Config,
    state: State,
    scanner: Scanner,
    received_bytes: u64,
    refusal: Refusal,
}

/// The messages of the server during the login.
#[derive(Debug, Default)]
struct Refusal(Option<Box<ServerMessage>>);

impl Sink for Refusal {
    fn error(&mut self, error: ServerMessage) {
        // The first error gives the reason; later ones only say that the login failed.
        self.0.get_or_insert(Box::new(error));
    }
}

impl Handshake {
    pub fn new(config: Config) -> Self {
        let mut limits = config.limits;
        limits.message_bytes = limits.handshake_message_bytes;
        let scanner = Scanner::new(limits, 4096, [0; 5]);
        Self { config, state: State::Begin, scanner, received_bytes: 0, refusal: Refusal::default() }
    }

    /// Sends the first message: the client speaks first in this protocol.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        let stance = match self.config.encryption {
            Encryption::LoginOnly => EncryptionOption::Off,
            Encryption::Everything => EncryptionOption::On,
        };
        prelogin::write_prelogin(stance, out);
        self.state = State::Prelogin(Vec::new());
    }

    /// The meaning of a connection that is closed at this point.
    pub fn closed_meaning(&self) -> &'static str {
        match self.state {
            State::Begin | State::Prelogin(_) => "the server closed the connection before it had said anything",
            State::Tls => "the server closed the connection while TLS was agreed on",
            State::Login | State::Over => "the server closed the connection during the login",
        }
    }

    /// Takes received bytes and appends what to send.
    pub fn receive(&mut self, received: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        self.received_bytes += received.len() as u64;
        let limit_bytes = u64::from(self.config.limits.handshake_total_bytes);
        if self.received_bytes > limit_bytes {
            let length_bytes = self.received_bytes;
            return Err(WireError::TooLarge { what: "a handshake", length_bytes, limit_bytes });
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Prelogin(pending) => self.receive_prelogin(pending, received, out),
            State::Login => self.receive_login(received),
            State::Begin | State::Tls | State::Over => Err(WireError::Misuse("nothing is to be received now")),
        }
    }

    /// Appends the login, to be sent through TLS.
    pub fn tls_started(&mut self, out: &mut Vec<u8>) -> Result<Progress> {
        match self.state {
            State::Tls => self.log_in(out),
            _ => Err(WireError::Misuse("TLS was not asked for")),
        }
    }

    /// Appends the login, and waits for its answer.
    fn log_in(&mut self, out: &mut Vec<u8>) -> Result<Progress> {
        login::write_login(&self.config, out)?;
        self.state = State::Login;
        Ok(Progress::Receive)
    }

    /// Takes the server's answer about encryption, and starts TLS or logs in.
    fn receive_prelogin(&mut self, mut pending: Vec<u8>, received: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        pending.extend_from_slice(received);
        let Some((payload, length)) = super::unwrap_tls(&pending)? else {
            self.state = State::Prelogin(pending);
            return Ok(Progress::Receive);
        };
        if length != pending.len() {
            return Err(WireError::Protocol("it speaks before it was spoken to"));
        }
        let scope = match (self.config.encryption, prelogin::parse_prelogin(payload)?) {
            (_, EncryptionOption::On | EncryptionOption::Required) => TlsScope::Connection,
            (Encryption::LoginOnly, EncryptionOption::Off) => TlsScope::Login,
            (Encryption::Everything, EncryptionOption::Off | EncryptionOption::Unsupported) => {
                return Err(WireError::TlsRefused);
            }
            (Encryption::LoginOnly, EncryptionOption::Unsupported) => {
                return match self.config.medium {
                    Medium::Local => self.log_in(out),
                    Medium::Network => Err(WireError::InsecureTransport),
                };
            }
        };
        self.state = State::Tls;
        Ok(Progress::StartTls(scope))
    }

    /// Takes the server's answer to the login.
    fn receive_login(&mut self, received: &[u8]) -> Result<Progress> {
        let consumed = match self.scanner.scan(received, &mut self.refusal)? {
            Scan::NeedMore => {
                self.state = State::Login;
                return Ok(Progress::Receive);
            }
            Scan::Ready { consumed } => consumed,
        };
        let greeting = std::mem::take(&mut self.scanner.greeting);
        if let Some((host, port)) = greeting.routed {
            return Ok(Progress::Redirect { host, port });
        }
        let Some((tds_version, version)) = greeting.acknowledged else {
            return Err(match self.refusal.0.take() {
                Some(refusal) => WireError::RefusedBySqlServer(refusal),
                None if greeting.negotiates => WireError::UnsupportedAuthentication("integrated".to_owned()),
                None => WireError::Protocol("it neither lets the login in nor says why"),
            });
        };
        // The login holds, but not as requested.
        if let Some(refusal) = self.refusal.0.take() {
            return Err(WireError::RefusedBySqlServer(refusal));
        }
        Ok(Progress::Ready(Box::new(Session {
            version,
            tds_version,
            packet_bytes: self.scanner.packet_bytes(),
            number: self.scanner.session_number(),
            collation: self.scanner.collation(),
            limits: self.config.limits,
            leftover: received[consumed..].to_vec(),
        })))
    }
}
