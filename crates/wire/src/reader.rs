//! A cursor over a message's body: every read is checked, none can panic.

use crate::{Result, WireError};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// What has not been read.
    pub(crate) fn unread(&self) -> &'a [u8] {
        self.rest
    }

    /// Tests whether all was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(WireError::malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes the next `N` bytes.
    pub(crate) fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(WireError::malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn take_u8(&mut self) -> Result<u8> {
        Ok(self.take_array::<1>()?[0])
    }

    pub(crate) fn take_u16_be(&mut self) -> Result<u16> {
        self.take_array().map(u16::from_be_bytes)
    }

    pub(crate) fn take_i32_be(&mut self) -> Result<i32> {
        self.take_array().map(i32::from_be_bytes)
    }

    pub(crate) fn take_u32_be(&mut self) -> Result<u32> {
        self.take_array().map(u32::from_be_bytes)
    }

    pub(crate) fn take_u16_le(&mut self) -> Result<u16> {
        self.take_array().map(u16::from_le_bytes)
    }

    pub(crate) fn take_u32_le(&mut self) -> Result<u32> {
        self.take_array().map(u32::from_le_bytes)
    }

    /// Takes the bytes up to a NUL, and the NUL.
    pub(crate) fn take_until_nul(&mut self) -> Result<&'a [u8]> {
        let len = self.rest.iter().position(|&byte| byte == 0).ok_or_else(WireError::malformed)?;
        let taken = self.take(len)?;
        self.rest = &self.rest[1..];
        Ok(taken)
    }

    /// Takes a length-encoded integer of MySQL ("Protocol::LengthEncodedInteger"). `None` is the mark of `NULL`.
    #[inline]
    pub(crate) fn take_lenenc(&mut self) -> Result<Option<u64>> {
        Ok(Some(match self.take_u8()? {
            small @ 0..=0xfa => small.into(),
            0xfb => return Ok(None),
            0xfc => self.take_u16_le()?.into(),
            0xfd => {
                let [a, b, c] = self.take_array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => self.take_array().map(u64::from_le_bytes)?,
            0xff => return Err(WireError::Protocol("0xff begins no length")),
        }))
    }

    /// A length-encoded integer that cannot be `NULL`.
    pub(crate) fn lenenc_int(&mut self) -> Result<u64> {
        self.take_lenenc()?.ok_or(WireError::Protocol("NULL stands where a number must"))
    }

    /// Takes bytes behind their length; `None` is `NULL`.
    #[inline]
    pub(crate) fn take_lenenc_bytes(&mut self) -> Result<Option<&'a [u8]>> {
        match self.take_lenenc()? {
            None => Ok(None),
            Some(length) => self.take(usize::try_from(length).map_err(|_| WireError::malformed())?).map(Some),
        }
    }

    /// Takes a text behind its length, which must not be `NULL`.
    pub(crate) fn take_lenenc_text(&mut self) -> Result<&'a [u8]> {
        self.take_lenenc_bytes()?.ok_or(WireError::Protocol("NULL stands where a text must"))
    }
}
