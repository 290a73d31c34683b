//! Projections: which keys make tables, rows and sides.
//!
//! After Go's benchstat: results have keys (`benchmark`, `system`, `metric` and the sweep's). Compared keys make
//! sides, others rows and tables; an unused key that varies is *hidden*: its runs are pooled, and the row says so.

use std::collections::{BTreeMap, BTreeSet};

use model::{Case, Point};

use super::options::{CompareError, Options};

pub const KEY_SYSTEM: &str = "system";
pub const KEY_BENCHMARK: &str = "benchmark";
pub const KEY_METRIC: &str = "metric";

/// The metric is always part of a row: two metrics are never pooled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    pub by: Vec<String>,
    pub rows: Vec<String>,
    pub cols: Vec<String>,
    /// Each metric has its own tables.
    pub table_per_metric: bool,
}

/// A case's value of a key as text; `None` if the workload has no such key.
pub fn value_of_key(case: &Case, key: &str) -> Option<String> {
    match key {
        KEY_BENCHMARK => Some(case.benchmark.clone()),
        KEY_SYSTEM => Some(case.system.clone()),
        _ => case.point.get(key).map(ToString::to_string),
    }
}

/// A case's values of keys as texts, `-` where the workload has no such key.
pub fn values_of_keys(case: &Case, keys: &[String]) -> Vec<String> {
    keys.iter().map(|key| value_of_key(case, key).unwrap_or_else(|| "-".to_owned())).collect()
}

/// The label of a case's side: the value of a single key, else `key=value` of each.
pub fn side_label(case: &Case, cols: &[String]) -> String {
    let values = values_of_keys(case, cols);
    match (cols, values.as_slice()) {
        ([_], [value]) => value.clone(),
        _ => cols.iter().zip(&values).map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "),
    }
}

/// Lists the keys by which any result can be selected.
pub fn known_keys(cases: &[Case]) -> Vec<String> {
    let points: BTreeSet<&String> = cases.iter().flat_map(|case| case.point.keys()).collect();
    [KEY_BENCHMARK, KEY_SYSTEM, KEY_METRIC].into_iter().map(str::to_owned).chain(points.into_iter().cloned()).collect()
}

/// Lists the sweep keys with several values within a benchmark.
pub fn varying_point_keys(cases: &[Case]) -> Vec<String> {
    let mut firsts: BTreeMap<&str, &Point> = BTreeMap::new();
    for case in cases {
        firsts.entry(&case.benchmark).or_insert(&case.point);
    }
    let differs = |case: &Case, key: &String| {
        firsts.get(case.benchmark.as_str()).is_some_and(|first| first.get(key) != case.point.get(key))
    };
    let keys: BTreeSet<&String> = cases.iter().flat_map(|case| case.point.keys()).collect();
    keys.into_iter().filter(|key| cases.iter().any(|case| differs(case, key))).cloned().collect()
}

/// Keys that say how much is asked, not of what: their values are places on a curve, and no sides.
const AXES: [&str; 10] =
    ["clients", "depth", "rate", "scale", "size_mb", "size_mib", "span_mb", "tasks", "threads", "warehouses"];

/// Finds the only key that varies in a single system's cases, with the value that others are compared with; else `None`.
/// It has to have the same values in all benchmarks.
pub fn only_factor(cases: &[Case]) -> Option<(String, String)> {
    let first = cases.first()?;
    let varying = varying_point_keys(cases);
    let [key] = varying.as_slice() else { return None };
    let values: BTreeSet<(&str, Option<String>)> =
        cases.iter().map(|case| (case.benchmark.as_str(), value_of_key(case, key))).collect();
    let benchmarks: BTreeSet<&str> = cases.iter().map(|case| case.benchmark.as_str()).collect();
    let of_first: Vec<Option<String>> =
        values.iter().filter(|(name, _)| *name == first.benchmark).map(|(_, value)| value.clone()).collect();
    let is_whole = values.len() == of_first.len() * benchmarks.len();
    let is_factor = is_whole && !AXES.contains(&key.as_str()) && cases.iter().all(|case| case.system == first.system);
    let none = of_first.iter().flatten().find(|value| *value == "none").cloned();
    let baseline = none.or_else(|| value_of_key(first, key))?;
    is_factor.then(|| (key.clone(), baseline))
}

/// Filters the keys that have several values in `cases`.
pub fn varying_keys(cases: &[&Case], keys: &[String]) -> Vec<String> {
    keys.iter().filter(|key| varies(cases, key)).cloned().collect()
}

/// Whether a key has several values in `cases`.
fn varies(cases: &[&Case], key: &str) -> bool {
    let mut values = cases.iter().map(|case| value_of_key(case, key));
    let first = values.next();
    first.is_some_and(|first| values.any(|other| other != first))
}

impl Projection {
    /// The sides if they are systems; none, which stands for all, where something else is compared.
    pub fn systems_among<'s>(&self, sides: impl Iterator<Item = &'s String>) -> Vec<String> {
        if self.cols == [KEY_SYSTEM] { sides.cloned().collect() } else { Vec::new() }
    }

    /// Makes the projection that the options ask for.
    /// By default systems are compared, benchmarks make tables, and other varying keys rows.
    ///
    /// # Errors
    /// An unknown or repeated key, or metrics compared with each other.
    pub fn new(cases: &[Case], options: &Options) -> Result<Projection, CompareError> {
        let taken: Vec<String> = [&options.rows, &options.cols, &options.by]
            .into_iter()
            .flat_map(|keys| keys.clone().unwrap_or_default())
            .collect();
        check_keys(&taken, cases)?;
        let mut cols = options.cols.clone().unwrap_or_else(|| unless_taken(KEY_SYSTEM, &taken));
        if cols.is_empty() {
            cols = vec![KEY_SYSTEM.to_owned()];
        }
        if cols.iter().any(|key| key == KEY_METRIC) {
            return Err(CompareError::MetricsCompared);
        }
        let by = options.by.clone().unwrap_or_else(|| unless_taken(KEY_BENCHMARK, &taken));
        let rows = options.rows.clone().unwrap_or_else(|| {
            let names = [KEY_BENCHMARK, KEY_SYSTEM].into_iter().map(str::to_owned);
            names.chain(varying_point_keys(cases)).filter(|key| !(cols.contains(key) || by.contains(key))).collect()
        });
        let table_per_metric = by.iter().any(|key| key == KEY_METRIC);
        Ok(Projection { by: without_metric(by), rows: without_metric(rows), cols, table_per_metric })
    }

    /// Lists the keys that make neither tables, rows nor sides.
    pub fn unused_keys(&self, cases: &[Case]) -> Vec<String> {
        known_keys(cases).into_iter().filter(|key| !self.uses_key(key)).collect()
    }

    /// Whether a key distinguishes tables, rows or columns.
    fn uses_key(&self, key: &String) -> bool {
        key == KEY_METRIC || [&self.by, &self.rows, &self.cols].into_iter().any(|keys| keys.contains(key))
    }
}

/// Filters out the key of metrics.
fn without_metric(keys: Vec<String>) -> Vec<String> {
    keys.into_iter().filter(|key| key != KEY_METRIC).collect()
}

/// The key in a list; an empty list if it is taken.
fn unless_taken(key: &str, taken: &[String]) -> Vec<String> {
    if !taken.iter().any(|t| t == key) { vec![key.to_owned()] } else { Vec::new() }
}

/// Fails on keys that no case has, or that are named twice.
fn check_keys(keys: &[String], cases: &[Case]) -> Result<(), CompareError> {
    let known = known_keys(cases);
    for (index, key) in keys.iter().enumerate() {
        if !known.contains(key) {
            return Err(CompareError::UnknownKey { key: key.clone(), known });
        }
        if keys[..index].contains(key) {
            return Err(CompareError::KeyTwice(key.clone()));
        }
    }
    Ok(())
}
