//! What one experiment adds to a history: a point for each row that may be followed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::facts::TEXTS;
use model::{Direction, Facts, Length, Metric, Nature, Point, Quantity, Role};
use sha2::{Digest as _, Sha256};
use store::history::{Addition, HistoryExperiment, HistoryPoint, SeriesKey};

use crate::comparison::{CompareError, Comparison, NoVerdict, Options, Scale, all_figures, compare};
use crate::evidence::{CLIENT, Evidence};
use crate::labels::metric_name;

/// Facts of a machine, a server's storage or étalon's build by which a series is cut, besides settings.
const MATTERING: [&str; 11] = [
    "cpu.model",
    "cpu.available",
    "cpu.governor",
    "kernel.version",
    "os.name",
    "os.version",
    "memory.total",
    "virtualisation",
    "data_directory.filesystem",
    "data_directory.device",
    "etalon.profile",
];
const SETTING: &str = "setting.";
const SERVER_VERSION: &str = "server.version";
/// Why a row has no point whose runs kept their promise at every load, or at none.
const ONLY_A_BOUND: &str = "it is a bound of a capacity";

/// What an experiment adds, and which rows it does not add for which reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    pub addition: Addition,
    pub left_out: Vec<LeftOut>,
    /// Whether an anchor was asked for, and no system of the experiment has its name.
    pub lacks_anchor: bool,
    /// The names of the experiment's systems.
    pub systems: Vec<String>,
}

/// A row of an experiment without a point.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The series that its point would belong to.
    pub key: SeriesKey,
    pub row: String,
    pub reason: String,
    /// Whether its runs have too few operations for the metric, as they may have on any night.
    pub is_of_short_runs: bool,
}

/// Why an experiment adds nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("it has not ended: {0}")]
    Unfinished(String),
    #[error("no row of it may be followed: {row}: {reason}")]
    NoRow { row: String, reason: String },
    #[error("it measured nothing")]
    Nothing,
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// Makes the points of an experiment: ratios to the anchor where it has a system of that name, else plain values.
///
/// # Errors
/// The experiment has not ended, or none of its rows may be followed.
pub fn read_contribution(
    evidence: &Evidence,
    anchor: Option<&str>,
    commit: Option<&str>,
) -> Result<Contribution, Refusal> {
    if let Some(found) = evidence.progress_if_unfinished() {
        return Err(Refusal::Unfinished(found.sentence()));
    }
    let anchor_here = anchor.filter(|name| evidence.header.plan.system(name).is_some());
    let rows = match anchor_here {
        Some(anchor) => relative_rows(evidence, anchor)?,
        None => plain_rows(evidence)?,
    };
    let mut facts = BTreeMap::new();
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for row in rows {
        let key = series_key(&row, anchor_here);
        match row.reading {
            Err(NoPoint { reason, is_of_short_runs }) => {
                left_out.push(LeftOut { key, row: row.name, reason, is_of_short_runs });
            }
            Ok((value, interval)) => {
                let (digest, json) = mattering_facts(evidence, &row, anchor_here);
                facts.insert(digest.clone(), json);
                let version = evidence.facts_of(&row.system).and_then(|facts| facts.get(SERVER_VERSION));
                let version = version.map(str::to_owned);
                points.push((key, HistoryPoint { value, interval, version, facts_digest: digest }));
            }
        }
    }
    if points.is_empty() {
        let first = left_out.into_iter().next();
        return Err(first.map_or(Refusal::Nothing, |LeftOut { row, reason, .. }| Refusal::NoRow { row, reason }));
    }
    let experiment = HistoryExperiment {
        id: experiment_id(evidence),
        name: evidence.header.plan.name.clone(),
        created_unix_ms: evidence.header.created_unix_ms,
        commit: commit.map(str::to_owned),
        runs: evidence.run_counts().measured as u64,
    };
    let addition = Addition { experiment, points, facts };
    let systems = evidence.header.plan.systems.iter().map(|system| system.name.clone()).collect();
    Ok(Contribution { addition, left_out, lacks_anchor: anchor.is_some() && anchor_here.is_none(), systems })
}

/// A row of an experiment: its value and interval, or the reason why it has no point.
struct Row {
    name: String,
    system: String,
    benchmark: String,
    case: Point,
    metric: Metric,
    reading: Result<(f64, Option<[f64; 2]>), NoPoint>,
}

/// Why a row has no point.
struct NoPoint {
    reason: String,
    is_of_short_runs: bool,
}

impl From<&str> for NoPoint {
    fn from(reason: &str) -> NoPoint {
        NoPoint { reason: reason.to_owned(), is_of_short_runs: false }
    }
}

impl From<&NoVerdict> for NoPoint {
    fn from(reason: &NoVerdict) -> NoPoint {
        let is_of_short_runs = match reason {
            NoVerdict::TooFewOperations { .. } => true,
            NoVerdict::NotAvailable { missing, .. } => missing.operations_needed().is_some(),
            _ => false,
        };
        NoPoint { reason: reason.reason_text(), is_of_short_runs }
    }
}

/// Makes the rows of every system compared with the anchor.
fn relative_rows(evidence: &Evidence, anchor: &str) -> Result<Vec<Row>, CompareError> {
    let set = compare(evidence, &Options { a: Some(anchor.to_owned()), ..Options::default() })?;
    let rows = set.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    let rows = rows.filter(|(_, row)| row.metric.quantity() != Quantity::Failures);
    Ok(rows
        .map(|(table, row)| Row {
            name: row_name(&table.b, &row.benchmark, &row.case_label(), &row.metric),
            system: table.b.clone(),
            benchmark: row.benchmark.clone(),
            case: row.case.clone(),
            metric: row.metric.clone(),
            reading: relative_reading(row),
        })
        .collect())
}

/// Reads the ratio of a row and its interval, or why it may not be followed.
fn relative_reading(row: &Comparison) -> Result<(f64, Option<[f64; 2]>), NoPoint> {
    if let Some(reason) = row.why_no_verdict().filter(|reason| !is_harmless(reason)) {
        return Err(reason.into());
    }
    if row.a.bound.or(row.b.bound).is_some() {
        return Err(ONLY_A_BOUND.into());
    }
    let estimate = row.estimate.filter(|estimate| estimate.scale == Scale::Ratio);
    let value = estimate.map(|estimate| estimate.ratio).or(row.change.map(|change| change.ratio));
    let interval = estimate.map(|estimate| [estimate.lo, estimate.hi]);
    check_reading(value, interval)
}

/// Whether a row without a verdict still has a ratio that may be followed from night to night.
fn is_harmless(reason: &NoVerdict) -> bool {
    matches!(
        reason,
        NoVerdict::TooFewRounds { .. }
            | NoVerdict::UnequalDurability { .. }
            | NoVerdict::UnderClockStep
            | NoVerdict::NoBetterSide
            | NoVerdict::Diagnostic
    )
}

/// Makes the rows of every system by itself.
fn plain_rows(evidence: &Evidence) -> Result<Vec<Row>, CompareError> {
    let rules = compare(evidence, &Options::default())?.rules;
    let figures = all_figures(evidence, &rules).into_iter();
    let shown =
        figures.filter(|figure| figure.metric.role == Role::Primary && figure.metric.quantity() != Quantity::Failures);
    Ok(shown
        .map(|figure| {
            let reading = match (&figure.no_verdict, figure.side.bound) {
                (Some(reason), _) => Err(reason.into()),
                (None, Some(_)) => Err(ONLY_A_BOUND.into()),
                (None, None) => {
                    let value = figure.side.estimate;
                    let widths = figure.side.half_width.zip(value);
                    let interval = widths.map(|(share, value)| [value / (1.0 + share), value * (1.0 + share)]);
                    check_reading(value, interval)
                }
            };
            Row {
                name: row_name(&figure.side.system, &figure.benchmark, &figure.label, &figure.metric),
                system: figure.side.system,
                benchmark: figure.benchmark,
                case: figure.case,
                metric: figure.metric,
                reading,
            }
        })
        .collect())
}

/// Checks that a value has a logarithm, and drops an interval without bounds.
fn check_reading(value: Option<f64>, interval: Option<[f64; 2]>) -> Result<(f64, Option<[f64; 2]>), NoPoint> {
    let value = value.filter(|value| value.is_finite() && *value > 0.0).ok_or("it has no value above 0")?;
    Ok((value, interval.filter(|ends| ends.iter().all(|end| end.is_finite()))))
}

/// Names a row of an experiment in one line.
fn row_name(system: &str, benchmark: &str, keys: &str, metric: &Metric) -> String {
    let parts = [system, benchmark, keys].into_iter().filter(|part| !part.is_empty());
    parts.map(str::to_owned).chain([metric_name(&metric.id)]).collect::<Vec<_>>().join(", ")
}

/// Makes the key by which a row is found again in the next experiment.
fn series_key(row: &Row, anchor: Option<&str>) -> SeriesKey {
    let direction = match row.metric.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
        Direction::Neither => "neither",
    };
    SeriesKey {
        system: row.system.clone(),
        benchmark: row.benchmark.clone(),
        case_json: serde_json::to_string(&row.case).unwrap_or_default(),
        metric: row.metric.id.clone(),
        unit: row.metric.unit.clone(),
        direction: direction.to_owned(),
        anchor: anchor.map(str::to_owned),
    }
}

/// Makes a digest of what no two experiments share.
fn experiment_id(evidence: &Evidence) -> String {
    let header = &evidence.header;
    let parts = [&header.plan.name, &header.plan_hash, &header.command, &header.etalon_version];
    let mut text = header.created_unix_ms.to_string();
    parts.into_iter().for_each(|part| text.push_str(&format!("\n{part}")));
    digest_of(&text)
}

/// Collects the facts that a row's value depends on: the length of its runs, machine, storage, settings, scripts, and all of it of
/// the anchor, with the anchor's version. The version of the system itself is what is followed, and does not belong to them.
fn mattering_facts(evidence: &Evidence, row: &Row, anchor: Option<&str>) -> (String, String) {
    let plan = &evidence.header.plan;
    let length = match plan.schedule.length_at(&row.case) {
        Length::Duration(duration) => model::duration::format(duration),
        Length::Transactions(count) => format!("{count} transactions"),
    };
    let mut found = BTreeMap::from([
        ("duration of runs".to_owned(), length),
        ("warm-up of runs".to_owned(), model::duration::format(plan.schedule.warmup)),
    ]);
    let mut take = |prefix: &str, facts: &Facts, is_taken: &dyn Fn(&str) -> bool| {
        let lasting = facts.entries.iter().filter(|(name, fact)| fact.nature == Nature::Identity && is_taken(name));
        found.extend(lasting.filter_map(|(name, fact)| Some((format!("{prefix}{name}"), fact.reading.clone().ok()?))));
    };
    let empty = Facts::default();
    take("client ", evidence.facts.get(CLIENT).unwrap_or(&empty), &is_mattering);
    take("", evidence.facts_of(&row.system).unwrap_or(&empty), &is_mattering);
    take("text of ", evidence.facts.get(TEXTS).unwrap_or(&empty), &|_| true);
    if let Some(facts) = anchor.and_then(|anchor| evidence.facts_of(anchor)) {
        take("anchor ", facts, &|name| name == SERVER_VERSION || is_mattering(name));
    }
    for (name, system) in [("engine", Some(row.system.as_str())), ("anchor engine", anchor)] {
        let engine = system.and_then(|system| plan.system(system)).map(|system| system.engine.clone());
        found.extend(engine.map(|engine| (name.to_owned(), engine)));
    }
    let json = serde_json::to_string(&found).unwrap_or_default();
    (digest_of(&json), json)
}

/// Whether a fact of this name cuts a series when it changes.
fn is_mattering(name: &str) -> bool {
    let own = name.strip_prefix("host.").unwrap_or(name);
    own.starts_with(SETTING) || MATTERING.contains(&own)
}

/// Writes the first half of a text's SHA-256 in hexadecimal digits.
fn digest_of(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
