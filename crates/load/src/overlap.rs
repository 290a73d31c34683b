//! A load that lasts as long as something else that runs, such as a backup.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Polling interval for the user's interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// Synchronises a load with what overlaps it: that begins with the load's measured part, and the load ends with it.
#[derive(Debug)]
pub struct Overlap {
    begins: Mutex<Begins>,
    changed: Condvar,
    /// `u64::MAX` until it has ended.
    end_ns: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    NotKnown,
    At(u64),
    Never,
}

impl Default for Overlap {
    fn default() -> Overlap {
        Overlap { begins: Mutex::new(Begins::NotKnown), changed: Condvar::new(), end_ns: AtomicU64::new(u64::MAX) }
    }
}

impl Overlap {
    /// Tells the waiting side when it begins, or that it does not.
    fn set_begins(&self, begins: Begins) {
        *self.begins.lock().unwrap_or_else(PoisonError::into_inner) = begins;
        self.changed.notify_all();
    }

    /// The load's measured part begins at `at_ns`.
    pub(crate) fn load_is_measured_from(&self, at_ns: u64) {
        self.set_begins(Begins::At(at_ns));
    }

    /// Releases the other side, even if the load never began.
    pub fn load_has_ended(&self) {
        if *self.begins.lock().unwrap_or_else(PoisonError::into_inner) == Begins::NotKnown {
            self.set_begins(Begins::Never);
        }
    }

    /// Waits for the end of the warm-up. `false` if there will be none, or the user interrupts.
    pub fn wait_for_load(&self, interrupt: &AtomicBool) -> bool {
        let mut begins = self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        while *begins == Begins::NotKnown && !interrupt.load(Ordering::Relaxed) {
            begins = self.changed.wait_timeout(begins, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Begins::At(at_ns) = *begins else { return false };
        drop(begins);
        loop {
            let left = Duration::from_nanos(at_ns.saturating_sub(host::clock::now_ns()));
            if interrupt.load(Ordering::Relaxed) {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// Ends the load when dropped.
    pub fn end_at_drop(&self) -> EndAtDrop<'_> {
        EndAtDrop(self)
    }

    /// When the other side ended.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        Some(self.end_ns.load(Ordering::Relaxed)).filter(|end_ns| *end_ns != u64::MAX)
    }
}

/// Ends the load when dropped, also by a panic.
#[derive(Debug)]
pub struct EndAtDrop<'a>(&'a Overlap);

impl Drop for EndAtDrop<'_> {
    fn drop(&mut self) {
        self.0.end_ns.store(host::clock::now_ns(), Ordering::Relaxed);
    }
}
