//! A cursor over tokens that may not be there to their end yet.

use crate::WireError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The end has not been received.
    Short,
    Wrong(WireError),
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Self {
        Self::Wrong(error)
    }
}

pub(super) type Parse<T> = Result<T, Trouble>;

/// Something that the grammar does not have.
pub(super) fn wrong<T>(what: &'static str) -> Parse<T> {
    Err(Trouble::Wrong(WireError::Protocol(what)))
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn pass(&mut self, count: usize) {
        self.at = (self.at + count).min(self.bytes.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The bytes that have been passed since `start`.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    pub(super) fn take(&mut self, count: usize) -> Parse<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or(Trouble::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(Trouble::Short)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Parse<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Trouble::Short)
    }

    pub(super) fn u8(&mut self) -> Parse<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Parse<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Parse<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Parse<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// "B_VARBYTE": a length in one byte, and that many bytes.
    pub(super) fn short_bytes(&mut self) -> Parse<&'a [u8]> {
        let count = self.u8()?;
        self.take(count.into())
    }

    /// "B_VARCHAR": a length in characters in one byte, and the characters.
    pub(super) fn short_text(&mut self) -> Parse<String> {
        let count = self.u8()?;
        self.take(2 * usize::from(count)).map(utf16)
    }

    /// "US_VARCHAR": a length in characters in two bytes, and the characters.
    pub(super) fn text(&mut self) -> Parse<String> {
        let count = self.u16()?;
        self.take(2 * usize::from(count)).map(utf16)
    }
}

/// UTF-16, little-endian.
pub(super) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// UTF-16, little-endian.
pub(super) fn write_utf16(text: &str, out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend(text.bytes().flat_map(|byte| [byte, 0]));
    } else {
        out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
}
