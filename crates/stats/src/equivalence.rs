//! Evidence that two systems do not differ by more than a margin, which a large p-value is not.

use crate::paired::PairedRatio;
use crate::special::student_t_cdf;

/// Gives the range of ratios that count as equal under a `margin`: [1 / (1 + margin), 1 + margin].
/// The margin of 3 % is 0.03. Symmetric for ratios, so that swapping A and B cannot change a verdict; the lower end of
/// 3 % is 0.9709, not 0.97.
pub fn margin_bounds(margin: f64) -> (f64, f64) {
    (1.0 / (1.0 + margin), 1.0 + margin)
}

/// Whether the ratio's whole interval lies inside the margin, ends included.
/// With a 95 % interval this is TOST at 2.5 % a side, stricter than the usual 5 %: one interval serves the figure, the
/// difference and the equivalence, so that the reader can see every verdict in it.
pub fn lies_within_margin(ratio: &PairedRatio, margin: f64) -> bool {
    let (low, high) = margin_bounds(margin);
    low <= ratio.lo && ratio.hi <= high
}

/// Gives the p of the two one-sided tests (TOST) of "the true ratio lies outside the margin": the larger of both.
/// Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987. Small means equivalent.
pub fn tost_p(ratio: &PairedRatio, margin: f64) -> f64 {
    let inside = margin.ln_1p() - ratio.ratio.ln().abs();
    let error = ratio.log_sd / f64::from(ratio.pairs).sqrt();
    if error == 0.0 {
        return if inside >= 0.0 { 0.0 } else { 1.0 };
    }
    // The nearer bound is the harder one to reject, hence the absolute value above.
    student_t_cdf(-inside / error, f64::from(ratio.pairs) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::paired_ratio;
    use crate::sample::tests::pairs_of_logs;
    use proptest::prelude::*;

    /// scipy 1.17.1: `max(ttest_1samp(d, -log(1.03), alternative='greater').pvalue,
    /// ttest_1samp(d, log(1.03), alternative='less').pvalue)`.
    #[test]
    fn tost_agrees_with_scipy() {
        let logs = [0.004, -0.006, 0.010, 0.002, -0.003, 0.008, 0.001, -0.002];
        let ratio = paired_ratio(&pairs_of_logs(&logs), 0.95).unwrap();
        let got = tost_p(&ratio, 0.03);
        assert!((got / 9.374403532061134e-07 - 1.0).abs() < 1e-8, "{got:e}");
        assert!(lies_within_margin(&ratio, 0.03) && !lies_within_margin(&ratio, 0.001));
    }

    #[test]
    fn no_noise_decides_at_once() {
        let ratio = paired_ratio(&pairs_of_logs(&[0.02; 6]), 0.95).unwrap();
        assert_eq!((tost_p(&ratio, 0.03), tost_p(&ratio, 0.01)), (0.0, 1.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The interval at level 1 - 2 alpha lies inside exactly when TOST rejects at alpha.
        #[test]
        fn interval_and_tost_agree(logs in prop::collection::vec(-0.05..0.05_f64, 3..12), margin in 0.005..0.1_f64) {
            let ratio = paired_ratio(&pairs_of_logs(&logs), 0.95).unwrap();
            prop_assert_eq!(lies_within_margin(&ratio, margin), tost_p(&ratio, margin) <= 0.025);
        }
    }
}
