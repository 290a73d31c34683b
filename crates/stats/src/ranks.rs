//! Rank tests, for samples that cannot be paired and noise that is not normal.

use crate::moments::{sorted, tie_sizes};
use crate::sample::Sample;
use crate::special::normal_two_sided;

/// Above this many runs a side the exact distribution is replaced by the normal one, which by then differs in the
/// fourth digit.
const MAX_EXACT: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Number of (a, b) with b > a, ties counting one half. Divided by both sizes it is the chance that a run of B
    /// exceeds one of A.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Tests two independent samples by Mann and Whitney's (Wilcoxon's) rank sum; `None` if either is empty.
///
/// Mann & Whitney, Annals of Math. Statistics 18, 1947: exact by their recursion when there are no ties and at most 25
/// runs a side, otherwise normal with tie and continuity corrections (Hollander & Wolfe, "Nonparametric Statistical
/// Methods", 4.1). It ignores rounds: use it for imported results that have none.
pub fn mann_whitney(a: &Sample, b: &Sample) -> Option<MannWhitney> {
    let (n_a, n_b) = (a.n(), b.n());
    if n_a == 0 || n_b == 0 {
        return None;
    }
    let u: f64 = a.values().iter().flat_map(|&x| b.values().iter().map(move |&y| win_score(x, y))).sum();
    let ties = tie_sizes(&sorted(&[a.values(), b.values()].concat()));
    let untied = ties.iter().all(|&size| size == 1);
    let p = if untied && n_a.max(n_b) <= MAX_EXACT {
        rank_sum_exact_p(u, n_a, n_b)
    } else {
        rank_sum_approximate_p(u, n_a as f64, n_b as f64, &ties)
    };
    Some(MannWhitney { u, p })
}

/// Scores a pair of values: 1 if `y` is larger, 1/2 if both are equal, else 0.
fn win_score(x: f64, y: f64) -> f64 {
    if y > x {
        1.0
    } else if y == x {
        0.5
    } else {
        0.0
    }
}

/// Gives the exact two-sided p of Mann and Whitney's U without ties: twice the smaller tail, at most 1.
/// `counts[v]` becomes the number of arrangements with U = v: the coefficients of the Gaussian binomial, built one
/// factor (1 - q^(n_b + i)) / (1 - q^i) at a time. Counts stay below 2^50: exact.
fn rank_sum_exact_p(u: f64, n_a: usize, n_b: usize) -> f64 {
    let largest = n_a * n_b;
    let mut counts = vec![0.0; largest + 1];
    counts[0] = 1.0;
    for i in 1..=n_a {
        for v in (n_b + i..=largest).rev() {
            counts[v] -= counts[v - n_b - i];
        }
        for v in i..=largest {
            counts[v] += counts[v - i];
        }
    }
    let total: f64 = counts.iter().sum();
    // The distribution is symmetric: the smaller of U and its mirror image gives the smaller tail. Without ties U is whole.
    let smaller = u.min(largest as f64 - u) as usize;
    (2.0 * counts[..=smaller].iter().sum::<f64>() / total).min(1.0)
}

/// Gives the two-sided p of Mann and Whitney's U by the normal approximation, ties corrected.
fn rank_sum_approximate_p(u: f64, n_a: f64, n_b: f64, ties: &[usize]) -> f64 {
    let n = n_a + n_b;
    let tied: f64 = ties.iter().map(|&t| t as f64).map(|t| t * t * t - t).sum();
    let variance = n_a * n_b / 12.0 * (n + 1.0 - tied / (n * (n - 1.0)));
    if variance <= 0.0 {
        return 1.0; // every value is the same
    }
    let distance = ((u - n_a * n_b / 2.0).abs() - 0.5).max(0.0);
    normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::sample;

    /// scipy's manual page of `mannwhitneyu` (ages at diagnosis of diabetes): U = 17, exact p = 0.1111.
    #[test]
    fn exact_on_the_scipy_example() {
        let (females, males) = (sample(&[20.0, 11.0, 17.0, 12.0]), sample(&[19.0, 22.0, 16.0, 29.0, 24.0]));
        let got = mann_whitney(&females, &males).unwrap();
        assert_eq!(got.u, 17.0);
        assert!((got.p - 1.0 / 9.0).abs() < 1e-12);
    }

    /// Hollander & Wolfe (1973), p. 69, and R's `?wilcox.test`: W = 35, one-sided p = 0.1272; two-sided from scipy
    /// 1.17.1 `mannwhitneyu(a, b, method='exact')`.
    #[test]
    fn exact_on_the_tritium_data() {
        let term = sample(&[0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]);
        let early = sample(&[1.15, 0.88, 0.90, 0.74, 1.21]);
        let got = mann_whitney(&early, &term).unwrap();
        assert_eq!(got.u, 35.0);
        assert!((got.p - 0.2544122544122544).abs() < 1e-12, "{}", got.p);
        assert!((mann_whitney(&term, &early).unwrap().p - got.p).abs() < 1e-12);
    }

    /// scipy 1.17.1: `mannwhitneyu(x, y, method='asymptotic')`, statistic 16.5 for x.
    #[test]
    fn ties_agree_with_scipy() {
        let x = sample(&[1.0, 2.0, 2.0, 3.0, 5.0, 7.0, 7.0, 9.0]);
        let y = sample(&[2.0, 4.0, 5.0, 7.0, 8.0, 10.0, 11.0]);
        let got = mann_whitney(&y, &x).unwrap();
        assert_eq!(got.u, 16.5);
        assert!((got.p - 0.19936699660628343).abs() < 1e-10, "{}", got.p);
    }

    #[test]
    fn edges() {
        let (same, none) = (sample(&[4.0; 5]), sample(&[]));
        assert_eq!(mann_whitney(&same, &same).unwrap().p, 1.0);
        assert_eq!(mann_whitney(&same, &none), None);
    }
}
