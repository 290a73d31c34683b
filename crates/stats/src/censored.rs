//! Quantiles of times of which some are only known to be *at least* so long.
//!
//! An operation that failed, ran into a time limit or was never started has no time of its own: whatever it would have
//! taken to succeed is longer than what was waited for. Such observations are right-censored, and leaving them out makes
//! a system that gives up look fast (right censoring: Klein and Moeschberger, *Survival Analysis*, 2nd ed. 2003, section
//! 3.2). Here they rank above every success, so that a quantile exists exactly if its rank falls among the successes:
//! then it is the same whatever the failures would have taken.

use std::fmt;

/// A quantile is shown only with this many observations beyond it.
pub const SAMPLES_BEYOND: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoQuantile {
    /// Fewer observations than leave [`SAMPLES_BEYOND`] of them beyond it.
    TooFew { needed: u64 },
    /// It lies among those that failed.
    AmongFailed { failed: u64, all: u64 },
}

impl fmt::Display for NoQuantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoQuantile::TooFew { needed } => write!(f, "fewer than {needed}"),
            NoQuantile::AmongFailed { failed, all } => {
                let percent = 100.0 * *failed as f64 / (*all).max(1) as f64;
                write!(f, "it lies among the {failed} of {all} ({percent:.2} %) that did not succeed")
            }
        }
    }
}

/// Computes the rank of a quantile among the successes, from 1 for the shortest; failures count as longest.
/// It is the rank of the smallest one which at least the share `quantile` of all observations does not exceed.
/// `quantile` lies in (0, 1).
pub fn rank_of_quantile(quantile: f64, succeeded: u64, failed: u64) -> Result<u64, NoQuantile> {
    let all = succeeded.saturating_add(failed);
    let needed = round_up(SAMPLES_BEYOND as f64 / (1.0 - quantile));
    if all < needed {
        return Err(NoQuantile::TooFew { needed });
    }
    match round_up(quantile * all as f64).max(1) {
        rank if rank <= succeeded => Ok(rank),
        _ => Err(NoQuantile::AmongFailed { failed, all }),
    }
}
/// Rounds up to a whole number, but for the noise of a binary fraction.
/// Shares such as 0.9 are no binary fractions: their rounding must not ask for one observation more.
fn round_up(value: f64) -> u64 {
    (value * (1.0 - 1e-12)).ceil() as u64
}

/// Computes the [`rank_of_quantile`] as a share of the successes alone, as histograms are asked.
/// It is half a rank lower, so that no rounding leads to the next one.
pub fn share_of_successes(quantile: f64, succeeded: u64, failed: u64) -> Result<f64, NoQuantile> {
    rank_of_quantile(quantile, succeeded, failed).map(|rank| (rank as f64 - 0.5) / succeeded as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_observations_lie_beyond_a_quantile() {
        for (quantile, needed) in [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1_000), (0.999, 10_000)] {
            assert_eq!(rank_of_quantile(quantile, needed - 1, 0), Err(NoQuantile::TooFew { needed }), "{quantile}");
            assert!(rank_of_quantile(quantile, needed, 0).is_ok(), "{quantile}");
        }
        assert_eq!(rank_of_quantile(0.99, 1_000, 0), Ok(990));
        assert_eq!(rank_of_quantile(0.99, 995, 5), Ok(990), "of all, and not of the successes");
    }

    #[test]
    fn a_quantile_among_those_that_failed_does_not_exist() {
        assert_eq!(rank_of_quantile(0.99, 990, 10), Ok(990), "one in a hundred is beyond it");
        let none = rank_of_quantile(0.99, 989, 11);
        assert_eq!(none, Err(NoQuantile::AmongFailed { failed: 11, all: 1_000 }));
        let message = none.unwrap_err().to_string();
        assert_eq!(message, "it lies among the 11 of 1000 (1.10 %) that did not succeed");
        assert_eq!(rank_of_quantile(0.5, 20, 80), Err(NoQuantile::AmongFailed { failed: 80, all: 100 }));
        assert_eq!(rank_of_quantile(0.5, 0, 100), Err(NoQuantile::AmongFailed { failed: 100, all: 100 }));
        assert_eq!(rank_of_quantile(0.5, 0, 0), Err(NoQuantile::TooFew { needed: 20 }));
    }

    proptest! {
        /// The quantile is that of sorting all, as long as failures last at least as long as every success.
        #[test]
        fn it_is_the_quantile_of_all(
            successes in prop::collection::vec(1_u64..1_000, 0..400), failed in 0_u64..200, beyond in 1_000_u64..2_000,
            quantile in prop::sample::select(vec![0.5, 0.9, 0.95]),
        ) {
            let mut successes = successes;
            successes.sort_unstable();
            let mut all = successes.clone();
            all.extend((0..failed).map(|more| beyond + more));
            match rank_of_quantile(quantile, successes.len() as u64, failed) {
                Ok(rank) => {
                    let value = successes[rank as usize - 1];
                    let within = all.iter().filter(|one| **one <= value).count() as f64;
                    let below = all.iter().filter(|one| **one < value).count() as f64;
                    prop_assert!(within >= quantile * all.len() as f64 - 1e-9);
                    prop_assert!(below < quantile * all.len() as f64 + 1e-9);
                    let share = share_of_successes(quantile, successes.len() as u64, failed).unwrap();
                    prop_assert_eq!((share * successes.len() as f64).ceil() as u64, rank);
                }
                Err(NoQuantile::AmongFailed { .. }) => {
                    prop_assert!((successes.len() as f64) < quantile * all.len() as f64);
                }
                Err(NoQuantile::TooFew { needed }) => prop_assert!((all.len() as u64) < needed),
            }
        }
    }
}
