//! go-ycsb: the counts and latencies of each operation, as plain lines or as JSON.

use indexmap::IndexMap;
use model::{Point, Role, Value};
use serde_json::Value as Json;

use super::figures::{
    Figures, first_number, json_number, name_value_pairs, note_strange, option_value, plain_value, put_key,
};
use super::properties::{Properties, phase_and_database};
use crate::reader::{Found, Input, Names, Reader, Reads};
use crate::text::{break_html, numbered_lines};
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "go-ycsb",
    about: "What go-ycsb prints of each operation, as lines or JSON",
    recognises: |text| {
        (text.contains(TAKES) && text.contains("OPS: ") && text.contains("Avg(us): "))
            || (text.contains("\"Takes(s)\"") && text.contains("\"Operation\""))
    },
    names: Names::File,
    reads: Reads::Text(read),
};

/// Stands between an operation and its figures.
const TAKES: &str = " - Takes(s): ";
/// All operations but those that failed, from 2023 on.
const TOTAL: &str = "TOTAL";
/// Counts a read and an update, which are counted by themselves as well.
const BOTH: &str = "READ_MODIFY_WRITE";

/// Figures of an operation by their headings.
type Line = IndexMap<String, f64>;

/// What was printed at once: while it runs each group is of everything so far.
#[derive(Clone, Debug, Default)]
struct Group {
    operations: IndexMap<String, Line>,
}

#[derive(Default)]
struct Run {
    properties: Properties,
    group: Group,
    /// True once it said that it finished: what it prints then is of the whole run.
    is_finished: bool,
    elapsed_s: Option<f64>,
}

/// Reads go-ycsb's output.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut runs = vec![Run::default()];
    let mut not_understood = Vec::new();
    for (number, whole) in numbered_lines(input.text) {
        for line in break_html(whole) {
            if !take_line(&mut runs, line.trim()) {
                note_strange(number, line, &mut not_understood);
            }
        }
    }
    let unknown = ["the server", "the threads and the number of records, unless its properties stand there"];
    let mut imported = Imported::new(READER.name, input.source, unknown);
    for run in runs.iter().filter(|run| !run.group.operations.is_empty()) {
        imported.results.extend(run_results(run, input.system));
    }
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Takes a line into the last run or a new one; returns whether it is known.
fn take_line(runs: &mut Vec<Run>, line: &str) -> bool {
    const NOISE: [&str; 6] =
        ["****", "Using request distribution", "operation err:", "Got signal", "Exporting the full latency", "```"];
    if let Some(command) = parse_command(line) {
        begin_run(runs).properties = command;
        return true;
    }
    if line.contains("* properties *") {
        begin_run(runs);
        return true;
    }
    if let Some((name, value)) = parse_property(line) {
        runs.last_mut().into_iter().for_each(|run| run.properties.take_property(name, value));
        return true;
    }
    let finished = line.strip_prefix("Run finished, takes ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
    if finished.is_some()
        && let Some(last) = runs.last().filter(|run| run.is_finished)
    {
        runs.push(Run { properties: last.properties.clone(), ..Run::default() });
    }
    if let (Some((takes, _)), Some(run)) = (finished, runs.last_mut()) {
        (run.is_finished, run.elapsed_s) = (true, parse_go_seconds(takes));
        run.group = Group::default();
    }
    let operations = parse_operations(finished.map_or(line, |(_, rest)| rest));
    let has_figures = !operations.is_empty();
    for (name, line) in operations {
        add_operation(runs, name, line);
    }
    has_figures || finished.is_some() || line.is_empty() || NOISE.iter().any(|noise| line.starts_with(noise))
}

/// Begins a run without anything yet, if the last one has something.
fn begin_run(runs: &mut Vec<Run>) -> &mut Run {
    if runs.last().is_none_or(|run| !run.group.operations.is_empty() || run.is_finished) {
        runs.push(Run::default());
    }
    let last = runs.len() - 1;
    &mut runs[last]
}

/// Adds an operation to the run; one that comes again begins the next group or another run.
/// The next group is of as many operations at least, or it is another run.
fn add_operation(runs: &mut Vec<Run>, name: String, line: Line) {
    let Some(run) = runs.last_mut() else { return };
    if let Some(known) = run.group.operations.get(&name) {
        let grows = ["Count", "Takes(s)"].iter().all(|heading| line.get(*heading) >= known.get(*heading));
        if run.is_finished || !grows {
            // What comes without a heading is of another run with the same properties, as far as can be said.
            let properties = run.properties.clone();
            runs.push(Run { properties, ..Run::default() });
        } else {
            run.group = Group::default();
        }
    }
    if let Some(run) = runs.last_mut() {
        run.group.operations.insert(name, line);
    }
}

/// Parses each `NAME - Takes(s): …` of a line, or of a JSON list.
fn parse_operations(line: &str) -> Vec<(String, Line)> {
    if line.starts_with("[{") {
        let rows: Vec<Json> = serde_json::from_str(line).unwrap_or_default();
        return rows
            .iter()
            .filter_map(|row| {
                let fields = row.as_object()?;
                let name = fields.get("Operation")?.as_str()?.to_owned();
                let figures: Line =
                    fields.iter().filter_map(|(name, value)| Some((name.clone(), json_number(value)?))).collect();
                Some((name, figures)).filter(|(_, figures)| figures.contains_key("Takes(s)"))
            })
            .collect();
    }
    let starts: Vec<usize> = line.match_indices(TAKES).map(|(at, _)| at).collect();
    starts
        .iter()
        .enumerate()
        .filter_map(|(number, at)| {
            let name = line[..*at].split_whitespace().next_back()?.to_owned();
            let end = starts.get(number + 1).copied().unwrap_or(line.len());
            let figures = name_value_pairs(&line[at + " - ".len()..end]);
            Some((name, figures.filter_map(|(name, value)| Some((name.to_owned(), first_number(value)?))).collect()))
        })
        .collect()
}

/// Parses a command: `go-ycsb run mysql -P workloads/workloada -p threadcount=16 --threads 16`.
fn parse_command(line: &str) -> Option<Properties> {
    let (phase, database) = phase_and_database(line, &["go-ycsb"])?;
    let mut found = Properties { keys: [("phase".to_owned(), plain_value(phase))].into(), places: Point::new() };
    let file = option_value(line, "property_file", Some('P')).and_then(|path| path.rsplit(['/', '\\']).next());
    put_key(&mut found.keys, "workload", file.map(plain_value));
    put_key(&mut found.keys, "threads", option_value(line, "threads", None).map(plain_value));
    put_key(&mut found.keys, "target", option_value(line, "target", None).map(plain_value));
    places::put_place(&mut found.places, "db", Some(database));
    found.take_words(line);
    Some(found)
}

/// Parses a property as the run lists it: `"recordcount"="1000"`.
fn parse_property(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('"')?.strip_suffix('"')?.split_once("\"=\"")
}

/// Parses Go's `1m3.164680955s` in seconds.
fn parse_go_seconds(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let figure: f64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| end + at);
        seconds += figure
            * match &rest[end..unit_end] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "µs" | "us" => 1e-6,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    Some(seconds)
}

/// Lists the operations that were asked for, without their failures, without sums.
fn requested_operations(run: &Run) -> Vec<(&str, &Line)> {
    let operations = run.group.operations.iter().map(|(name, line)| (name.as_str(), line));
    operations.filter(|(name, _)| *name != TOTAL && !name.ends_with("_ERROR")).collect()
}

/// Writes the mix of operations to the next 5 %, since they are drawn by chance: `READ 50 %, UPDATE 50 %`.
fn mix_text(operations: &[(&str, f64)]) -> String {
    let all: f64 = operations.iter().map(|(_, count)| count).sum();
    let mut shares = operations.to_vec();
    shares.sort_by_key(|(name, _)| *name);
    shares
        .into_iter()
        .map(|(name, count)| format!("{name} {} %", (20.0 * count / all.max(1.0)).round() * 5.0))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Makes the result of a run as a whole, and one of each operation.
fn run_results(run: &Run, system: &str) -> Vec<ImportedResult> {
    let all = requested_operations(run);
    let single: Vec<&(&str, &Line)> = all.iter().filter(|(name, _)| *name != BOTH).collect();
    let counts: Vec<(&str, f64)> = single
        .iter()
        .map(|(name, line)| (*name, line.get("Count").copied().unwrap_or(0.0) + error_count(run, name)))
        .collect();
    let mut keys = run.properties.keys.clone();
    keys.insert("tool".to_owned(), Value::Text(READER.name.to_owned()));
    let is_load = single.len() == 1 && single.iter().any(|(name, _)| name.ends_with("INSERT"));
    keys.entry("phase".to_owned()).or_insert_with(|| Value::Text(if is_load { "load" } else { "run" }.to_owned()));
    keys.insert("operations".to_owned(), Value::Text(mix_text(&counts)));
    let why = "go-ycsb printed no counts";
    let sum = |heading: &str| single.iter().map(|(_, line)| line.get(heading).copied()).sum::<Option<f64>>();
    let total = run.group.operations.get(TOTAL);
    let mut figures = Figures::default();
    figures.push_failed(Some(run.failed_count()), sum("Count"), why);
    let printed = total.and_then(|line| line.get("OPS").copied());
    figures.push_rate("throughput", "operations/s", Role::Primary, printed.or_else(|| sum("OPS")));
    let mut whole = ImportedResult::new(system, "ycsb");
    whole.keys = keys.clone();
    whole.places.clone_from(&run.properties.places);
    whole.elapsed_s =
        run.elapsed_s.or_else(|| all.iter().filter_map(|(_, line)| line.get("Takes(s)").copied()).reduce(f64::max));
    whole.measurements = figures.measurements;
    if let Some(line) = total {
        add_latencies(&mut whole, line, run.failed_count());
    }
    std::iter::once(whole)
        .chain(all.into_iter().map(|(name, line)| {
            let mut result = ImportedResult::new(system, "ycsb operations");
            result.keys = keys.clone();
            result.places.clone_from(&run.properties.places);
            result.keys.insert("operation".to_owned(), Value::Text(name.to_owned()));
            let mut figures = Figures::default();
            figures.push_failed(Some(error_count(run, name)), line.get("Count").copied(), why);
            figures.push_rate("throughput", "operations/s", Role::Secondary, line.get("OPS").copied());
            result.measurements = figures.measurements;
            add_latencies(&mut result, line, error_count(run, name));
            result
        }))
        .collect()
}

/// Gives the number of errors of an operation.
fn error_count(run: &Run, name: &str) -> f64 {
    let failed = run.group.operations.get(&format!("{name}_ERROR"));
    failed.and_then(|line| line.get("Count")).copied().unwrap_or(0.0)
}

impl Run {
    /// Counts the errors of all operations.
    fn failed_count(&self) -> f64 {
        let errors = self.group.operations.iter().filter(|(name, _)| name.ends_with("_ERROR"));
        errors.filter_map(|(_, line)| line.get("Count")).sum()
    }
}

/// Adds the latencies of an operation to its result.
fn add_latencies(result: &mut ImportedResult, line: &Line, failed: f64) {
    let mut figures = Figures { has_failed: failed > 0.0, ..Figures::default() };
    figures.push_response("mean", line.get("Avg(us)").copied());
    figures.push_response("min", line.get("Min(us)").copied());
    figures.push_response("max", line.get("Max(us)").copied());
    for (rank, heading) in [
        (50.0, "50th(us)"),
        (90.0, "90th(us)"),
        (95.0, "95th(us)"),
        (99.0, "99th(us)"),
        (99.9, "99.9th(us)"),
        (99.99, "99.99th(us)"),
    ] {
        figures.push_percentile(rank, line.get(heading).copied());
    }
    result.measurements.extend(figures.measurements);
}
