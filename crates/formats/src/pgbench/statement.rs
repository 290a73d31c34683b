//! Lines of `pgbench -r`.

use crate::text::number;

/// A statement of a script with its mean latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The statement as printed.
    pub text: String,
    /// Its mean latency, in milliseconds.
    pub latency_ms: f64,
    /// How often it failed, where that is printed (from version 15 on).
    pub failures: Option<u64>,
    /// How often it was retried, where that is printed.
    pub retries: Option<u64>,
}

/// The columns between the latency and the statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// Whether there is one for failures, and then one for retries.
    pub counts: usize,
}

impl Columns {
    /// The columns that a heading announces, if the line is one.
    pub fn of_heading(line: &str) -> Option<Columns> {
        let line = line.trim_start_matches("- ");
        let rest = line.strip_prefix("statement latencies in milliseconds")?.trim_end_matches(':');
        let counts = match rest {
            "" => 0,
            " and failures" => 1,
            ", failures and retries" => 2,
            _ => return None,
        };
        Some(Columns { counts })
    }
}

/// `0.140  0  UPDATE …`.
pub(super) fn statement(line: &str, columns: Columns) -> Option<Statement> {
    let (latency, mut rest) = line.trim_start().split_once(char::is_whitespace)?;
    let mut counts = [None; 2];
    for count in counts.iter_mut().take(columns.counts) {
        let (word, after) = rest.trim_start().split_once(char::is_whitespace)?;
        *count = Some(word.parse().ok()?);
        rest = after;
    }
    let latency_ms = number(latency).filter(|_| latency.contains('.'))?;
    let text = rest.trim();
    (!text.is_empty()).then(|| Statement { text: text.to_owned(), latency_ms, failures: counts[0], retries: counts[1] })
}
