//! Logs of `pgbench -l --aggregate-interval=N`: a line an interval.

use std::io::BufRead;

use super::parse_field;
use crate::FormatError;
use crate::lines::read_items;
use crate::text::shorten;

/// What the log's version does not have is `None`. From version 15 on pgbench writes 0 for what was not asked for, which looks
/// like a count of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AggregatedInterval {
    /// Unix time of its begin.
    pub start_s: u64,
    pub transactions: u64,
    pub sum_us: f64,
    pub min_us: f64,
    pub max_us: f64,
    /// Sum of the lags behind the schedule.
    pub lag_us: Option<f64>,
    pub skipped: Option<u64>,
    pub retried: Option<u64>,
    /// The number of retries of all transactions.
    pub retries: Option<u64>,
    pub serialization: Option<u64>,
    pub deadlocks: Option<u64>,
    pub other: Option<u64>,
}

/// Reads the intervals of an aggregated log, one a line.
/// The number of columns gives the version: 6 without a rate, 10 with one, 11 with a latency limit as well (up to 14);
/// 15 (from 15 on), 16 (with a third kind of failure).
pub fn read_intervals<R: BufRead>(reader: R) -> impl Iterator<Item = Result<AggregatedInterval, FormatError>> {
    read_items(reader, parse_interval)
}

/// Parses the figure at a place of the line, which is not negative.
fn parse_amount(number: u64, words: &[&str], place: usize, name: &str) -> Result<f64, FormatError> {
    let word = words.get(place - 1).copied().unwrap_or_default();
    crate::text::parse_number(word)
        .filter(|amount| *amount >= 0.0)
        .ok_or_else(|| FormatError::at_line(number, format!("word {place} is no {name}: {}", shorten(word))))
}

/// Parses an interval from its line.
fn parse_interval(number: u64, line: &str) -> Result<AggregatedInterval, FormatError> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(17).collect();
    if !matches!(words.len(), 6 | 10 | 11 | 15 | 16) {
        let what = format!("{} words, an aggregated log has 6, 10, 11, 15 or 16: {}", words.len(), shorten(line));
        let error = FormatError::at_line(number, what);
        return Err(match words.len() {
            7 | 8 => error.with_hint("this looks like a log of single transactions, without --aggregate-interval"),
            _ => error,
        });
    }
    parse_amount(number, &words, 4, "sum of squared latencies")?;
    let lag_us = match words.len() {
        ..10 => None,
        _ => {
            parse_amount(number, &words, 8, "sum of squared lags")?;
            [9, 10].into_iter().try_for_each(|place| parse_amount(number, &words, place, "lag").map(|_| ()))?;
            Some(parse_amount(number, &words, 7, "sum of lags")?)
        }
    };
    Ok(AggregatedInterval {
        start_s: parse_field(number, words[0], 1, "time in seconds since 1970")?,
        transactions: parse_field(number, words[1], 2, "count of transactions")?,
        sum_us: parse_amount(number, &words, 3, "sum of latencies")?,
        min_us: parse_amount(number, &words, 5, "latency")?,
        max_us: parse_amount(number, &words, 6, "latency")?,
        lag_us,
        skipped: parse_count(&words, number, 11, "count of skipped transactions")?,
        retried: parse_count(&words, number, 12, "count of retried transactions")?,
        retries: parse_count(&words, number, 13, "count of retries")?,
        serialization: parse_count(&words, number, 14, "count of serialization failures")?,
        deadlocks: parse_count(&words, number, 15, "count of deadlocks")?,
        other: parse_count(&words, number, 16, "count of failures")?,
    })
}

/// Parses a count at a place of the line, if the line has that many words.
fn parse_count(words: &[&str], number: u64, place: usize, name: &str) -> Result<Option<u64>, FormatError> {
    let word = words.get(place - 1);
    word.map(|word| parse_field::<u64>(number, word, place, name)).transpose()
}
