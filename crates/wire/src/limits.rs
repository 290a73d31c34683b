//! How much a server may make the client hold.

/// Upper bounds for what a server may send, checked as soon as a length is announced:
/// [`WireError::TooLarge`](crate::WireError::TooLarge).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One message (PostgreSQL) or one payload after joining its packets (MySQL).
    pub message_bytes: u32,
    /// One message during connection set-up.
    pub handshake_message_bytes: u32,
    /// Everything received during connection set-up.
    pub handshake_total_bytes: u32,
    /// The memory that a scanner keeps allocated between replies. A larger torn message gives its memory back, so that
    /// one big
    /// row does not stay with each of 10,000 connections.
    pub retained_bytes: u32,
}

impl Default for Limits {
    /// 64 MiB a message, 16 KiB during the handshake and 256 KiB for the whole of it, 16 KiB kept.
    fn default() -> Self {
        Self {
            message_bytes: 64 << 20,
            handshake_message_bytes: 16 << 10,
            handshake_total_bytes: 256 << 10,
            retained_bytes: 16 << 10,
        }
    }
}
