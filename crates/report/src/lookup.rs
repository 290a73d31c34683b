//! What is asked of an evidence again and again, found in one pass over it: a store may have many thousand runs, and who looks
//! through all of them for each of them takes minutes.

use std::collections::BTreeMap;

use model::{DurabilityTier, Mark, RunState};
use store::{StoredMeasurement, StoredRun};

use crate::evidence::Evidence;

/// The runs of an evidence by their cases, what they measured and their marks by run.
pub struct Lookup<'a> {
    evidence: &'a Evidence,
    /// See [`Evidence::last_attempts`].
    last: Vec<&'a StoredRun>,
    /// Positions in `last` by case.
    last_of: BTreeMap<u32, Vec<usize>>,
    /// Positions in the evidence's runs by case.
    runs_of: BTreeMap<u32, Vec<usize>>,
    by_id: BTreeMap<i64, &'a StoredRun>,
    /// Positions in the evidence's marks by run.
    marks_of: BTreeMap<i64, Vec<usize>>,
    /// Varying keys by benchmark: see [`model::Plan::varying_keys`].
    varying: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> Lookup<'a> {
    /// Indexes an evidence's runs by case and id, and its marks by run.
    pub fn new(evidence: &'a Evidence) -> Lookup<'a> {
        let last = evidence.last_attempts();
        let mut varying = BTreeMap::new();
        for benchmark in &evidence.header.plan.benchmarks {
            // Of two of one name the first counts, as everywhere.
            varying.entry(benchmark.name.as_str()).or_insert_with(|| benchmark.varying_keys());
        }
        Lookup {
            last_of: positions_by_key(last.iter().map(|run| run.planned.case)),
            last,
            runs_of: positions_by_key(evidence.runs.iter().map(|run| run.planned.case)),
            by_id: evidence.runs.iter().rev().map(|run| (run.id, run)).collect(),
            marks_of: positions_by_key(evidence.marks.iter().map(|(run, _)| *run)),
            varying,
            evidence,
        }
    }

    /// The evidence that is looked up in.
    pub fn evidence(&self) -> &'a Evidence {
        self.evidence
    }

    /// The keys that distinguish the cases of a benchmark.
    pub fn varying_keys(&self, benchmark: &str) -> &[String] {
        self.varying.get(benchmark).map_or(&[], Vec::as_slice)
    }

    /// Looks up a run by its id.
    pub fn run_by_id(&self, id: i64) -> Option<&'a StoredRun> {
        self.by_id.get(&id).copied()
    }

    /// Lists every attempt at these cases, in the evidence's order.
    pub fn attempts_of_cases(&self, cases: &[u32]) -> impl Iterator<Item = &'a StoredRun> + use<'a> {
        let runs = &self.evidence.runs;
        positions_of_keys(&self.runs_of, cases).into_iter().map(move |place| &runs[place])
    }

    /// Lists the last attempt at each position of these cases, by position.
    pub fn last_attempts(&self, cases: &[u32]) -> impl Iterator<Item = &'a StoredRun> + use<'a> {
        let found: Vec<&'a StoredRun> =
            positions_of_keys(&self.last_of, cases).into_iter().map(|place| self.last[place]).collect();
        found.into_iter()
    }

    /// Lists the ids of these cases' measured runs, in the evidence's order.
    pub fn measured_runs(&self, cases: &[u32]) -> Vec<i64> {
        self.attempts_of_cases(cases).filter(|run| run.state == RunState::Measured).map(|run| run.id).collect()
    }

    /// Counts the runs of a case that failed for good, as [`Evidence::failed_runs`] does.
    pub fn failed_runs(&self, case: u32) -> usize {
        self.last_attempts(&[case]).filter(|run| self.evidence.has_failed(run)).count()
    }

    /// Lists the marks on these runs, in the evidence's order.
    pub fn marks_of_runs(&self, runs: &[i64]) -> impl Iterator<Item = &'a (i64, Mark)> + use<'a> {
        let marks = &self.evidence.marks;
        positions_of_keys(&self.marks_of, runs).into_iter().map(move |place| &marks[place])
    }

    /// The durability of a case's commits, by the system's settings and the marks on its runs, of which the weakest counts.
    /// `None` if it is not known.
    pub fn durability_of_case(&self, case: u32) -> Option<DurabilityTier> {
        let by_settings = self.evidence.facts_of(&self.evidence.case(case)?.system)?.durability()?.tier;
        self.measured_runs(&[case])
            .into_iter()
            .map(|run| match self.marks_of_run(run).find_map(|mark| mark.kind.promised_durability()) {
                Some(DurabilityTier::Durable) if by_settings == DurabilityTier::Delayed => DurabilityTier::Durable,
                Some(marked) => marked.min(by_settings),
                None => by_settings,
            })
            .min()
            .or(Some(by_settings))
    }

    /// Lists the marks on a run.
    pub fn marks_of_run(&self, run: i64) -> impl Iterator<Item = &'a Mark> + use<'a> {
        self.marks_of_runs(&[run]).map(|(_, mark)| mark)
    }
}

/// Groups the measurements by run, in the evidence's order.
pub fn measurements_by_run(evidence: &Evidence) -> BTreeMap<i64, Vec<&StoredMeasurement>> {
    let mut found: BTreeMap<i64, Vec<&StoredMeasurement>> = BTreeMap::new();
    for stored in &evidence.measurements {
        found.entry(stored.run_id).or_default().push(stored);
    }
    found
}

/// Groups positions in a list by key.
pub fn positions_by_key<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, Vec<usize>> {
    let mut found: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (place, key) in keys.enumerate() {
        found.entry(key).or_default().push(place);
    }
    found
}

/// Lists the positions of any of these keys, ascending.
pub fn positions_of_keys<K: Ord>(places: &BTreeMap<K, Vec<usize>>, keys: &[K]) -> Vec<usize> {
    let mut all: Vec<usize> = keys.iter().filter_map(|key| places.get(key)).flatten().copied().collect();
    // Of one key they are in order.
    if keys.len() > 1 {
        all.sort_unstable();
        all.dedup();
    }
    all
}
