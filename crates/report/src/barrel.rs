//! super-smack's Query Barrel Report, for programs that read it or comparison with old reports.
//!
//! Lines that begin with `#` are étalon's. Times are milliseconds with three decimals instead of whole ones.
//! `max_time` and `min_time` are the extremes of all queries; super-smack's are not, since each of its processes keeps
//! only its last query's time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{Case, RunState, Value};
use store::StoredMeasurement;

use crate::evidence::Evidence;
use crate::labels::unfinished_clause;
use crate::lookup::{Lookup, measurements_by_run};
use crate::number::median;
use crate::text::clean_text;
use crate::views::{Column, Entry, Form, Table, View};

/// Metric prefix per query type.
const THROUGHPUT: &str = "throughput_";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// One report for each case, of all its runs together.
    Together,
    /// One report for each run.
    Each,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BarrelReport {
    pub client: String,
    pub system: String,
    /// Distinguishes the benchmark's cases: `clients=4`.
    pub point: String,
    pub runs: usize,
    /// What others did is no median of the case.
    pub failed: usize,
    pub clients: Option<i64>,
    /// Longest, shortest and mean connection time, if measured.
    pub connect_ms: [Option<f64>; 3],
    pub kinds: Vec<KindRow>,
    pub marks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KindRow {
    pub name: String,
    /// Successes in the measured parts; `None` if their length is unknown.
    pub queries: Option<u64>,
    pub max_ms: Option<f64>,
    pub min_ms: Option<f64>,
    pub per_s: Option<f64>,
    /// Median of the runs' medians.
    pub p50_ms: Option<f64>,
    /// Median of the runs' p99.
    pub p99_ms: Option<f64>,
}

/// One run's values by metric.
struct Measured<'a> {
    id: i64,
    elapsed_s: f64,
    values: BTreeMap<&'a str, f64>,
}

/// Makes the reports of all cases in the plan's order, or of each run.
pub fn barrel_reports(evidence: &Evidence, split: Runs) -> Vec<BarrelReport> {
    let mut reports = Vec::new();
    let (lookup, measurements) = (Lookup::new(evidence), measurements_by_run(evidence));
    for (index, case) in (0..).zip(&evidence.cases) {
        let runs = measured_runs(&lookup, &measurements, index);
        match split {
            Runs::Together if runs.is_empty() => {}
            Runs::Together => reports.push(make_report(&lookup, case, &runs, lookup.failed_runs(index))),
            Runs::Each => reports.extend(runs.chunks(1).map(|one| make_report(&lookup, case, one, 0))),
        }
    }
    reports
}

/// Collects the values of a case's measured runs, run by run.
fn measured_runs<'a>(
    lookup: &Lookup<'a>,
    measurements: &BTreeMap<i64, Vec<&'a StoredMeasurement>>,
    case: u32,
) -> Vec<Measured<'a>> {
    let values = |id: i64| {
        let of_run = measurements.get(&id).into_iter().flatten();
        of_run.filter_map(|one| Some((one.measurement.metric.id.as_str(), one.measurement.reading.value()?)))
    };
    let runs = lookup.last_attempts(&[case]).filter(|run| run.state == RunState::Measured);
    runs.map(|one| Measured { id: one.id, elapsed_s: one.elapsed_s, values: values(one.id).collect() }).collect()
}

/// Makes the report of a case from its runs.
fn make_report(lookup: &Lookup<'_>, case: &Case, runs: &[Measured<'_>], failed: usize) -> BarrelReport {
    let point =
        lookup.varying_keys(&case.benchmark).iter().filter_map(|key| Some(format!("{key}={}", case.point.get(key)?)));
    let mut names: Vec<&str> =
        runs.iter().flat_map(|run| run.values.keys()).filter_map(|id| id.strip_prefix(THROUGHPUT)).collect();
    names.sort_unstable();
    names.dedup();
    let kinds = if names.is_empty() {
        vec![KindRow { name: script_file_stem(case), ..kind_row("", runs, failed) }]
    } else {
        names
            .into_iter()
            .map(|name| KindRow { name: name.to_owned(), ..kind_row(&format!("_{name}"), runs, failed) })
            .collect()
    };
    let mut marks: Vec<String> = runs
        .iter()
        .flat_map(|run| lookup.marks_of_run(run.id))
        .map(|mark| format!("{}: {}", mark.kind.as_str(), mark.to_string().replace('\n', " ")))
        .collect();
    marks.sort();
    marks.dedup();
    BarrelReport {
        client: case.benchmark.clone(),
        system: case.system.clone(),
        point: point.collect::<Vec<_>>().join(", "),
        runs: runs.len(),
        failed,
        clients: case.point.get("clients").and_then(Value::as_int),
        connect_ms: [
            us_to_ms(values_of(runs, "connect_max").max_by(f64::total_cmp)),
            us_to_ms(values_of(runs, "connect_min").min_by(f64::total_cmp)),
            us_to_ms(mean(values_of(runs, "connect_mean"))),
        ],
        kinds,
        marks,
    }
}

/// The name of a case's script, without folder and ending; it is the default for the only type of query.
fn script_file_stem(case: &Case) -> String {
    let script = case.point.get("script").and_then(Value::as_text).unwrap_or(&case.benchmark);
    let file = script.rsplit(['/', '\\']).next().unwrap_or(script);
    file.strip_suffix(".smack").unwrap_or(file).to_owned()
}

/// A metric's values in all runs; none if one run does not have it.
fn values_of(runs: &[Measured<'_>], id: &str) -> impl Iterator<Item = f64> {
    // Of all runs or of none: the others would stand for those that lack it.
    let all: Option<Vec<f64>> = runs.iter().map(|run| run.values.get(id).copied()).collect();
    all.into_iter().flatten()
}

/// The mean of values; `None` if there are none.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Converts microseconds to milliseconds.
fn us_to_ms(us: Option<f64>) -> Option<f64> {
    us.map(|us| us / 1e3)
}

/// Makes the row of one kind of query, whose metrics end in `suffix`.
fn kind_row(suffix: &str, runs: &[Measured<'_>], failed: usize) -> KindRow {
    let rate = format!("throughput{suffix}");
    // Recovers the count from the rate.
    let counted = |run: &Measured<'_>| Some((run.values.get(rate.as_str())? * run.elapsed_s).round());
    let counts: Vec<(f64, f64)> = runs.iter().filter_map(|one| Some((counted(one)?, one.elapsed_s))).collect();
    let (queries, seconds) = counts.iter().fold((0.0, 0.0), |(n, s), (count, elapsed)| (n + count, s + elapsed));
    KindRow {
        name: String::new(),
        queries: (seconds > 0.0).then_some(queries as u64),
        max_ms: us_to_ms(values_of(runs, &format!("response_max{suffix}")).max_by(f64::total_cmp)),
        min_ms: us_to_ms(values_of(runs, &format!("response_min{suffix}")).min_by(f64::total_cmp)),
        per_s: (seconds > 0.0).then(|| queries / seconds),
        p50_ms: median_ms(suffix, runs, failed, "response_p50"),
        p99_ms: median_ms(suffix, runs, failed, "response_p99"),
    }
}

/// The median over the runs of a time, in ms; `None` if a run failed.
fn median_ms(suffix: &str, runs: &[Measured<'_>], failed: usize, name: &str) -> Option<f64> {
    if failed > 0 {
        return None;
    }
    us_to_ms(median(values_of(runs, &format!("{name}{suffix}"))))
}

/// Makes tables of the reports, for programs; the text is super-smack's own.
pub fn table_views(evidence: &Evidence) -> Vec<View> {
    let missing = "the runs do not tell it, or one of them failed";
    let units = [("max_time", "ms"), ("min_time", "ms"), ("q_per_s", "queries/s"), ("p50", "ms"), ("p99", "ms")];
    // Other workloads have no queries.
    barrel_reports(evidence, Runs::Together)
        .iter()
        .filter(|of| of.kinds.iter().any(|kind| kind.queries.is_some()))
        .map(|of| {
            let case = [of.client.as_str(), of.point.as_str(), of.system.as_str()];
            let case: Vec<&str> = case.into_iter().filter(|part| !part.is_empty()).collect();
            let heads = [Column::of_words("query_type"), Column::new("num_queries", "")];
            View::Table(Table {
                family: "transactions",
                case: case.join(", "),
                title: format!("Query Barrel Report: {}", crate::number::count_noun(of.runs, "run")),
                columns: heads.into_iter().chain(units.map(|(name, unit)| Column::new(name, unit))).collect(),
                rows: of
                    .kinds
                    .iter()
                    .map(|kind| {
                        let figures = [
                            kind.queries.map(|n| n as f64),
                            kind.max_ms,
                            kind.min_ms,
                            kind.per_s,
                            kind.p50_ms,
                            kind.p99_ms,
                        ];
                        let figures = figures.map(|figure| Entry::from_value(figure, Form::Significant, missing));
                        std::iter::once(Entry::of_text(&kind.name)).chain(figures).collect()
                    })
                    .collect(),
                notes: of.marks.iter().map(|mark| format!("marked {mark}")).collect(),
                ..Table::default()
            })
        })
        .collect()
}

/// Writes a number with this many decimals, or `n/a`.
pub fn decimal_text(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Writes a whole number, or `n/a`.
pub fn whole_text(value: Option<u64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| value.to_string())
}

/// Writes a report as super-smack does, cleaned so that names from files and servers cannot control a terminal.
pub fn render_report(report: &BarrelReport) -> String {
    let mut harmless = report.clone();
    let names = harmless.kinds.iter_mut().map(|kind| &mut kind.name);
    let all = [&mut harmless.client, &mut harmless.system, &mut harmless.point].into_iter();
    all.chain(names).chain(&mut harmless.marks).for_each(|text| *text = clean_text(text));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_report(&harmless, &mut text);
    text
}

/// Writes the lines below each set of reports: what the extremes are, and how much has not run yet.
pub fn footnote(evidence: &Evidence) -> String {
    let is_judged = evidence.is_judged_after_each_round();
    let so_far = evidence.progress_if_unfinished().map_or_else(String::new, |found| {
        format!("# {}\n", unfinished_clause(&found, is_judged, evidence.is_import()))
    });
    format!("# max_time and min_time are the true extremes, in ms; super-smack's own are not\n{so_far}")
}

/// Writes a report's lines in super-smack's form.
fn write_report(report: &BarrelReport, text: &mut String) -> std::fmt::Result {
    let point = if report.point.is_empty() { String::new() } else { format!(", {}", report.point) };
    let runs = crate::number::count_noun(report.runs, "run");
    let failed = if report.failed > 0 { format!(", and {} failed", report.failed) } else { String::new() };
    writeln!(text, "# system {}{point}: {runs}{failed}", report.system)?;
    writeln!(text, "Query Barrel Report for client {}", report.client)?;
    let clients = report.clients.map_or_else(|| "n/a".to_owned(), |clients| clients.to_string());
    let (max, min, avg) = (connect_time_text(report, 0), connect_time_text(report, 1), connect_time_text(report, 2));
    writeln!(text, "connect: max={max}  min={min} avg= {avg} from {clients} clients ")?;
    writeln!(text, "Query_type\tnum_queries\tmax_time\tmin_time\tq_per_s")?;
    for kind in &report.kinds {
        let (max, min, per_s) =
            (decimal_text(kind.max_ms, 3), decimal_text(kind.min_ms, 3), decimal_text(kind.per_s, 2));
        writeln!(text, "{}\t{}\t{max}\t{min}\t{per_s}", kind.name, whole_text(kind.queries))?;
    }
    let of = if report.runs == 1 { "" } else { ", median of the runs" };
    for kind in &report.kinds {
        writeln!(text, "# {}: p50 {}, p99 {}{of}", kind.name, ms_text(kind.p50_ms), ms_text(kind.p99_ms))?;
    }
    for mark in &report.marks {
        writeln!(text, "# marked {mark}")?;
    }
    Ok(())
}

/// Writes the connect time at an index of `connect_ms`, or `n/a`.
fn connect_time_text(report: &BarrelReport, place: usize) -> String {
    match report.connect_ms[place] {
        Some(ms) => format!("{ms:.3}ms"),
        None => "n/a".to_owned(),
    }
}

/// Writes a time in ms, or `n/a`.
fn ms_text(ms: Option<f64>) -> String {
    ms.map_or_else(|| "n/a".to_owned(), |ms| format!("{ms:.3} ms"))
}
