//! The loads that were tried against a promise: rate or clients against response time.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::metric::{CAPACITY, CAPACITY_CLIENTS};
use model::{LoadPoint, Promise};

use super::cases::{CaseView, SystemCase, case_views};
use super::chart::{Axis, Ink, Layer, Mark, Panel, Shape, series_class, text_element};
use super::figure::Figure;
use super::views::names_legend;
use crate::comparison::{ComparisonSet, Index, Side, point_side};
use crate::labels::figure_of;
use crate::number::{RowUnit, Script, significant_digits};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;

/// A system's points of all rounds, with what each round found.
struct Tried<'a> {
    system: &'a SystemCase<'a>,
    points: Vec<&'a LoadPoint>,
    /// The capacity, as the table has it.
    found: Option<Side>,
}

/// Draws a figure for each case that keeps a promise: the loads tried, with their response times; none without such cases.
pub fn capacity_figures(index: &Index<'_>, set: &ComparisonSet) -> Vec<Markup> {
    let evidence = index.lookup.evidence();
    // A search that was broken off found nothing, and what it tried was tried.
    let case_of: BTreeMap<i64, u32> = evidence.runs.iter().map(|run| (run.id, run.planned.case)).collect();
    let mut points: BTreeMap<u32, Vec<&LoadPoint>> = BTreeMap::new();
    for (run, point) in &evidence.points {
        if let Some(case) = case_of.get(run) {
            points.entry(*case).or_default().push(point);
        }
    }
    let views = case_views(evidence);
    let drawn = views.iter().enumerate().filter_map(|(number, view)| {
        let case = evidence.case(view.systems.first()?.case)?;
        let promise = Promise::from_point(&case.point)?;
        let wanted = if promise.max_clients.is_some() { CAPACITY_CLIENTS } else { CAPACITY };
        let metric = index.metrics.get(&case.benchmark)?.iter().find(|metric| metric.id == wanted);
        let tried = view.systems.iter().filter_map(|system| {
            let points = points.get(&system.case)?.clone();
            let found =
                metric.map(|metric| point_side(evidence, index, system.name, &[system.case], metric, &set.rules));
            Some(Tried { system, points, found })
        });
        let tried: Vec<Tried<'_>> = tried.collect();
        let unit = metric.map_or("", |metric| metric.unit.as_str());
        (!tried.is_empty()).then(|| capacity_figure(view, promise, &tried, (unit, &format!("capacity-{number}"))))
    });
    drawn.collect()
}

/// Lists the tried points whose load is known, each with it.
fn measured_points<'a>(tried: &'a Tried<'_>) -> impl Iterator<Item = (&'a LoadPoint, f64)> {
    tried.points.iter().filter_map(|point| Some((*point, point.load()?)))
}

/// The capacity that was found, if it has an estimate.
fn capacity_estimate(tried: &Tried<'_>) -> Option<f64> {
    tried.found.as_ref()?.estimate
}

/// Writes the system's name with its capacity.
fn name_with_figure(tried: &Tried<'_>, unit: &str) -> String {
    let unit = RowUnit::new(unit, capacity_estimate(tried));
    let figure = tried.found.as_ref().and_then(|side| figure_of(side, &unit, Script::Typographic));
    let figure = figure.map_or_else(|| "n/a".to_owned(), |figure| format!("{figure} {}", unit.unit_name()));
    format!("{}: {figure}", tried.system.name)
}

/// Lists the 99th percentile and the median of a point, in µs, as far as they are known.
fn times_us(point: &LoadPoint) -> impl Iterator<Item = f64> {
    [point.response_p99_us, point.response_p50_us].into_iter().flatten().filter(|us| *us > 0.0)
}

/// Draws the figure of a case: response times over the loads that were tried.
fn capacity_figure(
    view: &CaseView<'_>,
    promise: Promise,
    tried: &[Tried<'_>],
    (stored_unit, id): (&str, &str),
) -> Markup {
    let promised_us = promise.response_p99.as_secs_f64() * 1e6;
    let all: Vec<(&LoadPoint, f64)> = tried.iter().flat_map(measured_points).collect();
    if all.iter().copied().flat_map(|(point, _)| times_us(point)).next().is_none() {
        return super::figure::empty_figure(&view.title, "no load that was tried has a response time");
    }
    let unit = RowUnit::new("us", [promised_us]);
    let times = all.iter().copied().flat_map(|(point, _)| times_us(point)).chain([promised_us]);
    let y = Axis::log10(times.map(|us| unit.convert(us)));
    let x = Axis::log10(all.iter().copied().map(|(_, load)| load).chain(tried.iter().filter_map(capacity_estimate)));
    let mut panel = Panel::new(WIDTH, HEIGHT, x, y);
    panel.left = 72;
    panel.title = format!("Response time by load, {}", view.title);
    panel.description = format!(
        "Each mark is a short run at a load: large the 99th percentile of its response times, small their median; hollow marks \
         did not keep the promise. The horizontal line is the promise that {}; a vertical one is what was found of a system.",
        promise.promise_clause()
    );
    let of_clients = promise.max_clients.is_some();
    let load = if of_clients { "clients" } else { "operations a second that were due" };
    panel.x_caption = format!("{load} (logarithmic)");
    panel.y_caption = format!("response time, {} (logarithmic)", unit.unit_name());
    let across = [panel.x.lo, panel.x.hi].map(|x| (x, unit.convert(promised_us).log10()));
    panel.layers.push(Layer::Line(across.to_vec(), Ink::Zero));
    let name = format!("promised: {}", model::duration::spaced_text(promise.response_p99));
    panel.extra.push_str(&promise_label(&panel, unit.convert(promised_us).log10(), &name));
    for one in tried {
        draw_tried(&mut panel, one, &unit);
    }
    let names: Vec<String> = tried.iter().map(|one| name_with_figure(one, stored_unit)).collect();
    let names = tried.iter().zip(&names).map(|(one, name)| (one.system.index, name.as_str()));
    Figure { title: &view.title, panel: &panel, id, legend: names_legend(names), live: None }
        .render_with_table(values_table(tried, of_clients, &unit))
}

/// Writes the name of the promise's line, above it unless that is the picture's upper edge.
fn promise_label(panel: &Panel, y: f64, name: &str) -> String {
    const LETTERS_HIGH: f64 = 16.0;
    let plot = panel.plot_box();
    let line = plot.top + (panel.y.hi - y) / (panel.y.hi - panel.y.lo) * (plot.bottom - plot.top);
    let base = if line - LETTERS_HIGH > plot.top { line - 5.0 } else { line + LETTERS_HIGH };
    text_element("tick", (plot.left + 6.0, base), "start", name)
}

/// Draws the loads that were tried on a system, and its capacity.
fn draw_tried(panel: &mut Panel, tried: &Tried<'_>, unit: &RowUnit<'_>) {
    let index = tried.system.index;
    if let Some(found) = capacity_estimate(tried) {
        let at = found.log10();
        panel.layers.push(Layer::Line(vec![(at, panel.y.lo), (at, panel.y.hi)], Ink::Line(index)));
    }
    for (point, load) in measured_points(tried) {
        let class = if point.is_kept == Some(true) { "pt" } else { "pt void" };
        let title = |name: &str, us: f64| {
            let load = match point.clients {
                Some(1) => "with 1 client".to_owned(),
                Some(clients) => format!("with {clients} clients"),
                None => format!("at {}/s", rate_text(load)),
            };
            format!("{} {load}: {name} {} {}", tried.system.name, unit.print(us, Script::Typographic), unit.unit_name())
        };
        let mut mark = |name: &str, us: f64, radius: f64| {
            panel.marks.push(Mark {
                x: load.log10(),
                y: unit.convert(us).log10(),
                shape: Shape::of_series(index),
                radius,
                class: format!("{class} {}", series_class(index)),
                title: title(name, us),
            });
        };
        if let Some(p50) = point.response_p50_us.filter(|us| *us > 0.0) {
            mark("median", p50, 2.6);
        }
        if let Some(p99) = point.response_p99_us.filter(|us| *us > 0.0) {
            mark("p99", p99, 4.4);
        }
    }
}

/// Makes the table of the points, in the order of their loads.
fn values_table(tried: &[Tried<'_>], of_clients: bool, unit: &RowUnit<'_>) -> Markup {
    html! {
        table.small {
            thead { tr {
                th { "system" } th.num { (if of_clients { "clients" } else { "due, 1/s" }) } th.num { "ended, 1/s" } th.num { "median, " (unit.unit_name()) }
                th.num { "p99, " (unit.unit_name()) } th.num { "late" } th.num { "failed" } th { "kept" }
            } }
            tbody { @for one in tried { @for point in sorted_by_load(&one.points) { tr {
                th scope="row" { bdi { (one.system.name) } }
                td.num { (point.load().map_or_else(|| "as answered".to_owned(), rate_text)) }
                td.num { (rate_text(point.throughput)) }
                td.num { (time_text(point.response_p50_us, unit)) }
                td.num { (time_text(point.response_p99_us, unit)) }
                td.num { (share_text(point.late_share)) }
                td.num { (share_text(point.failed_share)) }
                td { (is_kept_text(point)) }
            } } } }
        }
    }
}

/// Says whether a load kept the promise.
fn is_kept_text(point: &LoadPoint) -> &'static str {
    match point.is_kept {
        Some(true) => "yes",
        Some(false) if point.is_client_saturated => "no, the client was at its limit",
        Some(false) => "no",
        None => "–",
    }
}

/// Writes a rate with four digits.
fn rate_text(rate: f64) -> String {
    significant_digits(rate, 4, Script::Typographic)
}

/// Writes a time in this unit, or `n/a`.
fn time_text(us: Option<f64>, unit: &RowUnit<'_>) -> String {
    us.map_or_else(|| "n/a".to_owned(), |us| unit.print(us, Script::Typographic))
}

/// Writes a share in percent with two decimals.
/// Next to a promise of 1 %, 1.04 % is another answer than 0.96 %.
fn share_text(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_owned(),
        percent => format!("{percent:.2}{}%", Script::Typographic.digit_gap()),
    }
}

/// Sorts points by their loads.
fn sorted_by_load<'a>(points: &[&'a LoadPoint]) -> Vec<&'a LoadPoint> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.load().unwrap_or(f64::INFINITY).total_cmp(&b.load().unwrap_or(f64::INFINITY)));
    sorted
}
