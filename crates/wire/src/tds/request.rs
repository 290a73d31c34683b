//! The requests of a client: batches, and calls of procedures with binary parameters.

use crate::{Result, Value, WireError};

use super::cursor::write_utf16;
use super::packet::{self, END_OF_MESSAGE, HEADER_BYTES, Kind};
use super::types::{IN_PARTS, kind};

const ALL_HEADERS_BYTES: usize = 22;
/// Offset of that descriptor in a request's first packet.
const DESCRIPTOR_AT: usize = HEADER_BYTES + 10;
/// Longer texts and bytes are sent in parts.
const WHOLE_BYTES: usize = 8000;

/// Numbers of procedures, "ProcID".
const EXECUTE_SQL: u16 = 10;
const EXECUTE: u16 = 12;
const PREPARE_AND_EXECUTE: u16 = 13;

/// "fByRefValue": the procedure gives a value back.
const BY_REFERENCE: u8 = 0x01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// [`Scanner::transaction`](super::Scanner::transaction).
    pub transaction: u64,
    pub packet_bytes: usize,
    /// The collation in which texts are sent.
    pub collation: [u8; 5],
}

impl Session {
    /// The session as a scanner knows it.
    pub fn from_scanner(scanner: &super::Scanner) -> Self {
        Self {
            transaction: scanner.transaction(),
            packet_bytes: scanner.packet_bytes(),
            collation: scanner.collation(),
        }
    }
}

/// How a parameter was declared, where several wire forms are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Declared {
    #[default]
    Any,
    /// `int` or narrower: whole numbers take four bytes if they fit.
    Int,
    /// `char` or `varchar`: texts take a byte a character if they are ASCII. A wider text would make the server convert
    /// the column instead of the parameter.
    Narrow,
}

/// A request whose fixed part is encoded once; parameters are encoded behind it each time.
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    /// End of the fixed part.
    prefix: usize,
    declared: Vec<Declared>,
    /// The packets, if more than one.
    split: Vec<u8>,
}

/// Appends the head of a request, with lengths to be filled in.
fn begin_request(kind: Kind, out: &mut Vec<u8>) {
    out.extend(packet::header(kind, END_OF_MESSAGE, 0, 1));
    out.extend((ALL_HEADERS_BYTES as u32).to_le_bytes());
    out.extend((ALL_HEADERS_BYTES as u32 - 4).to_le_bytes());
    out.extend(2_u16.to_le_bytes());
    out.extend(0_u64.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
}

impl Request {
    /// A call of a procedure by its number.
    fn call(procedure: u16, declared: Vec<Declared>) -> Self {
        let mut bytes = Vec::with_capacity(128);
        begin_request(Kind::Rpc, &mut bytes);
        bytes.extend(0xffff_u16.to_le_bytes());
        bytes.extend(procedure.to_le_bytes());
        bytes.extend([0, 0]);
        Self { bytes, prefix: 0, declared, split: Vec::new() }
    }

    /// Ends the part of the request that stays the same.
    fn seal_prefix(mut self) -> Self {
        self.prefix = self.bytes.len();
        self
    }

    /// `sp_execute`: a statement that was prepared.
    pub fn execute(handle: i32, declared: Vec<Declared>) -> Self {
        let mut request = Self::call(EXECUTE, declared);
        request.bytes.extend([0, 0, kind::INTN, 4, 4]);
        request.bytes.extend(handle.to_le_bytes());
        request.seal_prefix()
    }

    /// `sp_prepexec`: prepares and executes; the handle is the return value. `declarations` are the parameters': `@P1
    /// int, @P2 char(25)`, or empty.
    pub fn prepare_and_execute(declarations: &str, sql: &str, declared: Vec<Declared>) -> Self {
        let mut request = Self::call(PREPARE_AND_EXECUTE, declared);
        request.bytes.extend([0, BY_REFERENCE, kind::INTN, 4, 0]);
        write_name_and_text(declarations, &mut request.bytes);
        write_name_and_text(sql, &mut request.bytes);
        request.seal_prefix()
    }

    /// A statement that the server does not keep: `sp_executesql`.
    pub fn execute_sql(declarations: &str, sql: &str, declared: Vec<Declared>) -> Self {
        let mut request = Self::call(EXECUTE_SQL, declared);
        write_name_and_text(sql, &mut request.bytes);
        if !declarations.is_empty() {
            write_name_and_text(declarations, &mut request.bytes);
        }
        request.seal_prefix()
    }

    /// A batch of statements as text.
    pub fn batch(sql: &str) -> Self {
        let mut bytes = Vec::new();
        begin_request(Kind::Batch, &mut bytes);
        write_utf16(sql, &mut bytes);
        Self { bytes, prefix: 0, declared: Vec::new(), split: Vec::new() }.seal_prefix()
    }

    /// Encodes the request with these parameters.
    pub fn encode(&mut self, values: &[Value<'_>], session: Session) -> Result<&[u8]> {
        if values.len() != self.declared.len() {
            return Err(WireError::ParameterCount { expected: self.declared.len(), given: values.len() });
        }
        self.bytes.truncate(self.prefix);
        for (value, declared) in values.iter().zip(&self.declared) {
            self.bytes.extend([0, 0]);
            write_value(*value, *declared, session.collation, &mut self.bytes)?;
        }
        self.bytes[DESCRIPTOR_AT..DESCRIPTOR_AT + 8].copy_from_slice(&session.transaction.to_le_bytes());
        seal_packets(&mut self.bytes, session.packet_bytes, &mut self.split)
    }
}

/// Fills in the length, or cuts the request into packets.
fn seal_packets<'a>(bytes: &'a mut [u8], packet_bytes: usize, split: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    if bytes.len() > packet_bytes {
        u32::try_from(bytes.len()).map_err(|_| WireError::RequestTooLarge(bytes.len() as u64))?;
        split.clear();
        let kind = if bytes[0] == Kind::Batch as u8 { Kind::Batch } else { Kind::Rpc };
        packet::write_packets(kind, &bytes[HEADER_BYTES..], packet_bytes, split);
        return Ok(split);
    }
    let length = (bytes.len() as u16).to_be_bytes();
    bytes[2..4].copy_from_slice(&length);
    Ok(bytes)
}

/// Appends a batch of statements as text.
pub fn write_batch(sql: &str, session: Session, out: &mut Vec<u8>) -> Result<()> {
    let mut request = Request::batch(sql);
    out.extend_from_slice(request.encode(&[], session)?);
    Ok(())
}

/// Cancels the current request. The scanner must learn of it.
pub fn write_attention(out: &mut Vec<u8>) {
    out.extend(packet::header(Kind::Attention, END_OF_MESSAGE, HEADER_BYTES, 1));
}

/// A nameless parameter with a statement or declarations.
fn write_name_and_text(text: &str, out: &mut Vec<u8>) {
    out.extend([0, 0]);
    // A statement has no collation of its own.
    write_text(text, [0; 5], out);
}

fn write_value(value: Value<'_>, declared: Declared, collation: [u8; 5], out: &mut Vec<u8>) -> Result<()> {
    match value {
        // A `NULL` of the shortest type that converts to all others.
        Value::Null => match declared {
            Declared::Int => out.extend([kind::INTN, 4, 0]),
            Declared::Any | Declared::Narrow => {
                out.push(kind::BIGVARCHAR);
                out.extend((WHOLE_BYTES as u16).to_le_bytes());
                out.extend(collation);
                out.extend([0xff, 0xff]);
            }
        },
        Value::Bool(truth) => out.extend([kind::BITN, 1, 1, u8::from(truth)]),
        Value::Int(number) => write_int(number, declared, out),
        Value::Unsigned(number) => match i64::try_from(number) {
            Ok(number) => write_int(number, declared, out),
            Err(_) => write_text(&number.to_string(), collation, out),
        },
        Value::Float(number) => {
            out.extend([kind::FLTN, 8, 8]);
            out.extend(number.to_le_bytes());
        }
        Value::Text(text) if declared == Declared::Narrow && text.is_ascii() && text.len() <= WHOLE_BYTES => {
            out.push(kind::BIGVARCHAR);
            out.extend((WHOLE_BYTES as u16).to_le_bytes());
            out.extend(collation);
            out.extend((text.len() as u16).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        Value::Text(text) => write_text(text, collation, out),
        Value::Bytes(bytes) => {
            out.push(kind::BIGVARBINARY);
            write_sized(bytes.len(), &[], out, |out| out.extend_from_slice(bytes));
        }
    }
    match u32::try_from(out.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(WireError::RequestTooLarge(out.len() as u64)),
    }
}

/// Appends a whole number as a parameter.
fn write_int(number: i64, declared: Declared, out: &mut Vec<u8>) {
    match i32::try_from(number) {
        Ok(narrow) if declared == Declared::Int => {
            out.extend([kind::INTN, 4, 4]);
            out.extend(narrow.to_le_bytes());
        }
        _ => {
            out.extend([kind::INTN, 8, 8]);
            out.extend(number.to_le_bytes());
        }
    }
}

fn write_text(text: &str, collation: [u8; 5], out: &mut Vec<u8>) {
    out.push(kind::NVARCHAR);
    let length = if text.is_ascii() { 2 * text.len() } else { 2 * text.encode_utf16().count() };
    write_sized(length, &collation, out, |out| write_utf16(text, out));
}

/// The largest length, what else the type has, the length, and the bytes.
fn write_sized(length: usize, rest_of_type: &[u8], out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    if length <= WHOLE_BYTES {
        out.extend((WHOLE_BYTES as u16).to_le_bytes());
        out.extend_from_slice(rest_of_type);
        out.extend((length as u16).to_le_bytes());
        return write(out);
    }
    out.extend((IN_PARTS as u16).to_le_bytes());
    out.extend_from_slice(rest_of_type);
    out.extend((length as u64).to_le_bytes());
    out.extend((length as u32).to_le_bytes());
    write(out);
    out.extend([0; 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Session = Session { transaction: 0x0102, packet_bytes: 4096, collation: [9, 4, 0xd0, 0, 0x34] };

    /// The header as "4.8 RPC Client Request" has it, but for the procedure's number in place of a name.
    #[test]
    fn a_call_has_the_documented_header() {
        let mut request = Request::execute(7, vec![Declared::Int]);
        let bytes = request.encode(&[Value::Int(-2)], SESSION).unwrap();
        let expected = [
            &[3, 1, 0, 54, 0, 0, 1, 0][..],
            &[0x16, 0, 0, 0, 0x12, 0, 0, 0, 2, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
            &[0xff, 0xff, 12, 0, 0, 0],
            &[0, 0, 0x26, 4, 4, 7, 0, 0, 0],
            &[0, 0, 0x26, 4, 4, 0xfe, 0xff, 0xff, 0xff],
        ]
        .concat();
        assert_eq!(bytes, expected);
        let again = request.encode(&[Value::Int(1 << 40)], Session { transaction: 0, ..SESSION }).unwrap();
        assert_eq!(again.len(), 58, "a number that does not fit four bytes takes eight");
        assert_eq!(again[18..26], [0; 8]);
        assert!(request.encode(&[], SESSION).is_err());
    }

    #[test]
    fn values_have_their_types() {
        fn encoded(value: Value<'_>, declared: Declared) -> Vec<u8> {
            let mut out = Vec::new();
            write_value(value, declared, [9, 4, 0xd0, 0, 0x34], &mut out).unwrap();
            out
        }
        assert_eq!(encoded(Value::Text("ab"), Declared::Narrow), b"\xa7\x40\x1f\x09\x04\xd0\0\x34\x02\0ab");
        assert_eq!(encoded(Value::Text("ab"), Declared::Any), b"\xe7\x40\x1f\x09\x04\xd0\0\x34\x04\0a\0b\0");
        assert_eq!(encoded(Value::Text("é"), Declared::Narrow), b"\xe7\x40\x1f\x09\x04\xd0\0\x34\x02\0\xe9\0");
        assert_eq!(encoded(Value::Null, Declared::Int), [0x26, 4, 0]);
        assert_eq!(encoded(Value::Bool(true), Declared::Any), [0x68, 1, 1, 1]);
        assert_eq!(encoded(Value::Bytes(&[1]), Declared::Any), [0xa5, 0x40, 0x1f, 1, 0, 1]);
        let long = encoded(Value::Text(&"x".repeat(4001)), Declared::Any);
        assert_eq!(long[..3], [0xe7, 0xff, 0xff]);
        assert_eq!(long[8..16], 8002_u64.to_le_bytes());
        assert_eq!(long.len(), 8 + 8 + 4 + 8002 + 4);
    }

    #[test]
    fn a_long_batch_is_cut_into_packets() {
        let mut out = Vec::new();
        write_batch(&"x".repeat(5000), SESSION, &mut out).unwrap();
        assert_eq!(out[..4], [1, 0, 0x10, 0]);
        assert_eq!(out.len(), 10_022 + 3 * 8);
        assert_eq!(out[4096 * 2 + 1], END_OF_MESSAGE);
    }
}
