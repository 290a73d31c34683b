//! What is compared, how, and why it cannot be.

use model::{Metric, Role};
use stats::Estimator;

/// How the two sides are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// By block: what the two trials of a block have in common cancels out.
    #[default]
    Paired,
    /// Not at all: for imported results that have no blocks. Welch's t and Mann-Whitney.
    Unpaired,
}

impl Pairing {
    /// The word in JSON and in the method.
    pub fn as_str(self) -> &'static str {
        match self {
            Pairing::Paired => "paired",
            Pairing::Unpaired => "unpaired",
        }
    }
}

/// Which metrics become rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MetricFilter {
    /// Those that the verdict rests on.
    #[default]
    Primary,
    /// All of them.
    All,
    /// Those named, in the order of the store. The name of a family stands for all of it: `cpu` for `cpu/S4-inside`.
    Named(Vec<String>),
}

/// Whether a name, or the name of a family, means a metric.
pub(crate) fn is_named(id: &str, name: &str) -> bool {
    id == name || id.split_once('/').is_some_and(|(family, _)| family == name)
}

impl MetricFilter {
    /// Whether a metric becomes a row.
    pub fn shows(&self, metric: &Metric) -> bool {
        match self {
            MetricFilter::All => true,
            MetricFilter::Primary => metric.role == Role::Primary,
            MetricFilter::Named(names) => names.iter().any(|name| is_named(&metric.id, name)),
        }
    }
}

/// What to compare and how. The default takes everything from the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The value of the compared key that is the baseline: a system's name, or `1` for `clients`. The plan's baseline, or
    /// the first value, when not given.
    pub a: Option<String>,
    /// The value that is compared with it; every other one when not given.
    pub b: Option<String>,
    /// Half width of the zone of equivalence, as a share; the plan's when not given.
    pub margin: Option<f64>,
    /// Level of the intervals; the plan's when not given.
    pub level: Option<f64>,
    /// How a side's figure is made of its trials. The ratio and its interval do not depend on it.
    pub estimator: Estimator,
    /// Which metrics become rows.
    pub metrics: MetricFilter,
    /// How the two sides are matched.
    pub pairing: Pairing,
    /// Fewest blocks that carry a verdict.
    pub min_blocks: u32,
    /// Keys that tell the rows of a table apart; all that vary, when not given.
    pub rows: Option<Vec<String>>,
    /// Keys whose values are compared; `system` when not given.
    pub cols: Option<Vec<String>>,
    /// Keys that tell the tables apart; `benchmark` when not given.
    pub by: Option<Vec<String>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            a: None,
            b: None,
            margin: None,
            level: None,
            estimator: Estimator::Median,
            metrics: MetricFilter::Primary,
            pairing: Pairing::Paired,
            min_blocks: stats::MIN_BLOCKS,
            rows: None,
            cols: None,
            by: None,
        }
    }
}

/// Why there is no comparison.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// No cell has this value.
    #[error("there is no {key} `{value}` in this experiment: it has {}", known.join(", "))]
    UnknownValue {
        /// The compared key.
        key: String,
        /// The value asked for.
        value: String,
        /// The values that there are.
        known: Vec<String>,
    },
    /// No result has this key.
    #[error("no result has the key `{key}`: there are {}", known.join(", "))]
    UnknownKey {
        /// The key asked for.
        key: String,
        /// The keys that there are.
        known: Vec<String>,
    },
    /// A key stands in more than one of rows, cols and by.
    #[error("the key `{0}` stands twice among rows, cols and by")]
    KeyTwice(
        /// The key.
        String,
    ),
    /// Metrics have different units.
    #[error("metrics cannot be compared with each other: `metric` is a key for rows or by")]
    MetricsCompared,
    /// No measurement has this metric.
    #[error("no trial measured the metric `{metric}`: there are {}", known.join(", "))]
    UnknownMetric {
        /// The metric asked for.
        metric: String,
        /// The metrics that there are.
        known: Vec<String>,
    },
    /// Both sides are the same.
    #[error("`{0}` cannot be compared with itself; `--aa` runs one system as two sides")]
    SameSide(
        /// The value asked for on both sides.
        String,
    ),
    /// There is a single value: nothing to compare it with.
    #[error("there is a single {key}, `{value}`: a comparison takes two")]
    OneValue {
        /// The compared key.
        key: String,
        /// Its only value.
        value: String,
    },
    /// A margin that is no share.
    #[error("the margin {0} is not a share between 0 and 10, as 0.03 is for 3 %")]
    BadMargin(
        /// The margin as given.
        f64,
    ),
    /// A level that is no level.
    #[error("the level {0} is not between 0.5 and 1, as 0.95 is for 95 %")]
    BadLevel(
        /// The level as given.
        f64,
    ),
}

impl Options {
    /// Checks the figures of an effective margin and level.
    pub(crate) fn check(margin: f64, level: f64) -> Result<(), CompareError> {
        if !(margin > 0.0 && margin <= 10.0) {
            return Err(CompareError::BadMargin(margin));
        }
        if !(0.5..1.0).contains(&level) {
            return Err(CompareError::BadLevel(level));
        }
        Ok(())
    }
}
