//! Answers of queries in a form that two engines share: numbers as numbers, without the order of rows where the query gives none.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use load::datum::Datum;
use sha2::{Digest as _, Sha256};

use crate::session::TypedRows;

/// Digits to which numbers are compared: engines add up floating-point numbers in different orders.
const DIGITS: usize = 9;
/// Longer answers are compared by their digests alone, so that no row of them can be shown.
const MOST_KEPT_BYTES: usize = 16 << 20;
/// Rows of a query's parameters whose answers are kept.
const MOST_KEPT_ROWS: usize = 100;
/// Letters of a row that are shown.
const SHOWN: usize = 100;

/// The rows of a query's answer, each as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    rows: Vec<String>,
}

impl Answer {
    /// Reads the rows; `is_ordered` says that their order is part of the answer.
    pub fn from_rows(found: &TypedRows, is_ordered: bool) -> Answer {
        let TypedRows { rows, numbers } = found;
        let mut rows: Vec<String> = rows.iter().map(|row| row_text(row, numbers.as_deref())).collect();
        if !is_ordered {
            rows.sort_unstable();
        }
        Answer { rows }
    }

    /// The answers of several statements as one.
    pub fn join(&mut self, other: Answer) {
        self.rows.extend(other.rows);
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The first 52 bits of a hash of all rows, which a float holds exactly.
    pub fn digest(&self) -> f64 {
        let mut hash = Sha256::new();
        for row in &self.rows {
            hash.update(row.as_bytes());
            hash.update(b"\n");
        }
        let first = hash.finalize().iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        (first >> 12) as f64
    }

    /// How this answer differs from one that was given before, `None` if it does not.
    pub fn difference(&self, first: &Answer) -> Option<String> {
        let at = self.rows.iter().zip(&first.rows).position(|(one, other)| one != other);
        let (here, there) = (self.rows.len(), first.rows.len());
        let counts = if here == there { String::new() } else { format!("{here} rows and not {there}; ") };
        match at {
            Some(at) => Some(format!("{counts}{} and not {}", shown(&self.rows[at]), shown(&first.rows[at]))),
            None if here > there => Some(format!("{counts}{} more", shown(&self.rows[there]))),
            None if here < there => Some(format!("{counts}without {}", shown(&first.rows[here]))),
            None => None,
        }
    }

    fn bytes(&self) -> usize {
        self.rows.iter().map(String::len).sum()
    }
}

fn shown(row: &str) -> String {
    let end = row.char_indices().nth(SHOWN).map_or(row.len(), |(end, _)| end);
    let more = if end < row.len() { "…" } else { "" };
    format!("({}{more})", &row[..end])
}

fn row_text(row: &[Datum], numbers: Option<&[bool]>) -> String {
    let values = row.iter().enumerate().map(|(column, value)| {
        let is_number = numbers.map(|numbers| numbers.get(column).copied().unwrap_or_default());
        value_text(value, is_number)
    });
    values.collect::<Vec<_>>().join(", ")
}

/// A value as all engines have it: without blanks at its end, numbers to [`DIGITS`] digits. `is_number` says whether the column's
/// texts are numbers; `None`: it is not known.
fn value_text(value: &Datum, is_number: Option<bool>) -> String {
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Int(number) => number.to_string(),
        Datum::Double(number) => number_text(*number),
        Datum::Text(text) => {
            let text = text.trim_end();
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

/// Tells whether a text is written as engines write numbers: `0.5` and `1e+20`, and not `00.5`.
fn looks_like_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !(digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit()))
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_zero_in_front = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !has_zero_in_front && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn number_text(number: f64) -> String {
    // The shortest text of the rounded number: of 1.50 and 1.5 the same.
    let rounded: f64 = format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number);
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
    /// Compares an answer with the first to the same query, or keeps it as the first.
    ///
    /// # Errors
    /// How they differ.
    pub fn compare(&self, files: &str, query: &str, row: usize, answer: &Answer) -> Result<(), String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = answer.digest();
        let asked = (files.to_owned(), query.to_owned(), row);
        match known.get(&asked) {
            Some(first) if first.digest == digest => Ok(()),
            Some(first) => {
                let difference = first.answer.as_ref().and_then(|first| answer.difference(first));
                Err(difference.unwrap_or_else(|| format!("{} rows of another content", answer.rows())))
            }
            None => {
                // Those of many rows of parameters would fill the memory.
                let most_bytes = if row < MOST_KEPT_ROWS { MOST_KEPT_BYTES } else { 0 };
                let kept = (answer.bytes() <= most_bytes).then(|| answer.clone());
                known.insert(asked, Known { digest, answer: kept });
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Datum {
        Datum::Text(text.to_owned().into())
    }

    fn answer(rows: &[Vec<Datum>]) -> Answer {
        Answer::from_rows(&TypedRows { rows: rows.to_vec(), numbers: None }, false)
    }

    #[test]
    fn engines_write_one_value_in_several_ways() {
        for (one, other) in [
            (Datum::Int(7), text("7")),
            (Datum::Double(1.5), text("1.500")),
            (Datum::Double(0.1 + 0.2), text("0.3")),
            (text("abc  "), text("abc")),
            (text("-0.0"), Datum::Int(0)),
        ] {
            assert_eq!(value_text(&one, None), value_text(&other, None));
        }
        for (one, other) in [
            (Datum::Null, text("NULL")),
            (Datum::Int(9_007_199_254_740_993), Datum::Int(9_007_199_254_740_992)),
            (text("007"), text("7")),
            (text("inf"), text("infinity")),
            (Datum::Double(1.0), Datum::Double(1.000_001)),
        ] {
            assert_ne!(value_text(&one, None), value_text(&other, None));
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
            let values = |is_number| (value_text(&text(one), is_number), value_text(&text(other), is_number));
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

    fn ordered(rows: &[Vec<Datum>]) -> Answer {
        Answer::from_rows(&TypedRows { rows: rows.to_vec(), numbers: None }, true)
    }

    #[test]
    fn rows_have_an_order_where_the_query_gives_one() {
        let (one, two) = (vec![Datum::Int(1)], vec![Datum::Int(2)]);
        let there = [one.clone(), two.clone()];
        let back = [two, one];
        assert_eq!(answer(&there).digest(), answer(&back).digest());
        assert_ne!(ordered(&there).digest(), ordered(&back).digest());
    }

    #[test]
    fn the_first_row_that_differs_is_shown() {
        let first = answer(&[vec![Datum::Int(1), text("a")], vec![Datum::Int(2), text("b")]]);
        let known = FirstAnswers::default();
        assert_eq!(known.compare("sql", "q1", 0, &first), Ok(()));
        assert_eq!(known.compare("sql", "q1", 0, &first), Ok(()));
        let other = answer(&[vec![Datum::Int(1), text("a")], vec![Datum::Int(2), text("c")]]);
        assert_eq!(known.compare("sql", "q1", 0, &other), Err("(2, 'c') and not (2, 'b')".to_owned()));
        assert_eq!(known.compare("sql", "q2", 0, &other), Ok(()), "another query");
        assert_eq!(known.compare("sql", "q1", 1, &other), Ok(()), "other parameters");
        let short = answer(&[vec![Datum::Int(1), text("a")]]);
        assert_eq!(known.compare("sql", "q1", 0, &short), Err("1 rows and not 2; without (2, 'b')".to_owned()));
        let empty = answer(&[]);
        assert_eq!(known.compare("sql", "q1", 0, &empty), Err("0 rows and not 2; without (1, 'a')".to_owned()));
    }
}
