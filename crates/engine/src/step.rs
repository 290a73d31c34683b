//! What a single long step works with, and what it leaves behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use model::{Mark, Measurement, Reading, Schedule, Series, TrialRecord, TrialState};

use crate::error::Failure;
use crate::observer::{Observer, StepProgress};
use crate::target::{Placement, Target};
use crate::workloads::Procedure;

/// What a step works with.
pub struct StepContext<'a> {
    /// The system. Its schema is empty of everything but the task's data set, and at rest.
    pub target: &'a dyn Target,
    pub schedule: &'a Schedule,
    /// Seed of the trial's random streams: the same for all systems of a block.
    pub seed: u64,
    /// Set by the user's Ctrl-C.
    pub interrupt: &'a AtomicBool,
    /// Hears how far the step has come.
    pub observer: &'a mut dyn Observer,
}

/// What a step leaves behind.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Length of what was measured, in seconds; what came before and after it not included.
    pub elapsed_s: f64,
    /// One value per metric, the first one the headline.
    pub measurements: Vec<Measurement>,
    /// Latency histograms, if it has any.
    pub series: Vec<Series>,
    /// What a reader should know.
    pub marks: Vec<Mark>,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub enum Stepped {
    /// It came to its end.
    Done(StepOutcome),
    /// The user stopped it; what it measured is no trial.
    Interrupted,
}

impl StepContext<'_> {
    /// Whether the user wants to stop. Asked between the parts of a step.
    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Tells the observer what the step does now: part `done` (from 0) of `of`.
    pub fn progress(&mut self, what: &str, done: usize, of: usize) {
        self.observer.step(StepProgress { what, done, of });
    }
}

/// Runs a procedure as a trial. The data set must be prepared and at rest.
pub fn run(procedure: &dyn Procedure, context: &mut StepContext<'_>) -> Result<TrialRecord, Failure> {
    Ok(match procedure.run(context)? {
        Stepped::Interrupted => TrialRecord::without_result(TrialState::Aborted, "interrupted by the user"),
        Stepped::Done(outcome) => TrialRecord {
            state: TrialState::Measured,
            reason: None,
            began_unix_ms: None,
            elapsed_s: outcome.elapsed_s,
            measurements: outcome.measurements,
            series: outcome.series,
            marks: outcome.marks,
        },
    })
}

/// Elapsed time and CPU time of a part of a step: of étalon's process, in which an embedded engine works too, and of
/// the server's processes.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    cpu_s: Result<f64, String>,
}

/// What a [`Stopwatch`] showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// Seconds of the wall.
    pub elapsed_s: f64,
    /// Seconds of CPU of all the processes involved together, or why they are not known. Servers are counted in ticks
    /// of the operating system's (10 ms on Linux), so what is shorter than a tick has no figure.
    pub cpu_s: Reading,
}

impl Stopwatch {
    pub fn start(target: &dyn Target) -> Stopwatch {
        let cpu_s = cpu_s(target);
        Stopwatch { started: Instant::now(), cpu_s }
    }

    pub fn read(&self, target: &dyn Target) -> Spent {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let used = self.cpu_s.clone().and_then(|before| Ok(cpu_s(target)? - before));
        let cpu_s = match used {
            Ok(used) if used > 0.0 => Reading::Value(used),
            Ok(_) => Reading::Unavailable("less CPU time than the operating system counts".to_owned()),
            Err(reason) => Reading::Unavailable(reason),
        };
        Spent { elapsed_s, cpu_s }
    }
}

/// CPU seconds so far of étalon's own process and of the server's.
fn cpu_s(target: &dyn Target) -> Result<f64, String> {
    let own = host::cpu::process_cpu()?.total().as_secs_f64();
    match target.placement() {
        Placement::InProcess => Ok(own),
        Placement::Server => Ok(own + target.server_cpu_s()?),
    }
}
