//! An experiment as a tidy table that `etalon import tidy` reads back without loss for a comparison.

use std::collections::{BTreeMap, BTreeSet};

use formats::experiment::{IMPORTED, OF_EXPERIMENT, PAIRING};
use formats::tidy::{
    BEGAN, CIRCUMSTANCE, ELAPSED, FACTOR, MARK, MEASURED, REASON, REPEATED, RESTARTED, RUN, Row, Table, mark_code,
};
use formats::{ExportedBenchmark, ExportedRules, Repetitions};
use model::facts::OF_IMPORT;
use model::{Benchmark, Case, Facts, MarkKind, Nature, Order, Point, Reading, RunState};
use report::Evidence;
use report::evidence::IMPORTED as BUILD_IMPORTED;
use store::StoredRun;

/// Makes the tidy table of an experiment: measurements, marks, the course of runs, and facts.
pub fn tidy_table(evidence: &Evidence) -> Table {
    let plan = &evidence.header.plan;
    let keys: BTreeSet<String> = evidence.cases.iter().flat_map(|case| case.point.keys().cloned()).collect();
    let mut rows = Vec::new();
    let mut measurements: Vec<_> = evidence.measurements.iter().collect();
    // In the order in which an import numbers systems and cases; stable for metrics.
    measurements.sort_by_key(|stored| (stored.round, stored.case));
    for stored in measurements {
        let Some(case) = evidence.case(stored.case) else { continue };
        let metric = &stored.measurement.metric;
        rows.push(Row {
            repetition: Some(stored.round + 1),
            unit: metric.unit.clone(),
            direction: Some(metric.direction),
            role: Some(metric.role),
            value: stored.measurement.reading.clone(),
            kind: MEASURED.to_owned(),
            ..make_row(case, &metric.id)
        });
    }
    rows.extend(mark_rows(evidence));
    rows.extend(run_rows(evidence));
    let systems = plan.systems.iter().map(|system| system.name.as_str());
    let others = evidence.facts.keys().map(String::as_str).filter(|subject| plan.system(subject).is_none());
    for subject in systems.chain(others) {
        rows.extend(evidence.facts_of(subject).into_iter().flat_map(|facts| fact_rows(subject, facts)));
    }
    if let Some(experiment) = exported_rules(evidence).experiment {
        rows.iter_mut().for_each(|row| row.experiment = Some(experiment.clone()));
    }
    Table { keys: keys.into_iter().collect(), rows, remarks: table_remarks(evidence), ..Table::default() }
}

/// Makes a row of a case and a metric, without a value.
fn make_row(case: &Case, metric: &str) -> Row {
    Row {
        line: 0,
        system: case.system.clone(),
        benchmark: Some(case.benchmark.clone()),
        point: case.point.clone(),
        experiment: None,
        repetition: None,
        metric: metric.to_owned(),
        unit: String::new(),
        direction: None,
        role: None,
        kind: String::new(),
        value: Reading::unavailable(""),
        written: String::new(),
    }
}

/// Makes the rows for marks of measured runs: only a run with a measurement can carry a mark.
fn mark_rows(evidence: &Evidence) -> Vec<Row> {
    let measured: BTreeSet<i64> = evidence.measurements.iter().map(|stored| stored.run_id).collect();
    let runs = evidence.runs.iter().filter(|run| measured.contains(&run.id));
    let mut rows = Vec::new();
    for run in runs {
        let Some(case) = evidence.case(run.planned.case) else { continue };
        for mark in evidence.marks_of_run(run.id).filter(|mark| !is_import_mark(mark)) {
            rows.push(Row {
                repetition: Some(run.planned.round + 1),
                kind: MARK.to_owned(),
                unit: mark_code(mark),
                written: mark.detail.clone(),
                ..make_row(case, mark.kind.as_str())
            });
        }
    }
    rows
}

/// Makes the rows that say when runs began, how long they took, and which failed or were repeated.
fn run_rows(evidence: &Evidence) -> Vec<Row> {
    let measured: BTreeSet<i64> = evidence.measurements.iter().map(|stored| stored.run_id).collect();
    let metrics_of = |run: &StoredRun| match run.state {
        // A run without measurement has no place in the table.
        RunState::Measured if measured.contains(&run.id) => {
            let began = evidence.began_unix_ms(run).map(|instant| (BEGAN, "ms", instant.to_string()));
            let elapsed = (run.elapsed_s > 0.0).then(|| (ELAPSED, "s", run.elapsed_s.to_string()));
            began.into_iter().chain(elapsed).collect()
        }
        RunState::Failed | RunState::Aborted => {
            vec![(run.state.as_str(), "", run.reason.clone().unwrap_or_default())]
        }
        _ => Vec::new(),
    };
    let mut last = evidence.last_attempts();
    // In the order of the measurements.
    last.sort_by_key(|run| (run.planned.round, run.planned.case));
    let mut attempts: BTreeMap<u32, Vec<&StoredRun>> = BTreeMap::new();
    for run in evidence.runs.iter().filter(|run| has_ended_without_result(run)) {
        attempts.entry(run.planned.position).or_default().push(run);
    }
    let mut rows = Vec::new();
    for run in last {
        let Some(case) = evidence.case(run.planned.case) else { continue };
        let repetition = Some(run.planned.round + 1);
        let is_there = measured.contains(&run.id) || has_ended_without_result(run);
        let attempts = attempts.remove(&run.planned.position).filter(|_| is_there).unwrap_or_default();
        let repeated = attempts.into_iter().filter(|attempt| attempt.id != run.id);
        let repeated = repeated.map(|attempt| {
            let metric = if attempt.state == RunState::Aborted { RESTARTED } else { REPEATED };
            (metric, "", attempt.reason.clone().unwrap_or_default())
        });
        rows.extend(repeated.chain(metrics_of(run)).map(|(metric, unit, written)| Row {
            repetition,
            unit: unit.to_owned(),
            kind: RUN.to_owned(),
            written,
            ..make_row(case, metric)
        }));
    }
    rows
}

/// Whether a run failed or was aborted.
fn has_ended_without_result(run: &StoredRun) -> bool {
    matches!(run.state, RunState::Failed | RunState::Aborted)
}

/// Whether a mark is an import's own note, which would pile up with each round trip.
fn is_import_mark(mark: &model::Mark) -> bool {
    mark.kind == MarkKind::Source
}

/// Makes the rows for a subject's facts, identity and passing ones, but for an import's own.
/// Reports show both, and a licence's restriction is passing. An import's facts would pile up with each round trip.
fn fact_rows(subject: &str, facts: &Facts) -> Vec<Row> {
    let (benchmark, workload) = (String::new(), String::new());
    let case = Case { system: subject.to_owned(), benchmark, workload, point: Point::new() };
    let entries = facts.entries.iter().filter(|(name, _)| !name.starts_with(OF_IMPORT));
    entries
        .map(|(name, fact)| Row {
            benchmark: None,
            kind: match fact.nature {
                Nature::Identity => FACTOR,
                Nature::Passing => CIRCUMSTANCE,
            }
            .to_owned(),
            written: match &fact.reading {
                Ok(value) => value.clone(),
                Err(reason) => format!("{REASON}{reason}"),
            },
            ..make_row(&case, name)
        })
        .collect()
}

/// The remarks of the table: the rules of the comparison, and the tool that measured.
fn table_remarks(evidence: &Evidence) -> Vec<String> {
    let header = &evidence.header;
    let who = format!("measured by étalon {}, a {} build", header.etalon_version, header.build);
    let is_ours = header.plan.systems.iter().any(|system| system.engine != IMPORTED);
    exported_rules(evidence).to_remarks().into_iter().chain(is_ours.then_some(who)).collect()
}

/// Collects the rules of the comparison that a table carries.
fn exported_rules(evidence: &Evidence) -> ExportedRules {
    let plan = &evidence.header.plan;
    let numbered = |name: &str, engine: &str| {
        engine == IMPORTED && evidence.facts_of(name).and_then(|facts| facts.get(PAIRING)).is_none()
    };
    let unchanged = plan.systems.iter().filter(|system| system.change.is_none());
    let aliases = unchanged.filter_map(|system| Some((system.name.clone(), system.alias_of.clone()?)));
    let all_numbered = plan.systems.iter().all(|system| numbered(&system.name, &system.engine));
    ExportedRules {
        repetitions: if all_numbered { Repetitions::Numbered } else { Repetitions::Rounds },
        order: plan.schedule.order,
        baseline: plan.comparison.baseline.clone(),
        margin: plan.comparison.margin,
        level: plan.comparison.level,
        seed: plan.schedule.seed,
        allow_unequal_durability: plan.comparison.allow_unequal_durability,
        allow_sequential_order: plan.comparison.allow_sequential_order,
        allow_different_rows: plan.comparison.allow_different_rows,
        experiment: if !all_numbered && plan.schedule.order == Order::Interleaved {
            experiment_id(evidence)
        } else {
            None
        },
        ended: evidence.progress_if_unfinished().map(|unfinished| (unfinished.ended, unfinished.of)),
        first_look: plan.schedule.until_sure.map(|until| until.first),
        begun: plan.schedule.until_sure.and_then(|until| until.begun),
        benchmarks: plan.benchmarks.iter().filter(|one| needs_remark(one)).map(exported_benchmark).collect(),
        aliases: aliases.collect(),
    }
}

/// Makes an identifier that no other experiment has: of the plan and its beginning, or that of the table it was imported from.
fn experiment_id(evidence: &Evidence) -> Option<String> {
    let header = &evidence.header;
    if header.build == BUILD_IMPORTED {
        let experiment =
            header.plan.systems.iter().find_map(|system| evidence.facts_of(&system.name)?.get(OF_EXPERIMENT));
        return experiment.map(str::to_owned);
    }
    let plan: String = header.plan_hash.chars().take(8).collect();
    Some(format!("{plan}-{:x}", header.created_unix_ms))
}

/// Whether a table has to name a benchmark: not if it is a plain import.
fn needs_remark(benchmark: &Benchmark) -> bool {
    benchmark.workload != IMPORTED || benchmark.stands_for.is_some()
}

/// Converts a benchmark to what a table carries of it.
fn exported_benchmark(benchmark: &Benchmark) -> ExportedBenchmark {
    let Benchmark { name, workload, stands_for, .. } = benchmark.clone();
    ExportedBenchmark { name, workload, stands_for }
}
