use crate::reader::Reader;
use crate::{Result, Security, WireError};

use super::auth::{Authenticator, Verdict};
use super::config::{Config, Encryption};
use super::session::Session;
use super::{ErrorFields, TransactionStatus, frontend};

/// The caller's next step. First of all it sends what was appended to `out`.
#[derive(Debug)]
pub enum Progress {
    Receive,
    /// Do the TLS handshake, then call [`Handshake::tls_started`].
    StartTls,
    Ready(Box<Session>),
}

enum State {
    New,
    /// The answer to `SSLRequest` is to come: one byte.
    EncryptionAnswer,
    Tls,
    Authenticating,
    /// The server let us in and reports its parameters.
    Starting,
    Over,
}

/// The client's side of connection set-up. Call [`start`](Self::start), send, and feed received bytes to
/// [`receive`](Self::receive) until [`Progress::Ready`].
pub struct Handshake {
    config: Config,
    state: State,
    authenticator: Authenticator,
    buffer: Vec<u8>,
    received_bytes: u64,
    session: Session,
}

impl Handshake {
    pub fn new(config: Config) -> Self {
        let session = Session::empty(config.limits);
        let authenticator = Authenticator::new(config.channel_binding);
        Self { config, state: State::New, authenticator, buffer: Vec::new(), received_bytes: 0, session }
    }

    /// Begins the handshake: asks for encryption, or logs in.
    pub fn start(&mut self, out: &mut Vec<u8>) -> Result<Progress> {
        if !matches!(self.state, State::New) {
            return Err(WireError::Misuse("the handshake was started before"));
        }
        match self.config.encryption {
            Encryption::Off => self.send_startup(out)?,
            Encryption::Prefer | Encryption::Require => {
                frontend::ssl_request(out);
                self.state = State::EncryptionAnswer;
            }
            Encryption::Direct => {
                self.state = State::Tls;
                return Ok(Progress::StartTls);
            }
        }
        Ok(Progress::Receive)
    }

    /// Continues after the TLS handshake. `end_point` is the channel binding from
    /// [`tls_server_end_point`](super::tls_server_end_point); without it SCRAM is not tied to the channel.
    pub fn tls_started(&mut self, end_point: Option<Vec<u8>>, out: &mut Vec<u8>) -> Result<Progress> {
        if !matches!(self.state, State::Tls) {
            return Err(WireError::Misuse("no TLS handshake was asked for"));
        }
        self.session.security = Security::Tls;
        self.authenticator.set_end_point(end_point);
        self.send_startup(out)?;
        Ok(Progress::Receive)
    }

    /// Takes received (decrypted) bytes and appends what to send.
    ///
    /// # Errors
    ///
    /// Any [`WireError`]; close the connection then. If the server closes it without a word, [`Handshake::closed`]
    /// says why.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        let progress = self.advance(bytes, out);
        if progress.is_err() {
            self.state = State::Over;
        }
        progress
    }

    /// The error that a closed connection means at this point.
    pub fn closed_error(&self) -> WireError {
        WireError::Protocol(match self.state {
            State::EncryptionAnswer => "it closed the connection instead of answering whether it has TLS",
            State::Authenticating => "it closed the connection during authentication",
            _ => "it closed the connection during the handshake",
        })
    }

    /// Sends the startup message.
    fn send_startup(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let config = &self.config;
        let database = config.database.as_deref().map(|name| ("database", name));
        let further = config.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fixed = [("user", config.user.as_str()), ("client_encoding", config.encoding)];
        frontend::write_startup(fixed.into_iter().chain(database).chain(further), out)?;
        self.state = State::Authenticating;
        Ok(())
    }

    /// Takes messages until something else must happen first.
    fn advance(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        let mut bytes = bytes;
        match self.state {
            State::New | State::Tls | State::Over => {
                return Err(WireError::Misuse("the handshake does not wait for bytes now"));
            }
            State::EncryptionAnswer => {
                let Some((&answer, rest)) = bytes.split_first() else {
                    return Ok(Progress::Receive);
                };
                return self.take_encryption_answer(answer, rest, out);
            }
            State::Authenticating | State::Starting => {}
        }
        // Message by message, so that the limit applies to the handshake only.
        while let Some(length) = self.fill_message(&mut bytes)? {
            let message = std::mem::take(&mut self.buffer);
            let ready = self.take_message(message[0], &message[5..length], out)?;
            self.buffer = message;
            self.buffer.clear();
            if ready {
                self.state = State::Over;
                let mut session = std::mem::replace(&mut self.session, Session::empty(self.config.limits));
                session.leftover = bytes.to_vec();
                return Ok(Progress::Ready(Box::new(session)));
            }
        }
        Ok(Progress::Receive)
    }

    /// Moves one message into the buffer; its length once complete.
    fn fill_message(&mut self, bytes: &mut &[u8]) -> Result<Option<usize>> {
        self.fill_to(bytes, 5)?;
        let Some((header, _)) = self.buffer.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [_, length @ ..] = *header;
        let length = u32::from_be_bytes(length);
        let limit = self.config.limits.handshake_message_bytes;
        if length < 4 {
            return Err(WireError::Protocol("a message is shorter than its own length field"));
        }
        if length > limit {
            return Err(too_large("a message of the handshake", length.into(), limit));
        }
        let total = length as usize + 1;
        self.fill_to(bytes, total)?;
        Ok((self.buffer.len() == total).then_some(total))
    }

    /// Moves bytes into the buffer until it has `target`.
    fn fill_to(&mut self, bytes: &mut &[u8], target: usize) -> Result<()> {
        let wanted = target.saturating_sub(self.buffer.len());
        let (now, rest) = bytes.split_at(bytes.len().min(wanted));
        self.received_bytes += now.len() as u64;
        let limit = self.config.limits.handshake_total_bytes;
        if self.received_bytes > u64::from(limit) {
            return Err(too_large("a handshake", self.received_bytes, limit));
        }
        self.buffer.extend_from_slice(now);
        *bytes = rest;
        Ok(())
    }

    /// Takes the server's answer to the request for encryption.
    fn take_encryption_answer(&mut self, answer: u8, rest: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        if !rest.is_empty() {
            // It was not encrypted, yet would be taken as if it were (CVE-2021-23222).
            return Err(WireError::Protocol("bytes follow the answer to SSLRequest"));
        }
        match (answer, self.config.encryption) {
            (b'S', _) => {
                self.state = State::Tls;
                Ok(Progress::StartTls)
            }
            (b'N', Encryption::Prefer) => {
                self.send_startup(out)?;
                Ok(Progress::Receive)
            }
            // `E` begins an error of a server too old or too busy; its text is not trusted (CVE-2024-10977).
            (b'N' | b'E', _) => Err(WireError::TlsRefused),
            (tag, _) => Err(WireError::Unexpected { tag, state: "waiting for the answer to SSLRequest" }),
        }
    }

    /// Takes a message of the login; `true` once the session is ready.
    fn take_message(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match (tag, &self.state) {
            (b'R', State::Authenticating) => {
                match self.authenticator.answer(&self.config, self.session.security, body, out)? {
                    Verdict::Pending => {}
                    Verdict::Accepted(method) => {
                        self.session.authentication = method;
                        self.state = State::Starting;
                    }
                }
            }
            (b'E', _) => return Err(WireError::RefusedByPostgres(ErrorFields::parse(body)?)),
            // We ask for 3.0 without extensions, so the answer can take nothing away.
            (b'v', State::Authenticating) => {}
            // Notices, and parameters of the session.
            (b'N', _) | (b'S', State::Starting) => {}
            (b'K', State::Starting) => {
                let mut reader = Reader::new(body);
                self.session.process_id = reader.take_u32_be()?;
                // A key follows, by which its owner can cancel commands.
            }
            (b'Z', State::Starting) => {
                TransactionStatus::parse(body)?;
                return Ok(true);
            }
            _ => {
                return Err(WireError::Unexpected { tag, state: "setting up the connection" });
            }
        }
        Ok(false)
    }
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Some of the exchange is secret.
        f.debug_struct("Handshake").field("user", &self.config.user).finish_non_exhaustive()
    }
}

/// The error of a message beyond the limit.
fn too_large(what: &'static str, length_bytes: u64, limit: u32) -> WireError {
    WireError::TooLarge { what, length_bytes, limit_bytes: limit.into() }
}
