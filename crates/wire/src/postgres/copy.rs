//! The data of `COPY … FROM STDIN` (55.2.6, and "COPY" in the SQL reference for the two formats).
//!
//! Both writers append `CopyData` messages of many rows; the caller sends the buffer when large enough, then
//! [`frontend::copy_done`], or [`frontend::copy_fail`] to give up.

use crate::value::Text;
use crate::{Result, Value, WireError};

use super::{frontend, param};

const BINARY_SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Appends one `CopyData` message with rows in the text format. On failure (also beyond 2 GiB) `out` is unchanged.
pub fn text_batch(out: &mut Vec<u8>, rows: impl FnOnce(&mut TextRows<'_>) -> Result<()>) -> Result<()> {
    batch(out, |out| rows(&mut TextRows { out }))
}

/// Appends one `CopyData` message with rows in the binary format, without the [`binary_header`] and [`binary_trailer`]
/// that enclose a `COPY`. `types` are the columns'.
pub fn binary_batch(
    out: &mut Vec<u8>,
    types: &[u32],
    rows: impl FnOnce(&mut BinaryRows<'_>) -> Result<()>,
) -> Result<()> {
    batch(out, |out| rows(&mut BinaryRows { out, types }))
}

/// Appends the `CopyData` message that opens binary data.
pub fn binary_header(out: &mut Vec<u8>) -> Result<()> {
    frontend::copy_data(BINARY_SIGNATURE, out)
}

/// Appends the `CopyData` message that ends binary data.
pub fn binary_trailer(out: &mut Vec<u8>) -> Result<()> {
    frontend::copy_data(&[255, 255], out)
}

fn batch(out: &mut Vec<u8>, rows: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.push(b'd');
    let done = frontend::framed(out, rows);
    if done.is_err() {
        out.truncate(start);
    }
    done
}

#[derive(Debug)]
pub struct TextRows<'o> {
    out: &'o mut Vec<u8>,
}

impl TextRows<'_> {
    pub fn row(&mut self, values: &[Value<'_>]) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(b'\t');
            }
            match *value {
                // The text form of bytea: hexadecimal, its backslash escaped once more.
                Value::Bytes(bytes) => {
                    self.out.extend_from_slice(b"\\\\x");
                    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                    self.out.extend(bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]));
                }
                value => match value.text() {
                    Text::Null => self.out.extend_from_slice(b"\\N"),
                    Text::Inline(text) => self.out.extend_from_slice(text.as_slice()),
                    Text::Borrowed(text) => self.escaped(text),
                },
            }
        }
        self.out.push(b'\n');
    }

    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.out.len()
    }

    fn escaped(&mut self, text: &[u8]) {
        let mut rest = text;
        let special = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r');
        while let Some(at) = rest.iter().position(special) {
            self.out.extend_from_slice(&rest[..at]);
            let escape = match rest[at] {
                b'\t' => b't',
                b'\n' => b'n',
                b'\r' => b'r',
                _ => b'\\',
            };
            self.out.extend_from_slice(&[b'\\', escape]);
            rest = &rest[at + 1..];
        }
        self.out.extend_from_slice(rest);
    }
}

#[derive(Debug)]
pub struct BinaryRows<'o> {
    out: &'o mut Vec<u8>,
    types: &'o [u32],
}

impl BinaryRows<'_> {
    pub fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        if values.len() != self.types.len() {
            return Err(WireError::ParameterCount { expected: self.types.len(), given: values.len() });
        }
        let count = i16::try_from(values.len()).map_err(|_| WireError::RequestTooLarge(values.len() as u64))?;
        self.out.extend_from_slice(&count.to_be_bytes());
        for (column, (&oid, &value)) in self.types.iter().zip(values).enumerate() {
            param::write_binary(column, oid, value, self.out)?;
        }
        Ok(())
    }

    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.out.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::oid;
    use super::*;

    #[test]
    fn text_rows_are_escaped() {
        let mut out = Vec::new();
        text_batch(&mut out, |rows| {
            rows.row(&[Value::Int(1), Value::Null, Value::Text("a\tb\\c\nd")]);
            rows.row(&[Value::Bytes(&[0, 255])]);
            Ok(())
        })
        .unwrap();
        assert_eq!(&out[5..], b"1\t\\N\ta\\tb\\\\c\\nd\n\\\\x00ff\n");
        assert_eq!(out[..5], [b'd', 0, 0, 0, out.len() as u8 - 1]);
    }

    #[test]
    fn binary_rows_take_only_what_has_a_binary_form() {
        let mut out = Vec::new();
        let types = [oid::INT4, oid::TEXT];
        binary_batch(&mut out, &types, |rows| rows.row(&[Value::Int(1), Value::Null])).unwrap();
        assert_eq!(&out[5..], b"\0\x02\0\0\0\x04\0\0\0\x01\xff\xff\xff\xff");
        let before = out.clone();
        let error = binary_batch(&mut out, &types, |rows| rows.row(&[Value::Text("1"), Value::Null])).unwrap_err();
        assert_eq!(error, WireError::NoBinaryForm { column: 0, type_id: oid::INT4 });
        assert_eq!(out, before);
    }
}
