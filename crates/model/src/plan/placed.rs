//! The place of a key that `--set` names alone: `scale` for `benchmarks.*.scale`, `rounds` for `schedule.rounds`.

use super::file::{SCHEDULE_KEYS, TOP_KEYS, benchmark_name};
use super::set::Refusal;
use super::tree::{Data, Entry, find_entry};
use crate::catalog::Catalog;

/// Completes a path whose first key is none of a plan's to those of the schedule or of the benchmarks with that key.
/// Other paths stay as they are.
///
/// # Errors
/// It is a key of the schedule and of benchmarks.
pub(super) fn full_paths(root: &[Entry], keys: Vec<String>, catalog: &Catalog) -> Result<Vec<Vec<String>>, Refusal> {
    if keys.first().is_none_or(|first| TOP_KEYS.contains(&first.as_str())) {
        return Ok(vec![keys]);
    }
    let key = keys.join(".");
    let benchmarks = benchmarks_with(root, &key, catalog);
    match (SCHEDULE_KEYS.contains(&key.as_str()), benchmarks.is_empty()) {
        (true, true) => Ok(vec![vec!["schedule".to_owned(), key]]),
        (true, false) => {
            let message = format!("`{key}` is a key of the schedule and of benchmarks");
            let hint = format!("name one: `schedule.{key}` or `benchmarks.*.{key}`");
            Err(Refusal { message, hint: Some(hint) })
        }
        (false, false) => {
            let paths = benchmarks.into_iter().map(|name| [vec!["benchmarks".to_owned(), name], keys.clone()].concat());
            Ok(paths.collect())
        }
        (false, true) => Ok(vec![keys]),
    }
}

/// Lists the benchmarks whose workload has a key, by name, or by index where they have none.
fn benchmarks_with(root: &[Entry], key: &str, catalog: &Catalog) -> Vec<String> {
    let Some(Data::List(benchmarks)) = find_entry(root, "benchmarks").map(|entry| &entry.value.data) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (place, benchmark) in benchmarks.iter().enumerate() {
        if let Data::Table(entries) = &benchmark.data
            && has_key(entries, key, catalog)
        {
            found.push(benchmark_name(entries).unwrap_or_else(|| place.to_string()));
        }
    }
    found
}

/// Whether a benchmark's workload has a key.
fn has_key(benchmark: &[Entry], key: &str, catalog: &Catalog) -> bool {
    let Some(Data::Text(workload)) = find_entry(benchmark, "workload").map(|entry| &entry.value.data) else {
        return false;
    };
    catalog.workload(workload).is_some_and(|known| known.keys.iter().any(|spec| spec.name == key))
}
