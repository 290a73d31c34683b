//! Neutral form of another tool's results.

use std::collections::BTreeMap;

use model::{Direction, Facts, Mark, Measurement, Point, Quantity, Series, TrialState};

use crate::exported::ExportedRules;

/// Why a trial has no latency where the tool prints one.
pub(crate) const OF_SUCCESSES: &str = "some failed, and it is printed of what succeeded alone";

/// The benchmark of a run that failed before it told what it ran. Its keys are those that are known all the same, and it
/// counts in every cell that it may have been of.
pub(crate) const UNTOLD: &str = "";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    Sqlio,
    /// The published C# client for PostgreSQL.
    TaskLog,
    Pgbench,
    Sysbench,
    Fio,
    Hammerdb,
    /// A table in tidy form, of no tool.
    Tidy,
}

impl Tool {
    pub const ALL: [Tool; 7] =
        [Tool::Sqlio, Tool::TaskLog, Tool::Pgbench, Tool::Sysbench, Tool::Fio, Tool::Hammerdb, Tool::Tidy];

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

/// One file, or several that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub tool: Tool,
    pub version: Option<String>,
    /// As named to the reader.
    pub source: String,
    /// One per execution of a cell.
    pub results: Vec<ImportedResult>,
    /// What a comparison needs and the file lacks, as noun phrases.
    pub unknown: Vec<String>,
    /// For readers of the figures.
    pub notes: Vec<String>,
    /// If étalon exported the file.
    pub rules: Option<ExportedRules>,
    /// By system.
    pub facts: BTreeMap<String, Facts>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    pub system: String,
    /// Cells of one benchmark can be compared.
    pub benchmark: String,
    /// Distinguish the cells of a benchmark.
    pub keys: Point,
    /// From 1; `None` when the file only has an order.
    pub repetition: Option<u32>,
    /// When it began, in milliseconds since 1970, if known.
    pub began_unix_ms: Option<i64>,
    /// Length of the measured part in seconds, if known.
    pub elapsed_s: Option<f64>,
    pub measurements: Vec<Measurement>,
    pub series: Vec<Series>,
    /// For readers of this result.
    pub notes: Vec<String>,
    /// If étalon exported them.
    pub marks: Vec<Mark>,
    /// State and reason of a run without a result.
    pub dropped: Option<(TrialState, String)>,
}

impl ImportedResult {
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

impl ImportedResult {
    /// A run that failed: it keeps its place among the repetitions, so that nothing is judged by those alone that did not.
    pub(crate) fn failed(system: &str, benchmark: &str, reason: String) -> ImportedResult {
        ImportedResult { dropped: Some((TrialState::Failed, reason)), ..ImportedResult::new(system, benchmark) }
    }
}

impl Imported {
    /// How many results are of runs that failed.
    pub fn failed(&self) -> usize {
        self.results.iter().filter(|result| result.dropped.is_some()).count()
    }

    /// Says how many runs failed, if any did.
    pub(crate) fn note_failed(&mut self) {
        let (failed, all) = (self.failed(), self.results.len());
        if failed > 0 {
            self.notes.push(format!("{failed} of {all} results are of runs that failed"));
        }
    }
}

/// By unit and name; `None` when neither tells.
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
