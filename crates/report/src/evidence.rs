//! What a report is made of, read from the store at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use model::{Case, Durability, Facts, LoadPoint, Mark, Order, PlannedRun, QueryPlan, RunRecord, RunState, Series};
use store::{Header, Store, StoreError, StoredMeasurement, StoredRun};

use crate::cross_experiment::CrossExperiment;
use crate::number::count_noun;

/// [`Header::build`] of imports.
pub const IMPORTED: &str = "imported";
/// Subject of the load generator's machine.
pub const CLIENT: &str = "client";
/// Prefix of the subjects of other hosts that make load, before the name of the agent.
pub const CLIENT_HOST: &str = "client ";
/// Prefix of the facts of étalon's own build, and of that on the host of a system.
pub const BUILD: &str = "etalon.";
pub const HOST_BUILD: &str = "host.etalon.";

/// A store's content without histograms, which are large and read per run.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What the experiment is and what started it.
    pub header: Header,
    pub cases: Vec<Case>,
    pub runs: Vec<StoredRun>,
    pub measurements: Vec<StoredMeasurement>,
    /// Measurements of runs that were measured again when the experiment was resumed.
    pub superseded: Vec<StoredMeasurement>,
    pub marks: Vec<(i64, Mark)>,
    /// Points of runs that searched for the highest load that keeps a promise.
    pub points: Vec<(i64, LoadPoint)>,
    /// The plans by which the queries of runs were answered.
    pub query_plans: Vec<(i64, QueryPlan)>,
    /// Facts by subject: [`CLIENT`] or a system's name.
    pub facts: BTreeMap<String, Facts>,
    /// The store's path, if there is a store.
    pub store: Option<PathBuf>,
    /// The experiments that were joined, if there are several.
    pub apart: Option<Box<CrossExperiment>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Runs in the order.
    pub planned: usize,
    /// Places whose run was measured.
    pub measured: usize,
    /// Runs that failed at the last attempt.
    pub failed: usize,
    /// Runs that were aborted at the last attempt.
    pub aborted: usize,
}

/// How far an experiment is that has places still to be run: what is looked at before its end, at a time of the reader's
/// choice, has no valid interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Rounds in which every place has ended; runs in sequential order, which ends all rounds together.
    pub ended: usize,
    pub of: usize,
    /// `round` or `run`.
    pub unit: &'static str,
}

impl Unfinished {
    /// Writes how far the experiment is: `6 of 10 rounds`.
    pub fn how_far(&self) -> String {
        format!("{} of {}", self.ended, count_noun(self.of, self.unit))
    }

    /// Says how far the experiment is: `6 of 10 rounds have run`.
    pub fn sentence(&self) -> String {
        format!("{} have run", self.how_far())
    }
}

pub trait SeriesSource {
    /// Reads the time series of a run.
    fn series(&self, run: i64) -> Result<Vec<Series>, StoreError>;
}

impl SeriesSource for Store {
    fn series(&self, run: i64) -> Result<Vec<Series>, StoreError> {
        Store::series_of(self, run)
    }
}

impl SeriesSource for BTreeMap<i64, Vec<Series>> {
    fn series(&self, run: i64) -> Result<Vec<Series>, StoreError> {
        Ok(self.get(&run).cloned().unwrap_or_default())
    }
}

impl Evidence {
    /// Reads all of a store but its histograms, and corrects what older stores left out.
    pub fn read_store(store: &Store) -> Result<Evidence, StoreError> {
        let found = Evidence {
            header: store.header().clone(),
            cases: store.cases().to_vec(),
            runs: store.runs()?,
            measurements: store.measurements()?,
            superseded: store.superseded_measurements()?,
            marks: store.marks()?,
            points: store.load_points()?,
            query_plans: store.query_plans()?,
            facts: store.facts()?,
            store: Some(store.path().to_owned()),
            apart: None,
        };
        Ok(found.with_corrections(store))
    }

    /// Makes an evidence of runs that no store holds; the attempts at one position are in their order.
    pub fn from_runs(
        header: Header,
        mut runs: Vec<(PlannedRun, RunRecord)>,
        facts: BTreeMap<String, Facts>,
    ) -> Evidence {
        runs.sort_by_key(|(planned, _)| planned.position);
        let cases = header.plan.cases();
        let (runs_of, measurements, marks) = (Vec::with_capacity(runs.len()), Vec::new(), Vec::new());
        let (superseded, points) = (Vec::new(), Vec::new());
        let mut found = Evidence {
            header,
            cases,
            runs: runs_of,
            measurements,
            superseded,
            marks,
            points,
            query_plans: Vec::new(),
            facts,
            store: None,
            apart: None,
        };
        let mut series = BTreeMap::new();
        for (id, (planned, record)) in (1..).zip(runs) {
            let before = found.runs.last().filter(|run| run.planned.position == planned.position);
            let RunRecord { state, reason, began_unix_ms, elapsed_s, .. } = record;
            found.runs.push(StoredRun {
                id,
                planned,
                attempt: 1 + before.map_or(0, |run| run.attempt),
                state,
                reason,
                started_unix_ms: began_unix_ms.or(Some(found.header.created_unix_ms)),
                elapsed_s,
            });
            found.marks.extend(record.marks.into_iter().map(|mark| (id, mark)));
            found.points.extend(record.points.into_iter().map(|point| (id, point)));
            found.query_plans.extend(record.query_plans.into_iter().map(|plan| (id, plan)));
            series.insert(id, record.series);
            let PlannedRun { position, round, case } = planned;
            let measured = record.measurements.into_iter().filter(|_| state == RunState::Measured);
            found.measurements.extend(measured.map(|measurement| StoredMeasurement {
                run_id: id,
                round,
                case,
                position,
                measurement,
            }));
        }
        found.with_corrections(&series)
    }

    /// Number of rounds that were run, or are to be; without a fixed number, those that were run.
    pub fn round_count(&self) -> u32 {
        let schedule = &self.header.plan.schedule;
        let last = self.runs.iter().map(|run| run.planned.round.saturating_add(1)).max();
        match schedule.until_sure {
            Some(_) => last.unwrap_or_default(),
            None => last.map_or(schedule.rounds, |last| last.min(schedule.rounds)),
        }
    }

    /// Number of rounds that the case with the fewest has runs of.
    pub fn fewest_rounds(&self) -> u32 {
        let mut of_cases: BTreeMap<u32, u32> = BTreeMap::new();
        for run in &self.runs {
            let rounds = of_cases.entry(run.planned.case).or_default();
            *rounds = (*rounds).max(run.planned.round.saturating_add(1));
        }
        of_cases.into_values().min().unwrap_or_default().min(self.round_count())
    }

    /// Whether rows are judged after each round, so that intervals are those of a sequence.
    /// They are not if a comparison pairs no rounds. A single system is not judged: it has as many rounds as were planned,
    /// until some are added.
    pub fn is_judged_after_each_round(&self) -> bool {
        let plan = &self.header.plan;
        let is_paired = plan.schedule.order == Order::Interleaved && self.apart.is_none();
        is_paired
            && plan.schedule.until_sure.as_ref().is_some_and(|until| {
                plan.systems.len() > 1 || until.begun.is_some_and(|begun| begun.rounds < plan.schedule.rounds)
            })
    }

    /// Cuts the evidence down to the rounds before one.
    #[must_use]
    pub fn before_round(mut self, round: u32) -> Evidence {
        self.runs.retain(|run| run.planned.round < round);
        let kept: BTreeSet<i64> = self.runs.iter().map(|run| run.id).collect();
        self.measurements.retain(|stored| kept.contains(&stored.run_id));
        self.superseded.retain(|stored| kept.contains(&stored.run_id));
        self.marks.retain(|(run, _)| kept.contains(run));
        self.points.retain(|(run, _)| kept.contains(run));
        self.query_plans.retain(|(run, _)| kept.contains(run));
        self
    }

    /// Completes what older stores do not have, and drops marks that are not confirmed.
    fn with_corrections(mut self, source: &dyn SeriesSource) -> Evidence {
        crate::compat::restore_failures(&mut self.measurements, source);
        crate::unsteadiness::drop_unconfirmed_marks(&self.measurements, &mut self.marks);
        self
    }

    /// Looks up a case by its index.
    pub fn case(&self, index: u32) -> Option<&Case> {
        self.cases.get(index as usize)
    }

    /// The header of the experiment that a case is of.
    pub fn header_of_case(&self, case: u32) -> &Header {
        let experiment = match (&self.apart, self.case(case)) {
            (Some(apart), Some(case)) => apart.experiment_of(&case.system),
            _ => None,
        };
        experiment.map_or(&self.header, |one| &one.header)
    }

    /// The headers of all experiments.
    pub fn headers(&self) -> Vec<&Header> {
        match &self.apart {
            Some(apart) => apart.experiments.iter().map(|one| &one.header).collect(),
            None => vec![&self.header],
        }
    }

    /// Whether a case was imported, and not measured by étalon.
    pub fn is_imported(&self, case: u32) -> bool {
        self.header_of_case(case).build == IMPORTED
    }

    /// Lists the machines that made the load, each with its name and facts.
    pub fn load_generators(&self) -> Vec<(&str, &Facts)> {
        let all = self.facts.iter().map(|(subject, facts)| (subject.as_str(), facts));
        all.filter(|(subject, _)| {
            (*subject == CLIENT || subject.starts_with(CLIENT_HOST)) && self.header.plan.system(subject).is_none()
        })
        .collect()
    }

    /// Picks the attempt that counts at each position: the measured one, else the last that failed, else the last.
    /// Interrupting the repetition of a failed run has not undone the failure.
    pub fn last_attempts(&self) -> Vec<&StoredRun> {
        let mut last: BTreeMap<u32, &StoredRun> = BTreeMap::new();
        for run in &self.runs {
            let kept = last.entry(run.planned.position).or_insert(run);
            if kept.state != RunState::Measured
                && (rank_of_state(run), run.attempt) >= (rank_of_state(kept), kept.attempt)
            {
                *kept = run;
            }
        }
        last.into_values().collect()
    }

    /// Whether a position's last attempt has failed for good.
    /// What was aborted may still be run, unless it was imported.
    pub fn has_failed(&self, last: &StoredRun) -> bool {
        last.state == RunState::Failed || last.state == RunState::Aborted && self.is_imported(last.planned.case)
    }

    /// Counts the runs of a case that failed for good, so that the others give no figure of the case.
    pub fn failed_runs(&self, case: u32) -> usize {
        self.last_attempts().into_iter().filter(|run| run.planned.case == case && self.has_failed(run)).count()
    }

    /// Whether the experiment was imported as a whole, so that no system of it can be run here.
    pub fn is_import(&self) -> bool {
        self.header.build == IMPORTED
    }

    /// The progress of an experiment with a position planned, running, or aborted and not repeated; `None` at its end.
    /// What failed for good has ended, and so has an import unless its table reports that it had not.
    pub fn progress_if_unfinished(&self) -> Option<Unfinished> {
        if self.apart.is_some() {
            // Nothing else is joined.
            return None;
        }
        if self.header.build == IMPORTED {
            return self.unfinished_when_exported();
        }
        let last = self.last_attempts();
        let open = self
            .runs
            .iter()
            .filter(|run| matches!(run.state, RunState::Planned | RunState::Running))
            .chain(last.iter().copied().filter(|run| run.state == RunState::Aborted));
        let open: BTreeSet<(u32, u32)> = open.map(|run| (run.planned.round, run.planned.position)).collect();
        let (of, left, unit) = match self.header.plan.schedule.order {
            Order::Sequential => (last.len(), open.len(), "run"),
            Order::Interleaved => (
                number_of_different(last.iter().map(|run| run.planned.round)),
                number_of_different(open.iter().map(|(round, _)| *round)),
                "round",
            ),
        };
        (left > 0).then(|| Unfinished { ended: of - left, of, unit })
    }

    /// The progress of an imported experiment when étalon exported it; `None` if it was at its end.
    fn unfinished_when_exported(&self) -> Option<Unfinished> {
        let (ended, of) = self.facts.values().find_map(Facts::finished_runs)?;
        let unit = if self.header.plan.schedule.order == Order::Sequential { "run" } else { "round" };
        Some(Unfinished { ended, of, unit })
    }

    /// Counts the positions by the state of their last attempt.
    pub fn run_counts(&self) -> RunCounts {
        let mut counts = RunCounts::default();
        for run in self.last_attempts() {
            counts.planned += 1;
            match run.state {
                RunState::Measured => counts.measured += 1,
                RunState::Failed => counts.failed += 1,
                RunState::Aborted => counts.aborted += 1,
                RunState::Planned | RunState::Running | RunState::Superseded => {}
            }
        }
        counts
    }

    /// The time when a run began; `None` if that is not known, as of imports without times, which have that of the import.
    pub fn began_unix_ms(&self, run: &StoredRun) -> Option<i64> {
        let header = self.header_of_case(run.planned.case);
        let of_import = (header.build == IMPORTED).then_some(header.created_unix_ms);
        run.started_unix_ms.filter(|instant| Some(*instant) != of_import)
    }

    /// Lists the marks on a run.
    pub fn marks_of_run(&self, run: i64) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |(id, _)| *id == run).map(|(_, mark)| mark)
    }

    /// The server of a system: itself, or the one that it is an alias of.
    /// A server with a change is another system than without it.
    pub fn server_of<'a>(&'a self, system: &'a str) -> &'a str {
        let unchanged = self.header.plan.system(system).filter(|plan| plan.change.is_none());
        unchanged.and_then(|plan| plan.alias_of.as_deref()).unwrap_or(system)
    }

    /// Looks up a system's facts; an alias without any has its server's.
    pub fn facts_of(&self, system: &str) -> Option<&Facts> {
        self.facts.get(system).or_else(|| self.facts.get(self.server_of(system)))
    }

    /// The durability of a system's commits, by its settings, or less if its runs are marked so.
    pub fn durability_of(&self, system: &str) -> Option<Durability> {
        let promised = self.facts_of(system)?.durability()?;
        let measured = self
            .runs
            .iter()
            .filter(|run| run.state == RunState::Measured)
            .filter(|run| self.case(run.planned.case).is_some_and(|case| case.system == system));
        let runs: BTreeSet<i64> = measured.map(|run| run.id).collect();
        let marks = self.marks.iter().filter(|(run, _)| runs.contains(run)).map(|(_, mark)| mark);
        let weakest =
            marks.filter_map(|mark| Some((mark.kind.promised_durability()?, mark))).min_by_key(|(tier, _)| *tier);
        Some(match weakest {
            Some((tier, mark)) if tier < promised.tier => {
                Durability { tier, because: format!("{}; {}", promised.because, mark.detail), except: None }
            }
            _ => promised,
        })
    }
}

/// Counts the distinct numbers.
fn number_of_different(rounds: impl Iterator<Item = u32>) -> usize {
    rounds.collect::<BTreeSet<u32>>().len()
}

/// Ranks a run by what it shows: a measured one over a failed one over others.
fn rank_of_state(run: &StoredRun) -> u8 {
    match run.state {
        RunState::Measured => 2,
        RunState::Failed => 1,
        _ => 0,
    }
}
