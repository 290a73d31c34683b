//! An experiment as a tidy table that `etalon import tidy` reads back: nothing that a comparison needs is lost.

use std::collections::BTreeSet;

use formats::experiment::{IMPORTED, PAIRING};
use formats::tidy::{FACTOR, MARK, MEASURED, Row, Table};
use formats::{ExportedRules, Repetitions};
use model::{Cell, Facts, MarkKind, Nature, Point, Reading};
use report::Evidence;

/// Every measurement of every measured trial, the marks of the trials, and what each system is.
pub fn table(evidence: &Evidence) -> Table {
    let plan = &evidence.header.plan;
    let keys: BTreeSet<String> = evidence.cells.iter().flat_map(|cell| cell.point.keys().cloned()).collect();
    let mut rows = Vec::new();
    let mut measurements: Vec<_> = evidence.measurements.iter().collect();
    // In the order in which an import numbers systems and cells; stable, so that metrics keep theirs.
    measurements.sort_by_key(|stored| (stored.block, stored.cell));
    for stored in measurements {
        let Some(cell) = evidence.cell(stored.cell) else { continue };
        let metric = &stored.measurement.metric;
        rows.push(Row {
            repetition: Some(stored.block + 1),
            unit: metric.unit.clone(),
            direction: Some(metric.direction),
            role: Some(metric.role),
            value: stored.measurement.reading.clone(),
            kind: MEASURED.to_owned(),
            ..row(cell, &metric.id)
        });
    }
    rows.extend(marks(evidence));
    for system in &plan.systems {
        rows.extend(evidence.facts_of(&system.name).into_iter().flat_map(|facts| factors(&system.name, facts)));
    }
    Table { keys: keys.into_iter().collect(), rows, remarks: remarks(evidence), missing: Vec::new() }
}

fn row(cell: &Cell, metric: &str) -> Row {
    Row {
        line: 0,
        system: cell.system.clone(),
        benchmark: Some(cell.benchmark.clone()),
        point: cell.point.clone(),
        repetition: None,
        metric: metric.to_owned(),
        unit: String::new(),
        direction: None,
        role: None,
        kind: String::new(),
        value: Reading::Unavailable(String::new()),
        written: String::new(),
    }
}

/// The marks of measured trials, each a row; only a trial that has a measurement can carry one.
fn marks(evidence: &Evidence) -> Vec<Row> {
    let measured: BTreeSet<i64> = evidence.measurements.iter().map(|stored| stored.trial_id).collect();
    let trials = evidence.trials.iter().filter(|trial| measured.contains(&trial.id));
    let mut rows = Vec::new();
    for trial in trials {
        let Some(cell) = evidence.cell(trial.planned.cell) else { continue };
        for mark in evidence.marks_of(trial.id).filter(|mark| !is_of_import(mark)) {
            rows.push(Row {
                repetition: Some(trial.planned.block + 1),
                kind: MARK.to_owned(),
                written: mark.detail.clone(),
                ..row(cell, mark.kind.as_str())
            });
        }
    }
    rows
}

/// The note that an import makes would pile up with each round.
fn is_of_import(mark: &model::Mark) -> bool {
    mark.kind == MarkKind::Note && mark.detail.starts_with("imported from ")
}

/// What a system is. How it happened to be at the time has no part in a comparison.
fn factors(system: &str, facts: &Facts) -> Vec<Row> {
    let identity = facts.entries.iter().filter(|(_, fact)| fact.nature == Nature::Identity);
    let known = identity.filter_map(|(name, fact)| Some((name, fact.reading.as_ref().ok()?)));
    let (benchmark, workload) = (String::new(), String::new());
    let cell = Cell { system: system.to_owned(), benchmark, workload, point: Point::new() };
    known
        .map(|(name, value)| Row {
            benchmark: None,
            kind: FACTOR.to_owned(),
            written: value.clone(),
            ..row(&cell, name)
        })
        .collect()
}

/// The rules of the comparison, and who measured.
fn remarks(evidence: &Evidence) -> Vec<String> {
    let header = &evidence.header;
    let who = format!("measured by étalon {}, a {} build", header.etalon_version, header.build);
    let is_ours = header.plan.systems.iter().any(|system| system.engine != IMPORTED);
    [rules(evidence).remark()].into_iter().chain(is_ours.then_some(who)).collect()
}

fn rules(evidence: &Evidence) -> ExportedRules {
    let plan = &evidence.header.plan;
    let numbered = |name: &str, engine: &str| {
        engine == IMPORTED && evidence.facts_of(name).and_then(|facts| facts.get(PAIRING)).is_none()
    };
    let all_numbered = plan.systems.iter().all(|system| numbered(&system.name, &system.engine));
    ExportedRules {
        repetitions: if all_numbered { Repetitions::Numbered } else { Repetitions::Blocks },
        order: plan.schedule.order,
        baseline: plan.comparison.baseline.clone(),
        margin: plan.comparison.margin,
        level: plan.comparison.level,
        seed: plan.schedule.seed,
        allow_unequal_durability: plan.comparison.allow_unequal_durability,
    }
}
