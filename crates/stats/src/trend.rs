//! Does a series rise or fall as a whole?

use crate::moments::{mean, median, sorted, tie_sizes};
use crate::special::normal_two_sided;

/// Up to this length, and without ties, the exact distribution of Kendall's S is used.
const MAX_EXACT: usize = 30;

/// Longer series are reduced to [`BATCHES`] batch means first.
const BATCHED_FROM: usize = 60;

const BATCHES: usize = 30;

/// A trend over the whole of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    pub tau: f64,
    /// Two-sided p of "no trend".
    pub p: f64,
    /// Change from the first point to the last along the Theil-Sen line, as a share of the median; 0 if that is 0.
    pub relative_change: f64,
}

/// Tests a series in time order for a trend by Mann and Kendall; `None` below four points.
/// Series are the seconds of a run or the runs of an experiment. `None` also with a point that is not finite.
///
/// Mann, Econometrica 13, 1945; Kendall, "Rank Correlation Methods", with ties corrected; slope by Sen, JASA 63, 1968. The
/// test takes points as independent, which neighbouring seconds are not, so 60 points or more become 30 batch means
/// (Law & Kelton, "Simulation Modeling and Analysis", 9.5.3).
pub fn test_trend(series: &[f64]) -> Option<Trend> {
    if series.len() < 4 || !series.iter().all(|v| v.is_finite()) {
        return None;
    }
    let points = if series.len() < BATCHED_FROM { series.to_vec() } else { batch_means(series, BATCHES) };
    let n = points.len();
    // Each later point less point i, for every i.
    let mut s = 0.0;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, start) in points.iter().enumerate() {
        for (difference, gap) in points[i + 1..].iter().map(|later| later - start).zip(1_u32..) {
            s += if difference == 0.0 { 0.0 } else { difference.signum() };
            slopes.push(difference / f64::from(gap));
        }
    }
    let middle = median(&points).abs();
    let change = median(&slopes) * (n - 1) as f64;
    Some(Trend {
        tau: s / (n * (n - 1) / 2) as f64,
        p: p_of_s(s, &points),
        relative_change: if middle > 0.0 { change / middle } else { 0.0 },
    })
}

/// Means of `count` batches of near equal length, in order; `series` must not be shorter than `count`.
pub(crate) fn batch_means(series: &[f64], count: usize) -> Vec<f64> {
    (0..count).map(|i| mean(&series[i * series.len() / count..(i + 1) * series.len() / count])).collect()
}

/// Gives the two-sided p of Kendall's S of these points, exact for up to 30 without ties.
fn p_of_s(s: f64, points: &[f64]) -> f64 {
    let ties = tie_sizes(&sorted(points));
    if points.len() <= MAX_EXACT && ties.iter().all(|&size| size == 1) {
        return kendall_exact_p(s, points.len());
    }
    let tied: f64 = ties.iter().map(|&size| variance_of_s(size as f64)).sum();
    let variance = (variance_of_s(points.len() as f64) - tied) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    normal_two_sided((s.abs() - 1.0).max(0.0) / variance.sqrt())
}

/// Eighteen times the variance of S for `n` values without ties.
fn variance_of_s(n: f64) -> f64 {
    n * (n - 1.0) * (2.0 * n + 5.0)
}

/// Gives the exact two-sided p of Kendall's S for n points without ties.
/// Twice the share of the n! orders with at most as many inversions as one with |S|: Mahonian numbers, Kendall 1938.
fn kendall_exact_p(s: f64, n: usize) -> f64 {
    let pairs = n * (n - 1) / 2;
    // Shares instead of counts, since 30! is no exact double: inserting the k-th item adds 0..k-1 inversions.
    let mut shares = vec![0.0; pairs + 1];
    shares[0] = 1.0;
    for k in 2..=n {
        let before = shares.clone();
        for (inversions, share) in shares.iter_mut().enumerate() {
            let sum: f64 = before[(inversions + 1).saturating_sub(k)..=inversions].iter().sum();
            *share = sum / k as f64;
        }
    }
    let inversions = (pairs as f64 - s.abs()) as usize / 2;
    (2.0 * shares[..=inversions].iter().sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `kendalltau(range(7), x, method='exact')`.
    #[test]
    fn exact_p_agrees_with_scipy() {
        let got = test_trend(&[3.1, 2.9, 3.4, 3.3, 3.8, 3.6, 4.1]).unwrap();
        assert!((got.tau - 0.7142857142857143).abs() < 1e-12);
        assert!((got.p - 0.03015873015873016).abs() < 1e-12, "{}", got.p);
        // TPC-Council/HammerDB issue 822, in run order: bimodal, but no trend (scipy: tau -0.0667, p 1.0).
        let runs = [134_092.0, 129_852.0, 206_136.0, 198_488.0, 123_287.0, 195_082.0];
        let got = test_trend(&runs).unwrap();
        assert!((got.tau + 1.0 / 15.0).abs() < 1e-12 && got.p == 1.0);
    }

    /// numpy: S = 54, var = (n(n-1)(2n+5) - sum t(t-1)(2t+5)) / 18 = 208.667, z = (S - 1) / sqrt(var), p = 2 norm.sf(z);
    /// slope from scipy 1.17.1 `theilslopes(x)`, 0.6125.
    #[test]
    fn ties_agree_with_numpy() {
        let got = test_trend(&[1.0, 2.0, 2.0, 3.0, 5.0, 4.0, 4.0, 6.0, 7.0, 7.0, 6.0, 8.0]).unwrap();
        assert!((got.tau - 0.8181818181818182).abs() < 1e-12);
        assert!((got.p / 0.00024348805682409421 - 1.0).abs() < 1e-9, "{}", got.p);
        assert!((got.relative_change - 0.6125 * 11.0 / 4.5).abs() < 1e-12, "{}", got.relative_change);
    }

    #[test]
    fn long_series_are_batched() {
        let falling: Vec<f64> = (0..600).map(|i| 1_000.0 - 0.1 * f64::from(i)).collect();
        let got = test_trend(&falling).unwrap();
        assert!(got.tau == -1.0 && got.p < 1e-12);
        assert!((got.relative_change + 0.0597).abs() < 0.003, "{}", got.relative_change);
        assert_eq!(batch_means(&[1.0, 3.0, 5.0, 7.0, 9.0], 2), [2.0, 7.0]);
    }

    #[test]
    fn edges() {
        assert_eq!(test_trend(&[1.0, 2.0, 3.0]), None);
        assert_eq!(test_trend(&[1.0, 2.0, 3.0, f64::NAN]), None);
        assert_eq!(test_trend(&[0.0; 8]), Some(Trend { tau: 0.0, p: 1.0, relative_change: 0.0 }));
    }
}
