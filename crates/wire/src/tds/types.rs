//! "TYPE_INFO" and columns.

use super::cursor::{Cursor, Parse, wrong};

pub mod kind {
    pub const NULL: u8 = 0x1f;
    pub const INT1: u8 = 0x30;
    pub const BIT: u8 = 0x32;
    pub const INT2: u8 = 0x34;
    pub const INT4: u8 = 0x38;
    pub const DATETIME4: u8 = 0x3a;
    pub const FLT4: u8 = 0x3b;
    pub const MONEY: u8 = 0x3c;
    pub const DATETIME: u8 = 0x3d;
    pub const FLT8: u8 = 0x3e;
    pub const MONEY4: u8 = 0x7a;
    pub const INT8: u8 = 0x7f;
    pub const GUID: u8 = 0x24;
    pub const INTN: u8 = 0x26;
    pub const DATEN: u8 = 0x28;
    pub const TIMEN: u8 = 0x29;
    pub const DATETIME2N: u8 = 0x2a;
    pub const DATETIMEOFFSETN: u8 = 0x2b;
    pub const DECIMAL: u8 = 0x37;
    pub const NUMERIC: u8 = 0x3f;
    pub const BITN: u8 = 0x68;
    pub const DECIMALN: u8 = 0x6a;
    pub const NUMERICN: u8 = 0x6c;
    pub const FLTN: u8 = 0x6d;
    pub const MONEYN: u8 = 0x6e;
    pub const DATETIMN: u8 = 0x6f;
    pub const VARBINARY: u8 = 0x25;
    pub const VARCHAR: u8 = 0x27;
    pub const BINARY: u8 = 0x2d;
    pub const CHAR: u8 = 0x2f;
    pub const BIGVARBINARY: u8 = 0xa5;
    pub const BIGVARCHAR: u8 = 0xa7;
    pub const BIGBINARY: u8 = 0xad;
    pub const BIGCHAR: u8 = 0xaf;
    pub const NVARCHAR: u8 = 0xe7;
    pub const NCHAR: u8 = 0xef;
    pub const UDT: u8 = 0xf0;
    pub const XML: u8 = 0xf1;
    pub const JSON: u8 = 0xf4;
    pub const TEXT: u8 = 0x23;
    pub const IMAGE: u8 = 0x22;
    pub const NTEXT: u8 = 0x63;
    pub const VARIANT: u8 = 0x62;
}

/// The length that stands for "in parts" ("PLP").
pub(super) const IN_PARTS: u32 = 0xffff;

/// How a value's bytes are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A fixed number of bytes.
    Fixed(usize),
    /// A length in one byte; 0 is `NULL`.
    Byte,
    /// A length in two bytes; 0xffff is `NULL`.
    Short,
    /// A length in four bytes; 0 is `NULL`.
    Long,
    /// A pointer, a time stamp, and a length in four bytes; an empty pointer is `NULL`.
    Pointer,
    /// A total length in eight bytes, then parts with lengths in four, up to an empty one.
    Parts,
}

/// The type of a column or a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeInfo {
    pub id: u8,
    /// Largest length of a value; 65,535 is unlimited. 0 where the type has one length only.
    pub length_bytes: u32,
    /// Digits of a decimal.
    pub digits: u8,
    /// Digits behind the point, or of a second.
    pub scale: u8,
    pub collation: [u8; 5],
}

/// A value's bytes, not looked at.
pub(super) enum Raw<'a> {
    Null,
    Whole(&'a [u8]),
    /// Parts with their lengths.
    Parts(&'a [u8]),
}

impl TypeInfo {
    pub(super) fn new(id: u8) -> Self {
        Self { id, length_bytes: 0, digits: 0, scale: 0, collation: [0; 5] }
    }

    /// Reads a type.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Parse<Self> {
        let id = cursor.take_u8()?;
        let mut info = Self::new(id);
        match id {
            kind::NULL | kind::INT1 | kind::BIT | kind::INT2 | kind::INT4 | kind::DATETIME4 | kind::FLT4 => {}
            kind::MONEY | kind::DATETIME | kind::FLT8 | kind::MONEY4 | kind::INT8 | kind::DATEN => {}
            kind::TIMEN | kind::DATETIME2N | kind::DATETIMEOFFSETN => info.scale = cursor.take_u8()?,
            kind::GUID | kind::INTN | kind::BITN | kind::FLTN | kind::MONEYN | kind::DATETIMN => {
                info.length_bytes = cursor.take_u8()?.into();
            }
            kind::VARBINARY | kind::VARCHAR | kind::BINARY | kind::CHAR => info.length_bytes = cursor.take_u8()?.into(),
            kind::DECIMAL | kind::NUMERIC | kind::DECIMALN | kind::NUMERICN => {
                info.length_bytes = cursor.take_u8()?.into();
                info.digits = cursor.take_u8()?;
                info.scale = cursor.take_u8()?;
            }
            kind::BIGVARBINARY | kind::BIGBINARY => info.length_bytes = cursor.take_u16()?.into(),
            kind::BIGVARCHAR | kind::BIGCHAR | kind::NVARCHAR | kind::NCHAR => {
                info.length_bytes = cursor.take_u16()?.into();
                info.collation = cursor.take_array()?;
            }
            kind::UDT => {
                info.length_bytes = cursor.take_u16()?.into();
                for _ in 0..3 {
                    cursor.short_text()?;
                }
                cursor.take_text()?;
            }
            kind::XML => {
                if cursor.take_u8()? != 0 {
                    cursor.short_text()?;
                    cursor.short_text()?;
                    cursor.take_text()?;
                }
            }
            kind::JSON => {}
            kind::TEXT | kind::NTEXT => {
                info.length_bytes = cursor.take_u32()?;
                info.collation = cursor.take_array()?;
            }
            kind::IMAGE | kind::VARIANT => info.length_bytes = cursor.take_u32()?,
            _ => return wrong("a column is of a type that the protocol does not have"),
        }
        Ok(info)
    }

    /// How values of the type are framed.
    pub(super) fn framing(&self) -> Framing {
        match self.id {
            kind::NULL => Framing::Fixed(0),
            kind::INT1 | kind::BIT => Framing::Fixed(1),
            kind::INT2 => Framing::Fixed(2),
            kind::INT4 | kind::DATETIME4 | kind::FLT4 | kind::MONEY4 => Framing::Fixed(4),
            kind::MONEY | kind::DATETIME | kind::FLT8 | kind::INT8 => Framing::Fixed(8),
            kind::UDT | kind::XML | kind::JSON => Framing::Parts,
            kind::BIGVARBINARY | kind::BIGVARCHAR | kind::NVARCHAR if self.length_bytes == IN_PARTS => Framing::Parts,
            kind::BIGVARBINARY | kind::BIGBINARY | kind::BIGVARCHAR | kind::BIGCHAR => Framing::Short,
            kind::NVARCHAR | kind::NCHAR => Framing::Short,
            kind::TEXT | kind::NTEXT | kind::IMAGE => Framing::Pointer,
            kind::VARIANT => Framing::Long,
            _ => Framing::Byte,
        }
    }

    /// Takes the bytes of a value of this type.
    pub(super) fn take_raw<'a>(&self, cursor: &mut Cursor<'a>) -> Parse<Raw<'a>> {
        let count = match self.framing() {
            Framing::Fixed(0) => return Ok(Raw::Null),
            Framing::Fixed(count) => count,
            Framing::Byte => match cursor.take_u8()? {
                0 if !matches!(self.id, kind::VARCHAR | kind::CHAR) => return Ok(Raw::Null),
                count => count.into(),
            },
            Framing::Short => match cursor.take_u16()? {
                u16::MAX => return Ok(Raw::Null),
                count => count.into(),
            },
            Framing::Long => match cursor.take_u32()? {
                0 => return Ok(Raw::Null),
                count => count as usize,
            },
            Framing::Pointer => {
                if cursor.short_bytes()?.is_empty() {
                    return Ok(Raw::Null);
                }
                cursor.take(8)?;
                cursor.take_u32()? as usize
            }
            Framing::Parts => {
                if cursor.take_u64()? == u64::MAX {
                    return Ok(Raw::Null);
                }
                let start = cursor.position();
                while take_part(cursor)?.is_some() {}
                return Ok(Raw::Parts(cursor.passed_since(start)));
            }
        };
        cursor.take(count).map(Raw::Whole)
    }
}

/// Takes the next part of a long value; `None` at its end.
pub(super) fn take_part<'a>(cursor: &mut Cursor<'a>) -> Parse<Option<&'a [u8]>> {
    match cursor.take_u32()? {
        0 => Ok(None),
        count => cursor.take(count as usize).map(Some),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Empty if unnamed.
    pub name: String,
    pub info: TypeInfo,
    pub flags: u16,
}

impl Column {
    /// Reads a column's description.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Parse<Self> {
        cursor.take_u32()?;
        let flags = cursor.take_u16()?;
        let info = TypeInfo::parse(cursor)?;
        if matches!(info.id, kind::TEXT | kind::NTEXT | kind::IMAGE) {
            for _ in 0..cursor.take_u8()? {
                cursor.take_text()?;
            }
        }
        Ok(Self { name: cursor.short_text()?, info, flags })
    }
}
