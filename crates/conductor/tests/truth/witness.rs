//! A thread that only sleeps, to see how late this machine wakes a sleeper.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// As long as the tests' servers take to answer, since a processor that rested longer wakes later.
const NAP: Duration = Duration::from_millis(40);

/// Sleeps until it is asked.
pub struct Witness {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u64>>,
}

/// In nanoseconds, ascending.
pub struct Lateness(Vec<u64>);

impl Witness {
    pub fn start() -> Witness {
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut late_ns = Vec::new();
            while !asked.load(Ordering::Relaxed) {
                let start = Instant::now();
                std::thread::sleep(NAP);
                late_ns.push(start.elapsed().saturating_sub(NAP).as_nanos() as u64);
            }
            late_ns.sort_unstable();
            late_ns
        });
        Witness { is_over, thread }
    }

    pub fn ask(self) -> Lateness {
        self.is_over.store(true, Ordering::Relaxed);
        Lateness(self.thread.join().unwrap())
    }
}

impl Lateness {
    /// The smallest lateness that at least this share of the naps does not exceed.
    pub fn quantile_ns(&self, quantile: f64) -> f64 {
        let rank = ((quantile * self.0.len() as f64).ceil() as usize).max(1);
        self.0[rank - 1] as f64
    }
}
