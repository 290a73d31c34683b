//! The commands that a client sends ("Command Phase"). Each function appends one command to `out`; on failure `out` is
//! unchanged. Unless said otherwise, announce the reply by [`Scanner::expect_token`](super::Scanner::expect).

use crate::Result;

use super::packet;

/// Appends a command with its argument.
fn write_command(out: &mut Vec<u8>, code: u8, argument: &[u8]) -> Result<()> {
    packet::write_payload(out, 0, |out| {
        out.push(code);
        out.extend_from_slice(argument);
        Ok(())
    })
    .map(|_| ())
}

/// Appends a command whose argument is short.
fn write_short(out: &mut Vec<u8>, code: u8, argument: &[u8]) {
    out.extend_from_slice(&[1 + argument.len() as u8, 0, 0, 0, code]);
    out.extend_from_slice(argument);
}

/// `COM_QUERY`: a statement as text.
pub fn write_query(sql: &str, out: &mut Vec<u8>) -> Result<()> {
    write_command(out, 0x03, sql.as_bytes())
}

/// `COM_STMT_PREPARE`.
pub fn write_prepare(sql: &str, out: &mut Vec<u8>) -> Result<()> {
    write_command(out, 0x16, sql.as_bytes())
}

/// `COM_PING`.
pub fn write_ping(out: &mut Vec<u8>) {
    write_short(out, 0x0e, &[]);
}

/// `COM_QUIT`. The server closes the connection without a reply.
pub fn write_quit(out: &mut Vec<u8>) {
    write_short(out, 0x01, &[]);
}

/// Answers a request for a local file without sending it ("Protocol::LOCAL_INFILE_Request"). `sequence` is the
/// request's.
pub fn refuse_local_file(sequence: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, 0, sequence.wrapping_add(1)]);
}

/// A piece of a local file that the caller decided to send. Returns the number for the next piece; after the last one,
/// [`refuse_local_file`] (an empty packet) with the number before it ends the file.
pub fn local_file_piece(sequence: u8, piece: &[u8], out: &mut Vec<u8>) -> Result<u8> {
    if piece.is_empty() {
        return Ok(sequence);
    }
    let next = packet::write_payload(out, sequence.wrapping_add(1), |out| {
        out.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(next.wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_the_documented_bytes() {
        let mut out = Vec::new();
        write_query("SELECT 1", &mut out).unwrap();
        write_ping(&mut out);
        refuse_local_file(1, &mut out);
        assert_eq!(out, b"\x09\0\0\0\x03SELECT 1\x01\0\0\0\x0e\0\0\0\x02");
    }
}
