//! A session as the handshake leaves it.

use crate::{Limits, Security};

use super::Scanner;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// The user did not authenticate (`trust`), or did by means outside the protocol (`peer`, `ident`, `cert`).
    None,
    Cleartext,
    Md5,
    Scram,
    ScramPlus,
}

/// A connection that is ready for its first request.
#[derive(Debug, Clone)]
pub struct Session {
    /// The server's process for this session; 0 if it did not say.
    pub process_id: u32,
    pub authentication: Authentication,
    pub security: Security,
    /// Bytes after the handshake; give them to the scanner first. Nearly always empty.
    pub leftover: Vec<u8>,
    pub(crate) limits: Limits,
}

impl Session {
    /// A session that has not logged in yet.
    pub(crate) fn empty(limits: Limits) -> Self {
        let (authentication, security) = (Authentication::None, Security::Plain);
        Self { process_id: 0, authentication, security, leftover: Vec::new(), limits }
    }

    /// A scanner for the session's replies.
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.limits)
    }
}
