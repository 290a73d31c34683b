//! Durations of operations, with failures: the only place that computes quantiles of étalon's own runs.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{DeserializeError, Deserializer as V2Deserializer, Serializer as _, V2Serializer};
use model::{NoValue, Reading};
use serde::{Deserialize, Serialize};
use stats::NoQuantile;
use stats::censored::share_of_successes;

/// 292 years, so nothing is clipped: what readers of HdrHistogram's serialisation in other languages can hold.
const LONGEST_NS: u64 = i64::MAX as u64;
/// Significant decimal digits of quantiles.
const DIGITS: u8 = 3;

/// An empty histogram of nanoseconds, which grows with what is recorded: one with room for 292 years has 460 kB, which are
/// cleared, copied and added whole.
#[expect(clippy::expect_used, reason = "the library accepts these digits; a test makes one")]
pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("constant digits are valid")
}

/// Makes a histogram with room for 292 years.
#[expect(clippy::expect_used, reason = "the bounds are constants that the library accepts; a test makes one")]
fn roomy_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("constant bounds are valid")
}

/// Counts a duration; one that is longer than the longest counts as that.
#[expect(clippy::expect_used, reason = "a growing histogram takes whatever fits in memory")]
pub(crate) fn count_in(histogram: &mut Histogram<u64>, ns: u64, count: u64) {
    histogram.record_n(ns.min(LONGEST_NS), count).expect("a growing histogram takes all durations");
}

/// Quantiles are within 0.1 %, extremes exact. Failures are observations too: they took at least as long as they were
/// waited for, and rank above every success.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    /// Durations of the operations that succeeded, in nanoseconds.
    #[serde(with = "v2")]
    succeeded: Histogram<u64>,
    /// How many did not.
    failed: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Durations {
    fn default() -> Durations {
        Durations { succeeded: new_histogram(), failed: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Durations {
    /// Empty, for a loop that must not allocate: it never grows.
    pub fn with_room() -> Durations {
        Durations { succeeded: roomy_histogram(), ..Durations::default() }
    }

    /// Successes of equal duration.
    #[inline]
    pub fn record_successes(&mut self, ns: u64, count: u64) {
        let ns = ns.min(LONGEST_NS);
        count_in(&mut self.succeeded, ns, count);
        if count > 0 {
            self.min_ns = self.min_ns.min(ns);
            self.max_ns = self.max_ns.max(ns);
        }
    }

    /// A failure ranks above every success, however long it took.
    pub fn record_failed(&mut self, count: u64) {
        self.failed += count;
    }

    /// Adds the durations of another record.
    pub fn merge(&mut self, other: &Durations) {
        // It has room for all durations, or grows: cannot fail.
        let _ = self.succeeded.add(&other.succeeded);
        self.failed = self.failed.saturating_add(other.failed);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forgets all durations and failures.
    pub fn reset(&mut self) {
        self.succeeded.reset();
        (self.failed, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
    }

    pub fn success_count(&self) -> u64 {
        self.succeeded.len()
    }

    pub fn failure_count(&self) -> u64 {
        self.failed
    }

    /// The shortest success.
    pub fn min_ns(&self) -> Option<u64> {
        (self.success_count() > 0).then_some(self.min_ns)
    }

    /// The longest success.
    pub fn max_ns(&self) -> Option<u64> {
        (self.success_count() > 0).then_some(self.max_ns)
    }

    /// The mean of the successes.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.success_count() > 0).then(|| self.succeeded.mean())
    }

    /// The mean of the successes in microseconds; unavailable if the run's end stopped some: those are slower, but not
    /// failures.
    pub fn mean_reading(&self, stopped: u64) -> Reading {
        match (stopped, self.mean_ns()) {
            (_, None) => Reading::unavailable("there was none"),
            (0, Some(ns)) => Reading::Value(ns / 1e3),
            (_, Some(_)) => Reading::unavailable(format!(
                "{stopped} of {}, slower than all others, were still waited for at the end",
                self.success_count() + self.failed
            )),
        }
    }

    /// A quantile of all operations, failed ones included.
    pub fn quantile_ns(&self, quantile: f64) -> Result<u64, NoQuantile> {
        let share = share_of_successes(quantile, self.success_count(), self.failed)?;
        // A bucket's end may lie beyond the maximum.
        Ok(self.succeeded.value_at_quantile(share).min(self.max_ns))
    }

    /// A quantile in microseconds; `what` names the operations for a reason, as in `transactions in the run`.
    pub fn quantile_reading(&self, quantile: f64, what: &str) -> Reading {
        match self.quantile_ns(quantile) {
            Ok(ns) => Reading::Value(ns as f64 / 1e3),
            Err(NoQuantile::TooFew { needed }) => Reading::Unavailable(NoValue::too_few(needed, what)),
            Err(why @ NoQuantile::AmongFailed { .. }) => Reading::unavailable(why),
        }
    }

    /// The longest in microseconds; unavailable if any failed.
    pub fn longest_reading(&self) -> Reading {
        match (self.failed, self.max_ns()) {
            (_, None) => Reading::unavailable("there was none"),
            (0, Some(ns)) => Reading::Value(ns as f64 / 1e3),
            (failed, Some(_)) => {
                let all = self.success_count() + failed;
                Reading::unavailable(NoQuantile::AmongFailed { failed, all })
            }
        }
    }

    /// The successes in the format V2 of HdrHistogram, as in the store.
    pub fn to_v2_bytes(&self) -> Vec<u8> {
        write_v2(&self.succeeded)
    }
}

/// Reads what [`write_v2`] wrote.
pub(crate) fn read_v2(mut bytes: &[u8]) -> Result<Histogram<u64>, DeserializeError> {
    V2Deserializer::new().deserialize(&mut bytes)
}

/// Histograms between hosts: HdrHistogram V2, as in the store.
mod v2 {
    use super::{Deserialize, Histogram, Serialize, new_histogram, read_v2, write_v2};

    /// Serialises a histogram for serde as its V2 bytes.
    pub(super) fn serialize<S: serde::Serializer>(histogram: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
        write_v2(histogram).serialize(to)
    }

    /// Reads a histogram for serde from its V2 bytes.
    pub(super) fn deserialize<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Histogram<u64>, D::Error> {
        let bytes: Vec<u8> = Vec::deserialize(from)?;
        let read = read_v2(&bytes).map_err(serde::de::Error::custom)?;
        let mut roomy = new_histogram();
        roomy.add(&read).map_err(serde::de::Error::custom)?;
        Ok(roomy)
    }
}

/// The format V2 of HdrHistogram, whose head gives the room that a reader makes: no more than it takes, the same for equal counts.
#[expect(clippy::expect_used, reason = "writing to memory fails only beyond limits that the bounds exclude")]
pub(crate) fn write_v2(histogram: &Histogram<u64>) -> Vec<u8> {
    let (mut fitting, mut bytes) = (new_histogram(), Vec::new());
    fitting.add(histogram).expect("it grows");
    V2Serializer::new().serialize(&fitting, &mut bytes).expect("a bounded histogram fits in memory");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    #[test]
    fn extremes_are_exact_and_hours_are_not_cut() {
        let mut durations = Durations::with_room();
        assert_eq!((durations.min_ns(), durations.max_ns(), durations.mean_ns()), (None, None, None));
        (0..1_000).for_each(|_| durations.record_successes(1_234_567, 1));
        durations.record_successes(5 * HOUR_NS + 1, 1);
        assert_eq!(durations.longest_reading(), Reading::Value((5 * HOUR_NS + 1) as f64 / 1e3), "and no bucket's end");
        assert_eq!(durations.min_ns(), Some(1_234_567));
        durations.record_successes(u64::MAX, 1);
        assert_eq!(durations.max_ns(), Some(LONGEST_NS));
        let mut one = Durations::default();
        one.record_successes(1_234_567, 20);
        assert_eq!(one.quantile_ns(0.5), Ok(1_234_567), "no quantile lies beyond the longest");
    }

    #[test]
    fn failures_rank_above_every_success() {
        let mut durations = Durations::default();
        (1..=840).for_each(|us| durations.record_successes(us * 1_000, 1));
        durations.record_failed(160);
        // The 500th of 1,000, not the 420th of the successes.
        assert!((durations.quantile_ns(0.5).unwrap() as f64 / 500_000.0 - 1.0).abs() < 1e-3);
        let Reading::Unavailable(why) = durations.quantile_reading(0.99, "transactions") else {
            panic!("among the failed")
        };
        assert_eq!(why.reason, "it lies among the 160 of 1000 (16.00 %) that did not succeed");
        assert_eq!(durations.longest_reading(), Reading::Unavailable(why));
    }

    #[test]
    fn shares_are_merged_exactly_on_their_way_between_hosts() {
        let (mut a, mut b) = (Durations::default(), Durations::default());
        a.record_successes(17, 3);
        b.record_successes(2 * HOUR_NS + 13, 1);
        b.record_failed(2);
        let sent: Durations = serde_json::from_str(&serde_json::to_string(&b).unwrap()).unwrap();
        assert_eq!(sent, b);
        a.merge(&sent);
        assert_eq!(
            (a.success_count(), a.failure_count(), a.min_ns(), a.max_ns()),
            (4, 2, Some(17), Some(2 * HOUR_NS + 13))
        );
        b.reset();
        assert_eq!((b.success_count(), b.failure_count(), b.min_ns(), b.max_ns()), (0, 0, None, None));
        let mut roomy = Durations::with_room();
        roomy.merge(&a);
        a.reset();
        a.merge(&roomy);
        assert_eq!(a.to_v2_bytes(), roomy.to_v2_bytes(), "and with room or without");
    }
}
