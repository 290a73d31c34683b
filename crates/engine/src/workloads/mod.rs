//! What can be asked of a system.

pub mod transactions;

use std::ops::Range;

use model::{Measurement, Point, WorkloadSpec};

use crate::dataset::Dataset;
use crate::error::Failure;
use crate::target::Target;
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
    /// How many clients, counted from 0.
    pub clients: Range<u32>,
    /// How they are paced, all together.
    pub pace: Pace,
}

/// A single long step, run once a trial.
pub trait Procedure: Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// The system failed, or its answer was wrong.
    fn run(&self, target: &dyn Target) -> Result<Vec<Measurement>, Failure>;
}
