//! What did not succeed: how much of it on which side, and in the way of which rows it stands.
//!
//! A side that gives up early looks quick by what it does finish. So the share that failed is judged like any other
//! figure, every row of such cases says it, and a latency that lies in that share, or in an unknown one, has no
//! verdict.

use std::collections::BTreeSet;

use model::metric::FAILED_SHARE;
use model::{Direction, Metric, Quantity, Tail};
use stats::{RunValue, Sample};

use super::judging::{Index, estimate_ratio};
use super::options::MetricFilter;
use super::row::{Failures, NoVerdict, RunPoint, SideLetter};
use super::set::{Rules, Table};
use super::warning::Warning;
use crate::evidence::Evidence;
use crate::number::is_time;

/// Shares this close are equivalent: the plan's margin is one of ratios.
pub const SHARE_MARGIN: f64 = 0.001;

/// Converts shares in percent to exponentials, so that comparing logarithms of ratios compares shares by difference.
/// Shares may be 0, which has no ratio.
pub fn as_exponentials(shares: &Sample) -> Sample {
    Sample::from_runs(shares.runs().iter().map(|run| RunValue { round: run.round, value: (run.value / 100.0).exp() }))
}

/// What failures mean for a row.
#[derive(Default)]
pub struct Found {
    pub shares: Option<Failures>,
    pub no_verdict: Option<NoVerdict>,
    pub unknown: Vec<Warning>,
}

/// Warns of a side's runs with a figure whose share of failures is not known: it may be of what succeeded alone.
/// `None` where neither side reports it, as it was not asked for.
fn warn_unknown_failures(
    index: &Index<'_>,
    (metric, cases): (&Metric, &[u32]),
    side: SideLetter,
    is_told: bool,
) -> Option<Warning> {
    let (reported, unavailable) =
        (index.points_of_cases(cases, FAILED_SHARE), index.missing_reasons(cases, FAILED_SHARE));
    let known: BTreeSet<i64> = reported.iter().map(|point| point.run).collect();
    let runs = index.points_of_cases(cases, &metric.id).iter().filter(|point| !known.contains(&point.run)).count();
    if runs == 0 || !(is_told || !reported.is_empty() || !unavailable.is_empty()) {
        return None;
    }
    let reason =
        unavailable.first().map_or_else(|| "nothing is told of it".to_owned(), |(missing, _)| missing.to_string());
    Some(Warning::FailuresUnknown { side, runs, reason })
}

/// Finds what failures mean for a row: shares that differ, an obstacle to a verdict, shares that are not known.
pub fn find_failures(
    evidence: &Evidence,
    index: &Index<'_>,
    cases: (&[u32], &[u32]),
    metric: &Metric,
    rules: &Rules,
) -> Found {
    if metric.quantity() == Quantity::Failures {
        return Found::default();
    }
    // The names of another tool's times are not known: a shorter time is better, so it is a latency.
    let is_imported = cases.0.iter().chain(cases.1).any(|case| evidence.is_imported(*case));
    let is_foreign = is_imported && metric.direction == Direction::Lower;
    let other = (is_foreign
        && is_time(&metric.unit)
        && !(metric.quantity() == Quantity::Cpu || metric.id.split('_').any(|word| word == "min")))
    .then(Tail::default);
    let (tail, kind) = metric.tail().or(other).map_or((None, None), |tail| (Some(tail.share), tail.of));
    let kind = kind.as_deref().or_else(|| metric.id.split_once('_').map(|(_, kind)| kind));
    let of_kind = kind.map(|kind| format!("{FAILED_SHARE}_{kind}"));
    // Per run: where the kind's share is unknown, the share of all counts.
    let (a, b) = (failure_points(index, of_kind.as_ref(), cases.0), failure_points(index, of_kind.as_ref(), cases.1));
    let (worst_a, worst_b) = (worst_share(&a), worst_share(&b));
    let (side, share) = if worst_a > worst_b { (SideLetter::A, worst_a) } else { (SideLetter::B, worst_b) };
    let sides = [(cases.0, SideLetter::A), (cases.1, SideLetter::B)];
    let is_told = !a.is_empty() || !b.is_empty();
    let unknown: Vec<Warning> = sides
        .iter()
        .filter_map(|(cases, side)| warn_unknown_failures(index, (metric, cases), *side, is_told))
        .collect();
    if share == 0.0 {
        return Found { unknown, ..Found::default() };
    }
    // Any run suffices. Étalon then has no figure; other tools print it of successes only, as means always are.
    let is_beyond = tail.filter(|tail| share > *tail + 1e-9);
    let beyond = is_beyond.map(|tail| NoVerdict::Failures { side, share, tail });
    // Where operations are known to fail, a run that does not report them may have any share of them.
    let silent = unknown.iter().find_map(|warning| match warning {
        Warning::FailuresUnknown { side, .. } => Some(NoVerdict::FailuresUnknown { side: *side }),
        _ => None,
    });
    Found {
        no_verdict: beyond.or_else(|| if tail.is_some() { silent } else { None }),
        shares: differing_shares(&a, &b, rules),
        unknown,
    }
}

/// The largest share of failures in a run; 0 without any.
fn worst_share(points: &[RunPoint]) -> f64 {
    points.iter().map(|point| point.value / 100.0).fold(0.0, f64::max)
}

/// The shares of failures by run: those of a kind of operation where they are known, else those of all.
fn failure_points(index: &Index<'_>, of_kind: Option<&String>, cases: &[u32]) -> Vec<RunPoint> {
    let mut points: Vec<RunPoint> = of_kind.iter().flat_map(|id| index.points_of_cases(cases, id)).collect();
    let known: BTreeSet<i64> = points.iter().map(|point| point.run).collect();
    points.extend(index.points_of_cases(cases, FAILED_SHARE).into_iter().filter(|point| !known.contains(&point.run)));
    points.sort_by_key(|point| point.position);
    points
}

/// The mean failed shares of both sides; `None` if they are the same within the margin beyond doubt.
fn differing_shares(a: &[RunPoint], b: &[RunPoint], rules: &Rules) -> Option<Failures> {
    let shares = Failures { a: mean_share(a), b: mean_share(b) };
    let (Some(of_a), Some(of_b)) = (shares.a, shares.b) else { return Some(shares) };
    let (found, _) = estimate_ratio(&exponentials_of(a), &exponentials_of(b), rules, None);
    let is_same = found.map_or((of_a - of_b).abs() <= SHARE_MARGIN, |found| {
        let (low, high) = stats::margin_bounds(SHARE_MARGIN);
        low <= found.lo && found.hi <= high
    });
    (!is_same).then_some(shares)
}

/// Makes a sample of exponentials of shares, so that a ratio becomes a difference.
fn exponentials_of(points: &[RunPoint]) -> Sample {
    as_exponentials(&Sample::from_runs(points.iter().map(|p| RunValue { round: p.round, value: p.value })))
}

/// The mean share of failures; `None` without runs.
fn mean_share(points: &[RunPoint]) -> Option<f64> {
    let sum: f64 = points.iter().map(|point| point.value / 100.0).sum();
    (!points.is_empty()).then(|| sum / points.len() as f64)
}

/// Drops rows of failures where no run failed, unless they were asked for by name; tables that are empty then go, too.
pub fn drop_rows_without_failures(tables: &mut Vec<Table>, filter: &MetricFilter) {
    for table in tables.iter_mut() {
        table.rows.retain(|row| {
            row.metric.quantity() != Quantity::Failures
                || matches!(filter, MetricFilter::Named(_)) && filter.shows(&row.metric)
                || !row.a.runs.iter().chain(&row.b.runs).all(|point| point.value == 0.0)
        });
    }
    tables.retain(|table| !table.rows.is_empty());
}
