//! Descriptions of columns ("Protocol::ColumnDefinition41").

use crate::Result;
use crate::reader::Reader;

pub mod kind {
    /// `decimal` of old servers
    pub const DECIMAL: u8 = 0;
    /// `tinyint`
    pub const TINY: u8 = 1;
    /// `smallint`
    pub const SHORT: u8 = 2;
    /// `int`
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    /// `bigint`
    pub const LONGLONG: u8 = 8;
    /// `mediumint`
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    /// `decimal`
    pub const NEWDECIMAL: u8 = 246;
    pub const BLOB: u8 = 252;
    /// `varchar`, `varbinary`
    pub const VAR_STRING: u8 = 253;
}

/// The character set of bytes that are no characters.
const BINARY: u16 = 63;
const UNSIGNED_FLAG: u16 = 32;

/// The type by which a column's values are decoded; keep it with a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType {
    pub kind: u8,
    pub flags: u16,
    pub charset: u16,
}

impl ColumnType {
    pub fn is_unsigned(self) -> bool {
        self.flags & UNSIGNED_FLAG != 0
    }

    /// Tests whether the column holds bytes, not text.
    pub fn is_binary(self) -> bool {
        self.charset == BINARY
    }

    /// Tests whether the column holds numbers.
    pub fn is_number(self) -> bool {
        let numbers = [
            kind::DECIMAL,
            kind::TINY,
            kind::SHORT,
            kind::LONG,
            kind::FLOAT,
            kind::DOUBLE,
            kind::LONGLONG,
            kind::INT24,
            kind::YEAR,
            kind::NEWDECIMAL,
        ];
        numbers.contains(&self.kind)
    }
}

/// A column or a parameter as the server describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// The alias, if there is one.
    pub name: &'a [u8],
    pub column_type: ColumnType,
}

impl<'a> Column<'a> {
    /// Reads a column's definition.
    pub(crate) fn parse(payload: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        // Catalog, schema, table and the table's own name.
        for _ in 0..4 {
            reader.take_lenenc_text()?;
        }
        let name = reader.take_lenenc_text()?;
        let _own_name = reader.take_lenenc_text()?;
        let _fixed_length = reader.lenenc_int()?;
        let charset = reader.take_u16_le()?;
        let _length = reader.take_u32_le()?;
        let (kind, flags) = (reader.take_u8()?, reader.take_u16_le()?);
        let _decimals = reader.take_u8()?;
        Ok(Self { name, column_type: ColumnType { kind, flags, charset } })
    }
}
