//! Neutral form of another tool's results.

use std::collections::BTreeMap;

use model::{Direction, Facts, Mark, Measurement, Point, Quantity, RunState, Series};

use crate::exported::ExportedRules;
use crate::text::NotUnderstood;

/// Why a run has no latency where the tool prints one.
pub(crate) const OF_SUCCESSES: &str = "some failed, and it is printed of what succeeded alone";

/// The benchmark of a run that failed before it told what it ran. Its keys are those that are known all the same. As any
/// that failed and is of no case that others tell, it counts in every case that it may have been of.
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
    /// One per execution of a case.
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
    /// Cases of one benchmark can be compared.
    pub benchmark: String,
    /// Distinguish the cases of a benchmark.
    pub keys: Point,
    /// From 1; `None` when the file only has an order.
    pub repetition: Option<u32>,
    /// The experiment of étalon's that it is of, if the file says so.
    pub experiment: Option<String>,
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
    pub dropped: Option<(RunState, String)>,
    /// State and reason of each attempt that was repeated.
    pub repeated: Vec<(RunState, String)>,
}

impl ImportedResult {
    pub fn new(system: &str, benchmark: &str) -> ImportedResult {
        ImportedResult {
            system: system.to_owned(),
            benchmark: benchmark.to_owned(),
            keys: Point::new(),
            repetition: None,
            experiment: None,
            began_unix_ms: None,
            elapsed_s: None,
            measurements: Vec::new(),
            series: Vec::new(),
            notes: Vec::new(),
            marks: Vec::new(),
            dropped: None,
            repeated: Vec::new(),
        }
    }

    /// A run that failed: it keeps its place among the repetitions, so that nothing is judged by those alone that did not.
    pub(crate) fn failed(system: &str, benchmark: &str, reason: String) -> ImportedResult {
        ImportedResult { dropped: Some((RunState::Failed, reason)), ..ImportedResult::new(system, benchmark) }
    }
}

impl Imported {
    /// Nothing yet, of a file that lacks what `unknown` names.
    pub(crate) fn new<'a>(tool: Tool, source: &str, unknown: impl IntoIterator<Item = &'a str>) -> Imported {
        Imported {
            tool,
            version: None,
            source: source.to_owned(),
            results: Vec::new(),
            unknown: unknown.into_iter().map(str::to_owned).collect(),
            notes: Vec::new(),
            rules: None,
            facts: BTreeMap::new(),
        }
    }

    /// Says how many lines no reader knew, if there were any.
    pub(crate) fn note_not_understood(&mut self, lines: &[NotUnderstood]) {
        if !lines.is_empty() {
            self.notes.push(format!("lines that were not understood: {}", lines.len()));
        }
    }

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

/// Bad things, of which fewer are better: whole words, and beginnings of words.
const BAD: [&str; 14] = [
    "miss", "misses", "missed", "retry", "retries", "retried", "lag", "lags", "drop", "drops", "dropped", "lost",
    "loss", "losses",
];
const BAD_BEGINNINGS: [&str; 13] = [
    "abort", "cancel", "conflict", "crash", "deadlock", "error", "fail", "fault", "reject", "rollback", "stall",
    "timeout", "wait",
];
/// Words that turn a bad one round, as in `time_between_failures`.
const TURNS: [&str; 10] = ["no", "non", "not", "without", "free", "zero", "between", "before", "to", "until"];

const SPEEDS: [&str; 6] = ["throughput", "tps", "iops", "qps", "nopm", "speed"];
const COSTS: [&str; 6] = ["latency", "time", "duration", "elapsed", "cpu", "size"];
/// Others that are measured or computed, and not counted.
const QUANTITIES: [&str; 20] = [
    "rate",
    "response",
    "delay",
    "lag",
    "seconds",
    "millis",
    "bandwidth",
    "load",
    "utilisation",
    "utilization",
    "ratio",
    "share",
    "percent",
    "score",
    "average",
    "avg",
    "mean",
    "median",
    "percentile",
    "per",
];

fn words(text: &str) -> impl Iterator<Item = String> {
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Whether the name alone tells of a time, a rate or an average: whole values of it are rounded, and not counted.
pub fn names_a_quantity(metric: &str) -> bool {
    let is_quantile = |word: &str| word.strip_prefix('p').is_some_and(|rank| rank.parse::<u32>().is_ok());
    let is_quantity = |word: &str| [&SPEEDS[..], &COSTS, &QUANTITIES].iter().any(|known| known.contains(&word));
    words(metric).any(|word| is_quantity(&word) || is_quantile(&word) || Quantity::of(&word) == Quantity::Time)
}

/// By unit and name; `None` when neither tells. Words of bad things go before the unit: `errors` in 1/s are no throughput.
pub fn direction_of(metric: &str, unit: &str) -> Option<Direction> {
    let quantity = Quantity::of(unit);
    let name: Vec<String> = words(metric).collect();
    let has = |wanted: &[&str]| wanted.iter().any(|word| name.iter().any(|w| w == word));
    let is_bad = |word: &String| {
        BAD.contains(&word.as_str()) || BAD_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
    };
    let is_speed = has(&SPEEDS);
    if name.iter().cloned().chain(words(unit)).any(|word| is_bad(&word)) {
        return (!is_speed && !has(&TURNS)).then_some(Direction::Lower);
    }
    if has(&["uptime", "mtbf", "mttf"]) {
        return None;
    }
    if is_speed || quantity == Quantity::Rate {
        return Some(Direction::Higher);
    }
    if has(&["count", "executions", "transactions"]) {
        return Some(Direction::Neither);
    }
    (has(&COSTS) || quantity == Quantity::Time).then_some(Direction::Lower)
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

    #[test]
    fn a_name_may_tell_that_nothing_was_counted() {
        for name in ["latency", "write time", "tps", "stall_ms", "avg_read", "response_p99", "error rate", "cpu"] {
            assert!(names_a_quantity(name), "{name}");
        }
        for name in ["reads", "errors", "transactions", "rows", "log writes", "timeouts", "pages"] {
            assert!(!names_a_quantity(name), "{name}");
        }
    }

    #[test]
    fn more_of_what_is_bad_is_never_better() {
        for (metric, unit) in [
            ("errors", "1/s"),
            ("deadlocks", "1/s"),
            ("abort_rate", ""),
            ("retries", "tx/s"),
            ("error_rate", "%"),
            ("failure_rate", "%"),
            ("cache_miss_rate", "%"),
            ("timeouts", "1/min"),
            ("lock_waits", "waits/s"),
            ("conflicts", "tps"),
            ("rollbacks", "tx/s"),
            ("replication_lag", "MiB"),
            ("dropped", "packets/s"),
            ("network", "errors/s"),
            ("Retry Count", ""),
            ("read stalls", "1/s"),
        ] {
            assert_eq!(direction_of(metric, unit), Some(Direction::Lower), "{metric} in {unit}");
        }
        for (metric, unit) in [
            ("rate", ""),
            ("hit_rate", "%"),
            ("success rate", "%"),
            ("time_between_failures", "h"),
            ("error_free_share", "%"),
            ("throughput_with_errors", "tx/s"),
            ("uptime", "h"),
        ] {
            assert_eq!(direction_of(metric, unit), None, "{metric} in {unit}");
        }
        assert_eq!(direction_of("transaction_rate", "tx/s"), Some(Direction::Higher));
    }
}
