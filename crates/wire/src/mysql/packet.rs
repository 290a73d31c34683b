//! Packets: three bytes of length, one of sequence ("MySQL Packets").

use crate::{Result, WireError};

pub(crate) const HEADER_BYTES: usize = 4;
/// A payload of this size or more goes on in another packet.
pub(crate) const MAX_PAYLOAD: usize = 0xff_ffff;

/// Appends one payload as packets, the first with number `sequence`, and returns the number after the last. When `body`
/// fails, `out` stays as it was.
pub(crate) fn write_payload(
    out: &mut Vec<u8>,
    sequence: u8,
    body: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<u8> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    if let Err(error) = body(out) {
        out.truncate(start);
        return Err(error);
    }
    finish_payload(out, start, sequence)
}

/// Fills in the header at `start` of a payload that reaches to the end; splits it where it is too long for one packet.
#[inline]
pub(crate) fn finish_payload(out: &mut Vec<u8>, start: usize, sequence: u8) -> Result<u8> {
    let length = out.len() - start - HEADER_BYTES;
    if length < MAX_PAYLOAD {
        out[start..start + HEADER_BYTES].copy_from_slice(&header(length, sequence));
        return Ok(sequence.wrapping_add(1));
    }
    split_payload(out, start, sequence)
}

/// Splits a payload that is too long for one packet; returns the next sequence number.
#[cold]
fn split_payload(out: &mut Vec<u8>, start: usize, sequence: u8) -> Result<u8> {
    let payload = out.split_off(start + HEADER_BYTES);
    if u32::try_from(payload.len()).is_err() {
        out.truncate(start);
        return Err(WireError::RequestTooLarge(payload.len() as u64));
    }
    out.truncate(start);
    let mut number = sequence;
    let mut rest = payload.as_slice();
    loop {
        let (now, after) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&header(now.len(), number));
        out.extend_from_slice(now);
        number = number.wrapping_add(1);
        rest = after;
        // A payload that fills its last packet is followed by an empty one.
        if now.len() < MAX_PAYLOAD {
            return Ok(number);
        }
    }
}

/// The header of a packet.
fn header(length: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    [a, b, c, sequence]
}

/// Appends a length-encoded integer.
#[inline]
pub(crate) fn write_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends bytes behind their length.
#[inline]
pub(crate) fn write_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a text with a NUL at its end; fails if it has one.
pub(crate) fn write_c_string(out: &mut Vec<u8>, text: &[u8], what: &'static str) -> Result<()> {
    if text.contains(&0) {
        return Err(WireError::NulByte(what));
    }
    out.extend_from_slice(text);
    out.push(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;

    #[test]
    fn lengths_round_trip_at_their_edges() {
        for value in [0, 0xfa, 0xfb, 0xff, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            write_lenenc(&mut out, value);
            assert_eq!(Reader::new(&out).take_lenenc(), Ok(Some(value)));
        }
        assert_eq!(Reader::new(&[0xfb]).take_lenenc(), Ok(None));
        assert!(Reader::new(&[0xff]).take_lenenc().is_err());
    }

    #[test]
    fn long_payloads_are_split() {
        for (length, packets) in [(MAX_PAYLOAD - 1, 1), (MAX_PAYLOAD, 2), (MAX_PAYLOAD + 1, 2), (2 * MAX_PAYLOAD, 3)] {
            let mut out = b"before".to_vec();
            let next = write_payload(&mut out, 0, |out| {
                out.resize(out.len() + length, 7);
                Ok(())
            });
            assert_eq!(next, Ok(packets));
            assert_eq!(out.len(), 6 + length + usize::from(packets) * HEADER_BYTES);
        }
    }
}
