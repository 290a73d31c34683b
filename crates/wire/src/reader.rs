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

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(WireError::malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(WireError::malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16_be(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i32_be(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn u32_be(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u16_le(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32_le(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The NUL is consumed too.
    pub(crate) fn until_nul(&mut self) -> Result<&'a [u8]> {
        let len = self.rest.iter().position(|&byte| byte == 0).ok_or_else(WireError::malformed)?;
        let taken = self.take(len)?;
        self.rest = &self.rest[1..];
        Ok(taken)
    }

    /// A length-encoded integer of MySQL ("Protocol::LengthEncodedInteger"). `None` is the mark of `NULL`.
    #[inline]
    pub(crate) fn lenenc(&mut self) -> Result<Option<u64>> {
        Ok(Some(match self.u8()? {
            small @ 0..=0xfa => small.into(),
            0xfb => return Ok(None),
            0xfc => self.u16_le()?.into(),
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => self.array().map(u64::from_le_bytes)?,
            0xff => return Err(WireError::Protocol("0xff begins no length")),
        }))
    }

    /// A length-encoded integer that cannot be `NULL`.
    pub(crate) fn lenenc_int(&mut self) -> Result<u64> {
        self.lenenc()?.ok_or(WireError::Protocol("NULL stands where a number must"))
    }

    #[inline]
    pub(crate) fn lenenc_bytes(&mut self) -> Result<Option<&'a [u8]>> {
        match self.lenenc()? {
            None => Ok(None),
            Some(length) => self.take(usize::try_from(length).map_err(|_| WireError::malformed())?).map(Some),
        }
    }

    pub(crate) fn lenenc_text(&mut self) -> Result<&'a [u8]> {
        self.lenenc_bytes()?.ok_or(WireError::Protocol("NULL stands where a text must"))
    }
}
