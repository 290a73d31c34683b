//! How a value is written as a parameter of a prepared statement.

use crate::Value;
use crate::value::Inline;

use super::{kind, packet};

pub(crate) struct Encoded<'a> {
    pub(crate) kind: u8,
    payload: Payload<'a>,
}

enum Payload<'a> {
    Null,
    Fixed(Inline),
    Bytes(&'a [u8]),
}

impl<'a> Encoded<'a> {
    /// The server converts to the column's type, so the value's type is enough.
    #[inline]
    pub(crate) fn new(value: Value<'a>) -> Self {
        let (kind, inline) = match value {
            Value::Null => return Self { kind: kind::NULL, payload: Payload::Null },
            Value::Text(text) => return Self { kind: kind::VAR_STRING, payload: Payload::Bytes(text.as_bytes()) },
            Value::Bytes(bytes) => return Self { kind: kind::BLOB, payload: Payload::Bytes(bytes) },
            Value::Bool(value) => (kind::TINY, Inline::new(&[u8::from(value)])),
            Value::Int(value) => (kind::LONGLONG, Inline::new(&value.to_le_bytes())),
            Value::Unsigned(value) => (kind::LONGLONG, Inline::new(&value.to_le_bytes())),
            Value::Float(value) => (kind::DOUBLE, Inline::new(&value.to_le_bytes())),
        };
        Self { kind, payload: Payload::Fixed(inline) }
    }

    /// The second byte of the type: the sign.
    pub(crate) fn type_flags(value: Value<'_>) -> u8 {
        if matches!(value, Value::Unsigned(_)) { 0x80 } else { 0 }
    }

    /// Appends the value; nothing for `NULL`.
    #[inline]
    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        match &self.payload {
            Payload::Null => {}
            Payload::Fixed(bytes) => out.extend_from_slice(bytes.as_slice()),
            Payload::Bytes(bytes) => packet::write_lenenc_bytes(out, bytes),
        }
    }
}
