//! ClickBench's result of a system: one JSON document, a row of three tries for each query.

use model::{Point, Role, Value};
use serde_json::Value as Json;

use super::figures::{Figures, json_documents, json_number, lines_outside};
use crate::reader::{Found, Input, Names, Reader, Reads, is_json_with};
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "clickbench",
    about: "JSON of ClickBench, a system in a file",
    recognises: |text| is_json_with(text, &["system", "machine", "load_time", "result"]),
    names: Names::File,
    reads: Reads::Text(read),
};

/// Reads ClickBench's results.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut imported = Imported::new(READER.name, input.source, ["the order of the runs", "the server's settings"]);
    json_documents(input.text)?.iter().for_each(|json| add_system(json, input, &mut imported));
    imported.note_failed_results();
    Ok(Found { imported, not_understood: lines_outside(input.text) })
}

/// Adds a result for each query of one system, and one of its load.
fn add_system(json: &Json, input: &Input<'_>, imported: &mut Imported) {
    let own: Vec<&str> = [json.get("system").and_then(Json::as_str), json.get("machine").and_then(Json::as_str)]
        .into_iter()
        .flatten()
        .collect();
    let system = if input.is_named || own.is_empty() { input.system.to_owned() } else { own.join(", ") };
    let mut of_system = Point::new();
    for name in ["system", "machine"] {
        places::put_place(&mut of_system, name, json.get(name).and_then(Json::as_str));
    }
    let Some(queries) = json.get("result").and_then(Json::as_array) else { return };
    for (number, tries) in queries.iter().enumerate() {
        let tries: Vec<Option<f64>> = tries.as_array().into_iter().flatten().map(json_number).collect();
        if tries.is_empty() {
            continue;
        }
        let query = Value::Text(format!("Q{number}"));
        let Some(cold) = tries.first().copied().flatten() else {
            let reason = "ClickBench has no time: the query failed or was not run".to_owned();
            let mut result = ImportedResult::make_failed(&system, "clickbench", reason);
            result.keys.insert("query".to_owned(), query);
            result.places.clone_from(&of_system);
            imported.results.push(result);
            continue;
        };
        let mut result = ImportedResult::new(&system, "clickbench");
        result.keys.insert("query".to_owned(), query);
        result.places.clone_from(&of_system);
        let mut figures = Figures::default();
        figures.push_cost("cold_time", "s", Role::Primary, Some(cold));
        // The better of the second and the third, by ClickBench's rule.
        figures.push_cost("hot_time", "s", Role::Primary, tries.iter().skip(1).copied().flatten().reduce(f64::min));
        result.measurements = figures.measurements;
        imported.results.push(result);
    }
    let mut load = ImportedResult::new(&system, "clickbench load");
    load.places = of_system;
    let mut figures = Figures::default();
    figures.push_cost(
        "load_time",
        "s",
        Role::Primary,
        json.get("load_time").and_then(json_number).filter(|s| *s > 0.0),
    );
    figures.push_cost("data_size", "B", Role::Secondary, json.get("data_size").and_then(json_number));
    load.measurements = figures.measurements;
    imported.results.extend(Some(load).filter(|load| !load.measurements.is_empty()));
}
