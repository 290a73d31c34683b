//! What only HammerDB's console and its time profiler tell: the queries of TPROC-H, and blocks of `xtprof`.

use std::collections::BTreeMap;

use model::{Direction, Measurement, Point, Reading, Role, Value};

use super::Timing;
use crate::ImportedResult;
use crate::durations::{latency_measurement, us_of_ms};
use crate::text::{leading_number, parse_number, shorten_message};

/// What a virtual user of TPROC-H did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    pub user: u64,
    /// Seconds of each query, by its number.
    pub queries: BTreeMap<u64, f64>,
    pub total_s: Option<f64>,
    pub geomean_s: Option<f64>,
    /// Streams of its run, which share the server.
    pub streams: u64,
    /// What the job's configuration says, where it is printed.
    pub configuration: Point,
}

/// What the lines of a console come to.
#[derive(Debug, Default)]
pub struct Console {
    open: BTreeMap<u64, Stream>,
    pub streams: Vec<Stream>,
    /// The profiler's summary of all users.
    pub profile: Vec<Timing>,
    /// True if the profiler's lines are of all users.
    is_summary: bool,
}

impl Console {
    /// Takes a line of queries or of the profiler; `false` if it is none. `user` is the virtual user that said it.
    pub fn take_line(&mut self, user: Option<u64>, text: &str) -> bool {
        self.take_query(user.unwrap_or(1), text) || self.take_profile(text)
    }

    /// Ends the run of the open streams, and tells each how many they were; one without an end keeps its queries.
    pub fn end_streams(&mut self) {
        self.streams.extend(std::mem::take(&mut self.open).into_values());
        let count = self.streams.iter().filter(|stream| stream.streams == 0).count() as u64;
        self.streams.iter_mut().filter(|stream| stream.streams == 0).for_each(|stream| stream.streams = count);
    }

    /// Takes a line on a virtual user's queries; `false` if it is not understood.
    fn take_query(&mut self, user: u64, text: &str) -> bool {
        if let Some((query, time)) = text.strip_prefix("query ").and_then(|rest| rest.split_once(" completed in ")) {
            let (Ok(query), Some(time)) = (query.parse(), parse_seconds(time)) else { return false };
            self.stream_of(user).queries.insert(query, time);
        } else if let Some((_, time)) =
            text.strip_prefix("Completed ").and_then(|rest| rest.split_once(" query set(s) in "))
        {
            self.stream_of(user).total_s = parse_seconds(time);
        } else if let Some((_, mean)) =
            text.strip_prefix("Geometric mean of query times returning rows").and_then(|rest| rest.split_once(" is "))
        {
            self.stream_of(user).geomean_s = leading_number(mean.trim_matches('"')).map(|(mean, _)| mean);
            self.streams.extend(self.open.remove(&user));
        } else {
            return ["Executing Query ", "Old Sales refresh", "New Sales refresh", "Completed "]
                .iter()
                .any(|known| text.starts_with(known));
        }
        true
    }

    /// Gives the stream of a virtual user, made if there is none yet.
    fn stream_of(&mut self, user: u64) -> &mut Stream {
        self.open.entry(user).or_insert_with(|| Stream { user, ..Stream::default() })
    }

    /// Takes a line of the profiler: `>>>>> PROC: NEWORD`, then `CALLS: 62842  MIN: 1.018ms  AVG: …` and `P99: …`.
    fn take_profile(&mut self, text: &str) -> bool {
        if let Some(heading) = text.strip_prefix(">>>>> ") {
            if let Some(name) = heading.strip_prefix("PROC: ") {
                if self.is_summary {
                    self.profile.push(Timing { name: name.trim().to_owned(), ..Timing::default() });
                }
            } else {
                self.is_summary = heading.starts_with("SUMMARY OF");
            }
            return true;
        }
        if !text.starts_with("CALLS: ") && !text.starts_with("P99: ") {
            return text.starts_with("Hammerdb Time Profile Report");
        }
        if !self.is_summary {
            return true;
        }
        let Some(timing) = self.profile.last_mut() else { return true };
        // Tabs stand between them, or in a page what it made of these.
        let mut words = text.split_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            let Some((figure, _)) = leading_number(value) else { continue };
            match name.trim_end_matches(':') {
                "CALLS" => timing.calls = figure,
                name => drop(timing.figures.insert(format!("{}_ms", name.to_lowercase()), figure)),
            }
        }
        true
    }
}

/// Parses `12.3 seconds`.
fn parse_seconds(text: &str) -> Option<f64> {
    text.strip_suffix(" seconds").and_then(|text| parse_number(text.trim()))
}

/// Makes the results of a stream of queries: one of the whole, if it is complete, and one of each query.
pub fn stream_results(stream: &Stream, system: &str) -> Vec<ImportedResult> {
    let mut whole = stream_result(stream, system, "TPROC-H");
    whole.elapsed_s = stream.total_s;
    whole.measurements.extend(stream.geomean_s.map(|s| seconds_measurement("query_geomean", Role::Primary, s)));
    whole.measurements.extend(stream.total_s.map(|s| seconds_measurement("query_total", Role::Secondary, s)));
    let why = "HammerDB does not tell how much failed".to_owned();
    whole.measurements.push(Measurement::failed_share(Reading::unavailable(why)));
    let is_complete = stream.geomean_s.is_some() || stream.total_s.is_some();
    is_complete
        .then_some(whole)
        .into_iter()
        .chain(stream.queries.iter().map(|(query, time)| {
            let mut result = stream_result(stream, system, "TPROC-H queries");
            result.keys.insert("query".to_owned(), Value::Text(format!("Q{query}")));
            result.measurements.push(seconds_measurement("query_time", Role::Secondary, *time));
            result
        }))
        .collect()
}

/// Makes the measurement of a time in seconds.
fn seconds_measurement(id: &str, role: Role, value: f64) -> Measurement {
    Measurement::value(id, "s", Direction::Lower, role, value)
}

/// Makes a result with the keys of a stream of queries, as yet without measurements.
fn stream_result(stream: &Stream, system: &str, benchmark: &str) -> ImportedResult {
    let mut result = ImportedResult::new(system, benchmark);
    result.keys.clone_from(&stream.configuration);
    let count = i64::try_from(stream.streams).ok().filter(|count| *count > 1);
    result.keys.extend(count.map(|count| ("streams".to_owned(), Value::Int(count))));
    // Streams run at the same time: they are no repetitions of each other.
    result.keys.insert("stream".to_owned(), Value::Int(i64::try_from(stream.user).unwrap_or(i64::MAX)));
    result
}

/// Makes a result of the profiler's timings, of a run of which the file does not tell the result.
pub fn profile_result(profile: &[Timing], system: &str) -> Option<ImportedResult> {
    let mut result = ImportedResult::new(system, "TPROC-C timings");
    for timing in profile {
        result.measurements.extend(timing_measurements(timing));
    }
    (!result.measurements.is_empty()).then_some(result)
}

/// Makes the measurements of a stored procedure's response times and calls.
pub fn timing_measurements(timing: &Timing) -> Vec<Measurement> {
    let mut found = Vec::new();
    for (id, name) in [
        ("response_mean", "avg_ms"),
        ("response_p50", "p50_ms"),
        ("response_p95", "p95_ms"),
        ("response_p99", "p99_ms"),
        ("response_min", "min_ms"),
        ("response_max", "max_ms"),
    ] {
        let us = timing.figures.get(name).map(|ms| us_of_ms(*ms)).filter(|us| us.is_finite());
        let id = format!("{id}/{}", timing.name);
        found.extend(us.map(|us| latency_measurement(&id, Role::Secondary, Reading::Value(us))));
    }
    let id = format!("calls/{}", timing.name);
    found.push(Measurement::value(&id, "", Direction::Neither, Role::Diagnostic, timing.calls));
    found
}

/// Strips a result of what a script printed on its line: `Elapsed: 00:44 / 61:30Vuser 1:TEST RESULT : …`.
pub fn without_progress(line: &str) -> &str {
    let at = line.rfind("Vuser ").filter(|at| line[*at..].contains(":TEST RESULT : "));
    at.map_or(line, |at| &line[at..])
}

/// Parses `24 Active Virtual Users configured`.
pub fn configured_users(text: &str) -> Option<u64> {
    text.strip_suffix(" Active Virtual Users configured")?.trim().parse().ok()
}

/// Parses `Timing test period of 5 in minutes`.
pub fn parse_minutes(text: &str) -> Option<i64> {
    text.strip_prefix("Timing test period of ")?.strip_suffix(" in minutes")?.trim().parse().ok()
}

/// Finds the error in `Error in Virtual User 2: ERROR:  deadlock detected` and the like.
/// HammerDB goes on behind most of them.
pub fn error_of_user(text: &str) -> Option<String> {
    let of_user = text.strip_prefix("Error in Virtual User ").and_then(|rest| rest.split_once(':'));
    let is_error = text.contains(" Error set RAISEERROR") || text.to_uppercase().starts_with("ERROR");
    of_user.map(|(_, error)| error).or_else(|| is_error.then_some(text)).map(shorten_message)
}

/// Writes how many errors there were, and what they were; `None` without any.
pub fn note_of_errors(errors: &[String]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    errors.iter().for_each(|error| *counts.entry(error).or_default() += 1);
    let named: Vec<String> =
        counts.iter().take(NAMED).map(|(error, count)| format!("{error} ({count} times)")).collect();
    let more = if counts.len() > NAMED { ", …" } else { "" };
    (!errors.is_empty()).then(|| format!("errors of virtual users: {}: {}{more}", errors.len(), named.join(", ")))
}

/// Errors that a note names.
const NAMED: usize = 3;
