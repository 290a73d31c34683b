//! Neutral form of another tool's results.

use std::collections::{BTreeMap, BTreeSet};

use model::{Direction, Facts, Mark, Measurement, Point, Quantity, RunState, Series};

use crate::exported::ExportedRules;
use crate::text::NotUnderstood;

/// Why a run has no latency where the tool prints one.
pub(crate) const OF_SUCCESSES: &str = "some failed, and it is printed of what succeeded alone";

/// The benchmark of a run that failed before it said what it ran. Its keys are those that are known all the same. As any
/// that failed and is of no known case, it counts in every case that it may have been of.
pub(crate) const UNKNOWN_BENCHMARK: &str = "";

/// One file, or several that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Name of the reader.
    pub tool: &'static str,
    pub version: Option<String>,
    /// The source as it is named to the reader.
    pub source: String,
    /// One per execution of a case.
    pub results: Vec<ImportedResult>,
    /// What a comparison needs and the file does not have, as noun phrases.
    pub unknown: Vec<String>,
    /// For readers of the figures.
    pub notes: Vec<String>,
    /// The commands and the SQL of the load that it shows: see [`crate::loads`].
    pub loads: BTreeSet<String>,
    /// The lines above its first result that no reader knows.
    pub above: Vec<String>,
    /// If étalon exported the file.
    pub rules: Option<ExportedRules>,
    /// The facts by system.
    pub facts: BTreeMap<String, Facts>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    pub system: String,
    /// Cases of one benchmark can be compared.
    pub benchmark: String,
    /// Distinguish the cases of a benchmark.
    pub keys: Point,
    /// The machine, database or device that it is of, as far as the source says: see [`crate::places`].
    pub places: Point,
    /// What the tool printed of its version, and of the server's, with this result.
    pub version: Option<String>,
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
            places: Point::new(),
            version: None,
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

    /// Makes a text that all results of one case have in common.
    pub fn case_text(&self) -> String {
        format!("{:?}", (&self.benchmark, &self.keys))
    }

    /// Makes a text that all results of one case of one system have in common.
    pub fn case_of_system(&self) -> String {
        format!("{:?}", (&self.system, &self.benchmark, &self.keys))
    }

    /// Makes the result of a run that failed.
    /// It keeps its place among the repetitions, so that nothing is judged by those alone that did not.
    pub(crate) fn make_failed(system: &str, benchmark: &str, reason: String) -> ImportedResult {
        ImportedResult { dropped: Some((RunState::Failed, reason)), ..ImportedResult::new(system, benchmark) }
    }
}

impl Imported {
    /// Makes an import without results yet, of a file without what `unknown` names.
    pub(crate) fn new<'a>(tool: &'static str, source: &str, unknown: impl IntoIterator<Item = &'a str>) -> Imported {
        Imported {
            tool,
            version: None,
            source: source.to_owned(),
            results: Vec::new(),
            unknown: unknown.into_iter().map(str::to_owned).collect(),
            notes: Vec::new(),
            loads: BTreeSet::new(),
            above: Vec::new(),
            rules: None,
            facts: BTreeMap::new(),
        }
    }

    /// Notes how many lines no reader knew, if there were any.
    pub(crate) fn note_not_understood(&mut self, lines: &[NotUnderstood]) {
        if !lines.is_empty() {
            self.notes.push(format!("lines that were not understood: {}", lines.len()));
        }
    }

    /// Counts the results that are of runs that failed.
    pub fn count_failed_results(&self) -> usize {
        self.results.iter().filter(|result| result.dropped.is_some()).count()
    }

    /// Notes how many results are of runs that failed, if any are.
    pub(crate) fn note_failed_results(&mut self) {
        let (failed, all) = (self.count_failed_results(), self.results.len());
        if failed > 0 {
            self.notes.push(format!("{failed} of {all} results are of runs that failed"));
        }
    }
}

/// Bad things, of which fewer are better.
const BAD: &[&str] = &[
    "abort",
    "aborted",
    "aborting",
    "aborts",
    "cancel",
    "canceled",
    "cancellations",
    "cancelled",
    "cancels",
    "conflict",
    "conflicts",
    "crash",
    "crashes",
    "deadlock",
    "deadlocks",
    "drop",
    "dropped",
    "drops",
    "error",
    "errors",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "failures",
    "fault",
    "faults",
    "lag",
    "lags",
    "loss",
    "losses",
    "lost",
    "miss",
    "missed",
    "misses",
    "reject",
    "rejected",
    "rejections",
    "rejects",
    "retried",
    "retries",
    "retry",
    "rollback",
    "rollbacks",
    "stall",
    "stalled",
    "stalling",
    "stalls",
    "timeouts",
    "wait",
    "waited",
    "waiting",
    "waits",
];
const SPEEDS: &[&str] = &["iops", "nopm", "qps", "speed", "throughput", "tpm", "tps"];
const COSTS: &[&str] = &[
    "cpu",
    "delay",
    "duration",
    "durations",
    "elapsed",
    "latencies",
    "latency",
    "response",
    "runtime",
    "time",
    "times",
];
/// Sizes are better small of what is stored.
const STORED: &[&str] = &[
    "archive", "backup", "backups", "data", "database", "dump", "file", "files", "index", "indexes", "indices",
    "table", "tables", "wal",
];
/// Things that are done: their time is better short, their rate high, and their number tells nothing.
const DONE: &[&str] = &[
    "backup",
    "backups",
    "bandwidth",
    "begin",
    "build",
    "calls",
    "checkpoint",
    "checkpoints",
    "commit",
    "commits",
    "copy",
    "count",
    "create",
    "creates",
    "creation",
    "delete",
    "deletes",
    "execution",
    "executions",
    "export",
    "fetch",
    "fsync",
    "import",
    "insert",
    "inserts",
    "io",
    "join",
    "joins",
    "load",
    "lookup",
    "lookups",
    "merge",
    "operation",
    "operations",
    "ops",
    "orders",
    "point",
    "queries",
    "query",
    "read",
    "reads",
    "recovery",
    "request",
    "requests",
    "restore",
    "row",
    "rows",
    "scan",
    "scans",
    "select",
    "selects",
    "sort",
    "statement",
    "statements",
    "transaction",
    "transactions",
    "tx",
    "update",
    "updates",
    "upsert",
    "vacuum",
    "write",
    "writes",
];
/// Words that leave the better way as it is.
const NEUTRAL: &[&str] = &[
    "all",
    "at",
    "average",
    "avg",
    "best",
    "by",
    "clat",
    "client",
    "completion",
    "data",
    "db",
    "each",
    "every",
    "first",
    "for",
    "from",
    "in",
    "index",
    "lat",
    "max",
    "maximal",
    "maximum",
    "mean",
    "median",
    "min",
    "minimal",
    "minimum",
    "new",
    "number",
    "of",
    "overall",
    "page",
    "pages",
    "pct",
    "percent",
    "percentile",
    "percentiles",
    "random",
    "rate",
    "ratio",
    "seq",
    "sequential",
    "server",
    "service",
    "share",
    "slat",
    "sql",
    "sum",
    "table",
    "th",
    "the",
    "total",
    "whole",
    "worst",
];
/// Where bad things happen, which does not make them better.
const WHERE: &[&str] = &[
    "block",
    "buffer",
    "cache",
    "connection",
    "connections",
    "disk",
    "lock",
    "locks",
    "memory",
    "network",
    "packet",
    "packets",
    "replication",
    "serialization",
    "unique",
];
/// What a figure may be of one of.
const PER: &[&str] = &[
    "call",
    "commit",
    "execution",
    "gib",
    "h",
    "hour",
    "io",
    "min",
    "minute",
    "ms",
    "ns",
    "operation",
    "order",
    "page",
    "query",
    "request",
    "row",
    "s",
    "sec",
    "second",
    "seconds",
    "statement",
    "transaction",
    "tx",
    "us",
];
const UNITS_OF_TIME: &[&str] =
    &["h", "hours", "millis", "milliseconds", "min", "minutes", "ms", "ns", "s", "sec", "seconds", "secs", "us", "µs"];
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

/// Tests whether a word names a quantile, such as `p99`.
pub(crate) fn is_quantile(word: &str) -> bool {
    word.strip_prefix('p').is_some_and(|rank| rank.parse::<u32>().is_ok())
}

/// Splits a text into words of letters and digits, in lower case.
fn split_into_words(text: &str) -> impl Iterator<Item = String> {
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Whether a metric's name alone tells of a time, a rate or an average.
/// Whole values of it are rounded, and not counted.
pub fn names_a_quantity(metric: &str) -> bool {
    let is_quantity =
        |word: &str| word == "size" || [SPEEDS, COSTS, &QUANTITIES].iter().any(|known| known.contains(&word));
    split_into_words(metric)
        .any(|word| is_quantity(&word) || is_quantile(&word) || Quantity::from_unit(&word) == Quantity::Time)
}

/// Guesses which way a metric is better from its name and unit; the whole name has to be known.
/// One word more makes a `throughput` a `throughput_stddev`, and a `cpu` a `cpu_idle`. Bad things go before the unit:
/// `errors` in 1/s are no throughput.
pub fn guess_direction(metric: &str, unit: &str) -> Option<Direction> {
    let name: Vec<String> = split_into_words(metric).filter(|word| !word.is_empty()).collect();
    let (of, per) = match name.iter().position(|word| word == "per") {
        Some(at) => (name.get(..at)?, name.get(at + 1..)?),
        None => (&name[..], [].as_slice()),
    };
    let has = |list: &[&str]| of.iter().any(|word| is_in(list, word));
    let are_all = |lists: &[&[&str]]| {
        of.iter().all(|word| {
            let is_number = word.trim_end_matches("th").bytes().all(|byte| byte.is_ascii_digit());
            is_number || is_quantile(word) || lists.iter().any(|list| is_in(list, word))
        }) && per.iter().all(|word| is_in(PER, word))
    };
    let is_of_time = per.first().is_some_and(|word| is_in(UNITS_OF_TIME, word) || word == "second" || word == "minute");
    let is_rate = Quantity::from_unit(unit) == Quantity::Rate || (is_of_time && unit.is_empty());
    let is_time = Quantity::from_unit(unit) == Quantity::Time;
    if has(BAD) || split_into_words(unit).any(|word| BAD.contains(&word.as_str())) {
        let known = are_all(&[BAD, DONE, NEUTRAL, WHERE, UNITS_OF_TIME, &["time", "times", "transactions"]]);
        return known.then_some(Direction::Lower);
    }
    match (has(SPEEDS), has(COSTS), has(&["size"])) {
        (true, false, false) => are_all(&[SPEEDS, DONE, NEUTRAL]).then_some(Direction::Higher),
        (false, true, false) if !is_rate => are_all(&[COSTS, DONE, NEUTRAL, UNITS_OF_TIME]).then_some(Direction::Lower),
        (false, false, true) => are_all(&[STORED, NEUTRAL, &["size"]]).then_some(Direction::Lower),
        (false, false, false) if is_rate => (has(DONE) && are_all(&[DONE, NEUTRAL])).then_some(Direction::Higher),
        (false, false, false) if is_time => are_all(&[DONE, NEUTRAL, UNITS_OF_TIME]).then_some(Direction::Lower),
        (false, false, false) if unit.is_empty() => {
            (has(&["count", "executions", "transactions"]) && are_all(&[DONE, NEUTRAL])).then_some(Direction::Neither)
        }
        _ => None,
    }
}

/// Tests whether a list has a word.
fn is_in(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_way_is_guessed_only_where_something_tells() {
        assert_eq!(guess_direction("transactions per second", "tps"), Some(Direction::Higher));
        assert_eq!(guess_direction("select", "queries/s"), Some(Direction::Higher));
        assert_eq!(guess_direction("throughput", ""), Some(Direction::Higher));
        assert_eq!(guess_direction("avg_read_stall", ""), Some(Direction::Lower));
        assert_eq!(guess_direction("backup", "ms"), Some(Direction::Lower));
        assert_eq!(guess_direction("size", "GB"), Some(Direction::Lower));
        assert_eq!(guess_direction("transactions", ""), Some(Direction::Neither));
        assert_eq!(guess_direction("ratio", ""), None);
    }

    #[test]
    fn one_unknown_word_leaves_the_better_way_open() {
        for (metric, unit) in [
            ("throughput_stddev", "tx/s"),
            ("cpu_idle", "%"),
            ("idle time", "ms"),
            ("think_time", "ms"),
            ("latency_stddev", "ms"),
            ("latency headroom", "ms"),
            ("time_to_failure", "h"),
            ("cache size", "MiB"),
            ("block size", "bytes"),
            ("lock timeout", "s"),
            ("sampling rate", "1/s"),
            ("context switches", "1/s"),
            ("uptime", "s"),
            ("default", "ms"),
            ("transactions per cpu second", ""),
            ("throughput_latency", ""),
            ("latency", "tx/s"),
            ("retry interval", "s"),
            ("wait_avoided", ""),
        ] {
            assert_eq!(guess_direction(metric, unit), None, "{metric} in {unit}");
        }
        for (metric, unit, direction) in [
            ("throughput mean", "", Direction::Higher),
            ("read iops", "", Direction::Higher),
            ("transactions per second", "", Direction::Higher),
            ("latency_p99", "ms", Direction::Lower),
            ("99th percentile of latency", "ms", Direction::Lower),
            ("cpu per transaction", "us", Direction::Lower),
            ("errors per second", "", Direction::Lower),
            ("database size", "GiB", Direction::Lower),
            ("lock wait time", "ms", Direction::Lower),
        ] {
            assert_eq!(guess_direction(metric, unit), Some(direction), "{metric} in {unit}");
        }
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
            assert_eq!(guess_direction(metric, unit), Some(Direction::Lower), "{metric} in {unit}");
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
            assert_eq!(guess_direction(metric, unit), None, "{metric} in {unit}");
        }
        assert_eq!(guess_direction("transaction_rate", "tx/s"), Some(Direction::Higher));
    }
}
