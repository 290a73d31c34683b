//! The common start of a trial's workers, and the flag that ends it early.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Lets workers begin at one instant once all of them are ready, or none of them if one cannot.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    /// The end of the measured part, where it is not known beforehand; `u64::MAX` until it is.
    end_ns: AtomicU64,
}

#[derive(Debug)]
struct State {
    missing: usize,
    start_ns: Option<u64>,
    abandoned: bool,
}

impl Gate {
    /// A gate for so many workers.
    pub fn new(workers: usize) -> Gate {
        Gate {
            state: Mutex::new(State { missing: workers, start_ns: None, abandoned: false }),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            end_ns: AtomicU64::new(u64::MAX),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker that panicked while it held the lock left nothing half done: the fields are set one by one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker is ready. Waits for the others and gives the start instant, or `None` if the trial is off.
    pub fn ready(&self) -> Option<u64> {
        let mut state = self.lock();
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
        while state.start_ns.is_none() && !state.abandoned {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.abandoned { None } else { state.start_ns }
    }

    /// A worker could not get ready: nobody begins.
    pub fn abandon(&self) {
        self.lock().abandoned = true;
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Waits until all workers are ready. `false` if the trial is off.
    pub fn wait_for_workers(&self) -> bool {
        let mut state = self.lock();
        while state.missing > 0 && !state.abandoned {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.abandoned
    }

    /// Opens the gate: all begin at `start_ns`.
    pub fn open(&self, start_ns: u64) {
        self.lock().start_ns = Some(start_ns);
        self.changed.notify_all();
    }

    /// Asks the workers to end early.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends a load that lasts as long as something else: its measured part ended at `end_ns`.
    pub fn end(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Relaxed);
        self.stop.store(true, Ordering::Release);
    }

    /// The instant that [`Gate::end`] has named; `None` before, and after a [`Gate::stop`].
    pub fn end_ns(&self) -> Option<u64> {
        let ended = self.stop.load(Ordering::Acquire);
        ended.then(|| self.end_ns.load(Ordering::Relaxed)).filter(|end_ns| *end_ns != u64::MAX)
    }

    /// Whether the workers should end early. Written once and otherwise only read, so it costs the loop nothing.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
