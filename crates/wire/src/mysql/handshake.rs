//! The connection phase: everything before the first command ("Connection Phase").

use crate::reader::Reader;
use crate::{Result, Security, WireError};

use super::auth::{self, Channel, FullProof, Plugin};
use super::config::{Config, Encryption, Feature, Identity, Medium};
use super::framer::{Framer, Treatment};
use super::greeting::Greeting;
use super::session::Session;
use super::{ErrorPacket, OkPacket, capability, packet};

#[derive(Debug)]
pub enum Progress {
    Receive,
    /// Do the TLS handshake, then call [`Handshake::tls_started`].
    StartTls,
    Ready(Box<Session>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Tls,
    Authenticating,
    AwaitingKey,
    Over,
}

/// No server needs more: a method of its own, then those of the account.
const MAX_SWITCHES: u32 = 8;
const UTF8MB4_GENERAL_CI: u8 = 45;
const MAX_PACKET_BYTES: u32 = 1 << 30;
const FULL_AUTHENTICATION: u8 = 4;
const FAST_AUTHENTICATION_DONE: u8 = 3;
const PUBLIC_KEY_REQUEST: u8 = 2;

/// The client's side of connection set-up. The server speaks first: feed received bytes to [`receive`](Self::receive)
/// until [`Progress::Ready`].
pub struct Handshake {
    config: Config,
    state: State,
    framer: Framer,
    received_bytes: u64,
    greeting: Option<Greeting>,
    capabilities: u64,
    plugin: Plugin,
    seed: Vec<u8>,
    switches: u32,
    security: Security,
    sequence: u8,
}

impl Handshake {
    pub fn new(config: Config) -> Self {
        let framer = Framer::new(config.limits.handshake_message_bytes, config.limits);
        Self {
            config,
            state: State::Greeting,
            framer,
            received_bytes: 0,
            greeting: None,
            capabilities: 0,
            plugin: Plugin::Native,
            seed: Vec::new(),
            switches: 0,
            security: Security::Plain,
            sequence: 0,
        }
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

    /// Goes on after the TLS handshake.
    ///
    /// # Errors
    ///
    /// [`WireError::NulByte`] in the configuration, [`WireError::Misuse`] unless [`Progress::StartTls`] was the last.
    pub fn tls_started(&mut self, out: &mut Vec<u8>) -> Result<Progress> {
        if self.state != State::Tls {
            return Err(WireError::Misuse("no TLS handshake was asked for"));
        }
        self.security = Security::Tls;
        self.write_response(out)?;
        Ok(Progress::Receive)
    }

    /// The error that a closed connection means at this point.
    pub fn closed_error(&self) -> WireError {
        WireError::Protocol(match self.state {
            State::Greeting => "it closed the connection without a greeting",
            _ => "it closed the connection during authentication",
        })
    }

    /// Takes packets until something else must happen first.
    fn advance(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        let mut input = bytes;
        loop {
            if matches!(self.state, State::Tls | State::Over) {
                return Err(WireError::Misuse("the handshake does not wait for bytes now"));
            }
            let before = input.len();
            let payload = match self.framer.next_payload(&mut input, |_| Ok(Treatment::Keep))? {
                None => None,
                Some(payload) => {
                    self.sequence = payload.sequence.wrapping_add(1);
                    Some(payload.bytes.to_vec())
                }
            };
            self.received_bytes += (before - input.len()) as u64;
            let limit = self.config.limits.handshake_total_bytes;
            if self.received_bytes > u64::from(limit) {
                let length_bytes = self.received_bytes;
                return Err(WireError::TooLarge { what: "a handshake", length_bytes, limit_bytes: limit.into() });
            }
            let Some(payload) = payload else { return Ok(Progress::Receive) };
            match self.take_payload(&payload, out)? {
                Step::Continue => {}
                Step::StartTls if input.is_empty() => return Ok(Progress::StartTls),
                // It was not encrypted, yet would be taken as if it were.
                Step::StartTls => return Err(WireError::Protocol("bytes follow the greeting")),
                Step::Ready(mut session) => {
                    session.leftover = input.to_vec();
                    self.state = State::Over;
                    return Ok(Progress::Ready(session));
                }
            }
        }
    }

    /// Takes a payload by the state of the handshake.
    fn take_payload(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Step> {
        match (payload, self.state) {
            ([0xff, ..], _) => Err(WireError::RefusedByMysql(ErrorPacket::parse(payload)?)),
            (_, State::Greeting) => self.take_greeting(payload, out),
            ([0x00, ..], _) => Ok(Step::Ready(Box::new(self.make_session(OkPacket::parse(payload)?)?))),
            ([0xfe, rest @ ..], State::Authenticating) => {
                self.switch_method(rest, out)?;
                Ok(Step::Continue)
            }
            ([0x01, rest @ ..], _) => {
                self.take_more_data(rest, out)?;
                Ok(Step::Continue)
            }
            ([tag, ..], _) => Err(WireError::Unexpected { tag: *tag, state: "logging in" }),
            ([], _) => Err(WireError::Protocol("an empty packet")),
        }
    }

    /// Takes the greeting, and asks for TLS or logs in.
    fn take_greeting(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Step> {
        let greeting = Greeting::parse(payload)?;
        let has_tls = greeting.capabilities & capability::SSL != 0;
        let use_tls = match self.config.encryption {
            Encryption::Off => false,
            Encryption::Prefer => has_tls,
            Encryption::Require if has_tls => true,
            Encryption::Require => return Err(WireError::TlsRefused),
        };
        self.capabilities = self.wanted_capabilities(use_tls) & (greeting.capabilities | capability::CONNECT_WITH_DB);
        // An unknown method gets a default answer; the server can switch to what the account needs.
        self.plugin = Plugin::from_name(&greeting.plugin).unwrap_or(Plugin::Native);
        self.seed.clone_from(&greeting.seed);
        self.greeting = Some(greeting);
        if use_tls {
            let sequence = self.sequence;
            self.sequence = packet::write_payload(out, sequence, |out| {
                self.write_head(out);
                Ok(())
            })?;
            self.state = State::Tls;
            return Ok(Step::StartTls);
        }
        self.write_response(out)?;
        Ok(Step::Continue)
    }

    /// The capabilities that the client wants.
    fn wanted_capabilities(&self, use_tls: bool) -> u64 {
        let config = &self.config;
        let optional = [
            (use_tls, capability::SSL),
            (config.database.is_some(), capability::CONNECT_WITH_DB),
            (config.multi_statements == Feature::Use, capability::MULTI_STATEMENTS),
            (config.local_files == Feature::Use, capability::LOCAL_FILES),
            (config.deprecate_eof == Feature::Use, capability::DEPRECATE_EOF),
            (config.metadata_cache == Feature::Use, capability::MARIADB_CACHE_METADATA),
            (!config.attributes.is_empty(), capability::CONNECT_ATTRS),
        ];
        optional.iter().filter(|(wanted, _)| *wanted).fold(
            capability::LONG_PASSWORD
                | capability::LONG_FLAG
                | capability::PROTOCOL_41
                | capability::TRANSACTIONS
                | capability::SECURE_CONNECTION
                | capability::MULTI_RESULTS
                | capability::PS_MULTI_RESULTS
                | capability::PLUGIN_AUTH
                | capability::PLUGIN_AUTH_LENENC,
            |all, (_, flag)| all | flag,
        )
    }

    /// Appends the common part of "Protocol::SSLRequest" and "Protocol::HandshakeResponse41".
    fn write_head(&self, out: &mut Vec<u8>) {
        let [a, b, c, d, extended @ ..] = self.capabilities.to_le_bytes();
        out.extend_from_slice(&[a, b, c, d]);
        out.extend_from_slice(&MAX_PACKET_BYTES.to_le_bytes());
        out.push(UTF8MB4_GENERAL_CI);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&extended);
    }

    /// "Protocol::HandshakeResponse41".
    fn write_response(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let proof = match self.plugin.first_answer(self.password(), &self.seed, self.channel()) {
            // The account may have another method; the password is not given away to find out.
            Err(WireError::InsecureTransport | WireError::UnprovenServer) => Vec::new(),
            proof => proof?,
        };
        let config = &self.config;
        self.sequence = packet::write_payload(out, self.sequence, |out| {
            self.write_head(out);
            packet::write_c_string(out, config.user.as_bytes(), "the user's name")?;
            if self.has_capability(capability::PLUGIN_AUTH_LENENC) {
                packet::write_lenenc_bytes(out, &proof);
            } else {
                // No method that is spoken here has a longer one.
                out.push(proof.len() as u8);
                out.extend_from_slice(&proof);
            }
            if let Some(database) = &config.database {
                packet::write_c_string(out, database.as_bytes(), "the database's name")?;
            }
            if self.has_capability(capability::PLUGIN_AUTH) {
                packet::write_c_string(out, self.plugin.name().as_bytes(), "a method's name")?;
            }
            if self.has_capability(capability::CONNECT_ATTRS) {
                let mut attributes = Vec::new();
                for (name, value) in &config.attributes {
                    packet::write_lenenc_bytes(&mut attributes, name.as_bytes());
                    packet::write_lenenc_bytes(&mut attributes, value.as_bytes());
                }
                packet::write_lenenc_bytes(out, &attributes);
            }
            Ok(())
        })?;
        self.state = State::Authenticating;
        Ok(())
    }

    /// Tests whether both sides have a capability.
    fn has_capability(&self, flag: u64) -> bool {
        self.capabilities & flag != 0
    }

    /// The password; empty if there is none.
    fn password(&self) -> &[u8] {
        self.config.password.as_ref().map_or(&[], |password| password.expose())
    }

    /// How safe the connection is for a password.
    fn channel(&self) -> Channel {
        match (self.security, self.config.medium) {
            (_, Medium::Local) => Channel::Trusted,
            (Security::Plain, Medium::Network) => Channel::Open,
            (Security::Tls, _) if self.config.identity == Identity::Proven => Channel::Trusted,
            (Security::Tls, _) => Channel::Closed,
        }
    }

    /// Changes to the method that the server asks for, and answers it.
    fn switch_method(&mut self, request: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.switches += 1;
        if self.switches > MAX_SWITCHES {
            return Err(WireError::Protocol("it asks for one method after the other"));
        }
        if request.is_empty() {
            return Err(WireError::UnsupportedAuthentication("mysql_old_password".into()));
        }
        let mut reader = Reader::new(request);
        let name = reader.take_until_nul()?;
        self.plugin = Plugin::from_name(name)
            .ok_or_else(|| WireError::UnsupportedAuthentication(String::from_utf8_lossy(name).into_owned()))?;
        self.seed = reader.unread().to_vec();
        let proof = self.plugin.first_answer(self.password(), &self.seed, self.channel())?;
        self.send_payload(&proof, out)
    }

    /// Takes further data of the method, and answers them.
    fn take_more_data(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match (self.plugin, self.state, data) {
            (Plugin::CachingSha2, State::Authenticating, [FAST_AUTHENTICATION_DONE]) => Ok(()),
            (Plugin::CachingSha2, State::Authenticating, [FULL_AUTHENTICATION]) => {
                match auth::full_proof(self.password(), &self.seed, self.channel(), &self.config.public_key)? {
                    FullProof::Send(proof) => self.send_payload(&proof, out),
                    FullProof::AskForKey => {
                        self.send_payload(&[PUBLIC_KEY_REQUEST], out)?;
                        self.state = State::AwaitingKey;
                        Ok(())
                    }
                }
            }
            (Plugin::CachingSha2, State::AwaitingKey, key) => {
                let proof = auth::encrypt_password(self.password(), &self.seed, key)?;
                self.state = State::Authenticating;
                self.send_payload(&proof, out)
            }
            _ => Err(WireError::Protocol("an authentication packet is out of order")),
        }
    }

    /// Appends a payload with the next number.
    fn send_payload(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.sequence = packet::write_payload(out, self.sequence, |out| {
            out.extend_from_slice(payload);
            Ok(())
        })?;
        Ok(())
    }

    /// Makes the session after the server's OK.
    fn make_session(&mut self, ok: OkPacket) -> Result<Session> {
        let greeting = self.greeting.take().ok_or(WireError::Protocol("OK stands where a greeting must"))?;
        Ok(Session {
            version: greeting.version,
            flavor: greeting.flavor,
            thread_id: greeting.thread_id,
            capabilities: self.capabilities,
            status: ok.status,
            authentication: self.plugin.name().to_owned(),
            security: self.security,
            leftover: Vec::new(),
            limits: self.config.limits,
        })
    }
}

enum Step {
    Continue,
    StartTls,
    Ready(Box<Session>),
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Some of the exchange is secret.
        f.debug_struct("Handshake").field("user", &self.config.user).finish_non_exhaustive()
    }
}
