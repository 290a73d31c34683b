//! Runs that failed or lack a figure, and runs that were measured only at a later attempt: the rest is no fair choice
//! of all, since as a rule the worst ones are missing from it.

use std::collections::{BTreeMap, BTreeSet};

use model::{Direction, Metric, Quantity, Reading, RunState};
use stats::{RunValue, Sample};
use store::StoredMeasurement;

use super::failures::SHARE_MARGIN;
use super::judging::{Index, RowCases, estimate_ratio};
use super::matching::Matched;
use super::row::{Estimate, NoVerdict, SideLetter};
use super::set::Rules;
use crate::evidence::Evidence;
use crate::number::count_noun;

/// How the runs of one case ended.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    pub measured: usize,
    /// Places of which no attempt was measured.
    pub failed: usize,
    /// Rounds whose run was measured after an attempt that failed.
    failed_first: BTreeSet<u32>,
    /// Rounds whose run was measured after one in which étalon ended, by a user or by whatever kills it: an engine that runs
    /// inside it, too.
    cut_off_first: BTreeSet<u32>,
}

/// Counts for each case how its runs ended.
pub fn count_ends(evidence: &Evidence) -> BTreeMap<u32, Ends> {
    let mut ends: BTreeMap<u32, Ends> = BTreeMap::new();
    let mut measured = BTreeSet::new();
    for last in evidence.last_attempts() {
        let of_case = ends.entry(last.planned.case).or_default();
        of_case.measured += usize::from(last.state == RunState::Measured);
        of_case.failed += usize::from(evidence.has_failed(last));
        measured.extend((last.state == RunState::Measured).then_some(last.planned.position));
    }
    for run in evidence.runs.iter().filter(|run| measured.contains(&run.planned.position)) {
        let of_case = ends.entry(run.planned.case).or_default();
        let first = match run.state {
            RunState::Aborted => &mut of_case.cut_off_first,
            RunState::Failed => &mut of_case.failed_first,
            _ => continue,
        };
        first.insert(run.planned.round);
    }
    ends
}

/// Whether the case that is compared with this one has a value of the metric.
fn counterpart_has(index: &Index<'_>, cases: &RowCases<'_>, case: u32, metric: &Metric) -> bool {
    let mut others = cases.matched.pairs.iter().filter_map(|(a, b)| match case {
        case if case == *a => Some(*b),
        case if case == *b => Some(*a),
        _ => None,
    });
    others.any(|other| !index.points_of_cases(&[other], &metric.id).is_empty())
}

/// Counts the runs of a case that have too few operations for a metric.
fn runs_with_too_few(index: &Index<'_>, case: u32, metric: &Metric) -> usize {
    let missing = index.missing_reasons(&[case], &metric.id).into_iter();
    missing.filter(|(why, _)| why.operations_needed().is_some()).map(|(_, runs)| runs).sum()
}

/// Says that the row has no figure since a run had too few operations for the metric; `None` if some miss it for other reasons.
/// Run by run, chance would decide which runs have it. Cases that have it on neither side take no part, unless all are such.
pub fn why_too_few_operations(index: &Index<'_>, cases: &RowCases<'_>, metric: &Metric) -> Option<NoVerdict> {
    let has = |case: u32| !index.points_of_cases(&[case], &metric.id).is_empty();
    let all: Vec<u32> = cases.a.iter().chain(cases.b).copied().collect();
    let is_none = !all.iter().copied().any(has);
    let parts: Vec<u32> = all
        .iter()
        .copied()
        .filter(|case| is_none || has(*case) || counterpart_has(index, cases, *case, metric))
        .collect();
    let missing: Vec<_> = parts.iter().copied().flat_map(|case| index.missing_reasons(&[case], &metric.id)).collect();
    let needed: Option<Vec<u64>> = missing.iter().map(|(why, _)| why.operations_needed()).collect();
    Some(NoVerdict::TooFewOperations {
        needed: needed?.into_iter().max()?,
        runs: missing.iter().map(|(_, runs)| runs).sum(),
        of: parts.iter().copied().filter_map(|case| index.ends.get(&case)).map(|ends| ends.measured).sum(),
    })
}

/// Says why there is no verdict by the side on which more runs failed or have no value; `None` if neither has such runs.
/// A case that has none takes no part, unless its counterpart has one.
pub fn missing_runs_reason(index: &Index<'_>, cases_of_row: &RowCases<'_>, metric: &Metric) -> Option<NoVerdict> {
    let (a, b) = (
        why_side_incomplete(index, cases_of_row, metric, cases_of_row.a, SideLetter::A),
        why_side_incomplete(index, cases_of_row, metric, cases_of_row.b, SideLetter::B),
    );
    let worse = a.into_iter().chain(b).reduce(|a, b| if b.0 > a.0 { b } else { a });
    worse.map(|(_, found)| found)
}

/// Counts the runs of a side that failed or have no value, with the reason for no verdict; `None` without any.
fn why_side_incomplete(
    index: &Index<'_>,
    cases_of_row: &RowCases<'_>,
    metric: &Metric,
    cases: &[u32],
    side: SideLetter,
) -> Option<(usize, NoVerdict)> {
    let (mut runs, mut of) = (0, 0);
    for case in cases {
        let Some(ends) = index.ends.get(case) else { continue };
        let has = index.points_of_cases(&[*case], &metric.id).len();
        let is_part = index.has_metric(*case, &metric.id) || counterpart_has(index, cases_of_row, *case, metric);
        let of_length = runs_with_too_few(index, *case, metric);
        runs += ends.failed + if is_part { ends.measured.saturating_sub(has + of_length) } else { 0 };
        of += ends.failed + ends.measured;
    }
    (runs > 0).then_some((runs, NoVerdict::IncompleteRuns { side, runs, of }))
}

/// One run in so many, or just one, may be repeated on a side beyond those of the other.
const MOST_REPEATED: usize = 10;

/// Whether one side has more repeats than the other by a number that lets them choose among its runs.
fn is_choice(repeated: usize, of_other: usize, rounds: usize) -> bool {
    repeated.abs_diff(of_other) > (rounds / MOST_REPEATED).max(1)
}

/// Largest p at which étalon's own ends are believed to come whatever side runs.
const CHANCE: f64 = 0.05;

/// Whether étalon ended under one side so much more often than under the other that it is not chance.
/// It is the two-sided p of a fair coin.
fn is_beyond_chance(a: usize, b: usize) -> bool {
    let (few, all) = (a.min(b), a + b);
    let mut term = 0.5_f64.powi(all.try_into().unwrap_or(i32::MAX));
    let mut tail = term;
    for k in 1..=few {
        term *= (all - k + 1) as f64 / k as f64;
        tail += term;
    }
    a != b && 2.0 * tail <= CHANCE
}

/// Collects the rounds of some cases that `of` lists, such as those measured only after a failure.
fn collect_rounds(ends: &[&Ends], of: fn(&Ends) -> &BTreeSet<u32>) -> BTreeSet<u32> {
    ends.iter().flat_map(|ends| of(ends)).copied().collect()
}

/// Says why none of some cases may be called the best: not at their end, measured apart, or one repeated too often.
/// No row of theirs would have a verdict, whatever figures stand without one.
pub fn why_choice_unfair(evidence: &Evidence, index: &Index<'_>, cases: &[u32]) -> Option<String> {
    if let Some(found) = evidence.progress_if_unfinished() {
        return Some(found.sentence());
    }
    if evidence.apart.is_some() {
        return Some("measured apart".to_owned());
    }
    let ends: Vec<(u32, &Ends)> = cases.iter().filter_map(|case| Some((*case, index.ends.get(case)?))).collect();
    let measured = ends.iter().map(|(_, ends)| ends.measured).min()?;
    why_repeated_more_often(
        evidence,
        &ends,
        |ends| &ends.failed_first,
        &|most, least| is_choice(most, least, measured),
        "failed",
    )
    .or_else(|| why_repeated_more_often(evidence, &ends, |ends| &ends.cut_off_first, &is_beyond_chance, "were cut off"))
}

/// Says which case had more runs repeated than the others, if `is_choice` calls that unfair; else `None`.
fn why_repeated_more_often(
    evidence: &Evidence,
    all: &[(u32, &Ends)],
    of: fn(&Ends) -> &BTreeSet<u32>,
    is_choice: &dyn Fn(usize, usize) -> bool,
    what: &str,
) -> Option<String> {
    let (most, case) = all.iter().map(|(case, ends)| (of(ends).len(), *case)).max()?;
    let least = all.iter().map(|(_, ends)| of(ends).len()).min()?;
    let system = &evidence.case(case)?.system;
    is_choice(most, least).then(|| format!("{} of {system} {what} at first", count_noun(most, "run")))
}

/// Counts how often étalon ended under each system, in all its cases: few in each may be many in all.
pub fn count_cut_off<'a>(evidence: &'a Evidence, ends: &BTreeMap<u32, Ends>) -> BTreeMap<&'a str, usize> {
    let mut found = BTreeMap::new();
    for (case, ends) in ends {
        let Some(case) = evidence.case(*case) else { continue };
        *found.entry(case.system.as_str()).or_default() += ends.cut_off_first.len();
    }
    found
}

/// Counts how often étalon ended under the systems of each side; 0 where both sides are of the same systems.
pub fn cut_off_of_systems(evidence: &Evidence, cut_off: &BTreeMap<&str, usize>, sides: [&[u32]; 2]) -> [usize; 2] {
    let [of_a, of_b] = sides.map(|cases| {
        cases
            .iter()
            .filter_map(|case| evidence.case(*case).map(|case| case.system.as_str()))
            .collect::<BTreeSet<&str>>()
    });
    if of_a == of_b {
        return [0, 0];
    }
    [of_a, of_b].map(|systems| systems.into_iter().filter_map(|system| cut_off.get(system)).sum())
}

/// Fails with a reason for no verdict if what was repeated or measured again is a choice; else the largest p that it may have.
/// That is the p of what might have been measured instead, if there is anything.
pub fn check_repeats(
    index: &Index<'_>,
    cases: &RowCases<'_>,
    metric: &Metric,
    matched: &Matched,
    found: (&Estimate, &Rules),
) -> Result<Option<f64>, NoVerdict> {
    let repeated = check_failed_repeats(index, cases, metric, matched, found)?;
    let first = check_first_values(index, cases, metric, matched, found)?;
    Ok(repeated.into_iter().chain(first).reduce(f64::max))
}

/// Fails with a reason for no verdict if one side was repeated too often, or repeats as bad as the worst run change the row.
/// Else it is the p of a t test of just that, if anything was repeated. A connection that was lost once changes little; a server
/// that is asked again until it lives, much.
fn check_failed_repeats(
    index: &Index<'_>,
    cases: &RowCases<'_>,
    metric: &Metric,
    matched: &Matched,
    (found, rules): (&Estimate, &Rules),
) -> Result<Option<f64>, NoVerdict> {
    let sides = [ends_of(index, cases.a), ends_of(index, cases.b)];
    let failed = sides.each_ref().map(|side| collect_rounds(side, |ends| &ends.failed_first));
    let (side, runs) = more_repeated(failed.each_ref().map(BTreeSet::len));
    let repeated = NoVerdict::Repeated { side, runs };
    if is_choice(failed[0].len(), failed[1].len(), found.rounds as usize) {
        return Err(repeated);
    }
    let cut_off = sides.each_ref().map(|side| collect_rounds(side, |ends| &ends.cut_off_first));
    let (side, runs) = more_repeated(cut_off.each_ref().map(BTreeSet::len));
    let cut_off_too_often = NoVerdict::CutOff { side, runs };
    let of_systems = cases.cut_off_of_systems;
    if is_beyond_chance(cut_off[0].len(), cut_off[1].len()) || is_beyond_chance(of_systems[0], of_systems[1]) {
        let (side, runs) = if runs > 0 { (side, runs) } else { more_repeated(of_systems) };
        return Err(NoVerdict::CutOff { side, runs });
    }
    // Within chance what was cut off may have been as good as any, unless one side has more of it.
    let is_uneven = is_choice(cut_off[0].len(), cut_off[1].len(), found.rounds as usize);
    let no_verdict = if failed.iter().all(BTreeSet::is_empty) { cut_off_too_often } else { repeated };
    let [of_a, of_b] = if is_uneven { [0, 1].map(|side| &failed[side] | &cut_off[side]) } else { failed };
    if of_a.is_empty() && of_b.is_empty() {
        return Ok(None);
    }
    let values = matched.a.values().iter().chain(matched.b.values()).copied();
    let worst = match metric.direction {
        Direction::Higher => values.fold(f64::INFINITY, f64::min),
        Direction::Lower => values.fold(f64::NEG_INFINITY, f64::max),
        Direction::Neither => return Ok(None),
    };
    let (otherwise, _) = estimate_ratio(
        &sample_at_worst(&matched.a, &of_a, worst),
        &sample_at_worst(&matched.b, &of_b, worst),
        rules,
        None,
    );
    p_if_same(otherwise, found, metric, rules).ok_or(no_verdict).map(Some)
}

/// Looks up how the runs of these cases ended.
fn ends_of<'a>(index: &'a Index<'_>, cases: &[u32]) -> Vec<&'a Ends> {
    cases.iter().filter_map(|case| index.ends.get(case)).collect()
}

/// Replaces the values of repeated rounds by the worst value.
fn sample_at_worst(sample: &Sample, repeated: &BTreeSet<u32>, worst: f64) -> Sample {
    Sample::from_runs(sample.runs().iter().map(|run| {
        let value = if repeated.contains(&run.round) { worst } else { run.value };
        RunValue { round: run.round, value }
    }))
}

/// The side with more repeats, and how many; B if both have as many.
fn more_repeated([a, b]: [usize; 2]) -> (SideLetter, usize) {
    if b >= a { (SideLetter::B, b) } else { (SideLetter::A, a) }
}

/// The p of another estimate if it says the same as the one found; else `None`.
fn p_if_same(otherwise: Option<Estimate>, found: &Estimate, metric: &Metric, rules: &Rules) -> Option<f64> {
    let margin = if metric.quantity() == Quantity::Failures { SHARE_MARGIN } else { rules.margin };
    let (low, high) = stats::margin_bounds(margin);
    otherwise
        .filter(|otherwise| finding_of(otherwise, low, high) == finding_of(found, low, high))
        .map(|otherwise| otherwise.p_t)
}

/// Whether an interval says higher, lower, or within the margin.
fn finding_of(e: &Estimate, low: f64, high: f64) -> (bool, bool, bool) {
    (e.lo > 1.0, e.hi < 1.0, low <= e.lo && e.hi <= high)
}

/// Collects the first values of runs that were measured again, by case, metric and round.
pub fn measured_first(evidence: &Evidence) -> BTreeMap<(u32, String), BTreeMap<u32, f64>> {
    let mut first: BTreeMap<(u32, String), BTreeMap<u32, f64>> = BTreeMap::new();
    let mut superseded: Vec<&StoredMeasurement> = evidence.superseded.iter().collect();
    superseded.sort_by_key(|stored| stored.run_id);
    for stored in superseded {
        if let Reading::Value(value) = stored.measurement.reading {
            let key = (stored.case, stored.measurement.metric.id.clone());
            first.entry(key).or_default().entry(stored.round).or_insert(value);
        }
    }
    first
}

/// Fails with a reason for no verdict if the first values of runs measured again change the row; else their p, if there are any.
/// Interrupting until the result pleases must not pay. Rows of several cases are not asked.
fn check_first_values(
    index: &Index<'_>,
    cases: &RowCases<'_>,
    metric: &Metric,
    matched: &Matched,
    (found, rules): (&Estimate, &Rules),
) -> Result<Option<f64>, NoVerdict> {
    let ((a, of_a), (b, of_b)) =
        (with_first_values(index, metric, &matched.a, cases.a), with_first_values(index, metric, &matched.b, cases.b));
    let runs = of_a + of_b;
    if runs == 0 {
        return Ok(None);
    }
    let (otherwise, _) = estimate_ratio(&a, &b, rules, None);
    p_if_same(otherwise, found, metric, rules).ok_or(NoVerdict::MeasuredAgain { runs }).map(Some)
}

/// Replaces the values of runs that were measured again by their first ones, and counts them.
fn with_first_values(index: &Index<'_>, metric: &Metric, sample: &Sample, cases: &[u32]) -> (Sample, usize) {
    let first = if let [case] = cases { index.first.get(&(*case, metric.id.clone())) } else { None };
    let of_round = |round: u32| first.and_then(|first| first.get(&round)).copied();
    let again = sample.runs().iter().filter(|run| of_round(run.round).is_some()).count();
    let runs =
        sample.runs().iter().map(|run| RunValue { round: run.round, value: of_round(run.round).unwrap_or(run.value) });
    (Sample::from_runs(runs), again)
}
