//! What can be asked of a system.

use std::sync::Arc;
use std::time::Duration;

use model::{Facts, Point, Schedule, WorkloadSpec};

use crate::dataset::{Dataset, Tables};
use crate::permits::Permits;
use crate::queries::FirstAnswers;
use crate::session::SessionKind;
use crate::step::{StepContext, Stepped};
use crate::system::System;
use crate::texts::Texts;
use crate::transactions::{Debug, Shell};
use crate::work::{LoadKind, StreamTask, StreamWork};
use load::error::Failure;

pub trait Workload: Sync {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec;

    /// Whether a case works on tables that are there, and étalon makes none for it.
    fn is_on_tables_of_others(&self, _point: &Point) -> bool {
        false
    }

    /// Makes the task of a plan's point, which holds a value for every key of the specification.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure>;
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
    /// The first answers to queries, by which all systems are compared.
    pub first_answers: Arc<FirstAnswers>,
}

#[derive(Debug)]
pub struct Task {
    /// The tables and rows that it works on.
    pub dataset: Dataset,
    pub action: Action,
}

impl Task {
    /// Whose tables the task works on.
    pub fn tables(&self) -> Tables {
        match &self.action {
            Action::Stream(StreamTask { work: StreamWork::Statements(program), .. }) => program.tables,
            Action::Stream(StreamTask { work: StreamWork::Blocks(_), .. }) => Tables::Own,
            Action::Step(procedure) => procedure.tables(),
        }
    }

    /// The kind of load that the task needs a system for.
    pub fn load_kind(&self) -> LoadKind {
        match &self.action {
            Action::Stream(stream) => stream.work.load_kind(),
            Action::Step(_) => LoadKind::Statements,
        }
    }

    /// Fails if the task cannot be run by the plan's schedule.
    pub fn check_schedule(&self, schedule: &Schedule) -> Result<(), Failure> {
        match &self.action {
            Action::Stream(stream) => stream.shape.check_schedule(schedule),
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

/// A single long step, run once a run.
pub trait Procedure: Send + Sync {
    /// Runs the procedure once.
    ///
    /// # Errors
    ///
    /// The system failed or its answer was wrong, so the run has no result. A feature that an engine does not have is not an
    /// error but a [`model::Reading::Unavailable`] with the reason.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure>;

    /// The kind of session that the procedure needs, which is checked, and recorded as facts, before the first run.
    fn session_kind(&self) -> SessionKind {
        SessionKind::Plain
    }

    /// Whether a run lasts about as long as the schedule says.
    fn lasts_as_scheduled(&self) -> bool {
        false
    }

    /// Whether all that a run asks of the server travels over étalon's own sessions, so that what others' do there can be distinguished.
    fn has_only_own_sessions(&self) -> bool {
        false
    }

    /// Shortest time that a run takes, as far as that is known before.
    fn least_length(&self) -> Duration {
        Duration::ZERO
    }

    /// How often a run moves all of its data, for the time that is expected of it.
    fn passes(&self) -> u32 {
        1
    }

    /// Whose tables the procedure works on.
    fn tables(&self) -> Tables {
        Tables::Own
    }

    /// Whether it empties the caches itself before whatever it measures, where the plan has `caches = "cold"`.
    fn empties_caches(&self) -> bool {
        false
    }

    /// Number of connections at a time, not counting the one or two that the procedure asks by.
    fn connections(&self) -> u64 {
        0
    }

    /// Reads facts beyond the system's own, such as the versions of programs that the procedure calls.
    fn procedure_facts(&self, _system: &dyn System) -> Facts {
        Facts::default()
    }
}
