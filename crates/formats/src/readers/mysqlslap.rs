//! mysqlslap (`mariadb-slap`).

use model::{Point, Role, Value};

use super::figures::{Figures, first_number, note_strange, plain_value, put_key};
use crate::reader::{Found, Input, Names, Reader, Reads};
use crate::text::numbered_lines;
use crate::{FormatError, Imported, ImportedResult};

pub const READER: Reader = Reader {
    name: "mysqlslap",
    about: "What mysqlslap prints",
    recognises: |text| text.contains("Average number of seconds to run all queries:"),
    names: Names::File,
    reads: Reads::Text(read),
};

#[derive(Default)]
struct Run {
    keys: Point,
    mean_s: Option<f64>,
    min_s: Option<f64>,
    max_s: Option<f64>,
}

/// Reads mysqlslap's output.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let unknown = ["the statements", "the server", "the number of iterations", "failures"];
    let mut imported = Imported::new(READER.name, input.source, unknown);
    let (mut run, mut not_understood) = (Run::default(), Vec::new());
    // Printed in front of the figures of each run.
    let mut engine: Option<String> = None;
    for (number, line) in numbered_lines(input.text) {
        let line = line.trim();
        if line == "Benchmark" {
            engine = None;
            imported.results.extend(make_result(std::mem::take(&mut run), input.system));
            continue;
        }
        if let Some(name) = line.strip_prefix("Running for engine ") {
            engine = Some(name.trim().to_owned());
            continue;
        }
        match line.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("Average number of seconds to run all queries", value)) => {
                if run.mean_s.is_some() {
                    imported.results.extend(make_result(std::mem::take(&mut run), input.system));
                }
                put_key(&mut run.keys, "engine", engine.take().map(Value::Text));
                run.mean_s = first_number(value);
            }
            Some(("Minimum number of seconds to run all queries", value)) => run.min_s = first_number(value),
            Some(("Maximum number of seconds to run all queries", value)) => run.max_s = first_number(value),
            Some(("Number of clients running queries", value)) => {
                put_key(&mut run.keys, "clients", Some(plain_value(value)))
            }
            Some(("Average number of queries per client", value)) => {
                put_key(&mut run.keys, "queries_per_client", Some(plain_value(value)));
            }
            _ if line.starts_with("mysqlslap: [Warning]") || line.starts_with("Running mysqlslap with") => {}
            _ => note_strange(number, line, &mut not_understood),
        }
    }
    imported.results.extend(make_result(run, input.system));
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Makes the result of a run; `None` without a mean.
fn make_result(run: Run, system: &str) -> Option<ImportedResult> {
    run.mean_s?;
    let mut figures = Figures::default();
    figures.push_failed(None, None, "mysqlslap does not print what failed");
    figures.push_cost("elapsed_mean", "s", Role::Primary, run.mean_s);
    figures.push_cost("elapsed_min", "s", Role::Secondary, run.min_s);
    figures.push_cost("elapsed_max", "s", Role::Secondary, run.max_s);
    let mut result = ImportedResult::new(system, "mysqlslap");
    result.keys = run.keys;
    result.measurements = figures.measurements;
    result.notes.push("the mean is of all iterations: one result, however many there were".to_owned());
    Some(result)
}
