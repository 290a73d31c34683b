//! Reads from `CommandComplete` what was done.

use crate::{Result, WireError};

/// The tag of a completed command, such as `SELECT 3` or `INSERT 0 1` (55.7, "CommandComplete").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTag<'a>(&'a [u8]);

impl<'a> CommandTag<'a> {
    /// Reads a command tag, which ends in NUL.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self> {
        match body.split_last() {
            Some((0, tag)) => Ok(Self(tag)),
            _ => Err(WireError::Protocol("a command tag does not end in NUL")),
        }
    }

    /// Counts the rows that the command changed; 0 for `SELECT`, `FETCH` and others that return theirs.
    pub fn changed_rows(&self) -> u64 {
        if self.counts_changes() { self.row_count() } else { 0 }
    }

    /// Whether its count is of changed rows, if it has one.
    #[inline]
    pub(crate) fn counts_changes(&self) -> bool {
        matches!(self.0, [b'I', b'N', ..] | [b'U', b'P', ..] | [b'D' | b'M', b'E', ..] | [b'C', b'O', ..])
    }

    /// How many rows the command returned or changed; 0 for commands that count none.
    pub fn row_count(&self) -> u64 {
        let mut rows: u64 = 0;
        let mut power: u64 = 1;
        for &byte in self.0.iter().rev() {
            match byte {
                b'0'..=b'9' => {
                    rows = rows.saturating_add(power.saturating_mul(u64::from(byte - b'0')));
                    power = power.saturating_mul(10);
                }
                // The count is a word of its own, unlike the 8 of `x8`.
                b' ' => return rows,
                _ => return 0,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_last_word() {
        fn rows(tag: &[u8]) -> u64 {
            CommandTag::parse(tag).unwrap().row_count()
        }
        assert_eq!(rows(b"SELECT 3\0"), 3);
        assert_eq!(rows(b"INSERT 0 120\0"), 120);
        assert_eq!(rows(b"BEGIN\0"), 0);
        assert_eq!(rows(b"8\0"), 0);
        fn changed(tag: &[u8]) -> u64 {
            CommandTag::parse(tag).unwrap().changed_rows()
        }
        assert_eq!((changed(b"SELECT 3\0"), changed(b"FETCH 3\0"), changed(b"COMMIT\0")), (0, 0, 0));
        assert_eq!((changed(b"INSERT 0 120\0"), changed(b"UPDATE 2\0"), changed(b"DELETE 1\0")), (120, 2, 1));
        assert_eq!(rows(b"COPY 99999999999999999999999\0"), u64::MAX);
        assert!(CommandTag::parse(b"").is_err());
    }
}
