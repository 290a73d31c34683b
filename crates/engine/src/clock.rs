//! Time as a parameter, so that the same worker runs on real and on virtual time.

/// A monotonic clock that can be waited on.
pub trait Clock {
    /// Nanoseconds since some fixed instant.
    fn now_ns(&self) -> u64;

    /// Waits until `instant_ns`; returns at once if it has passed.
    fn wait_until(&self, instant_ns: u64);

    /// The common start, given on the machine's clock, on this one.
    fn start(&self, machine_ns: u64) -> u64 {
        machine_ns
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        host::clock::now_ns()
    }

    fn wait_until(&self, instant_ns: u64) {
        host::clock::sleep_until(instant_ns);
    }
}
