//! One side that has more than a multiple of the other, also where a value is zero and has no logarithm.

use crate::moments::{mean, squared_error, standard_deviation};
use crate::paired::ROUNDING;
use crate::sample::{Pairs, Sample};
use crate::sequence::Sequence;
use crate::special::student_t_two_sided;
use crate::welch::welch_df;

/// Gives the one-sided p of "the mean of A is at most `factor` times the mean of B".
///
/// Each round contributes `a - factor * b`, and a t test asks for the sign of their mean: Fieller's test of a ratio of means
/// ("Some problems in interval estimation", Journal of the Royal Statistical Society B 16, 1954), for pairs. The p is 1 with
/// fewer than two pairs. With a sequence it is the least of all its looks, and holds at each of them.
pub fn excess_p(pairs: &Pairs, factor: f64, sequence: Option<&Sequence>) -> f64 {
    let [a, b] = pairs.sides();
    let excess: Vec<f64> = a.values().iter().zip(b.values()).map(|(a, b)| a - factor * b).collect();
    let scale = mean(a.values()) + factor * mean(b.values());
    let Some(sequence) = sequence else { return one_sided_p(&excess, scale, student_t_two_sided) };
    let looks = (sequence.first_look() as usize)..=excess.len();
    looks.map(|n| one_sided_p(&excess[..n], scale, |t, _| sequence.p_value(n as u32, t))).fold(1.0, f64::min)
}

/// Gives the p of [`excess_p`] for samples without common rounds, by Welch's test.
pub fn unpaired_excess_p(a: &Sample, b: &Sample, factor: f64) -> f64 {
    let (Some(error_a), Some(error_b)) = (squared_error(a.values()), squared_error(b.values())) else { return 1.0 };
    let error_b = factor * factor * error_b;
    let df = welch_df((error_a, a.n()), (error_b, b.n()));
    let (mean_a, mean_b) = (mean(a.values()), factor * mean(b.values()));
    p_of_positive_mean(mean_a - mean_b, (error_a + error_b).sqrt(), mean_a + mean_b, |t| student_t_two_sided(t, df))
}

/// Gives the one-sided p of "the values' mean is positive", by the test whose two-sided p is given.
fn one_sided_p(values: &[f64], scale: f64, two_sided: impl Fn(f64, f64) -> f64) -> f64 {
    let Some(sd) = standard_deviation(values) else { return 1.0 };
    let n = values.len() as f64;
    p_of_positive_mean(mean(values), sd / n.sqrt(), scale, |t| two_sided(t, n - 1.0))
}

/// Gives the one-sided p of a positive mean with this standard error; 1 where it is not above rounding.
fn p_of_positive_mean(mean: f64, error: f64, scale: f64, two_sided: impl Fn(f64) -> f64) -> f64 {
    let rounding = ROUNDING * scale.abs();
    if mean <= rounding {
        return 1.0;
    }
    if error <= rounding { 0.0 } else { two_sided(mean / error) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{RunValue, pair_by_round};

    fn sample(values: &[f64]) -> Sample {
        Sample::from_runs((0..).zip(values).map(|(round, value)| RunValue { round, value: *value }))
    }

    fn p(a: &[f64], b: &[f64], factor: f64) -> f64 {
        excess_p(&pair_by_round(&sample(a), &sample(b)), factor, None)
    }

    #[test]
    fn values_without_spread_differ_exactly() {
        assert_eq!(p(&[2.0; 6], &[1.0; 6], 1.05), 0.0);
        assert_eq!(p(&[1.0; 6], &[0.0; 6], 1.05), 0.0);
        assert_eq!(p(&[1.05; 6], &[1.0; 6], 1.05), 1.0);
        assert_eq!(p(&[0.0; 6], &[0.0; 6], 1.05), 1.0);
        assert_eq!(p(&[2.0], &[1.0], 1.05), 1.0);
        assert_eq!(unpaired_excess_p(&sample(&[2.0; 6]), &sample(&[1.0; 6]), 1.05), 0.0);
    }

    /// R: t.test(c(0.2, 0.5, 0.1, 0.4), alternative = "greater")$p.value
    #[test]
    fn the_p_is_that_of_a_one_sided_t_test() {
        let of_differences = p(&[1.2, 1.5, 1.1, 1.4], &[1.0; 4], 1.0);
        assert!((of_differences - 0.023_103).abs() < 1e-6, "{of_differences}");
        assert_eq!(p(&[1.0; 4], &[1.2, 1.5, 1.1, 1.4], 1.0), 1.0);
    }

    #[test]
    fn a_sequence_keeps_what_an_early_look_has_shown() {
        let sequence = Sequence::new(0.95, 6).unwrap();
        let (mut a, b) = (vec![2.0; 8], vec![1.0; 8]);
        for (rounds, want) in [(5, 1.0), (6, 0.0)] {
            let pairs = pair_by_round(&sample(&a[..rounds]), &sample(&b[..rounds]));
            assert_eq!(excess_p(&pairs, 1.05, Some(&sequence)), want, "{rounds} rounds");
        }
        a[7] = 0.0;
        let pairs = pair_by_round(&sample(&a), &sample(&b));
        assert_eq!(excess_p(&pairs, 1.05, Some(&sequence)), 0.0);
    }
}
