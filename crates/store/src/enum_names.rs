//! Words in the store for enumerations of the model that have none.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use model::{Absence, Direction, MarkData, Nature, Role};
use rusqlite::Row;
use rusqlite::types::Type;

/// A column holds a word that we do not know.
#[derive(Debug)]
struct UnknownWord(String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown word {:?}", self.0)
    }
}

impl Error for UnknownWord {}

/// The word for a direction in the store.
pub(crate) fn stored_direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
        Direction::Neither => "neither",
    }
}

/// The word for a role in the store.
pub(crate) fn role_word(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Secondary => "secondary",
        Role::Diagnostic => "diagnostic",
    }
}

/// The word for a fact's nature in the store.
pub(crate) fn nature_word(nature: Nature) -> &'static str {
    match nature {
        Nature::Identity => "identity",
        Nature::Passing => "passing",
    }
}

/// The word for an absence in the store.
pub(crate) fn absence_word(absence: Absence) -> &'static str {
    match absence {
        Absence::Unavailable => "unavailable",
        Absence::TooFewOperations { .. } => "too-few-operations",
        Absence::Wrong => "wrong",
        Absence::Unsupported => "unsupported",
        Absence::Failed => "failed",
    }
}

/// Reads an absence from its word; `needed` is the number of operations that a run would have needed.
pub(crate) fn read_absence(row: &Row<'_>, index: usize, needed: u64) -> rusqlite::Result<Absence> {
    use Absence::{Failed, TooFewOperations, Unavailable, Unsupported, Wrong};
    read_one_of(row, index, &[Unavailable, TooFewOperations { needed }, Wrong, Unsupported, Failed], absence_word)
}

/// Writes a mark's data as JSON.
pub(crate) fn mark_data_json(data: MarkData) -> rusqlite::Result<String> {
    serde_json::to_string(&data).map_err(|cause| rusqlite::Error::ToSqlConversionFailure(Box::new(cause)))
}

/// Reads a mark's data from a column of JSON; `None` if it is empty.
pub(crate) fn read_mark_data(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<MarkData>> {
    let Some(text) = row.get::<_, Option<String>>(index)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|_| unknown_word(index, text))
}

/// Reads a column that holds the word for one of these values.
pub(crate) fn read_one_of<T: Copy>(
    row: &Row<'_>,
    index: usize,
    all: &[T],
    word: impl Fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    all.iter().copied().find(|&item| word(item) == text).ok_or_else(|| unknown_word(index, text))
}

/// Reads a column that holds a word, and parses it.
pub(crate) fn read_word<T: FromStr>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    text.parse().map_err(|_| unknown_word(index, text))
}

/// Reads a column that holds a count, which SQLite keeps as a signed number.
pub(crate) fn read_count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let count: i64 = row.get(index)?;
    u64::try_from(count).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, count))
}

/// Reads a value from one column, or from another the reason why there is none.
pub(crate) fn read_either<T: rusqlite::types::FromSql>(
    row: &Row<'_>,
    value: usize,
    unavailable: usize,
) -> rusqlite::Result<Result<T, String>> {
    match row.get::<_, Option<T>>(value)? {
        Some(value) => Ok(Ok(value)),
        None => row.get(unavailable).map(Err),
    }
}

/// Makes the error of a word in a column that is not known.
fn unknown_word(index: usize, text: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(UnknownWord(text)))
}
