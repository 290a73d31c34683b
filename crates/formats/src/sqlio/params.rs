//! The parameter file of `-F`: `<file> <threads> [<mask> [<size in MB>]]`, one pool of threads a line.

use std::fmt;

use crate::FormatError;
use crate::text::{numbered_lines, shorten};

use super::{MAX_NAME, MAX_THREADS};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamLine {
    /// The file; its name has no blanks.
    pub file: String,
    pub threads: u32,
    /// 0 for any processor.
    pub mask: u64,
    /// The size in MiB; `None` for the current size.
    pub size_mb: Option<u64>,
}

impl fmt::Display for ParamLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} 0x{:x}", self.file, self.threads, self.mask)?;
        self.size_mb.map_or(Ok(()), |size| write!(f, " {size}"))
    }
}

/// Parses a mask of processors, decimal or hexadecimal behind `0x`.
pub(super) fn parse_mask(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => whole_number(hex, 16),
        None => whole_number(text, 10),
    }
}

/// Parses a number of digits alone in this base.
fn whole_number(part: &str, radix: u32) -> Option<u64> {
    let is_number = part.chars().all(|c| c.is_digit(radix));
    if is_number { u64::from_str_radix(part, radix).ok() } else { None }
}

/// Parses a parameter file. Lines that begin with `#` and empty ones are left out.
///
/// # Errors
/// The error has the line and column of the first word that is wrong, or says that no line is left.
pub fn parse_params(text: &str) -> Result<Vec<ParamLine>, FormatError> {
    let mut lines = Vec::new();
    for (number, line) in numbered_lines(text.trim_start_matches('\u{feff}')) {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            lines.push(parse_line(number, line)?);
        }
    }
    if lines.is_empty() {
        return Err(FormatError::of_whole("the parameter file names no file")
            .with_hint("a line is: file, threads, mask, size in MB, as in `d:\\testfile.dat 4 0x0 5000`"));
    }
    Ok(lines)
}

struct Word<'a> {
    text: &'a str,
    column: usize,
}

/// Splits a line into words with their columns.
fn split_words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut column = 1;
    for part in line.split_inclusive(char::is_whitespace) {
        let text = part.trim_end();
        if !text.is_empty() {
            words.push(Word { text, column });
        }
        column += part.chars().count();
    }
    words
}

/// Parses a line: file, threads, mask, size in MB.
fn parse_line(line: u64, text: &str) -> Result<ParamLine, FormatError> {
    let words = split_words(text);
    let Some((file, rest)) = words.split_first() else {
        return Err(FormatError::at_line(line, "it is empty"));
    };
    if file.text.chars().count() > MAX_NAME {
        return Err(wrong_word(line, file, "the name is longer than 256 characters"));
    }
    let Some((threads, rest)) = rest.split_first() else {
        let error = FormatError::at_column(line, text.chars().count() + 1, "the number of threads is missing");
        return Err(error.with_hint("a line is: file, threads, mask, size in MB, as in `d:\\testfile.dat 4 0x0 5000`"));
    };
    let count = number_of_word(threads).ok_or_else(|| {
        let hint = "names cannot have blanks, and quotes do not help";
        wrong_word(line, threads, "this is no number of threads").with_hint(hint)
    })?;
    let count = u32::try_from(count).ok().filter(|n| (1..=MAX_THREADS).contains(n));
    let mut parsed = ParamLine {
        file: file.text.to_owned(),
        threads: count.ok_or_else(|| wrong_word(line, threads, "a line has 1 to 256 threads"))?,
        mask: 0,
        size_mb: None,
    };
    if let Some(word) = rest.first() {
        parsed.mask = parse_mask(word.text).ok_or_else(|| {
            let error = wrong_word(line, word, "this is no mask of processors");
            if word.text.contains('×') {
                error.with_hint("the sign × came out of a web page: write 0x0 with the letter x")
            } else {
                error.with_hint("decimal, or hexadecimal behind 0x; 0x0 for any processor")
            }
        })?;
    }
    if let Some(word) = rest.get(1) {
        let size = number_of_word(word).filter(|size| *size > 0);
        parsed.size_mb = Some(size.ok_or_else(|| wrong_word(line, word, "this is no size in MB"))?);
    }
    match rest.get(2) {
        Some(word) => {
            Err(wrong_word(line, word, "a line has four words at most").with_hint("names cannot have blanks"))
        }
        None => Ok(parsed),
    }
}

/// Makes the error at a word of a line.
fn wrong_word(line: u64, word: &Word<'_>, what: &str) -> FormatError {
    FormatError::at_column(line, word.column, format!("{}: {what}", shorten(word.text)))
}

/// Parses the number that a word is; `None` if it does not begin with a digit or is none.
fn number_of_word(word: &Word<'_>) -> Option<u64> {
    if word.text.starts_with(char::is_numeric) { word.text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_articles_files_are_read() {
        let text = "# many threads\r\n\r\nD:\\testfile.dat 24 0x0 5000\r\n  e:\\b.dat\t1\n#x\nf 2 255\n";
        let lines = parse_params(text).unwrap();
        assert_eq!(
            lines,
            [
                param_line("D:\\testfile.dat", 24, 0, Some(5000)),
                param_line("e:\\b.dat", 1, 0, None),
                param_line("f", 2, 255, None)
            ]
        );
    }

    fn param_line(file: &str, threads: u32, mask: u64, size_mb: Option<u64>) -> ParamLine {
        ParamLine { file: file.to_owned(), threads, mask, size_mb }
    }

    #[test]
    fn a_bad_line_is_named_with_its_place() {
        for (text, message) in [
            ("", "the parameter file names no file"),
            ("# only\n", "the parameter file names no file"),
            ("a.dat", "line 1, column 6: the number of threads is missing"),
            ("x 1\nC:\\my file.dat 4", "line 2, column 7: file.dat: this is no number of threads"),
            ("a 0", "line 1, column 3: 0: a line has 1 to 256 threads"),
            ("a 257", "line 1, column 3: 257: a line has 1 to 256 threads"),
            ("a -1", "line 1, column 3: -1: this is no number of threads"),
            ("a 24 0×0 5000", "line 1, column 6: 0×0: this is no mask of processors"),
            ("a 24 0x0 5GB", "line 1, column 10: 5GB: this is no size in MB"),
            ("a 24 0x0 0", "line 1, column 10: 0: this is no size in MB"),
            ("a 24 0x0 5 6", "line 1, column 12: 6: a line has four words at most"),
        ] {
            assert_eq!(parse_params(text).unwrap_err().to_string(), message, "{text:?}");
        }
        assert!(parse_params("a 2 0×0").unwrap_err().hint().unwrap().contains("×"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            file in "[!-~&&[^#]][!-~]{0,30}",
            threads in 1..=MAX_THREADS,
            mask: u64,
            size_mb in proptest::option::of(1..u64::MAX),
        ) {
            let line = ParamLine { file, threads, mask, size_mb };
            prop_assert_eq!(parse_params(&line.to_string()).unwrap(), vec![line]);
        }

        #[test]
        fn nothing_makes_it_panic(text in "(\\PC|\n|\t){0,200}") {
            let _ = parse_params(&text);
        }
    }
}
