//! Checks a figure of one side.

use model::{Direction, Quantity};

use crate::figure::{Match, Printed, number_text};
use crate::finding::{Checked, FindingStatus};
use crate::level::{Level, LevelKind, LevelValue, find_levels};
use crate::statistic::{Comparing, Estimate};
use crate::subset;
use crate::table::{PublishedClaim, TableFacts};

pub struct Found {
    pub status: FindingStatus,
    pub because: String,
    /// The figure by the label's reading.
    pub right: Option<f64>,
}

impl Found {
    pub fn new(status: FindingStatus, right: Option<f64>, because: impl Into<String>) -> Found {
        Found { status, because: because.into(), right }
    }

    /// Makes the checked figure: the finding with the line, label and text of its claim.
    pub fn for_claim(self, claim: &PublishedClaim) -> Checked {
        Checked {
            line: claim.line,
            label: claim.label.clone(),
            printed: claim.printed.text.clone(),
            unit: claim.unit.clone(),
            right: self.right,
            decimals: claim.printed.decimals,
            status: self.status,
            because: self.because,
        }
    }
}

/// Checks a printed estimate of one system against the rows and cells.
pub fn check_estimate(facts: &TableFacts, claim: &PublishedClaim) -> Checked {
    find_status(facts, claim).for_claim(claim)
}

/// Finds whether and how a printed estimate follows from what is published.
fn find_status(facts: &TableFacts, claim: &PublishedClaim) -> Found {
    let Some(statistic) = claim.statistic else {
        return Found::new(
            FindingStatus::CannotBeChecked,
            None,
            "the table holds nothing that it could be computed from",
        );
    };
    let levels = own_levels(facts, claim);
    let Some(primary) = levels.first() else { return check_without_rows(claim, statistic.estimate) };
    let direction = better_direction(facts, claim);
    let Some(right) = primary.estimate(statistic.estimate, direction) else {
        let because = format!("the rows have no {}", statistic.estimate);
        return Found::new(FindingStatus::CannotBeChecked, None, because);
    };
    check_by_label(claim, &levels, statistic.estimate, direction, right)
        .or_else(|| check_estimate_rounding(claim, primary, statistic.estimate, direction, right))
        .or_else(|| {
            let because = explain_other_reading(facts, claim, &levels, statistic.estimate, direction, right)?;
            Some(Found::new(FindingStatus::Mislabelled, Some(right), because))
        })
        .or_else(|| check_subsets(facts, claim, &levels, statistic.estimate, direction, right))
        .unwrap_or_else(|| make_estimate_unfollowed(facts, claim, &levels, statistic.estimate, right))
}

/// Finds the levels that a figure may be of; for a cell of the printed table only its own repetition.
fn own_levels(facts: &TableFacts, claim: &PublishedClaim) -> Vec<Level> {
    let mut levels = find_levels(facts, &claim.system, claim, claim.formula.as_ref());
    if let Some(repetition) = claim.repetition {
        levels.retain(|level| level.kind == LevelKind::Rows);
        for level in &mut levels {
            level.values.retain(|value| value.repetition == repetition);
        }
        levels.retain(|level| !level.values.is_empty());
    }
    levels
}

/// The metric's better direction, as the claim's row states it, or else the measured rows.
pub fn better_direction(facts: &TableFacts, claim: &PublishedClaim) -> Option<Direction> {
    claim.direction.or_else(|| facts.direction_of(&claim.metric))
}

/// Checks the figure by the estimate that its label names; `None` if it follows from no level.
fn check_by_label(
    claim: &PublishedClaim,
    levels: &[Level],
    estimate: Estimate,
    direction: Option<Direction>,
    right: f64,
) -> Option<Found> {
    let digits = claim.printed.decimals + 2;
    let mut cut = None;
    for (index, level) in levels.iter().enumerate() {
        let Some(value) = level.estimate(estimate, direction) else { continue };
        let what = format!("{estimate} {}", level.kind.words());
        match claim.printed.matches(value) {
            Match::Rounded if index == 0 => {
                return Some(Found::new(FindingStatus::Follows, Some(right), reading_text(claim, level, estimate)));
            }
            // The ratio of sums is exact, too.
            Match::Rounded if level.kind == LevelKind::Sums => {
                return Some(Found::new(FindingStatus::Follows, Some(right), what));
            }
            Match::Rounded => {
                let because = format!("{what}; of the rows themselves {}", number_text(right, digits));
                return Some(Found::new(FindingStatus::Rounding, Some(right), because));
            }
            Match::Cut if cut.is_none() => {
                let way = if value.abs() > claim.printed.value.unwrap_or(0.0).abs() { "down" } else { "up" };
                let because = format!("{what} is {}, rounded {way}", number_text(value, digits));
                cut = Some(Found::new(FindingStatus::Rounding, Some(right), because));
            }
            Match::Cut | Match::No => {}
        }
    }
    cut
}

/// Makes a rounding finding if unrounded rows could have given the printed figure.
fn check_estimate_rounding(
    claim: &PublishedClaim,
    level: &Level,
    estimate: Estimate,
    direction: Option<Direction>,
    right: f64,
) -> Option<Found> {
    let (low, high) = level.estimate_range(estimate, direction)?;
    claim.printed.fits_within(low, high).then(|| {
        let digits = claim.printed.decimals.max(0) + 1;
        let because = format!(
            "the {estimate} {} is {}; before they were rounded it was {} to {}",
            level.kind.words(),
            number_text(right, digits),
            number_text(low, digits),
            number_text(high, digits)
        );
        Found::new(FindingStatus::Rounding, Some(right), because)
    })
}

/// Says how a figure was computed: `mean of 5 rows`, `stall / (1 + reads)`.
fn reading_text(claim: &PublishedClaim, level: &Level, estimate: Estimate) -> String {
    match (&claim.formula, estimate) {
        (Some(formula), Estimate::Value) => formula.as_str().to_owned(),
        (Some(formula), _) => format!("{estimate} of {}", formula.as_str()),
        (None, Estimate::Value) => "value of the row".to_owned(),
        (None, _) if level.value_count() == 1 => "value of the only row".to_owned(),
        (None, _) if level.are_executions => format!("{estimate} of {} executions", level.value_count()),
        (None, _) => format!("{estimate} of {} rows", level.value_count()),
    }
}

/// Names the reading, other than the label's, by which the figure follows: another estimate, another unit, the other side.
fn explain_other_reading(
    facts: &TableFacts,
    claim: &PublishedClaim,
    levels: &[Level],
    estimate: Estimate,
    direction: Option<Direction>,
    right: f64,
) -> Option<String> {
    // One digit matches too easily to prove anything.
    if claim.printed.significant_digits() < 2 || claim.repetition.is_some() {
        return None;
    }
    let printed = &claim.printed;
    let digits = printed.decimals + 1;
    for level in levels {
        for other in Estimate::USUAL.into_iter().filter(|other| *other != estimate) {
            if level.estimate(other, direction).is_some_and(|value| printed.is_rounded_from(value)) {
                let words = level.kind.words();
                return Some(format!("it is the {other} {words}; the {estimate} is {}", number_text(right, digits)));
            }
        }
    }
    for other in facts.other_systems(claim) {
        for level in find_levels(facts, other, claim, claim.formula.as_ref()) {
            if level.estimate(estimate, direction).is_some_and(|value| printed.is_rounded_from(value)) {
                return Some(format!("it is the {estimate} of {other}; here it is {}", number_text(right, digits)));
            }
        }
    }
    let mut scales = vec![1e3, 1e6, 1024.0, 1_048_576.0];
    if Quantity::from_unit(&claim.unit) == Quantity::Size {
        // What is MB and meant MiB, too.
        scales.extend([1.024, 1.048_576, 1.073_741_824]);
    }
    let mut scales = scales.into_iter().flat_map(|scale| [scale, 1.0 / scale]);
    let scale = scales.find(|scale| printed.is_rounded_from(right * scale))?;
    Some(format!("it is the {estimate} in another unit ({} times)", scale_text(scale)))
}

/// Writes a scale such as `1000` or `1/1000`.
fn scale_text(scale: f64) -> String {
    if scale >= 1.0 { factor_text(scale) } else { format!("1/{}", factor_text(1.0 / scale)) }
}

/// Writes a factor without the noise of binary fractions.
fn factor_text(scale: f64) -> String {
    ((scale * 1e9).round() / 1e9).to_string()
}

/// Looks for rows of the system without which the figure follows, and makes a finding of them.
fn check_subsets(
    facts: &TableFacts,
    claim: &PublishedClaim,
    levels: &[Level],
    estimate: Estimate,
    direction: Option<Direction>,
    right: f64,
) -> Option<Found> {
    let ours = levels.first().map_or(0, Level::value_count);
    let missing = facts
        .other_systems(claim)
        .filter_map(|other| find_levels(facts, other, claim, claim.formula.as_ref()).first().map(Level::value_count))
        .find_map(|theirs| ours.checked_sub(theirs).filter(|n| *n > 0));
    levels.iter().find_map(|level| {
        let left_out = subset::find_subset(level, estimate, direction, &claim.printed, missing)?;
        let digits = claim.printed.decimals + 1;
        let cut = if left_out.fit == Match::Cut { ", its last digit not rounded" } else { "" };
        let because = format!(
            "{estimate} {} without {}: {}{cut}; of all {} it is {}",
            level.kind.words(),
            left_out.which,
            number_text(left_out.value, digits),
            level.value_count(),
            number_text(right, digits)
        );
        Some(Found::new(FindingStatus::Subset, Some(right), because))
    })
}

/// Makes the finding that an estimate does not follow, or is impossible, with what the levels give.
fn make_estimate_unfollowed(
    facts: &TableFacts,
    claim: &PublishedClaim,
    levels: &[Level],
    estimate: Estimate,
    right: f64,
) -> Found {
    let digits = claim.printed.decimals + 1;
    let mut notes: Vec<String> = Vec::new();
    for level in levels.iter().skip(1) {
        if let Some(value) = level.estimate(estimate, None) {
            notes.push(format!("{} {}", level.kind.words(), number_text(value, digits)));
        }
    }
    let kind = levels.first().map_or("of the rows", |level| level.kind.words());
    let mut because = format!("the {estimate} {kind} is {}", number_text(right, digits));
    for note in notes {
        because.push_str(&format!(", {note}"));
    }
    if let Some(grim) = levels.iter().find_map(|level| why_fails_grim(level, estimate, &claim.printed)) {
        return Found::new(FindingStatus::Impossible, Some(right), format!("{grim}; {because}"));
    }
    because.push_str(&hints_for(facts, claim, levels, estimate, right));
    Found::new(FindingStatus::DoesNotFollow, Some(right), because)
}

/// Hints at a misplaced decimal point, perhaps of the wrong side, or at the figure's rank; empty if neither fits.
fn hints_for(facts: &TableFacts, claim: &PublishedClaim, levels: &[Level], estimate: Estimate, right: f64) -> String {
    let Some(printed) = claim.printed.value else { return String::new() };
    let others = facts.other_systems(claim).filter_map(|system| {
        let levels = find_levels(facts, system, claim, claim.formula.as_ref());
        Some((system, levels.first()?.estimate(estimate, None)?))
    });
    for (system, value) in [(claim.system.as_str(), right)].into_iter().chain(others) {
        for power in [10.0, 100.0, 1000.0, 0.1, 0.01, 0.001] {
            if claim.printed.significant_digits() >= 2 && claim.printed.matches(value / power) != Match::No {
                return format!("; {power} times the printed figure is that of {system}: a slip of the decimal point");
            }
        }
    }
    let Some(level) = levels.first().filter(|level| level.value_count() > 100) else { return String::new() };
    let half = claim.printed.last_digit_unit() / 2.0;
    let below: u64 = level.values.iter().filter(|v| v.value < printed - half).map(|v| v.count).sum();
    let at: Vec<&LevelValue> = level.values.iter().filter(|v| (v.value - printed).abs() <= half).collect();
    if at.is_empty() || at.iter().any(|v| v.count != 1) {
        return String::new();
    }
    let last = below + at.len() as u64;
    let ranks = if at.len() == 1 { format!("rank {last}") } else { format!("the ranks {} to {last}", below + 1) };
    format!("; {} is the value at {ranks} of {}", claim.printed.text, level.value_count())
}

/// Explains why counted rows cannot have the printed mean, by the GRIM test; `None` if they can.
/// Brown & Heathers, "The GRIM test", Social Psychological and Personality Science 8, 2017. For counted rows only:
/// measured values are whole only by rounding.
fn why_fails_grim(level: &Level, estimate: Estimate, printed: &Printed) -> Option<String> {
    let single = level.values.iter().all(|v| v.count == 1);
    (estimate == Estimate::Mean && single)
        .then(|| why_mean_impossible(printed, level.value_count(), level.grain?))
        .flatten()
}

/// Explains why no `n` multiples of `grain` have this mean; `None` if some do.
fn why_mean_impossible(printed: &Printed, n: u64, grain: f64) -> Option<String> {
    let value = printed.value?;
    let step = grain / n as f64;
    let steps = value / step;
    if [steps.floor(), steps.ceil()].into_iter().any(|k| printed.is_rounded_from(k * step)) {
        return None;
    }
    let digits = printed.decimals + 1;
    let of = if grain == 1.0 { format!("{n} whole numbers") } else { format!("{n} multiples of {grain}") };
    let (low, high) = (number_text(steps.floor() * step, digits), number_text(steps.ceil() * step, digits));
    let fitting = (1..n).rev().find(|m| {
        let k = (value * *m as f64 / grain).round();
        printed.is_rounded_from(k * grain / *m as f64)
    });
    let hint = fitting.map_or_else(String::new, |m| format!("; {m} could"));
    Some(format!("{of} have a mean of {low} or {high}, none of {}{hint}", printed.text))
}

/// Checks a figure without rows: a mean may be impossible, anything else cannot be checked.
fn check_without_rows(claim: &PublishedClaim, estimate: Estimate) -> Found {
    if let (Estimate::Mean, Some(n), Some(grain)) = (estimate, claim.n, claim.grain)
        && let Some(because) = why_mean_impossible(&claim.printed, n, grain)
    {
        return Found::new(FindingStatus::Impossible, None, because);
    }
    let because = match claim.n {
        Some(n) => format!("none of its {n} rows is published"),
        None => "its rows are not published".to_owned(),
    };
    Found::new(FindingStatus::CannotBeChecked, None, because)
}

/// Names an estimate of both sides, for messages: `the means`, `each side's median`.
pub fn estimate_words(estimate: Estimate, comparing: Comparing) -> String {
    match (estimate, comparing) {
        (Estimate::Value, _) => "the values".to_owned(),
        (Estimate::Mean, _) => "the means".to_owned(),
        (other, _) => format!("each side's {other}"),
    }
}
