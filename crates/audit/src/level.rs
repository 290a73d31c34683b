//! The levels that a figure may be computed from: rows, their sums, or the rounded cells of the printed table.

use std::collections::{BTreeMap, BTreeSet};

use formats::dimension::Ratio;
use model::Direction;

use crate::expression::FigureExpression;
use crate::statistic::Estimate;
use crate::table::{Keys, Measured, PublishedClaim, TableFacts};

/// One value, or the mean of `count` values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelValue {
    pub value: f64,
    /// How many it stands for.
    pub count: u64,
    /// 0 when unknown.
    pub repetition: u32,
    /// Half of the last digit; 0 for counts.
    pub rounding: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    Rows,
    /// The cells of the printed table, each rounded.
    Cells,
    /// A single value of summed rows.
    Sums,
}

impl LevelKind {
    /// What the level holds, in words.
    pub fn words(self) -> &'static str {
        match self {
            LevelKind::Rows => "of the rows",
            LevelKind::Cells => "of the rounded cells",
            LevelKind::Sums => "of the sums",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub kind: LevelKind,
    pub values: Vec<LevelValue>,
    /// Step of counted values.
    pub grain: Option<f64>,
    /// Executions of one run, no repetitions.
    pub are_executions: bool,
}

impl Level {
    /// Makes a level of values without a grain, none of them executions of one run.
    fn from_values(kind: LevelKind, values: Vec<LevelValue>) -> Level {
        Level { kind, values, grain: None, are_executions: false }
    }

    /// Computes an estimate from the level's values, if it has one.
    pub fn estimate(&self, estimate: Estimate, direction: Option<Direction>) -> Option<f64> {
        match (self.kind, estimate) {
            // Sums have no spread and no ranks.
            (LevelKind::Sums, Estimate::Mean | Estimate::Value) => self.values.first().map(|v| v.value),
            (LevelKind::Sums, _) => None,
            _ => estimate.compute(&self.values, direction),
        }
    }

    /// Gives the lowest and highest estimate that unrounded values could have given.
    /// Every estimate but the standard deviation is monotonic in each value; that one is a distance, which moves at
    /// most as far as the values.
    pub fn estimate_range(&self, estimate: Estimate, direction: Option<Direction>) -> Option<(f64, f64)> {
        if estimate == Estimate::Sd {
            let sd = self.estimate(estimate, direction)?;
            let squares: f64 = self.values.iter().map(|v| v.rounding * v.rounding).sum();
            let room = (squares / (self.values.len() as f64 - 1.0)).sqrt();
            return Some(((sd - room).max(0.0), sd + room));
        }
        let [low, high] = [-1.0, 1.0].map(|sign| {
            let values = self.values.iter().map(|v| LevelValue { value: v.value + sign * v.rounding, ..*v }).collect();
            Level { values, ..self.clone() }.estimate(estimate, direction)
        });
        let (low, high) = (low?, high?);
        Some((low.min(high), low.max(high)))
    }

    /// Number of values behind the level.
    pub fn value_count(&self) -> u64 {
        self.values.iter().map(|v| v.count).sum()
    }
}

/// Finds the levels of a metric in the claim's unit: its rows or what its formula gives, then its printed cells.
pub fn find_levels(
    facts: &TableFacts,
    system: &str,
    claim: &PublishedClaim,
    formula: Option<&FigureExpression>,
) -> Vec<Level> {
    let PublishedClaim { keys, metric, .. } = claim;
    let unit = facts.unit_of(claim);
    let mut levels = Vec::new();
    let cells: Vec<&PublishedClaim> =
        facts.printed_figures(system, keys, metric).filter(|claim| claim.repetition.is_some()).collect();
    let formula = formula.or_else(|| cells.iter().find_map(|claim| claim.formula.as_ref()));
    match formula {
        Some(formula) => levels.extend(computed_levels(facts, system, keys, formula)),
        None => levels.extend(plain_level(facts.rows_of(system, keys, metric).collect(), unit)),
    }
    let is_counted = facts.rows_of(system, keys, metric).next().is_some_and(|row| row.grain.is_some());
    // Trailing zeros may have been dropped, so the longest decides.
    let digit =
        cells.iter().map(|claim| convert_to_unit(claim.printed.last_digit_unit(), &claim.unit, unit)).reduce(f64::min);
    let rounding = match digit {
        Some(digit) if !is_counted => 0.5 * digit,
        _ => 0.0,
    };
    if !cells.is_empty() {
        let values = cells.iter().filter_map(|claim| {
            let value = convert_to_unit(claim.printed.value?, &claim.unit, unit);
            Some(LevelValue { value, count: 1, repetition: claim.repetition.unwrap_or(0), rounding })
        });
        levels.push(Level::from_values(LevelKind::Cells, values.collect()));
    }
    levels
}

/// Converts the value to another unit, or leaves it as it is where nothing converts it.
pub fn convert_to_unit(value: f64, from: &str, to: &str) -> f64 {
    Ratio::between(from, to).map_or(value, |ratio| ratio.apply(value))
}

/// Makes the level of measured rows in a unit; `None` without rows.
fn plain_level(rows: Vec<&Measured>, unit: &str) -> Option<Level> {
    if rows.is_empty() {
        return None;
    }
    let rounding = rounding_of(&rows);
    let values = rows.iter().map(|row| LevelValue {
        value: convert_to_unit(row.value, &row.unit, unit),
        count: row.count.unwrap_or(1),
        repetition: row.repetition.unwrap_or(0),
        rounding: convert_to_unit(rounding, &row.unit, unit),
    });
    let grains = rows.iter().map(|row| row.grain.map(|grain| convert_to_unit(grain, &row.unit, unit)));
    Some(Level {
        kind: LevelKind::Rows,
        values: values.collect(),
        grain: grains.reduce(|one, other| if one == other { one } else { None }).flatten(),
        are_executions: rows.iter().any(|row| row.count.is_some()),
    })
}

/// Gives half of the last digit of the longest value; 0 for counts.
/// Rows may have dropped trailing zeros, so the longest decides.
fn rounding_of(rows: &[&Measured]) -> f64 {
    if rows.iter().all(|row| row.grain.is_some()) {
        return 0.0;
    }
    rows.iter().map(|row| row.digit).reduce(f64::min).map_or(0.0, |digit| 0.5 * digit)
}

/// Computes how far rounding of its names can move a formula's value.
/// It is the farthest corner, since formulas of counters are monotonic in each.
fn rounding_room(formula: &FigureExpression, value: f64, of: &dyn Fn(&str) -> Option<(f64, f64)>) -> f64 {
    /// Corners double with every name.
    const MAX_NAMES: usize = 8;
    let names: Vec<&str> = formula.names().into_iter().filter(|name| of(name).is_some_and(|(_, r)| r > 0.0)).collect();
    if names.len() > MAX_NAMES {
        return 0.0;
    }
    let corners = (0..1_u32 << names.len()).map(|signs| {
        let moved = formula.value(&|name| {
            let (value, rounding) = of(name)?;
            let position = names.iter().position(|n| *n == name);
            let sign = position.map_or(0.0, |i| if signs >> i & 1 == 1 { 1.0 } else { -1.0 });
            Some(value + sign * rounding)
        });
        moved.map_or(0.0, |moved| (moved - value).abs())
    });
    corners.fold(0.0, f64::max)
}

/// Makes the formula's levels: its value for each repetition, and that of the sums.
fn computed_levels(facts: &TableFacts, system: &str, keys: &Keys, formula: &FigureExpression) -> Vec<Level> {
    let names = formula.names();
    let rows: BTreeMap<&str, Vec<&Measured>> =
        names.iter().map(|name| (*name, facts.rows_of(system, keys, name).collect())).collect();
    let row_of = |repetition: Option<u32>, name: &str| {
        let rows = rows.get(name)?;
        let row = rows.iter().find(|row| row.repetition == repetition)?;
        Some((row.value, rounding_of(rows)))
    };
    let repetitions: BTreeSet<Option<u32>> = rows.values().flatten().map(|row| row.repetition).collect();
    let each = repetitions.iter().filter_map(|r| evaluate(formula, r.unwrap_or(0), &|name| row_of(*r, name)));
    let mut values: Vec<LevelValue> = each.collect();
    if names.is_empty() {
        values.extend(evaluate(formula, 0, &|_| None));
    }
    if values.is_empty() {
        return Vec::new();
    }
    let sums = evaluate(formula, 0, &|name| {
        let rows = rows.get(name).filter(|rows| !rows.is_empty())?;
        Some((rows.iter().map(|row| row.value).sum(), rounding_of(rows) * rows.len() as f64))
    });
    let mean = values.iter().map(|v| v.value).sum::<f64>() / values.len() as f64;
    // Only a ratio is unchanged by sums.
    let ratio = sums.filter(|sums| values.len() > 1 && (sums.value - mean).abs() < 0.5 * mean.abs());
    let sums = ratio.map(|value| Level::from_values(LevelKind::Sums, vec![value]));
    [Level::from_values(LevelKind::Rows, values)].into_iter().chain(sums).collect()
}

/// Computes a formula's value and its rounding from inputs that are each a value and half of its last digit.
fn evaluate(
    formula: &FigureExpression,
    repetition: u32,
    input: &dyn Fn(&str) -> Option<(f64, f64)>,
) -> Option<LevelValue> {
    let value = formula.value(&|name| Some(input(name)?.0))?;
    Some(LevelValue { value, count: 1, repetition, rounding: rounding_room(formula, value, input) })
}
