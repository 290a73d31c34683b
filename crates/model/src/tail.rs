//! Which latency a metric is, by its id: étalon's own, and what other tools call theirs.

use crate::metric::{Metric, Quantity};

/// Words that tell a latency by its name: étalon's own begin with the first ones, other tools put them anywhere.
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
    /// Nothing for what is no latency, and for the shortest one, which no failure changes.
    pub fn tail(&self) -> Option<Tail> {
        let may_be_time = matches!(self.quantity(), Quantity::Time | Quantity::Number);
        tail(&self.id).filter(|_| may_be_time).map(|(share, of)| Tail { share, of })
    }
}

fn tail(metric: &str) -> Option<(f64, Option<String>)> {
    const SEPARATORS: [char; 5] = ['_', '/', '.', '-', ' '];
    // `p99.9` is `p999`.
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let is_point = |(at, c): &(usize, char)| {
        *c == '.' && digit(metric[..*at].chars().next_back()) && digit(metric[at + 1..].chars().next())
    };
    let metric: String = metric.char_indices().filter(|one| !is_point(one)).map(|(_, c)| c).collect();
    let lower = metric.to_lowercase();
    let words = || lower.split(SEPARATORS);
    let beyond = |word: &str| match word {
        "mean" | "avg" | "average" | "max" | "stddev" | "p100" => Some(0.0),
        "median" => Some(0.5),
        "min" => Some(f64::NAN),
        _ => {
            let digits =
                word.strip_prefix("tp").or_else(|| word.strip_prefix('p')).or_else(|| word.strip_suffix("th"))?;
            let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            is_number.then(|| format!("0.{digits}").parse().ok()).flatten().map(|below: f64| 1.0 - below)
        }
    };
    let is_quantile = |word: &str| beyond(word).is_some_and(|tail| tail > 0.0);
    if !words().any(|word| LATENCIES.contains(&word) || is_quantile(word)) {
        return None;
    }
    let Some((word, tail)) = words().find_map(|word| Some((word, beyond(word)?))) else { return Some((0.0, None)) };
    let at = lower.find(word)? + word.len();
    let behind = metric.get(at..)?.strip_prefix(SEPARATORS);
    let is_kind = |kind: &&str| !kind.is_empty() && !LATENCIES.contains(kind);
    (!tail.is_nan()).then(|| (tail, behind.filter(is_kind).map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_says_what_lies_beyond_it() {
        let of = |metric: &str| tail(metric).map(|(tail, kind)| ((tail * 1e6).round() / 1e6, kind));
        assert_eq!(of("response_p99"), Some((0.01, None)));
        assert_eq!(of("response_p999_long_reads"), Some((0.001, Some("long_reads".to_owned()))));
        assert_eq!(of("latency_p50_writes"), Some((0.5, Some("writes".to_owned()))));
        assert_eq!(of("pool_wait_p95"), Some((0.05, None)));
        assert_eq!(of("completion_mean"), Some((0.0, None)));
        assert_eq!(of("response_p95/NEWORD"), Some((0.05, Some("NEWORD".to_owned()))));
        // Other tools' names.
        assert_eq!(of("p99"), Some((0.01, None)));
        assert_eq!(of("latency_99th"), Some((0.01, None)));
        assert_eq!(of("response_time_p99"), Some((0.01, None)));
        assert_eq!(of("avg_latency"), Some((0.0, None)));
        assert_eq!(of("latency"), Some((0.0, None)));
        assert_eq!(of("response_mean_min"), Some((0.0, Some("min".to_owned()))), "a script may have any name");
        for p999 in ["p99.9", "P99.9", "latency 99.9th", "TP999"] {
            assert_eq!(of(p999), Some((0.001, None)), "{p999}");
        }
        assert_eq!(of("latency_p100"), Some((0.0, None)));
        for other in ["throughput", "response_min", "elapsed", "path", "depth"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
