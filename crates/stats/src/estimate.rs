//! One number for a sample: the estimators that benchmarks publish.

use crate::moments::{mean, median, sorted, standard_deviation};
use crate::sample::Sample;
use crate::special::student_t_quantile;
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// More is better: throughput.
    Higher,
    /// Less is better: response time, CPU per operation.
    Lower,
    /// Neither: a fact such as a row count, reported but never judged.
    Neither,
}

/// A published way to reduce a sample to one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// The mean of the logarithms, taken back: what a ratio of two sides is a ratio of. The mean where a value has no
    /// logarithm.
    Geometric,
    Mean,
    /// Mean after dropping one smallest and one largest value; needs three.
    TrimmedMean,
    Median,
    /// The best value by the metric's direction: "best of n". Biased upwards with n; kept to reproduce old results.
    Best,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEstimator(pub String);

impl fmt::Display for UnknownEstimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown estimator `{}` (geometric, mean, trimmed, median, best)", self.0)
    }
}

impl std::error::Error for UnknownEstimator {}

impl Estimator {
    pub const ALL: [Estimator; 5] =
        [Estimator::Geometric, Estimator::Mean, Estimator::TrimmedMean, Estimator::Median, Estimator::Best];

    /// The name in plans and on the command line: `geometric`, `mean`, `trimmed`, `median`, `best`.
    pub fn as_str(self) -> &'static str {
        match self {
            Estimator::Geometric => "geometric",
            Estimator::Mean => "mean",
            Estimator::TrimmedMean => "trimmed",
            Estimator::Median => "median",
            Estimator::Best => "best",
        }
    }

    /// Computes the estimate of a sample in its unit.
    /// `None` if the sample is too small for it, or if the best is asked of a metric that has no better side.
    pub fn apply(self, sample: &Sample, direction: Direction) -> Option<f64> {
        let summary = summarise(sample)?;
        match (self, direction) {
            (Estimator::Geometric, _) => Some(summary.centre()),
            (Estimator::Mean, _) => Some(summary.mean),
            (Estimator::TrimmedMean, _) => summary.trimmed_mean,
            (Estimator::Median, _) => Some(summary.median),
            (Estimator::Best, Direction::Higher) => Some(summary.max),
            (Estimator::Best, Direction::Lower) => Some(summary.min),
            (Estimator::Best, Direction::Neither) => None,
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Estimator {
    type Err = UnknownEstimator;

    fn from_str(name: &str) -> Result<Estimator, UnknownEstimator> {
        Estimator::ALL.into_iter().find(|e| e.as_str() == name).ok_or_else(|| UnknownEstimator(name.to_owned()))
    }
}

/// The figures of one sample, in its unit but for `n`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub n: usize,
    pub mean: f64,
    /// The mean of the logarithms, taken back; `None` if a value has none.
    pub geometric: Option<f64>,
    /// Mean without one smallest and one largest value; `None` below three runs.
    pub trimmed_mean: Option<f64>,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Standard deviation (n - 1); `None` below two runs.
    pub sd: Option<f64>,
}

impl Summary {
    /// The geometric mean, or the mean where a value has no logarithm.
    pub fn centre(&self) -> f64 {
        self.geometric.unwrap_or(self.mean)
    }
}

/// Summarises a sample; `None` if it is empty.
pub fn summarise(sample: &Sample) -> Option<Summary> {
    let ordered = sorted(sample.values());
    let (&min, &max) = (ordered.first()?, ordered.last()?);
    let n = ordered.len();
    Some(Summary {
        n,
        mean: mean(&ordered),
        // Clamped, so that equal values are not rounded apart.
        geometric: logarithms(&ordered).map(|logs| mean(&logs).exp().clamp(min, max)),
        trimmed_mean: (n >= 3).then(|| mean(&ordered[1..n - 1])),
        median: median(&ordered),
        min,
        max,
        sd: standard_deviation(&ordered),
    })
}

/// The logarithms of values; `None` if a value has none.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().all(|value| *value > 0.0).then(|| values.iter().map(|value| value.ln()).collect())
}

/// Computes half the width of the t interval of the sample's centre, as a share of it: the "± 1 %" of a figure.
/// The centre is [`Summary::centre`]. Of the geometric mean it is the larger half, so that its interval is the centre
/// divided by and times 1 + share. `None` below two runs, for a mean of zero, or a `level` outside (0, 1).
pub fn relative_half_width(sample: &Sample, level: f64) -> Option<f64> {
    let values = sample.values();
    let share = match logarithms(values) {
        Some(logs) => t_half_width(&logs, level)?.exp_m1(),
        None => t_half_width(values, level)? / mean(values).abs(),
    };
    share.is_finite().then_some(share)
}

/// Computes half the width of the mean's t interval; `None` below two values.
fn t_half_width(values: &[f64], level: f64) -> Option<f64> {
    let n = values.len() as f64;
    Some(student_t_quantile(f64::midpoint(1.0, level), n - 1.0) * standard_deviation(values)? / n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::sample;

    #[test]
    fn the_geometric_mean_is_what_a_ratio_is_of() {
        fn centre(values: &[f64]) -> f64 {
            summarise(&sample(values)).unwrap().centre()
        }
        assert!((centre(&[1.0, 4.0, 16.0]) - 4.0).abs() < 1e-12);
        assert_eq!(centre(&[0.0, 4.0]), 2.0);
    }

    #[test]
    fn the_published_estimators() {
        let ten = sample(&[14.0, 11.0, 12.0, 90.0, 10.0]);
        for (estimator, direction, want) in [
            (Estimator::Mean, Direction::Lower, Some(27.4)),
            (Estimator::TrimmedMean, Direction::Lower, Some(37.0 / 3.0)),
            (Estimator::Median, Direction::Lower, Some(12.0)),
            (Estimator::Best, Direction::Lower, Some(10.0)),
            (Estimator::Best, Direction::Higher, Some(90.0)),
            (Estimator::Best, Direction::Neither, None),
        ] {
            assert_eq!(estimator.apply(&ten, direction), want, "{estimator}, {direction:?}");
        }
    }

    #[test]
    fn small_samples_have_fewer_figures() {
        assert_eq!(summarise(&sample(&[])), None);
        let one = summarise(&sample(&[5.0])).unwrap();
        assert_eq!((one.median, one.sd, one.trimmed_mean), (5.0, None, None));
        assert_eq!(summarise(&sample(&[1.0, 3.0])).unwrap().median, 2.0);
        assert_eq!(Estimator::TrimmedMean.apply(&sample(&[1.0, 3.0]), Direction::Higher), None);
    }

    #[test]
    fn names_go_both_ways() {
        for estimator in Estimator::ALL {
            assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
        assert_eq!("avg".parse::<Estimator>(), Err(UnknownEstimator("avg".into())));
    }

    /// numpy and scipy: `expm1(t.ppf(.975, 6) * std(log(v), ddof=1) / sqrt(7))`, and of `v - 100` without logarithms
    /// `t.ppf(.975, 6) * std(v, ddof=1) / sqrt(7) / mean(v)`.
    #[test]
    fn half_width_agrees_with_scipy() {
        let values = [98.0, 101.0, 99.0, 103.0, 100.0, 104.0, 97.0];
        let got = relative_half_width(&sample(&values), 0.95).unwrap();
        assert!((got - 0.023863987691163716).abs() < 1e-12, "{got}");
        let with_zero = relative_half_width(&sample(&values.map(|value| value - 97.0)), 0.95).unwrap();
        assert!((with_zero - 0.7215549397428295).abs() < 1e-12, "{with_zero}");
        assert_eq!(relative_half_width(&sample(&[1.0]), 0.95), None);
        assert_eq!(relative_half_width(&sample(&[-1.0, 1.0]), 0.95), None);
    }
}
