//! Welch's t test, for samples that cannot be paired: imported tables, or sides that never shared a round.

use crate::moments::{mean, squared_error};
use crate::paired::{NotComparable, ROUNDING, check_level};
use crate::sample::Sample;
use crate::special::{student_t_quantile, student_t_two_sided};

/// Mean of B less mean of A.
struct WelchDifference {
    difference: f64,
    lo: f64,
    hi: f64,
    df: f64,
    p: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnpairedRatio {
    /// Geometric mean of B over geometric mean of A.
    pub ratio: f64,
    pub lo: f64,
    pub hi: f64,
    pub level: f64,
    pub n_a: usize,
    pub n_b: usize,
    /// Welch–Satterthwaite; infinite if neither side varies.
    pub df: f64,
    /// Two-sided p of "the ratio is 1".
    pub p: f64,
}

/// Estimates the ratio B / A of unpaired samples with its interval and p, by Welch's test on logarithms.
/// Variances need not be equal (Welch, Biometrika 34, 1947). All noise between rounds stays in the interval, which is
/// therefore wider than that of [`crate::paired_ratio`]; and nothing guards against drift between the two sides.
///
/// # Errors
/// Fewer than two runs on a side, a value that is not positive, or a level outside (0, 1).
pub fn welch_ratio(a: &Sample, b: &Sample, level: f64) -> Result<UnpairedRatio, NotComparable> {
    let logs = welch_difference(&logarithms(a)?, &logarithms(b)?, level)?;
    Ok(UnpairedRatio {
        ratio: logs.difference.exp(),
        lo: logs.lo.exp(),
        hi: logs.hi.exp(),
        level,
        n_a: a.n(),
        n_b: b.n(),
        df: logs.df,
        p: logs.p,
    })
}

/// Gives the logarithms of the runs' values; fails if one is not positive.
fn logarithms(sample: &Sample) -> Result<Vec<f64>, NotComparable> {
    let logs = sample.runs().iter().map(|run| {
        if run.value > 0.0 { Ok(run.value.ln()) } else { Err(NotComparable::NotPositive { round: run.round }) }
    });
    logs.collect()
}

/// Computes Welch's interval and p of the difference of two means, b - a.
fn welch_difference(a: &[f64], b: &[f64], level: f64) -> Result<WelchDifference, NotComparable> {
    check_level(level)?;
    let [error_a, error_b] = [a, b].map(|side| squared_error(side).ok_or(NotComparable::TooFew { n: side.len() }));
    let (error_a, error_b) = (error_a?, error_b?);
    let difference = mean(b) - mean(a);
    let error = (error_a + error_b).sqrt();
    if error <= ROUNDING * (mean(a).abs() + mean(b).abs()) {
        let p = if difference.abs() <= error { 1.0 } else { 0.0 };
        return Ok(WelchDifference { difference, lo: difference, hi: difference, df: f64::INFINITY, p });
    }
    let df = welch_df((error_a, a.len()), (error_b, b.len()));
    let half_width = student_t_quantile(f64::midpoint(1.0, level), df) * error;
    Ok(WelchDifference {
        difference,
        lo: difference - half_width,
        hi: difference + half_width,
        df,
        p: student_t_two_sided(difference / error, df),
    })
}

/// Computes the degrees of freedom by Welch and Satterthwaite, from each side's squared error and number.
pub(crate) fn welch_df((error_a, n_a): (f64, usize), (error_b, n_b): (f64, usize)) -> f64 {
    let share_a = error_a * error_a / (n_a - 1) as f64;
    let share_b = error_b * error_b / (n_b - 1) as f64;
    (error_a + error_b).powi(2) / (share_a + share_b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::sample;

    const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    /// R: `t.test(extra ~ group, data = sleep)` prints t = -1.8608, df = 17.776, p = 0.07939 and -3.3654832 0.2054832;
    /// more digits from scipy 1.17.1 `ttest_ind(second, first, equal_var=False)`.
    #[test]
    fn agrees_with_r_on_the_sleep_data() {
        let got = welch_difference(&FIRST, &SECOND, 0.95).unwrap();
        for (value, want) in [
            (got.difference, 1.58),
            (got.lo, -0.20548323071171137),
            (got.hi, 3.3654832307117104),
            (got.df, 17.776473516178488),
            (got.p, 0.0793941401873583),
        ] {
            assert!((value - want).abs() < 1e-9, "got {value}, want {want}");
        }
        let [first, second] = [FIRST, SECOND].map(|logs| sample(&logs.map(f64::exp)));
        let ratio = welch_ratio(&first, &second, 0.95).unwrap();
        assert!((ratio.lo.ln() - got.lo).abs() < 1e-9 && (ratio.p - got.p).abs() < 1e-9);
        assert_eq!((ratio.n_a, ratio.n_b), (10, 10));
    }

    #[test]
    fn degenerate_samples() {
        let (fives, sixes) = (sample(&[5.0; 4]), sample(&[6.0; 3]));
        let same = welch_ratio(&fives, &fives, 0.95).unwrap();
        assert_eq!((same.ratio, same.lo, same.hi, same.p), (1.0, 1.0, 1.0, 1.0));
        let other = welch_ratio(&fives, &sixes, 0.95).unwrap();
        assert_eq!((other.lo, other.p), (other.ratio, 0.0));
        assert_eq!(welch_ratio(&fives, &sample(&[1.0]), 0.95), Err(NotComparable::TooFew { n: 1 }));
        assert_eq!(welch_ratio(&fives, &sample(&[1.0, 0.0]), 0.95), Err(NotComparable::NotPositive { round: 1 }));
        let zeros = welch_difference(&[0.0; 3], &[0.0; 3], 0.95).unwrap();
        assert_eq!((zeros.difference, zeros.p), (0.0, 1.0));
    }
}
