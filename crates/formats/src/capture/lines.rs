//! Lines of a log in bounded memory.

use std::io::{BufRead, Read as _};

/// Most bytes of a record that are kept.
pub const MAX_RECORD_BYTES: usize = 16 << 20;
const CHUNK_BYTES: u64 = 64 << 10;

/// The bytes of a record, as far as they are kept.
#[derive(Debug, Default)]
pub struct RecordBytes {
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl RecordBytes {
    /// Empties the record, and gives back the memory of a long one.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.is_too_long = false;
        // One long record does not cost its memory for the rest of the log.
        self.bytes.shrink_to(CHUNK_BYTES as usize);
    }

    /// Whether bytes were left out because the record is too long.
    pub fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// The record's bytes, as far as it may grow.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds what was read of a line.
    pub fn push_line(&mut self, line: &RecordBytes) {
        self.push(line.bytes());
        self.is_too_long |= line.is_too_long;
    }

    /// Adds bytes as far as the record may grow.
    pub fn push(&mut self, more: &[u8]) {
        let free = MAX_RECORD_BYTES.saturating_sub(self.bytes.len());
        self.is_too_long |= more.len() > free;
        self.bytes.extend_from_slice(&more[..more.len().min(free)]);
    }

    /// Appends the next line, with its end, to what is there, and counts its quotation marks.
    /// `None` at the end of the text.
    pub fn read_line(&mut self, reader: &mut dyn BufRead) -> std::io::Result<Option<u64>> {
        let (mut chunk, mut quotes) = (Vec::new(), 0);
        loop {
            chunk.clear();
            let mut limited = (&mut *reader).take(CHUNK_BYTES);
            let read = limited.read_until(b'\n', &mut chunk)?;
            quotes += chunk.iter().filter(|byte| **byte == b'"').count() as u64;
            self.push(&chunk);
            if chunk.last() == Some(&b'\n') || read == 0 {
                return Ok((read > 0 || !self.bytes.is_empty()).then_some(quotes));
            }
        }
    }
}

/// Gives a line in memory without its end.
pub fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
