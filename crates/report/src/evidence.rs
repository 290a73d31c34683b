//! What a report is made of, read from the store at once.

use std::collections::BTreeMap;

use model::{Case, Facts, Mark, Series, TrialState};
use store::{Header, Store, StoreError, StoredMeasurement, StoredTrial};

/// [`Header::build`] of imports.
pub const IMPORTED: &str = "imported";
/// Subject of the load generator's machine.
pub const CLIENT: &str = "client";

/// A store's content without histograms, which are large and read per trial.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What the experiment is and what started it.
    pub header: Header,
    pub cases: Vec<Case>,
    pub trials: Vec<StoredTrial>,
    pub measurements: Vec<StoredMeasurement>,
    pub marks: Vec<(i64, Mark)>,
    /// By subject: [`CLIENT`] or a system's name.
    pub facts: BTreeMap<String, Facts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialCounts {
    /// In the order.
    pub planned: usize,
    /// Places whose trial was measured.
    pub measured: usize,
    /// At the last attempt.
    pub failed: usize,
    /// At the last attempt.
    pub aborted: usize,
}

pub trait SeriesSource {
    fn series(&self, trial: i64) -> Result<Vec<Series>, StoreError>;
}

impl SeriesSource for Store {
    fn series(&self, trial: i64) -> Result<Vec<Series>, StoreError> {
        Store::series(self, trial)
    }
}

impl SeriesSource for BTreeMap<i64, Vec<Series>> {
    fn series(&self, trial: i64) -> Result<Vec<Series>, StoreError> {
        Ok(self.get(&trial).cloned().unwrap_or_default())
    }
}

impl Evidence {
    pub fn read(store: &Store) -> Result<Evidence, StoreError> {
        let mut measurements = store.measurements()?;
        crate::older::put_failures_back(&mut measurements, store);
        let mut marks = store.marks()?;
        crate::motion::keep_believed(&measurements, &mut marks);
        Ok(Evidence {
            header: store.header().clone(),
            cases: store.cases().to_vec(),
            trials: store.trials()?,
            measurements,
            marks,
            facts: store.facts()?,
        })
    }

    pub fn case(&self, index: u32) -> Option<&Case> {
        self.cases.get(index as usize)
    }

    /// At each place the measured attempt, else the last that failed, else the last: whoever interrupts the repetition of a
    /// trial that failed has not undone it.
    pub fn last_attempts(&self) -> Vec<&StoredTrial> {
        let rank = |trial: &StoredTrial| match trial.state {
            TrialState::Measured => 2,
            TrialState::Failed => 1,
            _ => 0,
        };
        let mut last: BTreeMap<u32, &StoredTrial> = BTreeMap::new();
        for trial in &self.trials {
            let kept = last.entry(trial.planned.position).or_insert(trial);
            if kept.state != TrialState::Measured && (rank(trial), trial.attempt) >= (rank(kept), kept.attempt) {
                *kept = trial;
            }
        }
        last.into_values().collect()
    }

    /// How many trials of a case failed for good: what the others gave is no figure of the case.
    pub fn failed(&self, case: u32) -> usize {
        let of_case = |trial: &&StoredTrial| trial.planned.case == case && trial.state == TrialState::Failed;
        self.last_attempts().into_iter().filter(of_case).count()
    }

    pub fn counts(&self) -> TrialCounts {
        let mut counts = TrialCounts::default();
        for trial in self.last_attempts() {
            counts.planned += 1;
            match trial.state {
                TrialState::Measured => counts.measured += 1,
                TrialState::Failed => counts.failed += 1,
                TrialState::Aborted => counts.aborted += 1,
                TrialState::Planned | TrialState::Running | TrialState::Superseded => {}
            }
        }
        counts
    }

    /// Imports without times have the time of import.
    pub fn began_unix_ms(&self, trial: &StoredTrial) -> Option<i64> {
        let of_import = (self.header.build == IMPORTED).then_some(self.header.created_unix_ms);
        trial.started_unix_ms.filter(|instant| Some(*instant) != of_import)
    }

    pub fn marks_of(&self, trial: i64) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |(id, _)| *id == trial).map(|(_, mark)| mark)
    }

    /// The system itself, or the one that it is an alias of.
    pub fn server_of<'a>(&'a self, system: &'a str) -> &'a str {
        self.header.plan.system(system).and_then(|plan| plan.alias_of.as_deref()).unwrap_or(system)
    }

    /// An alias without facts has its server's.
    pub fn facts_of(&self, system: &str) -> Option<&Facts> {
        self.facts.get(system).or_else(|| self.facts.get(self.server_of(system)))
    }
}
