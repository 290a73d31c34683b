//! What a replay knows of each statement of a capture: whether it only reads, and how its text is made.

use std::collections::HashMap;

use formats::capture::{Packed, SavedCapture, shape};

use super::selection::Skipped;
use super::source::unreadable_capture;
use crate::dataset::Dialect;
use crate::queries::{is_ordered, non_query_kind};
use load::error::Failure;

const OF_TRANSACTIONS: [&str; 9] =
    ["BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE", "XA"];
const OF_SESSIONS: [&str; 16] = [
    "SET",
    "RESET",
    "DISCARD",
    "USE",
    "SHOW",
    "PREPARE",
    "EXECUTE",
    "DEALLOCATE",
    "DECLARE",
    "FETCH",
    "MOVE",
    "CLOSE",
    "LISTEN",
    "UNLISTEN",
    "NOTIFY",
    "KILL",
];

/// A statement of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    shape: String,
    /// Why it is not replayed, if it is not.
    pub skipped: Option<Skipped>,
    /// Says in which order its rows come.
    pub is_ordered: bool,
}

impl Statement {
    /// Makes a statement of its text without values, with the reason why it is not replayed, if there is one.
    fn new(shape: String) -> Statement {
        let is_single = !shape.trim_end_matches([';', ' ', '\t', '\r', '\n', shape::MARK]).contains(';');
        let skipped = match non_query_kind(&shape) {
            _ if !is_single => Some(Skipped::Several),
            None => None,
            Some(kind) if OF_TRANSACTIONS.contains(&kind.as_str()) => Some(Skipped::Transaction),
            Some(kind) if OF_SESSIONS.contains(&kind.as_str()) => Some(Skipped::SessionState),
            Some(_) => Some(Skipped::Writes),
        };
        Statement { is_ordered: is_ordered(&shape), shape, skipped }
    }

    /// Writes the text of an execution, with the values of its parameters as literals.
    pub fn replayed_text(&self, one: &Packed, dialect: &dyn Dialect) -> String {
        if one.parameters.is_empty() {
            return shape::fill_shape(&self.shape, &one.literals);
        }
        shape::fill_in_values(&self.shape, &one.literals, |number| {
            let value = one.parameters.get(number.checked_sub(1)?)?;
            Some(value.as_ref().map_or_else(|| "NULL".to_owned(), |value| dialect.text_literal(value)))
        })
    }
}

/// The statements of a capture, each read once.
pub struct Statements<'c> {
    capture: &'c SavedCapture,
    known: HashMap<u64, Statement>,
}

impl<'c> Statements<'c> {
    pub fn new(capture: &'c SavedCapture) -> Statements<'c> {
        Statements { capture, known: HashMap::new() }
    }

    /// Gives a statement by its number, read from the capture at the first time.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn get(&mut self, number: u64) -> Result<&Statement, Failure> {
        if !self.known.contains_key(&number) {
            let shape = self.capture.shape(number).map_err(|error| unreadable_capture(&error))?;
            self.known.insert(number, Statement::new(shape));
        }
        Ok(&self.known[&number])
    }
}

#[cfg(test)]
mod tests {
    use formats::capture::shape::{Syntax, take_apart};

    use super::*;

    struct Standard;

    impl Dialect for Standard {
        fn placeholder(&self, number: usize) -> String {
            format!("${number}")
        }
    }

    #[test]
    fn only_what_reads_is_replayed() {
        for (sql, skipped) in [
            ("SELECT a FROM t WHERE b = 'delete; into'; -- all", None),
            ("/* app */ WITH x AS (SELECT 1) SELECT * FROM x", None),
            ("SELECT 1; DELETE FROM t", Some(Skipped::Several)),
            ("begin", Some(Skipped::Transaction)),
            ("SET search_path = a", Some(Skipped::SessionState)),
            ("EXECUTE p(1)", Some(Skipped::SessionState)),
            ("UPDATE t SET a = 1", Some(Skipped::Writes)),
            ("SELECT a FROM t FOR UPDATE", Some(Skipped::Writes)),
            ("SELECT a INTO u FROM t", Some(Skipped::Writes)),
            ("WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x", Some(Skipped::Writes)),
            ("CALL p()", Some(Skipped::Writes)),
            ("EXPLAIN ANALYZE DELETE FROM t", Some(Skipped::Writes)),
        ] {
            assert_eq!(Statement::new(take_apart(sql, Syntax::Standard).shape).skipped, skipped, "{sql}");
        }
    }

    #[test]
    fn an_execution_has_its_literals_and_parameters() {
        let shaped = take_apart("SELECT $1, 'a' FROM t WHERE b = $2 ORDER BY 1", Syntax::Standard);
        let statement = Statement::new(shaped.shape);
        let one = Packed {
            literals: shaped.literals,
            parameters: vec![Some("O'Neil".to_owned()), None],
            ..Packed::default()
        };
        assert!(statement.is_ordered);
        assert_eq!(statement.replayed_text(&one, &Standard), "SELECT 'O''Neil', 'a' FROM t WHERE b = NULL ORDER BY 1");
    }
}
