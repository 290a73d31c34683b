//! Who wants to know what the conductor does: progress, exporters, recorders of tests.

use std::time::Duration;

use model::{Cell, Facts, PlannedTrial, TrialRecord};

use crate::worker::TaskLog;

/// One interval of the running trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Transactions, or what the workload is made of, that ended well, per second.
    pub rate_per_s: f64,
    /// Median response time, in nanoseconds, if the interval has one.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the response time, in nanoseconds, if the interval has one.
    pub p99_ns: Option<u64>,
    pub errors: u64,
    /// The most transactions that were due and not begun at one time.
    pub backlog: u64,
}

/// How far the experiment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Trials that are done, before this one.
    pub done: usize,
    /// Trials that the plan asks for.
    pub planned: usize,
    /// Time left, from the plan and from what preparation has taken so far.
    pub left: Duration,
}

/// How far a single long step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepProgress<'a> {
    /// What it does now, in a few words.
    pub what: &'a str,
    /// Parts that are done.
    pub done: usize,
    /// Parts that there are.
    pub of: usize,
}

/// Hears what happens. Every method does nothing unless it is written.
pub trait Observer {
    /// A system is being opened.
    fn system_opening(&mut self, _name: &str) {}

    /// A system has said what it is.
    fn system_known(&mut self, _name: &str, _facts: &Facts) {}

    /// So many measured trials are to be measured again with the rest of their blocks.
    fn repeated(&mut self, _trials: usize) {}

    /// The first trial of a block is about to begin.
    fn block_started(&mut self, _block: u32, _blocks: u32) {}

    fn trial_started(&mut self, _trial: &PlannedTrial, _cell: &Cell, _progress: Progress) {}

    /// An interval of the running trial has ended.
    fn tick(&mut self, _tick: Tick) {}

    /// What each process of a trial's load did with its tasks, before [`Observer::trial_ended`]. Only loads that consist
    /// of tasks have any.
    fn tasks_ended(&mut self, _logs: &[TaskLog]) {}

    /// A part of the running step begins.
    fn step(&mut self, _progress: StepProgress<'_>) {}

    /// A trial has ended and is in the store.
    fn trial_ended(&mut self, _trial: &PlannedTrial, _cell: &Cell, _record: &TrialRecord) {}

    /// Something that the user should know.
    fn warning(&mut self, _text: &str) {}
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
