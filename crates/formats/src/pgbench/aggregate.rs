//! Logs of `pgbench -l --aggregate-interval=N`: a line an interval.

use std::io::BufRead;

use super::field;
use crate::FormatError;
use crate::lines::items;
use crate::text::shortened;

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

/// The number of columns gives the version: 6 without a rate, 10 with one, 11 with a latency limit as well (up to 14);
/// 15 (from 15 on), 16 (with a third kind of failure).
pub fn intervals<R: BufRead>(reader: R) -> impl Iterator<Item = Result<AggregatedInterval, FormatError>> {
    items(reader, interval)
}

/// A figure that is not negative.
fn amount(number: u64, words: &[&str], place: usize, name: &str) -> Result<f64, FormatError> {
    let word = words.get(place - 1).copied().unwrap_or_default();
    crate::text::number(word)
        .filter(|amount| *amount >= 0.0)
        .ok_or_else(|| FormatError::at(number, format!("word {place} is no {name}: {}", shortened(word))))
}

fn interval(number: u64, line: &str) -> Result<AggregatedInterval, FormatError> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(17).collect();
    if !matches!(words.len(), 6 | 10 | 11 | 15 | 16) {
        let what = format!("{} words, an aggregated log has 6, 10, 11, 15 or 16: {}", words.len(), shortened(line));
        let error = FormatError::at(number, what);
        return Err(match words.len() {
            7 | 8 => error.with_hint("this looks like a log of single transactions, without --aggregate-interval"),
            _ => error,
        });
    }
    amount(number, &words, 4, "sum of squared latencies")?;
    let lag_us = match words.len() {
        ..10 => None,
        _ => {
            amount(number, &words, 8, "sum of squared lags")?;
            [9, 10].into_iter().try_for_each(|place| amount(number, &words, place, "lag").map(|_| ()))?;
            Some(amount(number, &words, 7, "sum of lags")?)
        }
    };
    Ok(AggregatedInterval {
        start_s: field(number, words[0], 1, "time in seconds since 1970")?,
        transactions: field(number, words[1], 2, "count of transactions")?,
        sum_us: amount(number, &words, 3, "sum of latencies")?,
        min_us: amount(number, &words, 5, "latency")?,
        max_us: amount(number, &words, 6, "latency")?,
        lag_us,
        skipped: count(&words, number, 11, "count of skipped transactions")?,
        retried: count(&words, number, 12, "count of retried transactions")?,
        retries: count(&words, number, 13, "count of retries")?,
        serialization: count(&words, number, 14, "count of serialization failures")?,
        deadlocks: count(&words, number, 15, "count of deadlocks")?,
        other: count(&words, number, 16, "count of failures")?,
    })
}

fn count(words: &[&str], number: u64, place: usize, name: &str) -> Result<Option<u64>, FormatError> {
    let word = words.get(place - 1);
    word.map(|word| field::<u64>(number, word, place, name)).transpose()
}
