//! Who connects, and how.

use crate::{Limits, Secret};

/// Whether to ask for TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Never.
    #[default]
    Off,
    /// If the server has it.
    Prefer,
    Require,
}

/// What the bytes travel on. Passwords that a method wants in the clear are sent only where nobody can listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    #[default]
    Network,
    /// A Unix socket, a named pipe.
    Local,
}

/// Whether TLS proves who the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identity {
    /// Nobody checks its certificate: whoever sits in between can show one of his own.
    #[default]
    Unproven,
    /// Its certificate is checked.
    Proven,
}

/// Whether to use something the server may offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Feature {
    Avoid,
    /// Where the server has it.
    #[default]
    Use,
}

/// Where the public key comes from that `caching_sha2_password` needs on a network without TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PublicKey {
    /// From nowhere: give up, as the stock clients do.
    #[default]
    Refuse,
    /// From the server itself. Whoever sits in between can send his own.
    Request,
    /// The server's key in PEM, known beforehand.
    Known(String),
}

/// Everything a [`Handshake`](super::Handshake) needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    pub user: String,
    pub database: Option<String>,
    /// The password; `None` is the empty one.
    pub password: Option<Secret>,
    /// Whether to ask for TLS.
    pub encryption: Encryption,
    /// What the bytes travel on.
    pub medium: Medium,
    /// Whether TLS proves who the server is: `mysql_clear_password` is not answered otherwise.
    pub identity: Identity,
    /// Where `caching_sha2_password` finds the server's key.
    pub public_key: PublicKey,
    /// What the client says about itself, such as `program_name`.
    pub attributes: Vec<(String, String)>,
    /// Whether updates count matching rows instead of changed ones.
    pub found_rows: Feature,
    /// Whether a query may hold several statements.
    pub multi_statements: Feature,
    /// Whether the server may ask for local files at all. Each request is still the caller's to answer.
    pub local_files: Feature,
    /// Whether replies do without EOF packets (MySQL 5.7.5, MariaDB 10.2).
    pub deprecate_eof: Feature,
    /// Whether the columns of prepared statements are sent once (MariaDB 10.6).
    pub metadata_cache: Feature,
    /// How much the server may send.
    pub limits: Limits,
}

impl Config {
    /// A configuration with everything but the name left at its default.
    pub fn new(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            database: None,
            password: None,
            encryption: Encryption::default(),
            medium: Medium::default(),
            identity: Identity::default(),
            public_key: PublicKey::default(),
            attributes: Vec::new(),
            found_rows: Feature::Avoid,
            multi_statements: Feature::Avoid,
            local_files: Feature::Avoid,
            deprecate_eof: Feature::Use,
            metadata_cache: Feature::Use,
            limits: Limits::default(),
        }
    }
}
