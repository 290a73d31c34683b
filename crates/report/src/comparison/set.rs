//! All comparisons of an experiment.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use model::facts::Difference;
use model::metric::FAILED_SHARE;
use model::{Begun, Metric, Order, Promise, Role, RunState, Standing, Stop};
use stats::Estimator;
use store::StoredRun;

use super::builder::{Builder, RowUse};
use super::clients;
use super::compared;
use super::curves::CurveGroup;
use super::disk;
use super::disturbance::{Disturbance, list_disturbances};
use super::failures;
use super::families::{self, Families};
use super::figures::{Figure, case_figures};
use super::hosts::{self, HostsGroup};
use super::judging::Index;
use super::note::{Note, NoteKind};
use super::notes::{all_notes, default_keys, list_promises};
use super::options::{CompareError, MetricFilter, Options, Pairing, is_named, is_quantile_of};
use super::projection::{KEY_SYSTEM, Projection, side_label};
use super::remedy::{RemedyLine, list_remedies};
use super::row::{Comparison, SideLetter};
use super::steadiness;
use crate::cross_experiment::CrossExperiment;
use crate::evidence::{Evidence, IMPORTED, RunCounts, Unfinished};
use crate::look;
use crate::lookup::Lookup;
use crate::number::count_noun;

/// What all rows of a set were judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    pub margin: f64,
    pub level: f64,
    pub estimator: Estimator,
    pub pairing: Pairing,
    /// Rounds of a sequential order are not paired.
    pub order: TimeOrder,
    pub min_rounds: u32,
    /// What the intervals hold at, in an experiment that is judged after each round.
    pub sequence: Option<stats::Sequence>,
    /// How often it has looked: after each whole round from the first look on.
    pub looks: Option<u32>,
    /// What the plan was started with, where rounds were added later.
    pub begun: Option<Begun>,
    /// No interval and no verdict is given before the end.
    pub unfinished: Option<Unfinished>,
    pub unequal_durability: AllowedBy,
    pub sequential_order: AllowedBy,
    pub different_rows: AllowedBy,
}

/// What allows verdicts that are otherwise refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedBy {
    Nothing,
    Plan,
    CommandLine,
}

impl AllowedBy {
    /// Says what allows a verdict: the plan, else the command line, else nothing.
    fn from_plan_or_options(plan: bool, command_line: bool) -> AllowedBy {
        match (plan, command_line) {
            (true, _) => AllowedBy::Plan,
            (false, true) => AllowedBy::CommandLine,
            (false, false) => AllowedBy::Nothing,
        }
    }

    /// The reason as a clause after "because".
    pub fn because_clause(self) -> &'static str {
        if self == AllowedBy::CommandLine { "the command line allows it" } else { "the plan allows it" }
    }
}

impl Rules {
    /// Makes the rules for an experiment from its plan and the options.
    fn for_evidence(evidence: &Evidence, options: &Options) -> Rules {
        let plan = &evidence.header.plan;
        let allowed = &plan.comparison;
        let sequential_order =
            AllowedBy::from_plan_or_options(allowed.allow_sequential_order, options.allow_sequential_order);
        let level = options.level.unwrap_or(plan.comparison.level);
        let pairing = match plan.schedule.order {
            Order::Interleaved => options.pairing,
            Order::Sequential => Pairing::Unpaired,
        };
        let is_looked_at = pairing == Pairing::Paired && evidence.is_judged_after_each_round();
        let looks = if is_looked_at { plan.schedule.until_sure } else { None };
        let unfinished = evidence.progress_if_unfinished();
        let whole =
            unfinished.map_or(evidence.round_count(), |found| u32::try_from(found.ended).unwrap_or(u32::MAX - 1));
        Rules {
            margin: options.margin.unwrap_or(plan.comparison.margin),
            level,
            estimator: options.estimator,
            pairing,
            order: TimeOrder::for_evidence(evidence, options.pairing, sequential_order),
            min_rounds: options.min_rounds,
            sequence: looks.and_then(|until| stats::Sequence::new(level, until.first).ok()),
            looks: looks.map(|until| (whole + 1).saturating_sub(until.first)),
            begun: looks.and_then(|until| until.begun).filter(|begun| begun.rounds < plan.schedule.rounds),
            unfinished,
            unequal_durability: AllowedBy::from_plan_or_options(
                allowed.allow_unequal_durability,
                options.allow_unequal_durability,
            ),
            sequential_order,
            different_rows: AllowedBy::from_plan_or_options(allowed.allow_different_rows, options.allow_different_rows),
        }
    }

    /// The progress of an experiment that may not be judged yet; `None` for a sequence, where every look is as good as the last.
    pub(crate) fn unjudgeable_yet(&self) -> Option<Unfinished> {
        if self.sequence.is_none() { self.unfinished } else { None }
    }

    /// The name, as in JSON, of the method that makes intervals.
    pub fn interval_method(&self) -> &'static str {
        match (self.pairing, self.sequence) {
            (Pairing::Unpaired, _) => "welch",
            (Pairing::Paired, None) => "paired-t",
            (Pairing::Paired, Some(_)) => "lai-sequence",
        }
    }

    /// Puts these rules into the options of another comparison.
    pub fn options_with_rules(&self, to: Options) -> Options {
        Options {
            margin: Some(self.margin),
            level: Some(self.level),
            pairing: match self.order {
                TimeOrder::Interleaved | TimeOrder::Unknown | TimeOrder::Apart => self.pairing,
                // Requested, and refused.
                TimeOrder::Sequential | TimeOrder::SequentialAllowed => Pairing::Paired,
            },
            min_rounds: self.min_rounds,
            allow_unequal_durability: self.unequal_durability == AllowedBy::CommandLine,
            allow_sequential_order: self.sequential_order == AllowedBy::CommandLine,
            allow_different_rows: self.different_rows == AllowedBy::CommandLine,
            ..to
        }
    }
}

/// What is known of when the runs of the two sides ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOrder {
    Interleaved,
    /// One side after the other: no verdict.
    Sequential,
    /// One side after the other, and the plan allows verdicts.
    SequentialAllowed,
    /// The order is unknown, as in imports.
    Unknown,
    /// The sides ran in experiments of their own, so there is no verdict.
    Apart,
}

impl TimeOrder {
    /// Finds what is known of the order in which the sides ran, and whether that is allowed.
    /// A request for unpaired comparison (imports without rounds) overrides the plan's order, which then means nothing.
    fn for_evidence(evidence: &Evidence, asked: Pairing, allowed: AllowedBy) -> TimeOrder {
        let plan = &evidence.header.plan;
        match (plan.schedule.order, asked) {
            _ if evidence.apart.is_some() => TimeOrder::Apart,
            (Order::Interleaved, _) => TimeOrder::Interleaved,
            (Order::Sequential, Pairing::Unpaired) if evidence.header.build == IMPORTED => TimeOrder::Unknown,
            (Order::Sequential, _) if allowed != AllowedBy::Nothing => TimeOrder::SequentialAllowed,
            (Order::Sequential, _) => TimeOrder::Sequential,
        }
    }
}

/// A benchmark without any measured run, and so without rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    pub benchmark: String,
    /// Failed runs on sides other than the baseline.
    pub failed: usize,
    /// The reason of the first run.
    pub reason: String,
}

/// A case that only one of two sides has, so without a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneSided {
    pub a: String,
    pub b: String,
    /// Benchmark and case.
    pub name: String,
    /// The side without it.
    pub missing_from: SideLetter,
}

impl OneSided {
    /// Says which side has runs of the case, without a full stop.
    pub fn sentence(&self) -> String {
        let (has, missing_from) = match self.missing_from {
            SideLetter::A => (&self.b, &self.a),
            SideLetter::B => (&self.a, &self.b),
        };
        format!("{has} has runs of it, {missing_from} has none")
    }
}

/// One benchmark, A compared with one B.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Distinguishes the table, such as by benchmark.
    pub title: Vec<(String, String)>,
    pub compared: String,
    pub a: String,
    pub b: String,
    pub rows: Vec<Comparison>,
    /// What differs between the two systems.
    pub differences: Vec<Difference>,
}

/// A run that is in no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedRun {
    pub run: i64,
    pub position: u32,
    pub round: u32,
    pub case: String,
    /// Failed, aborted, or superseded.
    pub state: RunState,
    pub reason: String,
    /// Another attempt was measured.
    pub repeated: bool,
    /// A measured run came first: this was its repetition.
    pub was_measured: bool,
}

/// All comparisons of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonSet {
    /// The answer in plain English, to be read aloud.
    pub answer: String,
    /// What was compared, and on what: a line each.
    pub compared: Vec<String>,
    pub rules: Rules,
    /// Hidden rows included.
    pub families: Families,
    pub tables: Vec<Table>,
    /// Benchmarks without any row, since none of their runs was measured.
    pub unmeasured: Vec<Unmeasured>,
    /// What one side alone was asked, so that nothing can be compared with it.
    pub one_sided: Vec<OneSided>,
    /// Figures of a single system; empty if systems are compared.
    pub figures: Vec<Figure>,
    /// Disk cases over depths.
    pub disk: Vec<CurveGroup>,
    /// Empty if a benchmark has one number only.
    pub clients: Vec<CurveGroup>,
    /// Empty if étalon's own process made the load.
    pub hosts: Vec<HostsGroup>,
    pub counts: RunCounts,
    pub rounds: u32,
    /// Rounds of the case that has the fewest: what is decided leaves the later rounds.
    pub fewest_rounds: u32,
    /// Number of cases of all systems.
    pub cases: usize,
    pub dropped: Vec<DroppedRun>,
    /// What else ran on the machines during the runs.
    pub disturbances: Vec<Disturbance>,
    pub notes: Vec<Note>,
    /// Keys that the plan leaves out, by benchmark.
    pub by_default: BTreeMap<String, BTreeSet<String>>,
    /// What the loads had to keep, each promise of a benchmark once.
    pub promises: Vec<(String, Promise)>,
    /// What would help rows that have no verdict.
    pub remedies: Vec<RemedyLine>,
    /// The experiments, if each side is of one of its own.
    pub apart: Option<CrossExperiment>,
}

impl ComparisonSet {
    /// Lists the rows of all tables.
    pub fn rows(&self) -> impl Iterator<Item = &Comparison> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// Whether the plan leaves a key of a benchmark at its default; of several that one row is of, of all of them.
    pub fn is_by_default(&self, benchmark: &str, key: &str) -> bool {
        let own = self.by_default.get(benchmark);
        own.map_or_else(|| self.by_default.values().all(|keys| keys.contains(key)), |keys| keys.contains(key))
    }

    /// Counts the attempts without a result whose runs were not repeated.
    pub fn lost_runs(&self) -> usize {
        self.dropped.iter().filter(|dropped| !dropped.repeated).count()
    }

    /// Writes the heading above [`ComparisonSet::dropped`].
    /// It counts attempts: what was measured when repeated is no dropped run.
    pub fn dropped_heading(&self) -> String {
        format!("{} without a result", count_noun(self.dropped.len(), "attempt"))
    }

    /// Groups the attempts without a result by reason: the first of each, with the number of further ones.
    pub fn dropped_by_reason(&self) -> Vec<(&DroppedRun, usize)> {
        let mut found: Vec<(&DroppedRun, usize)> = Vec::new();
        let mut places: BTreeMap<(&str, [bool; 2], &String), usize> = BTreeMap::new();
        for run in &self.dropped {
            match places.entry((run.state.as_str(), [run.repeated, run.was_measured], &run.reason)) {
                Entry::Occupied(place) => found[*place.get()].1 += 1,
                Entry::Vacant(place) => {
                    place.insert(found.len());
                    found.push((run, 0));
                }
            }
        }
        found
    }
}

/// Compares the systems of an experiment by the options; fails if those cannot be satisfied.
/// An experiment without measurements is no error.
pub fn compare(evidence: &Evidence, options: &Options) -> Result<ComparisonSet, CompareError> {
    let rules = Rules::for_evidence(evidence, options);
    Options::check_shares(rules.margin, rules.level)?;
    let projection = Projection::new(&evidence.cases, options)?;
    if evidence.apart.is_some() && projection.cols != [KEY_SYSTEM] {
        return Err(CompareError::Apart);
    }
    let index = Index::new(evidence);
    check_metrics(&index, &options.metrics)?;
    let (baseline, others) = baseline_and_others(evidence, &projection, options)?;
    let builder = Builder::new(evidence, &index, &projection, rules);
    let pairs = pairs_of_sides(evidence, &baseline, &others);
    let is_asked = |side: &String| options.b.as_ref().is_none_or(|b| b == side);
    let row_use = |a: &String, b: &String| {
        if evidence.apart.is_some() || *a == baseline && is_asked(b) {
            RowUse::Shown(&options.metrics)
        } else {
            RowUse::FamilyOnly
        }
    };
    let mut tables: Vec<Table> = pairs.iter().flat_map(|(a, b)| builder.tables_of_sides(a, b, row_use(a, b))).collect();
    if options.a.as_ref().is_some_and(|a| *a != evidence.header.plan.comparison.baseline) {
        // Who picks the first side has picked among all pairs.
        let pairs = others.iter().enumerate().flat_map(|(place, a)| others[place + 1..].iter().map(move |b| (a, b)));
        tables.extend(pairs.flat_map(|(a, b)| builder.tables_of_sides(a, b, row_use(a, b))));
    }
    failures::drop_rows_without_failures(&mut tables, &options.metrics);
    let families = judge_tables(&mut tables, &rules);
    if rules.order == TimeOrder::Apart {
        tables.iter_mut().flat_map(|table| &mut table.rows).for_each(Comparison::replace_verdict_by_finding);
    }
    let out_of_time = out_of_time_note(evidence, &tables, &rules);
    tables.retain(|table| matches!(row_use(&table.a, &table.b), RowUse::Shown(_)));
    filter_metrics(&mut tables, &options.metrics);
    let figures = if others.is_empty() { case_figures(evidence, &index, &options.metrics, &rules) } else { Vec::new() };
    let asked = pairs.iter().filter(|(_, b)| is_asked(b));
    let mut one_sided: Vec<OneSided> = asked.flat_map(|(a, b)| builder.one_sided(a, b)).collect();
    let disturbances = list_disturbances(&index.lookup, &tables);
    let mut notes = all_notes(evidence, &tables, &one_sided, &disturbances, &rules);
    notes.extend(out_of_time);
    let remedies = list_remedies(evidence, &tables, &rules);
    // What no other experiment has is in notes of its own, and was left out when they were joined.
    one_sided.extend(evidence.apart.iter().flat_map(|apart| apart.only_in_first()));
    let unmeasured = find_unmeasured(evidence, &index, &projection, &baseline);
    let looked_at = projection.systems_among(others.iter().filter(|b| is_asked(b)).chain([&baseline]));
    let set = ComparisonSet {
        answer: String::new(),
        compared: Vec::new(),
        families,
        tables,
        unmeasured,
        one_sided,
        figures,
        disk: disk::disk_curves(evidence, &index, &looked_at, &rules),
        clients: clients::client_curves(evidence, &index, &looked_at, &rules),
        hosts: hosts::host_groups(evidence, &index, &looked_at, &rules),
        rules,
        counts: evidence.run_counts(),
        rounds: evidence.round_count(),
        fewest_rounds: evidence.fewest_rounds(),
        cases: evidence.cases.len(),
        dropped: dropped_runs(&index.lookup),
        disturbances,
        notes,
        by_default: default_keys(evidence),
        promises: list_promises(evidence),
        remedies,
        apart: evidence.apart.as_deref().cloned(),
    };
    Ok(add_words(evidence, set))
}

/// Notes that an experiment ended by its `max_time` before it was sure or ran all rounds; `None` if it did not.
/// Nothing else ends one early with a row open. By other rules than its own a row may be open that was not.
fn out_of_time_note(evidence: &Evidence, tables: &[Table], rules: &Rules) -> Option<Note> {
    let plan = &evidence.header.plan;
    let until = plan.schedule.until_sure?;
    let max_time = until.max_time?;
    let is_early =
        rules.unfinished.is_none() && evidence.apart.is_none() && evidence.round_count() < plan.schedule.rounds;
    if !is_early || (rules.margin, rules.level) != (plan.comparison.margin, plan.comparison.level) {
        return None;
    }
    let open = tables
        .iter()
        .flat_map(|table| &table.rows)
        .filter(|row| row.metric.role == Role::Primary)
        .filter(|row| look::row_decision(row) == Standing::Open)
        .count();
    let is_it = open > 0 || until.stop == Stop::Never || plan.systems.len() == 1;
    let still = if open > 0 { format!(", with {} open", count_noun(open, "primary row")) } else { String::new() };
    let text = format!(
        "ended after {} of {} at most, since `schedule.max_time` ({}) was over{still}",
        evidence.round_count(),
        count_noun(plan.schedule.rounds as usize, "round"),
        model::duration::format(max_time)
    );
    is_it.then_some(Note { kind: NoteKind::MaxTime, text })
}

/// Adds what was compared and the answer, in words, to a set.
fn add_words(evidence: &Evidence, mut set: ComparisonSet) -> ComparisonSet {
    set.compared = compared::compared_lines(evidence, &set);
    let disturbed = super::disturbance::worst_sentence(&set.disturbances);
    let made = super::notes::own_tables::answer_clause(evidence);
    let restored = crate::backup::restored_sentence(evidence);
    let alike = super::answers::alike_sentence(evidence);
    let ends = [compared::lesser_promise_sentence(evidence, &set), made, restored, alike, disturbed];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    set.answer = crate::answer::render_answer(&set, compared::place_words(evidence), &ends.join(" "));
    set
}

/// Lists the sides A and B of each table.
fn pairs_of_sides(evidence: &Evidence, baseline: &str, others: &[String]) -> Vec<(String, String)> {
    match &evidence.apart {
        Some(apart) => apart.pairs.clone(),
        None => others.iter().map(|b| (baseline.to_owned(), b.clone())).collect(),
    }
}

/// Judges the rows of all tables, and warns of unsteady ones; returns the families' sizes.
/// Hidden rows are judged, too: looking at one metric, or at one pair of sides, does not reduce the questions.
fn judge_tables(tables: &mut [Table], rules: &Rules) -> Families {
    let mut rows: Vec<&mut Comparison> = tables.iter_mut().flat_map(|table| &mut table.rows).collect();
    steadiness::add_warnings(&mut rows, rules);
    families::judge_rows(&mut rows, rules)
}

/// Lists the benchmarks without any measured run.
fn find_unmeasured(evidence: &Evidence, index: &Index<'_>, projection: &Projection, baseline: &str) -> Vec<Unmeasured> {
    let mut cases: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (number, case) in (0..).zip(&evidence.cases) {
        cases.entry(&case.benchmark).or_default().push(number);
    }
    let without = evidence.header.plan.benchmarks.iter().filter(|own| !index.metrics.contains_key(&own.name));
    without
        .map(|own| {
            unmeasured_benchmark(
                &index.lookup,
                cases.get(own.name.as_str()).map_or(&[], Vec::as_slice),
                &own.name,
                projection,
                baseline,
            )
        })
        .collect()
}

/// Makes the entry of a benchmark without a measured run: how many runs failed, and a reason.
fn unmeasured_benchmark(
    lookup: &Lookup<'_>,
    cases: &[u32],
    name: &str,
    projection: &Projection,
    baseline: &str,
) -> Unmeasured {
    let last: Vec<&StoredRun> = lookup.last_attempts(cases).collect();
    let reason = last.iter().copied().find_map(|run| run.reason.clone());
    Unmeasured {
        benchmark: name.to_owned(),
        failed: last
            .iter()
            .copied()
            .filter(|run| {
                let case = lookup.evidence().case(run.planned.case);
                let of_other = case.is_some_and(|case| side_label(case, &projection.cols) != baseline);
                of_other && run.state == RunState::Failed
            })
            .count(),
        reason: reason.unwrap_or_else(|| "no run was run".to_owned()),
    }
}

/// Fails if a metric that is asked for by name is not there.
fn check_metrics(index: &Index<'_>, filter: &MetricFilter) -> Result<(), CompareError> {
    let MetricFilter::Named(names) = filter else { return Ok(()) };
    let mut known: Vec<String> = index.metrics.values().flatten().map(|metric| metric.id.clone()).collect();
    known.sort();
    known.dedup();
    match names.iter().find(|name| !known.iter().any(|id| is_named(id, name))) {
        Some(metric) => Err(CompareError::UnknownMetric { metric: metric.clone(), known }),
        None => Ok(()),
    }
}

/// Whether a metric is shown: by the filter, or as the whole run's share of failures.
pub(super) fn is_shown(filter: &MetricFilter, metric: &Metric) -> bool {
    filter.shows(metric) || metric.id == FAILED_SHARE
}

/// Removes the rows that the filter does not show, and tables that are then empty.
fn filter_metrics(tables: &mut Vec<Table>, filter: &MetricFilter) {
    for table in tables.iter_mut() {
        let shown: Vec<bool> = table
            .rows
            .iter()
            .map(|row| {
                is_shown(filter, &row.metric)
                    || (*filter == MetricFilter::Primary && is_mean_shown_for_quantile(row, &table.rows))
            })
            .collect();
        let mut shown = shown.into_iter();
        table.rows.retain(|_| shown.next().unwrap_or_default());
    }
    tables.retain(|table| !table.rows.is_empty());
}

/// Whether a row is a mean whose quantiles have no figures, for too few operations, so that it is shown instead.
fn is_mean_shown_for_quantile(mean: &Comparison, rows: &[Comparison]) -> bool {
    /// Whether a row has a figure on a side.
    fn has_figures(row: &Comparison) -> bool {
        row.a.estimate.is_some() || row.b.estimate.is_some()
    }
    let mut quantiles = rows.iter().filter(|row| {
        row.metric.role == Role::Primary && row.label == mean.label && is_quantile_of(&row.metric.id, &mean.metric.id)
    });
    has_figures(mean) && quantiles.next().is_some_and(|first| !has_figures(first)) && !quantiles.any(has_figures)
}

/// Finds the baseline's label, and those of all that may be compared with it; fails if one that is named is not there.
fn baseline_and_others(
    evidence: &Evidence,
    projection: &Projection,
    options: &Options,
) -> Result<(String, Vec<String>), CompareError> {
    let mut known: Vec<String> = Vec::new();
    for case in &evidence.cases {
        let label = side_label(case, &projection.cols);
        if !known.contains(&label) {
            known.push(label);
        }
    }
    let key = projection.cols.join(", ");
    let find = |value: &String| {
        if known.contains(value) {
            return Ok(value.clone());
        }
        Err(CompareError::UnknownValue { key: key.clone(), value: value.clone(), known: known.clone() })
    };
    let planned = &evidence.header.plan.comparison.baseline;
    let a = match (&options.a, known.first()) {
        (Some(a), _) => find(a)?,
        (None, _) if known.contains(planned) => planned.clone(),
        (None, Some(first)) => first.clone(),
        (None, None) => return Err(CompareError::OneValue { key, value: "-".to_owned() }),
    };
    let alone = known.len() == 1 && options.cols.is_none() && options.a.is_none() && options.b.is_none();
    if let Some(b) = &options.b
        && find(b)? == a
    {
        return Err(CompareError::SameSide(a));
    }
    let others: Vec<String> = known.into_iter().filter(|value| *value != a).collect();
    if others.is_empty() && !alone {
        return Err(CompareError::OneValue { key, value: a });
    }
    Ok((a, others))
}

/// Lists the attempts that are in no figure.
fn dropped_runs(lookup: &Lookup<'_>) -> Vec<DroppedRun> {
    let evidence = lookup.evidence();
    let measured = evidence.runs.iter().filter(|run| run.state == RunState::Measured);
    let measured: BTreeMap<u32, u32> = measured.map(|run| (run.planned.position, run.attempt)).collect();
    let ended = evidence
        .runs
        .iter()
        .filter(|run| matches!(run.state, RunState::Failed | RunState::Aborted | RunState::Superseded));
    ended
        .map(|run| DroppedRun {
            run: run.id,
            position: run.planned.position,
            round: run.planned.round,
            case: evidence
                .case(run.planned.case)
                .map_or_else(String::new, |case| case.label(lookup.varying_keys(&case.benchmark))),
            state: run.state,
            reason: run.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
            repeated: measured.contains_key(&run.planned.position),
            was_measured: measured.get(&run.planned.position).is_some_and(|attempt| *attempt < run.attempt),
        })
        .collect()
}
