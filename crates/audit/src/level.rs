//! From what a figure may have been computed: the rows, the sums of the rows, or the rounded cells of the printed table.

use std::collections::BTreeSet;

use model::Direction;

use crate::expression::Expression;
use crate::statistic::Estimate;
use crate::table::{Claim, Facts, Keys};

/// A value, or the mean of so many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The value.
    pub value: f64,
    /// How many it stands for.
    pub count: u64,
    /// The repetition that it is from; 0 when nothing tells.
    pub repetition: u32,
}

/// What the values of a level are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// One for each row.
    Rows,
    /// The cells of the printed table, each rounded.
    Cells,
    /// One, of the sums of the rows.
    Sums,
}

impl LevelKind {
    /// Words for people.
    pub fn words(self) -> &'static str {
        match self {
            LevelKind::Rows => "of the rows",
            LevelKind::Cells => "of the rounded cells",
            LevelKind::Sums => "of the sums",
        }
    }
}

/// Values that a figure may have been computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What they are.
    pub kind: LevelKind,
    /// The values.
    pub values: Vec<Value>,
    /// Decimals of each, where they were written so and not computed.
    pub decimals: Option<i32>,
    /// Whether the rows are executions of one run and no repetitions.
    pub are_executions: bool,
}

impl Level {
    /// A figure of the level.
    pub fn estimate(&self, estimate: Estimate, direction: Option<Direction>) -> Option<f64> {
        match (self.kind, estimate) {
            // One value of sums has no spread and no ranks.
            (LevelKind::Sums, Estimate::Mean | Estimate::Value) => self.values.first().map(|v| v.value),
            (LevelKind::Sums, _) => None,
            _ => estimate.of(&self.values, direction),
        }
    }

    /// How many values.
    pub fn n(&self) -> u64 {
        self.values.iter().map(|v| v.count).sum()
    }
}

/// The levels of a metric in a cell, rows first. A metric that has no rows is computed by `formula`, or else by the one
/// with which its cells are printed.
pub fn levels(facts: &Facts, system: &str, keys: &Keys, metric: &str, formula: Option<&Expression>) -> Vec<Level> {
    let mut levels = Vec::new();
    let cells: Vec<&Claim> = facts.printed(system, keys, metric).filter(|claim| claim.repetition.is_some()).collect();
    let formula = formula.or_else(|| cells.iter().find_map(|claim| claim.formula.as_ref()));
    match formula {
        Some(formula) => levels.extend(computed(facts, system, keys, formula)),
        None => levels.extend(plain(facts, system, keys, metric)),
    }
    let of_cell = |claim: &&Claim| {
        claim.printed.value.map(|value| Value { value, count: 1, repetition: claim.repetition.unwrap_or(0) })
    };
    if !cells.is_empty() {
        let decimals = cells.iter().map(|claim| claim.printed.decimals).max();
        let values = cells.iter().filter_map(of_cell).collect();
        levels.push(Level { kind: LevelKind::Cells, values, decimals, are_executions: false });
    }
    levels
}

fn plain(facts: &Facts, system: &str, keys: &Keys, metric: &str) -> Option<Level> {
    let rows: Vec<_> = facts.rows(system, keys, metric).collect();
    let value = |row: &&crate::table::Measured| Value {
        value: row.value,
        count: row.count.unwrap_or(1),
        repetition: row.repetition.unwrap_or(0),
    };
    (!rows.is_empty()).then(|| Level {
        kind: LevelKind::Rows,
        values: rows.iter().map(value).collect(),
        decimals: rows.iter().map(|row| row.decimals).max(),
        are_executions: rows.iter().any(|row| row.count.is_some()),
    })
}

/// The values of a formula: for each repetition, and of the sums.
fn computed(facts: &Facts, system: &str, keys: &Keys, formula: &Expression) -> Vec<Level> {
    let names = formula.names();
    let of = |repetition: Option<u32>, name: &str| {
        let mut rows = facts.rows(system, keys, name).filter(|row| row.repetition == repetition);
        rows.next().map(|row| row.value)
    };
    let rows = || facts.measured.iter().filter(|row| row.system == system && row.keys == *keys);
    let repetitions: BTreeSet<Option<u32>> =
        rows().filter(|row| names.contains(row.metric.as_str())).map(|row| row.repetition).collect();
    let at = |repetition: &Option<u32>| {
        let value = formula.value(&|name| of(*repetition, name))?;
        Some(Value { value, count: 1, repetition: repetition.unwrap_or(0) })
    };
    let mut values: Vec<Value> = repetitions.iter().filter_map(at).collect();
    if names.is_empty() {
        values.extend(formula.value(&|_| None).map(|value| Value { value, count: 1, repetition: 0 }));
    }
    let level = |kind, values| Level { kind, values, decimals: None, are_executions: false };
    if values.is_empty() {
        return Vec::new();
    }
    let sum = |name: &str| {
        let mut rows = facts.rows(system, keys, name).peekable();
        rows.peek().is_some().then(|| rows.map(|row| row.value).sum())
    };
    let mean = values.iter().map(|v| v.value).sum::<f64>() / values.len() as f64;
    // Only a ratio is the same of sums.
    let is_ratio = |value: &f64| values.len() > 1 && (value - mean).abs() < 0.5 * mean.abs();
    let of_sums = formula.value(&sum).filter(is_ratio);
    let sums = of_sums.map(|value| level(LevelKind::Sums, vec![Value { value, count: 1, repetition: 0 }]));
    [level(LevelKind::Rows, values)].into_iter().chain(sums).collect()
}
