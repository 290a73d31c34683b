//! Lines of `pgbench -r`.

use crate::text::number;

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub text: String,
    pub latency_ms: f64,
    pub failures: Option<u64>,
    pub retries: Option<u64>,
}

/// Between latency and statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// 0, 1 (failures) or 2 (and retries).
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
