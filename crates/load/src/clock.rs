//! Clocks as parameters: a worker runs on real or virtual time.

/// A monotonic clock that can be waited on.
pub trait Clock {
    /// Nanoseconds since a fixed instant.
    fn now_ns(&self) -> u64;

    /// Waits until an instant; returns at once if it has passed.
    fn wait_until(&self, instant_ns: u64);

    /// Converts the common start from the machine's clock to this one.
    fn local_instant_ns(&self, machine_ns: u64) -> u64 {
        machine_ns
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        host::clock::now_ns()
    }

    fn wait_until(&self, instant_ns: u64) {
        host::clock::sleep_until(instant_ns);
    }
}
