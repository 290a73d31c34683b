//! The settings of a connection: user, database, encryption.

use crate::{Limits, Secret};

/// The part of a connection that TLS encrypts. The login always is, unless no one can listen and the server has no TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Unless the server wants more: `Encrypt=false` of Microsoft's clients.
    LoginOnly,
    /// `Encrypt=true`: nothing is sent without TLS.
    #[default]
    Everything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    #[default]
    Network,
    /// The loopback interface: no one else can listen.
    Local,
}

/// Everything a [`Handshake`](super::Handshake) needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    pub user: String,
    /// `None` is the empty password.
    pub password: Option<Secret>,
    /// Default: the login's own.
    pub database: Option<String>,
    /// The server's name as the client knows it.
    pub server: String,
    /// The client's host, for the server's lists of sessions.
    pub host: String,
    /// The client's name, for the server's lists of sessions.
    pub application: String,
    pub encryption: Encryption,
    pub medium: Medium,
    /// Requested packet size: 512 to 32,767. The server decides.
    pub packet_bytes: u16,
    pub limits: Limits,
}

impl Config {
    pub fn new(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            password: None,
            database: None,
            server: String::new(),
            host: String::new(),
            application: String::new(),
            encryption: Encryption::default(),
            medium: Medium::default(),
            packet_bytes: 8000,
            limits: Limits::default(),
        }
    }
}
