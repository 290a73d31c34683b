//! How many rounds an experiment will take, by what the rounds of a shorter one differed by.

use model::{Case, Plan, Role};
use stats::Sequence;

use crate::comparison::Comparison;
use crate::evidence::Evidence;
use crate::words::{has_pairs, row_title};
use crate::{CompareError, Options, compare};

/// Of a primary row.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub name: String,
    /// Between the logarithms of the rounds' ratios.
    pub log_sd: f64,
    /// Judged after each round: as many as show the difference with an even chance. `None` beyond what is proposed.
    pub until_sure: Option<u32>,
    /// Of a fixed number: as many as show it with 80 % power.
    pub once: Option<u32>,
}

/// The rounds of `plan` that show a relative difference of `effect`, in each row that it shares with a pilot. Each row has its
/// part of the level, as the first of Holm's has.
///
/// # Errors
/// There is nothing to compare in the pilot.
pub fn expected(pilot: &Evidence, plan: &Plan, effect: f64) -> Result<Vec<Expected>, CompareError> {
    let set = compare(pilot, &Options::default())?;
    let cases = plan.cases();
    let is_of_plan = |row: &Comparison| {
        let has = |system: &str| {
            let is_it = |case: &&Case| case.benchmark == row.benchmark && case.system == system;
            let has_point = |case: &Case| row.case.iter().all(|(key, value)| case.point.get(key) == Some(value));
            cases.iter().filter(is_it).any(has_point)
        };
        row.metric.role == Role::Primary && has(&row.a.system) && has(&row.b.system)
    };
    let rows: Vec<_> = set.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))).collect();
    let rows: Vec<_> = rows.into_iter().filter(|(_, row)| is_of_plan(row)).collect();
    let level = 1.0 - (1.0 - plan.comparison.level) / rows.len().max(1) as f64;
    let first = plan.schedule.until_sure.map_or(stats::MIN_ROUNDS, |until| until.first);
    let sequence = Sequence::new(level, first).ok();
    let expect = |log_sd: f64| {
        let until_sure = sequence.and_then(|sequence| sequence.rounds_to_detect(effect, log_sd));
        (until_sure, stats::rounds_to_detect(effect, log_sd, level))
    };
    let has_pairs = has_pairs(&set.tables);
    let told = rows.into_iter().filter_map(|(table, row)| {
        let log_sd = row.estimate?.log_sd?;
        let (until_sure, once) = expect(log_sd);
        Some(Expected { name: row_title(row, table, has_pairs), log_sd, until_sure, once })
    });
    Ok(told.collect())
}
