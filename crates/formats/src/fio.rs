//! fio 2 and 3: `--output-format=json` and `json+`, what its clients report, its normal text and its terse lines.
//!
//! fio may write text before its JSON, even with `--output=FILE`, and appends on a second run: all documents of a file
//! are read, and the text around them is kept.

mod calls;
mod definitions;
mod keys;
mod rates;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use model::facts::PERCENTILE_BUCKET;
use model::{Direction, Facts, Measurement, NoValue, Reading, Role};
use serde_json::Value as Json;
use stats::NoQuantile;

use self::keys::{is_rate_limited, places_of, result_keys};
use self::rates::mean_block_size;
use crate::durations::{SampledDurations, latency_measurement};
use crate::imported::OF_SUCCESSES;
use crate::limited::rename_limited;
use crate::reader::{Found, Names, Reader, Reads, is_json_with};
use crate::readers::figures::lines_outside;
use crate::size;
use crate::text::{NotUnderstood, decode, shorten, shorten_message};
use crate::{FormatError, Imported, ImportedResult};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioDocument {
    /// From 1.
    pub line: u64,
    /// `fio-3.33`.
    pub version: Option<String>,
    /// At its end.
    pub timestamp_ms: Option<u64>,
    /// Text before it, trimmed.
    pub note: String,
    pub global: BTreeMap<String, String>,
    /// The jobs; `group_reporting` makes one of each group.
    pub jobs: Vec<FioJob>,
    /// The sum of all clients.
    pub sum: Option<FioJob>,
    /// The text behind it, if none follows; empty for none.
    pub behind: String,
    /// Clients of which it has results, if `--client` named any.
    pub clients: usize,
    /// The block devices whose use it lists.
    pub devices: BTreeSet<String>,
    /// True if the lines that begin a call of fio stand in front of it: of text alone.
    pub is_announced: bool,
    pub is_terse: bool,
    /// True if nothing shows whether it is of the same call as the one in front of it.
    pub is_doubtful: bool,
}

impl FioDocument {
    /// Finds the line of fio on a job that a signal ended, which has no error in the JSON.
    fn signal_line(&self) -> Option<&str> {
        self.note.lines().find(|line| line.starts_with("fio: ") && line.contains(", got signal="))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioJob {
    pub name: String,
    pub group: u64,
    /// The process or thread, as text has it.
    pub pid: Option<u64>,
    /// 0, or the errno that ended it.
    pub error: i64,
    /// Counted with `continue_on_error`, all directions together.
    pub failed: u64,
    /// The errno of the first failed I/O under `continue_on_error`, which fio also prints as the job's.
    pub first_error: i64,
    /// Whole seconds since fio started, plus one.
    pub elapsed_s: u64,
    pub options: BTreeMap<String, String>,
    pub user_cpu_percent: Option<f64>,
    pub system_cpu_percent: Option<f64>,
    pub read: Option<Direct>,
    pub write: Option<Direct>,
    pub trim: Option<Direct>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direct {
    /// Issued, failed ones included.
    pub ios: u64,
    pub iops: Option<f64>,
    pub bytes_per_s: Option<f64>,
    pub runtime_ms: Option<f64>,
    /// From submission to completion.
    pub completion: Option<FioLatency>,
    pub total: Option<FioLatency>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioLatency {
    pub samples: u64,
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: f64,
    /// The percentiles by rank: 99.0 for the 99th.
    pub percentiles: Vec<(f64, f64)>,
    /// The bins of `json+`: value in nanoseconds, and samples.
    pub bins: Vec<(u64, u64)>,
}

impl FioLatency {
    /// The percentile of a rank, if fio printed it.
    fn percentile_at(&self, rank: f64) -> Option<f64> {
        self.percentiles.iter().find(|(known, _)| (known - rank).abs() < 1e-6).map(|(_, ns)| *ns)
    }
}

/// fio continues after EIO, and EILSEQ of Linux and of macOS.
const GOES_ON_AFTER: [i64; 3] = [5, 84, 92];

impl FioJob {
    /// Whether an error ended the job; one that fio continued after is in the same field.
    fn was_ended(&self) -> bool {
        let went_on = self.failed > 0 && self.error == self.first_error && GOES_ON_AFTER.contains(&self.error);
        self.error != 0 && !went_on
    }

    /// What the job read, wrote and trimmed.
    fn directions(&self) -> impl Iterator<Item = &Direct> {
        [&self.read, &self.write, &self.trim].into_iter().flatten()
    }

    /// Gives the mean block size of each direction.
    fn mean_block_sizes(&self) -> impl Iterator<Item = Option<String>> {
        self.directions().map(mean_block_size)
    }
}

impl Direct {
    /// Counts the I/Os without latency: failed ones, or all where fio did not measure it.
    fn without_latency(&self) -> Option<u64> {
        self.ios.checked_sub(self.completion.as_ref().map_or(0, |latency| latency.samples))
    }
}

/// Reads all of fio's JSON documents in a text, with what stands around them; fails without any.
pub fn read_documents(bytes: &[u8]) -> Result<Vec<FioDocument>, FormatError> {
    let text = decode(bytes);
    let mut documents = Vec::new();
    let (mut from, mut line) = (0, 1);
    while let Some(begin) = next_document_start(&text, from) {
        line += count_lines(&text[from..begin]);
        let mut stream = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Json>();
        let json = match stream.next() {
            Some(Ok(json)) => json,
            Some(Err(error)) => return Err(broken_json(line, &error)),
            None => break,
        };
        let length = stream.byte_offset();
        documents.push(read_document(line, text[from..begin].trim(), &json)?);
        from = begin + length.max(1);
        line += count_lines(&text[begin..from]);
    }
    if let Some(last) = documents.last_mut() {
        text[from..].trim().clone_into(&mut last.behind);
    }
    if documents.is_empty() {
        let error = FormatError::of_whole("there is no JSON document of fio in it");
        return Err(error.with_hint("run fio with --output-format=json"));
    }
    Ok(documents)
}

/// Number of line ends in a text.
fn count_lines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Finds the next `{` at the start of a line.
fn next_document_start(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    if rest.starts_with('{') {
        return Some(from);
    }
    rest.find("\n{").map(|at| from + at + 1)
}

/// Makes the error for JSON that cannot be read, at its line in the file.
fn broken_json(line: u64, error: &serde_json::Error) -> FormatError {
    let at = line + (error.line() as u64).max(1) - 1;
    if error.is_eof() {
        return FormatError::at_line(at, "the JSON ends in the middle")
            .with_hint("fio was killed, or the file was cut");
    }
    FormatError::at_column(at, error.column(), format!("this is no JSON: {error}"))
}

/// Reads the jobs of a JSON document; `note` is what stood before it.
fn read_document(line: u64, note: &str, json: &Json) -> Result<FioDocument, FormatError> {
    let Some(jobs) =
        json.get("jobs").and_then(Json::as_array).or_else(|| json.get("client_stats").and_then(Json::as_array))
    else {
        return Err(FormatError::at_line(line, "the JSON has no \"jobs\": it is not fio's"));
    };
    let version = json.get("fio version").and_then(Json::as_str);
    let clients: BTreeSet<(&str, u64)> = jobs.iter().filter_map(client_of_job).collect();
    let mut jobs: Vec<FioJob> = jobs.iter().map(read_job).collect();
    let sum = take_sum(&mut jobs);
    Ok(FioDocument {
        line,
        version: version.map(str::to_owned),
        timestamp_ms: json.get("timestamp_ms").and_then(Json::as_u64),
        note: note.to_owned(),
        global: job_options(json.get("global options")),
        jobs,
        sum,
        clients: clients.len(),
        devices: device_names(json.get("disk_util")),
        ..FioDocument::default()
    })
}

/// Takes out the sum of all clients, which stands behind them.
fn take_sum(jobs: &mut Vec<FioJob>) -> Option<FioJob> {
    if jobs.len() > 1 { jobs.pop_if(|job| job.name == "All clients") } else { None }
}

/// Gives the host and port of the client that ran a job.
fn client_of_job(job: &Json) -> Option<(&str, u64)> {
    Some((job.get("hostname")?.as_str()?, job.get("port").and_then(Json::as_u64).unwrap_or(0)))
}

/// Names the disks whose use fio prints.
fn device_names(json: Option<&Json>) -> BTreeSet<String> {
    let disks = json.and_then(Json::as_array).into_iter().flatten();
    disks.filter_map(|disk| Some(disk.get("name")?.as_str()?.to_owned())).collect()
}

/// Reads the options of a job, or those of all jobs.
fn job_options(json: Option<&Json>) -> BTreeMap<String, String> {
    let pairs = json.and_then(Json::as_object).into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))).collect()
}

/// Reads a job's figures in each direction.
fn read_job(json: &Json) -> FioJob {
    let failed = json.get("total_err").and_then(Json::as_u64).unwrap_or(0);
    FioJob {
        name: json.get("jobname").and_then(Json::as_str).unwrap_or_default().to_owned(),
        group: json.get("groupid").and_then(Json::as_u64).unwrap_or(0),
        pid: None,
        error: json.get("error").and_then(Json::as_i64).unwrap_or(0),
        failed,
        first_error: json.get("first_error").and_then(Json::as_i64).unwrap_or(0),
        elapsed_s: json.get("elapsed").and_then(Json::as_u64).unwrap_or(0),
        options: job_options(json.get("job options")),
        user_cpu_percent: json.get("usr_cpu").and_then(Json::as_f64),
        system_cpu_percent: json.get("sys_cpu").and_then(Json::as_f64),
        read: json.get("read").and_then(|json| read_direction(json, failed)),
        write: json.get("write").and_then(|json| read_direction(json, failed)),
        trim: json.get("trim").and_then(|json| read_direction(json, failed)),
    }
}

/// Reads the figures of one direction; `None` without I/Os.
fn read_direction(json: &Json, failed: u64) -> Option<Direct> {
    let ios = json.get("total_ios").and_then(Json::as_u64).filter(|ios| *ios > 0)?;
    // Each I/O that did not fail has a latency.
    let all = (failed == 0).then_some(ios);
    Some(Direct {
        ios,
        iops: number_field(json, "iops"),
        // fio 2 has KiB alone.
        bytes_per_s: number_field(json, "bw_bytes").or_else(|| number_field(json, "bw").map(|kib| kib * 1024.0)),
        runtime_ms: number_field(json, "runtime"),
        completion: latency_named("clat", json, all),
        total: latency_named("lat", json, all),
    })
}

/// Reads a number of a JSON object by its name.
fn number_field(json: &Json, name: &str) -> Option<f64> {
    json.get(name).and_then(Json::as_f64)
}

/// Reads the latency of a name in ns, which version 2 prints in µs, in fields of shorter names.
fn latency_named(name: &str, json: &Json, all: Option<u64>) -> Option<FioLatency> {
    match json.get(format!("{name}_ns")) {
        Some(in_ns) => latency_of(in_ns, all, 1.0),
        None => latency_of(json.get(name)?, all, 1e3),
    }
}

/// Reads a latency and its percentiles and bins; `None` without samples.
/// `all` is their number if fio does not print it, as up to version 3.26.
fn latency_of(json: &Json, all: Option<u64>, unit_ns: f64) -> Option<FioLatency> {
    let samples = match json.get("N") {
        Some(samples) => samples.as_u64(),
        None if number_field(json, "max").is_some_and(|max| max > 0.0) => all,
        None => None,
    };
    let samples = samples.filter(|samples| *samples > 0)?;
    Some(FioLatency {
        samples,
        min_ns: number_field(json, "min")? * unit_ns,
        max_ns: number_field(json, "max")? * unit_ns,
        mean_ns: number_field(json, "mean")? * unit_ns,
        percentiles: object_entries(json, "percentile")
            .filter_map(|(rank, value)| Some((rank.parse().ok()?, value.as_f64()? * unit_ns)))
            .filter(|(rank, _)| *rank > 0.0)
            .collect(),
        bins: object_entries(json, "bins")
            .filter_map(|(ns, samples)| Some((ns.parse().ok()?, samples.as_u64()?)))
            .collect(),
    })
}

/// Lists the entries of an object within an object.
fn object_entries<'j>(json: &'j Json, name: &str) -> impl Iterator<Item = (&'j String, &'j Json)> + use<'j> {
    json.get(name).and_then(Json::as_object).into_iter().flatten()
}

struct Side<'a> {
    name: &'a str,
    jobs: Vec<&'a FioJob>,
}

impl Side<'_> {
    /// What all jobs read, wrote and trimmed.
    fn directions(&self) -> impl Iterator<Item = &Direct> {
        self.jobs.iter().flat_map(|job| job.directions())
    }

    /// Whether a job of the name is a clone of these.
    /// Some versions list the options of the first clone alone: the others have its block size.
    fn has_clone(&self, document: &FioDocument, job: &FioJob) -> bool {
        let Some(first) = self.jobs.first().filter(|first| first.group == job.group) else { return false };
        document.distinguishing_options(first) == document.distinguishing_options(job)
            || (job.options.is_empty() && first.mean_block_sizes().eq(job.mean_block_sizes()))
    }

    /// Counts the I/Os of all jobs that failed.
    fn failed_count(&self) -> u64 {
        self.jobs.iter().map(|job| job.failed).fold(0, u64::saturating_add)
    }

    /// Counts how many of these I/Os failed, if as many have no latency in all directions as failed.
    fn failed_of(&self, these: &[&Direct]) -> Option<u64> {
        match self.failed_count() {
            0 => Some(0),
            failed if self.directions().try_fold(0, plus_failed) == Some(failed) => {
                these.iter().try_fold(0, |sum, direct| plus_failed(sum, direct))
            }
            _ => None,
        }
    }
}

/// Adds a direction's I/Os without latency to a sum; `None` if it has more latencies than I/Os.
fn plus_failed(sum: u64, direct: &Direct) -> Option<u64> {
    Some(sum.saturating_add(direct.without_latency()?))
}

/// Groups a document's jobs into clones: those of one name, group and set of options, whose rates are added.
fn group_clones(document: &FioDocument) -> Vec<Side<'_>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for job in &document.jobs {
        match sides.iter_mut().rev().find(|side| side.name == job.name && side.has_clone(document, job)) {
            Some(side) => side.jobs.push(job),
            None => sides.push(Side { name: &job.name, jobs: vec![job] }),
        }
    }
    sides
}

/// Fio counts times in 64 buckets for each doubling.
const BUCKET: f64 = 1.0 / 64.0;

pub const READER: Reader = Reader {
    name: "fio",
    about: "JSON, text and terse lines of fio 2 and 3",
    recognises: |text| is_fio_json(text) || text::is_text(text) || text.lines().any(text::is_terse),
    names: Names::File,
    reads: Reads::Text(|input| {
        let is_other =
            !is_fio_json(input.text) && (text::is_text(input.text) || input.text.lines().any(text::is_terse));
        let (documents, not_understood) = if is_other {
            text::read_text(input.text)
        } else {
            (read_documents(input.text.as_bytes())?, lines_around(input.text))
        };
        let mut imported = import_documents(&documents, input.system, input.source);
        imported.note_not_understood(&not_understood);
        Ok(Found { imported, not_understood })
    }),
};

/// Tests whether a line is a prompt, a quotation, or words above a result.
fn is_of_mail(line: &str) -> bool {
    line.starts_with(['$', '#', '>']) || line.trim_end().ends_with(':')
}

/// Lists the lines that stand around the documents and are not of fio.
fn lines_around(text: &str) -> Vec<NotUnderstood> {
    let mut lines = lines_outside(text);
    lines.retain(|line| !["fio: ", "fio-", "terse version"].iter().any(|own| line.text.starts_with(own)));
    lines
}

/// Tests whether a text holds fio's JSON.
fn is_fio_json(text: &str) -> bool {
    is_json_with(text, &["fio version"])
}

/// Makes a result for each job and direction of documents.
/// Clones of a job count as one; documents with the same jobs are repetitions, except intermediate ones of one run.
pub fn import_documents(documents: &[FioDocument], system: &str, source: &str) -> Imported {
    let unknown =
        ["the device", "whether the device or a cache answered", "what the file held", "the steadiness within a job"];
    let mut imported = Imported::new(READER.name, source, unknown);
    imported.version = documents.iter().find_map(|document| document.version.as_deref()).map(plain_version);
    let mut facts = Facts::default();
    facts.record_passing(PERCENTILE_BUCKET, BUCKET.to_string());
    imported.facts.insert(system.to_owned(), facts);
    let is_on_the_way = calls::find_intermediate(documents);
    let left_out = is_on_the_way.iter().filter(|is_left_out| **is_left_out).count();
    if left_out > 0 {
        imported
            .notes
            .push(format!("{left_out} documents of --status-interval are left out: the last of a run has all"));
    }
    let kept: Vec<&FioDocument> =
        documents.iter().zip(is_on_the_way).filter(|(_, is_left_out)| !is_left_out).map(|(one, _)| one).collect();
    for document in &kept {
        if let Some(first) = document.note.lines().find(|line| !is_of_mail(line)) {
            imported.notes.push(format!("fio said: {}", shorten_message(first)));
        }
        if let Some(first) = document.behind.lines().find(|line| !is_of_mail(line)) {
            imported.notes.push(format!("fio said behind its last document: {}", shorten_message(first)));
        }
    }
    let mut by_document: Vec<Vec<ImportedResult>> =
        kept.iter().map(|document| results_of_document(document, system)).collect();
    imported.notes.extend(calls::number_unlike_results(&kept, &mut by_document));
    imported.results = by_document.into_iter().flatten().collect();
    if documents.iter().any(|document| document.jobs.iter().any(|job| !document.has_options(job))) {
        imported
            .unknown
            .push("the options of its jobs, such as depth and numjobs (it shows the mean block size alone)".to_owned());
    }
    imported.note_failed_results();
    imported
}

/// Makes the results of all jobs of a document.
fn results_of_document(document: &FioDocument, system: &str) -> Vec<ImportedResult> {
    let mut results = Vec::new();
    for side in group_clones(document) {
        if let Some(reason) = failure_reason(document, &side) {
            results.extend(failed_results(document, &side, &reason, system));
            continue;
        }
        for (op, of) in [("read", read_direction_of as Of), ("write", write_direction_of), ("trim", trim_direction_of)]
        {
            results.extend(make_result(document, &side, op, of, system));
        }
    }
    let began_unix_ms = document.began_unix_ms();
    results.iter_mut().for_each(|result| result.began_unix_ms = began_unix_ms);
    results
}

/// Explains why jobs have no result: an error or a signal ended one of them.
fn failure_reason(document: &FioDocument, side: &Side<'_>) -> Option<String> {
    let ended = side.jobs.iter().find(|job| job.was_ended());
    let by_error = ended.map(|job| format!("job {} ended with error {}", shorten(&job.name), job.error));
    // The line names a process, and the document none: it may have been any.
    by_error.or_else(|| document.signal_line().map(shorten_message))
}

/// Makes failed results of jobs, one for each direction that they were to go or have started.
fn failed_results(document: &FioDocument, side: &Side<'_>, reason: &str, system: &str) -> Vec<ImportedResult> {
    let Some(first) = side.jobs.first() else { return Vec::new() };
    let option = first.options.get("rw").or_else(|| document.global.get("rw")).map_or("read", String::as_str);
    let plan = option.split(':').next().unwrap_or_default();
    let is_mixed = ["rw", "readwrite", "randrw"].contains(&plan);
    let ops: [(&str, Of); 3] =
        [("read", read_direction_of), ("write", write_direction_of), ("trim", trim_direction_of)];
    let ops = ops.into_iter().filter(|(op, of)| {
        plan.contains(op) || (is_mixed && *op != "trim") || side.jobs.iter().any(|job| of(job).is_some())
    });
    ops.map(|(op, _)| ImportedResult {
        keys: result_keys(document, side, first, op),
        places: places_of(document, side),
        ..ImportedResult::make_failed(system, "fio", reason.to_owned())
    })
    .collect()
}

/// Strips fio's version of its name: `3.33` of `fio-3.33`.
fn plain_version(version: &str) -> String {
    version.strip_prefix("fio-").unwrap_or(version).to_owned()
}

type Of = fn(&FioJob) -> Option<&Direct>;

/// What a job read.
fn read_direction_of(job: &FioJob) -> Option<&Direct> {
    job.read.as_ref()
}

/// What a job wrote.
fn write_direction_of(job: &FioJob) -> Option<&Direct> {
    job.write.as_ref()
}

/// What a job trimmed.
fn trim_direction_of(job: &FioJob) -> Option<&Direct> {
    job.trim.as_ref()
}

/// Makes the result of clones in one direction, if they had any I/O there.
fn make_result(document: &FioDocument, side: &Side<'_>, op: &str, of: Of, system: &str) -> Option<ImportedResult> {
    let all: Vec<&Direct> = side.jobs.iter().filter_map(|job| of(job)).collect();
    if all.is_empty() {
        return None;
    }
    let first = side.jobs.first()?;
    let mut result = ImportedResult::new(system, "fio");
    result.keys = result_keys(document, side, first, op);
    result.places = places_of(document, side);
    if !document.has_options(first)
        && let Some(size) = all.first().and_then(|direct| mean_block_size(direct))
    {
        result.keys.insert("mean_bs".to_owned(), size::size_value(&size));
    }
    let longest = all.iter().filter_map(|direct| direct.runtime_ms).max_by(f64::total_cmp);
    result.elapsed_s = longest.map(|ms| ms / 1e3);
    let mut durations = SampledDurations::default();
    let bins = all.iter().filter_map(|direct| direct.completion.as_ref()).flat_map(|latency| &latency.bins);
    bins.for_each(|(ns, samples)| durations.add_many_ns(*ns, *samples));
    let failed = side.failed_of(&all);
    let is_all = side.jobs.len() == document.jobs.len();
    let whole = if is_all { document.sum.as_ref().and_then(of) } else { None };
    result.measurements = measurements_of(&all, whole, &durations, failed);
    if is_rate_limited(document, first, op) {
        rename_limited(&mut result.measurements, &["iops", "bandwidth"]);
    }
    result.measurements.push(failed_share(side, &all, failed));
    result.measurements.extend(cpu_per_io(document, side));
    let series = failed.and_then(|failed| durations.make_series("fio", result.elapsed_s.unwrap_or(0.0), failed));
    result.series.extend(series);
    if all.len() > 1 {
        result.notes.push(format!("{} jobs ran side by side: their rates are added", all.len()));
    }
    Some(result)
}

/// Measures the failed share of these I/Os, or of all directions where the failed direction is unknown.
fn failed_share(side: &Side<'_>, all: &[&Direct], failed: Option<u64>) -> Measurement {
    let (failed, sum) = match failed {
        Some(failed) => (failed, saturating_sum(all.iter().map(|direct| direct.ios))),
        None => (side.failed_count(), saturating_sum(side.directions().map(|direct| direct.ios))),
    };
    Measurement::failed_share(Reading::percent_failed(failed, sum.saturating_sub(failed)))
}

/// Sums numbers, at most to the largest that there is.
fn saturating_sum(directions: impl Iterator<Item = u64>) -> u64 {
    directions.fold(0, u64::saturating_add)
}

/// Measures the CPU time of a job's thread for each I/O, where one thread did them all in one direction.
/// What it did in another direction fio does not tell apart, and of several jobs the shares are a mean.
fn cpu_per_io(document: &FioDocument, side: &Side<'_>) -> Option<Measurement> {
    let [job] = side.jobs.as_slice() else { return None };
    let mut directions = job.directions();
    let (Some(direct), None) = (directions.next(), directions.next()) else { return None };
    let is_alone = job.options.get("numjobs").or(document.global.get("numjobs")).is_none_or(|jobs| jobs == "1");
    if !is_alone {
        return None;
    }
    let share = job.user_cpu_percent? + job.system_cpu_percent?;
    let us = share / 100.0 * direct.runtime_ms? * 1e3 / direct.ios as f64;
    Some(Measurement::new("cpu_per_io", "us", Direction::Lower, Role::Secondary, ns_reading_in_us(us * 1e3)))
}

/// Sums the successful I/Os per second: fio's own figure counts failed ones.
fn iops_reading(all: &[&Direct], failed: Option<u64>) -> Reading {
    let rates: Option<f64> = all
        .iter()
        .map(|direct| {
            let lost = if failed == Some(0) { 0 } else { direct.without_latency()? };
            let share = direct.ios.saturating_sub(lost) as f64 / direct.ios.max(1) as f64;
            direct.iops.map(|iops| if lost == 0 { iops } else { iops * share })
        })
        .sum();
    match rates.filter(|rate| rate.is_finite()) {
        _ if failed.is_none() => {
            Reading::unavailable("fio counts what failed, too, and does not tell of which direction")
        }
        Some(rate) => Reading::Value(rate),
        None => Reading::unavailable("fio gave no iops"),
    }
}

/// Makes the measurements of one direction: rates, latencies and percentiles.
fn measurements_of(
    all: &[&Direct],
    whole: Option<&Direct>,
    binned: &SampledDurations,
    failed: Option<u64>,
) -> Vec<Measurement> {
    let bandwidth: Option<f64> = all.iter().map(|direct| direct.bytes_per_s.map(|bytes| bytes / 1_048_576.0)).sum();
    let bandwidth = bandwidth
        .filter(|sum| sum.is_finite())
        .map_or_else(|| Reading::unavailable("fio gave no bw_bytes"), Reading::Value);
    let mut found = vec![
        Measurement::new("iops", "io/s", Direction::Higher, Role::Primary, iops_reading(all, failed)),
        Measurement::new("bandwidth", "MiB/s", Direction::Higher, Role::Secondary, bandwidth),
    ];
    let total: Vec<&FioLatency> = all.iter().filter_map(|direct| direct.total.as_ref()).collect();
    let samples: f64 = total.iter().map(|latency| latency.samples as f64).sum();
    if samples > 0.0 {
        let mean = total.iter().map(|latency| latency.mean_ns * latency.samples as f64).sum::<f64>() / samples;
        let max = total.iter().map(|latency| latency.max_ns).fold(0.0, f64::max);
        found.push(latency_measurement("latency_mean", Role::Secondary, ns_reading_in_us(mean)));
        found.push(latency_measurement("latency_max", Role::Secondary, ns_reading_in_us(max)));
    }
    for (id, rank, role) in [
        ("completion_p50", 50.0, Role::Primary),
        ("completion_p90", 90.0, Role::Secondary),
        ("completion_p95", 95.0, Role::Secondary),
        ("completion_p99", 99.0, Role::Primary),
        ("completion_p999", 99.9, Role::Secondary),
    ] {
        found.extend(
            percentile_measurement(all, whole, binned, failed, rank)
                .map(|reading| latency_measurement(id, role, reading)),
        );
    }
    // With `--lat_percentiles=1`, of one job of which nothing failed: it prints no bins to merge or to rank failures behind.
    if let ([Direct { total: Some(total), .. }], Some(0)) = (all, failed) {
        for (id, rank) in [("latency_p50", 50.0), ("latency_p99", 99.0)] {
            found.extend(
                total.percentile_at(rank).map(|ns| latency_measurement(id, Role::Secondary, ns_reading_in_us(ns))),
            );
        }
    }
    found
}

/// Converts nanoseconds to a reading in µs.
fn ns_reading_in_us(ns: f64) -> Reading {
    if ns.is_finite() { Reading::Value(ns / 1e3) } else { Reading::unavailable("out of range") }
}

/// Reads or merges a percentile of the completion latency; `None` if fio did not print it.
/// Percentiles of several jobs cannot be merged, bins can, and `whole` is what fio merged of its clients. Failures rank
/// after all bins, but fio's percentiles ignore them.
fn percentile_measurement(
    all: &[&Direct],
    whole: Option<&Direct>,
    binned: &SampledDurations,
    failed: Option<u64>,
    rank: f64,
) -> Option<Reading> {
    let samples: u64 = all.iter().filter_map(|direct| direct.completion.as_ref()).map(|latency| latency.samples).sum();
    let merged_ns = whole.and_then(|whole| completion_percentile(whole, rank));
    let why_not = match (all, failed) {
        ([one], Some(0)) => return completion_percentile(one, rank).map(ns_reading_in_us),
        (_, Some(0)) if merged_ns.is_some() => return merged_ns.map(ns_reading_in_us),
        (_, Some(failed)) if binned.count() == samples && samples > 0 => {
            match binned.quantile_ns(rank / 100.0, failed) {
                Ok(ns) => return Some(ns_reading_in_us(ns as f64)),
                Err(NoQuantile::TooFew { needed }) => {
                    return Some(Reading::Unavailable(NoValue::too_few(needed, "I/Os")));
                }
                Err(why @ NoQuantile::AmongFailed { .. }) => why.to_string(),
            }
        }
        (_, Some(0)) => "several jobs ran side by side, and percentiles cannot be added".to_owned(),
        _ => OF_SUCCESSES.to_owned(),
    };
    Some(Reading::unavailable(why_not))
}

/// Gives a percentile of the completion latency, if fio printed it.
fn completion_percentile(direct: &Direct, rank: f64) -> Option<f64> {
    direct.completion.as_ref()?.percentile_at(rank)
}
