//! Metrics and measurements.

use serde::{Deserialize, Serialize};

/// The metric that tells the share of operations that did not succeed, in percent; of one kind of them with an underscore
/// and the kind's name behind it.
pub const FAILED_SHARE: &str = "failed_share";

/// The metric that tells how likely the rate of a trial that stands still would drift as far as this one's did.
pub const DRIFT_P: &str = "drift_p";
/// As [`DRIFT_P`], how likely it would fall into two levels as far apart.
pub const LEVELS_P: &str = "levels_p";

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: a description, never judged.
    Neither,
}

/// What part a metric plays in the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Judged, and counted in the correction for multiplicity.
    Primary,
    /// Judged on its own when asked for.
    Secondary,
    /// Explains the others: the client's own cost, the engine's counters.
    Diagnostic,
}

/// A metric: what was measured, in what unit, and which way is better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Identifier such as `throughput`, `response_p99`.
    pub id: String,
    /// Unit such as `tx/s`, `us`, `bytes`; empty for a plain count.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// Its part in the verdict.
    pub role: Role,
}

/// What kind of thing a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Time, of one thing or for an amount: `ms`, `s/GiB`.
    Time,
    /// How much in a time: `tx/s`, `iops`.
    Rate,
    /// Bytes: `bytes`, `MiB`.
    Size,
    /// Anything else: a count, a share, a score.
    Number,
}

impl Quantity {
    /// By the unit's name.
    pub fn of(unit: &str) -> Quantity {
        let unit = unit.trim().to_lowercase();
        let is_rate = ["/s", "/sec", "/min"].iter().any(|end| unit.ends_with(end));
        if is_rate || ["tps", "iops", "qps", "tpm", "nopm"].contains(&unit.as_str()) {
            return Quantity::Rate;
        }
        match unit.split('/').next().unwrap_or_default() {
            "ns" | "us" | "µs" | "ms" | "s" | "sec" | "min" | "h" => Quantity::Time,
            "bytes" | "b" | "kb" | "kib" | "mb" | "mib" | "gb" | "gib" | "tb" | "tib" => Quantity::Size,
            _ => Quantity::Number,
        }
    }
}

/// What was read: a value, or the reason why there is none. Never 0 for "not available".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// The value, in the metric's unit.
    Value(f64),
    /// Printed as `n/a` with this reason.
    Unavailable(String),
}

impl Reading {
    /// So many that failed as percent of all that ended.
    pub fn percent_failed(failed: u64, succeeded: u64) -> Reading {
        match failed.saturating_add(succeeded) {
            0 => Reading::Unavailable("nothing ended in the measured part".to_owned()),
            all => Reading::Value(100.0 * failed as f64 / all as f64),
        }
    }
}

/// A metric with what was read for it in one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The metric.
    pub metric: Metric,
    /// What was read.
    pub reading: Reading,
}

impl Measurement {
    /// A measurement with a value.
    pub fn value(id: &str, unit: &str, direction: Direction, role: Role, value: f64) -> Measurement {
        Measurement::new(id, unit, direction, role, Reading::Value(value))
    }

    /// A measurement from its parts.
    pub fn new(id: &str, unit: &str, direction: Direction, role: Role, reading: Reading) -> Measurement {
        Measurement { metric: Metric { id: id.to_owned(), unit: unit.to_owned(), direction, role }, reading }
    }

    /// The [`FAILED_SHARE`] of a trial.
    pub fn failed_share(reading: Reading) -> Measurement {
        Measurement::new(FAILED_SHARE, "%", Direction::Lower, Role::Primary, reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_says_what_it_measures() {
        let all = |units: &[&str], quantity| {
            units.iter().for_each(|unit| assert_eq!(Quantity::of(unit), quantity, "{unit}"));
        };
        all(&["ns", "us", "µs", "ms", "s", "s/GiB", "ms/MiB"], Quantity::Time);
        all(&["tx/s", "MiB/s", "io/s", "queries/min", "tps", "IOPS"], Quantity::Rate);
        all(&["bytes", "B", "KiB", "GB"], Quantity::Size);
        all(&["", "pages", "/io", "%", "score"], Quantity::Number);
    }
}
