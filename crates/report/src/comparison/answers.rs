//! Whether both sides gave the same answers, by the hash that each run has of them, or by what it says of the difference.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::{ALL_QUERIES, ANSWER, CACHED, DIFFERENCE, MEAN_OF_QUERIES};
use model::{Absence, Metric, Role};

use super::judging::Index;
use super::row::{Comparison, NoVerdict};
use crate::evidence::Evidence;

/// Before a query's name in the metric of its time.
pub const ELAPSED: &str = "elapsed/";

/// Says why a query's metric has no verdict: its runs gave several answers; `None` if all are alike, or none is known.
///
/// Answers that change from run to run on A itself say nothing of B: the query is unstable, and counts in totals.
pub fn why_answers_differ(
    index: &Index<'_>,
    (a, b): (&[u32], &[u32]),
    metric: &Metric,
    metrics: &[Metric],
) -> Option<NoVerdict> {
    let is_total = metric.id.split_once('/').is_some_and(|(_, part)| is_all_queries(part));
    said_of_queries(metric, metrics, ANSWER).find_map(|(id, query)| {
        let cases = [a, b].concat();
        let how = wrong_reason(index, &cases, id).or_else(|| wrong_reason(index, &cases, &difference_id(query)));
        if how.is_none() && !has_several_values(index, &cases, id) {
            return None;
        }
        let query = query.to_owned();
        if !changes_by_itself(index, a, id) {
            return Some(NoVerdict::DifferentAnswers { query, how });
        }
        (!is_total).then_some(NoVerdict::UnstableAnswers { query })
    })
}

/// The metric that says how a query's answer differs from the first.
fn difference_id(query: &str) -> String {
    format!("{DIFFERENCE}/{query}")
}

/// Why a run says that its answer is wrong; `None` if no run says so.
fn wrong_reason(index: &Index<'_>, cases: &[u32], id: &str) -> Option<String> {
    let missing = index.missing_reasons(cases, id).into_iter().map(|(missing, _)| missing);
    missing.filter(|missing| missing.kind == Absence::Wrong).map(|missing| missing.reason).next()
}

/// Whether the runs of one side gave several answers, or some of them the first answer and others another.
fn changes_by_itself(index: &Index<'_>, cases: &[u32], id: &str) -> bool {
    let has_first = !index.points_of_cases(cases, id).is_empty();
    has_several_values(index, cases, id) || (has_first && wrong_reason(index, cases, id).is_some())
}

/// Says of a metric of a query that a cache of results answered some of its runs; `None` if it did not.
pub fn why_answers_cached(
    index: &Index<'_>,
    (a, b): (&[u32], &[u32]),
    metric: &Metric,
    metrics: &[Metric],
) -> Option<NoVerdict> {
    said_of_queries(metric, metrics, CACHED).find_map(|(id, query)| {
        let runs = index.points_of_cases(&[a, b].concat(), id).len();
        (runs > 0).then(|| NoVerdict::CachedAnswers { query: query.to_owned(), runs })
    })
}

/// Lists the metrics `kind/QUERY` for the query that a metric is about, or for all queries, with the query's name.
fn said_of_queries<'m>(
    metric: &'m Metric,
    metrics: &'m [Metric],
    kind: &'static str,
) -> impl Iterator<Item = (&'m str, &'m str)> {
    let part = metric.id.split_once('/').map(|(_, part)| part);
    metrics.iter().filter_map(move |said| {
        let query = query_of_metric(said, kind)?;
        (is_all_queries(part?) || part? == query).then_some((said.id.as_str(), query))
    })
}

/// The query in the name of a metric `kind/QUERY`; `None` for another kind.
fn query_of_metric<'m>(metric: &'m Metric, kind: &str) -> Option<&'m str> {
    metric.id.strip_prefix(kind)?.strip_prefix('/')
}

/// Says that all queries that ended gave the same answers; `None` if one did not, or there are not two systems.
pub fn alike_sentence(evidence: &Evidence) -> Option<String> {
    let mut hashes: BTreeMap<(&str, &str), BTreeSet<u64>> = BTreeMap::new();
    let (mut systems, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for stored in &evidence.measurements {
        let metric = &stored.measurement.metric;
        if let (Some((_, query)), Some(case)) = (metric.id.split_once('/'), evidence.case(stored.case))
            && metric.role == Role::Primary
            && !is_all_queries(query)
        {
            asked.insert((case.benchmark.as_str(), query));
        }
        let (Some(query), Some(case)) = (query_of_metric(metric, ANSWER), evidence.case(stored.case)) else {
            continue;
        };
        hashes.entry((&case.benchmark, query)).or_default().insert(stored.measurement.reading.value()?.to_bits());
        systems.insert(&case.system);
    }
    let is_alike = systems.len() > 1 && hashes.values().all(|of_query| of_query.len() == 1);
    let has_failed = asked.into_iter().any(|query| !hashes.contains_key(&query));
    let that_ended = if has_failed { " that ended" } else { "" };
    is_alike.then(|| match hashes.len() {
        1 => format!("The query{that_ended} gave the same answer everywhere."),
        queries => format!("All {queries} queries{that_ended} gave the same answers everywhere."),
    })
}

/// Sorts the queries with the largest change in time first.
/// All together come before them, then those without a figure or with other answers.
/// Those whose answers change by themselves are last.
pub fn sort_by_change(rows: &mut [Comparison]) {
    rows.sort_by(|one, other| rank_of_row(one).total_cmp(&rank_of_row(other)));
}

/// A's time of a row's query; `None` if the row is of all queries or no time.
fn time_on_a(row: &Comparison) -> Option<f64> {
    let query = row.metric.id.strip_prefix(ELAPSED)?;
    if row.metric.role == Role::Primary && !is_all_queries(query) { row.a.estimate } else { None }
}

/// Gives each query its whole percent of A's time for all queries; they add up to 100.
pub fn fill_query_shares(rows: &mut [Comparison]) {
    let mut parts: Vec<(usize, f64)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        parts.extend(time_on_a(row).map(|time| (at, time)));
    }
    let all: f64 = parts.iter().map(|(_, time)| time).sum();
    if all <= 0.0 || parts.len() < 2 {
        return;
    }
    parts.iter_mut().for_each(|(_, part)| *part *= 100.0 / all);
    // What whole numbers leave goes to those that lose most by it.
    parts.sort_by(|(_, one), (_, other)| other.fract().total_cmp(&one.fract()));
    let left = 100.0 - parts.iter().map(|(_, part)| part.floor()).sum::<f64>();
    for (place, (at, part)) in parts.into_iter().enumerate() {
        let more = if (place as f64) < left { 1.0 } else { 0.0 };
        rows[at].share_of_whole = Some(part.floor() + more);
    }
    for row in rows.iter_mut().filter(|row| row.metric.id.strip_prefix(ELAPSED) == Some(ALL_QUERIES)) {
        row.share_of_whole = row.a.estimate.map(|_| 100.0);
    }
}

/// Whether a part of a metric's name means all queries together, or their mean.
pub fn is_all_queries(part: &str) -> bool {
    [ALL_QUERIES, MEAN_OF_QUERIES].contains(&part)
}

/// The rank of a row to sort by: totals, then queries without comparable times, then the largest changes.
fn rank_of_row(row: &Comparison) -> f64 {
    let part = row.metric.id.split_once('/').map(|(_, part)| part);
    let differs = matches!(row.why_no_verdict(), Some(NoVerdict::DifferentAnswers { .. }));
    match (row.metric.role, part, row.a.estimate.zip(row.b.estimate)) {
        (Role::Primary, Some(part), _) if is_all_queries(part) => f64::NEG_INFINITY,
        (Role::Primary, _, None) => f64::MIN,
        (Role::Primary, ..) if differs => f64::MIN,
        (Role::Primary, ..) if matches!(row.why_no_verdict(), Some(NoVerdict::UnstableAnswers { .. })) => f64::MAX,
        (Role::Primary, _, Some((a, b))) => -(b - a).abs(),
        _ => f64::INFINITY,
    }
}

/// Whether runs of these cases have several values of a metric.
fn has_several_values(index: &Index<'_>, cases: &[u32], id: &str) -> bool {
    index.points_of_cases(cases, id).iter().map(|point| point.value.to_bits()).collect::<BTreeSet<_>>().len() > 1
}
