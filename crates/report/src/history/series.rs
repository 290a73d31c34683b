//! The series of a history: where each is cut, where it moved, and what its newest points say.

use std::collections::{BTreeMap, BTreeSet};

use model::facts::Difference;
use stats::{LEAST_LEVEL, Levels, find_levels};
use store::history::{HistoryContent, HistoryExperiment, HistoryPoint, SeriesKey, StoredSeries};

use crate::labels::metric_name;

/// Nights for which a change stays an alarm once it is found; then its level is the row's own.
pub const ALARM_NIGHTS: usize = 5;
/// Points by which the place of a change may differ when it is found again with more points.
const SAME_CHANGE: usize = 5;
/// Level of the intervals of changes.
const LEVEL: f64 = 0.95;

/// A history with what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedHistory {
    /// The system that values are ratios to.
    pub anchor: Option<String>,
    /// The oldest first.
    pub experiments: Vec<HistoryExperiment>,
    pub rows: Vec<FollowedRow>,
}

/// One series of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedRow {
    pub key: SeriesKey,
    /// The keys by which its case differs from others of the benchmark: `clients=4`.
    pub keys: String,
    /// Each with the index of its experiment.
    pub points: Vec<(usize, HistoryPoint)>,
    pub cuts: Vec<Cut>,
    pub moves: Vec<Move>,
    pub standing: Standing,
}

/// A point from which on the series cannot be compared with what was before.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Index of the first point after it.
    pub at: usize,
    /// The facts that differ.
    pub differences: Vec<Difference>,
}

/// A change of a row's level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// Index of the first point of the new level.
    pub at: usize,
    /// Points of the new level.
    pub points: usize,
    /// New level over old one, with its interval at 95 %.
    pub ratio: f64,
    pub interval: [f64; 2],
    /// Whether the new level is worse, where a way is better.
    pub is_worse: Option<bool>,
}

/// What the newest points of a row say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// Too few points, since the beginning or the last cut, for any change to be found.
    TooFew,
    /// The newest points are on the row's level.
    Steady,
    /// The newest points have left the level, and are too few for a level of their own: not yet an alarm.
    Suspicious(Move),
    /// A change of level was found at most [`ALARM_NIGHTS`] points ago.
    Alarm(Move),
    /// The newest experiment has no point of the row.
    Ended,
}

impl FollowedRow {
    /// The newest point with the index of its experiment.
    pub fn last_point(&self) -> Option<&(usize, HistoryPoint)> {
        self.points.last()
    }

    /// Writes all keys of the row's case, whatever other cases there are.
    pub fn all_keys(&self) -> String {
        let keys = case_keys(&self.key.case_json);
        model::keys_text(keys.iter().map(|(name, value)| (name.as_str(), value.clone())))
    }

    /// Names the row within its system and benchmark: `clients=4, response p99`.
    pub fn short_name(&self) -> String {
        let metric = metric_name(&self.key.metric);
        if self.keys.is_empty() { metric } else { format!("{}, {metric}", self.keys) }
    }

    /// The move that is an alarm, if there is one.
    pub fn alarm(&self) -> Option<&Move> {
        if let Standing::Alarm(found) = &self.standing { Some(found) } else { None }
    }

    /// The first point that can be compared with the newest.
    pub fn start(&self) -> usize {
        self.cuts.last().map_or(0, |cut| cut.at)
    }
}

/// Finds cuts, moves and standing of every series of a history.
pub fn follow_history(content: HistoryContent) -> FollowedHistory {
    let facts: BTreeMap<&str, BTreeMap<String, String>> = content
        .facts
        .iter()
        .map(|(digest, json)| (digest.as_str(), serde_json::from_str(json).unwrap_or_default()))
        .collect();
    let varying = varying_keys(&content.series);
    let mut series: Vec<StoredSeries> =
        content.series.iter().filter(|series| !series.points.is_empty()).cloned().collect();
    series.sort_by(|one, other| one.key.cmp(&other.key));
    let count = series.len();
    let newest = content.experiments.len().saturating_sub(1);
    let rows = series.into_iter().map(|series| {
        let cuts = find_cuts(&series.points, &facts);
        let keys = shown_keys(&series.key, &varying);
        let (moves, standing) = (Vec::new(), Standing::TooFew);
        let mut row =
            follow_row(FollowedRow { key: series.key, keys, points: series.points, cuts, moves, standing }, count);
        if row.points.last().is_some_and(|(at, _)| *at < newest) {
            row.standing = Standing::Ended;
        }
        row
    });
    let rows = rows.collect();
    FollowedHistory { anchor: content.anchor, experiments: content.experiments, rows }
}

/// Finds the moves between a row's cuts, and its standing.
fn follow_row(mut row: FollowedRow, rows: usize) -> FollowedRow {
    let logs: Vec<f64> = row.points.iter().map(|(_, point)| point.value.ln()).collect();
    let starts: Vec<usize> = std::iter::once(0).chain(row.cuts.iter().map(|cut| cut.at)).collect();
    let ends = starts.iter().skip(1).copied().chain([logs.len()]);
    let mut last = Levels::default();
    let mut early = None;
    for (&from, to) in starts.iter().zip(ends) {
        let part = &logs[from..to];
        last = find_levels(part, rows);
        last.changes = place_changes(part, &last.changes);
        early = take_back_early_change(part, &mut last.changes);
        let bounds: Vec<usize> = std::iter::once(0).chain(last.changes.iter().copied()).chain([part.len()]).collect();
        row.moves.extend(
            bounds
                .windows(3)
                .map(|at| move_between(&part[at[0]..at[1]], &part[at[1]..at[2]], from + at[1], &row.key.direction)),
        );
    }
    let start = row.start();
    let points = logs.len() - start;
    row.standing = match (last.suspicion.map(|found| found.since).or(early), row.moves.last()) {
        (Some(since), _) => {
            let level = start + last.changes.last().copied().unwrap_or(0);
            let since = start + since;
            Standing::Suspicious(move_between(&logs[level..since], &logs[since..], since, &row.key.direction))
        }
        (None, Some(found)) if found.at > start && is_new(&logs[start..], &last.changes, rows) => {
            Standing::Alarm(*found)
        }
        (None, _) if points < 2 * LEAST_LEVEL => Standing::TooFew,
        (None, _) => Standing::Steady,
    };
    row
}

/// Moves each change to the place near it from which the levels before and after differ most (the refinement of Bai, "Estimating
/// multiple breaks one at a time", Econometric Theory 13, 1997): sums see a step from the first high night on, if chance or not.
fn place_changes(logs: &[f64], changes: &[usize]) -> Vec<usize> {
    let mut placed: Vec<usize> = Vec::with_capacity(changes.len());
    for (index, &change) in changes.iter().enumerate() {
        let from = placed.last().copied().unwrap_or(0);
        let to = changes.get(index + 1).copied().unwrap_or(logs.len());
        let lowest = (from + LEAST_LEVEL).max(change.saturating_sub(LEAST_LEVEL));
        let highest = to.saturating_sub(LEAST_LEVEL).min(change + LEAST_LEVEL);
        let best = (lowest..=highest).max_by(|one, other| {
            let [one, other] = [one, other].map(|at| gain_of_split(&logs[from..*at], &logs[*at..to]));
            one.total_cmp(&other)
        });
        placed.push(best.unwrap_or(change));
    }
    placed
}

/// Takes back a last change whose level is three nights long only with a night that is nearer to the level before.
/// Returns the first of the two nights that are left; a single one is nothing.
fn take_back_early_change(logs: &[f64], changes: &mut Vec<usize>) -> Option<usize> {
    let &at = changes.last().filter(|at| logs.len() - **at == LEAST_LEVEL)?;
    let from = changes.iter().rev().nth(1).copied().unwrap_or(0);
    let best = (at..logs.len()).max_by(|one, other| {
        let [one, other] = [one, other].map(|at| gain_of_split(&logs[from..*at], &logs[*at..]));
        one.total_cmp(&other)
    })?;
    if best > at {
        changes.pop();
    }
    (best == at + 1).then_some(best)
}

/// The squared error that a split into two levels saves.
fn gain_of_split(before: &[f64], after: &[f64]) -> f64 {
    let [n, m] = [before.len() as f64, after.len() as f64];
    (mean_of(after) - mean_of(before)).powi(2) * n * m / (n + m)
}

/// Whether the last change of a series was not known [`ALARM_NIGHTS`] points earlier. A change that was known then is the one of
/// today's that is nearest to it; older ones that hindsight has found since do not matter.
fn is_new(logs: &[f64], changes: &[usize], rows: usize) -> bool {
    let known = find_levels(&logs[..logs.len().saturating_sub(ALARM_NIGHTS)], rows).changes;
    changes.last().is_some_and(|last| {
        known.iter().all(|old| {
            let nearest = changes.iter().min_by_key(|change| change.abs_diff(*old));
            nearest != Some(last) || last.abs_diff(*old) > SAME_CHANGE
        })
    })
}

/// Measures a change of level: the means' ratio, and Student's interval by the deviation within both.
fn move_between(old: &[f64], new: &[f64], at: usize, direction: &str) -> Move {
    let (old_mean, new_mean) = (mean_of(old), mean_of(new));
    let squares: f64 =
        old.iter().map(|v| (v - old_mean).powi(2)).chain(new.iter().map(|v| (v - new_mean).powi(2))).sum();
    let freedom = (old.len() + new.len()).saturating_sub(2).max(1) as f64;
    let widths = 1.0 / old.len().max(1) as f64 + 1.0 / new.len().max(1) as f64;
    let half =
        stats::special::student_t_quantile(f64::midpoint(1.0, LEVEL), freedom) * (squares / freedom * widths).sqrt();
    let shift = new_mean - old_mean;
    let is_worse = match direction {
        "higher" => Some(shift < 0.0),
        "lower" => Some(shift > 0.0),
        _ => None,
    };
    Move { at, points: new.len(), ratio: shift.exp(), interval: [(shift - half).exp(), (shift + half).exp()], is_worse }
}

/// The mean of values; 0 of none.
fn mean_of(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Finds the points with a fact that differs from its last known value; points in between may not have it.
fn find_cuts(points: &[(usize, HistoryPoint)], facts: &BTreeMap<&str, BTreeMap<String, String>>) -> Vec<Cut> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let mut cuts = Vec::new();
    let mut digest = None;
    for (at, (_, point)) in points.iter().enumerate() {
        if digest.replace(&point.facts_digest) == Some(&point.facts_digest) {
            continue;
        }
        let mut differences = Vec::new();
        for (name, is) in facts.get(point.facts_digest.as_str()).into_iter().flatten() {
            if let Some(was) = known.insert(name, is).filter(|was| was != is) {
                differences.push(Difference { name: name.clone(), a: Some(was.to_owned()), b: Some(is.clone()) });
            }
        }
        if !differences.is_empty() {
            cuts.push(Cut { at, differences });
        }
    }
    cuts
}

/// Reads the keys of a case with their values as text.
fn case_keys(json: &str) -> BTreeMap<String, String> {
    let keys: BTreeMap<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    let as_text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    keys.into_iter().map(|(key, value)| (key, as_text(value))).collect()
}

/// Finds, for each benchmark, the keys in which its cases differ.
fn varying_keys(series: &[StoredSeries]) -> BTreeMap<String, BTreeSet<String>> {
    let mut values: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for one in series {
        for (key, value) in case_keys(&one.key.case_json) {
            values.entry((one.key.benchmark.clone(), key)).or_default().insert(value);
        }
    }
    let mut varying: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ((benchmark, key), values) in values {
        if values.len() > 1 {
            varying.entry(benchmark).or_default().insert(key);
        }
    }
    varying
}

/// Writes the keys of a case in which others of its benchmark differ.
fn shown_keys(key: &SeriesKey, varying: &BTreeMap<String, BTreeSet<String>>) -> String {
    let shown = varying.get(&key.benchmark);
    let keys = case_keys(&key.case_json);
    let keys = keys.iter().filter(|(name, _)| shown.is_some_and(|shown| shown.contains(*name)));
    model::keys_text(keys.map(|(name, value)| (name.as_str(), value.clone())))
}
