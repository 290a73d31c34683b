//! What a stream asks of a system, and a run of it.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use model::metric::FAILED_SHARE;
use model::{Mark, Measurement, Role, RunRecord, Schedule};
use serde::{Deserialize, Serialize};

use crate::disk::{self, BlockLoad, Cursors};
use crate::system::System;
use crate::transactions::{Checking, Moment, Program, counted};
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::generator::{Driver, LoadGenerator, LoadShape, LoadSpec, Local, ThreadLimit};
use load::lock_watch::LockWaiters;
use load::measure::{self, LoadResult};
use load::observer::Observer;
use load::overlap::Overlap;
use load::run::{Account, LoadRun, ServerCounters};
use load::worker::{LoadCounts, WorkerContext};

/// A load for a system.
#[derive(Clone, Copy, Debug)]
pub enum Load<'a> {
    Statements(&'a Program),
    Blocks {
        load: &'a BlockLoad,
        /// Progress shared by the run's threads.
        cursors: &'a Cursors,
    },
}

impl<'a> Load<'a> {
    /// The program of a load of statements; fails for a load of blocks.
    pub fn statements(self) -> Result<&'a Program, Failure> {
        match self {
            Load::Statements(program) => Ok(program),
            Load::Blocks { .. } => {
                let cause = "this engine answers statements, and has no blocks to read and write";
                let hint = "name a folder or a file: `url = \"disk:DIR\"`";
                Err(Failure::new(FailureKind::Unsupported, "carry the load", cause).with_hint(hint))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadKind {
    Statements,
    Blocks,
}

/// What a stream asks.
#[derive(Debug)]
pub enum StreamWork {
    Statements(Box<Program>),
    Blocks(BlockLoad),
}

impl From<Program> for StreamWork {
    fn from(program: Program) -> StreamWork {
        StreamWork::Statements(Box::new(program))
    }
}

impl StreamWork {
    /// The kind of load that a system must be able to run for this work.
    pub fn load_kind(&self) -> LoadKind {
        match self {
            StreamWork::Statements(_) => LoadKind::Statements,
            StreamWork::Blocks(_) => LoadKind::Blocks,
        }
    }

    /// Puts the work on a system, so that workers can run it.
    pub fn on_system<'a>(&'a self, system: &'a dyn System) -> WorkOn<'a> {
        WorkOn { system, work: self, cursors: Cursors::for_work(self) }
    }
}

impl StreamWork {
    /// Facts that the keys of the load leave open, by name.
    pub fn work_facts(&self) -> Vec<(&'static str, String)> {
        match self {
            StreamWork::Statements(program) => program.native.as_ref().map_or_else(Vec::new, |own| own.facts()),
            StreamWork::Blocks(_) => Vec::new(),
        }
    }

    /// Estimates how many seconds the load's own checks take.
    pub fn check_cost(&self) -> Checking {
        match self {
            StreamWork::Statements(program) => {
                program.native.as_ref().map_or_else(Checking::default, |own| own.check_cost())
            }
            StreamWork::Blocks(_) => Checking::default(),
        }
    }

    /// Lists the queries by which runs are checked.
    pub fn check_queries(&self) -> Vec<String> {
        match self {
            StreamWork::Statements(program) => program.check_queries(),
            StreamWork::Blocks(_) => Vec::new(),
        }
    }

    /// Lists the check's queries whose answers grow with every run.
    pub fn growing_queries(&self) -> Vec<String> {
        match self {
            StreamWork::Statements(program) => program.growing_queries(),
            StreamWork::Blocks(_) => Vec::new(),
        }
    }

    /// Fails unless the server's tables hold everything that the load knows of them.
    ///
    /// # Errors
    /// [`FailureKind::Verification`]: they are not what they must be.
    pub fn inspect_tables(&self, server: &dyn ServerCounters, moment: Moment) -> Result<(), Failure> {
        match self {
            StreamWork::Statements(program) => {
                program.native.as_ref().map_or(Ok(()), |own| own.inspect_tables(server, moment))
            }
            StreamWork::Blocks(_) => Ok(()),
        }
    }
}

impl Account for StreamWork {
    /// Checks a run's counts against the server; returns the server's counters and marks.
    fn check_counts(
        &self,
        server: &dyn ServerCounters,
        before: &Counters,
        counts: &LoadCounts,
    ) -> Result<(Counters, Vec<Mark>), Failure> {
        match self {
            StreamWork::Statements(program) => counted::check_run(program, server, before, counts),
            StreamWork::Blocks(_) => Ok((server.counters()?.since(before), Vec::new())),
        }
    }

    /// Makes the record of a run: its measurements, series and marks.
    fn make_record(&self, evidence: LoadResult<'_>, before: &Counters) -> RunRecord {
        match self {
            StreamWork::Statements(program) => {
                let own = program.native.as_ref().map(|native| native.extra_measurements(&evidence.counts));
                let mut record = measure::run_record(evidence);
                if let Some((measurements, marks)) = own {
                    demote_to_secondary(&mut record.measurements);
                    record.measurements.extend(measurements);
                    record.marks.extend(marks);
                }
                record
            }
            StreamWork::Blocks(load) => disk::run_record(evidence, load, before.devices.as_ref()),
        }
    }
}

/// Makes primary measurements secondary, but for what failed: a load says itself what it is judged by.
///
/// Transactions that fail make no system faster.
fn demote_to_secondary(measurements: &mut [Measurement]) {
    let judged = measurements.iter_mut().map(|found| &mut found.metric).filter(|metric| metric.role == Role::Primary);
    judged.filter(|metric| metric.id != FAILED_SHARE).for_each(|metric| metric.role = Role::Secondary);
}

/// A system with its work.
pub struct WorkOn<'a> {
    system: &'a dyn System,
    work: &'a StreamWork,
    /// Progress shared by the run's threads.
    cursors: Cursors,
}

impl Driver for WorkOn<'_> {
    /// Shares out clients among threads, as the system has it.
    fn split_clients(&self, clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>> {
        self.system.split_clients(clients, threads)
    }

    /// Runs a worker's part of the run on this thread.
    fn run_worker(&self, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let load = match self.work {
            StreamWork::Statements(program) => Load::Statements(program),
            StreamWork::Blocks(load) => Load::Blocks { load, cursors: &self.cursors },
        };
        self.system.drive(load, context)
    }
}

#[derive(Debug)]
pub struct StreamTask {
    pub work: StreamWork,
    pub shape: LoadShape,
}

pub struct RunTask<'a> {
    pub system: &'a dyn System,
    pub task: &'a StreamTask,
    pub schedule: &'a Schedule,
    pub seed: u64,
    pub interrupt: &'a AtomicBool,
}

impl RunTask<'_> {
    /// Runs the task with this process as the load generator.
    pub fn run_here(&self, observer: &mut dyn Observer) -> Result<RunRecord, Failure> {
        self.run_by(&Local::new(&self.task.work.on_system(self.system)), observer)
    }

    /// Runs the load as long as `overlap` lasts, instead of the schedule's length.
    pub fn run_overlapping(&self, overlap: &Overlap, observer: &mut dyn Observer) -> Result<RunRecord, Failure> {
        let _end_of_load = EndOfLoad(overlap);
        self.run_by(&Local::new(&self.task.work.on_system(self.system)).overlapping(overlap), observer)
    }

    /// Runs the task with a load generator, and returns the run's record.
    fn run_by(&self, generator: &dyn LoadGenerator, observer: &mut dyn Observer) -> Result<RunRecord, Failure> {
        let RunTask { system, task, schedule, seed, interrupt } = *self;
        let spec = LoadSpec { shape: &task.shape, schedule, seed, interrupt };
        LoadRun { server: &SystemCounters(system), generator, account: &task.work, spec }.run(observer)
    }
}

/// Tells the other side that the load has ended.
struct EndOfLoad<'a>(&'a Overlap);

impl Drop for EndOfLoad<'_> {
    fn drop(&mut self) {
        self.0.load_has_ended();
    }
}

pub struct SystemCounters<'a>(pub &'a dyn System);

impl ServerCounters for SystemCounters<'_> {
    /// Reads what the server has counted so far.
    fn counters(&self) -> Result<Counters, Failure> {
        self.0.counters()
    }

    /// CPU seconds so far of the server's processes, or of étalon's for an engine with threads of its own in it.
    fn server_cpu_s(&self) -> Result<f64, String> {
        match self.0.placement() {
            Placement::OwnThreads => Ok(host::cpu::process_cpu()?.as_secs_f64()),
            Placement::InProcess | Placement::Server => self.0.server_cpu_s(),
        }
    }

    /// Runs a query, and returns the whole number that it answers.
    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        self.0.scalar(sql)
    }

    /// Runs queries, and returns the whole numbers that they answer.
    fn scalars(&self, questions: &[String]) -> Result<Vec<i64>, Failure> {
        self.0.scalars(questions)
    }

    /// Counts the load's sessions that wait for locks; `None` if the system does not show them.
    fn lock_waiters(&self) -> Result<Option<LockWaiters>, Failure> {
        self.0.lock_waiters()
    }

    /// Where the system runs, as seen from the load generator.
    fn placement(&self) -> Placement {
        self.0.placement()
    }
}

#[cfg(test)]
mod tests {
    use model::{Direction, Reading};

    use super::*;

    #[test]
    fn what_failed_is_judged_of_every_load() {
        let mut all = vec![
            Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, 9.0),
            Measurement::failed_share(Reading::Value(100.0)),
            Measurement::value("errors", "", Direction::Lower, Role::Diagnostic, 9.0),
        ];
        demote_to_secondary(&mut all);
        let roles: Vec<Role> = all.iter().map(|found| found.metric.role).collect();
        assert_eq!(roles, [Role::Secondary, Role::Primary, Role::Diagnostic]);
    }
}
