//! Rows and descriptions, decoded only on request.

use crate::reader::Reader;
use crate::{Result, WireError};

/// A `DataRow`, its lengths checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    columns: u16,
    body: &'a [u8],
}

impl<'a> Row<'a> {
    /// Reads a row.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let columns = reader.take_u16_be()?;
        let row = Self { columns, body: reader.unread() };
        for _ in 0..columns {
            take_column(&mut reader)?;
        }
        if reader.is_empty() { Ok(row) } else { Err(WireError::Protocol("a row is longer than its columns")) }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    /// Tests whether the row has no columns.
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// The columns' bytes in order; `None` is `NULL`.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(self.body);
        (0..self.columns).map_while(move |_| take_column(&mut reader).ok())
    }
}

/// Takes the next column.
fn take_column<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>> {
    match reader.take_i32_be()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| WireError::Protocol("a column has a negative length"))?;
            reader.take(length).map(Some)
        }
    }
}

/// The names and types of the columns (55.7, "RowDescription").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields<'a> {
    columns: u16,
    body: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads the description of a row.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let columns = reader.take_u16_be()?;
        let fields = Self { columns, body: reader.unread() };
        for _ in 0..columns {
            name_and_type(&mut reader)?;
        }
        Ok(fields)
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    /// Tests whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// The columns' names.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.names_and_types().map(|(name, _)| name)
    }

    /// The OID of each column's type.
    pub fn types(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.names_and_types().map(|(_, oid)| oid)
    }

    /// Name and type of each column.
    fn names_and_types(&self) -> impl Iterator<Item = (&'a [u8], u32)> + use<'a> {
        let mut reader = Reader::new(self.body);
        (0..self.columns).map_while(move |_| name_and_type(&mut reader).ok())
    }
}

fn name_and_type<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], u32)> {
    let name = reader.take_until_nul()?;
    // Table and attribute.
    reader.take(4 + 2)?;
    let oid = reader.take_u32_be()?;
    // The type's size and modifier, and the format.
    reader.take(2 + 4 + 2)?;
    Ok((name, oid))
}

/// The types of a statement's parameters (55.7, "ParameterDescription").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterTypes<'a>(&'a [u8]);

impl<'a> ParameterTypes<'a> {
    /// Reads the types of a statement's parameters.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let count = usize::from(reader.take_u16_be()?);
        if reader.unread().len() == count * 4 {
            Ok(Self(reader.unread()))
        } else {
            Err(WireError::Protocol("ParameterDescription has the wrong length"))
        }
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.0.len() / 4
    }

    /// Tests whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The types' OIDs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || reader.take_u32_be().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_give_their_columns() {
        let row = Row::parse(b"\0\x03\0\0\0\x01a\xff\xff\xff\xff\0\0\0\0").unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), [Some(&b"a"[..]), None, Some(b"")]);
    }

    #[test]
    fn rows_that_lie_are_refused() {
        for body in
            [&b""[..], b"\0", b"\0\x01", b"\0\x01\0\0\0\x02a", b"\0\x01\xff\xff\xff\xfe", b"\0\0x", b"\xff\xff\0\0\0\0"]
        {
            assert!(Row::parse(body).is_err(), "{body:?}");
        }
    }
}
