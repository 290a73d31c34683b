//! A session as the login leaves it.

use crate::Limits;

use super::Scanner;

#[derive(Debug, Clone)]
pub struct Session {
    /// Major, minor, build.
    pub version: (u8, u8, u16),
    /// `0x74000004` is 7.4.
    pub tds_version: u32,
    pub packet_bytes: usize,
    /// The server's number of the session (SPID).
    pub number: u16,
    pub(super) collation: [u8; 5],
    pub(super) limits: Limits,
    /// Bytes after the login; give them to the scanner first. Nearly always empty.
    pub leftover: Vec<u8>,
}

impl Session {
    /// A scanner for the session's replies.
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.limits, self.packet_bytes, self.collation)
    }
}
