//! SQLIO's runs as results.

use model::{Direction, Measurement, Reading, Role, Value};

use super::{Pattern, Report, SqlioOutput, SqlioRun};
use crate::imported::UNKNOWN_BENCHMARK;
use crate::reader::{Found, Names, Reader, Reads, has_line};
use crate::{Imported, ImportedResult, places};

/// For runs without a group.
const BENCHMARK: &str = "sqlio";
/// Why a run of SQLIO has no result.
const NO_FIGURES: &str = "it printed no figures: SQLIO was stopped, or could not go on";
/// SQLIO's own remark.
const WHOLE_MS: &str = "latencies are whole milliseconds, floored: 0 is anything below 1 ms";

/// Names a report's group as published tables do, `random_R_8KB`; `None` when a part is missing.
pub fn group_name(report: &Report) -> Option<String> {
    Some(format!("{}_{}_{}KB", report.pattern?, report.op?.letter(), report.block_kb?))
}

/// Computes the mean latency by Little's law for a closed loop: `1000 · threads · depth · files / IOs`.
/// J. D. C. Little, 1961. Unlike the printed mean it is not floored.
pub fn little_latency_ms(report: &Report) -> Option<f64> {
    let ios = report.ios_per_s?.to_f64();
    // Without -o a thread has one I/O in flight; with it the depth applies to each file.
    let per_thread = report.outstanding.map_or(1, |depth| u64::from(depth) * report.files.len().max(1) as u64);
    // With a parameter file each thread works on its line's file.
    let per_thread = if report.pools.is_empty() { per_thread } else { u64::from(report.outstanding.unwrap_or(1)) };
    (ios > 0.0).then(|| 1000.0 * f64::from(report.threads.unwrap_or(1)) * per_thread as f64 / ios)
}

pub const READER: Reader = Reader {
    name: "sqlio",
    about: "Output of SQLIO, many runs in a file",
    recognises: |text| text.contains("sqlio v1.") || has_line(text, &["IOs/sec:"]),
    names: Names::File,
    reads: Reads::Text(|input| {
        let output = super::read_output(input.text.as_bytes());
        let imported = import_output(&output, input.system, input.source);
        Ok(Found { imported, not_understood: output.not_understood })
    }),
};

/// Makes the results of an output; runs with the same parameters are repetitions.
pub fn import_output(output: &SqlioOutput, system: &str, source: &str) -> Imported {
    let mut unknown = vec![
        "the machine and its disks",
        "whether the device or a cache answered",
        "what the file held",
        "the steadiness within a run",
        "the pauses between runs",
    ];
    if output.runs.iter().any(|run| run.report.buffering.is_none()) {
        unknown.push("the cache mode where no line tells it");
    }
    let mut imported = Imported::new(READER.name, source, unknown);
    imported.version = output.runs.iter().find_map(|run| run.report.version.clone());
    imported.results = output.runs.iter().map(|run| make_result(run, system)).collect();
    imported.note_not_understood(&output.not_understood);
    if output.runs.iter().any(|run| run.report.latency.is_some()) {
        imported.notes.push(WHOLE_MS.to_owned());
    }
    imported.note_failed_results();
    imported
}

/// Makes the result of a run, failed where the output has no figures.
fn make_result(run: &SqlioRun, system: &str) -> ImportedResult {
    let report = &run.report;
    // A group is a benchmark, as in published tables; its depths are points.
    let group = group_name(report).unwrap_or_else(|| BENCHMARK.to_owned());
    let is_whole = report.ios_per_s.is_some() && report.op.is_some();
    // The sizes are the last that SQLIO prints of what it is about to do.
    let is_complete = is_whole || (group_name(report).is_some() && !report.sizes.is_empty());
    let mut result = match (is_whole, is_complete) {
        (true, _) => ImportedResult::new(system, &group),
        (false, true) => ImportedResult::make_failed(system, &group, NO_FIGURES.to_owned()),
        (false, false) => ImportedResult::make_failed(system, UNKNOWN_BENCHMARK, NO_FIGURES.to_owned()),
    };
    let mut key = |name: &str, value: Value| result.keys.insert(name.to_owned(), value);
    if let Some(op) = report.op {
        key("op", Value::Text(op.as_str().to_owned()));
    }
    if let Some(pattern) = report.pattern {
        key("pattern", Value::Text(pattern.to_string()));
    }
    let mut number = |name: &str, value: Option<u64>| {
        if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
            key(name, Value::Int(value));
        }
    };
    number("block_kb", report.block_kb.map(u64::from));
    number("threads", report.threads.map(u64::from));
    // Without -o one I/O is outstanding.
    number("depth", report.outstanding.map(u64::from).or(is_complete.then_some(1)));
    number("span_mb", Some(report.sizes.iter().map(|size| size.mb).fold(0, u64::saturating_add)).filter(|mb| *mb > 0));
    if let Some(buffering) = report.buffering {
        key("cache", Value::Text(buffering.as_str().to_owned()));
    }
    places::put_place(&mut result.places, "file", Some(&report.files.join(", ")));
    if !is_whole {
        return result;
    }
    // SQLIO prints only the planned length.
    result.elapsed_s = report.seconds.map(f64::from);
    result.measurements = measurements_of(report);
    if report.outstanding.is_none() {
        result.notes.push("without -o: each I/O is waited for".to_owned());
    }
    result.notes.extend(run.label.iter().map(|label| format!("group {label:?}")));
    result
}

/// Makes the measurements of a report: rates, latencies, and the unknown share of failures.
fn measurements_of(report: &Report) -> Vec<Measurement> {
    let random = !matches!(report.pattern, Some(Pattern::Sequential));
    // Published tables judge random I/O by I/Os a second, sequential by MB a second.
    let (iops, mbs) = if random { (Role::Primary, Role::Secondary) } else { (Role::Secondary, Role::Primary) };
    let mut all = vec![
        Measurement::new(
            "iops",
            "io/s",
            Direction::Higher,
            iops,
            reading_or(report.ios_per_s.map(super::Hundredths::to_f64), "it has no line IOs/sec"),
        ),
        Measurement::new(
            "bandwidth",
            "MiB/s",
            Direction::Higher,
            mbs,
            reading_or(report.mbs_per_s.map(super::Hundredths::to_f64), "it has no line MBs/sec"),
        ),
    ];
    let mut latency = |id: &str, role, value: Option<f64>| {
        let reading = reading_or(value, "latencies were not timed (-L)");
        all.push(Measurement::new(id, "ms", Direction::Lower, role, reading));
    };
    latency("latency_little", Role::Secondary, little_latency_ms(report));
    latency("latency_min", Role::Diagnostic, report.latency.map(|l| l.min as f64));
    latency("latency_mean", Role::Diagnostic, report.latency.map(|l| l.avg as f64));
    latency("latency_max", Role::Diagnostic, report.latency.map(|l| l.max as f64));
    let why = "SQLIO does not tell how much failed".to_owned();
    all.push(Measurement::failed_share(Reading::unavailable(why)));
    all
}

/// Makes a reading of a value, or of the reason why there is none.
fn reading_or(value: Option<f64>, why: &str) -> Reading {
    match value {
        Some(value) => Reading::Value(value),
        None => Reading::unavailable(why),
    }
}
