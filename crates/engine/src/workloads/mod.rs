//! What can be asked of a system.

pub mod smack;
pub mod transactions;

use std::ops::Range;
use std::time::Duration;

use model::{Measurement, Point, Schedule, WorkloadSpec};

use crate::dataset::Dataset;
use crate::error::{Failure, FailureKind};
use crate::target::Target;
use crate::traffic::Traffic;
use crate::worker::Pace;
use transactions::Program;

/// A workload: one entry of the registry.
pub trait Workload: Sync {
    /// What plans and lists say of it.
    fn spec(&self) -> WorkloadSpec;

    /// What one cell asks for. `point` holds a value for every key of the specification.
    ///
    /// # Errors
    /// The point asks for something that does not exist, such as a script.
    fn task(&self, point: &Point) -> Result<Task, Failure>;
}

/// What a cell asks for.
#[derive(Debug)]
pub struct Task {
    /// The tables and rows that it works on.
    pub dataset: Dataset,
    /// What is executed.
    pub action: Action,
}

/// What is executed.
#[allow(clippy::large_enum_variant, reason = "there is one for each trial")]
pub enum Action {
    /// A stream of transactions, paced, by many clients.
    Stream(StreamTask),
    /// One long step.
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

/// A stream of transactions.
#[derive(Debug)]
pub struct StreamTask {
    /// The compiled script.
    pub program: Program,
    /// How many clients, or tasks, counted from 0; those of all processes.
    pub clients: Range<u32>,
    /// How they are paced, all together.
    pub pace: Pace,
    /// How their transactions come otherwise.
    pub traffic: Traffic,
}

impl StreamTask {
    /// Holds the task against the plan's schedule.
    ///
    /// # Errors
    /// They contradict each other.
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

/// A single long step, run once a trial.
pub trait Procedure: Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// The system failed, or its answer was wrong.
    fn run(&self, target: &dyn Target) -> Result<Vec<Measurement>, Failure>;
}
