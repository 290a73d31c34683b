//! Spatial queries as they were published: processor time and elapsed time of each query, who gains how much, and what
//! all of them come to.

use maud::{Markup, html};

use super::bars::{Bar, Bars};
use super::cells::{CellView, points, views};
use crate::evidence::Evidence;
use crate::number::{Script, significant};

/// The workload whose cells are shown.
const WORKLOAD: &str = "spatial";
/// What the published estimator's figures are called: the mean of the runs without the shortest and the longest.
const ELAPSED: &str = "published/";
const CPU: &str = "cpu/";
/// The figure of all queries together.
const SUITE: &str = "suite";
/// A gain of more than so much is counted by itself, as in the published text.
const LARGE_GAIN: f64 = 1.5;

/// One system's means over the trials.
struct Column {
    system: String,
    index: usize,
    /// By query: elapsed and processor time in milliseconds, or why there is none.
    times: Vec<[Result<f64, String>; 2]>,
}

/// The tables of an experiment; nothing if it has no spatial queries.
pub fn view(evidence: &Evidence) -> Option<Markup> {
    let all = views(evidence);
    let is_spatial = |view: &&CellView<'_>| {
        view.systems.first().and_then(|s| evidence.cell(s.cell)).is_some_and(|cell| cell.workload == WORKLOAD)
    };
    let spatial: Vec<&CellView<'_>> = all.iter().filter(is_spatial).collect();
    if spatial.is_empty() {
        return None;
    }
    Some(html! { @for (number, view) in spatial.iter().enumerate() { (one(evidence, view, number)) } })
}

/// The queries in the order of the trials' figures, the sum of all at the end.
fn queries(evidence: &Evidence, view: &CellView<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for stored in evidence.measurements.iter().filter(|stored| view.systems.iter().any(|s| s.cell == stored.cell)) {
        if let Some(query) = stored.measurement.metric.id.strip_prefix(ELAPSED)
            && !found.iter().any(|known| known == query)
        {
            found.push(query.to_owned());
        }
    }
    found.sort_by_key(|query| query == SUITE);
    found
}

fn one(evidence: &Evidence, view: &CellView<'_>, number: usize) -> Markup {
    let queries = queries(evidence, view);
    let column = |system: &super::cells::SystemCell<'_>| Column {
        system: system.name.to_owned(),
        index: system.index,
        times: queries
            .iter()
            .map(|query| [ELAPSED, CPU].map(|kind| mean(evidence, system.cell, &format!("{kind}{query}"))))
            .collect(),
    };
    let baseline = &evidence.header.plan.comparison.baseline;
    let mut columns: Vec<Column> = view.systems.iter().map(column).collect();
    columns.sort_by_key(|column| column.system != *baseline);
    html! {
        h3 dir="auto" { (view.title) }
        (sentences(&columns, &queries))
        (table(&columns, &queries))
        div.grid {
            (bars(&columns, &queries, (0, "Time of each query"), &format!("spatial-{number}")))
            (bars(&columns, &queries, (1, "CPU time of each query"), &format!("spatial-cpu-{number}")))
        }
    }
}

/// The mean over the trials; none if one of them has none, since the others would stand for it.
fn mean(evidence: &Evidence, cell: u32, id: &str) -> Result<f64, String> {
    let of_metric = |stored: &&store::StoredMeasurement| stored.cell == cell && stored.measurement.metric.id == id;
    for stored in evidence.measurements.iter().filter(of_metric) {
        if let model::Reading::Unavailable(reason) = &stored.measurement.reading {
            return Err(reason.clone());
        }
    }
    let values = points(evidence, cell, id);
    if values.is_empty() {
        return Err("no trial was measured".to_owned());
    }
    Ok(values.iter().map(|point| point.value).sum::<f64>() / values.len() as f64)
}

/// How many times the faster is faster, and whether that is the second. Nothing if one is not known or is 0.
fn gain(a: &Result<f64, String>, b: &Result<f64, String>) -> Option<(f64, bool)> {
    let (a, b) = (*a.as_ref().ok()?, *b.as_ref().ok()?);
    if a <= 0.0 || b <= 0.0 {
        return None;
    }
    Some(if b < a { (a / b, true) } else { (b / a, false) })
}

/// The published conclusions: in how many queries who is faster, in how many by more than half, and all together.
fn sentences(columns: &[Column], queries: &[String]) -> Markup {
    let [a, others @ ..] = columns else { return html! {} };
    let single: Vec<usize> = (0..queries.len()).filter(|at| queries[*at] != SUITE).collect();
    let total = queries.iter().position(|query| query == SUITE);
    let told = others.iter().map(|b| {
        let gains: Vec<(f64, bool)> = single.iter().filter_map(|at| gain(&a.times[*at][0], &b.times[*at][0])).collect();
        let faster = gains.iter().filter(|(_, of_b)| *of_b).count();
        let large = gains.iter().filter(|(gain, of_b)| *of_b && *gain > LARGE_GAIN).count();
        let all = |kind: usize| total.and_then(|at| gain(&a.times[at][kind], &b.times[at][kind]));
        html! {
            li {
                bdi { (b.system) } " is faster than " bdi { (a.system) } " in " (faster) " of " (gains.len()) " queries, in " (large) " of them by more than 50 %."
                @for (kind, word) in [(0, "time"), (1, "processor time")] {
                    @if let Some((times, of_b)) = all(kind) {
                        " All queries together, " (word) ": " (significant(times, 3, Script::Typographic)) "× ("
                        bdi { (if of_b { &b.system } else { &a.system }) } ")."
                    }
                }
            }
        }
    });
    html! { @if !others.is_empty() { ul { @for sentence in told { (sentence) } } } }
}

fn shown(value: &Result<f64, String>) -> Markup {
    html! {
        @match value {
            Ok(ms) => { (significant(*ms, 3, Script::Typographic)) }
            Err(reason) => { span.na title=(reason) { "n/a" } }
        }
    }
}

fn table(columns: &[Column], queries: &[String]) -> Markup {
    let (first, second) = (columns.first(), columns.get(1));
    let pair = first.zip(second).filter(|_| columns.len() == 2);
    let reasons = || {
        let all = columns.iter().flat_map(|column| {
            let failed =
                column.times.iter().zip(queries).flat_map(|(times, query)| {
                    times.iter().filter_map(move |time| Some((query, time.as_ref().err()?)))
                });
            failed.map(|(query, reason)| format!("{}, {query}: {reason}", column.system))
        });
        let mut all: Vec<String> = all.collect();
        all.dedup();
        all
    };
    html! {
        div.scroll { table.disk {
            thead {
                tr {
                    th scope="col" rowspan="2" { "query" }
                    @for column in columns { th.num scope="colgroup" colspan="2" { bdi { (column.system) } } }
                    @if pair.is_some() { th.num scope="colgroup" colspan="2" { "gain" } }
                }
                tr {
                    @for _ in columns { th.num scope="col" { "CPU ms" } th.num scope="col" { "T ms" } }
                    @if pair.is_some() { th.num scope="col" { "CPU" } th.num scope="col" { "T" } }
                }
            }
            tbody { @for (at, query) in queries.iter().enumerate() { tr {
                th scope="row" { (if query == SUITE { "all" } else { query.as_str() }) }
                @for column in columns { td.num { (shown(&column.times[at][1])) } td.num { (shown(&column.times[at][0])) } }
                @if let Some((a, b)) = pair { @for kind in [1, 0] { td.num { (gain_words(a, b, at, kind)) } } }
            } } }
        } }
        @for reason in reasons() { p.note { "n/a: " (reason) } }
    }
}

fn gain_words(a: &Column, b: &Column, at: usize, kind: usize) -> Markup {
    html! {
        @match gain(&a.times[at][kind], &b.times[at][kind]) {
            Some((times, of_b)) => {
                (significant(times, 3, Script::Typographic)) "× (" bdi { (if of_b { &b.system } else { &a.system }) } ")"
            }
            None => { "n/a" }
        }
    }
}

/// The chart of one kind of time: its place among the figures of a query.
fn bars(columns: &[Column], queries: &[String], (kind, title): (usize, &str), id: &str) -> Markup {
    let bar = |column: &Column, at: usize| {
        let value = column.times[at][kind].as_ref().ok().copied();
        let said = value.map(|ms| significant(ms, 3, Script::Typographic));
        Bar {
            index: column.index,
            name: column.system.clone(),
            value,
            interval: None,
            said: said.unwrap_or_else(|| "n/a".to_owned()),
        }
    };
    let single = queries.iter().enumerate().filter(|(_, query)| *query != SUITE);
    let groups = single.map(|(at, query)| (query.clone(), columns.iter().map(|column| bar(column, at)).collect()));
    let caption = ["ms: mean of the runs without the shortest and the longest", "ms of a run, of all processors"][kind];
    Bars { title, id, caption, groups: groups.collect() }.render()
}
