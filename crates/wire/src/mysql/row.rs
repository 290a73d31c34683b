//! Rows, decoded only on request.

use crate::reader::Reader;
use crate::{Result, Value, WireError};

use super::{ColumnType, kind};

/// A row of a query's result: every column is text ("Text Resultset Row").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRow<'a> {
    columns: u64,
    payload: &'a [u8],
}

impl<'a> TextRow<'a> {
    /// Reads a row of the text protocol.
    pub(crate) fn parse(payload: &'a [u8], columns: u64) -> Result<Self> {
        let mut reader = Reader::new(payload);
        for _ in 0..columns {
            reader.take_lenenc_bytes()?;
        }
        if reader.is_empty() {
            Ok(Self { columns, payload })
        } else {
            Err(WireError::Protocol("a row is longer than its columns"))
        }
    }

    /// The columns' text in order; `None` is `NULL`.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(self.payload);
        (0..self.columns).map_while(move |_| reader.take_lenenc_bytes().ok())
    }
}

/// A row of a prepared statement's result ("Binary Protocol Resultset Row"). Decoding needs the columns' types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryRow<'a> {
    columns: usize,
    nulls: &'a [u8],
    values: &'a [u8],
}

/// The first two bits of the bitmap of `NULL`s in a row are unused.
const NULL_OFFSET: usize = 2;

impl<'a> BinaryRow<'a> {
    /// Reads a row of the binary protocol.
    pub(crate) fn parse(payload: &'a [u8], columns: u64) -> Result<Self> {
        let mut reader = Reader::new(payload);
        reader.take_u8()?;
        let columns = usize::try_from(columns).map_err(|_| WireError::malformed())?;
        let nulls = reader.take(columns.saturating_add(7 + NULL_OFFSET) / 8)?;
        Ok(Self { columns, nulls, values: reader.unread() })
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns
    }

    /// Tests whether the row has no columns.
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// Decodes all columns by the types of the result's columns, or of the prepared statement where the server did not
    /// send them again. Dates and times stay raw bytes (without their length). A row that does not match ends the
    /// iteration with [`WireError::Protocol`].
    pub fn values(&self, types: &[ColumnType]) -> impl Iterator<Item = Result<Value<'a>>> {
        let nulls = self.nulls;
        let mut reader = Reader::new(self.values);
        let mut broken = types.len() != self.columns;
        types.iter().enumerate().map_while(move |(index, &column)| {
            if broken && index > 0 {
                return None;
            }
            let bit = index + NULL_OFFSET;
            let is_null = nulls.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0);
            let value = match (broken, is_null) {
                (true, _) => Err(WireError::Protocol("a row has other columns than its statement")),
                (false, true) => Ok(Value::Null),
                (false, false) => decode_value(&mut reader, column),
            };
            broken |= value.is_err();
            Some(value)
        })
    }
}

/// Decodes the next value by its column's type.
fn decode_value<'a>(reader: &mut Reader<'a>, column: ColumnType) -> Result<Value<'a>> {
    let unsigned = column.is_unsigned();
    Ok(match column.kind {
        kind::NULL => Value::Null,
        kind::TINY => {
            let byte = reader.take_u8()?;
            Value::Int(if unsigned { byte.into() } else { (byte as i8).into() })
        }
        kind::SHORT | kind::YEAR => {
            let number = reader.take_u16_le()?;
            Value::Int(if unsigned { number.into() } else { (number as i16).into() })
        }
        kind::LONG | kind::INT24 => {
            let number = reader.take_u32_le()?;
            Value::Int(if unsigned { number.into() } else { (number as i32).into() })
        }
        kind::LONGLONG => {
            let number = reader.take_array().map(u64::from_le_bytes)?;
            match i64::try_from(number) {
                Err(_) if unsigned => Value::Unsigned(number),
                _ => Value::Int(number as i64),
            }
        }
        kind::FLOAT => Value::Float(reader.take_array().map(f32::from_le_bytes)?.into()),
        kind::DOUBLE => Value::Float(reader.take_array().map(f64::from_le_bytes)?),
        kind::DATE | kind::TIME | kind::DATETIME | kind::TIMESTAMP => {
            let length = reader.take_u8()?;
            Value::Bytes(reader.take(length.into())?)
        }
        kind => {
            let bytes = reader.take_lenenc_text()?;
            let is_text = kind == kind::NEWDECIMAL || kind == kind::DECIMAL || !column.is_binary();
            match std::str::from_utf8(bytes) {
                Ok(text) if is_text => Value::Text(text),
                _ => Value::Bytes(bytes),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, flags: u16) -> ColumnType {
        ColumnType { kind, flags, charset: 45 }
    }

    #[test]
    fn binary_rows_are_decoded_by_their_types() {
        let payload = [&[0, 0b1000, 0, 0xff, 0xff][..], &[0xff; 8], b"\x02hi"].concat();
        let types = [
            column(kind::TINY, 0),
            column(kind::LONG, 0),
            column(kind::TINY, 32),
            column(kind::LONGLONG, 32),
            column(kind::VAR_STRING, 0),
        ];
        // The bitmap's fourth bit is the second column.
        let payload = [&payload[..2], &payload[3..]].concat();
        let row = BinaryRow::parse(&payload, 5).unwrap();
        let values: Vec<_> = row.values(&types).map(Result::unwrap).collect();
        assert_eq!(
            values,
            [Value::Int(-1), Value::Null, Value::Int(255), Value::Unsigned(u64::MAX), Value::Text("hi")]
        );
        assert!(row.values(&types[..2]).next().unwrap().is_err());
        let wrong = [column(kind::LONGLONG, 0); 5];
        assert!(row.values(&wrong).any(|value| value.is_err()));
    }

    #[test]
    fn text_rows_give_their_columns() {
        let row = TextRow::parse(b"\x02ab\xfb\x00", 3).unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), [Some(&b"ab"[..]), None, Some(b"")]);
        assert!(TextRow::parse(b"\x02a", 1).is_err());
        assert!(TextRow::parse(b"\x01ab", 1).is_err());
        assert!(TextRow::parse(b"", u64::MAX).is_err());
    }
}
