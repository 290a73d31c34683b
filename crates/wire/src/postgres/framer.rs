//! Cuts a stream into messages; skips unread ones.

use crate::{Limits, Result, WireError};

use super::Rows;

const HEADER_BYTES: usize = 5;

/// The messages that must be read; others may be skipped by their header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// All but rows that no one asked for.
    Events,
    /// The messages of which a [`Reply`](super::Reply) is made, and no others.
    Outcome,
}

pub(super) struct Frame<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
}

enum Located<'i> {
    Input { tag: u8, body: &'i [u8] },
    Partial,
}

/// Cuts a scanner's stream into messages.
#[derive(Debug)]
pub(super) struct Framer {
    limits: Limits,
    pub(super) rows: Rows,
    /// Since the count was last taken.
    pub(super) rows_skipped: u64,
    /// Bytes left of a skipped message.
    skip: usize,
    /// A torn message: header and the body so far.
    partial: Vec<u8>,
    /// `partial` was handed out whole; the next call drops it.
    delivered: bool,
}

impl Framer {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, rows: Rows::default(), rows_skipped: 0, skip: 0, partial: Vec::new(), delivered: false }
    }

    /// Memory that the framer keeps.
    pub(super) fn memory_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Takes the next message from the front of `input`, skipping those of no interest.
    #[inline]
    pub(super) fn next_frame<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        interest: Interest,
    ) -> Result<Option<Frame<'a>>> {
        if self.delivered {
            self.release();
        }
        Ok(match self.locate(input, interest)? {
            None => None,
            Some(Located::Input { tag, body }) => Some(Frame { tag, body }),
            Some(Located::Partial) => {
                let (&tag, body) = (&self.partial[0], &self.partial[HEADER_BYTES..]);
                Some(Frame { tag, body })
            }
        })
    }

    /// Gives back the memory of the message that was given out.
    #[cold]
    fn release(&mut self) {
        self.delivered = false;
        self.partial.clear();
        self.partial.shrink_to(self.limits.retained_bytes as usize);
    }

    /// Finds the next message: in `input`, or put together from pieces.
    #[inline]
    fn locate<'i>(&mut self, input: &mut &'i [u8], interest: Interest) -> Result<Option<Located<'i>>> {
        loop {
            if self.skip > 0 {
                let now = input.len().min(self.skip);
                *input = &input[now..];
                self.skip -= now;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            if !self.partial.is_empty() {
                match self.resume(input, interest)? {
                    Resumed::Whole => return Ok(Some(Located::Partial)),
                    Resumed::Torn => return Ok(None),
                    Resumed::Skipped => continue,
                }
            }
            let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>() else {
                self.keep_rest(input);
                return Ok(None);
            };
            let tag = header[0];
            let length = self.body_length(header)?;
            if self.skips_unread(tag, interest)? {
                *input = rest;
                self.skip = length;
                continue;
            }
            let Some((body, rest)) = rest.split_at_checked(length) else {
                self.keep_rest(input);
                return Ok(None);
            };
            *input = rest;
            return Ok(Some(Located::Input { tag, body }));
        }
    }

    /// Goes on with a message that was torn.
    #[cold]
    fn resume(&mut self, input: &mut &[u8], interest: Interest) -> Result<Resumed> {
        if self.partial.len() < HEADER_BYTES {
            self.fill_partial(input, HEADER_BYTES);
            let Some((header, _)) = self.partial.split_first_chunk::<HEADER_BYTES>() else {
                return Ok(Resumed::Torn);
            };
            let header = *header;
            let length = self.body_length(&header)?;
            if self.skips_unread(header[0], interest)? {
                self.partial.clear();
                self.skip = length;
                return Ok(Resumed::Skipped);
            }
        }
        let Some((header, _)) = self.partial.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(Resumed::Torn);
        };
        let total = HEADER_BYTES + self.body_length(header)?;
        self.fill_partial(input, total);
        self.delivered = self.partial.len() == total;
        Ok(if self.delivered { Resumed::Whole } else { Resumed::Torn })
    }

    /// Moves bytes from `input` until `partial` has `target`. Memory grows with received bytes, never with an
    /// announced length.
    fn fill_partial(&mut self, input: &mut &[u8], target: usize) {
        let (now, rest) = input.split_at(input.len().min(target - self.partial.len()));
        self.partial.extend_from_slice(now);
        *input = rest;
    }

    /// Keeps the torn rest of the input.
    fn keep_rest(&mut self, input: &mut &[u8]) {
        self.partial.extend_from_slice(input);
        *input = &[];
    }

    /// The body's length by the header.
    #[inline]
    fn body_length(&self, header: &[u8; HEADER_BYTES]) -> Result<usize> {
        let [_, length @ ..] = header;
        let length = u32::from_be_bytes(*length);
        // The length counts itself.
        match length.checked_sub(4) {
            None => Err(WireError::Protocol("a message is shorter than its own length field")),
            Some(_) if length > self.limits.message_bytes => Err(WireError::TooLarge {
                what: "a message",
                length_bytes: length.into(),
                limit_bytes: self.limits.message_bytes.into(),
            }),
            Some(body) => Ok(body as usize),
        }
    }

    /// Whether to skip the message unread. Counts rows.
    #[inline]
    fn skips_unread(&mut self, tag: u8, interest: Interest) -> Result<bool> {
        let skip_rows = interest == Interest::Outcome || self.rows == Rows::Skip;
        match tag {
            b'D' if skip_rows => {
                self.rows_skipped += 1;
                Ok(true)
            }
            b'd' => Ok(skip_rows),
            b'C' | b'Z' | b'E' | b'I' | b'G' | b'D' => Ok(false),
            b'1' | b'2' | b'3' | b's' | b'n' | b't' | b'T' | b'N' | b'S' | b'A' | b'H' | b'c' => {
                Ok(interest == Interest::Outcome)
            }
            _ => Err(WireError::Unexpected { tag, state: "waiting for a reply" }),
        }
    }
}

enum Resumed {
    Whole,
    Torn,
    Skipped,
}
