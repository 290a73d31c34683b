//! What values may be rounded to, by a clock or by those who printed them, and what that leaves of a difference.

use model::metric::CONCURRENCY;
use model::{Length, Metric, Quantity, Role, Value};
use stats::Sample;

use super::judging::{Index, RowCases};
use super::row::{Estimate, NoVerdict, Side};
use super::set::Rules;
use super::warning::Warning;
use crate::evidence::Evidence;
use crate::number::{RowUnit, is_time};

/// Finds the coarser step of the clocks that a metric's times are multiples of; `None` if no side shows one.
/// Each side is checked alone: they may have different clocks.
pub fn clock_step(metric: &Metric, a: &Sample, b: &Sample) -> Option<f64> {
    if !is_time(&metric.unit) {
        return None;
    }
    [a, b].into_iter().filter_map(|side| stats::clock_step(side.values())).reduce(f64::max)
}

/// Finds how coarsely another tool rounded these values, in the metric's unit; `None` if that does not show.
/// It goes by the decimals that the tool is known to print, else
/// from the digits of a side whose values hardly vary. A time is taken to be printed in the unit that leaves one to three digits
/// before the point.
fn printed_step(evidence: &Evidence, cases: &[u32], metric: &Metric, a: &Sample, b: &Sample) -> Option<f64> {
    if let Some(step) = step_of_tool(evidence, cases, metric) {
        return Some(step);
    }
    let positive = a.values().iter().chain(b.values()).copied().filter(|value| *value > 0.0);
    let least = positive.fold(f64::INFINITY, f64::min);
    let unit =
        if is_time(&metric.unit) { 1e3_f64.powi((least.log10() / 3.0).floor().clamp(-3.0, 3.0) as i32) } else { 1.0 };
    stats::rounding_step(&values_in_unit(a, unit), &values_in_unit(b, unit)).map(|step| step * unit)
}

/// Converts values to multiples of a unit.
fn values_in_unit(side: &Sample, unit: f64) -> Vec<f64> {
    side.values().iter().map(|value| value / unit).collect::<Vec<f64>>()
}

/// The step of the last decimal that the tool prints, in the metric's unit; `None` if that is not known of all sides.
/// Zeros at the end of a value are digits, too.
fn step_of_tool(evidence: &Evidence, cases: &[u32], metric: &Metric) -> Option<f64> {
    if !is_time(&metric.unit) && metric.quantity() != Quantity::Rate {
        return None;
    }
    let decimals: Option<Vec<i32>> = cases
        .iter()
        .map(|case| {
            let facts = evidence.facts_of(&evidence.case(*case)?.system)?;
            facts.get(model::facts::PRINTED_DECIMALS)?.parse().ok()
        })
        .collect();
    let step = 10_f64.powi(-decimals?.into_iter().min()?);
    Some(if is_time(&metric.unit) { step / RowUnit::with_name(&metric.unit, "ms").convert(1.0) } else { step })
}

/// The share of its value that a percentile may be off by, where the tool counts times in buckets; `None` for others.
fn percentile_bucket(evidence: &Evidence, case: u32, metric: &Metric) -> Option<f64> {
    let rank = metric.id.rsplit_once("_p")?.1;
    let is_percentile = is_time(&metric.unit) && !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    if !is_percentile {
        return None;
    }
    evidence.facts_of(&evidence.case(case)?.system)?.get(model::facts::PERCENTILE_BUCKET)?.parse().ok()
}

/// Finds the step that both sides' values may be rounded to, where those of one hardly vary; else `None`.
/// Étalon's own times have the resolution of its histograms, processor time that of the system's ticks, and of other tools'
/// figures only the values show it.
pub fn rounding_step(
    evidence: &Evidence,
    index: &Index<'_>,
    metric: &Metric,
    cases: &RowCases<'_>,
    a: &Sample,
    b: &Sample,
) -> Option<f64> {
    /// Three digits, as its histograms keep them: a bucket is no wider than this share of its values.
    const OWN: f64 = 1.0 / 1024.0;
    let quantity = metric.quantity();
    let hardly_varies = [a, b].into_iter().any(|side| stats::hardly_varies(side.values()));
    if metric.role == Role::Diagnostic || !hardly_varies || a.n() == 0 || b.n() == 0 {
        return None;
    }
    let both: Vec<f64> = a.values().iter().chain(b.values()).copied().collect();
    let of_sides: Vec<u32> = cases.a.iter().chain(cases.b).copied().collect();
    if of_sides.iter().copied().any(|case| evidence.is_imported(case)) {
        // Sizes are counted, and do not vary where nothing changes them; nor does a share that is 0.
        let is_counted = matches!(quantity, Quantity::Size | Quantity::Failures);
        let bucket =
            of_sides.iter().copied().filter_map(|case| percentile_bucket(evidence, case, metric)).reduce(f64::max);
        let bucket = bucket.map(|share| share * both.iter().copied().fold(0.0, f64::max));
        let printed = printed_step(evidence, &of_sides, metric, a, b);
        return if is_counted { None } else { printed.into_iter().chain(bucket).reduce(f64::max) };
    }
    if quantity == Quantity::Cpu {
        // Ticks of a length that the system chose, over what the metric is of: each value is a multiple, and so is zero.
        return stats::common_step(both.iter().copied());
    }
    if is_time(&metric.unit) {
        return Some(OWN * both.iter().copied().fold(0.0, f64::max));
    }
    of_sides
        .iter()
        .copied()
        .filter_map(|case| match run_length_of(evidence, case) {
            Length::Duration(length) if quantity == Quantity::Rate => {
                Some(operations_ending_together(evidence, index, case)? / length.as_secs_f64())
            }
            _ => None,
        })
        .reduce(f64::max)
}

/// The length of a case's runs.
fn run_length_of(evidence: &Evidence, case: u32) -> Length {
    let schedule = &evidence.header_of_case(case).plan.schedule;
    evidence.case(case).map_or(schedule.length, |case| schedule.length_at(&case.point))
}

/// The number of operations by which a count may move at once, as they end together; `None` where edges count by shares.
/// Stores of earlier builds do not count so: there all clients of a closed loop may end together.
fn operations_ending_together(evidence: &Evidence, index: &Index<'_>, case: u32) -> Option<f64> {
    let point = &evidence.case(case)?.point;
    if positive_at(point, "rate").is_some() {
        return Some(1.0);
    }
    let has_shares = index.has_metric(case, CONCURRENCY);
    (!has_shares).then(|| positive_at(point, "clients").or_else(|| positive_at(point, "depth")).unwrap_or(1.0))
}

/// A key's value in a case, if it is above 0.
fn positive_at(point: &model::Point, key: &str) -> Option<f64> {
    point.get(key).and_then(Value::as_float).filter(|value| *value > 0.0)
}

/// Widens an estimate's interval by what rounding to a step of a clock, or of printed digits, may change.
pub fn widen_for_rounding(
    estimate: Estimate,
    clock: Option<f64>,
    rounding: Option<f64>,
    a: &Side,
    b: &Side,
) -> Estimate {
    // Where values vary by a clock's steps, what each is off by is evened out over the runs.
    let clock = if estimate.p_t == 0.0 { clock } else { None };
    let step = clock.into_iter().chain(rounding).reduce(f64::max);
    let (Some(step), Some(a), Some(b)) = (step, &a.summary, &b.summary) else { return estimate };
    if a.median <= 0.0 || b.median <= 0.0 {
        return estimate;
    }
    let half = step / 2.0 * (1.0 / a.median + 1.0 / b.median);
    Estimate { lo: estimate.lo * (-half).exp(), hi: estimate.hi * half.exp(), ..estimate }
}

/// Warns that the runs of each side are all alike, so that the interval is of rounding and not of their spread.
pub fn warn_no_spread(
    estimate: Option<&Estimate>,
    step: Option<f64>,
    metric: &Metric,
    a: &Sample,
    b: &Sample,
) -> Option<Warning> {
    let (_, step) = (estimate?, step?);
    let is_constant =
        [a, b].iter().all(|side| side.n() > 1 && side.values().iter().all(|value| *value == side.values()[0]));
    is_constant.then(|| Warning::NoSpread { step, unit: metric.unit.clone() })
}

/// Whether the interval shows a difference.
pub fn excludes_one(estimate: &Estimate) -> bool {
    estimate.lo > 1.0 || estimate.hi < 1.0
}

/// Says that the sides differ by no more than a clock's or digit's step; `None` if more, or if they are equal in the margin.
pub fn why_under_step(
    step: f64,
    a: &Side,
    b: &Side,
    estimate: &Estimate,
    are_apart: bool,
    rules: &Rules,
) -> Option<NoVerdict> {
    /// Tolerance between tick lengths.
    const JITTER: f64 = 1.01;
    let (a, b) = (a.summary.as_ref()?.median, b.summary.as_ref()?.median);
    let are_equal =
        is_within_margin(estimate.lo, rules) && is_within_margin(estimate.hi, rules) && step <= rules.margin * a.min(b);
    // What distinguishes the sides but for what the steps can do may be of the steps.
    let is_open = are_apart && !excludes_one(estimate);
    (((a - b).abs() <= JITTER * step || is_open) && !are_equal).then_some(NoVerdict::UnderClockStep)
}

/// Whether a ratio is within the margin of 1.
fn is_within_margin(ratio: f64, rules: &Rules) -> bool {
    ratio.ln().abs() <= (1.0 + rules.margin).ln()
}
