//! pgbench's runs as results.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use model::facts::PRINTED_DECIMALS;
use model::{Direction, Facts, Measurement, Reading, Role, Value};

use super::failure::failure_reason;
use super::{
    AggregatedInterval, PgbenchOutcome, PgbenchSummary, SeventhColumn, Summaries, parts, read_entries, read_intervals,
};
use crate::durations::{SampledDurations, latency_measurement, us_of_ms};
use crate::imported::{OF_SUCCESSES, UNKNOWN_BENCHMARK};
use crate::limited;
use crate::reader::{Found, Names, Reader, Reads, has_line};
use crate::text::shorten_message;
use crate::versions::{self, SERVER_VERSION};
use crate::{FormatError, Imported, ImportedResult};

/// For files that do not name the script.
const BENCHMARK: &str = "pgbench";

/// One run's logs, one per thread, in constant memory.
#[derive(Clone, Debug, Default)]
pub struct LogSummary {
    durations: SampledDurations,
    failed: u64,
    serialization: u64,
    deadlocks: u64,
    skipped: u64,
    retried: u64,
    retries: u64,
    has_retries: bool,
    lag_us: u128,
    lags: u64,
    zero: u64,
    unnamed: u64,
    clients: u32,
    lines: u64,
    /// Each client's lowest and highest transaction number.
    numbers: BTreeMap<u32, (u64, u64)>,
    first_us: Option<u64>,
    last_us: u64,
}

impl LogSummary {
    /// Adds the transactions of a log to the summary; fails at a line that is none.
    pub fn read_log<R: BufRead>(&mut self, reader: R, seventh: SeventhColumn) -> Result<(), FormatError> {
        for entry in read_entries(reader, seventh) {
            let entry = entry?;
            match entry.outcome {
                PgbenchOutcome::Succeeded(us) => {
                    self.zero += u64::from(us == 0);
                    self.durations.add_ns(us.saturating_mul(1_000));
                }
                PgbenchOutcome::Skipped => self.skipped += 1,
                PgbenchOutcome::Failed | PgbenchOutcome::Other => self.failed += 1,
                PgbenchOutcome::Serialization => self.serialization += 1,
                PgbenchOutcome::Deadlock => self.deadlocks += 1,
            }
            if let Some(retries) = entry.retries {
                self.has_retries = true;
                self.retried += u64::from(retries > 0);
                self.retries += u64::from(retries);
            }
            // A skipped transaction has a lag of 0.
            if entry.outcome != PgbenchOutcome::Skipped
                && let Some(lag) = entry.lag_us
            {
                self.lags += 1;
                self.lag_us += u128::from(lag);
            }
            self.unnamed += u64::from(entry.unnamed.is_some());
            self.lines += 1;
            let (lowest, highest) = self.numbers.entry(entry.client).or_insert((entry.transaction, entry.transaction));
            *lowest = entry.transaction.min(*lowest);
            *highest = entry.transaction.max(*highest);
            self.clients = self.clients.max(entry.client.saturating_add(1));
            let at_us = entry.at_s.saturating_mul(1_000_000).saturating_add(u64::from(entry.at_us));
            self.first_us = Some(self.first_us.map_or(at_us, |first| first.min(at_us)));
            self.last_us = self.last_us.max(at_us);
        }
        Ok(())
    }

    pub fn line_count(&self) -> u64 {
        self.lines
    }

    pub fn succeeded(&self) -> u64 {
        self.durations.count()
    }

    /// Number of transactions that failed, for any reason.
    pub fn failed(&self) -> u64 {
        self.failed + self.serialization + self.deadlocks
    }

    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Counts the transactions that failed or were skipped: neither has a time of its own.
    fn not_succeeded(&self) -> u64 {
        self.failed().saturating_add(self.skipped)
    }

    /// The durations of the transactions that succeeded.
    pub fn durations(&self) -> &SampledDurations {
        &self.durations
    }

    /// Gives the time between the first end and the last.
    pub fn span_s(&self) -> f64 {
        self.first_us.map_or(0.0, |first| (self.last_us - first) as f64 / 1e6)
    }

    /// Computes the successes per second between the first end and the last; of a sample, divided by its share.
    /// The first transaction, whose own time is not in the span, does not count.
    pub fn rate_per_s(&self) -> Option<f64> {
        let share = self.sampled_share().unwrap_or(1.0);
        (self.span_s() > 0.0 && self.succeeded() > 1).then(|| (self.succeeded() - 1) as f64 / self.span_s() / share)
    }

    /// Counts the transactions by the clients' numbers, between their first line and their last.
    fn count_by_numbers(&self) -> u64 {
        self.numbers.values().map(|(lowest, highest)| (highest - lowest).saturating_add(1)).fold(0, u64::saturating_add)
    }

    /// Estimates the share of transactions that `--sampling-rate` kept, by gaps in the clients' transaction numbers.
    /// The ends of each client's numbers, which are in the log by definition, do not count.
    pub fn sampled_share(&self) -> Option<f64> {
        let clients = self.numbers.len() as u64;
        let (lines, counted) = (self.lines.saturating_sub(clients), self.count_by_numbers().saturating_sub(clients));
        (counted > lines && lines > 0).then(|| lines as f64 / counted as f64)
    }

    /// Whether the log is of several runs: a client has more lines than transactions.
    pub fn is_of_several_runs(&self) -> bool {
        self.lines > self.count_by_numbers()
    }

    /// Whether both logs' runs ran at the same time.
    pub fn overlaps(&self, other: &LogSummary) -> bool {
        let (Some(first), Some(others)) = (self.first_us, other.first_us) else { return false };
        first < other.last_us && others < self.last_us
    }
}

/// Makes the measurement of the throughput, or of why it is not known.
fn throughput_measurement(rate: Option<f64>, why_not: &str) -> Measurement {
    let reading = Reading::from(rate.ok_or(why_not));
    Measurement::new("throughput", "tx/s", Direction::Higher, Role::Primary, reading)
}

/// Gives the number of all transactions for each that succeeded.
fn ratio_with_failed(succeeded: u64, failed: u64) -> f64 {
    (succeeded.saturating_add(failed)) as f64 / succeeded.max(1) as f64
}

/// Makes the measurement of a count of things that are worse when more.
fn count_measurement(id: &str, count: u64) -> Measurement {
    Measurement::value(id, "", Direction::Lower, Role::Diagnostic, count as f64)
}

/// Inserts a number as a key, if it is known.
fn insert_number(result: &mut ImportedResult, name: &str, number: Option<u64>) {
    if let Some(number) = number.and_then(|number| i64::try_from(number).ok()) {
        result.keys.insert(name.to_owned(), Value::Int(number));
    }
}

/// Makes the measurements of a log's counts; those of a sample are unavailable.
fn count_measurements(log: &LogSummary) -> Vec<Measurement> {
    let mut counts = vec![("errors", log.failed())];
    if log.serialization + log.deadlocks > 0 {
        counts.extend([("errors_serialization", log.serialization), ("errors_deadlock", log.deadlocks)]);
    }
    counts.push(("skipped", log.skipped));
    if log.has_retries {
        counts.extend([("retried", log.retried), ("retries", log.retries)]);
    }
    counts
        .into_iter()
        .map(|(id, count)| match log.sampled_share() {
            None => count_measurement(id, count),
            Some(_) => {
                let reason = format!("the log is a sample: {count} in its {} lines", log.lines);
                Measurement::new(id, "", Direction::Lower, Role::Diagnostic, Reading::unavailable(reason))
            }
        })
        .collect()
}

/// Makes a result of a run's logs.
pub fn import_log(log: &LogSummary, system: &str, source: &str) -> Imported {
    let mut result = ImportedResult::new(system, BENCHMARK);
    insert_number(&mut result, "clients", Some(u64::from(log.clients)));
    result.elapsed_s = Some(log.span_s());
    // Its first transaction ended a moment later than it began.
    // Old builds for Windows write 0.
    result.began_unix_ms =
        log.first_us.and_then(|us| i64::try_from(us / 1_000).ok()).filter(|ms| *ms >= 1_000 * YEAR_2000 as i64);
    result.measurements.push(throughput_measurement(log.rate_per_s(), "the log spans no time"));
    result.measurements.extend(log.durations.make_latency_measurements(log.not_succeeded()));
    result.measurements.extend(count_measurements(log));
    if let Some(share) = log.sampled_share() {
        result.notes.push(format!(
            "the log is a sample of about {:.1} % (--sampling-rate): the throughput is that of its lines, divided by it",
            100.0 * share
        ));
    }
    if log.lags > 0 {
        limited::mark_rate_limited(
            &mut result,
            log.rate_per_s().map(|rate| rate * ratio_with_failed(log.succeeded(), log.not_succeeded())),
        );
        let mean = Reading::Value(log.lag_us as f64 / log.lags as f64);
        result.measurements.push(latency_measurement("lag_mean", Role::Diagnostic, mean));
    }
    result.series.extend(log.durations.make_series("pgbench", log.span_s(), log.not_succeeded()));
    if log.zero > 0 {
        let note = format!(
            "{} transactions have a latency of 0 us: version 15 writes that for some before the first failure",
            log.zero
        );
        result.notes.push(note);
    }
    let mut unknown = vec!["the script", "the scale", "the query mode", "the versions", "the server's settings"];
    if log.unnamed > 0 {
        unknown.push("whether the seventh column is the lag or the retries");
    }
    Imported { results: vec![result], ..Imported::new(READER.name, source, unknown) }
}

/// What the aggregated logs of one run come to.
#[derive(Clone, Debug, Default)]
pub struct AggregateSummary {
    intervals: Vec<AggregatedInterval>,
    /// Ends of each log's intervals: threads do not begin together.
    ends: Vec<usize>,
}

impl AggregateSummary {
    /// The intervals in which a transaction succeeded.
    fn used_intervals(&self) -> impl Iterator<Item = &AggregatedInterval> {
        self.intervals.iter().filter(|interval| interval.transactions > 0)
    }

    /// Adds the intervals of a log to the summary; fails at a line that is none.
    pub fn read_log<R: BufRead>(&mut self, reader: R) -> Result<(), FormatError> {
        for interval in read_intervals(reader) {
            self.intervals.push(interval?);
        }
        self.ends.push(self.intervals.len());
        Ok(())
    }

    /// The intervals of all logs.
    pub fn intervals(&self) -> &[AggregatedInterval] {
        &self.intervals
    }

    /// Sums a count over all intervals; `None` if one does not have it.
    fn sum_of(&self, count: impl Fn(&AggregatedInterval) -> Option<u64>) -> Option<u64> {
        let counts: Option<Vec<u64>> = self.intervals.iter().map(count).collect();
        counts.filter(|counts| !counts.is_empty()).map(|counts| counts.into_iter().fold(0, u64::saturating_add))
    }

    /// Lists the intervals of each log that has any.
    fn logs(&self) -> impl Iterator<Item = &[AggregatedInterval]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).filter_map(|(begin, end)| self.intervals.get(begin..*end)).filter(|log| !log.is_empty())
    }

    /// Sums the rates of the logs' whole intervals, without the first and last interval of each.
    /// `None` below three intervals in a log, or without times.
    pub fn rate_per_s(&self) -> Option<f64> {
        let rates: Option<Vec<f64>> = self.logs().map(rate_of_log).collect();
        rates.filter(|rates| !rates.is_empty()).map(|rates| rates.into_iter().sum())
    }

    /// Number of transactions that succeeded.
    fn succeeded(&self) -> u64 {
        self.intervals.iter().map(succeeded_in).fold(0, u64::saturating_add)
    }

    /// Counts the transactions that did not succeed, as far as they are counted.
    fn not_succeeded(&self) -> u64 {
        let counts: [fn(&AggregatedInterval) -> Option<u64>; 4] =
            [|one| one.serialization, |one| one.deadlocks, |one| one.other, |one| one.skipped];
        counts.into_iter().filter_map(|count| self.sum_of(count)).fold(0, u64::saturating_add)
    }

    /// Measures the share of failed or skipped transactions; a 0 that may mean "not counted" is unavailable.
    /// From version 15 on failures are counted only with `--failures-detailed`, and are 0 otherwise; up to 14 they are
    /// missing. Skipped ones are there whenever pgbench may skip.
    fn failed_share(&self, zero: Zero) -> Measurement {
        let has_columns = self.sum_of(|one| one.skipped).is_some();
        Measurement::failed_share(match (self.not_succeeded(), zero) {
            (0, Zero::Counted) if has_columns => Reading::percent_failed(0, self.succeeded()),
            (0, _) => Reading::unavailable(
                "an aggregated log counts failures with --failures-detailed alone, and has 0 without it",
            ),
            (count, _) => Reading::percent_failed(count, self.succeeded()),
        })
    }

    /// Tests whether both logs' runs ran at the same time.
    pub fn overlaps(&self, other: &AggregateSummary) -> bool {
        let (Some(ours), Some(theirs)) = (span_s(self), span_s(other)) else { return false };
        ours.0 < theirs.1 && theirs.0 < ours.1
    }
}

/// Gives the first and last start of an interval, s since 1970.
fn span_s(log: &AggregateSummary) -> Option<(u64, u64)> {
    let starts = log.intervals.iter().map(|interval| interval.start_s);
    Some((starts.clone().min()?, starts.max()?))
}

/// Counts an interval's transactions that succeeded; up to version 14 skipped ones are included there.
fn succeeded_in(interval: &AggregatedInterval) -> u64 {
    let included = if interval.retried.is_none() { interval.skipped.unwrap_or(0) } else { 0 };
    interval.transactions.saturating_sub(included)
}

/// Computes the rate of a log's whole intervals; `None` below three intervals.
fn rate_of_log(log: &[AggregatedInterval]) -> Option<f64> {
    let [_, whole @ .., last] = log else { return None };
    let first = whole.first()?.start_s;
    let transactions = whole.iter().map(succeeded_in).fold(0, u64::saturating_add);
    let seconds = last.start_s.checked_sub(first).filter(|seconds| *seconds > 0)?;
    Some(transactions as f64 / seconds as f64)
}

/// Meaning of a 0 in a count of failures.
#[derive(Clone, Copy)]
enum Zero {
    Counted,
    /// pgbench may not have counted them.
    Unknown,
}

pub struct AggregateRun<'a> {
    pub log: &'a AggregateSummary,
    pub system: &'a str,
    pub source: String,
}

/// Makes a result of each run's logs of intervals.
/// If one run has counted failures, a 0 in another is a count: the runs are assumed to have the same options.
pub fn import_aggregates(runs: &[AggregateRun<'_>]) -> Vec<Imported> {
    let is_counted = runs.iter().any(|run| run.log.not_succeeded() > 0);
    let zero = if is_counted { Zero::Counted } else { Zero::Unknown };
    runs.iter().map(|run| import_aggregate(run, zero)).collect()
}

/// Makes a result of a run's logs of intervals.
fn import_aggregate(run: &AggregateRun<'_>, zero: Zero) -> Imported {
    let log = run.log;
    let mut result = ImportedResult::new(run.system, BENCHMARK);
    let began_s = span_s(log).map(|(first, _)| first).filter(|first| *first >= YEAR_2000);
    result.began_unix_ms = began_s.and_then(|first| i64::try_from(first).ok()?.checked_mul(1_000));
    let transactions = log.succeeded();
    result.measurements.push(log.failed_share(zero));
    result
        .measurements
        .push(throughput_measurement(log.rate_per_s(), "fewer than three intervals: none is sure to be whole"));
    let total: f64 = log.used_intervals().map(|interval| interval.sum_us).sum();
    let mean = if transactions > 0 { Reading::Value(total / transactions as f64) } else { no_success_reading() };
    result.measurements.push(latency_measurement("response_mean", Role::Primary, finite_or_reason(mean)));
    let shortest = log
        .used_intervals()
        .map(|interval| interval.min_us)
        .min_by(f64::total_cmp)
        .map_or_else(no_success_reading, Reading::Value);
    let longest = log
        .used_intervals()
        .map(|interval| interval.max_us)
        .max_by(f64::total_cmp)
        .map_or_else(no_success_reading, Reading::Value);
    result.measurements.push(latency_measurement("response_min", Role::Secondary, shortest));
    result.measurements.push(latency_measurement("response_max", Role::Secondary, longest));
    let lag: f64 = log.used_intervals().filter_map(|interval| interval.lag_us).sum();
    if lag > 0.0 && transactions > 0 {
        limited::mark_rate_limited(
            &mut result,
            log.rate_per_s().map(|rate| rate * ratio_with_failed(transactions, log.not_succeeded())),
        );
        result.measurements.push(latency_measurement(
            "lag_mean",
            Role::Diagnostic,
            finite_or_reason(Reading::Value(lag / transactions as f64)),
        ));
    }
    let counts = [
        ("errors_serialization", log.sum_of(|interval| interval.serialization)),
        ("errors_deadlock", log.sum_of(|interval| interval.deadlocks)),
        ("errors_other", log.sum_of(|interval| interval.other)),
        ("skipped", log.sum_of(|interval| interval.skipped)),
        ("retried", log.sum_of(|interval| interval.retried)),
        ("retries", log.sum_of(|interval| interval.retries)),
    ];
    // From version 15 on 0 may mean "not counted".
    let counted =
        counts.into_iter().filter_map(|(id, count)| Some(count_measurement(id, count.filter(|count| *count > 0)?)));
    result.measurements.extend(counted);
    let unknown = [
        "the script",
        "the scale",
        "the clients",
        "the versions",
        "the server's settings",
        "quantiles",
        "whether what is counted 0 times was counted",
    ];
    Imported { results: vec![result], ..Imported::new(READER.name, &run.source, unknown) }
}

/// Makes the reading of a latency where nothing succeeded.
fn no_success_reading() -> Reading {
    Reading::unavailable("no transaction succeeded")
}

/// Makes a value that is out of range unavailable: sums of huge figures may overflow.
fn finite_or_reason(reading: Reading) -> Reading {
    match reading {
        Reading::Value(value) if !value.is_finite() => Reading::unavailable("the sum is out of range"),
        reading => reading,
    }
}

pub const READER: Reader = Reader {
    name: "pgbench",
    about: "What pgbench prints, many runs in a file",
    recognises: |text| has_line(text, &["transaction type:", "pgbench (1", "pgbench: error: ", "pgbench: fatal: "]),
    names: Names::File,
    reads: Reads::Text(|input| {
        let found = super::read_summaries(input.text.as_bytes());
        let imported = import_summaries(&found, input.system, input.source);
        Ok(Found { imported, not_understood: found.not_understood })
    }),
};

pub const LOG_READER: Reader = Reader {
    name: "pgbench-log",
    about: "Logs of `pgbench -l`; those of one process are one run",
    recognises: |head| {
        is_log(head, |first| read_entries(first, SeventhColumn::Unknown).next().is_some_and(|one| one.is_ok()))
    },
    names: Names::Log,
    reads: Reads::Logs(crate::logs::import_pgbench_logs),
};

pub const AGGREGATE_READER: Reader = Reader {
    name: "pgbench-aggregate",
    about: "Logs of `pgbench -l --aggregate-interval`; those of one process are one run",
    recognises: |head| {
        is_log(head, |first| {
            read_intervals(first).next().is_some_and(|one| one.is_ok_and(|one| one.start_s >= YEAR_2000))
        })
    },
    names: Names::Log,
    reads: Reads::Logs(crate::logs::import_pgbench_aggregates),
};

/// 2000-01-01 in seconds since 1970: no log of pgbench is older, and no count of clients larger.
const YEAR_2000: u64 = 946_684_800;

/// Tells whether the first two lines of a text are lines of a log, by `is_line`.
fn is_log(head: &str, is_line: impl Fn(&[u8]) -> bool) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty()).take(2).peekable();
    lines.peek().is_some() && lines.all(|line| is_line(line.as_bytes()))
}

/// Pgbench prints milliseconds as `2.000`, and rates with six decimals.
const DECIMALS: u32 = 3;

/// Makes the results of what pgbench printed; runs with the same parameters are repetitions.
pub fn import_summaries(found: &Summaries, system: &str, source: &str) -> Imported {
    let unknown = ["the server's settings", "quantiles"];
    let mut import = Imported::new(READER.name, source, unknown);
    for run in &found.runs {
        let whole = make_result(run, system);
        let parts = if whole.dropped.is_none() { parts::part_results(run, &whole) } else { Vec::new() };
        import.results.push(whole);
        import.results.extend(parts);
    }
    import.version = versions::distinct_versions(found.runs.iter().map(|run| run.version.as_deref()));
    let servers: BTreeSet<&str> = found.runs.iter().filter_map(|run| run.server_version.as_deref()).collect();
    let mut facts = Facts::default();
    facts.record_passing(PRINTED_DECIMALS, DECIMALS.to_string());
    if !servers.is_empty() {
        facts.record_identity(SERVER_VERSION, servers.into_iter().collect::<Vec<_>>().join(", "));
    }
    import.facts.insert(system.to_owned(), facts);
    import.note_failed_results();
    import.note_not_understood(&found.not_understood);
    import
}

/// Counts the transactions that did not succeed, as far as they are printed.
pub(super) fn not_succeeded(run: &PgbenchSummary) -> u64 {
    run.failed.unwrap_or(0).saturating_add(run.skipped.unwrap_or(0))
}

/// Measures the share of failed or skipped transactions. Up to version 14 failures are not printed.
/// Skipped ones are printed as percent of the printed total, which counts them twice in 9.6 and 10.
fn failed_share(run: &PgbenchSummary) -> Measurement {
    let (Some(processed), Some(succeeded), true) =
        (run.processed, run.succeeded(), run.failed.is_some() || run.skipped.is_some())
    else {
        let why = "pgbench prints failed transactions from version 15 on".to_owned();
        return Measurement::failed_share(Reading::unavailable(why));
    };
    let skipped = run.skipped.unwrap_or(0);
    let not_succeeded = not_succeeded(run);
    let sum = processed.saturating_add(not_succeeded).max(1);
    // Printed with three decimals.
    Measurement::failed_share(
        match run
            .skipped_percent
            .filter(|percent: &f64| (percent - 100.0 * skipped as f64 / sum as f64).abs() > 0.000_501)
        {
            Some(percent) => Reading::unavailable(format!(
                "{percent} % are said to be skipped, which {skipped} beside {processed} processed are in no version of pgbench"
            )),
            None => Reading::percent_failed(not_succeeded, succeeded),
        },
    )
}

/// Computes the transactions a second that succeeded; notes what was taken off.
fn rate_of_summary(run: &PgbenchSummary, result: &mut ImportedResult) -> Option<f64> {
    let (Some(processed), Some(succeeded)) = (run.processed, run.succeeded()) else { return run.tps };
    if succeeded == processed {
        return run.tps;
    }
    let note = format!(
        "versions 9.6 and 10 count the {} skipped transactions in tps: they are taken off",
        processed - succeeded
    );
    result.notes.push(note);
    run.tps.map(|tps| tps * succeeded as f64 / processed as f64)
}

/// Names a script the same for all versions, a file without its folder. Up to 9.5 they print no `<builtin: …>`.
pub(super) fn script_name(printed: &str) -> &str {
    match printed {
        "TPC-B (sort of)" => "<builtin: TPC-B (sort of)>",
        "SELECT only" => "<builtin: select only>",
        "Update only pgbench_accounts" => "<builtin: simple update>",
        builtin if builtin.starts_with('<') => builtin,
        path => path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path),
    }
}

/// Lists what a run was asked for beyond clients and scale, as keys; what was not asked for is left out.
fn run_conditions(run: &PgbenchSummary) -> impl Iterator<Item = (String, Value)> {
    [
        ("query_mode", text_value(&run.query_mode)),
        (
            "scripts",
            (!run.scripts.is_empty()).then(|| {
                let scripts = run.scripts.iter().map(|(name, weight)| format!("{} × {weight}", script_name(name)));
                Value::Text(scripts.collect::<Vec<_>>().join(", "))
            }),
        ),
        ("connections", run.reconnects.then(|| Value::Text("one a transaction".to_owned()))),
        // The rate itself is known of runs that did not fail.
        ("rate_limited", run.lag_ms.map(|_| Value::Text("yes".to_owned()))),
        ("latency_limit", text_value(&run.latency_limit)),
        ("partition_method", text_value(&run.partition_method)),
        ("partitions", number_value(run.partitions)),
        // Versions that do not print it try once.
        ("max_tries", number_value(run.max_tries.filter(|tries| *tries != 1))),
        ("max_tries_time", text_value(&run.max_tries_time)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// Makes the value of a key of a number.
fn number_value(value: Option<u64>) -> Option<Value> {
    value.and_then(|value| i64::try_from(value).ok()).map(Value::Int)
}

/// Makes the value of a key of a text.
fn text_value(value: &Option<String>) -> Option<Value> {
    value.clone().map(Value::Text)
}

/// Lists remarks on a run that are worth knowing and cannot make another case of it.
fn run_remarks(run: &PgbenchSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(script) = run
        .script
        .as_ref()
        .filter(|script| !script.starts_with('<') && script_name(script) != script.as_str())
        .filter(|script| script.contains(['/', '\\']))
    {
        remarks.push(format!("the script is {}: scripts of one file name count as one", shorten_message(script)));
    }
    if let Some(transactions) = run.transactions_per_client {
        remarks.push(format!("each client ran {transactions} transactions (-t)"));
    }
    remarks
}

/// Gives how long a run took: what was asked for (`-T`), or its transactions by their rate (`-t`).
fn length_s(run: &PgbenchSummary) -> Option<f64> {
    run.duration_s.or_else(|| Some(run.processed? as f64 / run.tps.filter(|tps| *tps > 0.0)?))
}

/// Makes the result of a run's summary, failed if its figures are not those of the load.
fn make_result(run: &PgbenchSummary, system: &str) -> ImportedResult {
    let script = run.script.as_deref().map_or(BENCHMARK, script_name).to_owned();
    let failure = failure_reason(run);
    // What is printed in front of this is all that tells cases apart.
    let is_complete = run.script.is_some() && run.processed.is_some();
    let mut result = match failure.clone() {
        Some(reason) => {
            ImportedResult::make_failed(system, if is_complete { &script } else { UNKNOWN_BENCHMARK }, reason)
        }
        None => ImportedResult::new(system, &script),
    };
    result.version = run.version.as_ref().map(|version| match &run.server_version {
        Some(server) => format!("{version}, server {server}"),
        None => version.clone(),
    });
    insert_number(&mut result, "clients", run.clients);
    insert_number(&mut result, "threads", run.threads);
    insert_number(&mut result, "scale", run.scale);
    result.keys.extend(run_conditions(run));
    if failure.is_some() {
        return result;
    }
    result.notes = run_remarks(run);
    result.elapsed_s = length_s(run);
    let rate = rate_of_summary(run, &mut result);
    result.measurements.push(throughput_measurement(rate, "no tps was printed"));
    let share = failed_share(run);
    // The mean is of successes, and only the share tells of others.
    let is_void = matches!(share.reading, Reading::Unavailable(_)) && not_succeeded(run) > 0;
    result.measurements.push(share);
    let ms = |id: &str, role, ms: Option<f64>, all: &mut Vec<Measurement>| {
        all.extend(ms.map(|ms| {
            latency_measurement(
                id,
                role,
                if is_void {
                    Reading::unavailable(OF_SUCCESSES)
                } else {
                    finite_or_reason(Reading::Value(us_of_ms(ms)))
                },
            )
        }));
    };
    // Under a rate pgbench measures it, too.
    let measured = run.stddev_ms.is_some() || run.lag_ms.is_some();
    // A latency computed from the rate is no second measurement.
    let role = if measured { Role::Primary } else { Role::Diagnostic };
    ms("response_mean", role, run.latency_ms, &mut result.measurements);
    ms("response_stddev", Role::Secondary, run.stddev_ms, &mut result.measurements);
    ms("lag_mean", Role::Diagnostic, run.lag_ms, &mut result.measurements);
    let counts = [
        ("errors", run.failed),
        ("errors_serialization", run.serialization),
        ("errors_deadlock", run.deadlocks),
        ("skipped", run.skipped),
        ("retried", run.retried),
        ("retries", run.retries),
    ];
    result.measurements.extend(counts.into_iter().filter_map(|(id, count)| Some(count_measurement(id, count?))));
    if run.lag_ms.is_some() {
        let all = ratio_with_failed(run.succeeded().unwrap_or(0), not_succeeded(run));
        limited::mark_rate_limited(&mut result, rate.map(|rate| rate * all));
    }
    if run.latency_ms.is_some() && !measured {
        result.notes.push("the mean latency is not measured: it is time × clients / transactions".to_owned());
    }
    result
}
