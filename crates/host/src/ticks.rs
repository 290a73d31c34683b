//! The processor's time stamp counter, for what is timed very often.
//!
//! A clock reading costs some 30 ns without a system call, this a third. Used only where the kernel itself uses it,
//! and so has found it steady on all cores; elsewhere the clock stands in.

use std::sync::OnceLock;
use std::time::Duration;

use crate::clock::now_ns;

/// Calibration of the counter against the clock: reading both takes some 0.1 µs, 0.01 % of it.
const BASELINE: Duration = Duration::from_millis(1);

/// A reading of the count and of the clock at the same time.
#[derive(Clone, Copy)]
struct Origin {
    ticks: u64,
    ns: u64,
}

/// `None` where the clock stands in.
fn tick_origin() -> Option<Origin> {
    static ORIGIN: OnceLock<Option<Origin>> = OnceLock::new();
    *ORIGIN.get_or_init(|| is_trusted().then(|| Origin { ticks: counter(), ns: now_ns() }))
}

/// Reads the processor's counter, or ns of the clock where that is not trusted; only differences mean something.
#[inline]
pub fn ticks() -> u64 {
    if tick_origin().is_some() { counter() } else { now_ns() }
}

/// The first call may wait a millisecond for the calibration.
pub fn in_ns(ticks: u64) -> u64 {
    static NS_PER_TICK: OnceLock<f64> = OnceLock::new();
    let pace = NS_PER_TICK.get_or_init(|| {
        let Some(origin) = tick_origin() else { return 1.0 };
        let left_ns = (BASELINE.as_nanos() as u64).saturating_sub(now_ns() - origin.ns);
        std::thread::sleep(Duration::from_nanos(left_ns));
        let (ticks, ns) = (counter(), now_ns());
        (ns - origin.ns) as f64 / (ticks - origin.ticks) as f64
    });
    (ticks as f64 * pace) as u64
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn is_trusted() -> bool {
    crate::clock::clock_source().is_ok_and(|source| source == "tsc")
}

/// Reads the processor's time stamp counter.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux allows it to every process that has not forbidden it to
    // itself.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn is_trusted() -> bool {
    false
}

/// Reads the clock in ns, in place of a counter.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn counter() -> u64 {
    now_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_the_clock_agree() {
        let (ticks_before, ns_before) = (ticks(), now_ns());
        std::thread::sleep(Duration::from_millis(50));
        let (by_ticks, by_clock) = (in_ns(ticks() - ticks_before), now_ns() - ns_before);
        let apart = by_ticks.abs_diff(by_clock) as f64 / by_clock as f64;
        assert!(apart < 0.01, "{by_ticks} ns by ticks, {by_clock} ns by the clock");
    }
}
