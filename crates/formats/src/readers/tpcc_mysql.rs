//! tpcc-mysql (`tpcc_start`).

use model::{Point, Role, Value};

use super::figures::{Figures, first_number, note_strange, plain_value, put_key};
use crate::reader::{Found, Input, Names, Reader, Reads, has_line};
use crate::text::{numbered_lines, parse_number};
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "tpcc-mysql",
    about: "What tpcc-mysql prints",
    recognises: |text| has_line(text, &["<TpmC>", "<Raw Results>"]),
    names: Names::File,
    reads: Reads::Text(read),
};

const TRANSACTIONS: [&str; 5] = ["NEW_ORDER", "PAYMENT", "ORDER_STATUS", "DELIVERY", "STOCK_LEVEL"];

/// What is printed of one transaction.
#[derive(Clone, Copy, Default)]
struct Counts {
    in_time: f64,
    late: f64,
    retries: f64,
    failed: f64,
    mean_ms: Option<f64>,
}

#[derive(Default)]
struct Run {
    keys: Point,
    places: Point,
    elapsed_s: Option<f64>,
    transactions: [Option<Counts>; 5],
    broken: Vec<String>,
    nopm: Option<f64>,
}

/// Reads tpcc-mysql's output.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut imported =
        Imported::new(READER.name, input.source, ["the server", "percentiles of the whole run", "the version"]);
    let (mut run, mut not_understood, mut is_summed) = (Run::default(), Vec::new(), false);
    for (at, line) in numbered_lines(input.text) {
        let line = line.trim();
        let is_repeated = match line {
            "<Raw Results>" => run.nopm.is_some() || run.transactions.iter().any(Option::is_some),
            "<TpmC>" => run.nopm.is_some(),
            _ => false,
        };
        if line == "<Parameters>" {
            imported.results.extend(run_results(std::mem::take(&mut run), input.system));
        } else if is_repeated {
            let next = Run { keys: run.keys.clone(), places: run.places.clone(), ..Run::default() };
            imported.results.extend(run_results(std::mem::replace(&mut run, next), input.system));
            is_summed = false;
        } else if line.starts_with("<Raw Results>") || line.starts_with("<Raw Results2") {
            // The second is the same, added up by thread.
            is_summed = line.starts_with("<Raw Results2");
        } else if let Some(nopm) = parse_nopm(line) {
            run.nopm = Some(nopm);
        } else if let Some((place, counts)) = parse_counts(line) {
            if !is_summed {
                run.transactions[place] = Some(counts);
            }
        } else if let Some((name, value)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
            match name {
                "warehouse" => put_key(&mut run.keys, "warehouses", Some(plain_value(value))),
                "connection" => put_key(&mut run.keys, "connections", Some(plain_value(value))),
                "server" | "port" | "DBname" => places::put_place(&mut run.places, name, Some(value)),
                _ => {}
            }
        } else if let Some(seconds) = line.strip_prefix("in ").and_then(|rest| rest.strip_suffix(" sec.")) {
            run.elapsed_s = first_number(seconds);
        } else if line.ends_with("[NG] *") {
            run.broken.push(line.split(':').next().unwrap_or_default().trim().to_owned());
        } else if !is_noise(line) {
            note_strange(at, line, &mut not_understood);
        }
    }
    imported.results.extend(run_results(run, input.system));
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Tests whether a line says nothing of a result.
fn is_noise(line: &str) -> bool {
    const NOISE: [&str; 9] = [
        "***",
        "<",
        "option ",
        "RAMP-UP TIME",
        "MEASURING START",
        "STOPPING THREADS",
        "[transaction percentage]",
        "[response time",
        "...",
    ];
    let is_progress =
        line.split_once(',').is_some_and(|(time, rest)| time.parse::<u32>().is_ok() && rest.contains('|'));
    is_progress || line.ends_with("[OK]") || NOISE.iter().any(|noise| line.starts_with(noise))
}

/// Parses `67461.500 TpmC`, perhaps with a remark of who published it.
fn parse_nopm(line: &str) -> Option<f64> {
    let (figure, rest) = line.split_once(" TpmC")?;
    if rest.is_empty() || rest.starts_with(' ') { parse_number(figure.trim()) } else { None }
}

/// Parses a transaction's index and counts: `[0] sc:7202  lt:9  rt:0  fl:0 avg_rt: 3.9 (5)`.
fn parse_counts(line: &str) -> Option<(usize, Counts)> {
    let (place, rest) = line.strip_prefix('[')?.split_once(']')?;
    let place: usize = place.parse().ok().filter(|place| *place < TRANSACTIONS.len())?;
    let counts = Counts {
        in_time: figure_behind(rest, "sc:")?,
        late: figure_behind(rest, "lt:")?,
        retries: figure_behind(rest, "rt:")?,
        failed: figure_behind(rest, "fl:")?,
        mean_ms: figure_behind(rest, "avg_rt:"),
    };
    Some((place, counts))
}

/// Parses the number behind a name.
fn figure_behind(rest: &str, name: &str) -> Option<f64> {
    let at = rest.find(name)? + name.len();
    first_number(&rest[at..])
}

/// Makes the result of a run as a whole, and one of each transaction.
fn run_results(run: Run, system: &str) -> Vec<ImportedResult> {
    let mut results = Vec::new();
    if run.nopm.is_none() && run.transactions.iter().all(Option::is_none) {
        return results;
    }
    let why = "tpcc-mysql printed no counts";
    let (failed, ended): (f64, f64) = (
        run.transactions.iter().flatten().map(|one| one.failed).sum(),
        run.transactions.iter().flatten().map(|one| one.in_time + one.late).sum(),
    );
    let mut figures = Figures::default();
    figures.push_failed(Some(failed), Some(ended), why);
    figures.push_rate("nopm", "orders/min", Role::Primary, run.nopm);
    let mut whole = ImportedResult::new(system, "tpcc");
    whole.keys = run.keys.clone();
    whole.places.clone_from(&run.places);
    whole.keys.insert("tool".to_owned(), Value::Text(READER.name.to_owned()));
    whole.elapsed_s = run.elapsed_s;
    whole.measurements = figures.measurements;
    if !run.broken.is_empty() {
        whole.notes.push(format!("tpcc-mysql marks as not good: {}", run.broken.join(", ")));
    }
    results.push(whole);
    for (name, counts) in TRANSACTIONS.iter().zip(run.transactions) {
        let Some(counts) = counts else { continue };
        let ended = counts.in_time + counts.late;
        let mut figures = Figures::default();
        figures.push_failed(Some(counts.failed), Some(ended), why);
        let per_minute = run.elapsed_s.filter(|seconds| *seconds > 0.0).map(|seconds| 60.0 * ended / seconds);
        figures.push_rate("throughput", "tx/min", Role::Secondary, per_minute);
        figures.push_response("mean", counts.mean_ms.map(|ms| ms * 1e3));
        figures.push_count("late", Some(counts.late));
        figures.push_count("retries", Some(counts.retries));
        let mut result = ImportedResult::new(system, "tpcc transactions");
        result.keys = run.keys.clone();
        result.places.clone_from(&run.places);
        result.keys.insert("tool".to_owned(), Value::Text(READER.name.to_owned()));
        result.keys.insert("transaction".to_owned(), Value::Text((*name).to_owned()));
        result.measurements = figures.measurements;
        results.push(result);
    }
    results
}
