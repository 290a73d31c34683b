//! Several metrics, one error rate.

/// Adjusts the p-values of one family by Holm's step-down method; the results are in the same order.
/// Comparing each with 0.05 then keeps the chance of *any* false alarm in the family at 5 %, however the metrics depend
/// on each other (Holm, Scandinavian J. of Statistics 6, 1979). A p that is not a number counts as 1.
pub fn adjust_by_holm(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![1.0; m];
    let mut largest_so_far: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        let factor = (m - rank) as f64;
        let raised = if p[i].is_nan() { 1.0 } else { (p[i] * factor).min(1.0) };
        largest_so_far = largest_so_far.max(raised);
        adjusted[i] = largest_so_far;
    }
    adjusted
}

/// Adjusts p-values by Benjamini and Hochberg's step-up method; the results are in the same order.
/// It is for families that are looked through rather than asked one question. Of the rows whose adjusted p is at most
/// q, no more than the share q is false on average; where nothing differs at all, the chance of *any* is q too (J.
/// Royal Statistical Society B 57, 1995; for metrics that rise and fall together: Benjamini & Yekutieli, Annals of
/// Statistics 29, 2001). A p that is not a number counts as 1.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let known: Vec<f64> = p.iter().map(|&p| if p.is_nan() { 1.0 } else { p }).collect();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&i, &j| known[j].total_cmp(&known[i]));
    let mut adjusted = vec![1.0; m];
    let mut smallest_so_far: f64 = 1.0;
    for (larger, &i) in order.iter().enumerate() {
        smallest_so_far = smallest_so_far.min(known[i] * (m as f64 / (m - larger) as f64));
        adjusted[i] = smallest_so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn close(got: Vec<f64>, want: &[f64]) {
        assert!(got.len() == want.len() && got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12), "{got:?}");
    }

    /// R: `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH")` is 0.05 five times;
    /// `p.adjust(c(0.04, 0.001, 0.3, 0.02), "BH")` is 0.05333333 0.00400000 0.30000000 0.04000000.
    #[test]
    fn benjamini_hochberg_agrees_with_r() {
        close(benjamini_hochberg(&[0.01, 0.02, 0.03, 0.04, 0.05]), &[0.05; 5]);
        close(benjamini_hochberg(&[0.04, 0.001, 0.3, 0.02]), &[0.16 / 3.0, 0.004, 0.3, 0.04]);
        close(benjamini_hochberg(&[0.01, f64::NAN]), &[0.02, 1.0]);
        close(benjamini_hochberg(&[]), &[]);
    }

    /// R: `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")` is 0.05 0.08 0.09 0.09 0.09;
    /// `p.adjust(c(0.04, 0.001, 0.3), "holm")` is 0.080 0.003 0.300.
    #[test]
    fn agrees_with_r() {
        close(adjust_by_holm(&[0.01, 0.02, 0.03, 0.04, 0.05]), &[0.05, 0.08, 0.09, 0.09, 0.09]);
        close(adjust_by_holm(&[0.04, 0.001, 0.3]), &[0.08, 0.003, 0.3]);
        close(adjust_by_holm(&[0.9, 0.8]), &[1.0, 1.0]);
        close(adjust_by_holm(&[0.01, f64::NAN]), &[0.02, 1.0]);
        close(adjust_by_holm(&[]), &[]);
    }

    proptest! {
        #[test]
        fn never_smaller_and_keeps_the_order(p in prop::collection::vec(0.0..=1.0_f64, 1..12)) {
            for adjusted in [adjust_by_holm(&p), benjamini_hochberg(&p)] {
                for i in 0..p.len() {
                    prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                    for j in 0..p.len() {
                        prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                    }
                }
            }
            prop_assert!(adjust_by_holm(&p).iter().zip(benjamini_hochberg(&p)).all(|(holm, other)| other <= *holm + 1e-15));
        }
    }
}
