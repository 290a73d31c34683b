//! pgbench: per-transaction logs, aggregated logs and the printed summary, of versions 9.x to 17 by their manuals;
//! version 15 was checked with the tool itself.

mod aggregate;
mod failure;
mod import;
mod log;
mod names;
mod parts;
mod summary;

pub use aggregate::{AggregatedInterval, read_intervals};
pub use import::{
    AGGREGATE_READER, AggregateRun, AggregateSummary, LOG_READER, LogSummary, READER, import_aggregates, import_log,
    import_summaries,
};
pub use log::{PgbenchLogEntry, PgbenchOutcome, SeventhColumn, read_entries};
pub use names::{prefix_of_log, run_of_log};
pub use summary::{PgbenchPart, PgbenchStatement, PgbenchSummary, Summaries, read_summaries};

use crate::FormatError;
use crate::text::shorten;

/// Parses a word of a line as this type; the error names its place.
fn parse_field<T: std::str::FromStr>(line: u64, word: &str, place: usize, name: &str) -> Result<T, FormatError> {
    word.parse().map_err(|_| FormatError::at_line(line, format!("word {place} is no {name}: {}", shorten(word))))
}
