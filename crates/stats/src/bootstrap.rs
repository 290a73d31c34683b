//! An interval for the ratio that does not assume normal noise.

use crate::moments::{mean, sorted, standard_deviation};
use crate::paired::{ROUNDING, check_level};
use crate::rng::Rng;
use crate::sample::Pairs;

/// Computes the bootstrap-t interval of the ratio B / A, resampling rounds: (`lo`, `hi`).
///
/// Bootstrap-t (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, 12.5) because experiments have 6 to 20
/// rounds: there the percentile interval is too narrow by about sqrt((n-1)/n) times z/t, and BCa inherits that, while
/// the studentised one carries its own small-sample correction (Hesterberg, "What Teachers Should Know about the
/// Bootstrap", The American Statistician 69, 2015). Its known weakness, a wide interval when a resample hardly varies,
/// errs on the safe side. The report shows it next to the t interval: a gap between the two says that the noise is skewed.
///
/// `resamples` of 999 or more are usual; the same `seed` gives the same interval. An end may be 0 or infinity when the
/// rounds hold too little variety (all but one equal). The whole positive line, (0, infinity), where
/// [`crate::paired_ratio`] has an error to report, or without resamples.
pub fn bootstrap_ratio(pairs: &Pairs, level: f64, resamples: u32, seed: u64) -> (f64, f64) {
    const NOTHING_KNOWN: (f64, f64) = (0.0, f64::INFINITY);
    let (Ok(logs), Ok(())) = (pairs.log_ratios(), check_level(level)) else {
        return NOTHING_KNOWN;
    };
    let Some(sd) = standard_deviation(&logs) else {
        return NOTHING_KNOWN;
    };
    if resamples == 0 {
        return NOTHING_KNOWN;
    }
    let centre = mean(&logs);
    if sd < ROUNDING {
        return (centre.exp(), centre.exp());
    }
    let error = sd / (logs.len() as f64).sqrt();
    let studentised = sorted(&studentised_means(&logs, centre, resamples, seed));
    let tail = (1.0 - level) / 2.0;
    // The large quantile bounds from below: t* = (m* - m) / e* stands for (m - mu) / e.
    (
        (centre - quantile_of_ordered(&studentised, 1.0 - tail) * error).exp(),
        (centre - quantile_of_ordered(&studentised, tail) * error).exp(),
    )
}

/// Resamples that are worked out side by side: the additions of one wait for each other, those of several do not.
const LANES: usize = 4;

/// Draws resamples of the rounds and gives each one's studentised mean, (m* - m) / e*.
fn studentised_means(logs: &[f64], centre: f64, resamples: u32, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    let mut drawn = vec![[0.0; LANES]; logs.len()];
    let mut found = Vec::with_capacity(resamples as usize);
    for first in (0..resamples as usize).step_by(LANES) {
        let lanes = LANES.min(resamples as usize - first);
        for lane in 0..lanes {
            drawn.iter_mut().for_each(|round| round[lane] = logs[rng.draw_below(logs.len())]);
        }
        found.extend_from_slice(&studentise(&drawn, centre)[..lanes]);
    }
    found
}

/// Studentises the mean of one resample in each lane, given the mean of the rounds.
fn studentise(drawn: &[[f64; LANES]], centre: f64) -> [f64; LANES] {
    let n = drawn.len() as f64;
    let means = sum_lanes(drawn, |value, _| value).map(|sum| sum / n);
    let squares = sum_lanes(drawn, |value, lane| (value - means[lane]) * (value - means[lane]));
    std::array::from_fn(|lane| {
        let (shift, sd) = (means[lane] - centre, (squares[lane] / (n - 1.0)).sqrt());
        match sd {
            sd if sd >= ROUNDING => shift / (sd / n.sqrt()),
            // The same round n times over: its t is as far out as can be, unless it sits on the mean.
            _ if shift.abs() < ROUNDING => 0.0,
            _ => f64::INFINITY.copysign(shift),
        }
    })
}

/// Adds up a term of each value of each lane.
fn sum_lanes(drawn: &[[f64; LANES]], term: impl Fn(f64, usize) -> f64) -> [f64; LANES] {
    // What an empty sum is, so that these add up as any other sum does.
    let mut sums = [-0.0; LANES];
    drawn.iter().for_each(|round| (0..LANES).for_each(|lane| sums[lane] += term(round[lane], lane)));
    sums
}

/// Gives the p-quantile of ordered values: the order statistic at p(B + 1).
/// Davison & Hinkley 1997, 2.4; that is whole for B = 999.
fn quantile_of_ordered(ordered: &[f64], p: f64) -> f64 {
    let position = (p * (ordered.len() + 1) as f64).round() as usize;
    ordered[position.clamp(1, ordered.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::pair_by_round;
    use crate::sample::tests::{pairs_of_logs, sample};

    /// numpy with 200,000 resamples: `t = (X.mean(1) - m) / (X.std(1, ddof=1) / sqrt(n))` over
    /// `X = d[rng.integers(0, n, (200000, n))]`, then `m - quantile(t, [.975, .025]) * e`.
    #[test]
    fn agrees_with_numpy_on_the_sleep_data() {
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let (lo, hi) = bootstrap_ratio(&pairs_of_logs(&sleep), 0.95, 50_000, 1);
        assert!((lo.ln() - 0.94958).abs() < 0.02, "{}", lo.ln());
        assert!((hi.ln() - 3.10311).abs() < 0.10, "{}", hi.ln());
    }

    #[test]
    fn the_seed_decides() {
        let pairs = pairs_of_logs(&[0.01, 0.03, -0.02, 0.00, 0.05, 0.02]);
        assert_eq!(bootstrap_ratio(&pairs, 0.95, 999, 3), bootstrap_ratio(&pairs, 0.95, 999, 3));
        assert_ne!(bootstrap_ratio(&pairs, 0.95, 999, 3), bootstrap_ratio(&pairs, 0.95, 999, 4));
    }

    #[test]
    fn degenerate_input_is_no_nan() {
        let three = sample(&[2.0, 3.0, 4.0]);
        assert_eq!(bootstrap_ratio(&pair_by_round(&three, &three), 0.95, 99, 0), (1.0, 1.0));
        let unknown = (0.0, f64::INFINITY);
        assert_eq!(bootstrap_ratio(&pair_by_round(&three, &sample(&[2.0])), 0.95, 99, 0), unknown);
        assert_eq!(bootstrap_ratio(&pair_by_round(&three, &sample(&[2.0, 0.0, 1.0])), 0.95, 99, 0), unknown);
        assert_eq!(bootstrap_ratio(&pairs_of_logs(&[0.1, 0.2]), 0.95, 0, 0), unknown);
        assert_eq!(bootstrap_ratio(&pairs_of_logs(&[0.1, 0.2]), 2.0, 99, 0), unknown);
    }
}
