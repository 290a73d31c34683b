use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::{Caches, Mark, Measurement, QueryPlan, Reading, RunRecord, RunState, Schedule, Series};

use crate::system::System;
use crate::work::SystemCounters;
use crate::workload::Procedure;
use load::counters::Placement;
use load::error::Failure;
use load::lock_watch::LockWaits;
use load::observer::{Observer, StepProgress};

/// What a step works with.
pub struct StepContext<'a> {
    pub system: &'a dyn System,
    pub schedule: &'a Schedule,
    /// Equal for all systems of a round.
    pub seed: u64,
    /// Set by the user's Ctrl-C.
    pub interrupt: &'a AtomicBool,
    pub observer: &'a mut dyn Observer,
}

#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// The length of the measured part only.
    pub elapsed_s: f64,
    pub measurements: Vec<Measurement>,
    pub series: Vec<Series>,
    /// What a reader should know.
    pub marks: Vec<Mark>,
    /// The plans of the queries that it asked, if it asked some.
    pub query_plans: Vec<QueryPlan>,
}

#[derive(Clone, Debug)]
pub enum Stepped {
    Done(StepOutcome),
    Interrupted,
}

impl StepContext<'_> {
    /// Whether the user has interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Reports that part `done` (from 0) of `of` begins.
    pub fn report_progress(&mut self, what: &str, done: usize, of: usize) {
        self.observer.step_started(StepProgress { what, done, of });
    }
}

/// Runs a procedure on tables that are prepared and settled, and makes the record of the run.
pub fn run_step(procedure: &dyn Procedure, context: &mut StepContext<'_>) -> Result<RunRecord, Failure> {
    Ok(match run_watched(procedure, context)? {
        Stepped::Interrupted => RunRecord::without_result(RunState::Aborted, model::run::INTERRUPTED),
        Stepped::Done(outcome) => RunRecord {
            state: RunState::Measured,
            reason: None,
            began_unix_ms: None,
            elapsed_s: outcome.elapsed_s,
            measurements: outcome.measurements,
            series: outcome.series,
            marks: outcome.marks,
            points: Vec::new(),
            query_plans: outcome.query_plans,
        },
    })
}

/// Runs a procedure, and marks it if sessions of others held locks that it waited for, where all of its own are étalon's.
fn run_watched(procedure: &dyn Procedure, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
    let (system, schedule) = (context.system, context.schedule);
    // Looking at sessions warms caches, and a server in this process has no others.
    let can_watch = system.placement() == Placement::Server && schedule.caches != Caches::Cold;
    if !procedure.has_only_own_sessions() || !can_watch {
        return procedure.run(context);
    }
    // A procedure has no warm-up.
    let watched = Schedule { warmup: Duration::ZERO, ..schedule.clone() };
    let (mut stepped, waits) = LockWaits::while_running(&SystemCounters(system), &watched, || procedure.run(context));
    if let Ok(Stepped::Done(outcome)) = &mut stepped {
        outcome.marks.extend(waits.others_mark());
    }
    stepped
}

/// Elapsed and CPU time of a part of a step: étalon's process, with embedded engines, and the server's processes.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    cpu_s: Result<f64, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    pub elapsed_s: f64,
    /// The CPU time of all processes together. Servers are counted in ticks (10 ms on Linux), so shorter parts have no
    /// figure.
    pub cpu_s: Reading,
}

impl Stopwatch {
    /// Starts the stopwatch now, with the CPU time so far.
    pub fn start(system: &dyn System) -> Stopwatch {
        let cpu_s = cpu_s(system);
        Stopwatch { started: Instant::now(), cpu_s }
    }

    /// Elapsed time and CPU time since the start.
    pub fn spent_since_start(&self, system: &dyn System) -> Spent {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let used = self.cpu_s.clone().and_then(|before| Ok(cpu_s(system)? - before));
        let cpu_s = match used {
            Ok(used) if used > 0.0 => Reading::Value(used),
            Ok(_) => Reading::unavailable("less CPU time than the operating system counts"),
            Err(reason) => Reading::unavailable(reason),
        };
        Spent { elapsed_s, cpu_s }
    }
}

/// CPU seconds so far of étalon's process and the server's.
fn cpu_s(system: &dyn System) -> Result<f64, String> {
    let own = host::cpu::process_cpu()?.as_secs_f64();
    match system.placement() {
        Placement::InProcess | Placement::OwnThreads => Ok(own),
        Placement::Server => Ok(own + system.server_cpu_s()?),
    }
}
