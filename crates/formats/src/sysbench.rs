//! sysbench 0.4, 0.5, 1.0 and 1.1: what it prints, with `--histogram` and `--report-interval`.

mod conditions;

use std::collections::BTreeMap;

use model::facts::{PERCENTILE_BUCKET, PRINTED_DECIMALS};
use model::metric::FAILED_SHARE;
use model::{Direction, Facts, Measurement, Point, Reading, Role, Value};

use crate::durations::{SampledDurations, latency_measurement, us_of_ms};
use crate::imported::UNKNOWN_BENCHMARK;
use crate::reader::{Found, Names, Reader, Reads, has_line};
use crate::text::{NotUnderstood, decode, leading_number, numbered_lines, parse_number, shorten_message};
use crate::versions;
use crate::{Imported, ImportedResult};

pub use conditions::CONDITIONS;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SysbenchOutput {
    pub runs: Vec<SysbenchRun>,
    pub not_understood: Vec<NotUnderstood>,
}

/// What was not printed is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SysbenchRun {
    /// `1.0.20`.
    pub version: Option<String>,
    /// What was printed of the load before it began, by the key of the case that it becomes.
    pub conditions: Point,
    /// The figures by section and name, such as `("General statistics", "total time")`; values as written.
    pub figures: BTreeMap<(String, String), String>,
    /// Seconds at each report of `--report-checkpoints`. Each report, the last one too, covers only the time since the
    /// one before.
    pub checkpoints_s: Vec<f64>,
    pub histogram: Vec<(f64, u64)>,
    /// What sysbench said first of the error that ended it.
    pub fatal: Option<String>,
    /// Warnings, and what was printed of the length of the run.
    pub remarks: Vec<String>,
}

/// What a run begins with, without its colon.
const BEGINNING: &str = "Running the test with following options";

/// Lines that tell nothing about the load: what they say is noise, or stands in another line, too.
const NOISE: &[&str] = &[
    BEGINNING,
    "Running memory speed test with the following options",
    "Initializing random number generator",
    "Random number generator seed is",
    "Initializing worker threads",
    "Threads started!",
    "Time limit exceeded, exiting...",
    "(last message repeated ",
    "Done.",
    "Latency histogram (values are in",
    "Report checkpoint(s) at",
    "Report intermediate results every",
    "Doing OLTP test.",
    "Doing CPU performance benchmark",
    "Doing memory operations speed test",
    "value  ---",
    // sysbench-tpcc, of PostgreSQL.
    "DB SCHEMA ",
];

/// Lines that are kept as notes: they cannot change what a transaction or an event is.
const REMARKS: &[&str] = &[
    "WARNING:",
    "No DB drivers specified",
    "Maximum number of requests for OLTP test is limited to",
    "Number of random requests for random IO",
    "Number of IO requests",
];

/// Sections of figures, as all versions print them.
const SECTIONS: [&str; 9] =
    [SQL, SQL_OLD, GENERAL, EXECUTION_OLD, LATENCY, "CPU speed", "File operations", "Throughput", "Threads fairness"];

/// Names of figures within the sections, apart from percentiles.
pub const FIGURES: [&str; 29] = [
    "read",
    "write",
    "other",
    "total",
    "transactions",
    "queries",
    "ignored errors",
    "reconnects",
    "deadlocks",
    "read/write requests",
    "other operations",
    "total time",
    "total number of events",
    "events per second",
    "total time taken by event execution",
    "min",
    "avg",
    "max",
    "sum",
    "reads/s",
    "writes/s",
    "fsyncs/s",
    "fsync",
    "read, MiB/s",
    "written, MiB/s",
    "events (avg/stddev)",
    "execution time (avg/stddev)",
    "events/s (eps)",
    "time elapsed",
];

/// Reads the runs of sysbench's output; unrecognised lines are listed, never an error.
pub fn read_output(bytes: &[u8]) -> SysbenchOutput {
    let mut output = SysbenchOutput::default();
    let mut section = String::new();
    for (number, line) in numbered_lines(&decode(bytes)) {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if let Some(version) = version_of(trimmed) {
            output.runs.push(SysbenchRun { version: Some(version), ..SysbenchRun::default() });
            section.clear();
            continue;
        }
        let next = match output.runs.last() {
            Some(run) => run.start_next_run(trimmed),
            None => begins_without_version(trimmed).then(SysbenchRun::default),
        };
        if let Some(next) = next {
            output.runs.push(next);
            section.clear();
        }
        let taken = output.runs.last_mut().is_some_and(|run| run.take_line(trimmed, &mut section));
        if !taken {
            output.not_understood.push(NotUnderstood::new(number, line));
        }
    }
    output
}

/// Whether a line is the first one of a copy without sysbench's first lines.
fn begins_without_version(line: &str) -> bool {
    let is_section = line.strip_suffix(':').is_some_and(|name| name == BEGINNING || SECTIONS.contains(&name));
    is_section || old_totals(line).is_some()
}

/// Finds the version in a run's first line: `sysbench 1.0.20 (using …)`, `sysbench 0.4.12:  multi-threaded …`.
fn version_of(line: &str) -> Option<String> {
    let version = line.strip_prefix("sysbench ")?.split(' ').next()?.trim_end_matches(':');
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

impl SysbenchRun {
    /// Makes a new run of the same version, if the line begins another one without a version before it.
    /// That is what sysbench says first of a run, or a section that is there already.
    fn start_next_run(&self, trimmed: &str) -> Option<SysbenchRun> {
        let has_section = |name: &str| self.figures.keys().any(|(section, _)| section == name);
        let begins = match trimmed.strip_suffix(':') {
            Some(BEGINNING) => !self.figures.is_empty() || self.fatal.is_some(),
            Some(name) if SECTIONS.contains(&name) => self.checkpoints_s.is_empty() && has_section(name),
            _ => false,
        };
        begins.then(|| SysbenchRun { version: self.version.clone(), ..SysbenchRun::default() })
    }

    /// Takes a line of the run; `false` if it is none.
    fn take_line(&mut self, trimmed: &str, section: &mut String) -> bool {
        if let Some(fatal) = trimmed.strip_prefix("FATAL:") {
            self.fatal.get_or_insert_with(|| shorten_message(fatal));
            return true;
        }
        if let Some(at_s) = progress_s(trimmed) {
            if trimmed.ends_with("Checkpoint report:") {
                self.checkpoints_s.push(at_s);
                self.histogram.clear();
                section.clear();
            }
            return true;
        }
        if let Some(bin) = parse_bin(trimmed) {
            self.histogram.push(bin);
            return true;
        }
        if is_csv_progress(trimmed) || (trimmed.starts_with("value ") && trimmed.ends_with(" count")) {
            return true;
        }
        if NOISE.iter().any(|sentence| trimmed.starts_with(sentence)) {
            return true;
        }
        if REMARKS.iter().any(|sentence| trimmed.starts_with(sentence)) {
            self.remarks.push(shorten_message(trimmed));
            return true;
        }
        if let Some(name) = trimmed.strip_suffix(':') {
            let is_section = SECTIONS.contains(&name);
            if is_section {
                name.clone_into(section);
            }
            // Headings within a section, whose names below them are unique in it.
            let is_heading = ["queries performed", "per-request statistics", "response time"].contains(&name);
            return is_section || (is_heading && !section.is_empty());
        }
        if !section.is_empty() && self.take_figure(trimmed, section) {
            return true;
        }
        if let Some(totals) = old_totals(trimmed) {
            self.figures.extend(totals);
            return true;
        }
        let found = conditions::parse_condition_line(trimmed);
        let is_condition = !found.is_empty();
        self.conditions.extend(found);
        is_condition
    }

    /// Takes a line `name: value` of a section.
    fn take_figure(&mut self, trimmed: &str, section: &str) -> bool {
        let Some((name, value)) = trimmed.split_once(':') else { return false };
        let (name, value) = (name.trim(), value.trim());
        if !FIGURES.contains(&name) && !name.ends_with(" percentile") {
            return false;
        }
        let key = (section.to_owned(), name.to_owned());
        if self.checkpoints_s.is_empty() {
            self.figures.entry(key).or_insert_with(|| value.to_owned());
        } else {
            self.figures.insert(key, value.to_owned());
        }
        true
    }

    /// Gives a figure of a section by its name.
    pub fn figure_in_section(&self, section: &str, name: &str) -> Option<f64> {
        first_number(self.figures.get(&(section.to_owned(), name.to_owned()))?)
    }

    /// Gives the number in brackets behind a figure: `926 (461.19 per sec.)`.
    pub fn per_second(&self, section: &str, name: &str) -> Option<f64> {
        let value = self.figures.get(&(section.to_owned(), name.to_owned()))?;
        first_number(value.split_once('(')?.1)
    }

    /// Gives a figure of the first of these sections that has it: versions name the sections differently.
    fn figure_of(&self, sections: &[&str], name: &str) -> Option<f64> {
        sections.iter().find_map(|section| self.figure_in_section(section, name))
    }

    /// Gives the number in brackets behind a figure, of the first of these sections that has it.
    fn per_second_of(&self, sections: &[&str], name: &str) -> Option<f64> {
        sections.iter().find_map(|section| self.per_second(section, name))
    }

    /// The number of threads that the output's head names.
    pub fn thread_count(&self) -> Option<u64> {
        u64::try_from(self.conditions.get("threads")?.as_int()?).ok()
    }

    /// Computes the threads where the output's head is missing: all events by those of a thread.
    fn threads_by_events(&self) -> Option<i64> {
        let threads = self.event_count()? / self.events_of_thread()?;
        // The mean has four decimals.
        ((1.0..1e6).contains(&threads) && (threads - threads.round()).abs() < 0.01).then(|| threads.round() as i64)
    }

    /// Gives the mean number of events of a thread.
    fn events_of_thread(&self) -> Option<f64> {
        let name = "events (avg/stddev)";
        ["Threads fairness", GENERAL, EXECUTION_OLD]
            .iter()
            .find_map(|section| self.figure_in_section(section, name))
            .filter(|mean| *mean > 0.0)
    }

    /// Gives the total time of the run in seconds.
    pub fn total_time_s(&self) -> Option<f64> {
        self.figure_of(&TOTALS, "total time").or_else(|| self.figure_in_section("Throughput", "time elapsed"))
    }

    /// Gives the total number of events.
    fn event_count(&self) -> Option<f64> {
        self.figure_of(&TOTALS, "total number of events")
            .or_else(|| self.figure_in_section("Throughput", "total number of events"))
    }

    /// Computes the time that the figures cover: since the last checkpoint.
    pub fn counted_s(&self) -> Option<f64> {
        Some(self.total_time_s()? - self.checkpoints_s.last().unwrap_or(&0.0))
    }

    /// Gives the transactions a second that were asked for.
    pub fn target_rate(&self) -> Option<f64> {
        match self.conditions.get("rate")? {
            Value::Float(rate) => Some(*rate),
            _ => None,
        }
    }

    /// Explains why it has no result, if it was a run at all: `prepare` and `cleanup` print their heading, too.
    pub fn failure_reason(&self) -> Option<String> {
        match &self.fatal {
            Some(fatal) => Some(format!("sysbench ended with an error: {fatal}")),
            None if self.rate_per_s().is_none() && self.thread_count().is_some() => {
                Some("it printed no figures".to_owned())
            }
            None => self.why_contradictory(),
        }
    }

    /// Explains that the printed rate is not that of the printed transactions and time, or takes more time than the threads have;
    /// `None` if it may be true.
    fn why_contradictory(&self) -> Option<String> {
        let rate = self.per_second_of(&SQLS, "transactions")?;
        let (count, seconds) = (self.figure_of(&SQLS, "transactions")?, self.counted_s().filter(|s| *s > 0.0)?);
        let is_of_them = (rate * seconds).max(1.0) / count.max(1.0);
        if !(0.8..=1.25).contains(&is_of_them) {
            return Some(format!(
                "its figures contradict each other: {rate} transactions per sec., and {count} transactions in {seconds} s"
            ));
        }
        // At a prescribed rate what waited for its turn is in the time of each.
        let (threads, None) = (self.thread_count()?, self.target_rate()) else { return None };
        let mean_ms = self.figure_of(&LATENCIES, "avg")?;
        (rate * mean_ms / 1_000.0 > 1.25 * threads as f64).then(|| {
            format!(
                "its figures contradict each other: {rate} transactions per sec. of {mean_ms} ms each are more than {threads} threads \
                 have time for"
            )
        })
    }

    /// Gives the rank that was asked for, and its latency in milliseconds.
    /// Up to version 1.0's first ones the name is `approx.  99 percentile`.
    pub fn percentile_ms(&self) -> Option<(f64, f64)> {
        self.figures.iter().find_map(|((section, name), value)| {
            if !LATENCIES.contains(&section.as_str()) {
                return None;
            }
            let rank = name.strip_suffix(" percentile")?;
            let rank = first_number(rank.strip_prefix("approx.").unwrap_or(rank))?;
            Some((rank, first_number(value)?))
        })
    }

    /// Gives the transactions a second, else the events.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.per_second_of(&SQLS, "transactions").or_else(|| {
            let (events, time) = (self.event_count()?, self.counted_s()?);
            (time > 0.0).then_some(events / time)
        })
    }

    /// Gives a direction's operations on files and MiB a second, as version 1.1 prints them.
    /// `read:  IOPS=2560.33 40.01 MiB/s (41.95 MB/s)`.
    fn file_operations(&self, name: &str) -> Option<(f64, Option<f64>)> {
        let value = self.figures.get(&("Throughput".to_owned(), name.to_owned()))?.strip_prefix("IOPS=")?;
        let (rate, rest) = leading_number(value)?;
        Some((rate, first_number(rest)))
    }

    /// Names the test that was run, as far as the output tells: the benchmark.
    fn test_name(&self) -> Option<&'static str> {
        let has_section = |name: &str| self.figures.keys().any(|(section, _)| section == name);
        if SQLS.iter().any(|section| has_section(section)) || self.conditions.contains_key("oltp_mode") {
            Some("oltp")
        } else if self.conditions.contains_key("prime_limit") || has_section("CPU speed") {
            Some("cpu")
        } else if self.conditions.contains_key("file_size")
            || self.conditions.contains_key("io_mode")
            || has_section("File operations")
        {
            Some("fileio")
        } else if self.conditions.contains_key("scope")
            || self.conditions.contains_key("operation")
            || has_section("Memory")
        {
            Some("memory")
        } else if self.conditions.contains_key("yields") {
            Some("threads")
        } else if self.conditions.get("io_test") == Some(&Value::Text("mutex performance".to_owned())) {
            Some("mutex")
        } else {
            self.test_by_events()
        }
    }

    /// Tells `threads` and `mutex` apart by the events of a thread: one for `mutex`.
    /// Since 1.0 neither says what it is, only how many threads it has.
    fn test_by_events(&self) -> Option<&'static str> {
        let is_bare = self.thread_count().is_some()
            && self.conditions.keys().all(|key| ["threads", "rate"].contains(&key.as_str()));
        let has_version_1 = self.figures.keys().any(|(section, _)| section == LATENCY);
        let mean = self.events_of_thread()?;
        (is_bare && has_version_1).then_some(if mean == 1.0 { "mutex" } else { "threads" })
    }

    /// Writes the statements of each kind in a transaction: they tell the scripts apart, which are not named.
    /// A `DELETE` or `UPDATE` that met no row is counted as another statement, so that writes and others are
    /// distinguished only where both are whole.
    fn statement_kinds(&self) -> Option<String> {
        let transactions = self.figure_of(&SQLS, "transactions").filter(|count| *count > 0.0)?;
        // A transaction that an ignored error ended had some of its statements.
        let ended = transactions + self.figure_of(&SQLS, "ignored errors").unwrap_or(0.0);
        let of = |name| {
            let count = self.figure_of(&SQLS, name)?;
            let (least, most) = (count / ended, count / transactions);
            Some(if ended > transactions && most.floor() >= least { most.floor() } else { most })
        };
        let (reads, writes, others) = (of("read")?, of("write")?, of("other")?);
        Some(if is_whole(writes) && is_whole(others) {
            format!("{} read, {} write, {} other", count_text(reads), count_text(writes), count_text(others))
        } else {
            format!("{} read, {} write or other", count_text(reads), count_text(writes + others))
        })
    }

    /// Makes the result's keys: the run's conditions, and the threads and statements that its figures tell.
    fn result_keys(&self) -> Point {
        let mut keys = self.conditions.clone();
        if let (None, Some(threads)) = (self.thread_count(), self.threads_by_events()) {
            keys.insert("threads".to_owned(), Value::Int(threads));
        }
        if let Some(statements) = self.statement_kinds() {
            keys.insert("statements".to_owned(), Value::Text(statements));
        }
        keys
    }
}

/// Writes a count per transaction: a whole number, else to the next half.
fn count_text(count: f64) -> String {
    if is_whole(count) { count.round().to_string() } else { ((count * 2.0).round() / 2.0).to_string() }
}

/// Tests whether a count per transaction is a whole number but for its fraction of retries.
fn is_whole(count: f64) -> bool {
    (count - count.round()).abs() <= 0.25
}

/// Sysbench prints a percentile as the edge of one of its 1,024 buckets from 0.001 to 100,000 ms: each is a factor of 1.0182.
const BUCKET: f64 = 0.0182;

/// It prints rates and milliseconds as `2.00`.
const DECIMALS: u32 = 2;

/// The benchmark of a run that does not show which test it is of.
const UNNAMED: &str = "sysbench";
const LATENCY: &str = "Latency (ms)";
const GENERAL: &str = "General statistics";
const SQL: &str = "SQL statistics";
/// Heading of versions 0.4 and 0.5.
const SQL_OLD: &str = "OLTP test statistics";
/// Heading of version 0.4.
const EXECUTION_OLD: &str = "Test execution summary";
const SQLS: [&str; 2] = [SQL, SQL_OLD];
const TOTALS: [&str; 2] = [GENERAL, EXECUTION_OLD];
/// Sections with latencies: 0.5 prints them among the general ones.
const LATENCIES: [&str; 3] = [LATENCY, GENERAL, EXECUTION_OLD];

/// Parses the number at the beginning of a text.
fn first_number(text: &str) -> Option<f64> {
    leading_number(text.trim()).map(|(number, _)| number)
}

/// Parses the seconds since the start of a line of progress, `[ 1s ] thds: 2 tps: 122.85 …`.
/// 0.5 prints `[  10s] threads: 64, tps: …`.
fn progress_s(line: &str) -> Option<f64> {
    let (at, _) = line.strip_prefix('[')?.split_once(']')?;
    parse_number(at.trim().strip_suffix('s')?)
}

/// Tests whether a line is progress of `sysbench.hooks.report_csv`: ten numbers with commas.
/// `10,16,390.99,14969.79,9086.87,5100.93,781.99,86.00,2.00,0.00`.
fn is_csv_progress(line: &str) -> bool {
    line.split(',').count() == 10 && line.split(',').all(|field| parse_number(field).is_some())
}

/// Parses a bin of the histogram, `0.826 |** 2`: its latency and count.
fn parse_bin(line: &str) -> Option<(f64, u64)> {
    let (value, rest) = line.split_once('|')?;
    let count = rest.trim_start_matches('*').trim();
    Some((parse_number(value.trim())?, count.parse().ok()?))
}

type Figures = Vec<((String, String), String)>;

/// Parses the figures of a line outside of sections: `5431.36 MiB transferred (5425.58 MiB/sec)`.
/// Also `Total operations: 5561708 (…)`, and what 0.4 prints of files: `Read 93.75Mb  Written 62.5Mb  Total transferred
/// 156.25Mb
/// (3.7156Mb/sec)`, `237.80 Requests/sec executed`.
fn old_totals(line: &str) -> Option<Figures> {
    for unit in [" MiB transferred", " MB transferred"] {
        if let Some((amount, rest)) = line.split_once(unit) {
            return Some(vec![figure_entry("Memory", "transferred", &format!("{amount}{rest}"))]);
        }
    }
    if line.starts_with("Read ")
        && let Some((_, total)) = line.split_once("Total transferred ")
    {
        return Some(vec![figure_entry("File operations", "transferred", total)]);
    }
    if line.ends_with(" Requests/sec executed") {
        // Events over the total time, which stand below it.
        return Some(Vec::new());
    }
    let operations = line.strip_prefix("Total operations:").or_else(|| line.strip_prefix("Operations performed:"))?;
    let section = if operations.contains(" Read,") { "File operations" } else { "Memory" };
    Some(vec![figure_entry(section, "operations", operations.trim())])
}

/// Makes an entry of the table of figures.
fn figure_entry(section: &str, name: &str, value: &str) -> ((String, String), String) {
    ((section.to_owned(), name.to_owned()), value.to_owned())
}

pub const READER: Reader = Reader {
    name: "sysbench",
    about: "What sysbench 0.4, 0.5, 1.0 and 1.1 print",
    recognises: |text| {
        text.lines().any(|line| version_of(line.trim()).is_some())
            || (has_line(text, &["General statistics:", "Test execution summary:", "Throughput:"])
                && has_line(text, &["total number of events:"]))
    },
    names: Names::File,
    reads: Reads::Text(|input| {
        let output = read_output(input.text.as_bytes());
        let imported = import_output(&output, input.system, input.source);
        Ok(Found { imported, not_understood: output.not_understood })
    }),
};

/// Makes the results of an output; runs of the same test with the same conditions are repetitions.
pub fn import_output(output: &SysbenchOutput, system: &str, source: &str) -> Imported {
    let runs: Vec<&SysbenchRun> =
        output.runs.iter().filter(|run| run.rate_per_s().is_some() || run.failure_reason().is_some()).collect();
    let unknown =
        ["the script and its options", "the server", "the size of the tables", "the distribution of the keys"];
    let mut imported = Imported::new(READER.name, source, unknown);
    imported.version = versions::distinct_versions(runs.iter().map(|run| run.version.as_deref()));
    let mut facts = Facts::default();
    facts.record_passing(PRINTED_DECIMALS, DECIMALS.to_string());
    // Percentiles before 1.0 come from 100,000 buckets, too narrow to matter.
    if !imported.version.as_ref().is_some_and(|version| version.starts_with("0.")) {
        facts.record_passing(PERCENTILE_BUCKET, BUCKET.to_string());
    }
    imported.facts.insert(system.to_owned(), facts);
    imported.results =
        runs.iter().map(|run| ImportedResult { version: run.version.clone(), ..make_result(run, system) }).collect();
    for (number, result) in (1..).zip(&mut imported.results).filter(|(_, result)| result.benchmark == UNNAMED) {
        // They may be of different tests.
        result.keys.insert("output".to_owned(), Value::Int(number));
    }
    if let Some(script) = script_named(source) {
        let of_oltp = imported.results.iter_mut().filter(|result| result.benchmark == "oltp");
        of_oltp.for_each(|result| drop(result.keys.insert("script".to_owned(), Value::Text(script.to_owned()))));
    }
    if runs.len() < output.runs.len() {
        let others = output.runs.len() - runs.len();
        let note = format!("{others} of {} calls of sysbench were no run, and are left out", output.runs.len());
        imported.notes.push(note);
    }
    imported.note_not_understood(&output.not_understood);
    imported.note_failed_results();
    imported
}

/// Finds the script of sysbench that a file is named after: its output does not name it.
fn script_named(source: &str) -> Option<&'static str> {
    /// Names from <https://github.com/akopytov/sysbench/tree/master/src/lua>, longer ones first.
    const SCRIPTS: [&str; 11] = [
        "oltp_update_non_index",
        "select_random_points",
        "select_random_ranges",
        "oltp_point_select",
        "oltp_update_index",
        "oltp_read_write",
        "oltp_write_only",
        "oltp_read_only",
        "oltp_delete",
        "oltp_insert",
        "bulk_insert",
    ];
    let name = source.rsplit(['/', '\\']).next().unwrap_or(source).to_lowercase().replace('-', "_");
    SCRIPTS.into_iter().find(|script| name.contains(script))
}

/// Makes the result of a run, failed if the output gives a reason.
fn make_result(run: &SysbenchRun, system: &str) -> ImportedResult {
    let failure = run.failure_reason();
    let test = run.test_name();
    let mut result = match failure.clone() {
        Some(reason) => ImportedResult::make_failed(system, UNKNOWN_BENCHMARK, reason),
        None => ImportedResult::new(system, test.unwrap_or(UNNAMED)),
    };
    result.keys = run.result_keys();
    if failure.is_some() {
        return result;
    }
    result.elapsed_s = run.counted_s();
    result.notes.extend(run.remarks.iter().map(|remark| format!("sysbench said: {remark}")));
    if let Some(at_s) = run.checkpoints_s.last() {
        let note =
            format!("sysbench began its counters anew at {at_s} s (--report-checkpoints): these are of what followed");
        result.notes.push(note);
    }
    result.measurements = measurements_of(run, test == Some("memory"));
    let mut durations = SampledDurations::default();
    for (ms, count) in run.histogram.iter().filter(|(ms, _)| *ms >= 0.0) {
        // Saturates: a latency of centuries is none.
        durations.add_many_ns((ms * 1e6) as u64, *count);
    }
    result.series.extend(durations.make_series("sysbench", run.counted_s().unwrap_or(0.0), 0));
    result
}

/// Makes the measurements of a run that its figures give.
fn measurements_of(run: &SysbenchRun, is_memory: bool) -> Vec<Measurement> {
    let mut found = Vec::new();
    let mut push = |id: &str, unit: &str, direction, role, value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        let reading = value.map(Reading::Value);
        found.extend(reading.map(|reading| Measurement::new(id, unit, direction, role, reading)));
    };
    let unit = if run.per_second_of(&SQLS, "transactions").is_some() { "tx/s" } else { "events/s" };
    // Up to 0.4 each operation on memory is an event, later each block is.
    let operations = if is_memory { run.per_second("Memory", "operations") } else { None };
    let events = run.rate_per_s().or(operations);
    push("throughput", unit, Direction::Higher, Role::Primary, events);
    push("queries", "queries/s", Direction::Higher, Role::Secondary, run.per_second(SQL, "queries"));
    // An ignored error restarts its event with the time going on; any other ends sysbench. So everything counted succeeded, and what
    // failed are tries.
    let ignored = run.figure_of(&SQLS, "ignored errors").unwrap_or(0.0);
    let of_events = run.event_count().map(|events| 100.0 * ignored / (ignored + events));
    let failed = if ignored > 0.0 { of_events } else { Some(0.0) };
    push(FAILED_SHARE, "%", Direction::Lower, Role::Primary, failed);
    push("errors", "", Direction::Lower, Role::Diagnostic, run.figure_of(&SQLS, "ignored errors"));
    push("errors_deadlock", "", Direction::Lower, Role::Diagnostic, run.figure_in_section(SQL_OLD, "deadlocks"));
    push("reconnects", "", Direction::Lower, Role::Diagnostic, run.figure_of(&SQLS, "reconnects"));
    for (id, name, newer) in
        [("reads", "reads/s", "read"), ("writes", "writes/s", "write"), ("fsyncs", "fsyncs/s", "fsync")]
    {
        let rate =
            run.figure_in_section("File operations", name).or_else(|| run.file_operations(newer).map(|(rate, _)| rate));
        push(id, "io/s", Direction::Higher, Role::Secondary, rate);
    }
    for (id, name, newer) in [("bandwidth_read", "read, MiB/s", "read"), ("bandwidth_write", "written, MiB/s", "write")]
    {
        let rate = run.figure_in_section("Throughput", name).or_else(|| run.file_operations(newer)?.1);
        push(id, "MiB/s", Direction::Higher, Role::Secondary, rate);
    }
    let moved = run.per_second_of(&["Memory", "File operations"], "transferred");
    push("bandwidth", "MiB/s", Direction::Higher, Role::Secondary, moved);
    for (id, name) in [("response_mean", "avg"), ("response_min", "min"), ("response_max", "max")] {
        push(id, "us", Direction::Lower, Role::Secondary, run.figure_of(&LATENCIES, name).map(us_of_ms));
    }
    if let Some((rank, ms)) = run.percentile_ms() {
        let id = format!("response_p{}", rank.to_string().replace('.', ""));
        found.push(latency_measurement(&id, Role::Primary, Reading::Value(us_of_ms(ms))));
    }
    found
}
