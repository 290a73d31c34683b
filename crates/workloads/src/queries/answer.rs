//! Answers of queries in a form that two engines share: numbers as numbers, without the order of rows where the query gives none.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::rows::{Rows, Value};

/// Digits to which numbers are compared: engines add up floating-point numbers in different orders. Large numbers have more, so that
/// their first two decimals count.
const DIGITS: i32 = 9;
const MOST_DIGITS: i32 = 12;
/// Longer answers are compared by their digests alone, so that no row of them can be shown.
const MOST_KEPT_BYTES: usize = 16 << 20;
/// Rows of a query's parameters whose answers are kept.
const MOST_KEPT_ROWS: usize = 100;
/// Stands between the rows of two statements; no row of values is written so.
const NEXT_STATEMENT: &str = "the next statement";
/// Letters of a row that are shown.
const SHOWN: usize = 100;

/// A query's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    rows: usize,
    content: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// Each row as text.
    Rows(Vec<String>),
    /// The hash of an answer that is too long to be kept.
    Hash(u64),
}

/// The hash of rows that come one by one.
enum RunningHash {
    Ordered(Sha256),
    /// The sum of the rows' own hashes, which their order does not change.
    Sum(u64),
}

impl RunningHash {
    /// Begins a hash of rows; their order counts only if `is_ordered`.
    fn new(is_ordered: bool) -> RunningHash {
        if is_ordered { RunningHash::Ordered(Sha256::new()) } else { RunningHash::Sum(0) }
    }

    /// Adds a row's text to the hash.
    fn add_row(&mut self, row: &str) {
        match self {
            RunningHash::Ordered(hash) => {
                hash.update(row.as_bytes());
                hash.update(b"\n");
            }
            RunningHash::Sum(sum) => *sum = sum.wrapping_add(first_bits(Sha256::new().chain_update(row))),
        }
    }

    /// Ends the hash, and returns its first 64 bits, or the sum of the rows' hashes.
    fn finish(self) -> u64 {
        match self {
            RunningHash::Ordered(hash) => first_bits(hash),
            RunningHash::Sum(sum) => sum,
        }
    }
}

/// The first 64 bits of a hash.
fn first_bits(hash: Sha256) -> u64 {
    hash.finalize().iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

impl Answer {
    /// Makes the answer of a statement without rows.
    pub fn empty() -> Answer {
        Answer { rows: 0, content: Content::Rows(Vec::new()) }
    }

    /// Makes the answer of a statement that failed, the same for every error.
    pub fn failed() -> Answer {
        Answer { rows: 0, content: Content::Rows(vec!["failed".to_owned()]) }
    }

    /// Makes an answer of a query's rows, in a form that engines share; `is_ordered` says that their order counts.
    pub fn from_rows(found: &Rows, is_ordered: bool) -> Answer {
        let (mut count, mut bytes) = (0, 0);
        let mut kept = Vec::new();
        let mut long: Option<RunningHash> = None;
        for row in found.iter_rows() {
            let text = row_text(&row, found.number_columns());
            count += 1;
            bytes += text.len();
            match &mut long {
                Some(hash) => hash.add_row(&text),
                None => kept.push(text),
            }
            // Counted in the form that all engines share, so that an answer is long on all of them or on none.
            if long.is_none() && bytes > MOST_KEPT_BYTES {
                let mut hash = RunningHash::new(is_ordered);
                kept.drain(..).for_each(|text| hash.add_row(&text));
                long = Some(hash);
            }
        }
        if !is_ordered {
            kept.sort_unstable();
        }
        Answer { rows: count, content: long.map_or(Content::Rows(kept), |hash| Content::Hash(hash.finish())) }
    }

    /// Appends another statement's answer, so that the end of each can be seen.
    pub fn append_answer(&mut self, other: Answer) {
        self.rows += other.rows;
        match (&mut self.content, other.content) {
            (Content::Rows(rows), Content::Rows(more)) => {
                rows.push(NEXT_STATEMENT.to_owned());
                rows.extend(more);
            }
            (one, other) => {
                let both = [one.hash_bits(), other.hash_bits()].map(u64::to_le_bytes).concat();
                *one = Content::Hash(first_bits(Sha256::new().chain_update(both)));
            }
        }
    }

    /// Number of the answer's rows.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// Digest of the answer: the first 52 bits of a hash of all rows, which a float holds exactly.
    pub fn digest(&self) -> f64 {
        (self.content.hash_bits() >> 12) as f64
    }

    /// Describes how this answer differs from one that was given before; `None` if it does not.
    pub fn difference_from(&self, first: &Answer) -> Option<String> {
        let (here, there) = (self.rows, first.rows);
        let (Content::Rows(rows), Content::Rows(first_rows)) = (&self.content, &first.content) else {
            let differs = self.content.hash_bits() != first.content.hash_bits();
            let content = if here == there { " of another content".to_owned() } else { format!(" and not {there}") };
            return differs.then(|| format!("{here} rows{content}"));
        };
        let counts = if here == there { String::new() } else { format!("{here} rows and not {there}; ") };
        let at = rows.iter().zip(first_rows).position(|(one, other)| one != other);
        match at {
            Some(at) => Some(format!("{counts}{} and not {}", shorten_row(&rows[at]), shorten_row(&first_rows[at]))),
            None if rows.len() > first_rows.len() => {
                Some(format!("{counts}{} more", shorten_row(&rows[first_rows.len()])))
            }
            None if rows.len() < first_rows.len() => {
                Some(format!("{counts}without {}", shorten_row(&first_rows[rows.len()])))
            }
            None => None,
        }
    }

    /// Whether the answer's rows can be kept in `most_bytes`.
    fn fits_in(&self, most_bytes: usize) -> bool {
        match &self.content {
            Content::Rows(rows) => rows.iter().map(String::len).sum::<usize>() <= most_bytes,
            Content::Hash(_) => true,
        }
    }
}

impl Content {
    /// The first 64 bits of a hash of all rows.
    fn hash_bits(&self) -> u64 {
        match self {
            Content::Rows(rows) => {
                let mut hash = RunningHash::new(true);
                rows.iter().for_each(|row| hash.add_row(row));
                hash.finish()
            }
            Content::Hash(bits) => *bits,
        }
    }
}

/// Puts a row in brackets, cut to 100 characters.
fn shorten_row(row: &str) -> String {
    let end = row.char_indices().nth(SHOWN).map_or(row.len(), |(end, _)| end);
    let more = if end < row.len() { "…" } else { "" };
    format!("({}{more})", &row[..end])
}

/// Writes a row as text, with numbers as all engines write them.
fn row_text(row: &[Value<'_>], numbers: Option<&[bool]>) -> String {
    let values = row.iter().enumerate().map(|(column, value)| {
        let is_number = numbers.map(|numbers| numbers.get(column).copied().unwrap_or_default());
        value_text(*value, is_number)
    });
    values.collect::<Vec<_>>().join(", ")
}

/// Writes a value as all engines have it: without blanks at its end, numbers rounded to 9 to 12 digits.
///
/// `is_number` says whether the column's texts are numbers; `None`: it is not known.
fn value_text(value: Value<'_>, is_number: Option<bool>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => number_text(number),
        Value::Text(bytes) => {
            let Ok(text) = std::str::from_utf8(bytes) else { return format!("x'{}'", hexadecimal(bytes)) };
            let text = text.trim_end_matches(' ');
            match text.parse::<f64>() {
                _ if is_whole(text) => text.to_owned(),
                Ok(number) if number.is_finite() && is_number.unwrap_or_else(|| looks_like_number(text)) => {
                    number_text(number)
                }
                _ => format!("'{}'", text.replace('\'', "''")),
            }
        }
    }
}

/// Writes bytes as hexadecimal digits.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text is written as engines write numbers: `0.5` and `1e+20`, and not `00.5`.
fn looks_like_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !(digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a text is a whole number as engines write it.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_zero_in_front = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !has_zero_in_front && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Writes a number rounded to `DIGITS` digits, up to `MOST_DIGITS` if it is large, as its shortest text.
fn number_text(number: f64) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    let before_point = number.abs().max(1.0).log10().floor() as i32 + 1;
    let digits = (before_point + 2).clamp(DIGITS, MOST_DIGITS);
    // The shortest text of the rounded number: of 1.50 and 1.5 the same.
    let rounded: f64 = format!("{number:.*e}", digits as usize - 1).parse().unwrap_or(number);
    if rounded == 0.0 { "0".to_owned() } else { rounded.to_string() }
}

/// The first answer to each query of an experiment, whichever system gave it: all others are compared with it.
#[derive(Debug, Default)]
pub struct FirstAnswers(Mutex<BTreeMap<AskedQuery, Known>>);

/// What was asked: the benchmark's files, the query, and the row of its parameters.
type AskedQuery = (String, String, usize);

#[derive(Debug)]
struct Known {
    digest: f64,
    /// `None` if it is too long to be kept.
    answer: Option<Answer>,
}

impl FirstAnswers {
    /// Compares an answer with the first to the same query and row of parameters, or keeps it as the first.
    ///
    /// # Errors
    /// How they differ.
    pub fn compare_with_first(&self, files: &str, query: &str, row: usize, answer: &Answer) -> Result<(), String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = answer.digest();
        let asked = (files.to_owned(), query.to_owned(), row);
        match known.get(&asked) {
            Some(first) if first.digest == digest => Ok(()),
            Some(first) => {
                let difference = first.answer.as_ref().and_then(|first| answer.difference_from(first));
                Err(difference.unwrap_or_else(|| format!("{} rows of another content", answer.row_count())))
            }
            None => {
                // Those of many rows of parameters would fill the memory.
                let most_bytes = if row < MOST_KEPT_ROWS { MOST_KEPT_BYTES } else { 0 };
                let kept = answer.fits_in(most_bytes).then(|| answer.clone());
                known.insert(asked, Known { digest, answer: kept });
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value<'_> {
        Value::Text(text.as_bytes())
    }

    fn read(rows: &[Vec<Value<'_>>], is_ordered: bool) -> Answer {
        let mut found = Rows::default();
        rows.iter().for_each(|row| found.push_row(row.iter().copied()));
        Answer::from_rows(&found, is_ordered)
    }

    fn answer(rows: &[Vec<Value<'_>>]) -> Answer {
        read(rows, false)
    }

    fn ordered(rows: &[Vec<Value<'_>>]) -> Answer {
        read(rows, true)
    }

    #[test]
    fn engines_write_one_value_in_several_ways() {
        for (one, other) in [
            (Value::Int(7), text("7")),
            (Value::Double(1.5), text("1.500")),
            (Value::Double(0.1 + 0.2), text("0.3")),
            (text("abc  "), text("abc")),
            (text("12345678901.0"), Value::Int(12_345_678_901)),
            (text("123456789.25"), Value::Double(123_456_789.250_000_01)),
            (text("-0.0"), Value::Int(0)),
            (Value::Double(f64::INFINITY), Value::Double(f64::INFINITY)),
        ] {
            assert_eq!(value_text(one, None), value_text(other, None));
        }
        for (one, other) in [
            (Value::Null, text("NULL")),
            (Value::Int(9_007_199_254_740_993), Value::Int(9_007_199_254_740_992)),
            (text("007"), text("7")),
            (text("inf"), text("infinity")),
            (Value::Double(1.0), Value::Double(1.000_001)),
            (text("12345678901.25"), text("12345678903.75")),
            (text("1764425000.25"), text("1764425000.26")),
            (text("a\n"), text("a")),
            (text("a\u{a0}"), text("a")),
            (Value::Text(b"\xfe"), Value::Text(b"\xff")),
        ] {
            assert_ne!(value_text(one, None), value_text(other, None));
        }
    }

    #[test]
    fn texts_that_look_like_numbers_are_compared_as_their_column_says() {
        let [as_number, as_text] = [Some(true), Some(false)];
        for (one, other, is_one_number) in [
            ("1.10", "1.1", true),
            ("1e3", "1000.0", true),
            ("0.123456789012", "0.123456789013", true),
            ("00401234567101", "00401234567107", false),
            ("0001.0", "1", false),
        ] {
            let values = |is_number| (value_text(text(one), is_number), value_text(text(other), is_number));
            let ((a, b), (c, d)) = (values(as_text), values(as_number));
            assert!(a != b && (c == d || !is_one_number), "{one} {other}: {a} {b} {c} {d}");
            let (a, b) = values(None);
            assert_eq!(a == b, is_one_number, "{one} {other}");
        }
        assert_ne!(
            row_text(&[text("a"), text("b")], None),
            row_text(&[text("a', 'b")], None),
            "two columns are not one"
        );
    }

    #[test]
    fn rows_have_an_order_where_the_query_gives_one() {
        let (one, two) = (vec![Value::Int(1)], vec![Value::Int(2)]);
        let there = [one.clone(), two.clone()];
        let back = [two, one];
        assert_eq!(answer(&there).digest(), answer(&back).digest());
        assert_ne!(ordered(&there).digest(), ordered(&back).digest());
    }

    #[test]
    fn an_answer_that_is_too_long_to_be_kept_is_compared_by_its_hash() {
        let texts: Vec<String> = (0..5).map(|n| n.to_string().repeat(MOST_KEPT_BYTES / 4)).collect();
        let there: Vec<Vec<Value<'_>>> = texts.iter().map(|one| vec![text(one)]).collect();
        let back: Vec<Vec<Value<'_>>> = there.iter().rev().cloned().collect();
        assert_eq!(answer(&there), answer(&back));
        assert_ne!(ordered(&there), ordered(&back));
        let mut other = there.clone();
        other[3] = vec![text("x")];
        assert_eq!(answer(&there).difference_from(&answer(&back)), None);
        assert_eq!(answer(&other).difference_from(&answer(&there)), Some("5 rows of another content".to_owned()));
        assert_eq!(answer(&there[..1]).difference_from(&answer(&there)), Some("1 rows and not 5".to_owned()));
        let mut both = answer(&there[..1]);
        both.append_answer(answer(&there));
        assert_eq!((both.row_count(), both.digest() == answer(&there).digest()), (6, false));
    }

    #[test]
    fn a_row_of_one_statement_is_none_of_the_next() {
        let [one, two] = [vec![Value::Int(1)], vec![Value::Int(2)]];
        let joined = |first: &[Vec<Value<'_>>], second: &[Vec<Value<'_>>]| {
            let mut both = answer(first);
            both.append_answer(answer(second));
            both
        };
        let there = joined(&[one.clone(), two.clone()], &[]);
        let here = joined(&[one], &[two]);
        assert_ne!(here.digest(), there.digest());
        assert_eq!(here.difference_from(&there), Some("(the next statement) and not (2)".to_owned()));
    }

    #[test]
    fn the_first_row_that_differs_is_shown() {
        let first = answer(&[vec![Value::Int(1), text("a")], vec![Value::Int(2), text("b")]]);
        let known = FirstAnswers::default();
        assert_eq!(known.compare_with_first("sql", "q1", 0, &first), Ok(()));
        assert_eq!(known.compare_with_first("sql", "q1", 0, &first), Ok(()));
        let other = answer(&[vec![Value::Int(1), text("a")], vec![Value::Int(2), text("c")]]);
        assert_eq!(known.compare_with_first("sql", "q1", 0, &other), Err("(2, 'c') and not (2, 'b')".to_owned()));
        assert_eq!(known.compare_with_first("sql", "q2", 0, &other), Ok(()), "another query");
        assert_eq!(known.compare_with_first("sql", "q1", 1, &other), Ok(()), "other parameters");
        let short = answer(&[vec![Value::Int(1), text("a")]]);
        assert_eq!(
            known.compare_with_first("sql", "q1", 0, &short),
            Err("1 rows and not 2; without (2, 'b')".to_owned())
        );
        let empty = answer(&[]);
        assert_eq!(
            known.compare_with_first("sql", "q1", 0, &empty),
            Err("0 rows and not 2; without (1, 'a')".to_owned())
        );
    }
}
