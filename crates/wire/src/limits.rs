//! How much a server may make the client hold.

/// Upper bounds for what a server may send. A length beyond them is a [`WireError::TooLarge`](crate::WireError::TooLarge)
/// as soon as it is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One message (PostgreSQL) or one payload after joining its packets (MySQL), bytes.
    pub message_bytes: u32,
    /// One message while the connection is being set up, bytes.
    pub handshake_message_bytes: u32,
    /// Everything received while the connection is being set up, bytes.
    pub handshake_total_bytes: u32,
    /// What a scanner keeps allocated between replies, bytes. A torn message larger than this gives its memory back
    /// afterwards, so that one big row does not stay with each of 10,000 connections.
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
