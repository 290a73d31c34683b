use std::collections::{BTreeMap, BTreeSet};

use model::metric::{CAPACITY, CAPACITY_BIAS};
use model::{Absence, Case, Mark, MarkKind, Metric, NoValue, Quantity, Reading, Role};
use stats::{RunValue, Sample, Verdict};

use super::families::Family;
use super::matching::{Matched, MatchedCases, match_values};
use super::missing_runs::{self, Ends};
use super::options::Pairing;
use super::rounding::{clock_step, excludes_one, rounding_step, warn_no_spread, why_under_step, widen_for_rounding};
use super::row::{Bound, Comparison, Estimate, NoVerdict, Outcome, RunPoint, Scale, Side, SideLetter, stats_direction};
use super::set::Rules;
use super::warning::{Warning, mark_name};
use super::{centre, failures, plans};
use crate::evidence::Evidence;
use crate::labels::is_capacity;
use crate::lookup::Lookup;
use crate::number::count_noun;

const RESAMPLES: u32 = 1_999;

#[derive(Clone, Debug, Default)]
pub struct Readings {
    points: Vec<RunPoint>,
    unavailable: Vec<(NoValue, usize)>,
}

/// Readings by case and metric; a case's metrics are in the order of its first run.
pub struct Index<'a> {
    pub lookup: Lookup<'a>,
    readings: BTreeMap<(u32, &'a str), Readings>,
    pub ends: BTreeMap<u32, Ends>,
    /// What runs that were measured again had said first, by case and metric, then by round.
    pub first: BTreeMap<(u32, String), BTreeMap<u32, f64>>,
    /// Metrics of a benchmark that runs report in other units or turn another way: as the first such run has it.
    conflicts: BTreeMap<(&'a str, &'a str), &'a Metric>,
    /// Each metric of a benchmark as its first run has it.
    reported: BTreeMap<(&'a str, &'a str), &'a Metric>,
    /// The metrics of each benchmark, primary ones first.
    pub metrics: BTreeMap<String, Vec<Metric>>,
    /// The plans of the queries of measured runs.
    pub plans: plans::Plans<'a>,
}

impl<'a> Index<'a> {
    /// Indexes the evidence's readings by case and metric, and the metrics by benchmark.
    pub fn new(evidence: &'a Evidence) -> Index<'a> {
        let mut index = Index {
            lookup: Lookup::new(evidence),
            readings: BTreeMap::new(),
            ends: missing_runs::count_ends(evidence),
            first: missing_runs::measured_first(evidence),
            conflicts: BTreeMap::new(),
            reported: BTreeMap::new(),
            metrics: BTreeMap::new(),
            plans: plans::Plans::new(evidence),
        };
        for stored in &evidence.measurements {
            let Some(case) = evidence.case(stored.case) else { continue };
            let metric = &stored.measurement.metric;
            let first = *index.reported.entry((&case.benchmark, &metric.id)).or_insert_with(|| {
                index.metrics.entry(case.benchmark.clone()).or_default().push(metric.clone());
                metric
            });
            if (&first.unit, first.direction) != (&metric.unit, metric.direction) {
                index.conflicts.entry((&case.benchmark, &metric.id)).or_insert(metric);
            }
            let readings = index.readings.entry((stored.case, &metric.id)).or_default();
            match &stored.measurement.reading {
                Reading::Value(value) if value.is_finite() => readings.points.push(RunPoint {
                    run: stored.run_id,
                    position: stored.position,
                    round: stored.round,
                    value: *value,
                }),
                Reading::Value(value) => {
                    readings.add_missing(Absence::Unavailable.with_reason(format!("the value is {value}")), 1)
                }
                Reading::Unavailable(reason) => readings.add_missing(reason.clone(), 1),
            }
        }
        for metrics in index.metrics.values_mut() {
            metrics.sort_by_key(|metric| metric.role);
        }
        index
    }

    /// Whether a case has readings of a metric, if only why there is no value.
    pub fn has_metric(&self, case: u32, metric: &str) -> bool {
        self.readings.contains_key(&(case, metric))
    }

    /// Lists the metrics that a case has readings of, by name.
    pub fn metrics_of(&self, case: u32) -> impl Iterator<Item = &'a str> {
        self.readings
            .range((case, "")..)
            .map(|(key, _)| *key)
            .take_while(move |(own, _)| *own == case)
            .map(|(_, id)| id)
    }

    /// Finds another unit or direction in which runs of these cases report a metric; `None` if all agree.
    fn find_conflict(&self, evidence: &Evidence, cases: &RowCases<'_>, metric: &Metric) -> Option<Conflict> {
        let benchmarks = cases.a.iter().chain(cases.b).filter_map(|case| evidence.case(*case)).map(|c| &c.benchmark);
        let mut reported = benchmarks.flat_map(|name| {
            let key = (name.as_str(), metric.id.as_str());
            [self.reported.get(&key), self.conflicts.get(&key)].into_iter().flatten()
        });
        let other = reported.find(|other| (&other.unit, other.direction) != (&metric.unit, metric.direction))?;
        Some(if other.unit == metric.unit {
            Conflict::Direction
        } else {
            Conflict::Units(format!("its runs tell it in `{}` and in `{}`", metric.unit, other.unit))
        })
    }

    /// Collects a case's values of a metric in the requested rounds, in run order.
    pub fn sample_of_rounds(&self, case: u32, metric: &str, is_asked: impl Fn(u32) -> bool) -> Sample {
        let points = self.pooled_readings(&[case], metric).points.into_iter().filter(|point| is_asked(point.round));
        Sample::from_runs(points.map(|point| RunValue { round: point.round, value: point.value }))
    }

    /// The rounds in which a case has a value of a metric.
    pub fn measured_rounds(&self, case: u32, metric: &str) -> BTreeSet<u32> {
        let readings = self.readings.get(&(case, metric));
        readings.into_iter().flat_map(|readings| &readings.points).map(|point| point.round).collect()
    }

    /// Collects the values of several cases in run order.
    pub fn points_of_cases(&self, cases: &[u32], metric: &str) -> Vec<RunPoint> {
        self.pooled_readings(cases, metric).points
    }

    /// Collects a case's values in run order, if each run has one; else says why not, and how many runs have none.
    /// The others would stand for those.
    pub fn values_of_all_runs(&self, case: u32, metric: &str) -> Result<Vec<RunPoint>, (NoValue, usize)> {
        let Readings { points, unavailable: missing } = self.pooled_readings(&[case], metric);
        let (measured, failed) = self.ends.get(&case).map_or((0, 0), |ends| (ends.measured, ends.failed));
        let missing_runs = measured.saturating_sub(points.len());
        match missing.into_iter().next() {
            _ if failed > 0 => Err((unavailable_because(&format!("{} failed", count_noun(failed, "run"))), failed)),
            Some((missing, _)) if points.is_empty() => Err((missing, missing_runs)),
            None if points.is_empty() => Err((unavailable_because("no run was measured"), missing_runs)),
            _ if missing_runs == 0 => Ok(points),
            missing => {
                let NoValue { kind, reason } =
                    missing.map_or_else(|| unavailable_because("nothing is told of it"), |(missing, _)| missing);
                Err((
                    kind.with_reason(format!("{reason} (in {missing_runs} of {})", count_noun(measured, "run"))),
                    missing_runs,
                ))
            }
        }
    }

    /// Lists the reasons why values of a metric are missing, each with the number of runs.
    pub fn missing_reasons(&self, cases: &[u32], metric: &str) -> Vec<(NoValue, usize)> {
        self.pooled_readings(cases, metric).unavailable
    }

    /// Collects the readings of several cases in run order, with the reasons for missing ones.
    fn pooled_readings(&self, cases: &[u32], metric: &str) -> Readings {
        let mut all = Readings::default();
        for case in cases {
            let Some(one) = self.readings.get(&(*case, metric)) else { continue };
            all.points.extend(&one.points);
            for (missing, runs) in &one.unavailable {
                all.add_missing(missing.clone(), *runs);
            }
        }
        all.points.sort_by_key(|point| point.position);
        all
    }
}

/// Makes a missing value with a reason.
fn unavailable_because(reason: &str) -> NoValue {
    Absence::Unavailable.with_reason(reason)
}

/// Why the values of a metric cannot be compared.
enum Conflict {
    /// The units, in words.
    Units(String),
    Direction,
}

impl Conflict {
    /// Writes the conflict as a reason.
    fn text(self) -> String {
        match self {
            Conflict::Units(why) => why,
            Conflict::Direction => "its runs do not agree which way is better".to_owned(),
        }
    }
}

impl Readings {
    /// Counts runs that have no value for a reason.
    fn add_missing(&mut self, missing: NoValue, runs: usize) {
        match self.unavailable.iter_mut().find(|(known, _)| *known == missing) {
            Some((_, count)) => *count += runs,
            None => self.unavailable.push((missing, runs)),
        }
    }
}

/// The cases of both sides of a row.
pub struct RowCases<'a> {
    /// Column heads.
    pub labels: (&'a str, &'a str),
    pub a: &'a [u32],
    pub b: &'a [u32],
    /// Cases of A with their counterparts of B.
    pub matched: MatchedCases,
    /// Common to all metrics of these cases.
    pub warnings: Vec<Warning>,
    /// See [`missing_runs::cut_off_of_systems`].
    pub cut_off_of_systems: [usize; 2],
    /// Distinguishes the row's case.
    pub label: Vec<(String, String)>,
    /// Applies to all metrics of these cases.
    pub no_verdict: Option<NoVerdict>,
    /// Rows of other metrics are judged with the shown ones, and dropped.
    pub is_shown: &'a dyn Fn(&Metric) -> bool,
}

/// The reason that the cases have no verdict, if it is that a system changed.
fn changed_reason(cases: &RowCases<'_>) -> Option<NoVerdict> {
    cases.no_verdict.clone().filter(|why| matches!(why, NoVerdict::SystemChanged { .. }))
}

/// Makes the row of a metric, judged later: a verdict needs all rows of the family.
pub fn make_row(
    evidence: &Evidence,
    index: &Index<'_>,
    cases: &RowCases<'_>,
    metric: &Metric,
    rules: &Rules,
) -> Comparison {
    let conflict = index.find_conflict(evidence, cases, metric);
    let too_few = missing_runs::why_too_few_operations(index, cases, metric);
    let withheld = withheld_reason(conflict.as_ref(), too_few.as_ref());
    let side = |label: &str, own: &[u32]| match (make_side(evidence, index, label, own, metric, rules), &withheld) {
        ((side, sample), Some(why)) => (side.withhold_figures(why.clone()), sample),
        (found, None) => found,
    };
    let ((mut side_a, sample_a), (mut side_b, sample_b)) =
        (side(cases.labels.0, cases.a), side(cases.labels.1, cases.b));
    let matched = match_values(index, &cases.matched, metric, rules.pairing);
    let change = match withheld {
        Some(_) => None,
        None => centre::fill_compared_figures(&matched, metric, rules, [&mut side_a, &mut side_b]),
    };
    let seed = (cases.is_shown)(metric).then_some(evidence.header.plan.schedule.seed);
    let (estimate, refusal) =
        withheld.as_ref().map_or_else(|| estimate_matched(&matched, metric, rules, seed), |_| (None, None));
    let failures = failures::find_failures(evidence, index, (cases.a, cases.b), metric, rules);
    let mut warnings: Vec<Warning> = cases.warnings.iter().cloned().chain(failures.unknown).collect();
    let clock = clock_step(metric, &sample_a, &sample_b);
    warnings.extend(warn_missing_values_of([&side_a, &side_b]));
    warnings.extend(clock.map(|step| Warning::QuantisedClock { step, unit: metric.unit.clone() }));
    let rounding = rounding_step(evidence, index, metric, cases, &sample_a, &sample_b);
    let step = clock.into_iter().chain(rounding).reduce(f64::max);
    let are_apart = estimate.as_ref().is_some_and(excludes_one);
    warnings.extend(warn_no_spread(estimate.as_ref(), rounding, metric, &sample_a, &sample_b));
    let estimate = estimate.map(|found| widen_for_rounding(found, clock, rounding, &side_a, &side_b));
    warnings.extend(unpaired_warning(&matched, rules).into_iter().chain(matched.left_out.clone()));
    let repeated = estimate
        .as_ref()
        .map_or(Ok(None), |found| missing_runs::check_repeats(index, cases, metric, &matched, (found, rules)));
    // The verdict rests on the worse of both, adjusted with the other rows.
    let p_otherwise = repeated.as_ref().ok().copied().flatten().unwrap_or(0.0);
    let estimate = estimate.map(|found| Estimate { p_t: found.p_t.max(p_otherwise), ..found });
    let involved: Vec<&Case> = cases.a.iter().chain(cases.b).filter_map(|i| evidence.case(*i)).collect();
    let is_judged = metric.role != Role::Diagnostic;
    let no_verdict = changed_reason(cases)
        .filter(|_| is_judged)
        .or(if is_judged { failures.no_verdict } else { None })
        .or_else(|| conflict.map(|found| NoVerdict::NotComparable(found.text())))
        .or(too_few)
        .or_else(|| why_side_missing(&side_a, &side_b))
        .or_else(|| rules.unjudgeable_yet().map(NoVerdict::Unfinished))
        .or_else(|| missing_runs::missing_runs_reason(index, cases, metric))
        .or_else(|| refusal.map(|found| prefer_case_reason(found, cases, metric)))
        .or_else(|| repeated.err())
        .or_else(|| why_bounds_undecided(&side_a, &side_b, estimate.as_ref(), rules))
        .or_else(|| why_under_step(step?, &side_a, &side_b, estimate.as_ref()?, are_apart, rules))
        .or_else(|| (!is_judged).then_some(NoVerdict::Diagnostic))
        .or_else(|| cases.no_verdict.clone());
    let estimate = if rules.unjudgeable_yet().is_none() { estimate } else { None };
    warnings.extend(estimate.iter().flat_map(doubts_about));
    fill_detectable(&mut warnings, estimate.as_ref());
    let plan_differs = index.plans.compare_plans_and_warn(evidence, (cases.a, cases.b), metric, &mut warnings);
    Comparison {
        family: Family::new(metric, &involved),
        benchmark: join_distinct(involved.iter().map(|case| case.benchmark.as_str())),
        case: common_point(&involved),
        label: cases.label.clone(),
        metric: metric.clone(),
        a: side_a,
        b: side_b,
        change: centre::exact_change(change, estimate.as_ref(), rules),
        estimate,
        // Replaced by `families::judge` unless something prevents a verdict.
        rounds_needed: no_verdict.as_ref().and_then(NoVerdict::rounds_missing),
        outcome: no_verdict.map_or(Outcome::Verdict(Verdict::Inconclusive), Outcome::None),
        failures: failures.shares,
        plan_differs,
        share_of_whole: None,
        warnings,
    }
}

/// Says why no value of the row is shown: its units differ, or its runs have too few operations.
fn withheld_reason(conflict: Option<&Conflict>, too_few: Option<&NoVerdict>) -> Option<NoValue> {
    match (conflict, too_few) {
        (Some(Conflict::Units(why)), _) => Some(Absence::Unavailable.with_reason(why)),
        (_, Some(NoVerdict::TooFewOperations { needed, .. })) => Some(NoValue::too_few(*needed, "operations in a run")),
        _ => None,
    }
}

/// Replaces "too few rounds" by the cases' own reason for no verdict, as more rounds alone would not help.
fn prefer_case_reason(refusal: NoVerdict, cases: &RowCases<'_>, metric: &Metric) -> NoVerdict {
    let is_of_rounds = matches!(refusal, NoVerdict::TooFewRounds { .. }) && metric.role != Role::Diagnostic;
    match &cases.no_verdict {
        Some(reason) if is_of_rounds => reason.clone(),
        _ => refusal,
    }
}

/// Joins the texts in order, each once.
pub fn join_distinct<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.join(" + ")
}

/// Collects the keys that have equal values in all cases.
fn common_point(cases: &[&Case]) -> model::Point {
    let Some(first) = cases.first() else { return model::Point::new() };
    first
        .point
        .iter()
        .filter(|(key, value)| cases.iter().all(|c| c.point.get(*key) == Some(value)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Makes the side of a row: its values and their summary; returns it with the sample of the values.
pub fn make_side(
    evidence: &Evidence,
    index: &Index<'_>,
    label: &str,
    cases: &[u32],
    metric: &Metric,
    rules: &Rules,
) -> (Side, Sample) {
    let readings = index.pooled_readings(cases, &metric.id);
    let sample = Sample::from_runs(readings.points.iter().map(|p| RunValue { round: p.round, value: p.value }));
    let systems = cases.iter().filter_map(|i| evidence.case(*i)).map(|case| case.system.as_str());
    let side = Side {
        label: label.to_owned(),
        system: join_distinct(systems),
        summary: stats::summarise(&sample),
        estimate: rules.estimator.apply(&sample, stats_direction(metric.direction)),
        bound: None,
        half_width: if rules.unjudgeable_yet().is_none() { half_width_of(metric, &sample, rules.level) } else { None },
        runs: readings.points,
        unavailable: readings.unavailable,
    };
    (note_bound(index, side, metric), sample)
}

/// Computes half the width of an interval of a metric's mean, as a share of it; that of a capacity has room for what is found too high.
pub fn half_width_of(metric: &Metric, sample: &Sample, level: f64) -> Option<f64> {
    let share = stats::relative_half_width(sample, level)?;
    Some(if metric.id == CAPACITY { (1.0 + share) * (1.0 + CAPACITY_BIAS) - 1.0 } else { share })
}

/// Marks a side of a capacity as a bound if its runs found only that; an interval of what they found holds no capacity.
fn note_bound(index: &Index<'_>, side: Side, metric: &Metric) -> Side {
    if !is_capacity(metric) {
        return side;
    }
    let has = |kind| side.runs.iter().any(|point| index.lookup.marks_of_run(point.run).any(|mark| mark.kind == kind));
    let bound = match (has(MarkKind::NoLoadKept), has(MarkKind::EveryLoadKept)) {
        (false, false) => return side,
        (true, false) => Bound::Below,
        (false, true) => Bound::AtLeast,
        (true, true) => {
            return side.withhold_figures(unavailable_because(
                "in some runs no load kept the promise, and in others every load did",
            ));
        }
    };
    Side { bound: Some(bound), half_width: None, ..side }
}

/// Says why bounds of capacities decide nothing: the true ratio may be lower or higher; `None` if the difference stands.
/// Only a difference the other way stands.
fn why_bounds_undecided(a: &Side, b: &Side, estimate: Option<&Estimate>, rules: &Rules) -> Option<NoVerdict> {
    let may_be_lower = b.bound == Some(Bound::Below) || a.bound == Some(Bound::AtLeast);
    let may_be_higher = b.bound == Some(Bound::AtLeast) || a.bound == Some(Bound::Below);
    let stands = estimate.is_some_and(|found| match (may_be_lower, may_be_higher) {
        (false, false) => true,
        (true, false) => found.hi * (1.0 + rules.margin) < 1.0,
        (false, true) => found.lo > 1.0 + rules.margin,
        (true, true) => false,
    });
    ((may_be_lower || may_be_higher) && !stands).then_some(NoVerdict::OnlyBounds { a: a.bound, b: b.bound })
}

/// Makes the side of cases by themselves, without figures where a run has none.
pub fn point_side(
    evidence: &Evidence,
    index: &Index<'_>,
    system: &str,
    cases: &[u32],
    metric: &Metric,
    rules: &Rules,
) -> Side {
    let (side, _) = make_side(evidence, index, system, cases, metric, rules);
    // A load's host does not take part in each case.
    let is_told = |case: &&u32| index.has_metric(**case, &metric.id);
    let is_none_told = !cases.iter().any(|case| is_told(&case));
    let mut own = cases.iter().filter(|case| is_none_told || is_told(case));
    match own.find_map(|case| index.values_of_all_runs(*case, &metric.id).err()) {
        Some((why, runs)) => side.without_figures(why, runs),
        None => side,
    }
}

/// Says why there is no verdict if a side has no value, A's reason first.
fn why_side_missing(a: &Side, b: &Side) -> Option<NoVerdict> {
    why_figure_missing(a, SideLetter::A).or_else(|| why_figure_missing(b, SideLetter::B))
}

/// Says why there is no verdict if this side has no value.
fn why_figure_missing(side: &Side, letter: SideLetter) -> Option<NoVerdict> {
    side.summary.is_none().then(|| NoVerdict::NotAvailable { side: letter, missing: side.missing_reason() })
}

/// Estimates the difference of matched values, as a share or a ratio, or says why it cannot be.
fn estimate_matched(
    matched: &Matched,
    metric: &Metric,
    rules: &Rules,
    seed: Option<u64>,
) -> (Option<Estimate>, Option<NoVerdict>) {
    match metric.quantity() {
        Quantity::Failures => share_estimate(&matched.a, &matched.b, rules, seed),
        _ => estimate_ratio(&matched.a, &matched.b, rules, seed),
    }
}

/// Estimates the difference of two failed shares, which are exponentials by [`failures::as_exponentials`].
fn share_estimate(a: &Sample, b: &Sample, rules: &Rules, seed: Option<u64>) -> (Option<Estimate>, Option<NoVerdict>) {
    let (estimate, refusal) = estimate_ratio(a, b, rules, seed);
    (estimate.map(|estimate| Estimate { scale: Scale::Points, ..estimate }), refusal)
}

/// Estimates the ratio of two sides, or says why they cannot be compared.
/// Where a side has no value, `missing_side` has said so. Without a seed the estimate
/// has no permutation test and no bootstrap: they take most of the time, and no verdict rests on them.
pub fn estimate_ratio(
    a: &Sample,
    b: &Sample,
    rules: &Rules,
    seed: Option<u64>,
) -> (Option<Estimate>, Option<NoVerdict>) {
    if a.n() == 0 || b.n() == 0 {
        let why = "there is no round in which every case has a value on both sides".to_owned();
        return (None, Some(NoVerdict::NotComparable(why)));
    }
    let found = match rules.pairing {
        Pairing::Paired => estimate_paired(a, b, rules, seed),
        Pairing::Unpaired => estimate_unpaired(a, b, rules, seed),
    };
    match found {
        Ok(estimate) => (Some(estimate), None),
        Err(stats::NotComparable::TooFew { n }) => {
            let have = u32::try_from(n).unwrap_or(u32::MAX);
            (None, Some(NoVerdict::TooFewRounds { missing: rules.min_rounds.saturating_sub(have).max(1) }))
        }
        Err(why) => (None, Some(NoVerdict::NotComparable(why.to_string()))),
    }
}

/// Estimates the ratio of values paired by round.
fn estimate_paired(a: &Sample, b: &Sample, rules: &Rules, seed: Option<u64>) -> Result<Estimate, stats::NotComparable> {
    let pairs = stats::pair_by_round(a, b);
    let ratio = match rules.sequence {
        None => stats::paired_ratio(&pairs, rules.level)?,
        Some(sequence) => sequence.ratio_interval(&pairs)?,
    };
    // What holds at one look alone is not shown next to what holds at all.
    let seed = if rules.sequence.is_none() { seed } else { None };
    Ok(Estimate {
        scale: Scale::Ratio,
        ratio: ratio.ratio,
        lo: ratio.lo,
        hi: ratio.hi,
        level: ratio.level,
        rounds: ratio.pairs,
        log_sd: Some(ratio.log_sd),
        bootstrap: seed.map(|seed| stats::bootstrap_ratio(&pairs, rules.level, RESAMPLES, seed)),
        p: seed.map(|seed| stats::sign_flip_p(&pairs, seed)),
        p_t: ratio.p_t,
        adjusted: None,
        detectable: match rules.sequence {
            None => stats::minimum_detectable_effect(ratio.log_sd, ratio.pairs, rules.level),
            Some(_) => None,
        },
        sequence: ratio.sequence,
        skewed: rules.sequence.and_then(|_| stats::test_skewness(&pairs)),
    })
}

/// Estimates the ratio of values that are not paired, by Welch's interval.
fn estimate_unpaired(
    a: &Sample,
    b: &Sample,
    rules: &Rules,
    seed: Option<u64>,
) -> Result<Estimate, stats::NotComparable> {
    let ratio = stats::welch_ratio(a, b, rules.level)?;
    Ok(Estimate {
        scale: Scale::Ratio,
        ratio: ratio.ratio,
        lo: ratio.lo,
        hi: ratio.hi,
        level: ratio.level,
        rounds: u32::try_from(ratio.n_a.min(ratio.n_b)).unwrap_or(u32::MAX),
        log_sd: None,
        bootstrap: None,
        p: seed.map(|_| stats::mann_whitney(a, b).map_or(1.0, |found| found.p)),
        p_t: ratio.p,
        adjusted: None,
        detectable: None,
        sequence: None,
        skewed: None,
    })
}

/// Warns of runs of both sides that lack the figure.
fn warn_missing_values_of(sides: [&Side; 2]) -> impl Iterator<Item = Warning> {
    sides.into_iter().zip([SideLetter::A, SideLetter::B]).flat_map(|(side, letter)| warn_missing_values(side, letter))
}

/// Warns of runs without a value on a side; none for a side without any value, which has that as its reason.
fn warn_missing_values(side: &Side, letter: SideLetter) -> Vec<Warning> {
    if side.summary.is_some() {
        side.unavailable
            .iter()
            .map(|(missing, runs)| Warning::Missing { side: letter, runs: *runs, reason: missing.to_string() })
            .collect()
    } else {
        Vec::new()
    }
}

/// Warns of values that have no partner in their round.
fn unpaired_warning(matched: &Matched, rules: &Rules) -> Option<Warning> {
    let pairs = (rules.pairing == Pairing::Paired).then(|| stats::pair_by_round(&matched.a, &matched.b))?;
    let (a, b) = (pairs.unpaired_a(), pairs.unpaired_b());
    (a + b > 0).then_some(Warning::Unpaired { a, b })
}

/// Warns of what makes an estimate's interval doubtful: tests that disagree, or skewed values.
fn doubts_about(estimate: &Estimate) -> impl Iterator<Item = Warning> {
    disagreement_warning(estimate).into_iter().chain(estimate.skewed.map(Warning::Skewed))
}

/// Warns when only one of the two tests finds a difference.
fn disagreement_warning(estimate: &Estimate) -> Option<Warning> {
    let alpha = 1.0 - estimate.level;
    // Below six rounds the permutation test finds nothing: no disagreement.
    let p = estimate.p?;
    let decides = estimate.rounds >= stats::MIN_ROUNDS && (estimate.p_t <= alpha) != (p <= alpha);
    decides.then_some(Warning::TestsDisagree { p_t: estimate.p_t, p })
}

/// Fills the detectable difference, which is per metric, into the case's warning of one server.
fn fill_detectable(warnings: &mut [Warning], estimate: Option<&Estimate>) {
    for warning in warnings {
        if let Warning::SameServer { detectable } = warning {
            *detectable = estimate.and_then(|e| e.detectable);
        }
    }
}

/// Says that runs of a side are of a system that changed after its first run; `None` if it did not.
pub fn why_system_changed(lookup: &Lookup<'_>, cases: &[u32], side: SideLetter) -> Option<NoVerdict> {
    let runs = lookup.measured_runs(cases);
    let mut stored: Vec<_> = runs.iter().filter_map(|id| lookup.run_by_id(*id)).collect();
    stored.sort_by_key(|run| run.planned.position);
    let (first, mark) = stored.iter().enumerate().find_map(|(index, run)| {
        let mark = lookup.marks_of_run(run.id).find(|mark| mark.kind == MarkKind::SystemChanged)?;
        Some((index, mark))
    })?;
    let last_before = stored[..first].last().map(|run| run.planned.round);
    let first_after = stored[first].planned.round;
    Some(NoVerdict::SystemChanged { side, what: mark.detail.clone(), last_before, first_after })
}

/// Finds the first mark that voids the verdict, with its number of runs, or how many runs failed; `None` without any.
pub fn voiding_mark(lookup: &Lookup<'_>, cases: &[u32]) -> Option<NoVerdict> {
    let voiding = lookup.marks_of_runs(&lookup.measured_runs(cases)).filter(|(_, mark)| mark.kind.voids_verdict());
    let marks: Vec<(i64, &'static str)> = voiding.map(|(id, mark)| (*id, mark_name(mark.kind))).collect();
    let Some((_, what)) = marks.first() else {
        let failed = cases.iter().map(|case| lookup.failed_runs(*case)).sum();
        return (failed > 0).then(|| NoVerdict::Voided { what: "failure".to_owned(), runs: failed });
    };
    let mut with_it: Vec<i64> = marks.iter().filter(|(_, other)| other == what).map(|(id, _)| *id).collect();
    with_it.sort_unstable();
    with_it.dedup();
    Some(NoVerdict::Voided { what: (*what).to_owned(), runs: with_it.len() })
}

/// Makes a warning of each kind of mark on the runs of cases.
/// What disturbed the machine is reported for all runs at once, and here only if one side had more of it.
pub fn mark_warnings(lookup: &Lookup<'_>, cases: &[u32], side: Option<SideLetter>) -> Vec<Warning> {
    let runs = lookup.measured_runs(cases);
    let mut found: Vec<(MarkKind, Vec<(i64, &Mark)>)> = Vec::new();
    // Where a side came from is said once, above the tables.
    for (id, mark) in
        lookup.marks_of_runs(&runs).filter(|(_, mark)| !mark.kind.is_disturbance() && mark.kind != MarkKind::Source)
    {
        // Each note text is a warning of its own.
        match found
            .iter_mut()
            .find(|(kind, those)| *kind == mark.kind && (*kind != MarkKind::Note || those[0].1.detail == mark.detail))
        {
            Some((_, those)) => those.push((*id, mark)),
            None => found.push((mark.kind, vec![(*id, mark)])),
        }
    }
    found
        .into_iter()
        .map(|(kind, those)| {
            let first = &those[0].1.detail;
            let ids: BTreeSet<i64> = those.iter().map(|(id, _)| *id).collect();
            let is_of_all = ids.len() == 1 || first.is_empty() || those.iter().all(|(_, mark)| mark.detail == *first);
            let detail = if is_of_all { first.clone() } else { format!("in the first, {first}") };
            let data = those.iter().find_map(|(_, mark)| mark.data);
            Warning::Marked { side, kind, runs: ids.len(), of: runs.len(), detail, data }
        })
        .collect()
}
