//! The documented, versioned JSON object of a comparison.
//!
//! The schema in `docs/schema/comparison.schema.json` is made of these structs; a test keeps the two equal. Fields are
//! only ever added within a [`SCHEMA_VERSION`].

mod cross_experiment;
mod loads;
mod query_plans;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use self::cross_experiment::Apart;
use self::loads::LoadTried;
use self::query_plans::QueryPlan;
use crate::comparison::{self, ComparisonSet, Family, Table, TimeOrder};
use crate::evidence::Evidence;
use crate::labels::created_rfc3339;
use crate::views::{self, View};

/// Version of the object's shape.
pub const SCHEMA_VERSION: u32 = 2;

/// What `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Document {
    /// Version of this object's shape.
    pub schema_version: u32,
    /// What was found, in plain English: at most three lines, which say no more than the verdicts do.
    pub answer: String,
    /// What was compared, and on what: at most five lines.
    pub compared: Vec<String>,
    /// What was run.
    pub experiment: Experiment,
    /// One entry per metric, case and pair of sides.
    pub comparisons: Vec<Comparison>,
    /// The loads that were tried in search of the highest that keeps a promise; none where no benchmark promises.
    pub loads_tried: Vec<LoadTried>,
    /// What each case gave, if there is a single system and so nothing to compare.
    pub figures: Vec<Figure>,
    /// What each client host did of a load that several made; none where no host has a name.
    pub client_hosts: Vec<ClientHost>,
    /// What the workloads print beside the comparisons: tables, bars, and series, as numbers with their units.
    pub views: Vec<View>,
    /// What went on beside the runs on their machines; it withholds no verdict.
    pub disturbances: Vec<Disturbance>,
    /// If the sides are of experiments that were not run together: which, and what differs between them; else null.
    pub apart: Option<Apart>,
    /// What holds for all of them.
    pub notes: Vec<Note>,
    /// What would help rows that have no verdict, or one that rests on less than it should.
    pub remedies: Vec<Remedy>,
    /// The plans by which each system answered the queries; none where no queries were asked.
    pub query_plans: Vec<QueryPlan>,
    /// The runs that are in no figure.
    pub dropped_runs: Vec<DroppedRun>,
}

/// What would help some rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remedy {
    /// Each by benchmark, case and metric.
    pub rows: Vec<String>,
    /// A sentence without its full stop.
    pub text: String,
    /// To be typed as it stands; null where there is none.
    pub command: Option<String>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Experiment {
    /// Its name in the plan.
    pub name: String,
    /// Hash of the plan.
    pub plan_hash: String,
    /// Version of the étalon that ran it.
    pub etalon_version: String,
    /// `release` or `debug`; figures of a debug build are not comparable.
    pub build: String,
    /// When it was created, RFC 3339 in UTC.
    pub created: String,
    /// The command that created it.
    pub command: String,
    /// Rounds of the plan: how often every case is run.
    pub rounds: u32,
    /// `interleaved`, `sequential`, `unknown`, as of imports whose files do not tell it, or `apart`: the sides are of experiments
    /// of their own.
    pub order: String,
    /// Seed of the order and of every random stream.
    pub seed: u64,
    /// How many runs came to which end.
    pub runs: Runs,
    /// What the comparisons were judged by.
    pub rules: Rules,
    /// The facts in which compared systems differ.
    pub differences: Vec<Difference>,
}

/// How many runs came to which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Runs {
    /// Places in the order.
    pub planned: usize,
    /// Places whose run was measured.
    pub measured: usize,
    /// Places whose last attempt failed.
    pub failed: usize,
    /// Places whose last attempt was aborted.
    pub aborted: usize,
}

/// What the comparisons were judged by.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Rules {
    /// Half width of the zone of equivalence, as a share: 0.03 is 3 %.
    pub margin: f64,
    /// Level of the intervals.
    pub level: f64,
    /// How a side's `estimate` is made of its runs, and `ratio` of both; interval and verdict do not depend on it.
    pub estimator: String,
    /// `paired` (by round) or `unpaired`.
    pub pairing: String,
    /// Fewest rounds that carry a verdict.
    pub min_rounds: u32,
    /// `paired-t`, `welch`, or `lai-sequence`: intervals and p-values that hold at every look of an experiment that was judged after
    /// each round and ended when it was sure.
    pub interval: String,
    /// The fewest rounds of a `lai-sequence`; else null.
    pub first_look: Option<u32>,
    /// How many looks a `lai-sequence` had so far; else null.
    pub looks: Option<u32>,
    /// The rows that were judged together, those that are not printed among them.
    pub families: Vec<JudgedFamily>,
}

/// Rows that were judged together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct JudgedFamily {
    /// `holm` over the primary rows, or `benjamini-hochberg` over those of single queries, and over all others.
    pub adjusted_after: String,
    /// How many rows.
    pub rows: usize,
    /// Their part of the error that the level allows: 0.8 is 4 % of 5 %.
    pub part: f64,
}

/// A fact in which two systems differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Difference {
    /// What A is called.
    pub a: String,
    /// What B is called.
    pub b: String,
    /// The fact's name.
    pub fact: String,
    /// Its value on A; null if it is not known.
    pub a_value: Option<String>,
    /// Its value on B; null if it is not known.
    pub b_value: Option<String>,
}

/// A value of a key of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CaseValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Anything else.
    Text(String),
}

/// One metric of one case, A against B.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Comparison {
    /// The benchmark.
    pub benchmark: String,
    /// The keys that all runs of both sides share.
    pub case: BTreeMap<String, CaseValue>,
    /// The metric.
    pub metric: String,
    /// The unit of every figure of `a` and `b`; empty for a plain number.
    pub unit: String,
    /// `higher`, `lower` or `neither`.
    pub better: String,
    /// `primary`, `secondary` or `diagnostic`.
    pub role: String,
    /// The baseline.
    pub a: Side,
    /// The other side.
    pub b: Side,
    /// B / A; null if there is none.
    pub ratio: Option<f64>,
    /// The interval of the ratio; null before the experiment's end.
    pub interval: Option<[f64; 2]>,
    /// B - A in points of percent, for shares of operations that failed, which may be none and then have no ratio; else
    /// null.
    pub difference: Option<f64>,
    /// The interval of the difference; null before the experiment's end.
    pub difference_interval: Option<[f64; 2]>,
    /// What did not succeed of the operations that this is about, where the sides differ in it; else null.
    pub failed: Option<Failed>,
    /// The level of the interval.
    pub level: f64,
    /// Two-sided p without a normal assumption: sign-flip permutation over rounds, or Mann-Whitney for unpaired data; null of a
    /// `lai-sequence`.
    pub p: Option<f64>,
    /// Two-sided p of the t test: paired, or Welch's for unpaired data; of a `lai-sequence` the least of all looks.
    pub p_t: Option<f64>,
    /// `p_adjusted` after `holm`. Null for other rows.
    pub p_holm: Option<f64>,
    /// `p_t` adjusted over the rows that are judged together, and for their part of the error; the verdict rests on it. Null for
    /// rows that are not judged.
    pub p_adjusted: Option<f64>,
    /// How it was adjusted: `holm` over the primary rows, `benjamini-hochberg` over those of single queries, and over all others. Null for
    /// rows that are not judged.
    pub adjusted_after: Option<String>,
    /// The interval of the ratio by the bootstrap over rounds.
    pub bootstrap_interval: Option<[f64; 2]>,
    /// Rounds with both sides.
    pub rounds: u32,
    /// The smallest difference that so many rounds find with 80 % power, as a share.
    pub detectable: Option<f64>,
    /// `faster`, `slower`, `equivalent`, `inconclusive` (of B against A), or null. Of what is no time and no rate, too, B is
    /// `faster` where it is better: reports call that smaller, larger, less or more, as of what a capacity costs.
    pub verdict: Option<String>,
    /// Why there is no verdict.
    pub no_verdict: Option<String>,
    /// Of sides that were measured apart: `higher`, `lower`, `alike` or `inconclusive` (of B against A, by the values), which is
    /// no verdict on the systems; else null.
    pub apart: Option<String>,
    /// Whether both sides answered the row's query by different plans, which are in `query_plans`; null where that is not known.
    pub plan_differs: Option<bool>,
    /// Rounds to add: to the minimum, or until it is expected to be settled.
    pub rounds_needed: Option<u32>,
    /// What a reader should know before relying on it.
    pub warnings: Vec<Warning>,
}

/// The shares of operations that did not succeed, each from 0 to 1; null of a side that does not tell its own.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Failed {
    /// Of A.
    pub a: Option<f64>,
    /// Of B.
    pub b: Option<f64>,
}

/// One side of a comparison. Figures are null if no run has a value, and those of a single system or of a client host if some
/// run of the case has none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Side {
    /// The system.
    pub system: String,
    /// The side's value of the compared key; the system, unless another key is compared.
    pub label: String,
    /// Runs with a value, also of rounds in which the other side has none: these, `mean` to `max` and `values` are of all of them.
    pub n: usize,
    /// The side's figure: of the runs that `ratio` compares (`rounds` of them where it is paired), by the rules' estimator, so that B's over A's is `ratio`.
    pub estimate: Option<f64>,
    /// What the figure of a capacity is if it is a bound; else null.
    pub bound: Option<comparison::Bound>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Mean without the lowest and the highest.
    pub trimmed_mean: Option<f64>,
    /// Lowest.
    pub min: Option<f64>,
    /// Highest.
    pub max: Option<f64>,
    /// Half the interval of the geometric mean of the same runs, as a share of it: from the figure divided by 1 + it to the
    /// figure times 1 + it.
    pub half_width: Option<f64>,
    /// The runs' values, in run order.
    pub values: Vec<f64>,
    /// Why runs have no value.
    pub unavailable: Vec<Unavailable>,
}

/// Why runs have no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Unavailable {
    /// `wrong` answers, what is `unsupported` or `failed`, or what is `unavailable` for another reason.
    pub kind: &'static str,
    /// Why.
    pub reason: String,
    /// How many runs say so.
    pub runs: usize,
}

/// What a reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Warning {
    /// What it is: `drift`, `bimodal`, `client-saturated`, ...
    pub kind: String,
    /// `a` or `b`, if it is about one side.
    pub side: Option<String>,
    /// In words, with the evidence.
    pub text: String,
}

/// What went on beside the runs, on the machines that they ran on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Disturbance {
    /// The mark of the runs: `other-clients`, `machine-busy`, `machine-steal`, `machine-throttled`, `machine-power`, `machine-memory` or
    /// `machine-jobs`.
    pub kind: String,
    /// What the run that had most of it says.
    pub worst: String,
    /// Runs that carry the mark.
    pub runs: usize,
    /// Measured runs.
    pub of: usize,
    /// Agents on whose machines it was; none if étalon's own is the only one.
    pub hosts: Vec<String>,
    /// Pairs of sides of which one had more of it, which biases their comparison.
    pub unequal: Vec<UnequalDisturbance>,
    /// In words.
    pub text: String,
}

/// One side had more of a disturbance than the other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UnequalDisturbance {
    /// What A is called.
    pub a: String,
    /// What B is called.
    pub b: String,
    /// Mean over A's runs: the share of all processors' time for `machine-busy` and `machine-steal`, else of the runs that
    /// carry the mark.
    pub a_mean: f64,
    /// Mean over B's runs.
    pub b_mean: f64,
}

/// What holds for all comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Note {
    /// What it is: `debug-build`, `same-server`, ...
    pub kind: String,
    /// In words.
    pub text: String,
}

/// A run that is in no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DroppedRun {
    /// Its place in the order, from 0.
    pub position: u32,
    /// Its round, from 0.
    pub round: u32,
    /// Its case in words.
    pub case: String,
    /// `failed`, `aborted`, or `superseded`: measured, and measured again since.
    pub state: String,
    /// Why.
    pub reason: String,
    /// Whether another attempt at its place was measured.
    pub repeated: bool,
}

/// What one case of a single system gave for one metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Figure {
    /// The benchmark's name in the plan.
    pub benchmark: String,
    /// The workload's keys with their values.
    pub case: BTreeMap<String, CaseValue>,
    /// The metric.
    pub metric: String,
    /// Its unit; empty for a plain count.
    pub unit: String,
    /// The figures.
    pub side: Side,
    /// The marks of the case's runs, beside its first metric; none beside the others.
    pub warnings: Vec<Warning>,
}

/// What one client host did of a load that several made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClientHost {
    /// The benchmark, with what tells its cases from others of it.
    pub benchmark: String,
    /// The system.
    pub system: String,
    /// The host's name.
    pub host: String,
    /// Its 99th percentile over that of the middle host, both by the rules' estimator; null if it is the only one.
    pub p99_of_middle: Option<f64>,
    /// Whether it is so far behind the middle one that it shapes the whole load's slow end.
    pub is_slow: bool,
    /// What its runs gave.
    pub figures: Vec<HostFigure>,
}

/// One metric of a client host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostFigure {
    /// The metric.
    pub metric: String,
    /// Its unit; empty for a plain count.
    pub unit: String,
    /// The figures.
    pub side: Side,
}

/// Makes the JSON object of a comparison set.
pub fn make_document(evidence: &Evidence, set: &ComparisonSet) -> Document {
    Document {
        schema_version: SCHEMA_VERSION,
        answer: set.answer.clone(),
        compared: set.compared.clone(),
        experiment: experiment_object(evidence, set),
        comparisons: set.rows().map(|row| comparison_object(row, set)).collect(),
        loads_tried: loads::loads_tried(evidence),
        figures: set.figures.iter().map(figure_object).collect(),
        client_hosts: set.hosts.iter().flat_map(client_host_objects).collect(),
        views: views::all_views(evidence, set),
        disturbances: set.disturbances.iter().map(disturbance_object).collect(),
        apart: set.apart.as_ref().map(Apart::new),
        notes: set
            .notes
            .iter()
            .map(|note| Note { kind: note.kind.as_str().to_owned(), text: note.text.clone() })
            .collect(),
        remedies: set
            .remedies
            .iter()
            .map(|line| Remedy { rows: line.rows.clone(), text: line.text.clone(), command: line.command.clone() })
            .collect(),
        query_plans: query_plans::query_plan_objects(evidence),
        dropped_runs: set.dropped.iter().map(dropped_run_object).collect(),
    }
}

/// Makes the JSON Schema of [`Document`], as it is checked in.
pub fn document_schema() -> serde_json::Value {
    schemars::schema_for!(Document).to_value()
}

fn experiment_object(evidence: &Evidence, set: &ComparisonSet) -> Experiment {
    let header = &evidence.header;
    Experiment {
        name: header.plan.name.clone(),
        plan_hash: header.plan_hash.clone(),
        etalon_version: header.etalon_version.clone(),
        build: header.build.clone(),
        created: created_rfc3339(evidence),
        command: header.command.clone(),
        rounds: set.rounds,
        order: match set.rules.order {
            TimeOrder::Interleaved => "interleaved".to_owned(),
            TimeOrder::Sequential | TimeOrder::SequentialAllowed => "sequential".to_owned(),
            TimeOrder::Unknown => "unknown".to_owned(),
            TimeOrder::Apart => "apart".to_owned(),
        },
        seed: header.plan.schedule.seed,
        runs: Runs {
            planned: set.counts.planned,
            measured: set.counts.measured,
            failed: set.counts.failed,
            aborted: set.counts.aborted,
        },
        rules: Rules {
            margin: set.rules.margin,
            level: set.rules.level,
            estimator: set.rules.estimator.as_str().to_owned(),
            pairing: set.rules.pairing.as_str().to_owned(),
            min_rounds: set.rules.min_rounds,
            interval: set.rules.interval_method().to_owned(),
            first_look: set.rules.sequence.map(|sequence| sequence.first_look()),
            looks: set.rules.looks,
            families: family_objects(set),
        },
        differences: difference_objects(&set.tables),
    }
}

fn family_objects(set: &ComparisonSet) -> Vec<JudgedFamily> {
    Family::ALL
        .map(|family| JudgedFamily {
            adjusted_after: family.method_name().to_owned(),
            rows: set.families.row_count(family),
            part: set.families.error_part(family),
        })
        .into_iter()
        .filter(|family| family.rows > 0)
        .collect()
}

/// Lists the facts in which each pair of systems differs, each pair once.
fn difference_objects(tables: &[Table]) -> Vec<Difference> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut all = Vec::new();
    for table in tables {
        let pair = (table.a.as_str(), table.b.as_str());
        if pairs.contains(&pair) {
            continue;
        }
        pairs.push(pair);
        all.extend(table.differences.iter().map(|difference| Difference {
            a: table.a.clone(),
            b: table.b.clone(),
            fact: difference.name.clone(),
            a_value: difference.a.clone(),
            b_value: difference.b.clone(),
        }));
    }
    all
}

fn comparison_object(row: &comparison::Comparison, set: &ComparisonSet) -> Comparison {
    let estimate = row.estimate.as_ref();
    let adjusted = estimate.and_then(|e| e.adjusted);
    let family = row.family;
    let ratio = row.ratio_estimate();
    let points = estimate.filter(|estimate| estimate.scale == comparison::Scale::Points);
    Comparison {
        benchmark: row.benchmark.clone(),
        case: row.case.iter().map(|(key, value)| (key.clone(), case_value(value))).collect(),
        metric: row.metric.id.clone(),
        unit: row.metric.unit.clone(),
        better: direction_word(row.metric.direction).to_owned(),
        role: role_word(row.metric.role).to_owned(),
        a: side_object(&row.a),
        b: side_object(&row.b),
        ratio: change_on_scale(row, comparison::Scale::Ratio).filter(|ratio| ratio.is_finite()),
        interval: ratio.and_then(|e| finite_pair(e.lo, e.hi)),
        difference: change_on_scale(row, comparison::Scale::Points).map(|ratio| ratio.ln() * 100.0),
        difference_interval: points.and_then(|e| finite_pair(e.lo.ln() * 100.0, e.hi.ln() * 100.0)),
        failed: row.failures.map(|of| Failed { a: of.a, b: of.b }),
        level: set.rules.level,
        p: estimate.and_then(|e| e.p),
        p_t: estimate.map(|e| e.p_t),
        p_holm: if family == Family::Primary { adjusted } else { None },
        p_adjusted: adjusted,
        adjusted_after: adjusted.map(|_| family.method_name().to_owned()),
        bootstrap_interval: ratio.and_then(|e| e.bootstrap).and_then(|(lo, hi)| finite_pair(lo, hi)),
        rounds: row.change.map_or(0, |point| point.rounds),
        detectable: estimate.and_then(|e| e.detectable).filter(|share| share.is_finite()),
        verdict: row.verdict().map(|verdict| verdict.as_str().to_owned()),
        no_verdict: row.why_no_verdict().map(comparison::NoVerdict::reason_text),
        apart: row.cross_finding().map(|found| found.as_str().to_owned()),
        plan_differs: row.plan_differs,
        rounds_needed: row.rounds_needed,
        warnings: row.warnings.iter().map(warning_object).collect(),
    }
}

fn change_on_scale(row: &comparison::Comparison, scale: comparison::Scale) -> Option<f64> {
    row.change.filter(|point| point.scale == scale).map(|point| point.ratio)
}

fn finite_pair(lo: f64, hi: f64) -> Option<[f64; 2]> {
    (lo.is_finite() && hi.is_finite()).then_some([lo, hi])
}

fn case_value(value: &model::Value) -> CaseValue {
    match value {
        model::Value::Bool(b) => CaseValue::Bool(*b),
        model::Value::Int(n) => CaseValue::Int(*n),
        model::Value::Float(x) => CaseValue::Float(*x),
        model::Value::Text(s) => CaseValue::Text(s.clone()),
    }
}

/// The word for a direction in JSON.
pub(crate) fn direction_word(direction: model::Direction) -> &'static str {
    match direction {
        model::Direction::Higher => "higher",
        model::Direction::Lower => "lower",
        model::Direction::Neither => "neither",
    }
}

/// The word for a metric's role in JSON.
pub(crate) fn role_word(role: model::Role) -> &'static str {
    match role {
        model::Role::Primary => "primary",
        model::Role::Secondary => "secondary",
        model::Role::Diagnostic => "diagnostic",
    }
}

fn figure_object(figure: &comparison::Figure) -> Figure {
    Figure {
        benchmark: figure.benchmark.clone(),
        case: figure.case.iter().map(|(key, value)| (key.clone(), case_value(value))).collect(),
        metric: figure.metric.id.clone(),
        unit: figure.metric.unit.clone(),
        side: side_object(&figure.side),
        warnings: figure.warnings.iter().map(warning_object).collect(),
    }
}

fn client_host_objects(group: &comparison::HostsGroup) -> impl Iterator<Item = ClientHost> {
    group.rows.iter().map(|row| ClientHost {
        benchmark: group.label.clone(),
        system: group.system.clone(),
        host: row.host.clone(),
        p99_of_middle: row.of_middle,
        is_slow: row.is_slow(),
        figures: row
            .figures
            .iter()
            .map(|(metric, host)| HostFigure {
                metric: metric.id.clone(),
                unit: metric.unit.clone(),
                side: side_object(host),
            })
            .collect(),
    })
}

fn side_object(side: &comparison::Side) -> Side {
    let summary = side.summary.as_ref();
    Side {
        system: side.system.clone(),
        label: side.label.clone(),
        n: side.runs.len(),
        estimate: side.estimate,
        bound: side.bound,
        mean: summary.map(|s| s.mean),
        median: summary.map(|s| s.median),
        trimmed_mean: summary.and_then(|s| s.trimmed_mean),
        min: summary.map(|s| s.min),
        max: summary.map(|s| s.max),
        half_width: side.half_width,
        values: side.runs.iter().map(|point| point.value).collect(),
        unavailable: side
            .unavailable
            .iter()
            .map(|(why, runs)| Unavailable { kind: why.kind.as_str(), reason: why.to_string(), runs: *runs })
            .collect(),
    }
}

fn disturbance_object(found: &comparison::Disturbance) -> Disturbance {
    Disturbance {
        kind: found.kind.as_str().to_owned(),
        worst: found.worst.clone(),
        runs: found.runs,
        of: found.of,
        hosts: found.hosts.clone(),
        unequal: found
            .unequal
            .iter()
            .map(|pair| {
                let [a, b] = pair.sides.clone();
                UnequalDisturbance { a, b, a_mean: pair.means.a, b_mean: pair.means.b }
            })
            .collect(),
        text: found.note_text(),
    }
}

fn warning_object(warning: &comparison::Warning) -> Warning {
    Warning {
        kind: warning.as_str().to_owned(),
        side: warning.side().map(|side| side.as_str().to_lowercase()),
        text: warning.text(),
    }
}

fn dropped_run_object(run: &comparison::DroppedRun) -> DroppedRun {
    DroppedRun {
        position: run.position,
        round: run.round,
        case: run.case.clone(),
        state: run.state.as_str().to_owned(),
        reason: run.reason.clone(),
        repeated: run.repeated,
    }
}
