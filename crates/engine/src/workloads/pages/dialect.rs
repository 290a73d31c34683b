//! How each engine is asked: the table, the insert, the end of all writing, and its counters.

use model::Reading;

use super::account::{FileClass, IoAccount};
use crate::dataset::Datum;
use crate::error::{Failure, FailureKind};
use crate::session::{Session, running};
use crate::target::Target;

/// What of a page a row leaves to the engine's own headers: `CHAR(8000)` in the published test's pages of 8 192 bytes.
const SPARE_BYTES: u64 = 192;

/// Characters of a row's filler, so that the row fills a page of this size.
pub fn filler(page_bytes: u64) -> u64 {
    page_bytes.saturating_sub(SPARE_BYTES)
}

/// How an engine writes, which decides where the operating system counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenBy {
    /// By `write` and its kin, into the page cache. What the kernel then counts on the way to the device are whole folios of
    /// the cache, which can be many times as large as what was written into them.
    Calls,
    /// Past the page cache, or asynchronously, which no count of calls sees.
    Device,
}

/// Since when an engine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Totals {
    /// Since it began, or was told to: the totals hold what others did before.
    SinceStart,
    /// Since étalon made the files for this trial: the totals are what has been published of such tests, and hold the
    /// making of the files.
    SinceOpened,
}

/// What an engine is asked in a test of page inserts.
pub trait PagesDialect: Sync {
    /// The size of the engine's pages.
    ///
    /// # Errors
    /// The engine did not answer.
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure>;

    /// The statements that make the table.
    fn tables(&self, page_bytes: u64) -> Vec<String>;

    /// Does what must be done before the first snapshot, and gives what a reader should know of it.
    ///
    /// # Errors
    /// The engine failed. What the login may not do is a note.
    fn begin(&self, _session: &mut dyn Session) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Since when the counters of [`PagesDialect::account`] count.
    fn totals(&self) -> Totals {
        Totals::SinceStart
    }

    /// The statement that inserts so many rows.
    fn insert(&self, page_bytes: u64, rows: u64) -> String;

    /// The query that gives the number of rows in the table, without reading it.
    fn rows(&self) -> &'static str;

    /// Bytes that the table, or the database with it, has taken so far: its growth is asked.
    ///
    /// # Errors
    /// The engine did not answer.
    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure>;

    /// Writes what the engine still holds in memory, and returns when that has ended. The inner error is why the login
    /// may not.
    ///
    /// # Errors
    /// The engine failed.
    fn flush(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure>;

    /// Waits until the counters show what has happened.
    ///
    /// # Errors
    /// The engine did not answer.
    fn report(&self, _session: &mut dyn Session) -> Result<(), Failure> {
        Ok(())
    }

    /// The engine's account of its I/O so far.
    ///
    /// # Errors
    /// The engine did not answer. What it does not count, or the login may not see, is in the account with the reason.
    fn account(&self, target: &dyn Target, session: &mut dyn Session) -> Result<IoAccount, Failure>;

    /// By which of the operating system's counters the engine's writes are to be found.
    fn written_by(&self) -> WrittenBy {
        WrittenBy::Calls
    }

    /// How large the files of a class are now, in bytes, or why that is not known.
    ///
    /// # Errors
    /// The engine did not answer.
    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure>;
}

/// A value as text; empty for NULL.
pub fn text(datum: Option<&Datum>) -> String {
    match datum {
        None | Some(Datum::Null) => String::new(),
        Some(Datum::Int(number)) => number.to_string(),
        Some(Datum::Double(number)) => number.to_string(),
        Some(Datum::Text(text)) => text.to_string(),
    }
}

/// A value as a number, if it is one.
pub fn number(datum: Option<&Datum>) -> Option<f64> {
    text(datum).trim().parse().ok()
}

/// The only number that a query gives.
pub fn one(session: &mut dyn Session, sql: &str) -> Result<f64, Failure> {
    let rows = session.query(sql)?;
    let cell = rows.first().and_then(|row| row.first());
    let wrong = || Failure::new(FailureKind::Verification, running(sql), "it gave no number");
    number(cell).ok_or_else(wrong)
}

/// The same; what the login may not ask, or the engine does not have, is a reason.
pub fn readable(session: &mut dyn Session, sql: &str) -> Result<Reading, Failure> {
    Ok(match refused(one(session, sql))? {
        Ok(value) => Reading::Value(value),
        Err(reason) => Reading::Unavailable(reason),
    })
}

/// Tells what the server refuses, which the trial goes on without, from what ends it.
pub fn refused<T>(asked: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match asked {
        Ok(answer) => Ok(Ok(answer)),
        Err(failure) => match failure.kind {
            FailureKind::Permission | FailureKind::Unsupported | FailureKind::Other | FailureKind::Verification => {
                Ok(Err(failure.cause))
            }
            _ => Err(failure),
        },
    }
}
