//! A tidy table as an audit takes it.

use std::collections::BTreeMap;

use formats::FormatError;
use formats::imported::direction_of;
use formats::tidy::{Row, Table};
use indexmap::{IndexMap, IndexSet};
use model::{Direction, Reading};

use crate::expression::Expression;
use crate::figure::{Printed, decimals_of};
use crate::statistic::{Estimate, Statistic};

/// What tells a cell from others, without the system.
pub type Keys = BTreeMap<String, String>;

const STATISTIC: &str = "statistic";
const AGAINST: &str = "against";
const FORMULA: &str = "formula";
const LABEL: &str = "label";
const COUNT: &str = "count";
const N: &str = "n";
const GRAIN: &str = "grain";
/// Columns that are no keys of a cell here.
const RESERVED: [&str; 7] = [STATISTIC, AGAINST, FORMULA, LABEL, COUNT, N, GRAIN];

/// A row that is a fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub line: u64,
    pub system: String,
    pub keys: Keys,
    /// The repetition, if the row tells it.
    pub repetition: Option<u32>,
    pub metric: String,
    pub unit: String,
    /// Which way is better, as far as anything tells.
    pub direction: Option<Direction>,
    pub value: f64,
    pub decimals: i32,
    /// The step of a value that is counted, not measured: the stated one, or 1 for whole numbers in a unit of counts.
    pub grain: Option<f64>,
    /// How many executions of one run the row stands for, with their mean; `None` for a row that is a repetition.
    pub count: Option<u64>,
}

/// A row that is a printed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub line: u64,
    pub system: String,
    pub keys: Keys,
    /// The repetition, for a cell of the published table.
    pub repetition: Option<u32>,
    pub metric: String,
    /// The figure's own unit.
    pub unit: String,
    /// Which way is better in the metric.
    pub direction: Option<Direction>,
    pub printed: Printed,
    /// What its label says it is; `None` for a claim that no arithmetic could check.
    pub statistic: Option<Statistic>,
    /// The other side of a comparison.
    pub against: Option<String>,
    /// How the metric is made of others.
    pub formula: Option<Expression>,
    /// The stated number of values behind it.
    pub n: Option<u64>,
    /// The stated step of each value: 1 for whole numbers.
    pub grain: Option<f64>,
    /// What the figure is called.
    pub label: String,
}

/// What a side is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    pub system: String,
    /// The name of what may differ.
    pub name: String,
    pub value: String,
}

/// A table, sorted by what its rows are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The rows.
    pub(crate) measured: Vec<Measured>,
    pub(crate) claims: Vec<Claim>,
    /// What the sides are made of.
    pub(crate) factors: Vec<Factor>,
    /// The remarks of the file.
    pub(crate) remarks: Vec<String>,
    places: Places,
}

/// The rows and the printed figures of a metric in a cell of a system, by their places in the lists.
type Cells = BTreeMap<Keys, (Vec<usize>, Vec<usize>)>;

/// Where everything stands, so that a table of 100,000 systems is not read 100,000 times.
#[derive(Clone, Debug, Default, PartialEq)]
struct Places {
    /// In the order of their first row.
    systems: IndexSet<String>,
    /// By metric, then by system in the order of its first row.
    metrics: BTreeMap<String, IndexMap<String, Cells>>,
    directions: BTreeMap<String, Direction>,
}

impl Places {
    fn new(measured: &[Measured], claims: &[Claim]) -> Places {
        let mut places = Places::default();
        for (at, row) in measured.iter().enumerate() {
            places.cell(&row.system, &row.metric, &row.keys).0.push(at);
            places.learn(&row.metric, row.direction);
        }
        for (at, claim) in claims.iter().enumerate() {
            places.cell(&claim.system, &claim.metric, &claim.keys).1.push(at);
            places.learn(&claim.metric, claim.direction);
        }
        places
    }

    fn cell(&mut self, system: &str, metric: &str, keys: &Keys) -> &mut (Vec<usize>, Vec<usize>) {
        if !self.systems.contains(system) {
            self.systems.insert(system.to_owned());
        }
        let systems = self.metrics.entry(metric.to_owned()).or_default();
        systems.entry(system.to_owned()).or_default().entry(keys.clone()).or_default()
    }

    fn learn(&mut self, metric: &str, direction: Option<Direction>) {
        if let Some(direction) = direction.filter(|_| !self.directions.contains_key(metric)) {
            self.directions.insert(metric.to_owned(), direction);
        }
    }

    fn of(&self, system: &str, keys: &Keys, metric: &str) -> Option<&(Vec<usize>, Vec<usize>)> {
        self.metrics.get(metric)?.get(system)?.get(keys)
    }
}

impl Facts {
    /// Takes a table.
    ///
    /// # Errors
    /// A kind, statistic or formula that is not known, a comparison without its other side, no printed figure at all; each
    /// with its line.
    pub fn read(table: &Table) -> Result<Facts, FormatError> {
        let mut facts = Facts { remarks: table.remarks.clone(), ..Facts::default() };
        for row in &table.rows {
            match row.kind.to_lowercase().as_str() {
                "" | "measured" => facts.measured.extend(measured(row)?),
                "printed" => facts.claims.push(claim(row)?),
                "factor" => facts.factors.push(Factor {
                    system: row.system.clone(),
                    name: row.metric.clone(),
                    value: row.written.clone(),
                }),
                // An export of étalon's own says so which trials it marked, how they went, and how a side just was.
                formats::tidy::MARK | formats::tidy::TRIAL | formats::tidy::CIRCUMSTANCE => {}
                other => {
                    let what = format!("{}: no such kind of row", formats::text::shortened(other));
                    return Err(FormatError::at(row.line, what).with_hint("there are measured, printed and factor"));
                }
            }
        }
        if facts.claims.is_empty() {
            let error = FormatError::whole("the table has no printed figure, so there is nothing to audit");
            return Err(error.with_hint(
                "add what was published as rows of kind `printed`, with a column `statistic`: mean, median, times, …",
            ));
        }
        facts.places = Places::new(&facts.measured, &facts.claims);
        Ok(facts)
    }

    /// Puts the executions of a log in the place of the condensed rows of its system.
    pub fn replace_executions(&mut self, system: &str, executions: Vec<Measured>) {
        // A row of a log has no line in the table.
        self.measured.retain(|row| row.system != system || row.line == 0 || row.count.is_none());
        self.measured.extend(executions);
        self.places = Places::new(&self.measured, &self.claims);
    }

    /// The systems in the order of their first row.
    pub(crate) fn systems(&self) -> impl Iterator<Item = &str> {
        self.places.systems.iter().map(String::as_str)
    }

    /// The other systems of which the table tells what a figure is of.
    pub(crate) fn others<'a>(&'a self, claim: &'a Claim) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        let is_other = |system: &&str| *system != claim.system;
        match self.places.metrics.get(&claim.metric) {
            // A formula is made of other metrics.
            Some(systems) if claim.formula.is_none() => Box::new(systems.keys().map(String::as_str).filter(is_other)),
            _ => Box::new(self.systems().filter(is_other)),
        }
    }

    /// Which way is better in a metric, as the first row tells that tells it.
    pub(crate) fn direction(&self, metric: &str) -> Option<Direction> {
        self.places.directions.get(metric).copied()
    }

    /// The measured rows of a metric in a cell.
    pub(crate) fn rows<'a>(&'a self, system: &str, keys: &Keys, metric: &str) -> impl Iterator<Item = &'a Measured> {
        let places = self.places.of(system, keys, metric).map(|(rows, _)| rows.as_slice());
        places.unwrap_or_default().iter().filter_map(|at| self.measured.get(*at))
    }

    /// The measured rows of a cell's other metrics.
    pub(crate) fn rows_beside<'a>(&'a self, row: &'a Measured) -> impl Iterator<Item = &'a Measured> {
        let others = self.places.metrics.keys().filter(|metric| **metric != row.metric);
        others.flat_map(|metric| self.rows(&row.system, &row.keys, metric))
    }

    /// The printed figures of a metric in a cell that compare nothing.
    pub(crate) fn printed<'a>(&'a self, system: &str, keys: &Keys, metric: &str) -> impl Iterator<Item = &'a Claim> {
        let places = self.places.of(system, keys, metric).map(|(_, claims)| claims.as_slice());
        let claims = places.unwrap_or_default().iter().filter_map(|at| self.claims.get(*at));
        claims.filter(|claim| claim.statistic.is_some_and(|statistic| statistic.comparing.is_none()))
    }
}

fn text<'a>(row: &'a Row, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    match row.point.get(name)? {
        model::Value::Text(text) => Some(text.as_str().into()),
        other => Some(other.to_string().into()),
    }
}

fn keys(row: &Row) -> Keys {
    let kept = row.point.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str()));
    let mut keys: Keys = kept.map(|(key, value)| (key.clone(), value.to_string())).collect();
    keys.extend(row.benchmark.clone().map(|benchmark| ("benchmark".to_owned(), benchmark)));
    keys
}

fn whole(row: &Row, name: &str) -> Result<Option<u64>, FormatError> {
    let Some(text) = text(row, name) else { return Ok(None) };
    let number = text.parse().ok().filter(|n| *n > 0);
    let wrong = || FormatError::at(row.line, format!("{name}: {}: a number from 1", formats::text::shortened(&text)));
    number.map(Some).ok_or_else(wrong)
}

/// The stated step of a value.
fn grain(row: &Row) -> Result<Option<f64>, FormatError> {
    let Some(text) = text(row, GRAIN) else { return Ok(None) };
    let grain = formats::text::number(&text).filter(|grain| *grain > 0.0);
    grain.map(Some).ok_or_else(|| FormatError::at(row.line, "grain: the step of a value is a number above 0"))
}

/// Whether a figure in this unit is counted one by one. Everything else is measured, and whole only by rounding.
fn is_counted(unit: &str) -> bool {
    const COUNTED: [&str; 16] = [
        "",
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
    COUNTED.contains(&unit)
}

fn measured(row: &Row) -> Result<Option<Measured>, FormatError> {
    let count = whole(row, COUNT)?;
    let stated = grain(row)?;
    let Reading::Value(value) = row.value else { return Ok(None) };
    let decimals = decimals_of(&row.written);
    Ok(Some(Measured {
        line: row.line,
        system: row.system.clone(),
        keys: keys(row),
        repetition: row.repetition,
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        direction: row.direction.or_else(|| direction_of(&row.metric, &row.unit)),
        value,
        decimals,
        grain: stated.or_else(|| (is_counted(&row.unit) && decimals == 0).then_some(1.0)),
        count,
    }))
}

fn claim(row: &Row) -> Result<Claim, FormatError> {
    let at = |what: String| FormatError::at(row.line, what);
    let statistic = match text(row, STATISTIC) {
        None => None,
        Some(name) if name == "claim" => None,
        Some(name) => Some(Statistic::parse(&name).ok_or_else(|| {
            at(format!("{}: no such statistic", formats::text::shortened(&name))).with_hint(
                "mean, trimmed, median, best, min, max, sum, count, sd, value, count<N, share<N, rank:N; or ratio, times, \
                 change, saving, gain, apart, time_gain, speed_gain, difference, winner, each with ` of ESTIMATE`",
            )
        })?),
    };
    let formula = match text(row, FORMULA) {
        None => None,
        Some(formula) => Some(Expression::parse(&formula).map_err(|what| at(format!("formula: {what}")))?),
    };
    let against = text(row, AGAINST).map(std::borrow::Cow::into_owned);
    if statistic.is_some_and(|s| s.comparing.is_some()) && against.is_none() {
        return Err(at("a comparison has another side".to_owned()).with_hint("name it in the column `against`"));
    }
    // A mean has the unit of its metric, a share has its own.
    Ok(Claim {
        line: row.line,
        system: row.system.clone(),
        keys: keys(row),
        repetition: row.repetition,
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        direction: row.direction.or_else(|| direction_of(&row.metric, &row.unit)),
        printed: Printed::parse(&row.written),
        n: whole(row, N)?,
        grain: grain(row)?,
        label: text(row, LABEL).map_or_else(|| label(row, statistic), std::borrow::Cow::into_owned),
        statistic,
        against,
        formula,
    })
}

/// `linux data read_stall 3 mean`.
fn label(row: &Row, statistic: Option<Statistic>) -> String {
    let mut words = vec![row.system.clone()];
    words.extend(keys(row).into_values());
    words.push(row.metric.clone());
    words.extend(row.repetition.map(|repetition| format!("#{repetition}")));
    match statistic {
        Some(Statistic { comparing: Some(_), .. }) | None => words.extend(text(row, STATISTIC).map(|s| s.into_owned())),
        Some(Statistic { estimate: Estimate::Value, .. }) => {}
        Some(Statistic { estimate, .. }) => words.push(estimate.to_string()),
    }
    words.join(" ")
}
