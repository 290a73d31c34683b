//! Whole experiments with a single case.

#[path = "stored.rs"]
mod stored;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use conductor::experiment::ExperimentOptions;
use conductor::{Conductor, ExperimentEnd, Registry};
use load::observer::Silent;
use model::plan::Changes;
use model::{Plan, Reading};
use store::Store;
use workloads::system::Consent;

pub struct Outcome {
    store: Store,
    _folder: tempfile::TempDir,
}

/// Runs a plan whose runs must all be measured.
pub fn conduct(text: &str) -> Outcome {
    let (ended, outcome) = attempt(text);
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    outcome
}

pub fn attempt(text: &str) -> (ExperimentEnd, Outcome) {
    attempt_changed(text, &Changes::default())
}

/// Runs a plan with changes as from the command line.
pub fn attempt_changed(text: &str, changes: &Changes) -> (ExperimentEnd, Outcome) {
    attempt_with(&Registry::built_in(), text, changes)
}

pub fn attempt_with(registry: &Registry, text: &str, changes: &Changes) -> (ExperimentEnd, Outcome) {
    let (plan, _) = Plan::parse(text, "test.toml", changes, &registry.catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let folder = tempfile::tempdir().unwrap();
    let mut store = stored::create(&folder.path().join("x.etalon"), &plan);
    let options = ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)));
    let ended = Conductor::new(registry, &plan, &mut store, options).run_all(&mut Silent);
    let ended = ended.unwrap_or_else(|error| panic!("{error}"));
    (ended, Outcome { store, _folder: folder })
}

impl Outcome {
    pub fn value(&self, metric: &str) -> f64 {
        let all = self.store.measurements().unwrap();
        let found = all.iter().find(|row| row.measurement.metric.id == metric);
        match found.map(|row| &row.measurement.reading) {
            Some(Reading::Value(value)) => *value,
            other => panic!("{metric}: {other:?}"),
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }
}
