//! What many response times come to: count, extremes, mean, quantiles, in constant memory.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use model::{Direction, Measurement, NoValue, Reading, Role, Series, SeriesKind};
use stats::NoQuantile;
use stats::censored::share_of_successes;

/// Quantiles saturate here: one hour, as in étalon's own runs.
const MAX_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of a quantile.
const DIGITS: u8 = 3;

/// Count, sum and extremes are exact; quantiles have three significant digits.
#[derive(Clone, Debug)]
pub struct SampledDurations {
    histogram: Option<Histogram<u64>>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for SampledDurations {
    fn default() -> SampledDurations {
        SampledDurations {
            // The bounds are constants that the library accepts; a test constructs one.
            histogram: Histogram::new_with_bounds(1, MAX_NS, DIGITS).ok(),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl SampledDurations {
    /// Adds one duration.
    pub fn add_ns(&mut self, ns: u64) {
        self.add_many_ns(ns, 1);
    }

    /// Adds one duration a number of times.
    pub fn add_many_ns(&mut self, ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record_n(ns, times);
        }
        self.count = self.count.saturating_add(times);
        self.sum_ns = self.sum_ns.saturating_add(u128::from(ns) * u128::from(times));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the durations of another sample.
    pub fn merge(&mut self, other: &SampledDurations) {
        if let (Some(ours), Some(theirs)) = (&mut self.histogram, &other.histogram) {
            // Equal bounds: cannot fail.
            let _ = ours.add(theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest duration; `None` without any.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// The longest duration; `None` without any.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// The mean of the durations; `None` without any.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Computes a quantile of these durations and `failed` more, which took at least as long as all others.
    pub fn quantile_ns(&self, quantile: f64, failed: u64) -> Result<u64, NoQuantile> {
        let share = share_of_successes(quantile, self.count, failed)?;
        Ok(self.histogram.as_ref().map_or(self.max_ns, |found| found.value_at_quantile(share).min(self.max_ns)))
    }

    /// Makes the measurements of failures, and of latencies in µs under étalon's own ids (`response_mean` …).
    /// Mean and shortest are of successes, all others count failures.
    pub fn make_latency_measurements(&self, failed: u64) -> Vec<Measurement> {
        let share = Measurement::failed_share(Reading::percent_failed(failed, self.count));
        let mut all =
            vec![share, latency_measurement("response_mean", Role::Secondary, micros_reading(self.mean_ns()))];
        for (name, quantile, role) in [
            ("response_p50", 0.5, Role::Primary),
            ("response_p90", 0.9, Role::Secondary),
            ("response_p95", 0.95, Role::Secondary),
            ("response_p99", 0.99, Role::Primary),
        ] {
            let reading = match self.quantile_ns(quantile, failed) {
                Ok(ns) => Reading::Value(ns as f64 / 1e3),
                Err(NoQuantile::TooFew { needed }) => Reading::Unavailable(NoValue::too_few(needed, "executions")),
                Err(why @ NoQuantile::AmongFailed { .. }) => Reading::unavailable(why),
            };
            all.push(latency_measurement(name, role, reading));
        }
        all.push(latency_measurement(
            "response_min",
            Role::Secondary,
            micros_reading(self.min_ns().map(|ns| ns as f64)),
        ));
        let longest = match failed {
            0 => micros_reading(self.max_ns().map(|ns| ns as f64)),
            failed => {
                let all = self.count.saturating_add(failed);
                Reading::unavailable(NoQuantile::AmongFailed { failed, all })
            }
        };
        all.push(latency_measurement("response_max", Role::Secondary, longest));
        all
    }

    /// Makes the histogram of a whole run as it is stored; `None` if empty.
    pub fn make_series(&self, host: &str, elapsed_s: f64, errors: u64) -> Option<Series> {
        if self.count == 0 {
            return None;
        }
        let histogram = self.histogram.as_ref()?;
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).ok()?;
        Some(Series {
            host: host.to_owned(),
            kind: SeriesKind::Response,
            interval: None,
            // Saturates beyond 49 days.
            length_ms: (elapsed_s * 1e3) as u32,
            errors,
            histogram: bytes,
        })
    }
}

/// Converts nanoseconds to a reading in microseconds; unavailable without any.
fn micros_reading(ns: Option<f64>) -> Reading {
    ns.map_or_else(|| Reading::unavailable("no execution succeeded"), |ns| Reading::Value(ns / 1e3))
}

/// Converts milliseconds to microseconds, rounded to the nanosecond.
/// 16.301 ms are 16301 us, not 16300.999999999998.
pub(crate) fn us_of_ms(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e3
}

/// Makes the measurement of a latency in microseconds.
pub(crate) fn latency_measurement(id: &str, role: Role, reading: Reading) -> Measurement {
    Measurement::new(id, "us", Direction::Lower, role, reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_exact_and_quantiles_need_samples() {
        let mut durations = SampledDurations::default();
        assert_eq!((durations.min_ns(), durations.mean_ns(), durations.quantile_ns(0.5, 0).ok()), (None, None, None));
        for ns in 1..=19 {
            durations.add_ns(ns * 1_000);
        }
        assert_eq!(durations.quantile_ns(0.5, 0), Err(NoQuantile::TooFew { needed: 20 }));
        durations.add_ns(20_000);
        assert_eq!(durations.quantile_ns(0.5, 0).map(|ns| ns / 10), Ok(1_000));
        assert_eq!(durations.quantile_ns(0.5, 10).map(|ns| ns / 10), Ok(1_500), "of thirty, ten of which failed");
        assert_eq!(durations.quantile_ns(0.5, 21), Err(NoQuantile::AmongFailed { failed: 21, all: 41 }));
        assert_eq!(
            (durations.min_ns(), durations.max_ns(), durations.mean_ns()),
            (Some(1_000), Some(20_000), Some(10_500.0))
        );
        let mut twice = durations.clone();
        twice.merge(&durations);
        assert_eq!((twice.count(), twice.mean_ns()), (40, Some(10_500.0)));
        assert!(twice.make_series("a", 1.5, 0).is_some_and(|series| series.length_ms == 1_500));
    }
}
