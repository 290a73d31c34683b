//! How rows become a figure, and how two figures are compared.

use std::fmt;

use model::Direction;

use crate::level::LevelValue;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    Mean,
    /// Mean without one smallest and one largest value.
    Trimmed,
    Median,
    /// The best by the metric's direction.
    Best,
    Min,
    Max,
    Sum,
    Count,
    Sd,
    /// Value of this rank, from 1 ascending.
    Rank(u64),
    /// How many are smaller than this.
    CountBelow(f64),
    /// How many percent are smaller than this.
    ShareBelow(f64),
    Value,
}

/// The row's system compared with `against`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparing {
    /// System / against.
    Ratio,
    /// Times better, by the metric's direction.
    Times,
    /// (system - against) / against.
    Change,
    /// (against - system) / against.
    Saving,
    /// Improvement as a share of `against`.
    Gain,
    /// Difference as a share of either: texts rarely say which.
    Apart,
    /// How much less time it takes: of a speed, 1 - against / system.
    TimeGain,
    /// How much more it does in the same time: of a time, against / system - 1.
    SpeedGain,
    Difference,
    /// The name of the better side.
    Winner,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    pub estimate: Estimate,
    pub comparing: Option<Comparing>,
}

impl Estimate {
    /// Readings that a label may be mistaken for.
    pub const USUAL: [Estimate; 6] =
        [Estimate::Mean, Estimate::Trimmed, Estimate::Median, Estimate::Min, Estimate::Max, Estimate::Sum];

    /// Parses an estimate's name: `mean`, `count<5`, `rank:8543`, ….
    pub fn parse(name: &str) -> Option<Estimate> {
        let plain = match name {
            "mean" => Estimate::Mean,
            "trimmed" => Estimate::Trimmed,
            "median" => Estimate::Median,
            "best" => Estimate::Best,
            "min" => Estimate::Min,
            "max" => Estimate::Max,
            "sum" => Estimate::Sum,
            "count" => Estimate::Count,
            "sd" => Estimate::Sd,
            "value" => Estimate::Value,
            _ => {
                return if let Some(limit) = name.strip_prefix("count<") {
                    formats::text::parse_number(limit).map(Estimate::CountBelow)
                } else if let Some(limit) = name.strip_prefix("share<") {
                    formats::text::parse_number(limit).map(Estimate::ShareBelow)
                } else {
                    name.strip_prefix("rank:")?.parse().ok().map(Estimate::Rank)
                };
            }
        };
        Some(plain)
    }

    /// Computes the estimate of values; `None` if there is none, such as a rank inside a group of executions.
    pub fn compute(self, values: &[LevelValue], direction: Option<Direction>) -> Option<f64> {
        let n: u64 = values.iter().map(|v| v.count).sum();
        if n == 0 {
            return (self == Estimate::Count).then_some(0.0);
        }
        match self {
            Estimate::Mean => Some(total(values) / n as f64),
            Estimate::Trimmed => (n >= 3).then(|| (total(values) - min(values) - max(values)) / (n - 2) as f64),
            Estimate::Median => {
                let (low, high) = (value_of_rank(values, n.div_ceil(2))?, value_of_rank(values, n / 2 + 1)?);
                Some(f64::midpoint(low, high))
            }
            Estimate::Best => match direction? {
                Direction::Higher => Some(max(values)),
                Direction::Lower => Some(min(values)),
                Direction::Neither => None,
            },
            Estimate::Min => Some(min(values)),
            Estimate::Max => Some(max(values)),
            Estimate::Sum => Some(total(values)),
            Estimate::Count => Some(n as f64),
            Estimate::Sd => standard_deviation(values, total(values) / n as f64, n),
            Estimate::Rank(rank) => value_of_rank(values, rank),
            Estimate::CountBelow(limit) => Some(count_below(values, limit)),
            Estimate::ShareBelow(limit) => Some(100.0 * count_below(values, limit) / n as f64),
            Estimate::Value => (n == 1).then(|| min(values)),
        }
    }
}

/// Sums the values, each times its count.
fn total(values: &[LevelValue]) -> f64 {
    values.iter().map(|v| v.value * v.count as f64).sum()
}

/// The smallest value; infinity if there is none.
fn min(values: &[LevelValue]) -> f64 {
    values.iter().map(|v| v.value).fold(f64::INFINITY, f64::min)
}

/// The largest value; minus infinity if there is none.
fn max(values: &[LevelValue]) -> f64 {
    values.iter().map(|v| v.value).fold(f64::NEG_INFINITY, f64::max)
}

/// Counts the values below a limit.
fn count_below(values: &[LevelValue], limit: f64) -> f64 {
    values.iter().filter(|v| v.value < limit).map(|v| v.count as f64).sum()
}

/// Computes the standard deviation; `None` for fewer than two values, or where a value stands for several.
fn standard_deviation(values: &[LevelValue], mean: f64, n: u64) -> Option<f64> {
    // The spread within a group is unknown.
    if n < 2 || values.iter().any(|v| v.count > 1) {
        return None;
    }
    let squares: f64 = values.iter().map(|v| (v.value - mean).powi(2)).sum();
    Some((squares / (n - 1) as f64).sqrt())
}

/// Finds the value of a rank, from 1 for the smallest; `None` if there is none or it stands for several.
fn value_of_rank(values: &[LevelValue], rank: u64) -> Option<f64> {
    let mut ordered: Vec<&LevelValue> = values.iter().collect();
    ordered.sort_by(|x, y| x.value.total_cmp(&y.value));
    let mut seen = 0;
    let found = ordered.into_iter().find(|v| {
        seen += v.count;
        seen >= rank
    })?;
    (rank > 0 && found.count == 1).then_some(found.value)
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Estimate::Mean => f.write_str("mean"),
            Estimate::Trimmed => f.write_str("trimmed mean"),
            Estimate::Median => f.write_str("median"),
            Estimate::Best => f.write_str("best"),
            Estimate::Min => f.write_str("minimum"),
            Estimate::Max => f.write_str("maximum"),
            Estimate::Sum => f.write_str("sum"),
            Estimate::Count => f.write_str("number"),
            Estimate::Sd => f.write_str("standard deviation"),
            Estimate::Rank(rank) => write!(f, "value at rank {rank}"),
            Estimate::CountBelow(limit) => write!(f, "number below {limit}"),
            Estimate::ShareBelow(limit) => write!(f, "share below {limit}"),
            Estimate::Value => f.write_str("value"),
        }
    }
}

impl Statistic {
    /// Parses a statistic such as `mean`, `change` or `times of median`.
    pub fn parse(text: &str) -> Option<Statistic> {
        let (first, of) = text.split_once(" of ").map_or((text.trim(), None), |(first, of)| (first.trim(), Some(of)));
        if let (Some(estimate), None) = (Estimate::parse(first), of) {
            return Some(Statistic { estimate, comparing: None });
        }
        let comparing = Some(match first {
            "ratio" => Comparing::Ratio,
            "times" => Comparing::Times,
            "change" => Comparing::Change,
            "saving" => Comparing::Saving,
            "gain" => Comparing::Gain,
            "apart" => Comparing::Apart,
            "time_gain" => Comparing::TimeGain,
            "speed_gain" => Comparing::SpeedGain,
            "difference" => Comparing::Difference,
            "winner" => Comparing::Winner,
            _ => return None,
        });
        let estimate = of.map_or(Some(Estimate::Mean), |of| Estimate::parse(of.trim()))?;
        Some(Statistic { estimate, comparing })
    }
}

/// Whether a negative share keeps its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Kept,
    /// The sign is dropped: the larger figure comes first.
    Size,
}

/// One formula of two figures: s is the system, o the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioForm {
    /// s / o.
    SystemOverAgainst,
    /// o / s.
    AgainstOverSystem,
    /// (s - o) / o.
    ShareOfAgainst,
    /// (s - o) / s.
    ShareOfSystem,
    Difference,
}

impl RatioForm {
    pub const ALL: [RatioForm; 5] = [
        RatioForm::SystemOverAgainst,
        RatioForm::AgainstOverSystem,
        RatioForm::ShareOfAgainst,
        RatioForm::ShareOfSystem,
        RatioForm::Difference,
    ];

    /// Tests whether the form is a share of one of both figures.
    pub fn is_share(self) -> bool {
        matches!(self, RatioForm::ShareOfAgainst | RatioForm::ShareOfSystem)
    }

    /// Whether the form is a share or a difference, which is zero for equal sides.
    pub fn is_share_or_difference(self) -> bool {
        self.is_share() || self == RatioForm::Difference
    }

    /// Computes the form's value of both figures.
    pub fn compute(self, system: f64, against: f64) -> f64 {
        match self {
            RatioForm::SystemOverAgainst => system / against,
            RatioForm::AgainstOverSystem => against / system,
            RatioForm::ShareOfAgainst => (system - against) / against,
            RatioForm::ShareOfSystem => (system - against) / system,
            RatioForm::Difference => system - against,
        }
    }

    /// Writes the form's arithmetic on both figures, such as `(12 - 10) / 10`.
    pub fn arithmetic_text(self, system: &str, against: &str, sign: Sign) -> String {
        let (more, less) = if sign == Sign::Size { (against, system) } else { (system, against) };
        match self {
            RatioForm::SystemOverAgainst => format!("{system} / {against}"),
            RatioForm::AgainstOverSystem => format!("{against} / {system}"),
            RatioForm::ShareOfAgainst => format!("({more} - {less}) / {against}"),
            RatioForm::ShareOfSystem => format!("({more} - {less}) / {system}"),
            RatioForm::Difference => format!("{more} - {less}"),
        }
    }
}

impl Comparing {
    /// Lists the forms that a comparison's label allows, the likeliest first.
    pub fn allowed_forms(self, direction: Option<Direction>) -> &'static [RatioForm] {
        let is_speed = direction == Some(Direction::Higher);
        match self {
            Comparing::Ratio => &[RatioForm::SystemOverAgainst],
            Comparing::Times if is_speed => &[RatioForm::SystemOverAgainst],
            Comparing::Times => &[RatioForm::AgainstOverSystem],
            Comparing::Change | Comparing::Saving | Comparing::Gain => &[RatioForm::ShareOfAgainst],
            Comparing::Apart => &[RatioForm::ShareOfAgainst, RatioForm::ShareOfSystem],
            Comparing::TimeGain if is_speed => &[RatioForm::ShareOfSystem],
            Comparing::SpeedGain if !is_speed => &[RatioForm::ShareOfSystem],
            Comparing::TimeGain | Comparing::SpeedGain => &[RatioForm::ShareOfAgainst],
            Comparing::Difference => &[RatioForm::Difference],
            Comparing::Winner => &[],
        }
    }

    /// Whether the comparison is printed with its sign.
    /// The others are printed as a size; their words say the direction.
    pub fn is_signed(self) -> bool {
        matches!(self, Comparing::Change | Comparing::Ratio | Comparing::Times)
    }
}
