//! The neutral form of what another tool measured.

use std::collections::BTreeMap;

use model::{Direction, Facts, Mark, Measurement, Point, Quantity, Series, TrialState};

use crate::exported::ExportedRules;

/// Why a trial has no latency where the tool prints one.
pub(crate) const OF_SUCCESSES: &str = "some failed, and it is printed of what succeeded alone";

/// The tool that made a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    Sqlio,
    /// The published C# client for PostgreSQL that writes a line per task.
    TaskLog,
    Pgbench,
    Sysbench,
    Fio,
    Hammerdb,
    /// Nobody's: a table in tidy form.
    Tidy,
}

impl Tool {
    pub const ALL: [Tool; 7] =
        [Tool::Sqlio, Tool::TaskLog, Tool::Pgbench, Tool::Sysbench, Tool::Fio, Tool::Hammerdb, Tool::Tidy];

    /// The tool's name on the command line, in facts and marks.
    pub fn as_str(self) -> &'static str {
        match self {
            Tool::Sqlio => "sqlio",
            Tool::TaskLog => "task-log",
            Tool::Pgbench => "pgbench",
            Tool::Sysbench => "sysbench",
            Tool::Fio => "fio",
            Tool::Hammerdb => "hammerdb",
            Tool::Tidy => "tidy",
        }
    }
}

/// What one file, or several that belong together, told.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub tool: Tool,
    /// Its version, if the file tells it.
    pub version: Option<String>,
    /// The file, as it was named to the reader.
    pub source: String,
    /// One for each execution of a cell.
    pub results: Vec<ImportedResult>,
    /// What a comparison would need and the file does not tell, each as a noun phrase.
    pub unknown: Vec<String>,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
    /// By what rules étalon compared the results, if it exported them.
    pub rules: Option<ExportedRules>,
    /// What the file tells of its systems.
    pub facts: BTreeMap<String, Facts>,
}

/// One execution of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    pub system: String,
    /// The benchmark: cells of one benchmark can be compared.
    pub benchmark: String,
    /// What tells the cell from others of the benchmark.
    pub keys: Point,
    /// Its number among the repetitions of the cell, from 1; `None` when the file only has an order.
    pub repetition: Option<u32>,
    /// When it began, in milliseconds since 1970, if known.
    pub began_unix_ms: Option<i64>,
    /// Length of the measured part in seconds, if known.
    pub elapsed_s: Option<f64>,
    pub measurements: Vec<Measurement>,
    /// Latency histograms, where the file had single executions.
    pub series: Vec<Series>,
    /// What a reader of this result should know.
    pub notes: Vec<String>,
    /// What étalon marked the trial with, if it exported it.
    pub marks: Vec<Mark>,
    /// How the trial ended that has no result, and why, if étalon exported it.
    pub dropped: Option<(TrialState, String)>,
}

impl ImportedResult {
    /// A result without figures.
    pub fn new(system: &str, benchmark: &str) -> ImportedResult {
        ImportedResult {
            system: system.to_owned(),
            benchmark: benchmark.to_owned(),
            keys: Point::new(),
            repetition: None,
            began_unix_ms: None,
            elapsed_s: None,
            measurements: Vec::new(),
            series: Vec::new(),
            notes: Vec::new(),
            marks: Vec::new(),
            dropped: None,
        }
    }
}

/// Which way is better, by the unit and the metric's name; `None` when neither tells.
pub fn direction_of(metric: &str, unit: &str) -> Option<Direction> {
    let quantity = Quantity::of(unit);
    let metric = metric.trim().to_lowercase();
    let has =
        |words: &[&str]| words.iter().any(|word| metric.split(|c: char| !c.is_alphanumeric()).any(|w| w == *word));
    if quantity == Quantity::Rate {
        return Some(Direction::Higher);
    }
    if has(&["throughput", "tps", "iops", "qps", "nopm", "rate", "speed"]) {
        return Some(Direction::Higher);
    }
    if has(&["count", "executions", "transactions"]) {
        return Some(Direction::Neither);
    }
    if quantity == Quantity::Time
        || has(&["latency", "time", "duration", "elapsed", "stall", "cpu", "size", "errors", "failed", "failures"])
    {
        return Some(Direction::Lower);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_way_is_guessed_only_where_something_tells() {
        assert_eq!(direction_of("transactions per second", "tps"), Some(Direction::Higher));
        assert_eq!(direction_of("select", "queries/s"), Some(Direction::Higher));
        assert_eq!(direction_of("throughput", ""), Some(Direction::Higher));
        assert_eq!(direction_of("avg_read_stall", ""), Some(Direction::Lower));
        assert_eq!(direction_of("backup", "ms"), Some(Direction::Lower));
        assert_eq!(direction_of("size", "GB"), Some(Direction::Lower));
        assert_eq!(direction_of("transactions", ""), Some(Direction::Neither));
        assert_eq!(direction_of("ratio", ""), None);
    }
}
