//! Faults of careless workloads, lying engines and broken loaders, planted one at a time: each must be found, and by the
//! condition that names it.

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../shared/procedure.rs"]
mod procedure;
#[path = "../shared/stored.rs"]
mod stored;

mod backup;
mod empty;
mod faulty;
mod pages;
mod servers;
mod spatial;
mod transactions;

use load::error::Failure;
use model::{Reading, RunRecord, RunState, SystemPlan, Value};

use faulty::{Faulty, Tamper};

/// A fault, and what is said of a run that has it.
struct Fault {
    what: &'static str,
    tamper: Tamper,
    said: &'static str,
}

/// A fault of what is sent in the place of a statement, which has a number.
const fn sent(what: &'static str, statements: fn(&str, u64) -> Vec<String>, said: &'static str) -> Fault {
    Fault { what, tamper: Tamper { statements, ..Tamper::NONE }, said }
}

/// A session's first statement after another one.
fn led_by(setting: &str, sql: &str, number: u64) -> Vec<String> {
    let setting = (number == 0).then(|| setting.to_owned());
    setting.into_iter().chain([sql.to_owned()]).collect()
}

/// Keys of a benchmark.
type Keys<'a> = &'a [(&'a str, Value)];

/// Faults that are planted into one benchmark.
type Planted<'a> = (&'a [Fault], &'a str, Keys<'a>);

/// What speaks against a run: its failure, the readings that it withholds, and the marks that void its verdict.
fn accusations(ended: &Result<RunRecord, Failure>) -> String {
    let record = match ended {
        Ok(record) => record,
        Err(failure) => return failure.to_string(),
    };
    assert_eq!(record.state, RunState::Measured);
    let wrong = record.measurements.iter().filter_map(|measurement| match &measurement.reading {
        Reading::Unavailable(missing) if missing.kind == model::Absence::Wrong => {
            Some(format!("{}: {missing}", measurement.metric.id))
        }
        _ => None,
    });
    let voiding = record.marks.iter().filter(|mark| mark.kind.voids_verdict()).map(|mark| mark.detail.clone());
    wrong.chain(voiding).collect::<Vec<_>>().join("; ")
}

/// Those of the faults that are missed; `ETALON_FAULT=word` plants those only whose name has this word.
fn missed(faults: &[Fault], run: impl Fn(Tamper) -> Result<RunRecord, Failure>) -> Vec<String> {
    let chosen = std::env::var("ETALON_FAULT").unwrap_or_default();
    let mut missed = Vec::new();
    for Fault { what, tamper, said } in faults.iter().filter(|fault| fault.what.contains(&chosen)) {
        let accused = accusations(&run(*tamper));
        if !accused.contains(said) {
            missed.push(format!("{what}: {accused:?}"));
        }
    }
    missed
}

/// Every fault is found, and a run without one has its figure and is not accused.
fn all_are_found(faults: &[Fault], metric: &str, run: impl Fn(Tamper) -> Result<RunRecord, Failure>) {
    let ended = run(Tamper::NONE);
    assert_eq!(accusations(&ended), "", "a true run");
    assert!(matches!(procedure::reading(&ended.unwrap(), metric), Reading::Value(_)), "{metric}");
    let missed = missed(faults, run);
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), faults.len(), missed.join("\n"));
}

/// One run of a workload on a system that is tampered with.
fn run(plan: &SystemPlan, tamper: Tamper, workload: &str, keys: Keys<'_>) -> Result<RunRecord, Failure> {
    let system = procedure::open(plan);
    let ended = procedure::run(workload, &Faulty { inner: &*system, tamper }, keys);
    system.drop_all().unwrap();
    ended
}

fn sqlite(folder: &tempfile::TempDir, settings: &[(&str, &str)]) -> SystemPlan {
    procedure::system("sqlite", format!("sqlite:{}/faults.db", folder.path().display()), settings)
}
