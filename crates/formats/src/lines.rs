//! Lines of a log, one at a time: memory does not grow with the log.

use std::io::{BufRead, Read as _};

use crate::FormatError;
use crate::text::shorten;

/// A file without line ends is no log.
pub const MAX_LINE_BYTES: u64 = 64 * 1024;

#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), number: 0 }
    }

    /// Reads the next line that is not blank, without its end and byte order mark, with its number from 1.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, FormatError> {
        loop {
            self.buffer.clear();
            let mut limited = (&mut self.reader).take(MAX_LINE_BYTES);
            let read = limited.read_until(b'\n', &mut self.buffer);
            let read = read.map_err(|source| FormatError::Read { line: self.number, source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if read as u64 == MAX_LINE_BYTES && self.buffer.last() != Some(&b'\n') {
                let what = format!("it is longer than {MAX_LINE_BYTES} bytes, which no line of such a log is");
                return Err(FormatError::at_line(self.number, what));
            }
            if self.buffer.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break;
            }
        }
        let bytes = match self.buffer.strip_prefix(&[0xEF, 0xBB, 0xBF]) {
            Some(rest) if self.number == 1 => rest,
            _ => &self.buffer,
        };
        match std::str::from_utf8(bytes) {
            Ok(line) => Ok(Some((self.number, line.trim_end_matches(['\r', '\n'])))),
            Err(_) => {
                let text = shorten(&String::from_utf8_lossy(bytes));
                Err(FormatError::at_line(self.number, format!("it is no UTF-8 text: {text}")))
            }
        }
    }
}

/// Reads each line with its number by `read`; the first error is the last item.
pub(crate) fn read_items<T>(
    reader: impl BufRead,
    mut read: impl FnMut(u64, &str) -> Result<T, FormatError>,
) -> impl Iterator<Item = Result<T, FormatError>> {
    let mut lines = Some(Lines::new(reader));
    std::iter::from_fn(move || {
        let line = lines.as_mut()?.next_line().transpose()?;
        let item = line.and_then(|(number, line)| read(number, line));
        if item.is_err() {
            lines = None;
        }
        Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_empty_lines_and_ends_are_cut() {
        let mut lines = Lines::new("\u{feff}a\r\n\n b\n".as_bytes());
        assert_eq!(lines.next_line().unwrap(), Some((1, "a")));
        assert_eq!(lines.next_line().unwrap(), Some((3, " b")));
        assert_eq!(lines.next_line().unwrap(), None);
    }

    #[test]
    fn a_line_without_end_costs_no_memory() {
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let error = Lines::new(endless).next_line().unwrap_err();
        assert_eq!(error.line_number(), Some(1));
    }
}
