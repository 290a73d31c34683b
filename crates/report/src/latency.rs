//! Merged histograms with failures. Percentiles are never averaged.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use model::{Reading, Series};
use stats::NoQuantile;
use stats::censored::share_of_successes;

/// Significant digits of étalon's histograms.
const DIGITS: u32 = 3;

/// Latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latency {
    succeeded: Histogram<u64>,
    /// Operations that failed: longer than all others.
    failed: u64,
}

impl Latency {
    /// Decodes a stored histogram with its failures; fails if it has more digits than étalon's.
    pub fn decode(part: &Series) -> Result<Latency, String> {
        // HdrHistogram V2 has the digits there. More of them take a hundred times the memory, however few bytes are stored.
        let digits = part.histogram.get(12..16).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        if let Some(digits) = digits.filter(|digits| *digits > DIGITS) {
            return Err(format!("it claims {digits} digits, and étalon's have {DIGITS}"));
        }
        let mut succeeded: Histogram<u64> =
            Deserializer::new().deserialize(&mut part.histogram.as_slice()).map_err(|error| error.to_string())?;
        // Merged ones may be wider.
        succeeded.auto(true);
        Ok(Latency { succeeded, failed: part.errors })
    }

    /// Adds the latencies and failures of another histogram.
    pub fn add(&mut self, other: &Latency) -> Result<(), String> {
        self.failed = self.failed.saturating_add(other.failed);
        self.succeeded.add(&other.succeeded).map_err(|error| error.to_string())
    }

    /// The histogram of the operations that succeeded.
    pub fn succeeded(&self) -> &Histogram<u64> {
        &self.succeeded
    }

    /// Adds failures to a latency.
    pub fn with_failures(self, more: u64) -> Latency {
        Latency { failed: self.failed.saturating_add(more), ..self }
    }

    /// Number of operations that failed.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Number of operations, failed ones included.
    pub fn operation_count(&self) -> u64 {
        self.succeeded.len().saturating_add(self.failed)
    }

    /// Computes a quantile of all operations in nanoseconds, to three digits, or says why there is none.
    pub fn quantile_ns(&self, quantile: f64) -> Result<f64, NoQuantile> {
        let share = share_of_successes(quantile, self.succeeded.len(), self.failed)?;
        Ok(self.succeeded.value_at_quantile(share) as f64)
    }

    /// Computes a quantile in nanoseconds, for callers that do not need the reason why there is none.
    pub fn quantile_ns_or_none(&self, quantile: f64) -> Option<f64> {
        self.quantile_ns(quantile).ok()
    }

    /// The longest response in nanoseconds; `None` if any operation failed.
    pub fn longest_ns(&self) -> Option<f64> {
        (self.failed == 0 && !self.succeeded.is_empty()).then(|| self.succeeded.max() as f64)
    }

    /// Computes a quantile in microseconds, as a reading with its reason if there is none.
    pub fn quantile_reading(&self, quantile: f64) -> Reading {
        self.quantile_ns(quantile).map(|ns| ns / 1e3).into()
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
        assert_eq!((latency.quantile_ns_or_none(0.99), latency.quantile_ns_or_none(0.999)), (Some(990.0), None));
        assert_eq!(latency.longest_ns(), Some(1_000.0));
        latency.failed = 10;
        assert_eq!((latency.quantile_ns_or_none(0.5), latency.quantile_ns_or_none(0.99)), (Some(505.0), Some(1_000.0)));
        assert_eq!((latency.longest_ns(), latency.operation_count()), (None, 1_010));
        latency.failed = 11;
        assert_eq!(latency.quantile_ns_or_none(0.99), None);
        // A damaged store may say anything.
        let beyond = Latency { failed: u64::MAX, ..latency.clone() };
        assert!(latency.add(&beyond).is_ok());
        assert_eq!(
            (latency.clone().with_failures(1).operation_count(), latency.quantile_ns_or_none(0.5)),
            (u64::MAX, None)
        );
    }
}
