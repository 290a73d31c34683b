//! What is compared, how, and why it cannot be.

use model::share::{self, ShareError};
use model::{Metric, Role, near};
use stats::Estimator;

use super::projection::only_factor;
use crate::evidence::Evidence;

/// How the two sides are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// Runs are paired by round: what a round's runs share cancels out.
    #[default]
    Paired,
    /// Runs have no rounds, as in imports: Welch's t and Mann-Whitney.
    Unpaired,
}

impl Pairing {
    pub fn as_str(self) -> &'static str {
        match self {
            Pairing::Paired => "paired",
            Pairing::Unpaired => "unpaired",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MetricFilter {
    /// Those that verdicts rest on.
    #[default]
    Primary,
    All,
    /// These metrics in the store's order. A family's name stands for its members: `cpu` for `cpu/S4-inside`.
    Named(Vec<String>),
}

/// Tests whether a metric has this name or is of this family.
pub(crate) fn is_named(id: &str, name: &str) -> bool {
    id == name || id.split_once('/').is_some_and(|(family, _)| family == name)
}

/// Whether one metric is a quantile of what the other is the mean of, as `response_p99` of `response_mean`.
pub(crate) fn is_quantile_of(quantile: &str, mean: &str) -> bool {
    let of_mean = mean.strip_suffix("_mean").and_then(|family| quantile.strip_prefix(family)?.strip_prefix("_p"));
    of_mean.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

impl MetricFilter {
    /// Whether a metric is shown.
    pub fn shows(&self, metric: &Metric) -> bool {
        match self {
            MetricFilter::All => true,
            MetricFilter::Primary => metric.role == Role::Primary,
            MetricFilter::Named(names) => names.iter().any(|name| is_named(&metric.id, name)),
        }
    }
}

/// The default takes everything from the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Baseline value of the compared key: a system's name, or `1` for `clients`. Default: the plan's baseline, or the
    /// first value.
    pub a: Option<String>,
    /// Default: every other value.
    pub b: Option<String>,
    /// Half width of the equivalence zone, as a share; default: the plan's.
    pub margin: Option<f64>,
    /// Default: the plan's.
    pub level: Option<f64>,
    /// How A, B and the change between them are estimated; interval and verdict do not depend on it.
    pub estimator: Estimator,
    pub metrics: MetricFilter,
    pub pairing: Pairing,
    /// Fewest rounds for a verdict.
    pub min_rounds: u32,
    /// Default: all that vary.
    pub rows: Option<Vec<String>>,
    /// Default: `system`.
    pub cols: Option<Vec<String>>,
    /// Default: `benchmark`.
    pub by: Option<Vec<String>>,
    /// Whether the command line allows verdicts where sides promise different things at commit, whatever the plan says.
    pub allow_unequal_durability: bool,
    /// Whether it allows them where one side ran after the other.
    pub allow_sequential_order: bool,
    /// True if it allows them where the transactions of the sides return or change different numbers of rows.
    pub allow_different_rows: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            a: None,
            b: None,
            margin: None,
            level: None,
            estimator: Estimator::Geometric,
            metrics: MetricFilter::Primary,
            pairing: Pairing::Paired,
            min_rounds: stats::MIN_ROUNDS,
            rows: None,
            cols: None,
            by: None,
            allow_unequal_durability: false,
            allow_sequential_order: false,
            allow_different_rows: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("there is no {key} `{value}` in this experiment: it has {}", known.join(", "))]
    UnknownValue { key: String, value: String, known: Vec<String> },
    #[error("no result has the key `{key}`: there are {}", known.join(", "))]
    UnknownKey { key: String, known: Vec<String> },
    /// A key is given twice in rows, cols and by together.
    #[error("the key `{0}` stands twice among rows, cols and by")]
    KeyTwice(String),
    /// They have different units.
    #[error("metrics cannot be compared with each other: `metric` is a key for rows or by")]
    MetricsCompared,
    #[error("no run measured the metric `{metric}`: there are {}", known.join(", "))]
    UnknownMetric { metric: String, known: Vec<String> },
    /// Both sides are the same.
    #[error("`{0}` cannot be compared with itself; `--aa` runs one system as two sides")]
    SameSide(String),
    /// The key has one value, so there is nothing to compare with.
    #[error("there is a single {key}, `{value}`: a comparison takes two")]
    OneValue { key: String, value: String },
    /// Keys are compared within an experiment.
    #[error("experiments that were measured apart are compared by their systems")]
    Apart,
    #[error("the margin {0}")]
    BadMargin(ShareError),
    #[error("the level {0}")]
    BadLevel(ShareError),
}

impl CompareError {
    /// Says what was probably meant; `None` if nothing comes near.
    pub fn hint(&self) -> Option<String> {
        match self {
            CompareError::UnknownValue { value, known, .. } => did_you_mean(value, known),
            CompareError::UnknownKey { key, known } => did_you_mean(key, known),
            CompareError::UnknownMetric { metric, known } => did_you_mean(metric, known).or_else(|| {
                // `p99` is no slip, but half a name.
                let longer: Vec<String> = known
                    .iter()
                    .filter(|id| id.split('_').any(|part| part == metric))
                    .map(|id| format!("`{id}`"))
                    .collect();
                (!longer.is_empty()).then(|| format!("did you mean {}?", longer.join(" or ")))
            }),
            CompareError::Apart => Some("leave out `--cols`".to_owned()),
            CompareError::BadMargin(error) | CompareError::BadLevel(error) => Some(error.hint()),
            _ => None,
        }
    }
}

/// Asks whether the nearest known word was meant.
fn did_you_mean(word: &str, known: &[String]) -> Option<String> {
    near::did_you_mean(word, known.iter().map(String::as_str))
}

impl Options {
    /// Compares the values of a key, unless asked otherwise, where it is all that varies in a single system's cases.
    #[must_use]
    pub fn comparing_only_factor(self, evidence: &Evidence) -> Options {
        let asked = [&self.cols, &self.rows, &self.by].iter().any(|keys| keys.is_some());
        if asked || self.a.is_some() || evidence.is_import() || evidence.apart.is_some() {
            return self;
        }
        match only_factor(&evidence.cases) {
            Some((key, baseline)) => Options { a: Some(baseline), cols: Some(vec![key]), ..self },
            None => self,
        }
    }

    /// Fails if the margin or the level is out of its range.
    pub(crate) fn check_shares(margin: f64, level: f64) -> Result<(), CompareError> {
        share::MARGIN.check(margin).map_err(CompareError::BadMargin)?;
        share::LEVEL.check(level).map_err(CompareError::BadLevel)?;
        Ok(())
    }
}
