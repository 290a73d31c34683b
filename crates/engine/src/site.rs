//! Where a system is and what is done with it there: in this process, or with an agent on another host.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::{Cell, Facts, Schedule, SystemPlan, TrialRecord};

use crate::crew::{Crew, Local, Order};
use crate::dataset::Tables;
use crate::error::Failure;
use crate::observer::Observer;
use crate::session::SessionKind;
use crate::step::{self, StepContext};
use crate::target::{LoadKind, OpenRequest, Target};
use crate::trial::{OfTarget, Trial};
use crate::workloads::{Action, StreamTask, Task};

/// A trial as its site sees it.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The cell: what another host compiles the task from.
    pub cell: &'a Cell,
    pub task: &'a Task,
    pub schedule: &'a Schedule,
    /// Seed of the trial's random streams: the same for all systems of a block.
    pub seed: u64,
    /// Set by the user's Ctrl-C.
    pub interrupt: &'a Arc<AtomicBool>,
}

impl<'a> Job<'a> {
    /// The load of a stream.
    pub fn order(&self, task: &'a StreamTask) -> Order<'a> {
        Order { task, schedule: self.schedule, seed: self.seed, interrupt: self.interrupt }
    }
}

/// A system where it is, ready to be asked. As of a [`Target`], which it is with its host.
pub trait Site: Send + Sync {
    /// What kind of load the system carries.
    fn carries(&self) -> LoadKind;

    /// Files and sockets that a client holds open in this process; 0 if it holds none.
    fn files_per_client(&self) -> u64;

    /// The facts of the system, with those that the tasks ask for beside its own.
    fn facts(&self, cells: &[(&Cell, &Task)]) -> Result<Facts, Failure>;

    /// Makes the tables that the task works on, if they are to be étalon's own. Done once, whoever makes the load.
    fn prepare(&self, job: &Job<'_>) -> Result<(), Failure>;

    /// Brings background work to rest, and runs the trial. The load of a stream is made by `crew` or, without one, where
    /// the system is.
    fn run(&self, job: &Job<'_>, crew: Option<&dyn Crew>, observer: &mut dyn Observer) -> Result<TrialRecord, Failure>;

    /// The system as other hosts reach it, without a password of the user's.
    fn reach(&self) -> Result<SystemPlan, Failure>;

    /// As [`Target::begin_block`].
    fn begin_block(&self) -> Result<(), Failure>;

    /// As [`Target::revive`].
    fn revive(&self) -> Result<(), Failure>;

    /// As [`Target::drop_all`].
    fn drop_all(&self) -> Result<(), Failure>;
}

/// Where the systems of a plan are, and which hosts make the load, for a plan that names hosts.
pub trait Places: Send + Sync {
    /// The site of a system; nothing if it is in this process.
    fn site(&self, request: &OpenRequest<'_>) -> Result<Option<Arc<dyn Site>>, Failure>;

    /// Has the hosts that make the load of a system look at it once it is open: what one of them may not reach is said before
    /// anything is prepared.
    fn introduce(&self, request: &OpenRequest<'_>, site: &dyn Site) -> Result<(), Failure>;

    /// Who makes the load of a trial; nothing if it is made where the system is.
    fn crew<'a>(&'a self, job: &Job<'a>, site: &'a dyn Site) -> Result<Option<Box<dyn Crew + 'a>>, Failure>;

    /// The facts of the hosts that make the load, by subject.
    fn facts(&self) -> Result<Vec<(String, Facts)>, Failure>;

    /// The record of this very trial, if an earlier run of the experiment had it measured and ended before it was stored.
    /// It is given once.
    fn left_over(&self, job: &Job<'_>, observer: &mut dyn Observer) -> Option<TrialRecord>;

    /// What was heard so far is in the store.
    fn committed(&self);
}

/// A system in this process.
pub struct Here {
    target: Arc<dyn Target>,
    system: SystemPlan,
}

impl Here {
    /// A target of this process.
    pub fn new(target: Arc<dyn Target>, system: &SystemPlan) -> Here {
        Here { target, system: system.clone() }
    }
}

impl Site for Here {
    fn carries(&self) -> LoadKind {
        self.target.carries()
    }

    fn files_per_client(&self) -> u64 {
        self.target.files_per_client()
    }

    fn facts(&self, cells: &[(&Cell, &Task)]) -> Result<Facts, Failure> {
        let target = &*self.target;
        let mut facts = target.facts()?;
        for kind in session_kinds(cells) {
            facts.absorb("session", target.session_facts(kind)?);
        }
        for (_, task) in cells {
            if let Action::Step(procedure) = &task.action {
                facts.absorb("program", procedure.facts(target));
            }
        }
        Ok(facts)
    }

    fn prepare(&self, job: &Job<'_>) -> Result<(), Failure> {
        match job.task.tables() {
            Tables::Own => self.target.prepare(&job.task.dataset),
            Tables::None => Ok(()),
        }
    }

    fn run(&self, job: &Job<'_>, crew: Option<&dyn Crew>, observer: &mut dyn Observer) -> Result<TrialRecord, Failure> {
        let target = &*self.target;
        target.settle()?;
        match &job.task.action {
            Action::Stream(stream) => {
                let own = Local::new(target);
                let crew = crew.unwrap_or(&own);
                Trial { ledger: &OfTarget(target), crew, order: job.order(stream) }.run(observer)
            }
            Action::Step(procedure) => {
                let (schedule, seed) = (job.schedule, job.seed);
                let mut context = StepContext { target, schedule, seed, interrupt: job.interrupt, observer };
                step::run(&**procedure, &mut context)
            }
        }
    }

    fn reach(&self) -> Result<SystemPlan, Failure> {
        self.target.reach(&self.system)
    }

    fn begin_block(&self) -> Result<(), Failure> {
        self.target.begin_block()
    }

    fn revive(&self) -> Result<(), Failure> {
        self.target.revive()
    }

    fn drop_all(&self) -> Result<(), Failure> {
        self.target.drop_all()
    }
}

/// The kinds of sessions that the tasks ask for.
fn session_kinds(cells: &[(&Cell, &Task)]) -> Vec<SessionKind> {
    let kind = |task: &Task| match &task.action {
        Action::Step(procedure) => Some(procedure.session_kind()),
        Action::Stream(_) => None,
    };
    let mut kinds: Vec<SessionKind> = cells.iter().filter_map(|(_, task)| kind(task)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}
