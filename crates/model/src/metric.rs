use std::fmt;

use serde::{Deserialize, Serialize};

/// Percent of operations that did not succeed; of one kind of failure with `_` and the kind's name appended.
pub const FAILED_SHARE: &str = "failed_share";
/// The highest rate at which a [`Promise`](crate::Promise) is kept.
pub const CAPACITY: &str = "capacity";
/// Share by which a [`CAPACITY`] may be found too high on every side alike: late responses come in bursts that short runs seldom meet.
/// Measured with queues whose capacity is known (`docs/statistics.md`).
pub const CAPACITY_BIAS: f64 = 0.02;
/// The hash of a query's answer, 52 bits, with `/` and the query's name appended.
pub const ANSWER: &str = "answer";
/// Says how a query's answer differs from the first of the experiment; `/` and the query's name follow.
pub const DIFFERENCE: &str = "difference";
/// Says that a cache of results answered a query; `/` and the query's name follow.
pub const CACHED: &str = "cached";
/// The sum of all queries, behind the `/` of a metric.
pub const ALL_QUERIES: &str = "all";
/// The geometric mean of all queries, behind the `/` of a metric: the ratio of two such means is that of the queries' ratios.
pub const MEAN_OF_QUERIES: &str = "geomean";
/// The most clients of which a [`Promise`](crate::Promise) is kept; [`CAPACITY`] is then the rate at which they ran.
pub const CAPACITY_CLIENTS: &str = "capacity_clients";

/// Clients that a throughput accounts for by Little's law. Runs that have it count transactions at the edges of their measured part
/// by their share.
pub const CONCURRENCY: &str = "concurrency";
/// Rows that the system returned, per try of a transaction.
pub const ROWS_RETURNED: &str = "rows_returned";
/// Rows that the system inserted, updated or deleted, per try of a transaction.
pub const ROWS_CHANGED: &str = "rows_changed";
/// Statements that the load sent, per successful transaction.
pub const STATEMENTS_SENT: &str = "statements_sent";
/// Bytes that the operations on blocks can reach.
pub const SPAN: &str = "span";

/// p of the drift that the run's rate shows, if the true rate stands still.
pub const DRIFT_P: &str = "drift_p";
/// p of the two levels that the run's rate shows, if there is one level.
pub const LEVELS_P: &str = "levels_p";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// A description, never judged.
    Neither,
}

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Identifier such as `throughput`, `response_p99`.
    pub id: String,
    /// Unit such as `tx/s`, `us`, `bytes`; empty for a plain count.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Time, of one thing or for an amount: `ms`, `s/GiB`.
    Time,
    /// How much in a time: `tx/s`, `iops`.
    Rate,
    /// Bytes: `bytes`, `MiB`.
    Size,
    /// Processor time, of one thing or for an amount. Less of it is no earlier end.
    Cpu,
    /// Percent of operations that did not succeed.
    Failures,
    /// Anything else: a count, a share, a score.
    Number,
}

impl Quantity {
    /// Gives the quantity that a unit measures: a rate, a time, a size or a number.
    pub fn from_unit(unit: &str) -> Quantity {
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

/// Metrics of processor time. Of a part, a phase or a host if a `/` or `_on_` follows.
const CPU: [&str; 14] = [
    "backup_cpu",
    "backup_cpu_per_gib",
    "client_cpu_per_tx",
    "cpu",
    "cpu_per_commit",
    "cpu_per_io",
    "cpu_time",
    "index_build_cpu",
    "load_cpu",
    "process_cpu_per_tx",
    "restore_cpu",
    "restore_cpu_per_gib",
    "server_cpu_per_tx",
    "session_cpu",
];

impl Metric {
    /// Gives what the metric measures: CPU time, failures, or what its unit says.
    pub fn quantity(&self) -> Quantity {
        let of_all = self.id.split('/').next().and_then(|family| family.split("_on_").next());
        match of_all {
            Some(family) if CPU.contains(&family) => Quantity::Cpu,
            _ if self.id.strip_prefix(FAILED_SHARE).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')) => {
                Quantity::Failures
            }
            _ => Quantity::from_unit(&self.unit),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    Value(f64),
    Unavailable(NoValue),
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoValue {
    pub kind: Absence,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absence {
    /// It could not be had.
    Unavailable,
    /// The run had fewer operations than the figure takes.
    TooFewOperations { needed: u64 },
    /// What was measured gave a wrong answer; the reason is the evidence.
    Wrong,
    /// The system cannot do what was to be measured.
    Unsupported,
    /// What was to be measured failed.
    Failed,
}

impl Absence {
    /// The absence's word in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Absence::Unavailable | Absence::TooFewOperations { .. } => "unavailable",
            Absence::Wrong => "wrong",
            Absence::Unsupported => "unsupported",
            Absence::Failed => "failed",
        }
    }

    /// Makes the absence of a value with its reason.
    pub fn with_reason(self, reason: impl ToString) -> NoValue {
        NoValue { kind: self, reason: reason.to_string() }
    }

    /// Gives the words before a reason, such as `wrong answer`; `None` where the value could not be had.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Absence::Unavailable | Absence::TooFewOperations { .. } => None,
            Absence::Wrong => Some("wrong answer"),
            Absence::Unsupported | Absence::Failed => Some(self.as_str()),
        }
    }
}

impl NoValue {
    /// Makes the absence of a figure that takes more operations than a run had, as in `fewer than 100 transactions`.
    /// `what` names them, as in `transactions in the run`.
    pub fn too_few(needed: u64, what: &str) -> NoValue {
        Absence::TooFewOperations { needed }.with_reason(format!("fewer than {needed} {what}"))
    }

    /// Number of operations that a run would have needed, if it had too few.
    pub fn operations_needed(&self) -> Option<u64> {
        if let Absence::TooFewOperations { needed } = self.kind { Some(needed) } else { None }
    }
}

/// For people: `wrong answer: pairs: expected 360, got 342`.
impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.label().map_or(Ok(()), |label| write!(f, "{label}: "))?;
        f.write_str(&self.reason)
    }
}

impl<R: ToString> From<Result<f64, R>> for Reading {
    fn from(had: Result<f64, R>) -> Reading {
        had.map_or_else(Reading::unavailable, Reading::Value)
    }
}

impl Reading {
    /// Makes a reading without a value, for this reason.
    pub fn unavailable(reason: impl ToString) -> Reading {
        Reading::Unavailable(Absence::Unavailable.with_reason(reason))
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<f64> {
        if let Reading::Value(value) = self { Some(*value) } else { None }
    }

    /// Computes the failures in percent of all that ended; unavailable if nothing ended.
    pub fn percent_failed(failed: u64, succeeded: u64) -> Reading {
        match failed.saturating_add(succeeded) {
            0 => Reading::unavailable("nothing ended in the measured part"),
            all => Reading::Value(100.0 * failed as f64 / all as f64),
        }
    }
}

/// What one run gave for a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub metric: Metric,
    pub reading: Reading,
}

impl Measurement {
    /// Makes a measurement with a value.
    pub fn value(id: &str, unit: &str, direction: Direction, role: Role, value: f64) -> Measurement {
        Measurement::new(id, unit, direction, role, Reading::Value(value))
    }

    pub fn new(id: &str, unit: &str, direction: Direction, role: Role, reading: Reading) -> Measurement {
        Measurement { metric: Metric { id: id.to_owned(), unit: unit.to_owned(), direction, role }, reading }
    }

    /// Makes the measurement of the share of failures, in percent.
    pub fn failed_share(reading: Reading) -> Measurement {
        Measurement::new(FAILED_SHARE, "%", Direction::Lower, Role::Primary, reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_says_what_it_measures() {
        assert_quantity(&["ns", "us", "µs", "ms", "s", "s/GiB", "ms/MiB"], Quantity::Time);
        assert_quantity(&["tx/s", "MiB/s", "io/s", "queries/min", "tps", "IOPS"], Quantity::Rate);
        assert_quantity(&["bytes", "B", "KiB", "GB"], Quantity::Size);
        assert_quantity(&["", "pages", "/io", "%", "score"], Quantity::Number);
    }

    fn assert_quantity(units: &[&str], quantity: Quantity) {
        units.iter().for_each(|unit| assert_eq!(Quantity::from_unit(unit), quantity, "{unit}"));
    }

    #[test]
    fn processor_time_and_failures_are_known_by_their_metrics() {
        let of =
            |id: &str, unit: &str| Measurement::value(id, unit, Direction::Lower, Role::Primary, 1.0).metric.quantity();
        for id in ["cpu/suite", "backup_cpu_per_gib", "restore_cpu/server", "client_cpu_per_tx_on_a"] {
            assert_eq!(of(id, "s"), Quantity::Cpu, "{id}");
        }
        assert_eq!(of("response_p99_cpu", "us"), Quantity::Time, "a script may have any name");
        assert_eq!([of("failed_share", "%"), of("failed_share_reads", "%")], [Quantity::Failures; 2]);
        assert_eq!(of("failed_shares", "%"), Quantity::Number);
    }
}
