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

/// Settings by which a session chooses its tables and rights.
const NAMING: [&str; 3] = ["search_path", "role", "schema"];

/// A statement of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    shape: String,
    /// Why it is not replayed, if it is not.
    pub skipped: Option<Skipped>,
    /// Says in which order its rows come.
    pub is_ordered: bool,
    renames: Renames,
}

/// Whether a statement chooses the tables that names mean afterwards, or the rights of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renames {
    No,
    Always,
    /// A function does, if it is called with the name of such a setting.
    ByFunction,
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
        Statement { is_ordered: is_ordered(&shape), renames: renames(&shape), shape, skipped }
    }

    /// Whether an execution chooses other tables or rights for what follows in its session.
    pub fn chooses_names(&self, one: &Packed) -> bool {
        let is_named = |value: &str| NAMING.contains(&value.trim_matches('\'').to_ascii_lowercase().as_str());
        match self.renames {
            Renames::No => false,
            Renames::Always => true,
            Renames::ByFunction => {
                one.literals.iter().any(|literal| is_named(literal))
                    || one.parameters.iter().flatten().any(|value| is_named(value))
            }
        }
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

/// Finds out from a statement's text whether it chooses tables or rights.
fn renames(shape: &str) -> Renames {
    let words: Vec<String> = shape
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_of_session = matches!(words.first(), Some(&("set" | "begin" | "start" | "reset" | "discard")));
    match words.as_slice() {
        words if is_of_session && (0..words.len()).any(|at| sets_names(&words[at..])) => Renames::Always,
        words if words.contains(&"set_config") => Renames::ByFunction,
        _ => Renames::No,
    }
}

/// Whether words begin with a `SET` that chooses tables or rights. A pool sets back what sessions chose before it gives them to the
/// next.
fn sets_names(words: &[&str]) -> bool {
    let value = match words {
        ["set", "session", "authorization", value @ ..] => value,
        ["set", "local" | "session", setting, value @ ..] | ["set", setting, value @ ..]
            if NAMING.contains(setting) =>
        {
            value.strip_prefix(&["to"]).unwrap_or(value)
        }
        _ => return false,
    };
    !matches!(value.first(), Some(&("default" | "none")))
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
    fn statements_that_choose_other_tables_are_known() {
        for (sql, chooses) in [
            ("SET search_path = tenant, public", true),
            ("set LOCAL search_path TO 'tenant'", true),
            ("SET ROLE reader", true),
            ("SET SESSION AUTHORIZATION reader", true),
            ("SELECT set_config('search_path', 'tenant', false)", true),
            ("SELECT pg_catalog.set_config('work_mem', '8MB', false)", false),
            ("SET work_mem = '8MB'", false),
            ("BEGIN; SET LOCAL search_path = tenant", true),
            ("SET SESSION AUTHORIZATION DEFAULT; RESET ALL", false),
            ("SET ROLE NONE", false),
            ("SET search_path TO DEFAULT", false),
            ("UPDATE people SET role = 'x'", false),
            ("SELECT role FROM people", false),
        ] {
            let taken = take_apart(sql, Syntax::Standard);
            let one = Packed { literals: taken.literals, ..Packed::default() };
            assert_eq!(Statement::new(taken.shape).chooses_names(&one), chooses, "{sql}");
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
