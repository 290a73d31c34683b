//! How many rounds an experiment will take, by what the rounds of a shorter one differed by.

use model::{Case, Plan, Promise, Role};
use stats::Sequence;

use crate::comparison::{Comparison, Families, Family, MetricFilter, is_asked};
use crate::evidence::Evidence;
use crate::labels::{has_pairs, row_title};
use crate::{CompareError, Options, compare};

/// What a pilot shows about a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundsForecast {
    pub rows: Vec<Expected>,
    /// The plan's cases that the pilot does not compare.
    pub missing: Vec<String>,
}

/// What the pilot expects of a primary row.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub name: String,
    /// The rounds, or why the pilot has none.
    pub rounds: Result<Rounds, String>,
}

/// `None` beyond what is proposed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// Standard deviation between the logarithms of the rounds' ratios.
    pub log_sd: f64,
    /// The ratio B / A of the pilot.
    pub seen: f64,
    /// Judged after each round: as many as [`stats::rounds_until_sure`] has for what the pilot saw.
    pub as_seen: Option<u32>,
    /// Rounds until the row is sure, if there is no difference.
    pub equal: Option<u32>,
    /// Rounds until the row is sure, if the difference is the one that was asked for.
    pub until_sure: Option<u32>,
    /// Rounds of a fixed number that show it with 80 % power; `None` where it is within the margin.
    pub once: Option<u32>,
}

/// Forecasts for each row that a pilot shares with the plan after how many rounds it is settled.
/// It may differ as in the pilot, not at all, or by `effect`. Each row that is asked has its part of the level, as the first of
/// Holm's has; what is equivalent is not adjusted.
///
/// # Errors
/// There is nothing to compare in the pilot.
pub fn forecast_rounds(pilot: &Evidence, plan: &Plan, effect: f64) -> Result<RoundsForecast, CompareError> {
    let options = Options {
        metrics: MetricFilter::All,
        allow_unequal_durability: plan.comparison.allow_unequal_durability,
        ..Options::default()
    };
    let set = compare(pilot, &options)?;
    let cases = plan.cases();
    let all = set.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    let (primary, others): (Vec<_>, Vec<_>) = all
        .filter(|(_, row)| has_row(row, &cases, &row.a.system) && has_row(row, &cases, &row.b.system))
        .partition(|(_, row)| row.metric.role == Role::Primary);
    let [in_primary, queries, exploratory] = Family::ALL
        .map(|family| primary.iter().chain(&others).filter(|(_, row)| row.family == family && is_asked(row)).count());
    let families = Families { primary: in_primary, queries, exploratory };
    let first = plan.schedule.until_sure.map_or(stats::MIN_ROUNDS, |until| until.first);
    let margin = plan.comparison.margin;
    let rounds = |family: Family, log_sd: f64, seen: f64| {
        // Both methods adjust the smallest p of a family by the family's size.
        let error =
            (1.0 - plan.comparison.level) * families.error_part(family) / families.row_count(family).max(1) as f64;
        let level = 1.0 - error;
        let sequences = [level, plan.comparison.level].map(|level| Sequence::new(level, first).ok());
        let until = |ratio: f64| {
            let [Some(differs), Some(equals)] = &sequences else { return None };
            let critical: [&dyn Fn(u32) -> f64; 2] = [&|n| differs.critical_t(n), &|n| equals.critical_t(n)];
            stats::rounds_until_sure(first..=stats::MAX_ROUNDS, (ratio, log_sd), margin, critical)
        };
        let once = if effect >= margin { stats::rounds_to_detect(effect, log_sd, level) } else { None };
        Rounds { log_sd, seen, as_seen: until(seen), equal: until(1.0), until_sure: until(1.0 + effect), once }
    };
    let has_pairs = has_pairs(&set.tables);
    let rows = primary.iter().map(|(table, row)| Expected {
        name: row_title(row, table, has_pairs),
        rounds: row
            .ratio_estimate()
            .filter(|_| is_asked(row))
            .and_then(|found| Some(rounds(row.family, found.log_sd?, found.ratio)))
            .ok_or_else(|| why_no_value(row)),
    });
    let missing = cases
        .iter()
        .filter(|case| !primary.iter().any(|(_, row)| is_row_of(row, case)))
        .map(|case| case.label(&plan.varying_keys(&case.benchmark)))
        .collect();
    Ok(RoundsForecast { rows: rows.collect(), missing })
}

/// Whether a row is of one of the cases of a system.
fn has_row(row: &Comparison, cases: &[Case], system: &str) -> bool {
    cases.iter().any(|case| case.system == system && is_row_of(row, case))
}

/// Whether a case is one that a row stands for: its benchmark, promise and keys.
fn is_row_of(row: &Comparison, case: &Case) -> bool {
    let is_alike =
        case.benchmark == row.benchmark && Promise::from_point(&case.point) == Promise::from_point(&row.case);
    is_alike && row.case.iter().all(|(key, value)| case.point.get(key) == Some(value))
}

/// Says why a row has no ratio.
fn why_no_value(row: &Comparison) -> String {
    let unavailable = row.a.unavailable.iter().chain(&row.b.unavailable).next();
    let reason = unavailable.map(|(reason, _)| reason.to_string());
    reason.or_else(|| row.why_no_verdict().map(|reason| reason.reason_text())).unwrap_or_else(|| "no ratio".to_owned())
}
