//! A tidy table as an audit takes it.

use std::collections::BTreeMap;

use formats::FormatError;
use formats::dimension::Ratio;
use formats::imported::{guess_direction, names_a_quantity};
use formats::tidy::{Row, Table};
use indexmap::{IndexMap, IndexSet};
use model::{Direction, Point, Reading};

use crate::expression::FigureExpression;
use crate::figure::{Printed, decimals_of};
use crate::statistic::{Estimate, Statistic};

/// The keys of a cell, without the system.
pub type Keys = BTreeMap<String, String>;

/// Kind of rows with a figure as it was published.
pub(crate) const PRINTED: &str = "printed";
/// Key of a row that names its benchmark.
pub(crate) const BENCHMARK: &str = "benchmark";
const STATISTIC: &str = "statistic";
const AGAINST: &str = "against";
const FORMULA: &str = "formula";
const LABEL: &str = "label";
const COUNT: &str = "count";
const N: &str = "n";
const GRAIN: &str = "grain";
/// No keys of a cell.
const RESERVED: [&str; 7] = [STATISTIC, AGAINST, FORMULA, LABEL, COUNT, N, GRAIN];

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub line: u64,
    pub system: String,
    pub keys: Keys,
    /// Number of the repetition, if the row has it.
    pub repetition: Option<u32>,
    pub metric: String,
    pub unit: String,
    /// The better direction, as far as known.
    pub direction: Option<Direction>,
    pub value: f64,
    /// The worth of one in the last digit that was written.
    pub digit: f64,
    /// Step of a counted value: as stated, or 1 for whole numbers in a unit of counts.
    pub grain: Option<f64>,
    /// Executions of one run whose mean this is; `None` for a repetition.
    pub count: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PublishedClaim {
    pub line: u64,
    pub system: String,
    pub keys: Keys,
    pub repetition: Option<u32>,
    pub metric: String,
    pub unit: String,
    pub direction: Option<Direction>,
    pub printed: Printed,
    /// `None` if no arithmetic can check it.
    pub statistic: Option<Statistic>,
    pub against: Option<String>,
    /// The arithmetic of a figure that is computed from other metrics.
    pub formula: Option<FigureExpression>,
    /// Stated number of values.
    pub n: Option<u64>,
    /// 1 for whole numbers.
    pub grain: Option<f64>,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    pub system: String,
    pub name: String,
    pub value: String,
}

/// A table, sorted by what its rows are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    pub(crate) measured: Vec<Measured>,
    pub(crate) claims: Vec<PublishedClaim>,
    pub(crate) factors: Vec<Factor>,
    pub(crate) remarks: Vec<String>,
    index: TableIndex,
}

/// Indices of rows and printed figures.
type Cells = BTreeMap<Keys, (Vec<usize>, Vec<usize>)>;

/// Indexes, so that a table of 100,000 systems is not scanned 100,000 times.
#[derive(Clone, Debug, Default, PartialEq)]
struct TableIndex {
    /// All systems, in the order of their first row.
    systems: IndexSet<String>,
    /// The cells by metric, then by system in the order of its first row.
    metrics: BTreeMap<String, IndexMap<String, Cells>>,
    directions: BTreeMap<String, Direction>,
    /// The unit of a metric's measured rows, else of the first figure of one side.
    units: BTreeMap<String, String>,
}

impl TableIndex {
    /// Indexes rows and claims, and gives all measured rows of a metric one unit, as far as it can be converted.
    fn new(measured: &mut [Measured], claims: &[PublishedClaim]) -> TableIndex {
        let mut index = TableIndex::default();
        for (at, row) in measured.iter_mut().enumerate() {
            let unit = index.units.entry(row.metric.clone()).or_insert_with(|| row.unit.clone());
            row.convert_unit(unit);
            index.cell_mut(&row.system, &row.metric, &row.keys).0.push(at);
            index.learn_direction(&row.metric, row.direction);
        }
        for (at, claim) in claims.iter().enumerate() {
            index.cell_mut(&claim.system, &claim.metric, &claim.keys).1.push(at);
            index.learn_direction(&claim.metric, claim.direction);
            if claim.statistic.is_some_and(|statistic| statistic.comparing.is_none()) {
                index.units.entry(claim.metric.clone()).or_insert_with(|| claim.unit.clone());
            }
        }
        index
    }

    /// Finds the row and claim indices of a cell, made if it is new.
    fn cell_mut(&mut self, system: &str, metric: &str, keys: &Keys) -> &mut (Vec<usize>, Vec<usize>) {
        if !self.systems.contains(system) {
            self.systems.insert(system.to_owned());
        }
        let systems = self.metrics.entry(metric.to_owned()).or_default();
        systems.entry(system.to_owned()).or_default().entry(keys.clone()).or_default()
    }

    /// Notes the better direction of a metric, the first time it is stated.
    fn learn_direction(&mut self, metric: &str, direction: Option<Direction>) {
        if let Some(direction) = direction
            && !self.directions.contains_key(metric)
        {
            self.directions.insert(metric.to_owned(), direction);
        }
    }

    /// Finds the row and claim indices of a cell.
    fn cell(&self, system: &str, keys: &Keys, metric: &str) -> Option<&(Vec<usize>, Vec<usize>)> {
        self.metrics.get(metric)?.get(system)?.get(keys)
    }
}

impl Measured {
    /// Converts the row to a unit; where its own is of another family it stays.
    fn convert_unit(&mut self, unit: &str) {
        if self.unit == unit {
            return;
        }
        let Some(ratio) = Ratio::between(&self.unit, unit) else { return };
        self.value = ratio.apply(self.value);
        self.digit = ratio.apply(self.digit);
        self.grain = self.grain.map(|grain| ratio.apply(grain));
        unit.clone_into(&mut self.unit);
    }
}

impl TableFacts {
    /// Reads a table's measured rows, printed figures and factors; fails without a printed figure.
    pub fn from_table(table: &Table) -> Result<TableFacts, FormatError> {
        let mut facts = TableFacts { remarks: table.remarks.clone(), ..TableFacts::default() };
        for row in &table.rows {
            match row.kind.to_lowercase().as_str() {
                "" | "measured" => facts.measured.extend(read_measured(row)?),
                PRINTED => facts.claims.push(read_claim(row)?),
                "factor" => facts.factors.push(Factor {
                    system: row.system.clone(),
                    name: row.metric.clone(),
                    value: row.written.clone(),
                }),
                // Exports of étalon's hold marks, runs and passing facts.
                formats::tidy::MARK | formats::tidy::RUN | formats::tidy::CIRCUMSTANCE => {}
                other => {
                    let what = format!("{}: no such kind of row", formats::text::shorten(other));
                    return Err(
                        FormatError::at_line(row.line, what).with_hint("there are measured, printed and factor")
                    );
                }
            }
        }
        if facts.claims.is_empty() {
            let error = FormatError::of_whole("the table has no printed figure, so there is nothing to audit");
            return Err(error.with_hint(
                "add what was published as rows of kind `printed`, with a column `statistic`: mean, median, times, …",
            ));
        }
        facts.index = TableIndex::new(&mut facts.measured, &facts.claims);
        Ok(facts)
    }

    /// Replaces the condensed rows of a system by the executions of a log.
    pub fn replace_executions(&mut self, system: &str, executions: Vec<Measured>) {
        // A log's row has no line in the table.
        self.measured.retain(|row| row.system != system || row.line == 0 || row.count.is_none());
        self.measured.extend(executions);
        self.index = TableIndex::new(&mut self.measured, &self.claims);
    }

    /// Lists the systems in the table's order.
    pub(crate) fn systems(&self) -> impl Iterator<Item = &str> {
        self.index.systems.iter().map(String::as_str)
    }

    /// Lists the other systems that have the claim's metric; all of them for a formula.
    pub(crate) fn other_systems<'a>(&'a self, claim: &'a PublishedClaim) -> impl Iterator<Item = &'a str> + 'a {
        let systems: Box<dyn Iterator<Item = &'a str> + 'a> = match self.index.metrics.get(&claim.metric) {
            // A formula is made of other metrics.
            Some(systems) if claim.formula.is_none() => Box::new(systems.keys().map(String::as_str)),
            _ => Box::new(self.systems()),
        };
        systems.filter(|system| *system != claim.system)
    }

    /// Gives the unit in which a figure is compared with the rows: its own, if theirs can be converted to it.
    pub(crate) fn unit_of<'a>(&'a self, claim: &'a PublishedClaim) -> &'a str {
        let of_rows = self.index.units.get(&claim.metric).filter(|unit| Ratio::between(unit, &claim.unit).is_none());
        of_rows.unwrap_or(&claim.unit)
    }

    /// Gives the metric's better direction by the first row that has one.
    pub(crate) fn direction_of(&self, metric: &str) -> Option<Direction> {
        self.index.directions.get(metric).copied()
    }

    /// Lists the measured rows of a cell.
    pub(crate) fn rows_of<'a>(&'a self, system: &str, keys: &Keys, metric: &str) -> impl Iterator<Item = &'a Measured> {
        let indices = self.index.cell(system, keys, metric).map(|(rows, _)| rows.as_slice());
        indices.unwrap_or_default().iter().filter_map(|at| self.measured.get(*at))
    }

    /// Lists the measured rows of every other metric in the row's cell.
    pub(crate) fn rows_of_other_metrics<'a>(&'a self, row: &'a Measured) -> impl Iterator<Item = &'a Measured> {
        let others = self.index.metrics.keys().filter(|metric| **metric != row.metric);
        others.flat_map(|metric| self.rows_of(&row.system, &row.keys, metric))
    }

    /// Lists the printed figures of a metric in a cell that compare nothing.
    pub(crate) fn printed_figures<'a>(
        &'a self,
        system: &str,
        keys: &Keys,
        metric: &str,
    ) -> impl Iterator<Item = &'a PublishedClaim> {
        let indices = self.index.cell(system, keys, metric).map(|(_, claims)| claims.as_slice());
        let claims = indices.unwrap_or_default().iter().filter_map(|at| self.claims.get(*at));
        claims.filter(|claim| claim.statistic.is_some_and(|statistic| statistic.comparing.is_none()))
    }
}

/// Gives a row's value of a column as text.
fn text_of<'a>(row: &'a Row, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    match row.point.get(name)? {
        model::Value::Text(text) => Some(text.as_str().into()),
        other => Some(other.to_string().into()),
    }
}

/// Gives the keys of a row's case.
fn keys_of_row(row: &Row) -> Keys {
    keys_of(row.benchmark.as_deref(), &without_own_columns(row).point)
}

/// Gives the keys of a case, the benchmark among them.
pub(crate) fn keys_of(benchmark: Option<&str>, point: &Point) -> Keys {
    let mut keys: Keys = point.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
    keys.extend(benchmark.map(|benchmark| (BENCHMARK.to_owned(), benchmark.to_owned())));
    keys
}

/// Copies a row without the audit's own columns, so that every other column is a key of the case.
pub(crate) fn without_own_columns(row: &Row) -> Row {
    let mut row = row.clone();
    row.point.retain(|key, _| !RESERVED.contains(&key.as_str()));
    row
}

/// Whether a row stands for executions of one run.
pub(crate) fn is_condensed(row: &Row) -> bool {
    row.point.contains_key(COUNT)
}

/// Reads a row's positive number in a column; fails if it is none.
fn read_positive_number(row: &Row, name: &str) -> Result<Option<u64>, FormatError> {
    let Some(text) = text_of(row, name) else { return Ok(None) };
    let number = text.parse().ok().filter(|n| *n > 0);
    number.map(Some).ok_or_else(|| {
        FormatError::at_line(row.line, format!("{name}: {}: a number from 1", formats::text::shorten(&text)))
    })
}

/// Reads the stated step of a row's value; fails if it is no number above 0.
fn read_grain(row: &Row) -> Result<Option<f64>, FormatError> {
    let Some(text) = text_of(row, GRAIN) else { return Ok(None) };
    let grain = formats::text::parse_number(&text).filter(|grain| *grain > 0.0);
    grain.map(Some).ok_or_else(|| FormatError::at_line(row.line, "grain: the step of a value is a number above 0"))
}

/// Whether a metric of a unit is counted.
/// Everything else is measured, and whole only by rounding.
fn is_counted(metric: &str, unit: &str) -> bool {
    const COUNTED: [&str; 15] = [
        "B",
        "bytes",
        "calls",
        "count",
        "errors",
        "executions",
        "operations",
        "ops",
        "pages",
        "queries",
        "reads",
        "requests",
        "rows",
        "transactions",
        "writes",
    ];
    COUNTED.contains(&unit) || (unit.is_empty() && !names_a_quantity(metric))
}

/// Reads a row as measured; `None` if it has no value.
fn read_measured(row: &Row) -> Result<Option<Measured>, FormatError> {
    let count = read_positive_number(row, COUNT)?;
    let stated = read_grain(row)?;
    let Reading::Value(value) = row.value else { return Ok(None) };
    let decimals = decimals_of(&row.written);
    Ok(Some(Measured {
        line: row.line,
        system: row.system.clone(),
        keys: keys_of_row(row),
        repetition: row.repetition,
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        direction: row.direction.or_else(|| guess_direction(&row.metric, &row.unit)),
        value,
        digit: 10_f64.powi(-decimals),
        grain: stated.or_else(|| (is_counted(&row.metric, &row.unit) && decimals == 0).then_some(1.0)),
        count,
    }))
}

/// Reads a row as a printed figure.
fn read_claim(row: &Row) -> Result<PublishedClaim, FormatError> {
    let line = row.line;
    let statistic = match text_of(row, STATISTIC) {
        None => None,
        Some(name) if name == "claim" => None,
        Some(name) => Some(Statistic::parse(&name).ok_or_else(|| {
            FormatError::at_line(line, format!("{}: no such statistic", formats::text::shorten(&name))).with_hint(
                "mean, trimmed, median, best, min, max, sum, count, sd, value, count<N, share<N, rank:N; or ratio, times, \
                 change, saving, gain, apart, time_gain, speed_gain, difference, winner, each with ` of ESTIMATE`",
            )
        })?),
    };
    let formula = match text_of(row, FORMULA) {
        None => None,
        Some(formula) => Some(
            FigureExpression::parse(&formula).map_err(|what| FormatError::at_line(line, format!("formula: {what}")))?,
        ),
    };
    let against = text_of(row, AGAINST).map(std::borrow::Cow::into_owned);
    if statistic.is_some_and(|s| s.comparing.is_some()) && against.is_none() {
        return Err(FormatError::at_line(line, "a comparison has another side".to_owned())
            .with_hint("name it in the column `against`"));
    }
    // A mean has its metric's unit, a share its own.
    Ok(PublishedClaim {
        line: row.line,
        system: row.system.clone(),
        keys: keys_of_row(row),
        repetition: row.repetition,
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        direction: row.direction.or_else(|| guess_direction(&row.metric, &row.unit)),
        printed: Printed::parse(&row.written),
        n: read_positive_number(row, N)?,
        grain: read_grain(row)?,
        label: text_of(row, LABEL).map_or_else(|| claim_label(row, statistic), std::borrow::Cow::into_owned),
        statistic,
        against,
        formula,
    })
}

/// Makes a label for a figure without one: `linux data read_stall 3 mean`.
fn claim_label(row: &Row, statistic: Option<Statistic>) -> String {
    let mut words = vec![row.system.clone()];
    words.extend(keys_of_row(row).into_values());
    words.push(row.metric.clone());
    words.extend(row.repetition.map(|repetition| format!("#{repetition}")));
    match statistic {
        Some(Statistic { comparing: Some(_), .. }) | None => {
            words.extend(text_of(row, STATISTIC).map(|s| s.into_owned()))
        }
        Some(Statistic { estimate: Estimate::Value, .. }) => {}
        Some(Statistic { estimate, .. }) => words.push(estimate.to_string()),
    }
    words.join(" ")
}
