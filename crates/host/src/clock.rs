//! Monotonic nanoseconds for measuring, Unix milliseconds for dates.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

static START: OnceLock<Instant> = OnceLock::new();

/// Monotonic nanoseconds since the first call in this process.
#[inline]
pub fn now_ns() -> u64 {
    // 2^64 ns are 584 years.
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Nanoseconds in which the machine was suspended since it started, which [`now_ns`] leaves out. 0 where it counts them itself,
/// or where that is not known.
#[cfg(target_os = "linux")]
pub fn suspended_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    // The monotonic clock first: a step between the readings makes the difference larger by nanoseconds only.
    let [awake, all] = [ClockId::Monotonic, ClockId::Boottime].map(clock_gettime);
    let ns = [all, awake].map(|time| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec));
    let apart_ns = ns[0] - ns[1];
    u64::try_from(apart_ns).unwrap_or_default()
}

/// Returns 0: the clock goes on, or no crate that étalon has reports it.
#[cfg(not(target_os = "linux"))]
pub fn suspended_ns() -> u64 {
    0
}

/// Unix time by the wall clock: for dates, never for durations, since it may be set.
pub fn unix_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
}

/// Sleeps until [`now_ns`] reaches `deadline_ns`.
///
/// It does not spin, so it wakes late by the timer's slack (50 µs by default on Linux) and the scheduler's delay. The
/// client is charged for that, since response time counts from the intended instant.
pub fn sleep_until(deadline_ns: u64) {
    loop {
        let now = now_ns();
        if now >= deadline_ns {
            return;
        }
        std::thread::sleep(Duration::from_nanos(deadline_ns - now));
    }
}

/// The smallest step seen of the clock: shorter intervals are not resolved. Reads pairs until a few thousand steps
/// were seen, well under a millisecond on a clock read without a system call.
pub fn clock_step_ns() -> u64 {
    const STEPS: usize = 2_000;
    const READINGS: usize = 2_000_000;
    let mut smallest = u64::MAX;
    let mut steps = 0;
    let mut last = now_ns();
    for _ in 0..READINGS {
        let now = now_ns();
        if now > last {
            smallest = smallest.min(now - last);
            steps += 1;
            if steps == STEPS {
                break;
            }
        }
        last = now;
    }
    smallest
}

/// How long the shortest sleep takes, the median of some: what a wait is rounded up to.
pub fn timer_step_us() -> u64 {
    const SLEEPS: usize = 9;
    let mut lengths: Vec<u64> = (0..SLEEPS)
        .map(|_| {
            let before = now_ns();
            std::thread::sleep(Duration::from_nanos(1));
            now_ns() - before
        })
        .collect();
    lengths.sort_unstable();
    lengths[SLEEPS / 2] / 1000
}

/// Cost of one clock reading, the median over batches: several hundred nanoseconds with a system call, else 20 to 40.
pub fn clock_cost_ns() -> u64 {
    const BATCHES: usize = 31;
    const READINGS: u64 = 200;
    let mut costs: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let before = now_ns();
            for _ in 0..READINGS {
                std::hint::black_box(now_ns());
            }
            (now_ns() - before) / READINGS
        })
        .collect();
    costs.sort_unstable();
    costs[BATCHES / 2]
}

/// The kernel's clock source, `tsc`, `kvm-clock`, `hpet`, `arch_sys_counter`; elsewhere the system's call.
#[cfg(target_os = "linux")]
pub fn clock_source() -> Result<String, String> {
    crate::system::text::read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// Name of the clock that the system reads.
#[cfg(target_os = "macos")]
pub fn clock_source() -> Result<String, String> {
    Ok("mach_absolute_time".to_owned())
}

/// Name of the clock that the system reads.
#[cfg(target_os = "illumos")]
pub fn clock_source() -> Result<String, String> {
    Ok("gethrtime".to_owned())
}

/// Name of the clock that the system reads.
#[cfg(windows)]
pub fn clock_source() -> Result<String, String> {
    Ok("QueryPerformanceCounter".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_reaches_the_deadline() {
        let deadline = now_ns() + 3_000_000;
        sleep_until(deadline);
        assert!(now_ns() >= deadline);
        sleep_until(0);
    }

    #[test]
    fn a_sleep_is_never_shorter_than_it_was_asked_to_be() {
        let step_us = timer_step_us();
        assert!(step_us < 100_000, "{step_us}");
    }

    #[test]
    fn the_step_is_not_nothing() {
        let step = clock_step_ns();
        assert!(step > 0 && step < 20_000_000, "{step}");
    }

    #[test]
    fn the_wall_clock_is_in_this_age() {
        assert!(unix_ms() > 1_600_000_000_000);
    }
}
