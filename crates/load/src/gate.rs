//! Common start and early end of a run's workers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Starts all workers at one instant once all are ready, or none.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    /// End of the measured part; `u64::MAX` until known.
    end_ns: AtomicU64,
}

#[derive(Debug)]
struct State {
    missing: usize,
    start_ns: Option<u64>,
    abandoned: bool,
}

impl Gate {
    pub fn new(workers: usize) -> Gate {
        Gate {
            state: Mutex::new(State { missing: workers, start_ns: None, abandoned: false }),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            end_ns: AtomicU64::new(u64::MAX),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        // Fields are set one by one, so a panic leaves them consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the other workers; `None` if the run is cancelled.
    pub fn wait_for_start(&self) -> Option<u64> {
        let mut state = self.lock_state();
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
        while state.start_ns.is_none() && !state.abandoned {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.abandoned { None } else { state.start_ns }
    }

    /// Cancels the run: a worker could not get ready.
    pub fn abandon(&self) {
        self.lock_state().abandoned = true;
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// `false` if the run is cancelled.
    pub fn wait_for_workers(&self) -> bool {
        let mut state = self.lock_state();
        while state.missing > 0 && !state.abandoned {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.abandoned
    }

    /// Lets all workers begin at `start_ns`.
    pub fn open_at(&self, start_ns: u64) {
        self.lock_state().start_ns = Some(start_ns);
        self.changed.notify_all();
    }

    /// Ends the load before its time.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends a load whose length something else determines.
    pub fn end_at(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Relaxed);
        self.stop.store(true, Ordering::Release);
    }

    /// `None` before [`Gate::end_at`], and after [`Gate::stop`].
    #[inline]
    pub fn end_ns(&self) -> Option<u64> {
        let ended = self.stop.load(Ordering::Acquire);
        ended.then(|| self.end_ns.load(Ordering::Relaxed)).filter(|end_ns| *end_ns != u64::MAX)
    }

    /// Tests whether the load is to end. Written once and otherwise read, so it costs the loop nothing.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
