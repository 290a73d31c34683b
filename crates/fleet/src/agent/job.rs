//! A job: what was asked once, however often it is asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use load::error::Failure;
use load::generator::Starter;
use load::observer::{Observer, Tick};
use load::worker::TaskLog;

use crate::protocol::{Answer, Progress, Reply};

#[derive(Default)]
pub(super) struct Job {
    state: Mutex<State>,
    changed: Condvar,
    pub(super) stopped: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    progress: Progress,
    answer: Option<Result<Answer, Failure>>,
    start_ns: Option<u64>,
    /// Tasks that have ended; only for loads that consist of tasks.
    tasks: Vec<TaskLog>,
    /// Interrupt of the system that it works on.
    interrupt: Option<Arc<AtomicBool>>,
    /// The reason why the system that it works on is silent.
    waits: Waits,
}

/// The reason why a system is silent, as last reported.
pub(super) type Waits = Arc<Mutex<Option<String>>>;

impl State {
    /// Whether the load is ready and has no start time yet.
    fn waits_for_start(&self) -> bool {
        self.progress.ready && self.start_ns.is_none()
    }
}

impl Job {
    /// Locks the state, even after a panic.
    fn lock_state(&self) -> MutexGuard<'_, State> {
        // Its fields are set one by one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the job with its answer, and wakes those that wait for it.
    pub(super) fn finish(&self, answer: Result<Answer, Failure>) {
        self.lock_state().answer = Some(answer);
        self.changed.notify_all();
    }

    /// Whether the job has its answer.
    pub(super) fn is_done(&self) -> bool {
        self.lock_state().answer.is_some()
    }

    /// Has the load start at this instant of the agent's clock.
    pub(super) fn start_at(&self, at_ns: u64) {
        self.lock_state().start_ns = Some(at_ns);
        self.changed.notify_all();
    }

    /// Ties the job to a system: a stop then interrupts the system, and replies say why it is silent.
    /// Once the job is stopped, what it does on a system ends by the system's own `interrupt`.
    pub(super) fn tie_to_system(&self, interrupt: &Arc<AtomicBool>, waits: &Waits) {
        let mut state = self.lock_state();
        *waits.lock().unwrap_or_else(PoisonError::into_inner) = None;
        state.waits = Arc::clone(waits);
        interrupt.store(self.stopped.load(Ordering::Relaxed), Ordering::Relaxed);
        state.interrupt = Some(Arc::clone(interrupt));
    }

    /// Asks the job to stop, interrupts its system, and wakes its waiting threads.
    pub(super) fn stop(&self) {
        let state = self.lock_state();
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(interrupt) = &state.interrupt {
            interrupt.store(true, Ordering::Relaxed);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The tasks that have ended so far.
    pub(super) fn tasks_so_far(&self) -> Vec<TaskLog> {
        self.lock_state().tasks.clone()
    }

    /// Waits until the job is done, or for `timeout`; returns whether it is done.
    pub(super) fn wait_within(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock_state();
        while state.answer.is_none() {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Waits until the job is done or waits for its start, or for `timeout`, and makes the reply.
    /// A running load is polled rarely: replies would disturb it.
    pub(super) fn reply_within(&self, timeout: Duration) -> Reply {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock_state();
        loop {
            match &state.answer {
                Some(Ok(answer)) => return Reply::Done(answer.clone()),
                Some(Err(failure)) => return Reply::Failed(failure.clone()),
                None => {}
            }
            let left = match deadline.checked_duration_since(Instant::now()) {
                Some(left) if !state.waits_for_start() => left,
                _ => {
                    let waits = state.waits.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    return Reply::Working(Progress { waits, ..state.progress.clone() });
                }
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Starter for Job {
    /// Reports the load as ready and waits for its start; `None` if it is stopped before.
    fn start_ns(&self) -> Option<u64> {
        let mut state = self.lock_state();
        state.progress.ready = true;
        self.changed.notify_all();
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(start_ns) = state.start_ns {
                return Some(start_ns);
            }
            // A stop may come between the check of the flag and the wait.
            let timeout = Duration::from_millis(50);
            state = self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Keeps the last interval and finished tasks for polling.
pub(super) struct Watching(pub(super) Arc<Job>);

impl Observer for Watching {
    /// Keeps the load's last interval for the next reply.
    fn tick(&mut self, tick: Tick) {
        self.0.lock_state().progress.tick = Some(tick);
    }

    /// Keeps the tasks that have ended.
    fn tasks_ended(&mut self, logs: &[TaskLog]) {
        self.0.lock_state().tasks.extend_from_slice(logs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_reaches_what_the_job_does_on_a_system() {
        let interrupt = Arc::new(AtomicBool::new(false));
        let (first, second) = (Job::default(), Job::default());
        first.tie_to_system(&interrupt, &Waits::default());
        assert!(!interrupt.load(Ordering::Relaxed));
        first.stop();
        assert!(interrupt.load(Ordering::Relaxed));
        second.tie_to_system(&interrupt, &Waits::default());
        assert!(!interrupt.load(Ordering::Relaxed), "the next job's work goes on");
        first.tie_to_system(&interrupt, &Waits::default());
        assert!(interrupt.load(Ordering::Relaxed), "a stop may come before the work");
    }
}
