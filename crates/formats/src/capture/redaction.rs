//! Values replaced by others that tell nothing: equal ones by equal ones.

use std::hash::{BuildHasher as _, RandomState};

/// Replaces values by a keyed digest. The key is drawn for one capture and kept nowhere.
#[derive(Debug, Default)]
pub struct Redaction {
    key: RandomState,
}

impl Redaction {
    /// Replaces the value of a parameter, or what is between a literal's quotation marks, by a keyed hash.
    fn redact_value(&self, value: &str) -> String {
        format!("r{:016x}", self.key.hash_one(value))
    }

    /// Replaces a literal: a number by a number, a string by a string, a comment by a blank.
    pub fn redact_literal(&self, literal: &str) -> String {
        match literal.as_bytes().first() {
            Some(b'-' | b'#' | b'/') => " ".to_owned(),
            Some(quote @ (b'\'' | b'"')) => {
                let quote = char::from(*quote);
                format!("{quote}{}{quote}", self.redact_value(literal.trim_matches(quote)))
            }
            Some(b'$') => {
                let tag = literal[1..].split('$').next().unwrap_or_default();
                let length = tag.len() + 2;
                let inner = literal.get(length..literal.len().saturating_sub(length)).unwrap_or_default();
                format!("'{}'", self.redact_value(inner))
            }
            _ => self.redact_number(literal),
        }
    }

    /// Replaces a number by one of nine digits, so that it stays an integer of four bytes.
    fn redact_number(&self, number: &str) -> String {
        (100_000_000 + self.key.hash_one(number) % 900_000_000).to_string()
    }

    /// Replaces the value of a parameter as a number where it looks like one, as it is in the text of a statement.
    pub fn redact_parameter(&self, value: &str) -> String {
        // Neither `inf` nor an address.
        let is_number = value.parse::<f64>().is_ok() && value.ends_with(|last: char| last.is_ascii_digit());
        if is_number { self.redact_number(value) } else { self.redact_value(value) }
    }
}
