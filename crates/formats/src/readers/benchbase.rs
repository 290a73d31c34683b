//! BenchBase and OLTP-Bench: `*.summary.json`, and `*.results.csv` with a line for each window of time.

use model::{Point, Role, Value};
use serde_json::Value as Json;

use super::figures::{Figures, json_documents, json_key, json_number, lines_outside, put_key};
use crate::reader::{Found, Input, Names, Reader, Reads, is_json_with};
use crate::text::parse_number;
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "benchbase",
    about: "summary.json and results.csv of BenchBase",
    recognises: |text| is_json_with(text, &["Benchmark Type", "Latency Distribution"]) || is_windows(text),
    names: Names::File,
    reads: Reads::Text(read),
};

const THROUGHPUT: &str = "Throughput (requests/second)";

/// Tests whether a text is a table of windows of time, by its heading.
fn is_windows(text: &str) -> bool {
    let heading = text.lines().next().unwrap_or_default();
    heading.starts_with("Time (seconds)") && heading.contains(THROUGHPUT)
}

/// Reads BenchBase's summary or its results by window.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut imported = Imported::new(READER.name, input.source, ["the server's settings", "the steadiness of the run"]);
    if is_windows(input.text) {
        imported.results.push(windows_result(input)?);
        return Ok(imported.into());
    }
    imported.results.extend(json_documents(input.text)?.iter().map(|json| summary_result(json, input.system)));
    Ok(Found { imported, not_understood: lines_outside(input.text) })
}

/// What changes what is measured, with the names of the keys.
const KEYS: [(&str, &str); 5] = [
    ("Benchmark Type", "benchmark"),
    ("terminals", "terminals"),
    ("scalefactor", "scale"),
    ("isolation", "isolation"),
    ("DBMS Type", "dbms_type"),
];

/// Makes the result of a summary in JSON.
fn summary_result(json: &Json, system: &str) -> ImportedResult {
    let mut keys = Point::new();
    // The type of the server is what differs between two systems, and no key.
    for (printed, name) in KEYS.into_iter().filter(|(_, name)| !["benchmark", "dbms_type"].contains(name)) {
        put_key(&mut keys, name, json.get(printed).and_then(json_key));
    }
    let benchmark =
        format!("benchbase {}", json.get("Benchmark Type").and_then(Json::as_str).unwrap_or("of unknown type"));
    let state = json.get("Final State").and_then(Json::as_str).filter(|state| !["DONE", "EXIT"].contains(state));
    let mut result = match state {
        Some(state) => ImportedResult::make_failed(system, &benchmark, format!("its final state is {state}")),
        None => ImportedResult::new(system, &benchmark),
    };
    result.keys = keys;
    for (printed, name) in [("DBMS Type", "dbms_type"), ("DBMS Version", "dbms_version")] {
        places::put_place(&mut result.places, name, json.get(printed).and_then(Json::as_str));
    }
    if state.is_some() {
        return result;
    }
    result.began_unix_ms = json.get("Start timestamp (milliseconds)").and_then(Json::as_i64).filter(|ms| *ms > 0);
    result.elapsed_s = json.get("Elapsed Time (nanoseconds)").and_then(json_number).map(|ns| ns / 1e9);
    let (throughput, goodput) =
        (json.get(THROUGHPUT).and_then(json_number), json.get("Goodput (requests/second)").and_then(json_number));
    let mut figures = Figures::default();
    let lost = throughput.zip(goodput).map(|(all, good)| (all - good).max(0.0));
    figures.push_failed(lost, goodput, "it prints no goodput");
    // All requests, also those that failed: where it says how many succeeded, those count.
    let role = if goodput.is_some() { Role::Secondary } else { Role::Primary };
    figures.push_rate("throughput", "requests/s", role, throughput);
    figures.push_rate("goodput", "requests/s", Role::Primary, goodput);
    figures.push_response("mean", latency_us(json, "Average"));
    figures.push_response("min", latency_us(json, "Minimum"));
    figures.push_response("max", latency_us(json, "Maximum"));
    // Its latencies are of all requests, also of those that it counts as aborted.
    figures.has_failed = false;
    for (rank, name) in
        [(50.0, "Median"), (90.0, "90th Percentile"), (95.0, "95th Percentile"), (99.0, "99th Percentile")]
    {
        figures.push_percentile(rank, latency_us(json, name));
    }
    result.measurements = figures.measurements;
    let server = [json.get("DBMS Type").and_then(Json::as_str), json.get("DBMS Version").and_then(Json::as_str)];
    result.notes.push(format!("server: {}", server.into_iter().flatten().collect::<Vec<_>>().join(" ")));
    result
}

/// Reads a latency of the summary, µs.
fn latency_us(json: &Json, name: &str) -> Option<f64> {
    json.get("Latency Distribution")?.get(format!("{name} Latency (microseconds)")).and_then(json_number)
}

/// Finds a table's transaction in the file's name, `RUN.results.TRANSACTION.csv`: the table does not tell it.
fn transaction_of(source: &str) -> Option<&str> {
    let name = source.rsplit(['/', '\\']).next()?;
    let (_, rest) = name.split_once(".results.")?;
    rest.strip_suffix(".csv").filter(|transaction| !transaction.is_empty())
}

/// Makes one result of all windows: rates are means of windows, percentiles of windows are none of the run.
fn windows_result(input: &Input<'_>) -> Result<ImportedResult, FormatError> {
    let mut lines = input.text.lines();
    let heading: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    let column = |name: &str| heading.iter().position(|known| *known == name);
    // BenchBase writes milliseconds; OLTP-Bench, which it comes from, microseconds.
    let means = [("Average Latency (microseconds)", 1.0), ("Average Latency (millisecond)", 1e3)];
    let mean = means.iter().find_map(|(name, us)| Some((column(name)?, *us)));
    let rate = column(THROUGHPUT);
    let (mut windows, mut requests, mut waited) = (0_u32, 0.0, 0.0);
    for (number_of_line, line) in (2..).zip(lines).filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let field = |at: Option<usize>| parse_number(fields.get(at?)?);
        let rate = match field(rate) {
            Some(rate) if fields.len() >= heading.len() => rate,
            _ => {
                return Err(FormatError::at_line(number_of_line, "it has no throughput: the table was cut or changed"));
            }
        };
        windows += 1;
        requests += rate;
        let mean_us = mean.and_then(|(at, us)| Some(us * field(Some(at))?));
        waited += rate * mean_us.unwrap_or(f64::NAN);
    }
    let mut figures = Figures::default();
    figures.push_failed(None, None, "results.csv does not tell what failed");
    figures.push_rate("throughput", "requests/s", Role::Primary, (windows > 0).then(|| requests / f64::from(windows)));
    figures.push_response("mean", (requests > 0.0).then(|| waited / requests));
    let mut result = ImportedResult::new(input.system, "benchbase windows");
    // A run has a table of all requests, one of each transaction, and one of its samples, which is of all requests again.
    let is_of_samples = column("Requests").is_some();
    let window = if is_of_samples { "the whole run by its samples" } else { "the whole run" };
    result.keys.insert("window".to_owned(), Value::Text(window.to_owned()));
    let transaction = if is_of_samples { None } else { transaction_of(input.source) };
    result.keys.extend(transaction.map(|name| ("transaction".to_owned(), Value::Text(name.to_owned()))));
    result.measurements = figures.measurements;
    result.notes.push(format!("of {windows} windows of time: their percentiles cannot be added"));
    Ok(result)
}
