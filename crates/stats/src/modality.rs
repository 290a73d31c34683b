//! Samples that are two samples: a server that is sometimes in another state.

use crate::moments::{mean, sorted};

/// Clusters closer than this share of the overall mean are not reported: no one would act on them, and the last digit
/// of a rounded value could make them.
const MIN_DISTANCE: f64 = 0.01;

/// Columns of [`CRITICAL`].
const CHANCES: [f64; 4] = [0.2, 0.02, 0.002, 0.0002];

/// Sample size, and the separation (see [`two_clusters`]) that uniform samples of that size reach with each of [`CHANCES`]: from
/// 2,000,000 samples each. Uniform samples are the hardest to distinguish from two clusters among those with one mode.
const CRITICAL: [(f64, [f64; 4]); 17] = [
    (6.0, [8.42, 35.31, 128.6, 430.4]),
    (7.0, [7.41, 24.36, 70.75, 195.5]),
    (8.0, [6.71, 18.62, 46.88, 110.8]),
    (9.0, [6.21, 15.37, 34.70, 73.05]),
    (10.0, [5.84, 13.21, 27.48, 54.50]),
    (11.0, [5.51, 11.70, 22.87, 42.28]),
    (12.0, [5.31, 10.68, 19.69, 35.41]),
    (13.0, [5.14, 9.87, 17.42, 29.57]),
    (14.0, [5.00, 9.27, 15.82, 25.63]),
    (15.0, [4.87, 8.74, 14.37, 23.08]),
    (16.0, [4.76, 8.33, 13.30, 20.65]),
    (18.0, [4.59, 7.68, 11.68, 17.48]),
    (20.0, [4.45, 7.20, 10.60, 15.18]),
    (25.0, [4.21, 6.39, 8.84, 11.87]),
    (30.0, [4.06, 5.88, 7.85, 10.13]),
    (40.0, [3.86, 5.28, 6.69, 8.21]),
    (60.0, [3.65, 4.68, 5.63, 6.56]),
];

/// Largest chance in one mode at which two clusters are believed.
const BELIEVED: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clusters {
    /// Mean of the lower group, in the values' unit.
    pub low: f64,
    pub high: f64,
    pub low_count: usize,
    pub high_count: usize,
    /// Sum of squares between the groups over that within; infinite if neither group varies.
    pub separation: f64,
    /// The chance that a sample of this size with one mode comes apart as far: at most that of a uniform one.
    pub p: f64,
}

/// Splits a sample in two clusters if it is bimodal (p <= 0.02); `None` if it is not, or is smaller than six.
///
/// The statistic is the largest ratio, over all cuts of the sorted values, of the sum of squares between the two groups
/// to that within them (Engelman & Hartigan, "Percentage points of a test for clusters", JASA 64, 1969). Each group must
/// hold two values and a fifth of the sample, so that outliers do not count as a mode. The null distribution is not their
/// normal one but the uniform, as in Hartigan & Hartigan's dip test (Annals of Statistics 13, 1985), whose power at six
/// values is too low: 2 % false alarms on uniform samples, under 1 % on normal ones.
pub fn two_clusters(values: &[f64]) -> Option<Clusters> {
    split_in_clusters(values).filter(|found| found.p <= BELIEVED)
}

/// Finds the best split of a sample in two clusters with its p, not yet judged.
/// A caller with several samples adjusts their p-values together. `None` for fewer than six values, or groups too near
/// to matter.
pub fn split_in_clusters(values: &[f64]) -> Option<Clusters> {
    let ordered = sorted(values);
    if values.len() < 6 || !ordered.iter().all(|v| v.is_finite()) {
        return None;
    }
    let centre = mean(&ordered).abs();
    best_cut(&ordered).filter(|best| best.high - best.low > MIN_DISTANCE * centre)
}

/// Finds the cut of ordered values with the largest separation of the two groups.
/// It takes one pass over prefix sums of centred values.
fn best_cut(ordered: &[f64]) -> Option<Clusters> {
    let n = ordered.len();
    let centre = mean(ordered);
    let total: f64 = ordered.iter().map(|v| (v - centre) * (v - centre)).sum();
    let smallest = n.div_ceil(5).max(2);
    let mut prefix = 0.0;
    let mut best: Option<(f64, usize, f64)> = None;
    for (index, value) in ordered.iter().enumerate() {
        prefix += value - centre;
        let low_count = index + 1;
        if low_count < smallest || low_count > n - smallest {
            continue;
        }
        let between = prefix * prefix * n as f64 / (low_count * (n - low_count)) as f64;
        if best.is_none_or(|(largest, ..)| between > largest) {
            best = Some((between, low_count, prefix));
        }
    }
    let (between, low_count, prefix) = best?;
    let within = total - between;
    // Rounding residue is not variance.
    let separation = if within > 1e-12 * total { between / within } else { f64::INFINITY };
    Some(Clusters {
        low: centre + prefix / low_count as f64,
        high: centre - prefix / (n - low_count) as f64,
        low_count,
        high_count: n - low_count,
        separation,
        p: chance_of(separation, n as f64),
    })
}

/// Gives the chance of such a separation in a uniform sample of n values.
/// Interpolated log-log between the tabled points and extrapolated beyond them: the sum of squares within groups has a
/// power law near 0.
fn chance_of(separation: f64, n: f64) -> f64 {
    let critical = critical_separations(n);
    let points: Vec<(f64, f64)> = critical.iter().zip(CHANCES).map(|(at, chance)| (at.ln(), chance.ln())).collect();
    let at = separation.ln();
    let segment = points.windows(2).find(|pair| at <= pair[1].0).or_else(|| points.windows(2).last());
    let Some([(x0, y0), (x1, y1)]) = segment else { return 1.0 };
    if at.is_infinite() {
        return if at > 0.0 { 0.0 } else { 1.0 };
    }
    (y0 + (y1 - y0) * (at - x0) / (x1 - x0)).min(0.0).exp()
}

/// Gives the tabled critical separations for n values, one for each of the tabled chances.
/// Linear between sizes and constant beyond the table, where that errs on the safe side.
fn critical_separations(n: f64) -> [f64; 4] {
    let above = CRITICAL.partition_point(|(size, _)| *size < n);
    match (above.checked_sub(1).map(|i| CRITICAL[i]), CRITICAL.get(above)) {
        (Some((n0, c0)), Some(&(n1, c1))) => {
            std::array::from_fn(|at| c0[at] + (c1[at] - c0[at]) * (n - n0) / (n1 - n0))
        }
        (None, Some(&(_, c))) | (Some((_, c)), None) => c,
        (None, None) => [f64::INFINITY; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TPC-Council/HammerDB issue 822: new orders per minute of six runs with one configuration on one machine.
    #[test]
    fn hammerdb_runs_fall_in_two() {
        let runs = [134_092.0, 129_852.0, 206_136.0, 198_488.0, 123_287.0, 195_082.0];
        let found = two_clusters(&runs).unwrap();
        assert_eq!((found.low_count, found.high_count), (3, 3));
        assert!((found.low - 129_077.0).abs() < 1.0 && (found.high - 199_902.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn other_shapes_do_not() {
        let six = [100.0, 101.0, 99.0, 100.5, 98.7, 130.0];
        assert_eq!(two_clusters(&six), None, "one outlier");
        assert_eq!(two_clusters(&[100.0, 100.0, 100.0, 100.1, 100.1, 100.1]), None, "the last digit");
        assert_eq!(two_clusters(&[5.0; 12]), None, "constant");
        assert_eq!(two_clusters(&[1.0, 1.0, 1.0, 9.0, 9.0]), None, "five values");
        assert_eq!(two_clusters(&[1.0, 1.0, 1.0, 9.0, 9.0, f64::NAN]), None);
        let ramp: Vec<f64> = (0..50).map(|i| 100.0 + f64::from(i)).collect();
        assert_eq!(two_clusters(&ramp), None);
    }

    #[test]
    fn the_table_is_read_between_its_lines() {
        #[track_caller]
        fn close(got: f64, want: f64) {
            assert!((got / want - 1.0).abs() < 0.01, "got {got}, want {want}");
        }
        close(chance_of(35.31, 6.0), 0.02);
        close(chance_of(128.6, 6.0), 0.002);
        close(critical_separations(17.0)[1], 8.0);
        close(critical_separations(5_000.0)[1], 4.68);
        assert_eq!((chance_of(0.0, 6.0), chance_of(f64::INFINITY, 6.0)), (1.0, 0.0));
    }

    /// 2,000,000 uniform samples each reached these with a chance of 0.00002, a tenth of the last tabled one.
    #[test]
    fn beyond_the_table_the_chance_goes_on_falling() {
        for (n, separation) in [(6.0, 1368.7), (8.0, 239.9), (10.0, 112.4), (20.0, 21.97), (60.0, 7.505)] {
            let got = chance_of(separation, n);
            assert!((1e-5..4e-5).contains(&got), "n {n}: {got:e}");
        }
    }

    #[test]
    fn uniform_samples_have_uniform_chances() {
        let mut rng = crate::rng::Rng::new(3);
        for n in [6, 10, 17, 30] {
            let mut chance =
                || split_in_clusters(&(0..n).map(|_| 1.0 + rng.next_f64()).collect::<Vec<_>>()).map_or(1.0, |c| c.p);
            let chances: Vec<f64> = (0..4_000).map(|_| chance()).collect();
            for (level, low, high) in [(0.05, 0.038, 0.062), (0.01, 0.005, 0.016)] {
                let share = chances.iter().filter(|p| **p <= level).count() as f64 / 4_000.0;
                assert!((low..=high).contains(&share), "n {n}: {share} at {level}");
            }
        }
    }
}
