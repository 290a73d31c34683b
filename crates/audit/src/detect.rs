//! Finds the faults of a table as a whole.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::figure::number_text;
use crate::finding::{Remark, RemarkKind};
use crate::level::{Level, LevelKind, convert_to_unit, find_levels};
use crate::statistic::{Comparing, Estimate, Statistic};
use crate::table::{Keys, Measured, PublishedClaim, TableFacts};

/// Fewest values for a clock's step.
const MIN_CLOCK_VALUES: usize = 20;
/// Fewest repetitions that distinguish a total from a difference.
const MIN_TOTALS: usize = 4;
/// Largest variation of a total's increments, as a share of their mean.
const MAX_VARIATION: f64 = 0.25;
/// A clock's step is at least this many units of the last written digit.
const WRITTEN_STEP: f64 = 1.5;
/// Differences up to this many clock steps are one step.
const ONE_STEP: f64 = 1.01;

/// Finds what is remarkable about the table besides its figures: units, spreads, totals, clocks and so on.
pub fn find_remarks(facts: &TableFacts) -> Vec<Remark> {
    let mut remarks = remark_on_repetitions(facts);
    remarks.extend(remark_on_units(facts));
    remarks.extend(remark_on_spreads(facts));
    remarks.extend(remark_on_factors(facts));
    remarks.extend(remark_on_totals(facts));
    remarks.extend(remark_on_best(facts));
    remarks.extend(remark_on_clocks(facts));
    remarks
}

/// Makes a remark of a kind.
fn make_remark(kind: RemarkKind, text: String) -> Remark {
    Remark { kind, text }
}

/// Groups the measured rows by case, metric and system.
fn group_rows(facts: &TableFacts) -> BTreeMap<(&Keys, &str, &str), Vec<&Measured>> {
    let mut groups: BTreeMap<(&Keys, &str, &str), Vec<&Measured>> = BTreeMap::new();
    for row in &facts.measured {
        groups.entry((&row.keys, row.metric.as_str(), row.system.as_str())).or_default().push(row);
    }
    groups
}

/// Joins the values of a case's keys and the metric by blanks.
fn case_name(keys: &Keys, metric: &str) -> String {
    let words: Vec<&str> = keys.values().map(String::as_str).chain([metric]).collect();
    words.join(" ")
}

/// Makes remarks on unequal numbers of repetitions, on stated ones without rows, and on unstated ones.
fn remark_on_repetitions(facts: &TableFacts) -> Vec<Remark> {
    let mut by_counts: BTreeMap<Vec<(&str, u64)>, BTreeSet<String>> = BTreeMap::new();
    let mut metrics: BTreeMap<(&Keys, &str), Vec<(&str, u64)>> = BTreeMap::new();
    for ((keys, metric, system), rows) in group_rows(facts) {
        let n = rows.iter().map(|row| row.count.unwrap_or(1)).sum();
        metrics.entry((keys, metric)).or_default().push((system, n));
    }
    for ((keys, metric), counts) in metrics {
        if counts.iter().any(|(_, n)| *n != counts[0].1) {
            by_counts.entry(counts).or_default().insert(case_name(keys, metric));
        }
    }
    let mut remarks: Vec<Remark> = Vec::new();
    for (counts, metrics) in by_counts {
        let sides: Vec<String> = counts.iter().map(|(system, n)| format!("{system} {n}")).collect();
        let text = format!("{}: rows of {}", sides.join(", "), list_names(metrics));
        remarks.push(make_remark(RemarkKind::UnequalRepetitions, text));
    }
    let mut stated: BTreeMap<(String, u64, u64), usize> = BTreeMap::new();
    for claim in plain_claims(facts) {
        let levels = find_levels(facts, &claim.system, claim, claim.formula.as_ref());
        if let (Some(n), Some(level)) = (claim.n, levels.first())
            && n != level.value_count()
        {
            *stated.entry((claim.system.clone(), n, level.value_count())).or_default() += 1;
        }
    }
    for ((system, n, rows), figures) in stated {
        let text = format!("{system}: {n} stated, {rows} rows published ({})", count_noun(figures, "figure"));
        remarks.push(make_remark(RemarkKind::UnequalRepetitions, text));
    }
    let unstated = plain_claims(facts).filter(|claim| {
        let averages =
            matches!(estimate_of(claim), Some(Estimate::Mean | Estimate::Trimmed | Estimate::Median | Estimate::Best));
        averages && claim.n.is_none() && find_levels(facts, &claim.system, claim, claim.formula.as_ref()).is_empty()
    });
    let labels: BTreeSet<String> = unstated.map(|claim| claim.label.clone()).collect();
    if !labels.is_empty() {
        remarks.push(make_remark(RemarkKind::UnstatedRepetitions, list_names(labels)));
    }
    remarks
}

/// Lists the printed figures of one side, without the table's cells.
fn plain_claims(facts: &TableFacts) -> impl Iterator<Item = &PublishedClaim> {
    facts.claims.iter().filter(|claim| {
        claim.repetition.is_none() && claim.statistic.is_some_and(|statistic| statistic.comparing.is_none())
    })
}

/// The estimate that a printed figure is, if its statistic is known.
fn estimate_of(claim: &PublishedClaim) -> Option<Estimate> {
    claim.statistic.map(|Statistic { estimate, .. }| estimate)
}

/// Writes a number with its noun, in the plural unless it is 1.
fn count_noun(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Joins the first six names by commas and counts the rest.
fn list_names(names: BTreeSet<String>) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let rest = names.len().saturating_sub(SHOWN);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// Makes the remark on estimates without a unit, but for counts, ranks and single values.
fn remark_on_units(facts: &TableFacts) -> Option<Remark> {
    let bare = plain_claims(facts).filter(|claim| {
        let is_count = |estimate| {
            matches!(estimate, Estimate::Count | Estimate::CountBelow(_) | Estimate::Rank(_) | Estimate::Value)
        };
        claim.unit.is_empty() && estimate_of(claim).is_some_and(|estimate| !is_count(estimate))
    });
    let labels: BTreeSet<String> = bare.map(|claim| claim.label.clone()).collect();
    (!labels.is_empty()).then(|| make_remark(RemarkKind::MissingUnit, list_names(labels)))
}

/// Makes the remark on averages that are printed without a spread.
fn remark_on_spreads(facts: &TableFacts) -> Option<Remark> {
    let averages = plain_claims(facts).filter(|claim| {
        matches!(estimate_of(claim), Some(Estimate::Mean | Estimate::Trimmed | Estimate::Median | Estimate::Best))
    });
    let without: Vec<&PublishedClaim> = averages.filter(|claim| !has_spread(facts, claim)).collect();
    let hidden = without
        .iter()
        .filter(|claim| find_levels(facts, &claim.system, claim, claim.formula.as_ref()).is_empty())
        .count();
    (!without.is_empty()).then(|| {
        let unknown = match hidden {
            0 => "their rows show it".to_owned(),
            _ => format!("and no row shows it for {hidden} of them"),
        };
        let text = format!("{} printed without a spread, {unknown}", count_noun(without.len(), "average"));
        make_remark(RemarkKind::MissingSpread, text)
    })
}

/// Whether the claim's metric has a printed standard deviation, minimum or maximum too.
fn has_spread(facts: &TableFacts, claim: &PublishedClaim) -> bool {
    let mut of_metric = facts.printed_figures(&claim.system, &claim.keys, &claim.metric);
    of_metric.any(|other| matches!(estimate_of(other), Some(Estimate::Sd | Estimate::Min | Estimate::Max)))
}

/// Makes the remark on factors in which the systems differ, if these are more than one.
fn remark_on_factors(facts: &TableFacts) -> Option<Remark> {
    let mut values: IndexMap<&str, Vec<(&str, &str)>> = IndexMap::new();
    for factor in &facts.factors {
        values.entry(&factor.name).or_default().push((&factor.system, &factor.value));
    }
    values.retain(|_, sides| sides.iter().any(|(_, value)| *value != sides[0].1));
    let differing = values;
    (differing.len() > 1).then(|| {
        let described = differing.iter().map(|(name, sides)| {
            let sides: Vec<&str> = sides.iter().map(|(_, value)| *value).collect();
            format!("{name} ({})", sides.join(" / "))
        });
        let text = format!(
            "{} things differ between the sides: {}",
            differing.len(),
            described.collect::<Vec<_>>().join(", ")
        );
        make_remark(RemarkKind::Confounded, text)
    })
}

/// Makes remarks on running totals among the measurements, and on values that stay while other metrics vary.
fn remark_on_totals(facts: &TableFacts) -> Vec<Remark> {
    let mut growing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut constant: Vec<String> = Vec::new();
    for ((keys, metric, system), rows) in group_rows(facts) {
        let mut rows: Vec<&Measured> =
            rows.into_iter().filter(|row| row.repetition.is_some() && row.count.is_none()).collect();
        rows.sort_by_key(|row| row.repetition);
        if rows.len() < MIN_TOTALS || rows.iter().any(|row| row.digit < 1.0) {
            continue;
        }
        let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
        if is_running_total(&values) {
            let shown: Vec<String> = values.iter().take(4).map(|value| number_text(*value, 0)).collect();
            let text = format!("{system} {} …", shown.join(", "));
            growing.entry(case_name(keys, metric)).or_default().push(text);
        } else if values[0] != 0.0 && values.iter().all(|value| *value == values[0]) && varies_elsewhere(facts, rows[0])
        {
            constant.push(format!("{} on {system} {}", case_name(keys, metric), number_text(values[0], 0)));
        }
    }
    let mut remarks: Vec<Remark> = growing
        .into_iter()
        .map(|(metric, sides)| {
            let text = format!(
                "{metric} grows by the same from repetition to repetition ({}): a total since some start",
                sides.join("; ")
            );
            make_remark(RemarkKind::NotDifferenced, text)
        })
        .collect();
    if !constant.is_empty() {
        let text = format!(
            "the same in every repetition, while the rest of the cell varies: {}. What does not depend on the work cannot measure it; \
             a difference of two readings would be free of what came before",
            constant.join(", ")
        );
        remarks.push(make_remark(RemarkKind::Constant, text));
    }
    remarks
}

/// Whether values grow by nearly equal increments, each well above a drift.
fn is_running_total(values: &[f64]) -> bool {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    let last = values.last().copied().unwrap_or(0.0);
    // A drift of a few percent is no total.
    mean > 0.0 && mean > 0.05 * last && steps.iter().all(|step| (step - mean).abs() <= MAX_VARIATION * mean)
}

/// Tests whether any other metric of the row's system and case varies.
fn varies_elsewhere(facts: &TableFacts, row: &Measured) -> bool {
    let mut first: BTreeMap<&str, f64> = BTreeMap::new();
    let mut varies = false;
    for other in facts.rows_of_other_metrics(row) {
        varies |= *first.entry(&other.metric).or_insert(other.value) != other.value;
    }
    varies
}

/// Makes the remark on figures that are the best of several runs.
fn remark_on_best(facts: &TableFacts) -> Option<Remark> {
    let of_best = facts.claims.iter().filter(|claim| estimate_of(claim) == Some(Estimate::Best));
    let labels: BTreeSet<String> = of_best.map(|claim| claim.label.clone()).collect();
    (!labels.is_empty()).then(|| {
        let text = format!("{}: the best of n grows with n and tells nothing of the spread", list_names(labels));
        make_remark(RemarkKind::BestOf, text)
    })
}

/// Makes remarks on values in steps of a clock, and on claims whose sides differ by one step or less.
fn remark_on_clocks(facts: &TableFacts) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut steps: BTreeMap<(&Keys, &str), (f64, &str)> = BTreeMap::new();
    for ((keys, metric, system), rows) in group_rows(facts) {
        let single: Vec<f64> = rows.iter().filter(|row| row.count.unwrap_or(1) == 1).map(|row| row.value).collect();
        let found = (single.len() >= MIN_CLOCK_VALUES).then(|| stats::clock_step(&single)).flatten();
        // The written digits are no clock.
        let digit = rows.iter().map(|row| row.digit).fold(f64::INFINITY, f64::min);
        let Some(step) = found.filter(|step| *step > WRITTEN_STEP * digit) else { continue };
        let text = format!("{} of {system}: steps of {} {}", case_name(keys, metric), four_digits(step), rows[0].unit);
        remarks.push(make_remark(RemarkKind::QuantisedClock, text));
        let known = steps.entry((keys, metric)).or_insert((step, &rows[0].unit));
        known.0 = known.0.max(step);
    }
    for claim in &facts.claims {
        let unit = facts.unit_of(claim);
        if let Some((step, of_rows)) = steps.get(&(&claim.keys, claim.metric.as_str()))
            && let Some(difference) = difference_of_rows(facts, claim)
            && difference <= ONE_STEP * convert_to_unit(*step, of_rows, unit)
        {
            let text = format!(
                "{}: refused, the sides differ by {} {unit}, one step of the clock or less",
                claim.label,
                four_digits(difference)
            );
            remarks.push(make_remark(RemarkKind::UnderClockStep, text));
        }
    }
    remarks
}

/// Formats a number with four significant digits, or all before its point.
fn four_digits(value: f64) -> String {
    number_text(value, 3 - value.abs().max(1e-9).log10().floor() as i32)
}

/// Gives the absolute difference between the single values behind a comparison.
/// A mean of many is finer than the clock and has none.
fn difference_of_rows(facts: &TableFacts, claim: &PublishedClaim) -> Option<f64> {
    let statistic = claim
        .statistic
        .filter(|s| s.comparing.is_some_and(|c| c != Comparing::Winner || claim.printed.text != "both"))?;
    if !matches!(
        statistic.estimate,
        Estimate::Min | Estimate::Max | Estimate::Median | Estimate::Value | Estimate::Best
    ) {
        return None;
    }
    let ours = row_estimate(facts, claim, &claim.system, statistic.estimate)?;
    Some((ours - row_estimate(facts, claim, claim.against.as_deref()?, statistic.estimate)?).abs())
}

/// Computes a system's estimate from its rows.
fn row_estimate(facts: &TableFacts, claim: &PublishedClaim, system: &str, estimate: Estimate) -> Option<f64> {
    let levels = find_levels(facts, system, claim, claim.formula.as_ref());
    let rows = levels.into_iter().find(|level: &Level| level.kind == LevelKind::Rows)?;
    rows.estimate(estimate, crate::estimate::better_direction(facts, claim))
}
