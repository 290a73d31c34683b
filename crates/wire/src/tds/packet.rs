//! Packets: eight bytes of header, then a piece of a message.

use crate::{Result, WireError};

pub const HEADER_BYTES: usize = 8;

/// "Status": this packet is the last of its message.
pub(super) const END_OF_MESSAGE: u8 = 0x01;
/// Packets are no smaller and no larger than this, in bytes, whatever the server asks for.
pub(super) const PACKET_BYTES: std::ops::RangeInclusive<usize> = 512..=32_767;

/// The kind of a message: "Type" of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Batch = 0x01,
    Rpc = 0x03,
    /// An answer: the only kind that a server sends.
    Reply = 0x04,
    /// Cancels the current request.
    Attention = 0x06,
    Bulk = 0x07,
    Login = 0x10,
    /// Also wraps the TLS handshake.
    Prelogin = 0x12,
}

/// The header of a packet.
pub(super) fn header(kind: Kind, status: u8, length: usize, number: u8) -> [u8; HEADER_BYTES] {
    let [high, low] = (length as u16).to_be_bytes();
    [kind as u8, status, high, low, 0, 0, number, 0]
}

/// Appends a payload as packets.
pub(super) fn write_packets(kind: Kind, payload: &[u8], packet_bytes: usize, out: &mut Vec<u8>) {
    let room = packet_bytes - HEADER_BYTES;
    let count = payload.len().div_ceil(room).max(1);
    for number in 0..count {
        let piece = &payload[number * room..payload.len().min((number + 1) * room)];
        let status = if number + 1 == count { END_OF_MESSAGE } else { 0 };
        out.extend(header(kind, status, HEADER_BYTES + piece.len(), (number + 1) as u8));
        out.extend_from_slice(piece);
    }
}

/// Wraps bytes of the TLS handshake in packets.
pub fn wrap_tls(bytes: &[u8], out: &mut Vec<u8>) {
    write_packets(Kind::Prelogin, bytes, 4096, out);
}

/// Unwraps one packet of the server's TLS handshake: its bytes, and its length. `None` while incomplete.
pub fn unwrap_tls(input: &[u8]) -> Result<Option<(&[u8], usize)>> {
    let Some(header) = input.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    // The server answers in the same kind, although a reply has another.
    if header[0] != Kind::Prelogin as u8 && header[0] != Kind::Reply as u8 {
        return Err(WireError::Unexpected { tag: header[0], state: "agreeing on TLS" });
    }
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if length < HEADER_BYTES {
        return Err(WireError::Protocol("a packet is shorter than its header"));
    }
    Ok(input.get(HEADER_BYTES..length).map(|body| (body, length)))
}

#[derive(Debug, Clone, Default)]
pub(super) struct Framer {
    header: [u8; HEADER_BYTES],
    header_len: usize,
    left: usize,
    is_last: bool,
}

pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) ends: bool,
}

impl Framer {
    /// The number of the session, as the last header has it.
    pub(super) fn session_number(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }

    /// `None` when `input` is used up. A piece may be empty.
    pub(super) fn next_piece<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>> {
        if self.left == 0 && self.header_len < HEADER_BYTES {
            let taken = (HEADER_BYTES - self.header_len).min(input.len());
            self.header[self.header_len..self.header_len + taken].copy_from_slice(&input[..taken]);
            self.header_len += taken;
            *input = &input[taken..];
            if self.header_len < HEADER_BYTES {
                return Ok(None);
            }
            if self.header[0] != Kind::Reply as u8 {
                return Err(WireError::Unexpected { tag: self.header[0], state: "waiting for an answer" });
            }
            let length = usize::from(u16::from_be_bytes([self.header[2], self.header[3]]));
            self.left =
                length.checked_sub(HEADER_BYTES).ok_or(WireError::Protocol("a packet is shorter than its header"))?;
            self.is_last = self.header[1] & END_OF_MESSAGE != 0;
        } else if input.is_empty() {
            return Ok(None);
        }
        let (bytes, rest) = input.split_at(self.left.min(input.len()));
        *input = rest;
        self.left -= bytes.len();
        if self.left == 0 {
            self.header_len = 0;
        }
        Ok(Some(Piece { bytes, ends: self.left == 0 && self.is_last }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_into_packets_and_put_together_again() {
        let payload: Vec<u8> = (0..2000).map(|n| n as u8).collect();
        for packet_bytes in [512, 2008, 2009, 4096] {
            let mut out = Vec::new();
            write_packets(Kind::Reply, &payload, packet_bytes, &mut out);
            for chunk in [1, 7, 5000] {
                let (mut framer, mut came, mut ends) = (Framer::default(), Vec::new(), 0);
                for mut input in out.chunks(chunk) {
                    while let Some(piece) = framer.next_piece(&mut input).unwrap() {
                        came.extend_from_slice(piece.bytes);
                        ends += u32::from(piece.ends);
                    }
                }
                assert_eq!((came == payload, ends), (true, 1), "{packet_bytes}, {chunk}");
            }
        }
        assert!(Framer::default().next_piece(&mut &b"\x04\x01\0\x07\0\0\x01\0"[..]).is_err());
        assert!(Framer::default().next_piece(&mut &b"HTTP/1.1"[..]).is_err());
    }

    #[test]
    fn an_empty_message_has_an_end() {
        let mut out = Vec::new();
        write_packets(Kind::Reply, &[], 512, &mut out);
        let piece = Framer::default().next_piece(&mut out.as_slice()).unwrap().unwrap();
        assert!(piece.ends && piece.bytes.is_empty());
    }
}
