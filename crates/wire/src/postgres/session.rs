//! What the handshake leaves behind.

use crate::{Limits, Security};

use super::{ErrorFields, Scanner};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all (`trust`), or by means outside the protocol (`peer`, `ident`, `cert`).
    None,
    Cleartext,
    Md5,
    Scram,
    ScramPlus,
}

/// A connection that is ready for its first request.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) process_id: u32,
    pub(crate) notices: Vec<ErrorFields>,
    pub(crate) authentication: Authentication,
    pub(crate) security: Security,
    pub(crate) leftover: Vec<u8>,
    pub(crate) limits: Limits,
}

impl Session {
    pub(crate) fn empty(limits: Limits) -> Self {
        Self {
            parameters: Vec::new(),
            process_id: 0,
            notices: Vec::new(),
            authentication: Authentication::None,
            security: Security::Plain,
            leftover: Vec::new(),
            limits,
        }
    }

    /// A run-time parameter that the server reported, such as `server_version`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[must_use]
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// The server's process for this session; 0 if it did not say.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process_id
    }

    /// Warnings that came with the login.
    #[must_use]
    pub fn notices(&self) -> &[ErrorFields] {
        &self.notices
    }

    #[must_use]
    pub fn authentication(&self) -> Authentication {
        self.authentication
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
        Scanner::new(self.limits)
    }
}
