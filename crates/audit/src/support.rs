//! The conclusions that the rows of a table allow: what `etalon compare` says of them.

use std::collections::{BTreeMap, BTreeSet};

use formats::experiment::UNKNOWN;
use formats::tidy::{self, Row, Table};
use model::{Direction, Point, Reading};
use stats::Verdict;

use crate::expression::FigureExpression;
use crate::level::{Level, LevelKind, find_levels};
use crate::statistic::{Estimate, Statistic};
use crate::table::{self, Keys, PublishedClaim, TableFacts};

#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The verdict, and how `compare` words it of B.
    Verdict(Verdict, String),
    None(String),
}

/// The judgement of a comparison on one metric of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricJudgement {
    /// Runs of A and B.
    pub n: (u64, u64),
    /// The ratio and its interval, if there are enough rows.
    pub estimate: Option<Estimated>,
    pub conclusion: Conclusion,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// Geometric mean of B over that of A.
    pub ratio: f64,
    pub lo: f64,
    pub hi: f64,
    pub p: f64,
    /// Adjusted p of a primary row; `None` if no verdict was to rest on it.
    pub p_holm: Option<f64>,
    /// Adjusted p of any row: by Benjamini and Hochberg where it is not primary.
    pub p_adjusted: Option<f64>,
}

/// A case's keys without the system, its metric, and B.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FindingKey {
    keys: Keys,
    metric: String,
    b: String,
}

impl FindingKey {
    /// Makes the key of a row of an experiment that was made of [`compared_rows`] rows.
    pub fn from_row(benchmark: &str, point: &Point, metric: &str, b: &str) -> FindingKey {
        FindingKey::new(table::keys_of(Some(benchmark), point), metric, b)
    }

    /// Makes a key from a case's keys as an import has them.
    /// What a row does not have is unknown there, and one without a benchmark is of [`tidy::BENCHMARK`].
    fn new(mut keys: Keys, metric: &str, b: &str) -> FindingKey {
        keys.retain(|_, value| value != UNKNOWN);
        keys.entry(table::BENCHMARK.to_owned()).or_insert_with(|| tidy::BENCHMARK.to_owned());
        FindingKey { keys, metric: metric.to_owned(), b: b.to_owned() }
    }
}

/// All that a comparison says of the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgements {
    /// The baseline, if there are rows.
    pub a: Option<String>,
    /// The intervals and tests by which it was judged.
    pub method: String,
    pub found: BTreeMap<FindingKey, MetricJudgement>,
    /// Why the rows cannot be compared.
    pub refused: Option<String>,
}

/// One metric of one case, of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    pub what: String,
    pub a: String,
    pub b: String,
    pub judged: MetricJudgement,
}

/// Makes the table of the rows that are compared; `None` without any.
/// They are its own, and for a metric that has none what its formula or the printed table's cells give.
pub fn compared_rows(facts: &TableFacts, table: &Table) -> Option<Table> {
    let mut directions: BTreeMap<_, Direction> = BTreeMap::new();
    for row in &table.rows {
        // A printed figure's row may state it for the measured ones.
        if let Some(direction) = row.direction {
            directions.entry((&row.benchmark, &row.metric)).or_insert(direction);
        }
    }
    let measured = table.rows.iter().filter(|row| {
        if tidy::is_measured(row) {
            // Executions of one run are no repetitions.
            !table::is_condensed(row)
        } else {
            !row.kind.eq_ignore_ascii_case(table::PRINTED)
        }
    });
    let mut rows: Vec<Row> = measured.map(|row| compared_row(row, &directions)).collect();
    let questions = Questions::new(facts);
    let lines: BTreeMap<u64, &Row> = table.rows.iter().map(|row| (row.line, row)).collect();
    for claim in questions.claims_in_question() {
        for system in facts.systems() {
            rows.extend(questions.made_rows(&lines, system, claim).iter().map(|row| compared_row(row, &directions)));
        }
    }
    rows.iter().any(tidy::is_measured).then(|| Table { rows, ..table.clone() })
}

/// Copies a row with the better direction of its metric, without the columns that are no keys.
fn compared_row(row: &Row, directions: &BTreeMap<(&Option<String>, &String), Direction>) -> Row {
    let direction = row.direction.or_else(|| directions.get(&(&row.benchmark, &row.metric)).copied());
    Row { direction, ..table::without_own_columns(row) }
}

struct Questions<'a> {
    facts: &'a TableFacts,
    formulas: BTreeMap<(&'a Keys, &'a str), &'a FigureExpression>,
}

impl<'a> Questions<'a> {
    /// Collects the first formula of each metric in each case.
    fn new(facts: &'a TableFacts) -> Questions<'a> {
        let mut formulas = BTreeMap::new();
        for claim in &facts.claims {
            if let Some(formula) = &claim.formula {
                formulas.entry((&claim.keys, claim.metric.as_str())).or_insert(formula);
            }
        }
        Questions { facts, formulas }
    }

    /// Lists the first printed figure of each metric in each case that a verdict would be about.
    fn claims_in_question(&self) -> impl Iterator<Item = &'a PublishedClaim> {
        let mut seen = BTreeSet::new();
        let claims = self.facts.claims.iter().filter(|claim| claim.statistic.is_some_and(is_judgeable));
        claims.filter(move |claim| seen.insert((&claim.keys, &claim.metric)))
    }

    /// Finds a system's level of the claim's metric: the rows, else the printed table's cells.
    fn level_of(&self, system: &str, claim: &PublishedClaim) -> Option<Level> {
        let PublishedClaim { keys, metric, .. } = claim;
        let formula = self.formulas.get(&(keys, metric.as_str())).copied();
        let mut levels = find_levels(self.facts, system, claim, formula).into_iter();
        levels.find(|level| level.kind != LevelKind::Sums)
    }

    /// Makes the rows of a system for a claim's metric that has no measured rows.
    fn made_rows(&self, lines: &BTreeMap<u64, &Row>, system: &str, claim: &PublishedClaim) -> Vec<Row> {
        let PublishedClaim { keys, metric, .. } = claim;
        if self.facts.rows_of(system, keys, metric).next().is_some() {
            return Vec::new();
        }
        let Some(level) = self.level_of(system, claim) else { return Vec::new() };
        let mut printed = self.facts.printed_figures(system, keys, metric);
        if level.kind == LevelKind::Rows {
            // What compares has a unit of its own.
            let unit = printed.next().map_or("", |one| one.unit.as_str());
            let Some(row) = lines.get(&claim.line) else { return Vec::new() };
            return level
                .values
                .iter()
                .map(|one| make_measured_row(row, system, one.repetition, one.value, unit))
                .collect();
        }
        let made = printed.filter_map(|cell| {
            Some(make_measured_row(lines.get(&cell.line)?, system, cell.repetition?, cell.printed.value?, &cell.unit))
        });
        made.collect()
    }

    /// Finds what the rows support of a printed figure; `None` where a side has no figure.
    fn support_for(&self, claim: &PublishedClaim, judgements: &Judgements, a: &str, b: &str) -> Option<Support> {
        let PublishedClaim { keys, metric, .. } = claim;
        let sides = [a, b].map(|system| self.level_of(system, claim));
        let unpublished = [a, b].into_iter().zip(&sides).any(|(system, level)| {
            let mut printed = self.facts.printed_figures(system, keys, metric);
            level.is_none() && !printed.any(|claim| claim.printed.value.is_some())
        });
        if unpublished {
            return None;
        }
        let words: Vec<&str> = keys.values().map(String::as_str).chain([metric.as_str()]).collect();
        let [n_a, n_b] = sides.each_ref().map(|level| level.as_ref().map_or(0, Level::value_count));
        let why = if sides.iter().any(Option::is_none) {
            Some("the rows are not published, only their summary")
        } else if sides.iter().flatten().any(|level| level.are_executions) {
            Some("these are executions of one run a side; the run is the unit, and there is one")
        } else {
            None
        };
        let found = match why {
            Some(_) => None,
            None => judgements.found.get(&FindingKey::new(keys.clone(), metric, b)),
        };
        let judged = found.cloned().unwrap_or_else(|| {
            let why = why.or(judgements.refused.as_deref()).unwrap_or("the sides have no case in common");
            MetricJudgement { n: (n_a, n_b), estimate: None, conclusion: Conclusion::None(why.to_owned()) }
        });
        Some(Support { what: words.join(" "), a: a.to_owned(), b: b.to_owned(), judged })
    }
}

/// Whether a verdict could be about a statistic: a mean, median, best, minimum or maximum.
fn is_judgeable(statistic: Statistic) -> bool {
    use Estimate::{Best, Max, Mean, Median, Min, Trimmed};
    matches!(statistic.estimate, Mean | Trimmed | Median | Best | Min | Max)
}

/// Collects what the rows support of each metric with a printed figure.
pub fn collect_support(facts: &TableFacts, judgements: &Judgements) -> Vec<Support> {
    let Some(a) = judgements.a.as_deref().or_else(|| facts.systems().next()) else { return Vec::new() };
    let others: Vec<&str> = facts.systems().filter(|system| *system != a).collect();
    let questions = Questions::new(facts);
    let supports = questions.claims_in_question().flat_map(|claim| {
        others.iter().filter_map(|b| questions.support_for(claim, judgements, a, b)).collect::<Vec<_>>()
    });
    supports.collect()
}

/// Makes a measured row of a system from another row's case, with this value.
fn make_measured_row(row: &Row, system: &str, repetition: u32, value: f64, unit: &str) -> Row {
    Row {
        system: system.to_owned(),
        kind: tidy::MEASURED.to_owned(),
        repetition: (repetition > 0).then_some(repetition),
        value: Reading::Value(value),
        unit: unit.to_owned(),
        ..row.clone()
    }
}
