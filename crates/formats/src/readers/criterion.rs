//! Criterion: `target/criterion/**/estimates.json`, and the lines of `cargo criterion --message-format=json`.

use model::{Role, Value};
use serde_json::Value as Json;

use super::figures::{Figures, json_documents, json_number};
use crate::reader::{Found, Input, Names, Reader, Reads, is_json_with};
use crate::text::numbered_lines;
use crate::{FormatError, Imported, ImportedResult, NotUnderstood};

pub const READER: Reader = Reader {
    name: "criterion",
    about: "estimates.json of Criterion, and the lines of `cargo criterion --message-format=json`",
    recognises: |text| {
        is_json_with(text, &["mean", "median", "point_estimate", "standard_error"])
            || is_json_with(text, &["Mean", "Median", "point_estimate", "standard_error"])
            || text.contains("\"reason\":\"benchmark-complete\"")
    },
    names: Names::File,
    reads: Reads::Text(read),
};

/// Reads Criterion's estimates or messages.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut imported = Imported::new(READER.name, input.source, ["the machine", "the order of the benchmarks"]);
    let mut not_understood = Vec::new();
    if !input.text.contains("\"reason\":") {
        imported
            .results
            .extend(json_documents(input.text)?.iter().filter_map(|json| result_from_estimates(json, input)));
        return Ok(imported.into());
    }
    for (number, line) in numbered_lines(input.text).filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Json>(line) {
            Ok(json) => imported.results.extend(result_from_message(&json, input.system)),
            Err(_) => not_understood.push(NotUnderstood::new(number, line)),
        }
    }
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Makes the result of an `estimates.json`, whose benchmark its folder names.
/// The file does not tell it: `criterion/GROUP/NAME/BASELINE/estimates.json`.
fn result_from_estimates(json: &Json, input: &Input<'_>) -> Option<ImportedResult> {
    let mut parts: Vec<&str> = input.source.split(['/', '\\']).collect();
    parts.pop();
    let baseline = parts.pop().unwrap_or(input.system);
    // How the last run changed is no measurement.
    if baseline == "change" {
        return None;
    }
    let name = match parts.iter().rposition(|part| *part == "criterion") {
        Some(at) => parts[at + 1..].join("/"),
        None => {
            let below: Vec<&str> =
                input.below.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
            below[..below.len().saturating_sub(2)].join("/")
        }
    };
    let system = if input.is_named { input.system } else { baseline };
    // Up to version 0.3 the names are capitalised.
    let estimate =
        |names: [&str; 2]| names.iter().find_map(|name| json.get(*name)?.get("point_estimate").and_then(json_number));
    let (mean, median, slope) =
        (estimate(["mean", "Mean"]), estimate(["median", "Median"]), estimate(["slope", "Slope"]));
    let mut result = make_result(system, &name, mean, median, slope);
    if input.is_named {
        // Two baselines of a system are no repetitions.
        result.keys.insert("baseline".to_owned(), Value::Text(baseline.to_owned()));
    }
    Some(result)
}

/// Makes the result in a message of `--message-format=json`.
fn result_from_message(json: &Json, system: &str) -> Option<ImportedResult> {
    (json.get("reason")?.as_str()? == "benchmark-complete").then_some(())?;
    let name = json.get("id")?.as_str()?;
    Some(make_result(
        system,
        name,
        point_estimate(json, "mean"),
        point_estimate(json, "median"),
        point_estimate(json, "slope"),
    ))
}

/// Reads an estimate of this name, ns.
fn point_estimate(json: &Json, of: &str) -> Option<f64> {
    json.get(of)?.get("estimate").and_then(json_number)
}

/// Makes the result of a benchmark: its slope or else mean as the time, its mean and its median.
fn make_result(system: &str, name: &str, mean: Option<f64>, median: Option<f64>, slope: Option<f64>) -> ImportedResult {
    let mut figures = Figures::default();
    // Criterion's own "time" is the slope, where it has one.
    figures.push_cost("time", "ns", Role::Primary, slope.or(mean));
    figures.push_cost("time_mean", "ns", Role::Secondary, mean);
    figures.push_cost("time_median", "ns", Role::Secondary, median);
    let mut result = ImportedResult::new(system, "criterion");
    let name = if name.is_empty() { "benchmark" } else { name };
    result.keys.insert("name".to_owned(), Value::Text(name.to_owned()));
    result.measurements = figures.measurements;
    result
}
