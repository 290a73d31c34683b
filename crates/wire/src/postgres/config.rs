//! The settings of a connection: user, database, encryption.

use super::ScramCache;
use crate::{Limits, Secret};

/// Whether to ask for TLS. Certificates are the TLS library's business: libpq's `verify-ca` and `verify-full` are
/// [`Require`](Self::Require) here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Never ask (`sslmode=disable`, and Unix sockets).
    #[default]
    Off,
    /// Ask, and go on without if the server has none (`sslmode=prefer`).
    Prefer,
    /// Ask, and give up if the server has none (`sslmode=require` and stricter).
    Require,
    /// Start TLS without asking (`sslnegotiation=direct`, PostgreSQL 17). The TLS library must offer ALPN
    /// `postgresql`.
    Direct,
}

/// Whether SCRAM must be tied to the TLS channel (55.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelBinding {
    /// Do not, even where it is possible.
    Disable,
    /// Channel binding is used where both sides can.
    #[default]
    Prefer,
    Require,
}

#[derive(Debug, Clone)]
pub struct Config {
    pub user: String,
    /// Default: the role's name.
    pub database: Option<String>,
    /// The password, needed if the server asks for one.
    pub password: Option<Secret>,
    /// Further run-time parameters such as `application_name` or `options`.
    pub parameters: Vec<(String, String)>,
    pub encryption: Encryption,
    /// `client_encoding`.
    pub encoding: &'static str,
    /// Whether SCRAM must be tied to the TLS channel.
    pub channel_binding: ChannelBinding,
    pub limits: Limits,
    /// Derived keys, shared by clones of the configuration.
    pub scram: ScramCache,
}

impl Config {
    pub fn new(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            database: None,
            password: None,
            parameters: Vec::new(),
            encryption: Encryption::default(),
            encoding: "UTF8",
            channel_binding: ChannelBinding::default(),
            limits: Limits::default(),
            scram: ScramCache::default(),
        }
    }
}
