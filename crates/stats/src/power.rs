//! The smallest difference that an experiment of a given size can see, and the rounds that a difference takes.

use std::ops::RangeInclusive;

use crate::paired::check_level;
use crate::special::{normal_two_sided, student_t_quantile};
use crate::verdict::{MAX_ROUNDS, MIN_ROUNDS};

/// Chance of finding the effect that [`minimum_detectable_effect`] names.
pub const POWER: f64 = 0.8;

/// Computes the smallest relative difference (0.02 is 2 %) that `n` rounds find with 80 % power at `level`.
/// `log_sd` is the standard deviation of one round's log ratio (from [`crate::PairedRatio`], best of an A/A run). It is
/// exp((t_(1-a/2) + t_0.8) `log_sd` / sqrt(n)) - 1, after Bloom, "Minimum detectable effects", Evaluation Review 19,
/// 1995.
/// Against the noncentral t the power is 79.5 % at 6 rounds and 79.9 % at 10. `None` below two rounds or for a level
/// outside
/// (0, 1).
pub fn minimum_detectable_effect(log_sd: f64, n: u32, level: f64) -> Option<f64> {
    if n < 2 || check_level(level).is_err() {
        return None;
    }
    let df = f64::from(n - 1);
    let multiplier = student_t_quantile(f64::midpoint(1.0, level), df) + student_t_quantile(POWER, df);
    Some((multiplier * log_sd / f64::from(n).sqrt()).exp_m1())
}

/// Finds the fewest rounds with which a relative difference of `effect` is detectable.
/// They are [`MIN_ROUNDS`] or more, by [`minimum_detectable_effect`]. `None` if that takes more than [`MAX_ROUNDS`].
pub fn rounds_to_detect(effect: f64, log_sd: f64, level: f64) -> Option<u32> {
    (MIN_ROUNDS..=MAX_ROUNDS)
        .find(|n| minimum_detectable_effect(log_sd, *n, level).is_some_and(|least| least <= effect))
}

/// Finds the fewest of these `rounds` after which one look has an even chance to be sure of a true `ratio`.
/// Sure that it is a difference, by the first of two critical values of that number of rounds, in standard errors, or
/// within `margin`, by the second. A mean is as good as normal here, and `log_sd` as good as known; where there are
/// looks before it they add to the chance, which comes to 60 % and more. `None` if none of them are enough.
pub fn rounds_until_sure(
    mut rounds: RangeInclusive<u32>,
    (ratio, log_sd): (f64, f64),
    margin: f64,
    [differs, equals]: [&dyn Fn(u32) -> f64; 2],
) -> Option<u32> {
    let (truth, bound) = (ratio.ln().abs(), margin.ln_1p());
    rounds.find(|n| {
        let error = log_sd / f64::from(*n).sqrt();
        let (shown, room) = (differs(*n) * error, bound - equals(*n) * error);
        let within = room.min(shown).max(0.0);
        let [shown, minus_shown, within, minus_within] =
            [shown, -shown, within, -within].map(|log| normal_below((log - truth) / error));
        let open = (shown - minus_shown) - (within - minus_within);
        open <= 0.5
    })
}

/// Probability that a standard normal variable is below `z`.
fn normal_below(z: f64) -> f64 {
    let tail = normal_two_sided(z.abs()) / 2.0;
    if z > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `expm1((t.ppf(.975, n-1) + t.ppf(.8, n-1)) * sd / sqrt(n))`; true power there by
    /// `nct.sf(t.ppf(.975, n-1), n-1, effect / sd * sqrt(n))` plus the other tail: 0.795, 0.799, 0.800.
    #[test]
    fn agrees_with_scipy() {
        for (n, sd, want) in
            [(6, 0.02, 0.028906673388939895), (10, 0.02, 0.02009348463584069), (20, 0.05, 0.03357786678149735)]
        {
            let got = minimum_detectable_effect(sd, n, 0.95).unwrap();
            assert!((got - want).abs() < 1e-10, "n {n}: {got}");
        }
        // By the same figures: ten rounds find 2.01 %, and not 2 %.
        assert_eq!(rounds_to_detect(0.0201, 0.02, 0.95), Some(10));
        assert_eq!(rounds_to_detect(0.02, 0.02, 0.95), Some(11));
        assert_eq!(rounds_to_detect(0.5, 0.02, 0.95), Some(6));
        assert_eq!(rounds_to_detect(0.001, 0.5, 0.95), None);
        assert_eq!(minimum_detectable_effect(0.02, 1, 0.95), None);
        assert_eq!(minimum_detectable_effect(0.02, 6, 1.5), None);
    }
}
