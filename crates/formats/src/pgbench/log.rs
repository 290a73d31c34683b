//! Logs of `pgbench -l`: a line a transaction.

use std::io::BufRead;

use super::parse_field;
use crate::FormatError;
use crate::lines::read_items;
use crate::text::shorten;

/// Meaning of the seventh word of a line, which the log does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeventhColumn {
    /// Ignored, and reported as unknown.
    #[default]
    Unknown,
    /// The lag behind the schedule: pgbench ran with `-R`.
    Lag,
    /// Retries: pgbench ran with `--max-tries`.
    Retries,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PgbenchLogEntry {
    pub client: u32,
    pub transaction: u64,
    pub outcome: PgbenchOutcome,
    pub script: u32,
    /// When it ended: seconds since 1970.
    pub at_s: u64,
    pub at_us: u32,
    /// Behind the schedule at its begin; only with `-R`.
    pub lag_us: Option<u64>,
    /// Only with `--max-tries`.
    pub retries: Option<u32>,
    /// A seventh word of unknown meaning.
    pub unnamed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PgbenchOutcome {
    Succeeded(u64),
    Skipped,
    Failed,
    Serialization,
    Deadlock,
    /// It failed otherwise (from version 18 on).
    Other,
}

/// Reads the entries of a log of transactions, in constant memory.
pub fn read_entries<R: BufRead>(
    reader: R,
    seventh: SeventhColumn,
) -> impl Iterator<Item = Result<PgbenchLogEntry, FormatError>> {
    read_items(reader, move |number, line| parse_entry(number, line, seventh))
}

/// Words of the longest line.
const MOST_WORDS: usize = 8;

/// Parses the entry in a line of the log.
fn parse_entry(number: u64, line: &str, seventh: SeventhColumn) -> Result<PgbenchLogEntry, FormatError> {
    // No allocation: logs have a billion lines.
    let mut words = [""; MOST_WORDS];
    let mut count = 0;
    for word in line.split_ascii_whitespace() {
        if let Some(place) = words.get_mut(count) {
            *place = word;
        }
        count += 1;
    }
    if !(6..=MOST_WORDS).contains(&count) {
        return Err(not_a_log_error(number, line, count));
    }
    let (mut lag_us, mut retries, mut unnamed) = (None, None, None);
    match (count, seventh) {
        (8, _) => {
            lag_us = Some(parse_field(number, words[7 - 1], 7, "lag")?);
            retries = Some(parse_field(number, words[7], 8, "count of retries")?);
        }
        (7, SeventhColumn::Lag) => lag_us = Some(parse_field(number, words[7 - 1], 7, "lag")?),
        (7, SeventhColumn::Retries) => retries = Some(parse_field(number, words[6], 7, "count of retries")?),
        (7, SeventhColumn::Unknown) => {
            unnamed = Some(parse_field(number, words[7 - 1], 7, "lag and no count of retries")?)
        }
        _ => {}
    }
    let at_us = parse_field(number, words[5], 6, "number of microseconds")?;
    if at_us >= 1_000_000 {
        return Err(FormatError::at_line(number, format!("word 6 is {at_us}: a second has 1000000 microseconds")));
    }
    Ok(PgbenchLogEntry {
        client: parse_field(number, words[0], 1, "client's number")?,
        transaction: parse_field(number, words[1], 2, "transaction's number")?,
        outcome: parse_outcome(number, words[2])?,
        script: parse_field(number, words[3], 4, "script's number")?,
        at_s: parse_field(number, words[4], 5, "time in seconds since 1970")?,
        at_us,
        lag_us,
        retries,
        unnamed,
    })
}

/// Parses the outcome of a transaction: its latency, or why it has none.
fn parse_outcome(number: u64, word: &str) -> Result<PgbenchOutcome, FormatError> {
    Ok(match word {
        "skipped" => PgbenchOutcome::Skipped,
        "failed" => PgbenchOutcome::Failed,
        "serialization" => PgbenchOutcome::Serialization,
        "deadlock" => PgbenchOutcome::Deadlock,
        "other" => PgbenchOutcome::Other,
        _ => PgbenchOutcome::Succeeded(parse_field(number, word, 3, "latency in microseconds, and no known failure")?),
    })
}

/// Makes the error of a line with too few or too many words.
fn not_a_log_error(number: u64, line: &str, count: usize) -> FormatError {
    let error =
        FormatError::at_line(number, format!("{count} words, a log of transactions has 6 to 8: {}", shorten(line)));
    if count > MOST_WORDS && line.split_ascii_whitespace().all(|word| word.parse::<u64>().is_ok()) {
        error.with_hint("this looks like a log with --aggregate-interval")
    } else {
        error
    }
}
