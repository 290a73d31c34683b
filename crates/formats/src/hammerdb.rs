//! HammerDB 4 to 6 results, as the manual's chapter on the CLI shows them.
//!
//! The job store of SQLite is read by [`job_store`]. Of text there are three forms, also mixed in a file: JSON answers of `jobs … result` and `jobs JOBID timing`; the report of `jobs
//! JOBID save` (`hammerdb-job-report-v1`); console lines such as `Vuser 1:TEST RESULT : System achieved … NOPM from …
//! TPM`. A job in several forms is one job.

mod configuration;
mod console;
pub mod job_store;

use std::collections::{BTreeMap, BTreeSet};

use model::{Direction, Facts, Measurement, Point, Reading, Role, Value};
use serde_json::Value as Json;

use self::configuration::Settings;
use self::console::{configured_users, parse_minutes, without_progress};
use crate::heads::WAREHOUSES_UNKNOWN;
use crate::imported::UNKNOWN_BENCHMARK;
use crate::reader::{Found, Names, Reader, Reads, has_line};
use crate::text::{NotUnderstood, decode, parse_number};
use crate::{Imported, ImportedResult};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HammerDbOutput {
    /// `6.0`.
    pub version: Option<String>,
    pub jobs: Vec<HammerDbJob>,
    /// Jobs of which HammerDB says that they have no result, and runs of the console whose users failed before one.
    pub without_result: Vec<WithoutResult>,
    /// Releases of the server that reports name.
    pub releases: BTreeSet<String>,
    /// What the console tells of TPROC-H.
    pub streams: Vec<console::Stream>,
    /// Timings of the profiler, where there is no job.
    pub profile: Vec<Timing>,
    /// What virtual users said of errors in runs without a result.
    pub errors: Vec<String>,
    /// Foreign lines, and timings without a job.
    pub not_understood: Vec<NotUnderstood>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WithoutResult {
    /// The line of its result, counted from 1.
    pub line: u64,
    pub id: Option<String>,
    pub virtual_users: Option<u64>,
    /// What the report tells of the configuration.
    pub configuration: Point,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HammerDbJob {
    /// The line of its first mention, counted from 1.
    pub line: u64,
    /// 24 hexadecimal digits.
    pub id: Option<String>,
    /// HammerDB's name of the database: `MariaDB`.
    pub database: Option<String>,
    pub virtual_users: Option<u64>,
    /// From the report, or as the console says it was set: warehouses, lengths in minutes, scale factor.
    pub configuration: Point,
    /// The server and the database, where the console says that they were set.
    pub places: Point,
    /// Length of the run in minutes, as the console says it.
    pub minutes: Option<i64>,
    pub outcome: HammerDbResult,
    /// Virtual users that the console says failed: the others did its work.
    pub failed_users: u64,
    pub errors: Vec<String>,
    pub timings: Vec<Timing>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HammerDbResult {
    /// TPROC-C: new orders per minute, and the database's own transactions per minute.
    Orders { nopm: f64, tpm: f64 },
    /// TPROC-H: one user's query times.
    Queries { geomean_s: f64, total_s: f64 },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// `NEWORD` and the like.
    pub name: String,
    pub calls: f64,
    /// Figures by HammerDB's names: `avg_ms`, `p99_ms`.
    pub figures: BTreeMap<String, f64>,
}

/// Console lines without a figure.
const SENTENCES: &[&str] = &[
    "+-+",
    "ALL VIRTUAL USERS COMPLETE",
    "Benchmark set",
    "Changed ",
    "Copyright",
    "Database set",
    "Initialized ",
    "Script ",
    "Setting jobs output format",
    "Stopping Transaction Counter",
    "TEST COMPLETE",
    // What the manual's own scripts print while they wait.
    "Timer: ",
    "Timestamp ",
    "Transaction Counter",
    "Type \"help\"",
    "Value ",
    "Vuser ",
    "runtimer returned",
    "vudestroy success",
];
/// The timings below it belong to the next result.
const TIMES_HEADING: &str = "TRANSACTION RESPONSE TIMES";
const HEADINGS: [&str; 2] = ["TRANSACTION COUNT", "HAMMERDB RESULT"];
/// The schema of `save`'s report, without its version.
const REPORT_SCHEMA: &str = "hammerdb-job-report-v";

/// Reads HammerDB's output; unrecognised lines are listed, never an error.
pub fn read_output(bytes: &[u8]) -> HammerDbOutput {
    let text = decode(bytes);
    let mut reader = Lines::default();
    let (mut at, mut number) = (0, 1);
    while at < text.len() {
        let rest = &text[at..];
        let length = match json_at_start(rest) {
            Some((json, length)) => {
                reader.take_document(number, &json);
                length
            }
            None => {
                reader.take_line(number, rest.lines().next().unwrap_or_default().trim());
                rest.find('\n').map_or(rest.len(), |end| end + 1)
            }
        };
        number += rest[..length].matches('\n').count() as u64;
        at += length;
    }
    reader.finish()
}

/// Parses the JSON that a text begins with, and gives its length in bytes.
fn json_at_start(text: &str) -> Option<(Json, usize)> {
    text.trim_start_matches([' ', '\t']).starts_with(['[', '{']).then_some(())?;
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let json = stream.next()?.ok()?;
    Some((json, stream.byte_offset()))
}

/// The `jobs JOBID …` command on the line before a document.
#[derive(Debug)]
enum Asked {
    Timing(String),
    Other,
}

#[derive(Default)]
struct Lines {
    output: HammerDbOutput,
    queries: console::Console,
    settings: Settings,
    /// How many streams runs have had that ended.
    streams_before: usize,
    /// Jobs of the console, which other forms may repeat.
    console: Vec<HammerDbJob>,
    users: Option<u64>,
    /// Length of the run, before there was a result.
    minutes: Option<i64>,
    /// Those that it said failed, before there was a result.
    failed_users: u64,
    /// Errors of virtual users, before there was a result.
    errors: Vec<String>,
    /// Whether the run of the console's last job goes on: other users of it may fail yet.
    is_running: bool,
    /// Runs of the console that ended without a result, by their last line.
    broken: Vec<WithoutResult>,
    asked: Option<Asked>,
    announced: bool,
    /// The timings of the next result.
    coming: Vec<Timing>,
    /// Timings by the job that they are of.
    timings: BTreeMap<String, Vec<Timing>>,
    /// Without a job; with their line.
    loose: Vec<(u64, Vec<Timing>)>,
}

impl Lines {
    /// Takes a line of the console; one that is not understood is listed.
    fn take_line(&mut self, number: u64, line: &str) {
        let line = without_progress(line);
        let said = line.strip_prefix("Vuser ").and_then(|rest| rest.split_once(':'));
        let (user, text) = said.map_or((None, line), |(user, text)| (user.parse().ok(), text));
        let text = text.trim();
        if let Some((outcome, database)) = parse_orders(text) {
            let virtual_users = self.users.take();
            let failed_users = std::mem::take(&mut self.failed_users);
            let mut job = HammerDbJob::new(number, None, outcome);
            job.minutes = self.minutes.take();
            (job.configuration, job.places) =
                (self.settings.conditions_of_workload("tpcc"), self.settings.server_places());
            (job.virtual_users, job.database, job.failed_users) = (virtual_users, Some(database), failed_users);
            job.errors = std::mem::take(&mut self.errors);
            self.console.push(job);
            self.is_running = true;
        } else if text == "FINISHED FAILED" {
            match self.console.last_mut() {
                Some(job) if self.is_running => job.failed_users += 1,
                _ => self.failed_users += 1,
            }
        } else if let Some(error) = user.and_then(|_| console::error_of_user(text)) {
            match self.console.last_mut() {
                Some(job) if self.is_running => job.errors.push(error),
                _ => self.errors.push(error),
            }
        } else if line == "ALL VIRTUAL USERS COMPLETE" {
            self.end_run(number);
        } else if let Some(users) = configured_users(text) {
            self.users = Some(users);
        } else if let Some(minutes) = parse_minutes(text) {
            self.minutes = Some(minutes);
        } else if let Some(release) = text.strip_prefix("DBVersion:") {
            self.output.releases.extend(Some(release.trim()).filter(|release| *release != "NULL").map(str::to_owned));
        } else if let Some(version) = line.strip_prefix("HammerDB CLI v") {
            self.output.version.get_or_insert_with(|| version.to_owned());
            self.settings.begin_again();
        } else if let Some(id) = text.strip_prefix("Benchmark Run jobid=") {
            // Printed after the result if the console waits for the run, else before it.
            if let Some(job) = self.console.last_mut().filter(|job| job.id.is_none()) {
                job.id = Some(id.to_owned());
            }
        } else if let Some(command) = line.strip_prefix("hammerdb>") {
            self.asked = parse_command(command);
        } else if line == TIMES_HEADING {
            self.announced = true;
        } else if !self.settings.take_line(line) && !self.queries.take_line(user, text) && !is_noise(line) {
            self.output.not_understood.push(NotUnderstood::new(number, line));
        }
    }

    /// Ends the console's run: without a result it failed if any of its users did. One that builds a schema has none.
    fn end_run(&mut self, number: u64) {
        let virtual_users = self.users.take();
        self.output.errors.append(&mut self.errors);
        if std::mem::take(&mut self.failed_users) > 0 {
            self.broken.push(WithoutResult { line: number, virtual_users, ..WithoutResult::default() });
        }
        self.is_running = false;
        self.queries.end_streams();
        let configuration = self.settings.conditions_of_workload("tpch");
        let of_run = self.queries.streams.iter_mut().skip(self.streams_before);
        of_run.for_each(|stream| stream.configuration.clone_from(&configuration));
        self.streams_before = self.queries.streams.len();
        self.settings.note_run_end();
    }

    /// Takes a JSON document: a report, timings or results; one that is none is listed.
    fn take_document(&mut self, number: u64, json: &Json) {
        let asked = self.asked.take();
        let announced = std::mem::take(&mut self.announced);
        let is_report = json.get("schema").and_then(Json::as_str).is_some_and(|name| name.starts_with(REPORT_SCHEMA));
        if is_report {
            self.take_report(json);
            match read_report(number, json) {
                Ok(job) => self.keep_job(*job),
                Err(without) => self.output.without_result.push(without),
            }
        } else if let Some(timings) = parse_timings(json) {
            match asked {
                Some(Asked::Timing(id)) => self.timings.entry(id).or_default().extend(timings),
                None if announced => self.coming = timings,
                None => self.loose.push((number, timings)),
                Some(Asked::Other) => {
                    self.output.not_understood.push(NotUnderstood::new(number, "timings of one user"))
                }
            }
        } else if !self.take_results(number, json) && !is_count(json) {
            self.output.not_understood.push(NotUnderstood::new(number, &json.to_string()));
        }
    }

    /// Takes a report's version, release and times of single queries.
    fn take_report(&mut self, json: &Json) {
        if let Some(version) = text_in(json, "hdb_version") {
            self.output.version.get_or_insert(version.trim_start_matches('v').to_owned());
        }
        self.output.releases.extend(text_in(json, "release"));
        let queries = query_times(json);
        if !queries.is_empty() {
            let configuration = report_configuration(json);
            self.output.streams.push(console::Stream { user: 1, queries, configuration, ..console::Stream::default() });
        }
    }

    /// Takes jobs' `["JOBID", "time", "N Active Virtual Users configured", "TEST RESULT : …"]`; `false` if it is none.
    fn take_results(&mut self, number: u64, json: &Json) -> bool {
        let Some(items) = json.as_array().filter(|items| !items.is_empty()) else { return false };
        let words: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
        let Some(words) = words else {
            return items.iter().all(|item| item.is_array() && self.take_results(number, item));
        };
        let id = words.first().filter(|word| is_job_id(word)).map(|id| (*id).to_owned());
        let virtual_users = words.iter().find_map(|word| configured_users(word));
        if words.contains(&"Jobid has no test result") {
            let without = WithoutResult { line: number, id, virtual_users, ..WithoutResult::default() };
            self.output.without_result.push(without);
            return true;
        }
        let Some((outcome, database)) = words.iter().find_map(|word| parse_orders(word)) else {
            // The plain list of jobs.
            return words.iter().all(|word| is_job_id(word));
        };
        let timings = std::mem::take(&mut self.coming);
        self.keep_job(HammerDbJob {
            virtual_users,
            database: Some(database),
            timings,
            ..HammerDbJob::new(number, id, outcome)
        });
        true
    }

    /// Adds a job to the output, or to the one of the same identity.
    fn keep_job(&mut self, job: HammerDbJob) {
        let known = self.output.jobs.iter_mut().find(|known| known.id.is_some() && known.id == job.id);
        match known {
            Some(known) => known.add_other_form(job),
            None => self.output.jobs.push(job),
        }
    }

    /// Ends the output, and returns what was found.
    fn finish(mut self) -> HammerDbOutput {
        self.end_run(u64::MAX);
        let outcomes: Vec<HammerDbResult> = self.output.jobs.iter().map(|job| job.outcome).collect();
        let mut taken = vec![false; outcomes.len()];
        for job in std::mem::take(&mut self.console) {
            let same = (0..outcomes.len()).find(|at| !taken[*at] && outcomes[*at] == job.outcome);
            match same {
                Some(at) => {
                    taken[at] = true;
                    self.output.jobs[at].add_other_form(job);
                }
                None => self.keep_job(job),
            }
        }
        self.output.streams.extend(self.queries.streams);
        if let [job] = self.output.jobs.as_mut_slice()
            && job.timings.is_empty()
        {
            job.timings = std::mem::take(&mut self.queries.profile);
        }
        self.output.profile = self.queries.profile;
        let HammerDbOutput { jobs, not_understood, .. } = &mut self.output;
        for job in jobs.iter_mut() {
            let timings = job.id.as_ref().and_then(|id| self.timings.remove(id));
            job.timings.extend(timings.into_iter().flatten());
        }
        match (jobs.as_mut_slice(), self.loose.as_mut_slice()) {
            ([job], [(_, timings)]) if job.timings.is_empty() => job.timings.append(timings),
            _ => not_understood.extend(
                self.loose.iter().map(|(line, _)| NotUnderstood::new(*line, "timings, nothing tells of which job")),
            ),
        }
        jobs.sort_by_key(|job| job.line);
        // A job that was asked for before it ended has its result further down; one that stands there twice failed once.
        let mut seen: BTreeSet<String> = jobs.iter().filter_map(|job| job.id.clone()).collect();
        let without = &mut self.output.without_result;
        without.retain(|job| job.id.clone().is_none_or(|id| seen.insert(id)));
        // The console tells the same runs as the answers do.
        without.extend(self.broken.into_iter().skip(without.len()));
        without.sort_by_key(|job| job.line);
        self.output
    }
}

fn text_in(json: &Json, name: &str) -> Option<String> {
    find_value(json, name).and_then(|found| {
        found.as_str().map(str::to_owned).or_else(|| json_number(found).map(|figure| figure.to_string()))
    })
}

impl HammerDbOutput {
    /// Gives the configuration of everything that the output tells, to be changed.
    fn configurations_mut(&mut self) -> impl Iterator<Item = &mut Point> {
        let jobs = self.jobs.iter_mut().map(|job| &mut job.configuration);
        let without = self.without_result.iter_mut().map(|job| &mut job.configuration);
        jobs.chain(without).chain(self.streams.iter_mut().map(|stream| &mut stream.configuration))
    }

    /// Takes over what another output tells of the same system.
    fn append_output(&mut self, other: HammerDbOutput) {
        self.jobs.extend(other.jobs);
        self.without_result.extend(other.without_result);
        self.releases.extend(other.releases);
        self.errors.extend(other.errors);
        self.streams.extend(other.streams);
        self.not_understood.extend(other.not_understood);
    }
}

impl HammerDbJob {
    fn new(line: u64, id: Option<String>, outcome: HammerDbResult) -> HammerDbJob {
        let configuration = Point::new();
        let (database, virtual_users, timings) = (None, None, Vec::new());
        HammerDbJob {
            line,
            id,
            database,
            virtual_users,
            configuration,
            places: Point::new(),
            minutes: None,
            outcome,
            failed_users: 0,
            errors: Vec::new(),
            timings,
        }
    }

    /// Takes over what another form of the job's result adds.
    fn add_other_form(&mut self, other: HammerDbJob) {
        self.line = self.line.min(other.line);
        self.id = self.id.take().or(other.id);
        self.database = self.database.take().or(other.database);
        self.virtual_users = self.virtual_users.or(other.virtual_users);
        self.configuration.extend(other.configuration);
        self.places.extend(other.places);
        self.minutes = self.minutes.or(other.minutes);
        self.failed_users = self.failed_users.max(other.failed_users);
        self.errors.extend(other.errors);
        if self.timings.is_empty() {
            self.timings = other.timings;
        }
    }
}

fn is_noise(line: &str) -> bool {
    line.is_empty()
        || HEADINGS.contains(&line)
        || (!line.contains("TEST RESULT")
            && (line.ends_with(" tpm") || SENTENCES.iter().any(|sentence| line.starts_with(sentence))))
}

fn is_job_id(word: &str) -> bool {
    word.len() == 24 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Parses `TEST RESULT : System achieved 128 NOPM from 298 MariaDB TPM`; up to 4.2 `… 298 MariaDB TPM at 128 NOPM`.
fn parse_orders(text: &str) -> Option<(HammerDbResult, String)> {
    let achieved = text.trim().strip_prefix("TEST RESULT : System achieved ")?;
    let (nopm, tpm) = match achieved.split_once(" NOPM from ") {
        Some((nopm, tpm)) => (nopm, tpm.strip_suffix(" TPM")?),
        None => {
            let (tpm, nopm) = achieved.strip_suffix(" NOPM")?.split_once(" TPM at ")?;
            (nopm, tpm)
        }
    };
    let (tpm, database) = tpm.split_once(' ')?;
    Some((HammerDbResult::Orders { nopm: parse_rate(nopm)?, tpm: parse_rate(tpm)? }, database.to_owned()))
}

/// Parses a number that is not negative.
fn parse_rate(text: &str) -> Option<f64> {
    parse_number(text).filter(|rate| *rate >= 0.0)
}

/// Parses a command that asks for timings, `jobs 67FD… timing`.
fn parse_command(command: &str) -> Option<Asked> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["jobs" | "job", id, "timing"] => Some(Asked::Timing((*id).to_owned())),
        ["jobs" | "job", _, "timing", ..] => Some(Asked::Other),
        _ => None,
    }
}

/// Reads a number, which HammerDB writes as such or as text.
fn json_number(json: &Json) -> Option<f64> {
    json.as_f64().or_else(|| parse_number(json.as_str()?))
}

/// Reads the timings of procedures: `{"NEWORD": {"calls": "1805", "avg_ms": "5.765", …}, …}`.
fn parse_timings(json: &Json) -> Option<Vec<Timing>> {
    let procedures = json.as_object().filter(|procedures| !procedures.is_empty())?;
    procedures.iter().map(|(name, figures)| parse_timing(name, figures)).collect()
}

/// Reads the figures of one procedure.
fn parse_timing(name: &str, json: &Json) -> Option<Timing> {
    let figures: BTreeMap<String, f64> =
        json.as_object()?.iter().filter_map(|(name, value)| Some((name.clone(), json_number(value)?))).collect();
    Some(Timing { name: name.to_owned(), calls: *figures.get("calls")?, figures })
}

/// Tests whether JSON is of progress: `{"MariaDB tpm": {"2025-04-14 17:09:51": "185196", …}}`.
fn is_count(json: &Json) -> bool {
    let counters = json.as_object().filter(|counters| !counters.is_empty());
    counters.is_some_and(|counters| {
        counters
            .values()
            .all(|value| value.as_object().is_some_and(|points| points.values().all(|v| json_number(v).is_some())))
    })
}

/// Finds the first value of a name, however deep it stands; the parser bounds the depth.
fn find_value<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    match json {
        Json::Object(fields) => fields.get(name).or_else(|| fields.values().find_map(|value| find_value(value, name))),
        Json::Array(items) => items.iter().find_map(|item| find_value(item, name)),
        _ => None,
    }
}

/// Reads a figure of a report's result, if it is not negative.
fn result_figure(json: &Json, name: &str) -> Option<f64> {
    json.get("result")?.get(name).and_then(json_number).filter(|figure| *figure >= 0.0)
}

/// Reads the result of a report: orders a minute, or times of queries.
fn report_outcome(json: &Json) -> Option<HammerDbResult> {
    Some(match (result_figure(json, "nopm"), result_figure(json, "geomean_seconds")) {
        (Some(nopm), _) => HammerDbResult::Orders { nopm, tpm: result_figure(json, "tpm")? },
        (None, geomean_s) => {
            HammerDbResult::Queries { geomean_s: geomean_s?, total_s: result_figure(json, "total_query_time_seconds")? }
        }
    })
}

/// Reads the seconds of each query by its number: rows of version 6.0, or figures by their names.
fn query_times(json: &Json) -> BTreeMap<u64, f64> {
    let Some(times) = find_value(json, "query_times") else { return BTreeMap::new() };
    let rows = times.get("rows").and_then(Json::as_array).into_iter().flatten();
    let of_rows =
        rows.filter_map(|row| Some((query_number(row.get("name")?.as_str()?)?, json_number(row.get("seconds")?)?)));
    let named = times.as_object().into_iter().flatten();
    of_rows.chain(named.filter_map(|(name, time)| Some((query_number(name)?, json_number(time)?)))).collect()
}

fn query_number(name: &str) -> Option<u64> {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// Reads what a report tells of the configuration, without the virtual users.
fn report_configuration(json: &Json) -> Point {
    let configuration = json.get("benchmark_config").and_then(Json::as_object).into_iter().flatten();
    configuration
        .filter(|(name, _)| *name != "virtual_users")
        .filter_map(|(name, value)| Some((name.clone(), Value::Int(whole_number(json_number(value)?)?))))
        .collect()
}

/// Reads the report of a job; an error is the job without its result.
fn read_report(line: u64, json: &Json) -> Result<Box<HammerDbJob>, WithoutResult> {
    let rows = json.pointer("/response_times/rows").and_then(Json::as_array);
    let planned = json.pointer("/benchmark_config/virtual_users").and_then(json_number);
    let id = json.pointer("/job/jobid").and_then(Json::as_str).map(str::to_owned);
    let configuration = report_configuration(json);
    let Some(outcome) = report_outcome(json) else {
        return Err(WithoutResult { line, id, virtual_users: whole_virtual_users(planned), configuration });
    };
    Ok(Box::new(HammerDbJob {
        database: json
            .pointer("/job/database_display")
            .and_then(Json::as_str)
            .map(str::to_owned)
            .or_else(|| json.pointer("/job/database").and_then(Json::as_str).map(str::to_owned)),
        virtual_users: whole_virtual_users(result_figure(json, "active_virtual_users")),
        configuration,
        timings: rows.into_iter().flatten().filter_map(|row| parse_timing(row.get("name")?.as_str()?, row)).collect(),
        ..HammerDbJob::new(line, id, outcome)
    }))
}

fn whole_virtual_users(figure: Option<f64>) -> Option<u64> {
    figure.and_then(whole_number).and_then(|users| u64::try_from(users).ok())
}

fn whole_number(figure: f64) -> Option<i64> {
    // Configuration numbers are far below 2^53.
    (figure.fract() == 0.0 && figure.abs() < 9e15).then_some(figure as i64)
}

/// Why a job failed that has no result.
const NO_RESULT: &str =
    "HammerDB has no result of this job (a job that only built a schema has none either: leave it out)";

pub const READER: Reader = Reader {
    name: "hammerdb",
    about: "What HammerDB tells of its jobs: answers in JSON, saved reports, the console",
    recognises: |text| {
        let signs = [
            "TEST RESULT : System achieved ",
            "Jobid has no test result",
            "Geometric mean of query times returning rows",
            REPORT_SCHEMA,
        ];
        let of_console = ["HammerDB CLI v", "hammerdb>", ">>>>> SUMMARY OF", "Hammerdb Time Profile Report"];
        signs.iter().any(|sign| text.contains(sign)) || has_line(text, &of_console)
    },
    names: Names::File,
    reads: Reads::Text(|input| {
        let output = read_output(input.text.as_bytes());
        let imported = import_output(&output, input.system, input.source);
        Ok(Found { imported, not_understood: output.not_understood })
    }),
};

/// Makes the results of an output; jobs with the same virtual users and configuration are repetitions.
pub fn import_output(output: &HammerDbOutput, system: &str, source: &str) -> Imported {
    let mut unknown = vec!["the server's settings", "keying and thinking time", "the steadiness within a job"];
    if output.jobs.iter().any(|job| job.configuration.is_empty()) {
        unknown.extend([WAREHOUSES_UNKNOWN, "the lengths of ramp-up and test"]);
    }
    let mut facts = Facts::default();
    let databases: BTreeSet<&str> = output.jobs.iter().filter_map(|job| job.database.as_deref()).collect();
    // Jobs of two databases are no repetitions of each other.
    let has_databases = databases.len() > 1;
    if !databases.is_empty() {
        facts.record_identity("server.product", databases.into_iter().collect::<Vec<_>>().join(", "));
    }
    if !output.releases.is_empty() {
        facts.record_identity("server.version", output.releases.iter().cloned().collect::<Vec<_>>().join(", "));
    }
    let mut results: Vec<(u64, ImportedResult)> =
        output.jobs.iter().map(|job| (job.line, make_result(job, system))).collect();
    if has_databases {
        for ((_, result), job) in results.iter_mut().zip(&output.jobs) {
            result.keys.extend(job.database.clone().map(|name| ("database".to_owned(), Value::Text(name))));
        }
    }
    results.extend(output.without_result.iter().map(|job| (job.line, make_failed_job(job, system))));
    let of_streams = output.streams.iter().flat_map(|stream| console::stream_results(stream, system));
    let of_profile = console::profile_result(&output.profile, system);
    results.extend(of_streams.chain(of_profile).map(|result| (u64::MAX, result)));
    results.sort_by_key(|(line, _)| *line);
    let mut imported = Imported {
        version: output.version.clone(),
        results: results.into_iter().map(|(_, result)| result).collect(),
        facts: [(system.to_owned(), facts)].into(),
        ..Imported::new(READER.name, source, unknown)
    };
    let errors: Vec<String> = output.jobs.iter().flat_map(|job| &job.errors).chain(&output.errors).cloned().collect();
    imported.notes.extend(console::note_of_errors(&errors));
    imported.note_not_understood(&output.not_understood);
    imported.note_failed_results();
    imported
}

fn result_keys(configuration: &Point, virtual_users: Option<u64>) -> Point {
    let users = virtual_users.and_then(|users| i64::try_from(users).ok());
    let users = users.map(|users| ("virtual_users".to_owned(), Value::Int(users)));
    configuration.clone().into_iter().chain(users).collect()
}

/// Makes the failed result of a job without one; what it ran is seldom printed in full.
fn make_failed_job(job: &WithoutResult, system: &str) -> ImportedResult {
    let mut result = ImportedResult::make_failed(system, UNKNOWN_BENCHMARK, NO_RESULT.to_owned());
    result.keys = result_keys(&job.configuration, job.virtual_users);
    result
}

/// Makes the result of a job, failed if some of its users did.
fn make_result(job: &HammerDbJob, system: &str) -> ImportedResult {
    let benchmark = match job.outcome {
        HammerDbResult::Orders { .. } => "TPROC-C",
        HammerDbResult::Queries { .. } => "TPROC-H",
    };
    let mut result = ImportedResult::new(system, benchmark);
    result.keys = result_keys(&job.configuration, job.virtual_users);
    result.places.clone_from(&job.places);
    result.notes.extend(console::note_of_errors(&job.errors));
    if job.failed_users > 0 {
        let why = format!("{} virtual users failed (FINISHED FAILED): the result is of the others", job.failed_users);
        result.dropped = Some((model::RunState::Failed, why));
        return result;
    }
    let why = "HammerDB does not tell how much failed".to_owned();
    let failed = Measurement::failed_share(Reading::unavailable(why));
    let minutes = job.configuration.get("duration_minutes").and_then(Value::as_int).or(job.minutes);
    result.elapsed_s = minutes.map(|minutes| minutes as f64 * 60.0);
    result.measurements = match job.outcome {
        HammerDbResult::Orders { nopm, tpm } => vec![
            Measurement::value("nopm", "orders/min", Direction::Higher, Role::Primary, nopm),
            Measurement::value("tpm", "tx/min", Direction::Higher, Role::Diagnostic, tpm),
        ],
        HammerDbResult::Queries { geomean_s, total_s } => vec![
            Measurement::value("query_geomean", "s", Direction::Lower, Role::Primary, geomean_s),
            Measurement::value("query_total", "s", Direction::Lower, Role::Secondary, total_s),
        ],
    };
    result.measurements.push(failed);
    if matches!(job.outcome, HammerDbResult::Orders { .. }) {
        let note = "TPM are what this database counts as transactions: between databases only NOPM compare";
        result.notes.push(note.to_owned());
    }
    result.measurements.extend(job.timings.iter().flat_map(console::timing_measurements));
    result
}
