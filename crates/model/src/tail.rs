//! Which latency a metric is, by its id: étalon's own, and what other tools call theirs.

use crate::metric::{Metric, Quantity};

/// Words by which a name is one of a latency: étalon's own begin with the first ones, other tools put them anywhere.
const LATENCIES: [&str; 9] =
    ["response", "service", "latency", "completion", "wait", "latencies", "lat", "clat", "percentile"];

/// What lies beyond a latency: 0.01 of `reads` for `response_p99_reads`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// Share of all operations; 0 where the id does not say which latency it is.
    pub share: f64,
    /// The kind of operations that it is about; none where it is about all.
    pub of: Option<String>,
}

impl Metric {
    /// Gives the share of latencies beyond the metric's quantile, by its name.
    /// Nothing for what is no latency, and for the shortest one, which no failure changes.
    pub fn tail(&self) -> Option<Tail> {
        let may_be_time = matches!(self.quantity(), Quantity::Time | Quantity::Number);
        if !may_be_time {
            return None;
        }
        tail_of_name(&self.id).map(|(share, of)| Tail { share, of })
    }

    /// Gives the name in small letters without the words that say which part of the values it is of: two percentiles of one latency
    /// have the same.
    pub fn name_without_rank(&self) -> String {
        let name = without_points(&self.id).to_lowercase();
        name.split(SEPARATORS).filter(|word| share_beyond(word).is_none()).collect::<Vec<_>>().join("_")
    }
}

/// What a name is split at.
const SEPARATORS: [char; 5] = ['_', '/', '.', '-', ' '];

/// Writes the numbers in a name without points: `p99.9` is `p999`.
fn without_points(name: &str) -> String {
    let kept = name.char_indices().filter(|(at, c)| {
        *c != '.' || !is_digit(name[..*at].chars().next_back()) || !is_digit(name[at + 1..].chars().next())
    });
    kept.map(|(_, c)| c).collect()
}

/// Finds the share beyond a metric's quantile, and the kind that it is of, by its name.
fn tail_of_name(metric: &str) -> Option<(f64, Option<String>)> {
    let metric = without_points(metric);
    let lower = metric.to_lowercase();
    if !lower
        .split(SEPARATORS)
        .any(|word| LATENCIES.contains(&word) || share_beyond(word).is_some_and(|tail| tail > 0.0))
    {
        return None;
    }
    let Some((word, tail)) = lower.split(SEPARATORS).find_map(|word| Some((word, share_beyond(word)?))) else {
        return Some((0.0, None));
    };
    let at = lower.find(word)? + word.len();
    let behind = metric.get(at..)?.strip_prefix(SEPARATORS);
    (!tail.is_nan())
        .then(|| (tail, behind.filter(|kind| !kind.is_empty() && !LATENCIES.contains(kind)).map(str::to_owned)))
}

/// Gives the share of values beyond what a word such as `p99`, `median` or `max` names.
fn share_beyond(word: &str) -> Option<f64> {
    match word {
        "mean" | "avg" | "average" | "max" | "stddev" | "p100" => Some(0.0),
        "median" => Some(0.5),
        "min" => Some(f64::NAN),
        _ => {
            let digits =
                word.strip_prefix("tp").or_else(|| word.strip_prefix('p')).or_else(|| word.strip_suffix("th"))?;
            let is_number = !digits.is_empty() && digits.bytes().all(|is_digit| is_digit.is_ascii_digit());
            // `p5` is 5 %, and `p999` is 99.9 %.
            let zero = if digits.len() == 1 { "0" } else { "" };
            is_number.then(|| format!("0.{zero}{digits}").parse().ok()).flatten().map(|below: f64| 1.0 - below)
        }
    }
}

/// Whether there is a character and it is a digit.
fn is_digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_says_what_lies_beyond_it() {
        assert_eq!(rounded_tail("response_p99"), Some((0.01, None)));
        assert_eq!(rounded_tail("response_p999_long_reads"), Some((0.001, Some("long_reads".to_owned()))));
        assert_eq!(rounded_tail("latency_p50_writes"), Some((0.5, Some("writes".to_owned()))));
        assert_eq!(rounded_tail("pool_wait_p95"), Some((0.05, None)));
        assert_eq!(rounded_tail("completion_mean"), Some((0.0, None)));
        assert_eq!(rounded_tail("response_p95/NEWORD"), Some((0.05, Some("NEWORD".to_owned()))));
        // Other tools' names.
        assert_eq!(rounded_tail("p99"), Some((0.01, None)));
        assert_eq!(rounded_tail("p5"), Some((0.95, None)));
        assert_eq!(rounded_tail("latency_99th"), Some((0.01, None)));
        assert_eq!(rounded_tail("response_time_p99"), Some((0.01, None)));
        assert_eq!(rounded_tail("avg_latency"), Some((0.0, None)));
        assert_eq!(rounded_tail("latency"), Some((0.0, None)));
        assert_eq!(
            rounded_tail("response_mean_min"),
            Some((0.0, Some("min".to_owned()))),
            "a script may have any name"
        );
        for p999 in ["p99.9", "P99.9", "latency 99.9th", "TP999"] {
            assert_eq!(rounded_tail(p999), Some((0.001, None)), "{p999}");
        }
        assert_eq!(rounded_tail("latency_p100"), Some((0.0, None)));
        for other in ["throughput", "response_min", "elapsed", "path", "depth"] {
            assert_eq!(rounded_tail(other), None, "{other}");
        }
    }

    fn rounded_tail(metric: &str) -> Option<(f64, Option<String>)> {
        tail_of_name(metric).map(|(tail, kind)| ((tail * 1e6).round() / 1e6, kind))
    }
}
