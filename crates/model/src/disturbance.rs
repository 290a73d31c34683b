//! From when on other work on a run's machine is called a disturbance: one set of limits for `etalon doctor`,
//! the marks of runs and the comparisons.

use crate::run::MarkKind;

/// Shares of all processors' time, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub warn: f64,
    pub bad: f64,
}

/// CPU time of other programs. A twentieth of the machine is as much as a difference between two systems that people look
/// for, and a fifth is most of a core of a small server.
pub const OTHER_LOAD: Limits = Limits { warn: 0.05, bad: 0.20 };
/// Time that the hypervisor keeps comes in pauses of milliseconds, which make the tail of the latencies: a hundredth of
/// the time is enough for the 99th percentile.
pub const STEAL: Limits = Limits { warn: 0.01, bad: 0.05 };
/// A scanner, backup or update that uses less is only waiting.
pub const AT_WORK_CORES: f64 = 0.01;
/// Less is moved on any machine that has run for weeks, and delays one request in thousands.
pub const SWAPPED_BYTES_PER_S: f64 = 1024.0 * 1024.0;

impl Limits {
    /// Gives the difference of disturbance from which on two sides are unequal: the limit that warns of one alone.
    /// Of kinds that are not measured, the shares of runs that carry the mark are compared.
    pub fn unequal_limit(kind: MarkKind) -> f64 {
        match kind {
            MarkKind::MachineBusy => OTHER_LOAD.warn,
            MarkKind::MachineSteal => STEAL.warn,
            _ => 0.25,
        }
    }
}
