//! Steady state: where a series changes level, and whether what is left stands still.

use crate::modality::{Clusters, split_in_clusters};
use crate::moments::{mean, median, standard_deviation};
use crate::trend::{Trend, batch_means, test_trend};

/// Shortest run of points that counts as a level within a run.
const MIN_SEGMENT: usize = 5;

/// Longer series are averaged down to this many points first: the search is quadratic.
const MAX_POINTS: usize = 2_000;

/// Price of one change, in units of noise variance, per ln n. The modified BIC asks 3 for a known variance (Zhang &
/// Siegmund, Biometrics 63, 2007); 4 leaves room for ours being estimated, correlation included: of steady series of
/// one minute whose seconds correlate by 0.3 some 3 % then show a change, of uncorrelated ones hardly any.
const PENALTY_PER_LN: f64 = 4.0;

/// Largest correlation of neighbours that is allowed for; beyond, real changes would pass for noise.
const MAX_CORRELATION: f64 = 0.6;

/// Largest p at which a trend is believed.
const TREND_P: f64 = 0.01;

/// Largest p at which two modes are believed.
const MODES_P: f64 = 0.02;

/// Smallest relative change over the series that counts as drift.
const MIN_DRIFT: f64 = 0.01;

/// How a series of one value per second, or per run, behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    /// No trend and one mode.
    Steady,
    /// It rises or falls throughout.
    Drifting {
        /// Two-sided p of "no trend".
        p: f64,
        /// Change from first to last as a share of the median; negative when falling.
        relative_change: f64,
    },
    /// It alternates between two levels.
    Bimodal {
        low: f64,
        high: f64,
        /// Share of points at the lower level.
        low_share: f64,
    },
}

/// Findings before p-values are adjusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    trend: Trend,
    clusters: Option<Clusters>,
}

impl Motion {
    /// Tests a series in time order for a trend and two modes.
    /// `None` below six points, or with a point that is not finite.
    pub fn from_series(series: &[f64]) -> Option<Motion> {
        if series.len() < 6 {
            return None;
        }
        Some(Motion { trend: test_trend(series)?, clusters: split_in_clusters(series) })
    }

    /// Gives the p-values of "no trend" and of "one mode".
    /// A caller with several series adjusts all of them together.
    pub fn p_values(&self) -> [f64; 2] {
        [self.trend.p, self.clusters.map_or(1.0, |found| found.p)]
    }

    /// Names the series steady, drifting or bimodal, given whether the trend and the two modes are believed.
    /// Drift of at least 1 % comes first, since a level that is left for good is a drift.
    pub fn steadiness(&self, [trend, modes]: [bool; 2]) -> Steadiness {
        if trend && self.trend.relative_change.abs() >= MIN_DRIFT {
            return Steadiness::Drifting { p: self.trend.p, relative_change: self.trend.relative_change };
        }
        match self.clusters {
            Some(found) if modes => Steadiness::Bimodal {
                low: found.low,
                high: found.high,
                low_share: found.low_count as f64 / (found.low_count + found.high_count) as f64,
            },
            _ => Steadiness::Steady,
        }
    }
}

/// Classifies a single series in time order as steady, drifting or bimodal; `None` below six points.
/// The series is the seconds of one run after its [warm-up](warm_up_end) is cut off. Drift ([`crate::test_trend`])
/// counts at p <= 0.01, two modes ([`crate::two_clusters`]) at p <= 0.02. Nothing could be found in fewer points, and
/// silence would read as steadiness.
pub fn classify_steadiness(series: &[f64]) -> Option<Steadiness> {
    let motion = Motion::from_series(series)?;
    let [trend, modes] = motion.p_values();
    Some(motion.steadiness([trend <= TREND_P, modes <= MODES_P]))
}

/// Finds where warm-up ends: the first index after the last change of level in the series' first half.
/// The rule of Barrett et al., "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017, bounded to the half. `None` if
/// there is no such change: nothing needs to be cut.
pub fn warm_up_end(series: &[f64]) -> Option<usize> {
    change_points(series).into_iter().rfind(|&change| change <= series.len() / 2)
}

/// Finds the indices at which the series takes a new level, ascending; each is the first point of its segment.
///
/// Minimises squared error plus a price per change over all segmentations, by dynamic programming (optimal
/// partitioning, Jackson et al., IEEE Signal Processing Letters 12, 2005; PELT by Killick et al. 2012 finds the same).
/// The price is 4 ln n times the long-run noise variance, which is estimated from differences, so that neither the
/// changes nor a correlation between neighbouring seconds inflate the findings. Spikes of one or two points are
/// replaced first: a checkpoint is not a new level. Levels last at least five points; series shorter than ten, or with
/// a point that is not finite, have no changes. Above 2,000 points the resolution is that of 2,000 equal batches.
pub fn change_points(series: &[f64]) -> Vec<usize> {
    change_points_of_levels(series, MIN_SEGMENT, 1)
}

/// Finds change points as [`change_points`] does, of levels that last at least `least` points, in one of `rows` series that are
/// searched together. The price of a change grows by 2 ln `rows`: the chance that a gain is noise falls by e for every 2 (Wilks).
pub fn change_points_of_levels(series: &[f64], least: usize, rows: usize) -> Vec<usize> {
    if series.len() < 2 * least || !series.iter().all(|v| v.is_finite()) {
        return Vec::new();
    }
    let points = if series.len() > MAX_POINTS { batch_means(series, MAX_POINTS) } else { series.to_vec() };
    let smooth = without_spikes(&points);
    let variance = long_run_variance(&smooth);
    if variance <= 0.0 {
        return Vec::new();
    }
    let price = PENALTY_PER_LN * (points.len() as f64).ln() + 2.0 * (rows.max(1) as f64).ln();
    let changes = optimal_partition(&smooth, least, price * variance).into_iter();
    changes.map(|index| index * series.len() / points.len()).collect()
}

/// Replaces spikes by the median of the five points around them (Hampel's filter).
/// Davies & Gather, JASA 88, 1993: a spike lies more than five noise scales from that median.
fn without_spikes(points: &[f64]) -> Vec<f64> {
    let scale = difference_scale(points, 1) / std::f64::consts::SQRT_2;
    let cleaned = (0..points.len()).map(|index| {
        let around = &points[index.saturating_sub(2)..(index + 3).min(points.len())];
        let centre = median(around);
        if (points[index] - centre).abs() > 5.0 * scale { centre } else { points[index] }
    });
    cleaned.collect()
}

/// Gives the robust standard deviation of the differences at a lag: 1.4826 times the median absolute one.
/// It is the ordinary one where more than half are 0 (quantised series).
fn difference_scale(points: &[f64], lag: usize) -> f64 {
    let differences: Vec<f64> = points.windows(lag + 1).map(|w| w[lag] - w[0]).collect();
    let absolute: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let robust = 1.4826 * median(&absolute);
    if robust > 0.0 { robust } else { standard_deviation(&differences).unwrap_or(0.0) }
}

/// Estimates the variance that the mean of a long segment sees, for noise correlated as an AR(1) process.
/// Each second leans on the one before. The correlation comes from differences at lag 1 and 2, which changes of level
/// hardly touch (Chakar, Lebarbier, Lévy-Leduc & Robin, "A robust approach for estimating change-points in the mean of
/// an AR(1) process", Bernoulli 23, 2017). Negative estimates count as 0 and large ones are capped: both keep a noisy
/// estimate from doing harm.
fn long_run_variance(points: &[f64]) -> f64 {
    let (near, far) = (difference_scale(points, 1).powi(2), difference_scale(points, 2).powi(2));
    if near <= 0.0 {
        return 0.0;
    }
    let correlation = (far / near - 1.0).clamp(0.0, MAX_CORRELATION);
    let variance = near / (2.0 * (1.0 - correlation));
    variance * (1.0 + correlation) / (1.0 - correlation)
}

/// Finds the change points of the segmentation that minimises squared error plus `penalty` per change, each segment of at least
/// `least` points.
fn optimal_partition(points: &[f64], least: usize, penalty: f64) -> Vec<usize> {
    let n = points.len();
    let centre = mean(points);
    let mut sums = vec![0.0; n + 1];
    for (i, value) in points.iter().enumerate() {
        sums[i + 1] = sums[i] + (value - centre);
    }
    let mut best = vec![f64::INFINITY; n + 1];
    let mut previous = vec![0; n + 1];
    best[0] = -penalty; // the first segment is no change
    for to in least..=n {
        for from in 0..=to - least {
            // Squared error of the segment, less the sum of squares, which every segmentation shares.
            let cost = -(sums[to] - sums[from]).powi(2) / (to - from) as f64;
            let total = best[from] + cost + penalty;
            if total < best[to] {
                best[to] = total;
                previous[to] = from;
            }
        }
    }
    let mut changes: Vec<usize> =
        std::iter::successors(Some(previous[n]), |&at| (at > 0).then(|| previous[at])).filter(|&at| at > 0).collect();
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Annual flow of the Nile at Aswan, 1871 to 1970 (R data set `Nile`; Cobb, Biometrika 65, 1978).
    const NILE: [f64; 100] = [
        1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994., 1020., 960.,
        1180., 799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100., 774., 840., 874., 694., 940.,
        833., 701., 916., 692., 1020., 1050., 969., 831., 726., 456., 824., 702., 1120., 1100., 832., 764., 821., 768.,
        845., 864., 862., 698., 845., 744., 796., 1040., 759., 781., 865., 845., 944., 984., 897., 822., 1010., 771.,
        676., 649., 846., 812., 742., 801., 1040., 860., 874., 848., 890., 744., 749., 838., 1050., 918., 986., 797.,
        923., 975., 815., 1020., 906., 901., 1170., 912., 746., 919., 718., 714., 740.,
    ];

    /// Cobb 1978, and R: `changepoint::cpt.mean(Nile)` with PELT, put the one change after 1898, the 28th year.
    #[test]
    fn finds_the_change_in_the_nile() {
        assert!((mean(&NILE) - 919.35).abs() < 1e-9, "the data are R's: mean(Nile)");
        assert_eq!(change_points(&NILE), [28]);
        assert_eq!(warm_up_end(&NILE), Some(28));
    }

    /// Normal noise around a level, each second leaning on the last by `correlation`.
    fn noise(n: usize, correlation: f64, rng: &mut Rng) -> Vec<f64> {
        let mut last = 0.0;
        let points = (0..n).map(|_| {
            let (u, v) = (1.0 - rng.next_f64(), rng.next_f64());
            let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            last = correlation * last + (1.0 - correlation * correlation).sqrt() * normal;
            last
        });
        points.collect()
    }

    #[test]
    fn steady_noise_rarely_has_a_change() {
        let mut rng = Rng::new(11);
        for (correlation, n, most) in [(0.0, 60, 10), (0.3, 60, 30), (0.0, 300, 5), (0.3, 300, 15), (0.6, 300, 45)] {
            let changed = (0..500).filter(|_| !change_points(&noise(n, correlation, &mut rng)).is_empty()).count();
            assert!(changed <= most, "{changed} of 500 at correlation {correlation}, {n} points");
        }
    }

    #[test]
    fn finds_warm_up_and_only_in_the_first_half() {
        let mut rng = Rng::new(12);
        let (mut found, mut late) = (0, 0);
        for _ in 0..100 {
            let mut series = noise(60, 0.2, &mut rng);
            series[..12].iter_mut().for_each(|v| *v -= 6.0);
            found += usize::from(warm_up_end(&series).is_some_and(|end| end.abs_diff(12) <= 1));
            series.reverse();
            late += usize::from(change_points(&series).iter().any(|at| at.abs_diff(48) <= 1));
            assert!(warm_up_end(&series).is_none_or(|end| end <= 30));
        }
        assert!(found >= 95 && late >= 95, "{found} {late}");
    }

    #[test]
    fn spikes_are_no_levels() {
        let mut rng = Rng::new(13);
        let mut series: Vec<f64> = noise(60, 0.0, &mut rng).iter().map(|v| 1_000.0 + v).collect();
        for at in [10, 25, 40, 41] {
            series[at] = 300.0;
        }
        assert_eq!(change_points(&series), [0; 0]);
    }

    #[test]
    fn noiseless_and_long_series() {
        let step: Vec<f64> = (0..40).map(|i| if i < 10 { 1.0 } else { 2.0 }).collect();
        assert_eq!(change_points(&step), [10]);
        assert_eq!(change_points(&[7.0; 100]), [0; 0]);
        assert_eq!(change_points(&[1.0, 2.0, f64::NAN].repeat(10)), [0; 0]);
        let mut rng = Rng::new(14);
        let mut day = noise(86_400, 0.3, &mut rng);
        day[..7_200].iter_mut().for_each(|v| *v -= 2.0);
        let end = warm_up_end(&day).unwrap();
        assert!(end.abs_diff(7_200) <= 44, "{end}");
    }

    #[test]
    fn a_series_is_one_of_three() {
        let mut rng = Rng::new(15);
        let flat: Vec<f64> = noise(120, 0.3, &mut rng).iter().map(|v| 100.0 + v).collect();
        assert_eq!(classify_steadiness(&flat), Some(Steadiness::Steady));
        let falling: Vec<f64> = flat.iter().enumerate().map(|(i, v)| v - 0.1 * i as f64).collect();
        let Some(Steadiness::Drifting { relative_change, .. }) = classify_steadiness(&falling) else {
            panic!("no drift")
        };
        assert!((-0.16..-0.10).contains(&relative_change), "{relative_change}");
        let two: Vec<f64> = flat.iter().enumerate().map(|(i, v)| v + 20.0 * f64::from(i / 7 % 2 == 0)).collect();
        assert!(
            matches!(classify_steadiness(&two), Some(Steadiness::Bimodal { .. })),
            "{:?}",
            classify_steadiness(&two)
        );
        let runs = [134_092.0, 129_852.0, 206_136.0, 198_488.0, 123_287.0, 195_082.0];
        assert!(matches!(classify_steadiness(&runs), Some(Steadiness::Bimodal { low_share: 0.5, .. })));
        assert_eq!(classify_steadiness(&flat[..5]), None);
    }

    #[test]
    fn steady_series_are_called_steady() {
        let mut rng = Rng::new(16);
        for n in [6, 10, 20, 120] {
            let wrong = (0..1_000)
                .filter(|_| {
                    let series: Vec<f64> = noise(n, 0.0, &mut rng).iter().map(|v| 100.0 + 5.0 * v).collect();
                    classify_steadiness(&series) != Some(Steadiness::Steady)
                })
                .count();
            assert!(wrong <= 30, "{wrong} of 1000 at n = {n}");
        }
    }
}
