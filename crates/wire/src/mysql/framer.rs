//! Joins packets to payloads; skips unread ones.

use crate::{Limits, Result, WireError};

use super::packet::{HEADER_BYTES, MAX_PAYLOAD};

/// The head of a payload, by which rows are recognised before they are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// The first packet's length.
    pub(super) length: usize,
    /// The payload's first byte; none if it is empty.
    pub(super) first: Option<u8>,
}

/// The treatment of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    Skip,
    Keep,
}

pub(super) struct Payload<'a> {
    pub(super) bytes: &'a [u8],
    /// The number of its last packet.
    pub(super) sequence: u8,
}

/// The position in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The next byte begins a payload.
    Border,
    /// The next byte is in a packet of a payload, with `left` bytes to come.
    Inside { treatment: Treatment, left: usize, last: bool },
    /// The next byte begins a further packet of the same payload.
    Between { treatment: Treatment },
}

/// Cuts a scanner's stream into payloads.
#[derive(Debug)]
pub(super) struct Framer {
    message_bytes: u32,
    retained_bytes: u32,
    position: Position,
    /// Torn by the end of the input, or without the payload's first byte yet.
    header: [u8; HEADER_BYTES],
    header_len: usize,
    announced: u64,
    sequence: u8,
    /// A payload that did not lie in one piece in the input.
    partial: Vec<u8>,
    /// `partial` was handed out whole; the next call drops it.
    delivered: bool,
}

enum Located<'i> {
    Input(&'i [u8]),
    Partial,
}

impl Framer {
    pub(super) fn new(message_bytes: u32, limits: Limits) -> Self {
        Self {
            message_bytes,
            retained_bytes: limits.retained_bytes,
            position: Position::Border,
            header: [0; HEADER_BYTES],
            header_len: 0,
            announced: 0,
            sequence: 0,
            partial: Vec::new(),
            delivered: false,
        }
    }

    /// Memory that the framer keeps.
    pub(super) fn memory_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Takes payloads from the front of `input` until `judge` keeps one. `None`: `input` is used up.
    #[inline]
    pub(super) fn next_payload<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        judge: impl FnMut(Head) -> Result<Treatment>,
    ) -> Result<Option<Payload<'a>>> {
        if self.delivered {
            self.release();
        }
        let located = self.locate(input, judge)?;
        let sequence = self.sequence;
        Ok(match located {
            None => None,
            Some(Located::Input(bytes)) => Some(Payload { bytes, sequence }),
            Some(Located::Partial) => Some(Payload { bytes: &self.partial, sequence }),
        })
    }

    /// Gives back the memory of the payload that was given out.
    #[cold]
    fn release(&mut self) {
        self.delivered = false;
        self.partial.clear();
        self.partial.shrink_to(self.retained_bytes as usize);
    }

    /// Finds the next payload that `judge` keeps: in `input`, or put together from pieces.
    #[inline]
    fn locate<'i>(
        &mut self,
        input: &mut &'i [u8],
        mut judge: impl FnMut(Head) -> Result<Treatment>,
    ) -> Result<Option<Located<'i>>> {
        loop {
            match self.position {
                Position::Border => {
                    if !self.fill_header(input) {
                        return Ok(None);
                    }
                    let length = self.payload_length();
                    if length > 0 && input.is_empty() {
                        return Ok(None);
                    }
                    let first = if length > 0 { input.first().copied() } else { None };
                    self.announced = 0;
                    self.open_packet()?;
                    let treatment = judge(Head { length, first })?;
                    let last = length < MAX_PAYLOAD;
                    match input.split_at_checked(length) {
                        Some((bytes, rest)) if last && treatment == Treatment::Keep => {
                            *input = rest;
                            return Ok(Some(Located::Input(bytes)));
                        }
                        _ => self.position = Position::Inside { treatment, left: length, last },
                    }
                }
                Position::Between { treatment } => {
                    if !self.fill_header(input) {
                        return Ok(None);
                    }
                    let length = self.payload_length();
                    self.open_packet()?;
                    self.position = Position::Inside { treatment, left: length, last: length < MAX_PAYLOAD };
                }
                Position::Inside { treatment, left, last } => {
                    let (now, rest) = input.split_at(input.len().min(left));
                    *input = rest;
                    if treatment == Treatment::Keep {
                        // Memory grows with received bytes, never with an announced length.
                        self.partial.extend_from_slice(now);
                    }
                    let left = left - now.len();
                    if left > 0 {
                        self.position = Position::Inside { treatment, left, last };
                        return Ok(None);
                    }
                    if !last {
                        self.position = Position::Between { treatment };
                        continue;
                    }
                    self.position = Position::Border;
                    if treatment == Treatment::Keep {
                        self.delivered = true;
                        return Ok(Some(Located::Partial));
                    }
                }
            }
        }
    }

    /// Fills the header from the input; `false` if it is not complete yet.
    #[inline]
    fn fill_header(&mut self, input: &mut &[u8]) -> bool {
        if self.header_len == 0
            && let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>()
        {
            self.header = *header;
            self.header_len = HEADER_BYTES;
            *input = rest;
            return true;
        }
        let (now, rest) = input.split_at(input.len().min(HEADER_BYTES - self.header_len));
        self.header[self.header_len..self.header_len + now.len()].copy_from_slice(now);
        self.header_len += now.len();
        *input = rest;
        self.header_len == HEADER_BYTES
    }

    /// The payload's length by the header.
    #[inline]
    fn payload_length(&self) -> usize {
        let [a, b, c, _] = self.header;
        u32::from_le_bytes([a, b, c, 0]) as usize
    }

    /// Begins the packet of the header that was read, if its payload is not too long.
    #[inline]
    fn open_packet(&mut self) -> Result<()> {
        self.announced += self.payload_length() as u64;
        self.sequence = self.header[3];
        self.header_len = 0;
        if self.announced > u64::from(self.message_bytes) {
            return Err(WireError::TooLarge {
                what: "a payload",
                length_bytes: self.announced,
                limit_bytes: self.message_bytes.into(),
            });
        }
        Ok(())
    }
}
