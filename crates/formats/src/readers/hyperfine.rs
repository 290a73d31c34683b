//! hyperfine's `--export-json`: each time is a run of its own.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use model::{Measurement, Reading, Role, Value};
use serde_json::Value as Json;

use super::figures::{Figures, json_documents, json_key, json_number, lines_outside};
use crate::reader::{Found, Input, Names, Reader, Reads, is_json_with};
use crate::text::shorten_message;
use crate::{FormatError, Imported, ImportedResult};

pub const READER: Reader = Reader {
    name: "hyperfine",
    about: "JSON of hyperfine, `--export-json`",
    recognises: |text| is_json_with(text, &["results", "command", "mean", "stddev", "median"]),
    names: Names::File,
    reads: Reads::Text(read),
};

/// Reads hyperfine's JSON.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let documents = json_documents(input.text)?;
    let lists = documents.iter().filter_map(|json| json.get("results").and_then(Json::as_array));
    let results: Vec<&Json> = lists.flatten().collect();
    let commands: BTreeSet<String> = results.iter().map(|result| command_text(result)).collect();
    let is_swept = results.iter().any(|result| result.get("parameters").is_some());
    // `hyperfine 'psql a' 'psql b'` holds one against the other.
    let are_systems = commands.len() > 1 && !is_swept && !input.is_named;
    let mut imported =
        Imported::new(READER.name, input.source, ["the order of the runs", "the machine", "the version"]);
    for result in results {
        let name = command_text(result);
        let system = if are_systems { name.as_str() } else { input.system };
        imported.results.extend(result_runs(result, system, (!are_systems).then_some(name.as_str())));
    }
    if are_systems {
        imported.notes.push("each command is a system; `SYSTEM=FILE` makes them cases of one".to_owned());
    }
    imported.note_failed_results();
    Ok(Found { imported, not_understood: lines_outside(input.text) })
}

/// Gives the command that was timed, shortened.
fn command_text(result: &Json) -> String {
    shorten_message(result.get("command").and_then(Json::as_str).unwrap_or("command"))
}

/// Makes a result for each run of a command.
fn result_runs(json: &Json, system: &str, command: Option<&str>) -> Vec<ImportedResult> {
    let mut of_all = ImportedResult::new(system, "hyperfine");
    of_all.keys.extend(command.map(|command| ("command".to_owned(), Value::Text(command.to_owned()))));
    let parameters = json.get("parameters").and_then(Json::as_object).into_iter().flatten();
    of_all.keys.extend(parameters.filter_map(|(name, value)| Some((name.clone(), json_key(value)?))));
    let Some(times) = json.get("times").and_then(Json::as_array).filter(|times| !times.is_empty()) else {
        let mut figures = Figures::default();
        figures.push_cost("elapsed", "s", Role::Primary, json.get("mean").and_then(json_number));
        let note = "hyperfine kept no single times: the mean is one result".to_owned();
        return vec![ImportedResult { measurements: figures.measurements, notes: vec![note], ..of_all }];
    };
    times
        .iter()
        .enumerate()
        .map(|(at, time)| match failure_reason(json, at) {
            Some(how) => ImportedResult {
                keys: of_all.keys.clone(),
                ..ImportedResult::make_failed(system, "hyperfine", format!("the command ended {how}"))
            },
            None => {
                let mut figures = Figures::default();
                figures.push_cost("elapsed", "s", Role::Primary, json_number(time));
                ImportedResult { measurements: figures.measurements, ..of_all.clone() }
            }
        })
        .collect()
}

/// Makes one result of the times of each call, where several calls are of one case.
/// Times within a call are alike by what they share, its caches and the minute, so that they are no repetitions of each
/// other.
pub fn one_result_per_call(imports: &mut [Imported]) {
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    for import in imports.iter().filter(|import| import.tool == READER.name) {
        let cases: BTreeSet<String> = import.results.iter().map(ImportedResult::case_of_system).collect();
        cases.into_iter().for_each(|case| *calls.entry(case).or_default() += 1);
    }
    for import in imports.iter_mut().filter(|import| import.tool == READER.name) {
        let mut means: IndexMap<String, (ImportedResult, Vec<f64>)> = IndexMap::new();
        let mut kept = Vec::new();
        for result in std::mem::take(&mut import.results) {
            let case = result.case_of_system();
            match elapsed_of(&result) {
                Some(time) if calls.get(&case).is_some_and(|calls| *calls > 1) => {
                    means.entry(case).or_insert_with(|| (result, Vec::new())).1.push(time);
                }
                _ => kept.push(result),
            }
        }
        if means.values().any(|(_, times)| times.len() > 1) {
            import.notes.push("the times of a call count as one, their mean, since there are several calls".to_owned());
        }
        import.results.extend(means.into_values().map(|(mut result, times)| {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            result.measurements.iter_mut().for_each(|measurement| measurement.reading = Reading::Value(mean));
            result
        }));
        import.results.append(&mut kept);
    }
}

/// Gives the time of a run that succeeded.
fn elapsed_of(result: &ImportedResult) -> Option<f64> {
    match result.measurements.as_slice() {
        [Measurement { reading: Reading::Value(time), .. }] => Some(*time),
        _ => None,
    }
}

/// Explains how a command ended that did not succeed; `None` if it did or is not known.
fn failure_reason(json: &Json, at: usize) -> Option<String> {
    match json.get("exit_codes")?.as_array()?.get(at)?.as_i64() {
        Some(0) => None,
        Some(code) => Some(format!("with exit code {code}")),
        None => Some("without an exit code".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(times: &[f64]) -> Imported {
        let mut import = Imported::new(READER.name, "f", []);
        import.results.extend(times.iter().map(|time| {
            let mut figures = Figures::default();
            figures.push_cost("elapsed", "s", Role::Primary, Some(*time));
            ImportedResult { measurements: figures.measurements, ..ImportedResult::new("a", "hyperfine") }
        }));
        import
    }

    #[test]
    fn a_command_without_an_exit_code_failed() {
        let json = serde_json::json!({ "exit_codes": [0, 3, null] });
        let found = [0, 1, 2, 3].map(|at| failure_reason(&json, at));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(found, [None, some("with exit code 3"), some("without an exit code"), None]);
    }

    #[test]
    fn times_of_several_calls_count_as_one_each() {
        let mut alone = [call(&[1.0, 2.0, 3.0])];
        one_result_per_call(&mut alone);
        assert_eq!(alone[0].results.len(), 3, "of one call there is nothing else");
        let mut several = [call(&[1.0, 2.0, 3.0]), call(&[2.0, 4.0])];
        one_result_per_call(&mut several);
        let found: Vec<Option<f64>> = several.iter().map(|import| elapsed_of(&import.results[0])).collect();
        assert_eq!((found, several[0].results.len(), several[1].results.len()), (vec![Some(2.0), Some(3.0)], 1, 1));
    }
}
