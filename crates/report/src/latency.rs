//! Latencies of the store: histograms, merged, with how many operations did not succeed. Percentiles are never averaged.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use model::{Reading, Series};
use stats::NoQuantile;
use stats::censored::share_of_successes;

/// Latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latency {
    succeeded: Histogram<u64>,
    /// How many operations took at least as long as they were waited for, and longer than all others for all that is known.
    failed: u64,
}

impl Latency {
    /// What a part of a trial's series holds.
    ///
    /// # Errors
    /// It is no histogram: what is wrong with it.
    pub fn read(part: &Series) -> Result<Latency, String> {
        let mut succeeded: Histogram<u64> =
            Deserializer::new().deserialize(&mut part.histogram.as_slice()).map_err(|error| error.to_string())?;
        // Merged ones may be wider than the first.
        succeeded.auto(true);
        Ok(Latency { succeeded, failed: part.errors })
    }

    /// Adds all of another.
    ///
    /// # Errors
    /// Its values do not fit.
    pub fn add(&mut self, other: &Latency) -> Result<(), String> {
        self.failed = self.failed.saturating_add(other.failed);
        self.succeeded.add(&other.succeeded).map_err(|error| error.to_string())
    }

    /// Those that succeeded.
    pub fn succeeded(&self) -> &Histogram<u64> {
        &self.succeeded
    }

    /// With so many more that did not succeed.
    pub fn with_failed(self, more: u64) -> Latency {
        Latency { failed: self.failed.saturating_add(more), ..self }
    }

    /// How many did not.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// All operations, those that failed among them.
    pub fn count(&self) -> u64 {
        self.succeeded.len().saturating_add(self.failed)
    }

    /// A quantile of all operations in nanoseconds, to three digits.
    ///
    /// # Errors
    /// There are too few, or it lies among those that failed.
    pub fn quantile_ns(&self, quantile: f64) -> Result<f64, NoQuantile> {
        let share = share_of_successes(quantile, self.succeeded.len(), self.failed)?;
        Ok(self.succeeded.value_at_quantile(share) as f64)
    }

    /// The same where it does not matter why there is none.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        self.quantile_ns(quantile).ok()
    }

    /// The longest in nanoseconds; nobody knows it if any failed.
    pub fn longest(&self) -> Option<f64> {
        (self.failed == 0 && !self.succeeded.is_empty()).then(|| self.succeeded.max() as f64)
    }

    /// A quantile in microseconds as a trial has it.
    pub fn reading(&self, quantile: f64) -> Reading {
        match self.quantile_ns(quantile) {
            Ok(ns) => Reading::Value(ns / 1e3),
            Err(why) => Reading::Unavailable(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_all_and_need_samples_beyond_them() {
        let mut succeeded = Histogram::<u64>::new(3).unwrap();
        (1..=1_000).for_each(|value| succeeded.record(value).unwrap());
        let mut latency = Latency { succeeded, failed: 0 };
        assert_eq!((latency.quantile(0.99), latency.quantile(0.999)), (Some(990.0), None));
        assert_eq!(latency.longest(), Some(1_000.0));
        latency.failed = 10;
        assert_eq!((latency.quantile(0.5), latency.quantile(0.99)), (Some(505.0), Some(1_000.0)));
        assert_eq!((latency.longest(), latency.count()), (None, 1_010));
        latency.failed = 11;
        assert_eq!(latency.quantile(0.99), None);
        // A changed store may say anything.
        let beyond = Latency { failed: u64::MAX, ..latency.clone() };
        assert!(latency.add(&beyond).is_ok());
        assert_eq!((latency.clone().with_failed(1).count(), latency.quantile(0.5)), (u64::MAX, None));
    }
}
