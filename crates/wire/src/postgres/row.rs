//! Rows and descriptions, decoded only when somebody asks.

use crate::reader::Reader;
use crate::{Result, Value, WireError};

use super::{Format, oid};

/// A `DataRow`, its lengths checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    columns: u16,
    body: &'a [u8],
}

impl<'a> Row<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let columns = reader.u16_be()?;
        let row = Self { columns, body: reader.rest() };
        for _ in 0..columns {
            column(&mut reader)?;
        }
        if reader.is_empty() { Ok(row) } else { Err(WireError::Protocol("a row is longer than its columns")) }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(self.body);
        (0..self.columns).map_while(move |_| column(&mut reader).ok())
    }

    /// Counted from 0. The outer `None`: no such column.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Option<&'a [u8]>> {
        self.iter().nth(index)
    }
}

fn column<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>> {
    match reader.i32_be()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| WireError::Protocol("a column has a negative length"))?;
            reader.take(length).map(Some)
        }
    }
}

/// What a column is (55.7, "RowDescription").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    pub name: &'a [u8],
    /// 0 if none.
    pub table_oid: u32,
    /// Column number in that table, or 0.
    pub attribute: i16,
    pub type_oid: u32,
    /// Negative: variable.
    pub type_size: i16,
    pub type_modifier: i32,
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields<'a> {
    columns: u16,
    body: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let columns = reader.u16_be()?;
        let fields = Self { columns, body: reader.rest() };
        for _ in 0..columns {
            field(&mut reader)?;
        }
        Ok(fields)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let mut reader = Reader::new(self.body);
        (0..self.columns).map_while(move |_| field(&mut reader).ok())
    }
}

fn field<'a>(reader: &mut Reader<'a>) -> Result<Field<'a>> {
    Ok(Field {
        name: reader.until_nul()?,
        table_oid: reader.u32_be()?,
        attribute: reader.i16_be()?,
        type_oid: reader.u32_be()?,
        type_size: reader.i16_be()?,
        type_modifier: reader.i32_be()?,
        format: Format::from_code(reader.i16_be()?)?,
    })
}

/// The types of a statement's parameters (55.7, "ParameterDescription").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterTypes<'a>(&'a [u8]);

impl<'a> ParameterTypes<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let count = usize::from(reader.u16_be()?);
        if reader.rest().len() == count * 4 {
            Ok(Self(reader.rest()))
        } else {
            Err(WireError::Protocol("ParameterDescription has the wrong length"))
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len() / 4
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The types' OIDs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || reader.u32_be().ok())
    }
}

/// Text stays text whatever its type; binary is read for integers, floats, `bool` and character types, and stays bytes
/// for others.
pub fn decode(bytes: Option<&[u8]>, type_oid: u32, format: Format) -> Result<Value<'_>> {
    let Some(bytes) = bytes else {
        return Ok(Value::Null);
    };
    let mut reader = Reader::new(bytes);
    let value = match (format, type_oid) {
        (Format::Text, _) => return text(bytes),
        (Format::Binary, oid) if oid::is_characters(oid) => return text(bytes),
        (Format::Binary, oid::INT2) => Value::Int(reader.i16_be()?.into()),
        (Format::Binary, oid::INT4) => Value::Int(reader.i32_be()?.into()),
        (Format::Binary, oid::OID) => Value::Int(reader.u32_be()?.into()),
        (Format::Binary, oid::INT8) => Value::Int(reader.array().map(i64::from_be_bytes)?),
        (Format::Binary, oid::FLOAT4) => Value::Float(reader.array().map(f32::from_be_bytes)?.into()),
        (Format::Binary, oid::FLOAT8) => Value::Float(reader.array().map(f64::from_be_bytes)?),
        (Format::Binary, oid::BOOL) => Value::Bool(reader.u8()? != 0),
        (Format::Binary, _) => return Ok(Value::Bytes(bytes)),
    };
    if reader.is_empty() { Ok(value) } else { Err(WireError::Protocol("a binary value is too long for its type")) }
}

fn text(bytes: &[u8]) -> Result<Value<'_>> {
    std::str::from_utf8(bytes).map(Value::Text).map_err(|_| WireError::Protocol("a text is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_give_their_columns() {
        let row = Row::parse(b"\0\x03\0\0\0\x01a\xff\xff\xff\xff\0\0\0\0").unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), [Some(&b"a"[..]), None, Some(b"")]);
        assert_eq!(row.get(1), Some(None));
        assert_eq!(row.get(3), None);
    }

    #[test]
    fn rows_that_lie_are_refused() {
        for body in
            [&b""[..], b"\0", b"\0\x01", b"\0\x01\0\0\0\x02a", b"\0\x01\xff\xff\xff\xfe", b"\0\0x", b"\xff\xff\0\0\0\0"]
        {
            assert!(Row::parse(body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn values_are_decoded_by_type_and_format() {
        let binary = |bytes, oid| decode(Some(bytes), oid, Format::Binary).unwrap();
        assert_eq!(binary(&[255, 254], oid::INT2), Value::Int(-2));
        assert_eq!(binary(&[0, 0, 1, 0], oid::INT4), Value::Int(256));
        assert_eq!(binary(&[0, 0, 0, 0, 0, 0, 0, 9], oid::INT8), Value::Int(9));
        assert_eq!(binary(b"x", oid::VARCHAR), Value::Text("x"));
        assert_eq!(decode(Some(b"12"), oid::INT4, Format::Text).unwrap(), Value::Text("12"));
        assert_eq!(decode(None, oid::INT4, Format::Binary).unwrap(), Value::Null);
        assert!(decode(Some(&[0; 5]), oid::INT4, Format::Binary).is_err());
    }
}
