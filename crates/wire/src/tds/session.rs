//! What a login leaves behind.

use crate::{Limits, Security};

use super::Scanner;

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
    /// Such as `Microsoft SQL Server`.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Major, minor, build.
    #[must_use]
    pub fn version(&self) -> (u8, u8, u16) {
        let [major, minor, high, low] = self.version;
        (major, minor, u16::from_be_bytes([high, low]))
    }

    /// `0x74000004` is 7.4.
    #[must_use]
    pub fn tds_version(&self) -> u32 {
        self.tds_version
    }

    /// Whether TLS goes on after the login.
    #[must_use]
    pub fn security(&self) -> Security {
        self.security
    }

    #[must_use]
    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    /// Bytes after the login; give them to the scanner first. Nearly always empty.
    #[must_use]
    pub fn leftover(&self) -> &[u8] {
        &self.leftover
    }

    #[must_use]
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.limits, self.packet_bytes, self.collation)
    }
}
