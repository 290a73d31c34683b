//! What can be asked of a system.

pub mod backup;
pub mod creation;
pub mod disk;
pub mod pages;
pub mod smack;
pub mod spatial;
pub mod texts;
pub mod transactions;

use std::ops::Range;
use std::time::Duration;

use model::{Facts, Point, Schedule, WorkloadSpec};

use crate::dataset::{Dataset, Tables};
use crate::error::{Failure, FailureKind};
use crate::permits::Permits;
use crate::session::SessionKind;
use crate::step::{StepContext, Stepped};
use crate::target::{LoadKind, Target, Threads};
use crate::traffic::Traffic;
use crate::worker::Pace;
use disk::BlockLoad;
pub use texts::Texts;
use transactions::{Debug, Program, Shell};

pub trait Workload: Sync {
    /// What plans and lists say of it.
    fn spec(&self) -> WorkloadSpec;

    /// `point` holds a value for every key of the specification.
    fn task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure>;
}

/// What the user grants on the command line; a plan cannot grant it to itself.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// What `\shell` and `\setshell` may do.
    pub shell: Shell,
    /// Where the lines of `debug(x)` go.
    pub debug: Debug,
    /// Where the files that a task names are read from.
    pub texts: Texts,
    /// What else of this host a task may reach.
    pub permits: Permits,
}

#[derive(Debug)]
pub struct Task {
    /// The tables and rows that it works on.
    pub dataset: Dataset,
    pub action: Action,
}

impl Task {
    pub fn tables(&self) -> Tables {
        match &self.action {
            Action::Stream(StreamTask { work: Work::Statements(program), .. }) => program.tables,
            Action::Stream(StreamTask { work: Work::Blocks(_), .. }) => Tables::Own,
            Action::Step(_) => Tables::Own,
        }
    }

    pub fn load_kind(&self) -> LoadKind {
        match &self.action {
            Action::Stream(StreamTask { work: Work::Blocks(_), .. }) => LoadKind::Blocks,
            Action::Stream(StreamTask { work: Work::Statements(_), .. }) | Action::Step(_) => LoadKind::Statements,
        }
    }

    /// Holds the task against the plan's schedule.
    pub fn check(&self, schedule: &Schedule) -> Result<(), Failure> {
        match &self.action {
            Action::Stream(stream) => stream.check(schedule),
            Action::Step(_) => Ok(()),
        }
    }
}

#[allow(clippy::large_enum_variant, reason = "there is one for each run")]
pub enum Action {
    /// A stream of transactions, paced, by many clients.
    Stream(StreamTask),
    Step(Box<dyn Procedure>),
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Action::Stream(task) => task.fmt(f),
            Action::Step(_) => f.write_str("Step"),
        }
    }
}

#[derive(Debug)]
pub enum Work {
    Statements(Program),
    Blocks(BlockLoad),
}

impl From<Program> for Work {
    fn from(program: Program) -> Work {
        Work::Statements(program)
    }
}

#[derive(Debug)]
pub struct StreamTask {
    pub work: Work,
    /// Counted from 0 over all processes.
    pub clients: Range<u32>,
    pub pace: Pace,
    pub threads: Threads,
    pub traffic: Traffic,
}

impl StreamTask {
    /// One per client, or the processes' pools.
    pub fn connections(&self) -> u64 {
        match self.traffic.pool {
            Some(pool) => u64::from(pool.connections) * u64::from(self.traffic.processes),
            None => self.clients.len() as u64,
        }
    }

    pub fn check(&self, schedule: &Schedule) -> Result<(), Failure> {
        let ramp = Duration::from_nanos(self.traffic.ramp_ns);
        if self.traffic.tasks.is_none() && ramp > schedule.warmup {
            let [ramp, warmup] = [ramp, schedule.warmup].map(model::duration::format);
            let cause = format!("the ramp of {ramp} would reach into the measured part: the warm-up is {warmup}");
            return Err(Failure::new(FailureKind::Plan, "measure under a ramp", cause)
                .hint("set `schedule.warmup` to the ramp's length or more"));
        }
        Ok(())
    }
}

/// A single long step, run once a run.
pub trait Procedure: Send + Sync {
    /// # Errors
    ///
    /// The system failed or its answer was wrong, so the run has no result. A feature that an engine lacks is not an
    /// error but a [`model::Reading::Unavailable`] with the reason.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure>;

    /// What these sessions need is checked, and recorded as facts, before the first run.
    fn session_kind(&self) -> SessionKind {
        SessionKind::Plain
    }

    /// At a time, not counting the one or two that it asks by.
    fn connections(&self) -> u64 {
        0
    }

    /// Facts beyond the system's own, such as the versions of programs that the procedure calls.
    fn facts(&self, _target: &dyn Target) -> Facts {
        Facts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Length, OnError, Order};

    #[test]
    fn a_ramp_must_end_before_the_measured_part_begins() {
        let program = transactions::compile("SELECT 1;", &[]).unwrap();
        let traffic = Traffic { ramp_ns: 2_000_000_000, ..Traffic::default() };
        let work = program.into();
        let mut task = StreamTask { work, clients: 0..1, pace: Pace::Closed, threads: Threads::Best, traffic };
        let mut schedule = Schedule {
            rounds: 1,
            warmup: Duration::from_secs(1),
            length: Length::Transactions(1),
            order: Order::Interleaved,
            seed: 1,
            on_error: OnError::Stop,
        };
        let refused = task.check(&schedule).unwrap_err();
        assert!(refused.to_string().contains("the ramp of 2s"), "{refused}");
        schedule.warmup = Duration::from_secs(2);
        assert_eq!(task.check(&schedule), Ok(()));
        schedule.warmup = Duration::ZERO;
        task.traffic.tasks = Some(1);
        assert_eq!(task.check(&schedule), Ok(()), "tasks have no warm-up");
    }
}
