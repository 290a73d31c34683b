//! The messages that a client sends (55.7, "F"). Each function appends one message to `out`; on failure `out` is
//! unchanged.

use crate::{Result, WireError};

const PROTOCOL_3_0: u32 = 3 << 16;
const SSL_REQUEST: u32 = (1234 << 16) | 5679;

/// Appends a message with its tag and length.
fn write_message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.push(tag);
    let done = write_framed(out, body);
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Appends a body behind its length.
pub(crate) fn write_framed(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let done = body(out).and_then(|()| patch_length(out, start));
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Writes the distance from `at` to the end at `at`.
pub(crate) fn patch_length(out: &mut [u8], at: usize) -> Result<()> {
    let length = out.len() - at;
    let coded = i32::try_from(length).map_err(|_| WireError::RequestTooLarge(length as u64))?;
    out[at..at + 4].copy_from_slice(&coded.to_be_bytes());
    Ok(())
}

/// Appends a text with a NUL at its end; fails if it has one.
pub(crate) fn write_c_string(out: &mut Vec<u8>, text: &str, what: &'static str) -> Result<()> {
    if text.as_bytes().contains(&0) {
        return Err(WireError::NulByte(what));
    }
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

/// Appends a count in two bytes.
fn write_count(out: &mut Vec<u8>, number: usize) -> Result<()> {
    // The count is unsigned on the wire since release 8: up to 65,535 parameters.
    let coded = u16::try_from(number).map_err(|_| WireError::RequestTooLarge(number as u64))?;
    out.extend_from_slice(&coded.to_be_bytes());
    Ok(())
}

/// `StartupMessage`: version 3.0, then pairs of names and values.
pub fn write_startup<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, out: &mut Vec<u8>) -> Result<()> {
    write_framed(out, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in pairs {
            write_c_string(out, name, "the name of a connection parameter")?;
            write_c_string(out, value, "a connection parameter")?;
        }
        out.push(0);
        Ok(())
    })
}

/// `SSLRequest`. The answer is one byte without a header.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8u32.to_be_bytes());
    out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
}

/// `PasswordMessage`, in the clear or hashed.
pub fn write_password(password: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if password.contains(&0) {
        return Err(WireError::NulByte("the password"));
    }
    write_message(out, b'p', |out| {
        out.extend_from_slice(password);
        out.push(0);
        Ok(())
    })
}

/// `SASLInitialResponse` (55.3).
pub(crate) fn write_sasl_initial(mechanism: &str, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'p', |out| {
        write_c_string(out, mechanism, "a SASL mechanism")?;
        framed_data(out, data)
    })
}

/// `SASLResponse` (55.3).
pub(crate) fn write_sasl_response(data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'p', |out| {
        out.extend_from_slice(data);
        Ok(())
    })
}

/// Appends a length that does not count itself, and the data.
fn framed_data(out: &mut Vec<u8>, data: &[u8]) -> Result<()> {
    let length = i32::try_from(data.len()).map_err(|_| WireError::RequestTooLarge(data.len() as u64))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(data);
    Ok(())
}

/// `Query`: the simple protocol; one or more statements as text.
pub fn write_query(sql: &str, out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'Q', |out| write_c_string(out, sql, "a statement"))
}

/// `Parse`: prepares `sql` under `name` (empty: the unnamed statement). `types` may be shorter than the parameters, and
/// [`UNSPECIFIED`](super::oid::UNSPECIFIED) leaves one to the server.
pub fn write_parse(name: &str, sql: &str, types: &[u32], out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'P', |out| {
        write_c_string(out, name, "a statement's name")?;
        write_c_string(out, sql, "a statement")?;
        write_count(out, types.len())?;
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
        Ok(())
    })
}

/// `Describe` of a prepared statement: answered by its parameters' types, then its columns or `NoData`.
pub fn describe_statement(name: &str, out: &mut Vec<u8>) -> Result<()> {
    write_named(b'D', b'S', name, out)
}

/// `Describe` of a portal: answered by its columns or `NoData`.
pub fn describe_portal(name: &str, out: &mut Vec<u8>) -> Result<()> {
    write_named(b'D', b'P', name, out)
}

/// Appends a message about a statement or a portal by its name.
fn write_named(tag: u8, kind: u8, name: &str, out: &mut Vec<u8>) -> Result<()> {
    write_message(out, tag, |out| {
        out.push(kind);
        write_c_string(out, name, "the name of a statement or a portal")
    })
}

/// The head of a `Bind`, up to the number of parameters. Returns the offset of the parameter formats.
pub(crate) fn bind_head(statement: &str, parameters: usize, out: &mut Vec<u8>) -> Result<usize> {
    out.push(b'B');
    out.extend_from_slice(&[0; 4]);
    out.push(0); // the unnamed portal
    write_c_string(out, statement, "a statement's name")?;
    write_count(out, parameters)?;
    let formats = out.len();
    out.resize(formats + 2 * parameters, 0);
    write_count(out, parameters)?;
    Ok(formats)
}

/// `Execute` of a portal; `max_rows` 0 means all of them.
pub fn write_execute(portal: &str, max_rows: u32, out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'E', |out| {
        write_c_string(out, portal, "a portal's name")?;
        out.extend_from_slice(&max_rows.to_be_bytes());
        Ok(())
    })
}

/// `Sync`: ends an implicit transaction and asks for `ReadyForQuery`.
pub fn write_sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// `Flush`: asks for the answers so far.
pub fn write_flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"H\0\0\0\x04");
}

/// `Terminate`: the polite end.
pub fn write_terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

/// `CopyDone`: the data are complete.
pub fn write_copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"c\0\0\0\x04");
}

/// `CopyFail`: makes the server abandon the copy with an error.
pub fn copy_fail(reason: &str, out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'f', |out| write_c_string(out, reason, "a reason"))
}

/// `CopyData`: any piece of the stream; its borders mean nothing to the server.
pub fn copy_data(data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    write_message(out, b'd', |out| {
        out.extend_from_slice(data);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_documented_bytes() {
        let mut out = Vec::new();
        write_startup([("user", "u")], &mut out).unwrap();
        assert_eq!(out, b"\0\0\0\x10\0\x03\0\0user\0u\0\0");
        out.clear();
        write_parse("s", "SELECT 1", &[23], &mut out).unwrap();
        assert_eq!(out, b"P\0\0\0\x15s\0SELECT 1\0\0\x01\0\0\0\x17");
        out.clear();
        write_execute("", 0, &mut out).unwrap();
        describe_statement("s", &mut out).unwrap();
        ssl_request(&mut out);
        assert_eq!(out, b"E\0\0\0\x09\0\0\0\0\0D\0\0\0\x07Ss\0\0\0\0\x08\x04\xd2\x16\x2f");
    }

    #[test]
    fn a_failed_message_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        assert_eq!(write_query("a\0b", &mut out), Err(WireError::NulByte("a statement")));
        assert!(write_parse("s", "x", &[0; 70_000], &mut out).is_err());
        assert_eq!(out, b"before");
    }
}
