//! sysbench 1.0: what it prints, with `--histogram` and `--report-interval`.

use std::collections::BTreeMap;

use model::facts::PERCENTILE_BUCKET;
use model::metric::FAILED_SHARE;
use model::{Direction, Facts, Measurement, Reading, Role, Value};

use crate::durations::{SampledDurations, latency, us_of_ms};
use crate::imported::UNTOLD;
use crate::text::{NotUnderstood, decode, leading_number, number, numbered, said};
use crate::{Imported, ImportedResult, Tool};

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
    /// Printed before the start, such as `Number of threads`; values as written.
    pub parameters: BTreeMap<String, String>,
    /// By section and name, such as `("General statistics", "total time")`; values as written.
    pub figures: BTreeMap<(String, String), String>,
    /// Seconds at each report of `--report-checkpoints`. Each report, the last one too, covers only the time since the
    /// one before.
    pub checkpoints_s: Vec<f64>,
    pub histogram: Vec<(f64, u64)>,
    /// What sysbench said first of the error that ended it.
    pub fatal: Option<String>,
}

const SENTENCES: &[&str] = &[
    "Running the test with following options",
    "Running memory speed test with the following options",
    "Initializing random number generator",
    "Initializing worker threads",
    "Threads started!",
    "Latency histogram (values are in",
    "Report checkpoint(s) at",
    "Report intermediate results every",
    "Periodic FSYNC",
    "Calling fsync",
    "Using ",
    "Doing ",
    "Additional request validation",
    "WARNING:",
];

/// Unrecognised lines are listed, never an error.
pub fn read(bytes: &[u8]) -> SysbenchOutput {
    let mut output = SysbenchOutput::default();
    let mut section = String::new();
    for (number, line) in numbered(&decode(bytes)) {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix("sysbench ") {
            let version = rest.split(' ').next().map(str::to_owned);
            output.runs.push(SysbenchRun { version, ..SysbenchRun::default() });
            section.clear();
            continue;
        }
        let taken = output.runs.last_mut().is_some_and(|run| run.take(line, trimmed, &mut section));
        if !taken {
            output.not_understood.push(NotUnderstood::new(number, line));
        }
    }
    output
}

impl SysbenchRun {
    fn take(&mut self, line: &str, trimmed: &str, section: &mut String) -> bool {
        if let Some(fatal) = trimmed.strip_prefix("FATAL:") {
            self.fatal.get_or_insert_with(|| said(fatal));
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
        if let Some(bin) = bin(trimmed) {
            self.histogram.push(bin);
            return true;
        }
        if trimmed.starts_with("value ") && trimmed.ends_with(" count") {
            return true;
        }
        if SENTENCES.iter().any(|sentence| trimmed.starts_with(sentence)) {
            return true;
        }
        let indented = line.starts_with([' ', '\t']);
        if let Some(name) = trimmed.strip_suffix(':') {
            if indented && section.is_empty() {
                return false;
            }
            // `queries performed:` is a heading within a section.
            if !indented {
                name.clone_into(section);
            }
            return true;
        }
        self.take_value(trimmed, section, indented)
    }

    fn take_value(&mut self, trimmed: &str, section: &str, indented: bool) -> bool {
        if let Some((name, value)) = trimmed.split_once(':') {
            let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
            if section.is_empty() || !indented {
                self.parameters.insert(name, value);
            } else if self.checkpoints_s.is_empty() {
                self.figures.entry((section.to_owned(), name)).or_insert(value);
            } else {
                self.figures.insert((section.to_owned(), name), value);
            }
            return true;
        }
        // `5431.36 MiB transferred (5425.58 MiB/sec)`, `1 files, 4MiB each`, `4MiB total file size`.
        if let Some((amount, rest)) = trimmed.split_once(" MiB transferred") {
            self.figures.insert(("Memory".to_owned(), "MiB transferred".to_owned()), format!("{amount}{rest}"));
            return true;
        }
        trimmed.starts_with("Block size ") || trimmed.ends_with(" each") || trimmed.ends_with(" total file size")
    }

    pub fn figure(&self, section: &str, name: &str) -> Option<f64> {
        leading(self.figures.get(&(section.to_owned(), name.to_owned()))?)
    }

    /// The number in brackets behind a figure: `926 (461.19 per sec.)`.
    pub fn per_second(&self, section: &str, name: &str) -> Option<f64> {
        let value = self.figures.get(&(section.to_owned(), name.to_owned()))?;
        leading(value.split_once('(')?.1)
    }

    pub fn threads(&self) -> Option<u64> {
        self.parameters.get("Number of threads")?.parse().ok()
    }

    pub fn total_time_s(&self) -> Option<f64> {
        self.figure("General statistics", "total time")
    }

    /// Time that the figures cover: since the last checkpoint.
    pub fn counted_s(&self) -> Option<f64> {
        Some(self.total_time_s()? - self.checkpoints_s.last().unwrap_or(&0.0))
    }

    /// Transactions a second that were asked for.
    pub fn target_rate(&self) -> Option<f64> {
        leading(self.parameters.get("Target transaction rate")?)
    }

    /// Why it has no result, if it was a run at all: `prepare` and `cleanup` print their heading, too.
    pub fn failure(&self) -> Option<String> {
        match &self.fatal {
            Some(fatal) => Some(format!("sysbench ended with an error: {fatal}")),
            None if self.rate().is_none() && self.threads().is_some() => Some("it printed no figures".to_owned()),
            None => None,
        }
    }

    /// Requested rank, and milliseconds.
    pub fn percentile(&self) -> Option<(f64, f64)> {
        self.figures.iter().find_map(|((section, name), value)| {
            let rank = name.strip_suffix(" percentile").filter(|_| section == LATENCY)?;
            Some((leading(rank)?, number(value)?))
        })
    }

    /// Of transactions, else of events.
    pub fn rate(&self) -> Option<f64> {
        self.per_second(SQL, "transactions").or_else(|| {
            let (events, time) = (self.figure("General statistics", "total number of events")?, self.counted_s()?);
            (time > 0.0).then_some(events / time)
        })
    }
}

/// Sysbench prints a percentile as the edge of one of its 1,024 buckets from 0.001 to 100,000 ms: each is a factor of 1.0182.
const BUCKET: f64 = 0.0182;

const LATENCY: &str = "Latency (ms)";
const SQL: &str = "SQL statistics";

fn leading(text: &str) -> Option<f64> {
    leading_number(text.trim()).map(|(number, _)| number)
}

/// Seconds since the start: `[ 1s ] thds: 2 tps: 122.85 …`.
fn progress_s(line: &str) -> Option<f64> {
    let (at, _) = line.strip_prefix('[')?.split_once(']')?;
    number(at.trim().strip_suffix('s')?)
}

/// `0.826 |** 2`.
fn bin(line: &str) -> Option<(f64, u64)> {
    let (value, rest) = line.split_once('|')?;
    let count = rest.trim_start_matches('*').trim();
    Some((number(value.trim())?, count.parse().ok()?))
}

/// Runs with the same number of threads are repetitions.
pub fn import(output: &SysbenchOutput, system: &str, source: &str) -> Imported {
    let is_run = |run: &&SysbenchRun| run.rate().is_some() || run.failure().is_some();
    let runs: Vec<&SysbenchRun> = output.runs.iter().filter(is_run).collect();
    let unknown =
        ["the script and its options", "the server", "the size of the tables", "the distribution of the keys"];
    let mut imported = Imported::new(Tool::Sysbench, source, unknown);
    imported.version = runs.iter().find_map(|run| run.version.clone());
    // Percentiles before 1.0 come from 100,000 buckets, too narrow to matter.
    if !imported.version.as_ref().is_some_and(|version| version.starts_with("0.")) {
        let mut facts = Facts::default();
        facts.passing(PERCENTILE_BUCKET, BUCKET.to_string());
        imported.facts.insert(system.to_owned(), facts);
    }
    imported.results = runs.iter().map(|run| result(run, system)).collect();
    if runs.len() < output.runs.len() {
        let others = output.runs.len() - runs.len();
        let note = format!("{others} of {} calls of sysbench were no run, and are left out", output.runs.len());
        imported.notes.push(note);
    }
    imported.note_not_understood(&output.not_understood);
    imported.note_failed();
    imported
}

fn result(run: &SysbenchRun, system: &str) -> ImportedResult {
    let failure = run.failure();
    let mut result = match failure.clone() {
        Some(reason) if run.threads().is_none() => return ImportedResult::failed(system, UNTOLD, reason),
        Some(reason) => ImportedResult::failed(system, "sysbench", reason),
        None => ImportedResult::new(system, "sysbench"),
    };
    if let Some(threads) = run.threads().and_then(|threads| i64::try_from(threads).ok()) {
        result.keys.insert("threads".to_owned(), Value::Int(threads));
    }
    if let Some(rate) = run.target_rate() {
        result.keys.insert("rate".to_owned(), Value::Float(rate));
    }
    if failure.is_some() {
        return result;
    }
    result.elapsed_s = run.counted_s();
    let mut push = |id: &str, unit: &str, direction, role, value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        let reading = value.map(Reading::Value);
        result.measurements.extend(reading.map(|reading| Measurement::new(id, unit, direction, role, reading)));
    };
    if let Some(at_s) = run.checkpoints_s.last() {
        let note =
            format!("sysbench began its counters anew at {at_s} s (--report-checkpoints): these are of what followed");
        result.notes.push(note);
    }
    let unit = if run.per_second(SQL, "transactions").is_some() { "tx/s" } else { "events/s" };
    push("throughput", unit, Direction::Higher, Role::Primary, run.rate());
    push("queries", "queries/s", Direction::Higher, Role::Secondary, run.per_second(SQL, "queries"));
    // An ignored error restarts its event with the time going on; any other ends sysbench. So everything counted
    // succeeded.
    push(FAILED_SHARE, "%", Direction::Lower, Role::Primary, Some(0.0));
    push("errors", "", Direction::Lower, Role::Diagnostic, run.figure(SQL, "ignored errors"));
    push("reconnects", "", Direction::Lower, Role::Diagnostic, run.figure(SQL, "reconnects"));
    push("reads", "io/s", Direction::Higher, Role::Secondary, run.figure("File operations", "reads/s"));
    push("writes", "io/s", Direction::Higher, Role::Secondary, run.figure("File operations", "writes/s"));
    push("bandwidth_read", "MiB/s", Direction::Higher, Role::Secondary, run.figure("Throughput", "read, MiB/s"));
    push("bandwidth_write", "MiB/s", Direction::Higher, Role::Secondary, run.figure("Throughput", "written, MiB/s"));
    push("bandwidth", "MiB/s", Direction::Higher, Role::Secondary, run.per_second("Memory", "MiB transferred"));
    for (id, name) in [("response_mean", "avg"), ("response_min", "min"), ("response_max", "max")] {
        push(id, "us", Direction::Lower, Role::Secondary, run.figure(LATENCY, name).map(us_of_ms));
    }
    if let Some((rank, ms)) = run.percentile() {
        let id = format!("response_p{}", rank.to_string().replace('.', ""));
        result.measurements.push(latency(&id, Role::Primary, Reading::Value(us_of_ms(ms))));
    }
    let mut durations = SampledDurations::default();
    for (ms, count) in run.histogram.iter().filter(|(ms, _)| *ms >= 0.0) {
        // Saturates: a latency of centuries is none.
        durations.add_many_ns((ms * 1e6) as u64, *count);
    }
    result.series.extend(durations.series("sysbench", run.counted_s().unwrap_or(0.0), 0));
    result
}
