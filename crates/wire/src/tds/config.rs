//! Who connects, and how.

use crate::{Limits, Secret};

/// What is encrypted by TLS. The login always is, unless nobody can listen and the server has no TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// The login alone, unless the server wants more: what `Encrypt=false` means to Microsoft's own clients.
    LoginOnly,
    /// Everything, or nothing is sent: `Encrypt=true`.
    #[default]
    Everything,
}

/// What the bytes travel on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    #[default]
    Network,
    /// The loopback interface: nobody else can listen.
    Local,
}

/// Everything a [`Handshake`](super::Handshake) needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    pub user: String,
    /// Its password; `None` is the empty one.
    pub password: Option<Secret>,
    /// The database that the login begins in; without it, the login's own default.
    pub database: Option<String>,
    /// The server's name as the client knows it.
    pub server: String,
    /// The client's machine, for the server's lists of sessions.
    pub host: String,
    /// The program's name, for the same.
    pub application: String,
    pub encryption: Encryption,
    /// What the bytes travel on.
    pub medium: Medium,
    /// The size of packets that is asked for, in bytes: 512 to 32,767. The server has the last word.
    pub packet_bytes: u16,
    /// How much the server may send.
    pub limits: Limits,
}

impl Config {
    /// A configuration with everything but the name left at its default.
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
