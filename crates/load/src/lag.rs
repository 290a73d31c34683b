//! Histogram of a worker's lateness, cheap enough for every completion.

use serde::{Deserialize, Serialize};

/// Per octave: within 12.5 %.
const PARTS: usize = 8;
const PART_BITS: u32 = PARTS.trailing_zeros();
const BUCKETS: usize = (64 - PART_BITS as usize + 1) * PARTS;

/// Delays in nanoseconds, within 12.5 %; the maximum is exact.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Counted", try_from = "Counted")]
pub struct LoopLag {
    counts: Box<[u64; BUCKETS]>,
    max_ns: u64,
}

impl Default for LoopLag {
    fn default() -> LoopLag {
        LoopLag { counts: Box::new([0; BUCKETS]), max_ns: 0 }
    }
}

/// Non-empty buckets, for sending.
#[derive(Serialize, Deserialize)]
struct Counted {
    counts: Vec<(usize, u64)>,
    max_ns: u64,
}

impl From<LoopLag> for Counted {
    fn from(lag: LoopLag) -> Counted {
        let filled = lag.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        Counted { counts: filled.collect(), max_ns: lag.max_ns }
    }
}

impl TryFrom<Counted> for LoopLag {
    type Error = String;

    fn try_from(counted: Counted) -> Result<LoopLag, String> {
        let mut lag = LoopLag { max_ns: counted.max_ns, ..LoopLag::default() };
        for (bucket, count) in counted.counts {
            let sum = lag.counts.get_mut(bucket).ok_or_else(|| format!("a delay has no bucket {bucket}"))?;
            *sum = sum.saturating_add(count);
        }
        Ok(lag)
    }
}

/// The bucket that a lag is counted in.
#[inline]
fn bucket_of(ns: u64) -> usize {
    match ns.checked_ilog2() {
        Some(octave) if octave >= PART_BITS => {
            let part = (ns >> (octave - PART_BITS)) as usize % PARTS;
            (octave - PART_BITS + 1) as usize * PARTS + part
        }
        _ => ns as usize,
    }
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let (octave, part) = (bucket / PARTS, bucket % PARTS);
    if octave == 0 {
        return part as u64;
    }
    let width = 1u128 << (octave - 1);
    (((PARTS + part + 1) as u128 * width) - 1).min(u128::from(u64::MAX)) as u64
}

impl LoopLag {
    /// Counts one lag.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[bucket_of(ns)] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the lags of another loop.
    pub fn merge(&mut self, other: &LoopLag) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.max_ns = 0;
    }

    /// Number of lags recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The longest lag; 0 if nothing was recorded.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// A quantile of the lags: the upper end of its bucket; `None` if nothing was recorded.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut passed = 0;
        let of_bucket = self.counts.iter().position(|count| {
            passed += count;
            passed >= wanted
        })?;
        Some(upper_end(of_bucket).min(self.max_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_values_within_an_eighth(ns: u64) {
            let end = upper_end(bucket_of(ns));
            prop_assert!(end >= ns);
            prop_assert!(end - ns <= ns / 8);
        }
    }

    #[test]
    fn what_another_host_sends_is_a_lag_or_is_refused() {
        let read =
            |text: &str| serde_json::from_str::<LoopLag>(text).map(|lag| lag.counts[1]).map_err(|e| e.to_string());
        assert_eq!(read(r#"{"counts": [[1, 18446744073709551615], [1, 2]], "max_ns": 1}"#), Ok(u64::MAX));
        assert!(read(r#"{"counts": [[1000000, 1]], "max_ns": 1}"#).unwrap_err().contains("no bucket 1000000"));
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut lag = LoopLag::default();
        assert_eq!(lag.quantile_ns(0.5), None);
        let mut other = LoopLag::default();
        (1..=500).for_each(|ns| lag.record(ns));
        (501..=1_000).for_each(|ns| other.record(ns));
        lag.merge(&other);
        assert_eq!((lag.count(), lag.max_ns()), (1_000, 1_000));
        let median = lag.quantile_ns(0.5).unwrap();
        assert!((500..=563).contains(&median), "{median}");
        assert_eq!(lag.quantile_ns(1.0), Some(1_000));
        lag.clear();
        assert_eq!((lag.count(), lag.max_ns()), (0, 0));
        lag.record(u64::MAX);
        assert_eq!(lag.quantile_ns(0.99), Some(u64::MAX));
    }
}
