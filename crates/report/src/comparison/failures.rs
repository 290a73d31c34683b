//! What did not succeed: how much of it on which side, and in the way of which rows it stands.
//!
//! A side that gives up early looks quick by what it does finish. So the share that failed is judged like any other
//! figure, every row of such cases says it, and a latency that lies in that share, or in one that nobody knows, has no
//! verdict.

use std::collections::BTreeSet;

use model::metric::FAILED_SHARE;
use model::{Direction, Metric};
use stats::{RunValue, Sample};

use super::judging::{Index, estimate};
use super::options::MetricFilter;
use super::row::{Comparison, Failures, NoVerdict, RunPoint, SideLetter};
use super::set::{Rules, Table};
use super::warning::Warning;
use crate::evidence::{Evidence, IMPORTED};
use crate::number::is_time;

/// Shares this close are equivalent: the plan's margin is one of ratios.
pub const SHARE_MARGIN: f64 = 0.001;

/// Words that tell a latency by its name: étalon's own begin with the first ones, other tools put them anywhere.
const LATENCIES: [&str; 9] =
    ["response", "service", "latency", "completion", "wait", "latencies", "lat", "clat", "percentile"];

/// Whether a metric is a share of failures.
pub fn is_share(metric: &Metric) -> bool {
    metric.id.strip_prefix(FAILED_SHARE).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// The share of all operations that lie beyond what a latency tells, and the kind of operations that it is about: 0.01 of
/// `reads` for `response_p99_reads`. None where the name does not say which latency it is. Nothing for what is no latency,
/// and for the shortest one, which no failure changes.
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

/// Exponentials of the shares, so that comparing logarithms of ratios compares shares by difference. Shares may be 0,
/// which has no ratio.
pub fn as_exponentials(shares: &Sample) -> Sample {
    let exponential = |run: &RunValue| RunValue { round: run.round, value: (run.value / 100.0).exp() };
    Sample::from_runs(shares.runs().iter().map(exponential))
}

/// What failures mean for a row.
#[derive(Default)]
pub struct Found {
    pub shares: Option<Failures>,
    pub no_verdict: Option<NoVerdict>,
    pub unknown: Vec<Warning>,
}

/// Runs whose share of failures is not known: their figures may be of what succeeded alone. Where neither side tells,
/// nobody asked.
fn unknown(index: &Index, cases: &[u32], side: SideLetter, is_told: bool) -> Option<Warning> {
    let (told, unavailable) = (index.points(cases, FAILED_SHARE), index.unavailable(cases, FAILED_SHARE));
    let measured: usize = cases.iter().filter_map(|case| index.ends.get(case)).map(|ends| ends.measured).sum();
    let runs = measured.saturating_sub(told.len());
    if runs == 0 || !(is_told || !told.is_empty() || !unavailable.is_empty()) {
        return None;
    }
    let reason = unavailable.first().map_or("nothing is told of it", |(reason, _)| reason);
    Some(Warning::FailuresUnknown { side, runs, reason: reason.to_owned() })
}

/// Failures among a metric's operations.
pub fn of(
    evidence: &Evidence,
    index: &Index,
    cases: (&[u32], &[u32]),
    metric: &Metric,
    (rules, seed): (&Rules, u64),
) -> Found {
    if is_share(metric) {
        return Found::default();
    }
    // What another tool calls its times nobody knows: a shorter time is better, so it is a latency.
    let is_foreign = evidence.header.build == IMPORTED && metric.direction == Direction::Lower;
    let is_other = |id: &str| id.split('_').any(|word| ["cpu", "min"].contains(&word));
    let other = (is_foreign && is_time(&metric.unit) && !is_other(&metric.id)).then_some((0.0, None));
    let (tail, kind) = tail(&metric.id).or(other).map_or((None, None), |(tail, kind)| (Some(tail), kind));
    let kind = kind.as_deref().or_else(|| metric.id.split_once('_').map(|(_, kind)| kind));
    let of_kind = kind.map(|kind| format!("{FAILED_SHARE}_{kind}"));
    // Per run: where the kind's share is unknown, the share of all counts.
    let points = |cases: &[u32]| {
        let mut points: Vec<RunPoint> = of_kind.iter().flat_map(|id| index.points(cases, id)).collect();
        let known: BTreeSet<i64> = points.iter().map(|point| point.run).collect();
        points.extend(index.points(cases, FAILED_SHARE).into_iter().filter(|point| !known.contains(&point.run)));
        points.sort_by_key(|point| point.position);
        points
    };
    let (a, b) = (points(cases.0), points(cases.1));
    let worst = |points: &[RunPoint]| points.iter().map(|point| point.value / 100.0).fold(0.0, f64::max);
    let (worst_a, worst_b) = (worst(&a), worst(&b));
    let (side, share) = if worst_a > worst_b { (SideLetter::A, worst_a) } else { (SideLetter::B, worst_b) };
    let sides = [(cases.0, SideLetter::A), (cases.1, SideLetter::B)];
    let is_told = !a.is_empty() || !b.is_empty();
    let unknown: Vec<Warning> =
        sides.iter().filter_map(|(cases, side)| unknown(index, cases, *side, is_told)).collect();
    if share == 0.0 {
        return Found { unknown, ..Found::default() };
    }
    // Any run suffices. Étalon then has no figure; other tools print it of successes only, as means always are.
    let is_beyond = tail.filter(|tail| share > *tail + 1e-9);
    let beyond = is_beyond.map(|tail| NoVerdict::Failures { side, share, tail });
    // Where operations are known to fail, a run that does not tell may have any share of them.
    let silent = unknown.iter().find_map(|warning| match warning {
        Warning::FailuresUnknown { side, .. } => Some(NoVerdict::FailuresUnknown { side: *side }),
        _ => None,
    });
    Found {
        no_verdict: beyond.or_else(|| silent.filter(|_| tail.is_some())),
        shares: differing(&a, &b, rules, seed),
        unknown,
    }
}

/// The shares of both sides, unless they are the same within the margin beyond doubt. Operations of one side failed.
fn differing(a: &[RunPoint], b: &[RunPoint], rules: &Rules, seed: u64) -> Option<Failures> {
    let mean = |points: &[RunPoint]| {
        let sum: f64 = points.iter().map(|point| point.value / 100.0).sum();
        (!points.is_empty()).then(|| sum / points.len() as f64)
    };
    let shares = Failures { a: mean(a), b: mean(b) };
    let (Some(of_a), Some(of_b)) = (shares.a, shares.b) else { return Some(shares) };
    let sample = |points: &[RunPoint]| {
        as_exponentials(&Sample::from_runs(points.iter().map(|p| RunValue { round: p.round, value: p.value })))
    };
    let (found, _) = estimate(&sample(a), &sample(b), rules, seed);
    let is_same = found.map_or((of_a - of_b).abs() <= SHARE_MARGIN, |found| {
        let (low, high) = stats::margin_bounds(SHARE_MARGIN);
        low <= found.lo && found.hi <= high
    });
    (!is_same).then_some(shares)
}

/// Drops share rows without failures unless asked for by name: a known answer is no question.
pub fn drop_empty(tables: &mut Vec<Table>, filter: &MetricFilter) {
    let is_named = |row: &Comparison| matches!(filter, MetricFilter::Named(_)) && filter.shows(&row.metric);
    let is_empty = |row: &Comparison| row.a.runs.iter().chain(&row.b.runs).all(|point| point.value == 0.0);
    for table in tables.iter_mut() {
        table.rows.retain(|row| !is_share(&row.metric) || is_named(row) || !is_empty(row));
    }
    tables.retain(|table| !table.rows.is_empty());
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
