//! Observers of the conductor: progress, exporters, test recorders.

use std::time::Duration;

use model::{Case, Facts, Look, PlannedRun, RunRecord};
use serde::{Deserialize, Serialize};

use crate::worker::TaskLog;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Successes of the workload's unit.
    pub rate_per_s: f64,
    /// Median response time, in nanoseconds, if the interval has one.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the response time, in nanoseconds, if the interval has one.
    pub p99_ns: Option<u64>,
    pub errors: u64,
    /// Most transactions that were due and not started.
    pub backlog: u64,
}

/// How far the experiment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimentProgress {
    pub done: usize,
    pub planned: usize,
    /// The time left, by the plan and the preparation so far.
    pub left: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepProgress<'a> {
    /// Current activity, in a few words.
    pub what: &'a str,
    pub done: usize,
    pub of: usize,
}

/// The progress of a load of tables that takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesProgress<'a> {
    /// Name of the data set.
    pub data: &'a str,
    pub rows_done: u64,
    /// Number of rows in all.
    pub rows: u64,
    /// The time left for the rows, at the speed so far; `None` before it is known.
    pub left: Option<Duration>,
}

/// Every method has an empty default.
pub trait Observer {
    /// Is called before a system is opened.
    fn system_opening(&mut self, _name: &str) {}

    /// Called once the system's facts are known.
    fn system_known(&mut self, _name: &str, _facts: &Facts) {}

    /// Is called with the number of measured runs that are repeated with the rest of their rounds.
    fn runs_repeated(&mut self, _runs: usize) {}

    /// Called at each look of an experiment that ends when it is sure; late if its time is over.
    fn look_taken(&mut self, _rounds: u32, _found: &Look, _is_late: bool) {}

    /// Called before a round's first run.
    fn round_started(&mut self, _round: u32, _rounds: u32) {}

    /// Is called before a run.
    fn run_started(&mut self, _run: &PlannedRun, _case: &Case, _progress: ExperimentProgress) {}

    /// Now and then while tables are loaded; once all rows are there, their keys and indexes are made, and they are checked.
    fn tables_loading(&mut self, _progress: TablesProgress<'_>) {}

    /// Is called about once a second while a load runs.
    fn tick(&mut self, _tick: Tick) {}

    /// Finished tasks per process, before [`Observer::run_ended`].
    fn tasks_ended(&mut self, _logs: &[TaskLog]) {}

    /// Is called when a part of a procedure begins.
    fn step_started(&mut self, _progress: StepProgress<'_>) {}

    /// Is called when a run has ended and is stored.
    fn run_ended(&mut self, _run: &PlannedRun, _case: &Case, _record: &RunRecord) {}

    /// Is called with something that the user should know.
    fn warning(&mut self, _text: &str) {}
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
