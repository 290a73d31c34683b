//! A session as the handshake leaves it.

use crate::{Limits, Security};

use super::{Scanner, ServerStatus, capability};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    MySql,
    MariaDb,
}

/// A connection that is ready for its first command.
#[derive(Debug, Clone)]
pub struct Session {
    /// The server's version without MariaDB's prefix.
    pub version: String,
    pub flavor: Flavor,
    /// The thread that `KILL QUERY` names, this protocol's way to cancel.
    pub thread_id: u32,
    pub capabilities: u64,
    pub status: ServerStatus,
    /// Method of the login, such as `mysql_native_password`.
    pub authentication: String,
    pub security: Security,
    /// Bytes after the handshake; give them to the scanner first. Nearly always empty.
    pub leftover: Vec<u8>,
    pub(crate) limits: Limits,
}

impl Session {
    /// MariaDB sends the columns of a prepared statement's result only once.
    pub fn caches_metadata(&self) -> bool {
        self.capabilities & capability::MARIADB_CACHE_METADATA != 0
    }

    /// A scanner for the session's replies.
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.limits, self.capabilities)
    }
}
