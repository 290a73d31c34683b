//! Everything that a report is made of, read from the store at once.

use std::collections::BTreeMap;

use model::{Cell, Facts, Mark, Series, TrialState};
use store::{Header, Store, StoreError, StoredMeasurement, StoredTrial};

/// The value of [`Header::build`] where étalon has measured nothing itself.
pub const IMPORTED: &str = "imported";
/// The subject under which the facts of the load generator's machine are kept.
pub const CLIENT: &str = "client";

/// What a store holds, but for the histograms, which are large and are asked for one trial at a time.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What the experiment is and what started it.
    pub header: Header,
    /// The cells; the index is the cell's identity.
    pub cells: Vec<Cell>,
    /// Every attempt at a trial, by position and then by attempt.
    pub trials: Vec<StoredTrial>,
    /// The measurements of the measured trials.
    pub measurements: Vec<StoredMeasurement>,
    /// Marks, each with its trial's identity.
    pub marks: Vec<(i64, Mark)>,
    /// Facts by subject: [`CLIENT`] or a system's name.
    pub facts: BTreeMap<String, Facts>,
}

/// How many trials came to which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialCounts {
    /// Places in the order.
    pub planned: usize,
    /// Places whose trial was measured.
    pub measured: usize,
    /// Places whose last attempt failed.
    pub failed: usize,
    /// Places whose last attempt was aborted.
    pub aborted: usize,
}

/// Where the histograms of a trial come from.
pub trait SeriesSource {
    /// The histograms of the trial with this [`StoredTrial::id`].
    ///
    /// # Errors
    /// When the store cannot be read.
    fn series(&self, trial: i64) -> Result<Vec<Series>, StoreError>;
}

impl SeriesSource for Store {
    fn series(&self, trial: i64) -> Result<Vec<Series>, StoreError> {
        Store::series(self, trial)
    }
}

/// Histograms in memory, by trial.
impl SeriesSource for BTreeMap<i64, Vec<Series>> {
    fn series(&self, trial: i64) -> Result<Vec<Series>, StoreError> {
        Ok(self.get(&trial).cloned().unwrap_or_default())
    }
}

impl Evidence {
    /// Reads a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(store: &Store) -> Result<Evidence, StoreError> {
        let mut measurements = store.measurements()?;
        crate::older::put_failures_back(&mut measurements, store);
        let mut marks = store.marks()?;
        crate::motion::keep_believed(&measurements, &mut marks);
        Ok(Evidence {
            header: store.header().clone(),
            cells: store.cells().to_vec(),
            trials: store.trials()?,
            measurements,
            marks,
            facts: store.facts()?,
        })
    }

    /// The cell of that index; a damaged index is no cell rather than a panic.
    pub fn cell(&self, index: u32) -> Option<&Cell> {
        self.cells.get(index as usize)
    }

    /// The attempt that counts at each place of the order: the measured one, which a later one may have been meant to
    /// replace, or else the last.
    pub fn last_attempts(&self) -> Vec<&StoredTrial> {
        let mut last: BTreeMap<u32, &StoredTrial> = BTreeMap::new();
        for trial in &self.trials {
            let kept = last.entry(trial.planned.position).or_insert(trial);
            if kept.state != TrialState::Measured && trial.attempt >= kept.attempt {
                *kept = trial;
            }
        }
        last.into_values().collect()
    }

    /// How many trials came to which end.
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

    /// When a trial began, in milliseconds since 1970. An import that does not tell has its own instant in its place.
    pub fn began_unix_ms(&self, trial: &StoredTrial) -> Option<i64> {
        let of_import = (self.header.build == IMPORTED).then_some(self.header.created_unix_ms);
        trial.started_unix_ms.filter(|instant| Some(*instant) != of_import)
    }

    /// The marks of one trial.
    pub fn marks_of(&self, trial: i64) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |(id, _)| *id == trial).map(|(_, mark)| mark)
    }

    /// The server behind a system: the name of the system that it is another name for, or its own.
    pub fn server_of<'a>(&'a self, system: &'a str) -> &'a str {
        self.header.plan.system(system).and_then(|plan| plan.alias_of.as_deref()).unwrap_or(system)
    }

    /// The facts of a system; an alias has those of the server that it stands for, unless it has its own.
    pub fn facts_of(&self, system: &str) -> Option<&Facts> {
        self.facts.get(system).or_else(|| self.facts.get(self.server_of(system)))
    }
}
