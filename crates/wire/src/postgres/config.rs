//! Who connects, and how.

use super::ScramCache;
use crate::{Limits, Secret};

/// Whether to ask for TLS. Which certificates are good is the TLS library's business: `verify-ca` and `verify-full` of
/// libpq's `sslmode` are [`Require`](Self::Require) here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Never ask (`sslmode=disable`, and Unix sockets).
    #[default]
    Off,
    /// Ask, and go on without if the server has none (`sslmode=prefer`).
    Prefer,
    /// Ask, and give up if the server has none (`sslmode=require` and stricter).
    Require,
    /// Start TLS without asking (`sslnegotiation=direct`, PostgreSQL 17). The TLS library must then offer the protocol
    /// name `postgresql` (ALPN).
    Direct,
}

/// Whether SCRAM must be tied to the TLS channel (55.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelBinding {
    /// Do not, even where it is possible.
    Disable,
    /// Where both sides can.
    #[default]
    Prefer,
    Require,
}

/// Everything a [`Handshake`](super::Handshake) needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    pub user: String,
    /// The database; the server takes the role's name if there is none.
    pub database: Option<String>,
    /// For servers that ask for one.
    pub password: Option<Secret>,
    /// Further run-time parameters such as `application_name` or `options`.
    pub parameters: Vec<(String, String)>,
    /// Whether to ask for TLS.
    pub encryption: Encryption,
    /// Whether SCRAM must be tied to the TLS channel.
    pub channel_binding: ChannelBinding,
    /// How much the server may send.
    pub limits: Limits,
    /// Keys that earlier logins have derived. Clones of a configuration share them.
    pub scram: ScramCache,
}

impl Config {
    /// A configuration with everything but the role left at its default.
    pub fn new(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            database: None,
            password: None,
            parameters: Vec::new(),
            encryption: Encryption::default(),
            channel_binding: ChannelBinding::default(),
            limits: Limits::default(),
            scram: ScramCache::default(),
        }
    }
}
