//! What a login leaves behind.

use crate::{Limits, Security};

use super::Scanner;

/// A connection that is logged in.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) program: String,
    pub(super) version: [u8; 4],
    pub(super) tds_version: u32,
    pub(super) security: Security,
    pub(super) packet_bytes: usize,
    pub(super) collation: [u8; 5],
    pub(super) limits: Limits,
    pub(super) leftover: Vec<u8>,
}

impl Session {
    /// What the server calls itself: `Microsoft SQL Server`.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Its version: major, minor, build.
    #[must_use]
    pub fn version(&self) -> (u8, u8, u16) {
        let [major, minor, high, low] = self.version;
        (major, minor, u16::from_be_bytes([high, low]))
    }

    /// The protocol's version that was agreed on: `0x74000004` is 7.4.
    #[must_use]
    pub fn tds_version(&self) -> u32 {
        self.tds_version
    }

    /// Whether what follows the login is encrypted.
    #[must_use]
    pub fn security(&self) -> Security {
        self.security
    }

    /// The size of packets that was agreed on, in bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    /// Bytes that came behind the login; give them to the scanner first. Nearly always empty.
    #[must_use]
    pub fn leftover(&self) -> &[u8] {
        &self.leftover
    }

    /// A scanner for what follows.
    #[must_use]
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.limits, self.packet_bytes, self.collation)
    }
}
