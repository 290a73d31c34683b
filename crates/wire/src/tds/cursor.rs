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

    /// Number of bytes passed.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Passes over the next bytes.
    pub(super) fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.bytes.len());
    }

    /// Tests whether all was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The bytes that have been passed since `start`.
    pub(super) fn passed_since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    /// Takes the next bytes; `Short` if there are fewer.
    pub(super) fn take(&mut self, count: usize) -> Parse<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or(Trouble::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(Trouble::Short)?;
        self.at = end;
        Ok(taken)
    }

    /// Takes the next `N` bytes.
    pub(super) fn take_array<const N: usize>(&mut self) -> Parse<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Trouble::Short)
    }

    pub(super) fn take_u8(&mut self) -> Parse<u8> {
        Ok(self.take_array::<1>()?[0])
    }

    pub(super) fn take_u16(&mut self) -> Parse<u16> {
        self.take_array().map(u16::from_le_bytes)
    }

    pub(super) fn take_u32(&mut self) -> Parse<u32> {
        self.take_array().map(u32::from_le_bytes)
    }

    pub(super) fn take_u64(&mut self) -> Parse<u64> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// "B_VARBYTE": a length in one byte, and that many bytes.
    pub(super) fn short_bytes(&mut self) -> Parse<&'a [u8]> {
        let count = self.take_u8()?;
        self.take(count.into())
    }

    /// "B_VARCHAR": a length in characters in one byte, and the characters.
    pub(super) fn short_text(&mut self) -> Parse<String> {
        let count = self.take_u8()?;
        self.take(2 * usize::from(count)).map(decode_utf16)
    }

    /// Takes a "US_VARCHAR": a length in characters in two bytes, and the characters.
    pub(super) fn take_text(&mut self) -> Parse<String> {
        let count = self.take_u16()?;
        self.take(2 * usize::from(count)).map(decode_utf16)
    }
}

/// UTF-16, little-endian.
pub(super) fn decode_utf16(bytes: &[u8]) -> String {
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
