//! Whether both sides gave the same answers, by the hash that each run has of them.

use std::collections::BTreeSet;

use model::metric::{ALL_QUERIES, ANSWER};
use model::{Absence, Metric, Role};

use super::judging::Index;
use super::row::{Comparison, NoVerdict, SideLetter};

/// Why a metric of a query has no verdict: its runs gave several answers. `None` if all are alike, or none has a hash.
pub fn different_answers(
    index: &Index<'_>,
    (a, b): (&[u32], &[u32]),
    metric: &Metric,
    metrics: &[Metric],
) -> Option<NoVerdict> {
    let (_, part) = metric.id.split_once('/')?;
    let mut hashes =
        metrics.iter().filter_map(|hash| Some((&hash.id, hash.id.strip_prefix(ANSWER)?.strip_prefix('/')?)));
    let (_, query) =
        hashes.find(|(id, query)| (part == ALL_QUERIES || part == *query) && has_several(index, (a, b), id))?;
    let missing = Absence::Wrong.because(format!("the runs gave several answers to {query}"));
    Some(NoVerdict::NotAvailable { side: SideLetter::B, missing })
}

/// Puts the queries with the largest change in time first: all together, then those without a figure, then by what they lost or
/// gained.
pub fn largest_change_first(rows: &mut [Comparison]) {
    rows.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
}

fn rank(row: &Comparison) -> f64 {
    let part = row.metric.id.split_once('/').map(|(_, part)| part);
    match (row.metric.role, part, row.a.estimate.zip(row.b.estimate)) {
        (Role::Primary, Some(ALL_QUERIES), _) => f64::NEG_INFINITY,
        (Role::Primary, _, None) => f64::MIN,
        (Role::Primary, _, Some((a, b))) => -(b - a).abs(),
        _ => f64::INFINITY,
    }
}

fn has_several(index: &Index<'_>, (a, b): (&[u32], &[u32]), id: &str) -> bool {
    let points = [a, b].map(|cases| index.points(cases, id));
    points.iter().flatten().map(|point| point.value.to_bits()).collect::<BTreeSet<_>>().len() > 1
}
