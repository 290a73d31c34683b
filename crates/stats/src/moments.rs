//! Means, spreads and order statistics of plain slices, shared by the other modules. Callers guard the lengths.

/// Arithmetic mean; NaN for an empty slice.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation with n - 1 in the denominator; `None` below two values.
pub(crate) fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The squared standard error of the mean; `None` below two values.
pub(crate) fn squared_error(values: &[f64]) -> Option<f64> {
    standard_deviation(values).map(|sd| sd * sd / values.len() as f64)
}
/// Copies the values in ascending order (total order, so NaN cannot derail it).
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// Median; of an even number the mean of the middle two; NaN for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    let ordered = sorted(values);
    let half = ordered.len() / 2;
    match ordered.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => ordered[half],
        _ => (ordered[half - 1] + ordered[half]) / 2.0,
    }
}

/// Counts each group of equal neighbours in a sorted slice: what tie corrections need.
pub(crate) fn tie_sizes(ordered: &[f64]) -> Vec<usize> {
    ordered.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}
