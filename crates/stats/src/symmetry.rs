//! Whether the rounds' differences lean, which intervals for means do not forgive, and what their signs alone say.

use crate::moments::{mean, standard_deviation};
use crate::sample::Pairs;

/// The asymmetry of differences that are further from symmetry than one in a hundred normal samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skewed {
    /// G1, 0 for what is symmetric.
    pub skewness: f64,
    pub rounds: u32,
    /// How many rounds from the first on favour one side.
    pub signs: Signs,
}

/// The run of rounds from the first on that have one sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signs {
    pub rounds: u32,
    /// Bounds the p of "either side is as likely to be ahead", at any look and whatever the distribution: a stake on
    /// each
    /// side, doubled by each round that it wins, has grown to 2^(rounds - 1) of what was laid (Ville's inequality).
    pub p: f64,
}

/// Standard errors from 0 that one in a hundred normal samples goes beyond.
const BEYOND: f64 = 2.576;

/// Gives the adjusted skewness of the log ratios, if it is beyond chance.
/// G1 of Joanes & Gill, The Statistician 47, 1998. `None` also for fewer than six pairs, or without a ratio.
pub fn test_skewness(pairs: &Pairs) -> Option<Skewed> {
    let logs = pairs.log_ratios().ok()?;
    let (n, sd) = (logs.len() as f64, standard_deviation(&logs)?);
    if logs.len() < crate::MIN_ROUNDS as usize || sd < crate::paired::ROUNDING {
        return None;
    }
    let centre = mean(&logs);
    let cubes: f64 = logs.iter().map(|log| ((log - centre) / sd).powi(3)).sum();
    let skewness = n / ((n - 1.0) * (n - 2.0)) * cubes;
    let error = (6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0))).sqrt();
    let is_beyond = skewness.abs() > BEYOND * error;
    is_beyond.then(|| Skewed { skewness, rounds: logs.len() as u32, signs: count_signs(&logs) })
}

/// Counts the first logs that share one sign, and gives the p-value of such a run.
fn count_signs(logs: &[f64]) -> Signs {
    let first = logs.first().map_or(0.0, |log| log.signum());
    let rounds = logs.iter().take_while(|log| **log != 0.0 && log.signum() == first).count() as u32;
    Signs { rounds, p: (2.0_f64).powi(1 - rounds.min(1_000) as i32).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::pairs_of_logs;

    /// The textbook's formula in another program gave the value; the error of ten values is 0.687.
    #[test]
    fn one_wild_round_is_skewed() {
        let logs = [0.01, 0.02, 0.015, 0.012, 0.018, 0.011, 0.016, 0.014, 0.013, 0.2];
        let found = test_skewness(&pairs_of_logs(&logs)).unwrap();
        assert!((found.skewness - 3.145971).abs() < 1e-6 && found.rounds == 10, "{found:?}");
        assert_eq!(found.signs, Signs { rounds: 10, p: 2.0_f64.powi(-9) });
        let mirrored = test_skewness(&pairs_of_logs(&logs.map(|log| -log))).unwrap();
        assert!((mirrored.skewness + found.skewness).abs() < 1e-9);
    }

    #[test]
    fn what_is_symmetric_or_too_little_is_not() {
        assert_eq!(test_skewness(&pairs_of_logs(&[0.1, -0.1, 0.2, -0.2, 0.05, -0.05])), None);
        assert_eq!(test_skewness(&pairs_of_logs(&[0.0, 0.0, 0.0, 0.0, 5.0])), None);
        assert_eq!(test_skewness(&pairs_of_logs(&[0.1; 8])), None);
    }

    /// Six rounds of one sign reach 0.05, five do not.
    #[test]
    fn signs_count_up_to_the_first_of_the_other_side() {
        assert_eq!(count_signs(&[0.1; 6]), Signs { rounds: 6, p: 0.03125 });
        assert_eq!(count_signs(&[-0.1, -0.1, -0.2, -0.1, -0.1, 0.1, -0.1]), Signs { rounds: 5, p: 0.0625 });
        assert_eq!(count_signs(&[0.0, 0.1]), Signs { rounds: 0, p: 1.0 });
    }
}
