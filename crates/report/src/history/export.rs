//! A history in the forms of tools that keep series of their own.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use store::history::HistoryPoint;

use super::series::{FollowedHistory, FollowedRow};

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    /// CSV as Apache Otava reads it: a line for each experiment, a column for each row.
    Otava,
    /// JSON as github-action-benchmark reads it from a custom tool: the newest experiment's rows with one better way.
    GithubActionBenchmark,
    /// The Bencher Metric Format: the newest experiment's rows.
    Bencher,
    /// The text format of Prometheus: the newest experiment's rows.
    Prometheus,
}

/// Why a history has no such form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("the history has no experiment")]
    Empty,
    #[error("github-action-benchmark takes rows with one better way, and this history has both")]
    BothWays,
    #[error("no row of the newest experiment has that better way")]
    NoneOfThatWay,
}

/// Writes a history in a form; `better` is `higher` or `lower`, where only rows with that better way are written.
///
/// # Errors
/// There is nothing to write, or the form takes one better way and none is named.
pub fn export_history(
    history: &FollowedHistory,
    format: HistoryFormat,
    better: Option<&str>,
) -> Result<String, ExportError> {
    let newest = history.experiments.len().checked_sub(1).ok_or(ExportError::Empty)?;
    let current: Vec<(&FollowedRow, &HistoryPoint)> = history
        .rows
        .iter()
        .filter(|row| better.is_none_or(|better| row.key.direction == better))
        .filter_map(|row| row.last_point().filter(|(at, _)| *at == newest).map(|(_, point)| (row, point)))
        .collect();
    let Some((first, _)) = current.first() else { return Err(ExportError::NoneOfThatWay) };
    match format {
        HistoryFormat::Otava => Ok(otava_csv(history, &current)),
        HistoryFormat::GithubActionBenchmark
            if current.iter().any(|(row, _)| row.key.direction != first.key.direction) =>
        {
            Err(ExportError::BothWays)
        }
        HistoryFormat::GithubActionBenchmark => Ok(github_json(history, &current)),
        HistoryFormat::Bencher => Ok(bencher_json(&current)),
        HistoryFormat::Prometheus => Ok(prometheus_text(history, &current)),
    }
}

/// Names a row in one word for each part: `build.select-only.clients=4.throughput`.
fn dotted_name(row: &FollowedRow) -> String {
    let keys = row.all_keys().replace(", ", ",");
    let parts = [row.key.system.as_str(), row.key.benchmark.as_str(), keys.as_str(), row.key.metric.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
}

/// The unit of a row's values.
fn unit_of(row: &FollowedRow) -> String {
    match &row.key.anchor {
        Some(anchor) => format!("ratio to {anchor}"),
        None => row.key.unit.clone(),
    }
}

/// Writes the experiments that have all of these rows; Otava reads no line with an empty cell.
fn otava_csv(history: &FollowedHistory, rows: &[(&FollowedRow, &HistoryPoint)]) -> String {
    let names = rows.iter().map(|(row, _)| dotted_name(row));
    let head = ["time", "experiment", "commit"].into_iter().map(str::to_owned).chain(names);
    let mut out = csv_line(head);
    for (at, experiment) in history.experiments.iter().enumerate() {
        let values = rows.iter().map(|(row, _)| {
            let found = row.points.binary_search_by_key(&at, |(at, _)| *at).ok()?;
            Some(row.points[found].1.value.to_string())
        });
        if let Some(values) = values.collect::<Option<Vec<String>>>() {
            let time = jiff::Timestamp::from_millisecond(experiment.created_unix_ms);
            let time = time.map(|time| time.strftime("%Y-%m-%d %H:%M:%S +0000").to_string()).unwrap_or_default();
            let own = [time, experiment.name.clone(), experiment.commit.clone().unwrap_or_default()];
            out.push_str(&csv_line(own.into_iter().chain(values)));
        }
    }
    out
}

/// Writes a line of CSV, quoted where that is needed (RFC 4180); line ends within a cell become spaces.
fn csv_line(cells: impl IntoIterator<Item = String>) -> String {
    let cells = cells.into_iter().map(|cell| {
        let cell = cell.replace(['\n', '\r'], " ");
        if cell.contains([',', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    });
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// Writes the array that `customBiggerIsBetter` and `customSmallerIsBetter` read (github-action-benchmark, README, "Custom").
fn github_json(history: &FollowedHistory, rows: &[(&FollowedRow, &HistoryPoint)]) -> String {
    let name = history.experiments.last().map_or("", |experiment| experiment.name.as_str());
    let entries = rows.iter().map(|(row, point)| {
        let mut entry =
            json!({ "name": dotted_name(row), "unit": unit_of(row), "value": point.value, "extra": format!("experiment: {name}") });
        if let (Some([low, high]), Some(entry)) = (point.interval, entry.as_object_mut()) {
            entry.insert("range".to_owned(), json!(format!("± {}", range_text((high - low) / 2.0))));
        }
        entry
    });
    pretty(&entries.collect())
}

/// Writes half an interval with three digits at least, however small it is.
fn range_text(half: f64) -> String {
    let decimals = if half > 0.0 && half < 1.0 { 3.0 - half.log10().ceil() } else { 3.0 };
    format!("{half:.0$}", decimals.clamp(3.0, 20.0) as usize)
}

/// Writes the Bencher Metric Format: benchmark, measure, value and its interval (bencher.dev/docs/reference/bencher-metric-format).
/// A ratio is another measure than the value, since Bencher gives `throughput` a unit of its own.
fn bencher_json(rows: &[(&FollowedRow, &HistoryPoint)]) -> String {
    let mut all = Map::new();
    for (row, point) in rows {
        let key = &row.key;
        let keys = row.all_keys();
        let parts = [key.system.as_str(), key.benchmark.as_str(), keys.as_str()];
        let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let measure = key.metric.clone() + if key.anchor.is_some() { "-ratio" } else { "" };
        let mut metric = json!({ "value": point.value });
        if let (Some([low, high]), Some(metric)) = (point.interval, metric.as_object_mut()) {
            metric.insert("lower_value".to_owned(), json!(low));
            metric.insert("upper_value".to_owned(), json!(high));
        }
        let measures = all.entry(name).or_insert_with(|| json!({}));
        if let Some(measures) = measures.as_object_mut() {
            measures.insert(measure, metric);
        }
    }
    pretty(&Value::Object(all))
}

/// Writes JSON for people and programs.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A gauge: its name, its help, and its value of a row's newest point.
type Gauge = (&'static str, &'static str, fn(&FollowedRow, &HistoryPoint) -> Option<f64>);

/// Writes gauges in the text format of Prometheus: value, interval and alarm of each row, and when they were measured.
fn prometheus_text(history: &FollowedHistory, rows: &[(&FollowedRow, &HistoryPoint)]) -> String {
    let gauges: [Gauge; 4] = [
        ("value", "Newest value of a row; a ratio where `anchor` is not empty.", |_, point| Some(point.value)),
        ("low", "Lower end of the value's interval.", |_, point| point.interval.map(|ends| ends[0])),
        ("high", "Upper end of the value's interval.", |_, point| point.interval.map(|ends| ends[1])),
        ("alarm", "1 where the row's level has changed for the worse, else 0.", |row, _| {
            let is_worse = row.alarm().is_some_and(|found| found.is_worse == Some(true));
            Some(f64::from(u8::from(is_worse)))
        }),
    ];
    let mut out = String::new();
    for (name, help, read) in gauges {
        let _ = writeln!(out, "# HELP etalon_history_{name} {help}\n# TYPE etalon_history_{name} gauge");
        for (row, point) in rows {
            if let Some(value) = read(row, point) {
                let _ = writeln!(out, "etalon_history_{name}{{{}}} {value}", labels_of(row));
            }
        }
    }
    let seconds = history.experiments.last().map_or(0.0, |experiment| experiment.created_unix_ms as f64 / 1_000.0);
    let name = "etalon_history_experiment_timestamp_seconds";
    let _ = writeln!(out, "# HELP {name} When the newest experiment began.\n# TYPE {name} gauge\n{name} {seconds}");
    out
}

/// Writes a row's labels, escaped as the format has it.
fn labels_of(row: &FollowedRow) -> String {
    let key = &row.key;
    let keys = row.all_keys();
    let labels = [
        ("system", key.system.as_str()),
        ("benchmark", key.benchmark.as_str()),
        ("case", keys.as_str()),
        ("metric", key.metric.as_str()),
        ("unit", if key.anchor.is_some() { "" } else { key.unit.as_str() }),
        ("anchor", key.anchor.as_deref().unwrap_or_default()),
    ];
    let escaped = labels.map(|(name, value)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    escaped.join(",")
}
