//! All comparisons of an experiment: which sides, which tables, and what holds for all of them.

use model::facts::Difference;
use model::metric::FAILED_SHARE;
use model::{Order, TrialState};
use stats::Estimator;
use store::StoredTrial;

use super::builder::Builder;
use super::clients::{self, ClientsGroup};
use super::disk::{self, DiskGroup};
use super::failures;
use super::families::{self, Families};
use super::figures::{Figure, figures};
use super::hosts::{self, HostsGroup};
use super::judging::Index;
use super::notes::notes;
use super::options::{CompareError, MetricFilter, Options, Pairing, is_named};
use super::projection::{KEY_SYSTEM, Projection, side_label};
use super::row::Comparison;
use super::steadiness;
use crate::evidence::{Evidence, IMPORTED, TrialCounts};

/// What all rows of a set were judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Half width of the zone of equivalence, as a share.
    pub margin: f64,
    /// Level of the intervals.
    pub level: f64,
    /// How a side's figure is made of its trials.
    pub estimator: Estimator,
    /// How the sides are matched.
    pub pairing: Pairing,
    /// When they ran. Blocks of a sequential order are no stretches of time, so nothing is paired by them.
    pub order: TimeOrder,
    /// Fewest blocks that carry a verdict.
    pub min_blocks: u32,
}

/// What is known of when the trials of the two sides ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOrder {
    /// They took turns.
    Interleaved,
    /// One side's after the other's: no verdict.
    Sequential,
    /// The same, and the plan allows verdicts.
    SequentialAllowed,
    /// Nobody tells, as of what was imported.
    Unknown,
}

impl TimeOrder {
    /// The order of an experiment whose sides are asked to be matched in this way: who imports results without blocks asks
    /// for no pairing, since the order of the plan then stands for no order at all.
    fn of(evidence: &Evidence, asked: Pairing) -> TimeOrder {
        let plan = &evidence.header.plan;
        match (plan.schedule.order, asked) {
            (Order::Interleaved, _) => TimeOrder::Interleaved,
            (Order::Sequential, Pairing::Unpaired) if evidence.header.build == IMPORTED => TimeOrder::Unknown,
            (Order::Sequential, _) if plan.comparison.allow_sequential_order => TimeOrder::SequentialAllowed,
            (Order::Sequential, _) => TimeOrder::Sequential,
        }
    }
}

/// A benchmark of which no trial was measured, so that it has no rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    /// Which one, as the plan names it.
    pub benchmark: String,
    /// Trials of it that failed on another side than the baseline.
    pub failed: usize,
    /// Why the first of its trials was not measured.
    pub reason: String,
}

/// A table: the rows of one benchmark, A against one B.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What tells this table from the others, such as the benchmark: key and value.
    pub title: Vec<(String, String)>,
    /// The key that is compared: `system`.
    pub compared: String,
    /// What A is called.
    pub a: String,
    /// What B is called.
    pub b: String,
    /// The rows; those of one cell stand together.
    pub rows: Vec<Comparison>,
    /// The facts in which the two systems differ.
    pub differences: Vec<Difference>,
}

/// A trial that is in no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedTrial {
    /// Its identity in the store.
    pub trial: i64,
    /// Its place in the order.
    pub position: u32,
    /// Its block.
    pub block: u32,
    /// Its cell in words.
    pub cell: String,
    /// Failed, aborted, or superseded.
    pub state: TrialState,
    /// Why.
    pub reason: String,
    /// Whether another attempt at its place was measured.
    pub repeated: bool,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The figures are of a debug build.
    DebugBuild,
    /// The trials were not interleaved.
    SequentialOrder,
    /// Trials are missing: running, planned or dropped.
    Incomplete,
    /// Both sides are one server.
    SameServer,
    /// The sides promise different things at commit.
    UnequalDurability,
    /// Something asked for has no result.
    Missing,
    /// A licence does not let everybody publish what was measured.
    Publication,
    /// Étalon itself has not met the real engine.
    Untried,
    /// The disk is one of a virtual machine.
    VirtualDisk,
}

impl NoteKind {
    /// The kind in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::DebugBuild => "debug-build",
            NoteKind::SequentialOrder => "sequential-order",
            NoteKind::Incomplete => "incomplete",
            NoteKind::SameServer => "same-server",
            NoteKind::UnequalDurability => "unequal-durability",
            NoteKind::Missing => "missing",
            NoteKind::Publication => "publication",
            NoteKind::Untried => "untried",
            NoteKind::VirtualDisk => "virtual-disk",
        }
    }
}

/// Something that holds for the whole set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// In words, a whole sentence without its full stop.
    pub text: String,
}

/// All comparisons of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonSet {
    /// What the rows were judged by.
    pub rules: Rules,
    /// How many rows were judged together, those that are not shown among them.
    pub families: Families,
    /// The tables.
    pub tables: Vec<Table>,
    /// Benchmarks without any row, since none of their trials was measured.
    pub unmeasured: Vec<Unmeasured>,
    /// What each cell of a single system gave; empty if there are systems to compare.
    pub figures: Vec<Figure>,
    /// Cells of disks by their groups, over the depths; empty if there are none.
    pub disk: Vec<DiskGroup>,
    /// Cells over their numbers of clients; empty if a benchmark has one number only.
    pub clients: Vec<ClientsGroup>,
    /// What each client host did; empty if the load was made by étalon's own process.
    pub hosts: Vec<HostsGroup>,
    /// How many trials came to which end.
    pub counts: TrialCounts,
    /// Blocks of the plan.
    pub blocks: u32,
    /// The order of the plan.
    pub order: Order,
    /// Trials that are in no figure.
    pub dropped: Vec<DroppedTrial>,
    /// What holds for all rows.
    pub notes: Vec<Note>,
}

impl ComparisonSet {
    /// Every row of every table.
    pub fn rows(&self) -> impl Iterator<Item = &Comparison> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The trials that are in no figure and that no other attempt stands for.
    pub fn lost(&self) -> usize {
        self.dropped.iter().filter(|dropped| !dropped.repeated).count()
    }

    /// The first of the dropped trials that have the same to say, and how many more of them there are.
    pub fn dropped_by_reason(&self) -> Vec<(&DroppedTrial, usize)> {
        let mut found: Vec<(&DroppedTrial, usize)> = Vec::new();
        for trial in &self.dropped {
            let is_same = |first: &DroppedTrial| {
                (first.state, first.repeated, &first.reason) == (trial.state, trial.repeated, &trial.reason)
            };
            match found.iter_mut().find(|(first, _)| is_same(first)) {
                Some((_, more)) => *more += 1,
                None => found.push((trial, 0)),
            }
        }
        found
    }
}

/// Compares what the options ask for.
///
/// # Errors
/// When the options name what the experiment does not have, or cannot be satisfied. An experiment in which nothing was
/// measured is no error: its rows say so.
pub fn compare(evidence: &Evidence, options: &Options) -> Result<ComparisonSet, CompareError> {
    let plan = &evidence.header.plan;
    let rules = Rules {
        margin: options.margin.unwrap_or(plan.comparison.margin),
        level: options.level.unwrap_or(plan.comparison.level),
        estimator: options.estimator,
        pairing: match plan.schedule.order {
            Order::Interleaved => options.pairing,
            Order::Sequential => Pairing::Unpaired,
        },
        order: TimeOrder::of(evidence, options.pairing),
        min_blocks: options.min_blocks,
    };
    Options::check(rules.margin, rules.level)?;
    let projection = Projection::new(&evidence.cells, options)?;
    let index = Index::new(evidence);
    check_metrics(&index, &options.metrics)?;
    let dropped = dropped_trials(evidence);
    let (baseline, others) = sides(evidence, &projection, options)?;
    let builder = Builder::new(evidence, &index, &projection, rules);
    let mut tables: Vec<Table> = others.iter().flat_map(|b| builder.tables(&baseline, b)).collect();
    failures::drop_empty(&mut tables, &options.metrics);
    let families = judge_tables(&mut tables, &rules);
    filter_metrics(&mut tables, &options.metrics);
    let figures = if others.is_empty() { figures(evidence, &index, &options.metrics, &rules) } else { Vec::new() };
    let notes = notes(evidence, &tables, rules.order);
    let unmeasured = unmeasured(evidence, &index, &projection, &baseline);
    // Unless systems are compared, all of them are looked at.
    let of_systems = projection.cols == [KEY_SYSTEM];
    let looked_at: Vec<String> =
        if of_systems { others.iter().chain([&baseline]).cloned().collect() } else { Vec::new() };
    let disk = disk::groups(evidence, &index, &looked_at, &rules);
    let clients = clients::groups(evidence, &index, &looked_at, &rules);
    let hosts = hosts::groups(evidence, &index, &looked_at, &rules);
    Ok(ComparisonSet {
        rules,
        families,
        tables,
        unmeasured,
        figures,
        disk,
        clients,
        hosts,
        counts: evidence.counts(),
        blocks: plan.schedule.blocks,
        order: plan.schedule.order,
        dropped,
        notes,
    })
}

/// All rows of all tables are judged, shown or not: who looks at one metric only has not asked fewer questions of the
/// experiment.
fn judge_tables(tables: &mut [Table], rules: &Rules) -> Families {
    let mut rows: Vec<&mut Comparison> = tables.iter_mut().flat_map(|table| &mut table.rows).collect();
    steadiness::warn(&mut rows, rules);
    families::judge(&mut rows, rules)
}

fn unmeasured(evidence: &Evidence, index: &Index, projection: &Projection, baseline: &str) -> Vec<Unmeasured> {
    let last = evidence.last_attempts();
    let without = evidence.header.plan.benchmarks.iter().filter(|own| !index.metrics.contains_key(&own.name));
    let of = |name: &str| {
        let cell = |trial: &&StoredTrial| evidence.cell(trial.planned.cell).filter(|cell| cell.benchmark == name);
        let failed = |trial: &&&StoredTrial| {
            let of_other = cell(trial).is_some_and(|cell| side_label(cell, &projection.cols) != baseline);
            of_other && trial.state == TrialState::Failed
        };
        let reason = last.iter().filter(|trial| cell(trial).is_some()).find_map(|trial| trial.reason.clone());
        Unmeasured {
            benchmark: name.to_owned(),
            failed: last.iter().filter(failed).count(),
            reason: reason.unwrap_or_else(|| "no trial was run".to_owned()),
        }
    };
    without.map(|own| of(&own.name)).collect()
}

fn check_metrics(index: &Index, filter: &MetricFilter) -> Result<(), CompareError> {
    let MetricFilter::Named(names) = filter else { return Ok(()) };
    let mut known: Vec<String> = index.metrics.values().flatten().map(|metric| metric.id.clone()).collect();
    known.sort();
    known.dedup();
    match names.iter().find(|name| !known.iter().any(|id| is_named(id, name))) {
        Some(metric) => Err(CompareError::UnknownMetric { metric: metric.clone(), known }),
        None => Ok(()),
    }
}

/// Keeps what was asked for; and what failed, which nobody who looks at one metric may miss.
fn filter_metrics(tables: &mut Vec<Table>, filter: &MetricFilter) {
    for table in tables.iter_mut() {
        table.rows.retain(|row| filter.shows(&row.metric) || row.metric.id == FAILED_SHARE);
    }
    tables.retain(|table| !table.rows.is_empty());
}

/// The baseline and what is compared with it.
fn sides(
    evidence: &Evidence,
    projection: &Projection,
    options: &Options,
) -> Result<(String, Vec<String>), CompareError> {
    let mut known: Vec<String> = Vec::new();
    for cell in &evidence.cells {
        let label = side_label(cell, &projection.cols);
        if !known.contains(&label) {
            known.push(label);
        }
    }
    let key = projection.cols.join(", ");
    let find = |value: &String| match known.contains(value) {
        true => Ok(value.clone()),
        false => Err(CompareError::UnknownValue { key: key.clone(), value: value.clone(), known: known.clone() }),
    };
    let planned = &evidence.header.plan.comparison.baseline;
    let a = match (&options.a, known.first()) {
        (Some(a), _) => find(a)?,
        (None, _) if known.contains(planned) => planned.clone(),
        (None, Some(first)) => first.clone(),
        (None, None) => return Err(CompareError::OneValue { key, value: "-".to_owned() }),
    };
    let alone = known.len() == 1 && options.cols.is_none() && options.a.is_none() && options.b.is_none();
    let others: Vec<String> = match &options.b {
        Some(b) if *b == a => return Err(CompareError::SameSide(a)),
        Some(b) => vec![find(b)?],
        None => known.into_iter().filter(|value| *value != a).collect(),
    };
    if others.is_empty() && !alone {
        return Err(CompareError::OneValue { key, value: a });
    }
    Ok((a, others))
}

/// The attempts that are in no figure.
fn dropped_trials(evidence: &Evidence) -> Vec<DroppedTrial> {
    let measured: Vec<u32> = evidence
        .trials
        .iter()
        .filter(|trial| trial.state == TrialState::Measured)
        .map(|trial| trial.planned.position)
        .collect();
    let is_dropped = |state| matches!(state, TrialState::Failed | TrialState::Aborted | TrialState::Superseded);
    let ended = evidence.trials.iter().filter(|trial| is_dropped(trial.state));
    ended
        .map(|trial| DroppedTrial {
            trial: trial.id,
            position: trial.planned.position,
            block: trial.planned.block,
            cell: evidence
                .cell(trial.planned.cell)
                .map_or_else(String::new, |cell| cell.label(&evidence.header.plan.varying_keys(&cell.benchmark))),
            state: trial.state,
            reason: trial.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
            repeated: measured.contains(&trial.planned.position),
        })
        .collect()
}
