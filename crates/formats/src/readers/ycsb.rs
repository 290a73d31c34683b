//! YCSB.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use model::{Role, Value};

use super::figures::{Figures, note_strange, option_value, plain_value, put_key};
use super::properties::{Properties, phase_and_database};
use crate::limited::rename_limited;
use crate::reader::{Found, Input, Names, Reader, Reads, has_line};
use crate::text::{break_html, numbered_lines};
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "ycsb",
    about: "What YCSB prints at its end",
    recognises: |text| has_line(text, &["[OVERALL], ", "[OVERALL],RunTime(ms)", "[OVERALL],Throughput(ops/sec)"]),
    names: Names::File,
    reads: Reads::Text(read),
};

/// Figures by section, then by name.
type Sections<'a> = IndexMap<&'a str, BTreeMap<&'a str, f64>>;

#[derive(Default)]
struct Run<'a> {
    command: Option<&'a str>,
    sections: Sections<'a>,
}

/// Reads YCSB's output.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut runs: Vec<Run<'_>> = vec![Run::default()];
    let mut not_understood = Vec::new();
    for (number, whole) in numbered_lines(input.text) {
        for line in break_html(whole) {
            let line = line.trim();
            if let Some(command) = line.strip_prefix("Command line:").or_else(|| shell_command(line)) {
                runs.push(Run { command: Some(command), ..Run::default() });
            } else if let Some((section, name, value)) = parse_figure(line) {
                let is_next = section == "OVERALL"
                    && runs.last().is_some_and(|run| run.sections.get(section).is_some_and(|of| of.contains_key(name)));
                if is_next {
                    runs.push(Run::default());
                }
                if let Some(run) = runs.last_mut() {
                    run.sections.entry(section).or_default().insert(name, value);
                }
            } else if !is_noise(line) {
                note_strange(number, line, &mut not_understood);
            }
        }
    }
    share_commands(&mut runs);
    let unknown = ["the server", "the records and their number, unless its command stands there"];
    let mut imported = Imported::new(READER.name, input.source, unknown);
    for run in &runs {
        imported.results.extend(run_results(run, input.system));
    }
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Gives a command that stands once above several outputs to all of them that have its operations.
fn share_commands(runs: &mut [Run<'_>]) {
    for at in 1..runs.len() {
        let (before, rest) = runs.split_at_mut(at);
        let (before, run) = (&before[at - 1], &mut rest[0]);
        let names =
            |run: &Run<'_>| operations_of(run).into_iter().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>();
        if run.command.is_none() && names(run) == names(before) {
            run.command = before.command;
        }
    }
}

/// Tests whether a line says nothing of a result.
fn is_noise(line: &str) -> bool {
    const NOISE: [&str; 8] = [
        "YCSB Client",
        "Loading workload",
        "Starting test",
        "DBWrapper:",
        "SLF4J:",
        "mongo client connection created",
        "Run finished",
        "***",
    ];
    // The client's start, and its status every ten seconds.
    let is_status = line.contains(" current ops/sec") || (line.contains(" sec: ") && line.contains(" operations;"));
    let is_start = line.contains(" site.ycsb.Client ") || line.contains(" com.yahoo.ycsb.Client ");
    is_status || is_start || line.starts_with('[') || NOISE.iter().any(|noise| line.starts_with(noise))
}

/// Parses a figure: `[READ], AverageLatency(us), 476.7`; bins of a histogram are none.
fn parse_figure(line: &str) -> Option<(&str, &str, f64)> {
    let (section, rest) = line.strip_prefix('[')?.split_once("],")?;
    let (name, value) = rest.rsplit_once(',')?;
    let name = name.trim();
    let value = value.trim().parse().ok().filter(|value: &f64| value.is_finite())?;
    let is_bin = name.trim_start_matches('>').parse::<u64>().is_ok();
    (!is_bin).then_some((section, name, value))
}

/// Gives a command's arguments as a shell repeats it: `bin/ycsb run mongodb -P workloads/workloada`.
fn shell_command(line: &str) -> Option<&str> {
    phase_and_database(line, &["ycsb", "ycsb.sh"]).map(|_| line).or_else(|| java_command(line))
}

/// Gives the arguments of the line that `bin/ycsb` prints: `java -cp … site.ycsb.Client -t -db … -threads 64`.
fn java_command(line: &str) -> Option<&str> {
    ["site.ycsb.Client ", "com.yahoo.ycsb.Client "].iter().find_map(|class| Some(line.split_once(class)?.1))
}

/// Collects what a run's command says, and what its operations show.
fn run_properties(run: &Run<'_>) -> Properties {
    let mut found = Properties::default();
    let keys = &mut found.keys;
    let mut is_load = run.sections.contains_key("INSERT") && operations_of(run).len() == 1;
    if let Some(command) = run.command {
        let workload = option_value(command, "workload", Some('P'));
        let file = workload.and_then(|path| path.rsplit(['/', '\\']).next());
        put_key(keys, "workload", file.map(plain_value));
        put_key(
            keys,
            "threads",
            option_value(command, "threads", None).or_else(|| word_behind(command, "-threads")).map(plain_value),
        );
        put_key(keys, "target", word_behind(command, "-target").map(plain_value));
        put_key(keys, "operationcount", property_value(command, "operationcount").map(plain_value));
        let (phase, database) = phase_and_database(command, &["ycsb", "ycsb.sh"]).unzip();
        places::put_place(&mut found.places, "db", word_behind(command, "-db").or(database));
        is_load |= phase == Some("load") || command.split_whitespace().any(|word| word == "-load");
        found.take_words(command);
    }
    found.keys.insert("phase".to_owned(), Value::Text(if is_load { "load" } else { "run" }.to_owned()));
    found.keys.insert("operations".to_owned(), Value::Text(mix_text(run)));
    found
}

/// Gives the word behind an option.
fn word_behind<'a>(command: &'a str, option: &str) -> Option<&'a str> {
    let mut words = command.split_whitespace();
    words.by_ref().find(|word| *word == option)?;
    words.next()
}

/// Gives the value of a property that a command sets: `-p recordcount=1000`.
fn property_value<'a>(command: &'a str, name: &str) -> Option<&'a str> {
    command.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// Lists the sections of operations, with how many of them ended.
fn operations_of<'a>(run: &Run<'a>) -> Vec<(&'a str, Ended)> {
    let sections = run.sections.iter().filter(|(name, of)| {
        !["OVERALL", "CLEANUP"].contains(name) && !name.ends_with("-FAILED") && of.contains_key("Operations")
    });
    sections.map(|(name, of)| (*name, ended_of(run, name, of))).collect()
}

/// Codes of what succeeded; up to version 0.5 they are numbers.
const SUCCESSES: [&str; 3] = ["Return=OK", "Return=BATCHED_OK", "Return=0"];

/// Writes the mix of operations to the next 5 %, since they are drawn by chance: `READ 50 %, UPDATE 50 %`.
fn mix_text(run: &Run<'_>) -> String {
    let mut shares = operations_of(run);
    let all: f64 = shares.iter().map(|(_, ended)| ended.total()).sum();
    shares.sort_by_key(|(name, _)| *name);
    let shares: Vec<String> = shares
        .into_iter()
        .map(|(name, ended)| format!("{name} {} %", (20.0 * ended.total() / all.max(1.0)).round() * 5.0))
        .collect();
    shares.join(", ")
}

/// Makes the result of a run as a whole, and one of each operation; none without overall figures.
fn run_results(run: &Run<'_>, system: &str) -> Vec<ImportedResult> {
    let mut results = Vec::new();
    let Some(overall) = run.sections.get("OVERALL") else { return results };
    let of_operations = operations_of(run);
    let failed: f64 = of_operations.iter().map(|(_, ended)| ended.failed).sum();
    let succeeded: f64 = of_operations.iter().map(|(_, ended)| ended.succeeded).sum();
    let why = "YCSB printed no operations";
    let mut figures = Figures::default();
    figures.push_failed(Some(failed), Some(succeeded), why);
    figures.push_rate("throughput", "operations/s", Role::Primary, overall.get("Throughput(ops/sec)").copied());
    let properties = run_properties(run);
    let mut whole = ImportedResult::new(system, "ycsb");
    (whole.keys, whole.places) = (properties.keys.clone(), properties.places.clone());
    whole.elapsed_s = overall.get("RunTime(ms)").map(|ms| ms / 1e3);
    whole.measurements = figures.measurements;
    if whole.keys.get("target").is_some_and(|target| target.to_string() != "0") {
        rename_limited(&mut whole.measurements, &["throughput"]);
    }
    results.push(whole);
    for (name, ended) in of_operations {
        let Some(of) = run.sections.get(name) else { continue };
        let mut figures = Figures::default();
        figures.push_failed(Some(ended.failed), Some(ended.succeeded), why);
        // Of no operation the shortest is printed as the largest number there is.
        if of.get("Operations").is_some_and(|count| *count > 0.0) {
            figures.push_response("mean", micros_of(of, "AverageLatency"));
            figures.push_response("min", micros_of(of, "MinLatency"));
            figures.push_response("max", micros_of(of, "MaxLatency"));
        }
        for (rank, id) in [
            (50.0, "50thPercentileLatency"),
            (95.0, "95thPercentileLatency"),
            (99.0, "99thPercentileLatency"),
            (99.9, "99.9PercentileLatency"),
        ] {
            figures.push_percentile(rank, micros_of(of, id));
        }
        let mut result = ImportedResult::new(system, "ycsb operations");
        (result.keys, result.places) = (properties.keys.clone(), properties.places.clone());
        result.keys.insert("operation".to_owned(), Value::Text(name.to_owned()));
        result.measurements = figures.measurements;
        results.push(result);
    }
    results
}

/// Gives a latency in µs, whichever unit it was printed in.
fn micros_of(of: &BTreeMap<&str, f64>, id: &str) -> Option<f64> {
    of.get(format!("{id}(us)").as_str()).copied().or_else(|| of.get(format!("{id}(ms)").as_str()).map(|ms| ms * 1e3))
}

/// Operations of a kind: those that succeeded, and those that failed.
#[derive(Clone, Copy)]
struct Ended {
    succeeded: f64,
    failed: f64,
}

impl Ended {
    /// Counts all that ended.
    fn total(self) -> f64 {
        self.succeeded + self.failed
    }
}

/// Counts how many operations of a section succeeded and failed.
/// `[X], Operations` counts what succeeded, and `[X-FAILED]` the others; up to version 0.5 it counts all, as the codes
/// that the calls returned show.
fn ended_of(run: &Run<'_>, name: &str, of: &BTreeMap<&str, f64>) -> Ended {
    let (mut ok, mut others) = (0.0, 0.0);
    for (code, count) in of.iter().filter(|(code, _)| code.starts_with("Return=")) {
        *(if SUCCESSES.contains(code) { &mut ok } else { &mut others }) += count;
    }
    let section = run.sections.get(format!("{name}-FAILED").as_str()).and_then(|of| of.get("Operations"));
    let failed = section.copied().unwrap_or(0.0).max(others);
    let counted = of.get("Operations").copied().unwrap_or(0.0);
    let counts_all = ok + others > 0.0 && (counted - ok - failed).abs() < (counted - ok).abs();
    Ended { succeeded: if counts_all { counted - failed } else { counted }, failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_java_is_a_command() {
        let line = "/usr/bin/java -cp a.jar site.ycsb.Client -t -P workloads/workloada -threads 64 -p recordcount=1000";
        let command = shell_command(line).unwrap();
        assert_eq!(word_behind(command, "-threads"), Some("64"));
        assert_eq!(property_value(command, "recordcount"), Some("1000"));
    }

    #[test]
    fn a_command_holds_for_all_outputs_below_it() {
        let output = "[OVERALL], RunTime(ms), 10110\n[OVERALL], Throughput(ops/sec), 98.9\n[READ], Operations, 1000\n";
        let command = "Command line: -db site.ycsb.db.JdbcDBClient -p recordcount=1000000 -t\n";
        let load = output.replace("READ", "INSERT");
        for (text, counts) in [
            (format!("{command}{output}{output}"), [true, true]),
            (format!("{output}{command}{output}"), [false, true]),
            (format!("$ bin/ycsb load jdbc -p recordcount=10\n{load}{output}"), [true, false]),
        ] {
            let options = crate::Options::default();
            let input = Input { system: "a", is_named: false, source: "f", below: "f", text: &text, options: &options };
            let found = read(&input).unwrap().imported.results;
            let whole = found.iter().filter(|result| result.benchmark == "ycsb");
            let has_count: Vec<bool> = whole.map(|result| result.keys.contains_key("recordcount")).collect();
            assert_eq!(has_count, counts, "{text}: {found:?}");
        }
    }
}
