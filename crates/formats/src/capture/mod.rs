//! What a server was asked, out of its logs, in one file.
//!
//! A reader takes a log in a stream and gives each record to [`Capture`]: a statement that was executed, one that cannot
//! be taken, with the reason, or a record that is no statement. Every record is counted once, so that the three sum to
//! what was read. The file is a database of SQLite: statements stand in it once, without their values; the executions,
//! with their values, are packed in blocks.

mod by_start;
mod clock;
pub mod counts;
mod file;
pub mod general_log;
mod lines;
pub mod logs;
mod packing;
pub mod postgres;
mod redaction;
pub mod shape;
pub mod slow_log;
pub mod summary;
mod times;

pub use counts::{Count, Group, Reason};
pub use file::{APPLICATION_ID, Capture, CaptureError, Recorded, SavedCapture};
pub use packing::Packed;

/// A connection to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session<'a> {
    /// What tells it apart in the log.
    pub key: &'a str,
    pub user: &'a str,
    pub database: &'a str,
    pub application: &'a str,
}

/// A statement that the server has executed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution<'a> {
    pub session: Session<'a>,
    /// Since 1970, in the time zone of the log where that names none.
    pub start_us: i64,
    /// `None`: the log does not have it.
    pub duration_us: Option<u64>,
    pub text: &'a str,
    /// Values of a prepared statement's parameters, `None` for NULL.
    pub parameters: Vec<Option<String>>,
    pub rows: Option<u64>,
    pub bytes: Option<u64>,
    /// The code of the error that it ended with.
    pub error: Option<&'a str>,
}
