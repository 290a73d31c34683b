//! The settings of a connection: user, database, encryption.

use crate::{Limits, Secret};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Never.
    #[default]
    Off,
    /// TLS is used if the server has it.
    Prefer,
    Require,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    #[default]
    Network,
    /// A Unix socket, a named pipe.
    Local,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identity {
    /// The certificate is not checked: a man in the middle can show one of his own.
    #[default]
    Unproven,
    /// The certificate is checked.
    Proven,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Feature {
    Avoid,
    /// The feature is used where the server has it.
    #[default]
    Use,
}

/// The source of the public key that `caching_sha2_password` needs on a network without TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PublicKey {
    /// There is none: give up, as the stock clients do.
    #[default]
    Refuse,
    /// The server sends it. Anyone in between can send another.
    Request,
    /// The server's key in PEM, known beforehand.
    Known(String),
}

#[derive(Debug, Clone)]
pub struct Config {
    pub user: String,
    pub database: Option<String>,
    /// `None` is the empty password.
    pub password: Option<Secret>,
    pub encryption: Encryption,
    pub medium: Medium,
    /// `mysql_clear_password` is answered only to a proven server.
    pub identity: Identity,
    /// Source of the server's key for `caching_sha2_password`.
    pub public_key: PublicKey,
    /// Connection attributes such as `program_name`.
    pub attributes: Vec<(String, String)>,
    pub multi_statements: Feature,
    /// Whether the server may ask for local files at all; the caller answers each request.
    pub local_files: Feature,
    /// Replies without EOF packets (MySQL 5.7.5, MariaDB 10.2).
    pub deprecate_eof: Feature,
    /// Columns of prepared statements are sent once (MariaDB 10.6).
    pub metadata_cache: Feature,
    pub limits: Limits,
}

impl Config {
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
            multi_statements: Feature::Avoid,
            local_files: Feature::Avoid,
            deprecate_eof: Feature::Use,
            metadata_cache: Feature::Use,
            limits: Limits::default(),
        }
    }
}
