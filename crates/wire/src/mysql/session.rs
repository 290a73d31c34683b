//! What the handshake leaves behind.

use crate::{Limits, Security};

use super::{Scanner, ServerStatus, capability};

/// MariaDB's version prefix up to release 10, for old replicas.
pub(crate) const MARIADB_PREFIX: &str = "5.5.5-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    MySql,
    MariaDb,
}

/// A connection that is ready for its first command.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) version: String,
    pub(crate) flavor: Flavor,
    pub(crate) thread_id: u32,
    pub(crate) capabilities: u64,
    pub(crate) status: ServerStatus,
    pub(crate) plugin: String,
    pub(crate) security: Security,
    pub(crate) leftover: Vec<u8>,
    pub(crate) limits: Limits,
}

impl Session {
    /// Without MariaDB's prefix.
    #[must_use]
    pub fn version(&self) -> &str {
        self.version.strip_prefix(MARIADB_PREFIX).unwrap_or(&self.version)
    }

    #[must_use]
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// For `KILL QUERY`, this protocol's way to cancel.
    #[must_use]
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    #[must_use]
    pub fn capabilities(&self) -> u64 {
        self.capabilities
    }

    /// MariaDB sends the columns of a prepared statement's result only once.
    #[must_use]
    pub fn caches_metadata(&self) -> bool {
        self.capabilities & capability::MARIADB_CACHE_METADATA != 0
    }

    #[must_use]
    pub fn status(&self) -> ServerStatus {
        self.status
    }

    /// Method of the login, such as `mysql_native_password`.
    #[must_use]
    pub fn authentication(&self) -> &str {
        &self.plugin
    }

    #[must_use]
    pub fn security(&self) -> Security {
        self.security
    }

    /// Bytes after the handshake; give them to the scanner first. Nearly always empty.
    #[must_use]
    pub fn leftover(&self) -> &[u8] {
        &self.leftover
    }

    #[must_use]
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.limits, self.capabilities)
    }
}
