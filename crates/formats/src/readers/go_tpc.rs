//! go-tpc (`tiup bench`): the summary of TPC-C and of TPC-H.

use model::{Point, Role, Value};

use super::figures::{Figures, first_number, name_value_pairs, note_strange, option_value, plain_value, put_key};
use crate::reader::{Found, Input, Names, Reader, Reads};
use crate::text::numbered_lines;
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "go-tpc",
    about: "What go-tpc (`tiup bench`) prints of TPC-C and TPC-H",
    recognises: |text| text.contains("[Summary] ") && (text.contains("Takes(s): ") || text.contains("[Summary] Q")),
    names: Names::File,
    reads: Reads::Text(read),
};

/// A line `[Summary] NAME - figures`.
struct Line<'a> {
    name: &'a str,
    figures: &'a str,
}

#[derive(Default)]
struct Run<'a> {
    command: Option<&'a str>,
    lines: Vec<Line<'a>>,
    /// `tpmC: 362.5, tpmTotal: 805.0, efficiency: 28.2%`.
    total: Option<&'a str>,
}

const NOISE: [&str; 8] =
    ["[Current] ", "Finished", "creating ", "load ", "begin to ", "maxprocs:", "Execute ", "Got signal "];

/// Reads go-tpc's output.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let mut run = Run::default();
    let mut not_understood = Vec::new();
    for (number, line) in numbered_lines(input.text) {
        let line = line.trim();
        if let Some(summary) = line.strip_prefix("[Summary] ") {
            let (name, figures) =
                summary.split_once(" - ").or_else(|| summary.split_once(": ")).unwrap_or((summary, ""));
            let name = name.trim();
            if run.total.is_some() || run.lines.iter().any(|known| known.name == name) {
                // A command holds until the next one.
                let next = Run { command: run.command, ..Run::default() };
                runs.push(std::mem::replace(&mut run, next));
            }
            run.lines.push(Line { name, figures });
        } else if line.starts_with("tpmC:") {
            run.total = Some(line);
        } else if is_command(line) {
            if !run.lines.is_empty() {
                runs.push(std::mem::take(&mut run));
            }
            run.command = Some(line);
        } else if !NOISE.iter().any(|noise| line.starts_with(noise)) {
            note_strange(number, line, &mut not_understood);
        }
    }
    runs.push(run);
    let unknown =
        ["the server", "the number of warehouses and threads, unless its command stands there", "failures of TPC-H"];
    let mut imported = Imported::new(READER.name, input.source, unknown);
    for run in runs.iter().filter(|run| !run.lines.is_empty()) {
        imported.results.extend(run_results(run, input.system));
    }
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Tests whether a line is a command that runs: `go-tpc tpcc --warehouses 10 run`, `tiup bench tpcc … run`.
fn is_command(line: &str) -> bool {
    (line.contains("go-tpc ") || line.contains("tiup bench ")) && line.split_whitespace().any(|word| word == "run")
}

/// Collects the keys that a command line sets.
fn keys_of_command(command: Option<&str>) -> Point {
    let mut keys = Point::from([("tool".to_owned(), Value::Text(READER.name.to_owned()))]);
    let Some(command) = command else { return keys };
    put_key(&mut keys, "warehouses", option_value(command, "warehouses", None).map(plain_value));
    put_key(&mut keys, "threads", option_value(command, "threads", Some('T')).map(plain_value));
    put_key(&mut keys, "scale", option_value(command, "sf", None).map(plain_value));
    for name in ["weight", "isolation", "parts", "partition-type"] {
        put_key(&mut keys, name, option_value(command, name, None).map(plain_value));
    }
    put_key(&mut keys, "wait", command.split_whitespace().any(|other| other == "--wait").then_some(Value::Bool(true)));
    keys
}

/// Collects the server and database that a command line names.
fn places_of_command(command: Option<&str>) -> Point {
    let mut found = Point::new();
    let options =
        [("host", Some('H')), ("port", Some('P')), ("db", Some('D')), ("driver", Some('d')), ("conn-params", None)];
    for (name, short) in options {
        places::put_place(&mut found, name, command.and_then(|command| option_value(command, name, short)));
    }
    found
}

/// Makes the result of a run as a whole, and one of each transaction and query.
fn run_results(run: &Run<'_>, system: &str) -> Vec<ImportedResult> {
    let mut results = Vec::new();
    let orders: Vec<&Line<'_>> =
        run.lines.iter().filter(|line| !is_query(line) && !line.name.ends_with("_ERR")).collect();
    let why = "go-tpc printed no counts";
    if !orders.is_empty() {
        let sum = |name: &str| orders.iter().map(|line| figure_of(line.figures, name)).sum::<Option<f64>>();
        let failed = orders.iter().map(|line| error_count(run, line.name)).sum();
        let new_orders =
            orders.iter().find(|line| line.name == "NEW_ORDER").and_then(|line| figure_of(line.figures, "TPM"));
        let mut figures = Figures::default();
        figures.push_failed(Some(failed), sum("Count"), why);
        let printed = run.total.and_then(|total| figure_of(total, "tpmC")).or(new_orders);
        figures.push_rate("nopm", "orders/min", Role::Primary, printed);
        figures.push_rate(
            "tpm",
            "tx/min",
            Role::Secondary,
            run.total.and_then(|total| figure_of(total, "tpmTotal")).or(sum("TPM")),
        );
        let mut result = ImportedResult::new(system, "tpcc");
        result.keys = keys_of_command(run.command);
        result.places = places_of_command(run.command);
        result.elapsed_s = orders.iter().filter_map(|line| figure_of(line.figures, "Takes(s)")).reduce(f64::max);
        result.measurements = figures.measurements;
        results.push(result);
    }
    for line in orders {
        let mut figures = Figures::default();
        figures.push_failed(Some(error_count(run, line.name)), figure_of(line.figures, "Count"), why);
        figures.push_rate("throughput", "tx/min", Role::Secondary, figure_of(line.figures, "TPM"));
        figures.push_response("mean", figure_of(line.figures, "Avg(ms)").map(|ms| ms * 1e3));
        figures.push_response("max", figure_of(line.figures, "Max(ms)").map(|ms| ms * 1e3));
        for (rank, name) in
            [(50.0, "50th(ms)"), (90.0, "90th(ms)"), (95.0, "95th(ms)"), (99.0, "99th(ms)"), (99.9, "99.9th(ms)")]
        {
            figures.push_percentile(rank, figure_of(line.figures, name).map(|ms| ms * 1e3));
        }
        let mut result = ImportedResult::new(system, "tpcc transactions");
        result.keys = keys_of_command(run.command);
        result.places = places_of_command(run.command);
        result.keys.insert("transaction".to_owned(), Value::Text(line.name.to_owned()));
        result.measurements = figures.measurements;
        results.push(result);
    }
    for line in run.lines.iter().filter(is_query) {
        // `Q1: 1.23s`, or with figures as the transactions.
        let ms = figure_of(line.figures, "Avg(ms)")
            .or_else(|| first_number(line.figures.strip_suffix('s')?).map(|s| s * 1e3));
        let mut figures = Figures::default();
        figures.push_cost("query_time", "ms", Role::Primary, ms);
        let mut result = ImportedResult::new(system, "tpch");
        result.keys = keys_of_command(run.command);
        result.places = places_of_command(run.command);
        result.keys.insert("query".to_owned(), Value::Text(line.name.to_owned()));
        result.measurements = figures.measurements;
        results.push(result);
    }
    results
}

/// Tests whether a line is of a query, `Q7`.
fn is_query(line: &&Line<'_>) -> bool {
    line.name.strip_prefix('Q').is_some_and(|n| n.parse::<u32>().is_ok())
}

/// Gives the number of errors of a transaction.
fn error_count(run: &Run<'_>, name: &str) -> f64 {
    let failed = format!("{name}_ERR");
    run.lines.iter().find(|line| line.name == failed).and_then(|line| figure_of(line.figures, "Count")).unwrap_or(0.0)
}

/// Finds a figure of a line by its name.
fn figure_of(figures: &str, name: &str) -> Option<f64> {
    name_value_pairs(figures).find(|(known, _)| *known == name).and_then(|(_, v)| first_number(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_holds_for_all_outputs_below_it() {
        let output =
            "[Summary] NEW_ORDER - Takes(s): 59.5, Count: 360, TPM: 362.5, Sum(ms): 1, Avg(ms): 9\ntpmC: 362.5\n";
        let text = format!(
            "$ tiup bench tpcc --warehouses 10 run\n{output}{output}$ tiup bench tpcc --warehouses 20 run\n{output}"
        );
        let options = crate::Options::default();
        let input = Input { system: "a", is_named: false, source: "f", below: "f", text: &text, options: &options };
        let found = read(&input).unwrap().imported.results;
        let whole = found.iter().filter(|result| result.benchmark == "tpcc");
        let warehouses: Vec<Option<&Value>> = whole.map(|result| result.keys.get("warehouses")).collect();
        assert_eq!(warehouses, [10, 10, 20].map(Value::Int).each_ref().map(Some));
    }
}
