//! Percentile curves, and series over a run's seconds.

use std::fmt::Write as _;

use maud::{Markup, html};
use stats::SAMPLES_BEYOND;

use super::cases::{CaseView, SystemCase};
use super::chart::{Axis, GridLines, Ink, Layer, Mark, Panel, Shape, series_class};
use super::figure::{Figure, Live, LiveSeries, systems_legend};
use super::load::CaseLatency;
use crate::latency::Latency;
use crate::number::{RowUnit, Script};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;

const STEPS: u32 = 160;

const FIRST: f64 = 0.05;

/// Quantiles as share, and as axis label.
const NAMED: [(f64, &str); 6] =
    [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"), (0.99999, "99.999 %")];

pub type Loaded<'a> = Vec<(&'a SystemCase<'a>, CaseLatency)>;

/// Counts the nines of a quantile, so that each further digit takes equal room on an axis.
fn count_of_nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// Draws latency over quantiles, in the unit of other cases of the benchmark if that is known.
pub fn latency_chart(view: &CaseView<'_>, loaded: &Loaded<'_>, known: Option<RowUnit<'_>>, id: &str) -> Markup {
    let merged: Vec<(&SystemCase<'_>, &Latency)> =
        loaded.iter().filter_map(|(system, latency)| Some((*system, latency.whole.as_ref()?))).collect();
    let curves: Vec<(&SystemCase<'_>, Vec<(f64, f64)>)> = merged
        .iter()
        .map(|(system, latency)| (*system, quantile_curve(latency)))
        .filter(|(_, c)| c.len() > 1)
        .collect();
    if curves.is_empty() {
        return super::figure::empty_figure(&view.title, "too few operations for a distribution, or none stored");
    }
    // Unit of the median: a fast start must not inflate the numbers.
    let unit = known.unwrap_or_else(|| {
        RowUnit::new("ns", merged.iter().filter_map(|(_, latency)| latency.quantile_ns_or_none(0.5)))
    });
    let end = curves.iter().flat_map(|(_, curve)| curve.last()).map(|(x, _)| *x).fold(1.0, f64::max);
    let ticks =
        NAMED.iter().map(|(q, name)| (count_of_nines(*q), (*name).to_owned())).filter(|(x, _)| *x <= end).collect();
    let y =
        Axis::log10(curves.iter().flat_map(|(_, curve)| curve.iter().map(|(_, ns)| *ns)).map(|ns| unit.convert(ns)));
    let mut panel = Panel::new(WIDTH, HEIGHT, Axis { lo: 0.0, hi: end * 1.07, ticks }, y);
    // Stalls reach millions of microseconds.
    panel.left = 72;
    panel.title = format!("Response times by percentile, {}", view.title);
    panel.description = format!("One curve per system. Unit {}.", unit.unit_name());
    panel.x_caption = "share of operations that were faster".to_owned();
    panel.y_caption = format!("response time, {} (logarithmic)", unit.unit_name());
    for (system, curve) in &curves {
        let points = curve.iter().map(|(x, ns)| (*x, unit.convert(*ns).log10())).collect();
        panel.layers.push(Layer::Line(points, Ink::Line(system.index)));
    }
    for (system, latency) in &merged {
        panel.marks.extend(NAMED.iter().filter_map(|(q, name)| {
            let ns = latency.quantile_ns_or_none(*q).filter(|ns| *ns > 0.0)?;
            Some(Mark {
                x: count_of_nines(*q),
                y: unit.convert(ns).log10(),
                shape: Shape::of_series(system.index),
                radius: 4.0,
                class: format!("pt {}", series_class(system.index)),
                title: format!("{}, {name}: {} {}", system.name, unit.print(ns, Script::Typographic), unit.unit_name()),
            })
        }));
    }
    let series = curves.iter().map(|(system, curve)| LiveSeries {
        name: system.name.to_owned(),
        index: system.index,
        x: curve.iter().map(|(x, _)| *x).collect(),
        y: curve.iter().map(|(_, ns)| unit.convert(*ns)).collect(),
        range: None,
    });
    let live = Live {
        unit: unit.unit_name().to_owned(),
        kind: "percentile",
        zoom: false,
        y_log: true,
        series: series.collect(),
    };
    let systems: Vec<&SystemCase<'_>> = curves.iter().map(|(system, _)| *system).collect();
    Figure { title: &view.title, panel: &panel, id, legend: systems_legend(&systems), live: Some(live) }
        .render_with_table(quantile_table(&merged, &unit))
}

/// Samples the curve of latency over nines, up to the last quantile with enough operations beyond it.
/// It begins at the fastest twentieth, so that one fast operation does not stretch the axis.
fn quantile_curve(latency: &Latency) -> Vec<(f64, f64)> {
    let end = (latency.operation_count() as f64 / SAMPLES_BEYOND as f64).log10();
    // Below 20 operations not even the median has ten beyond.
    if end < 0.3 {
        return Vec::new();
    }
    let begin = count_of_nines(FIRST);
    let place = |step: u32| begin + (end - begin) * f64::from(step) / f64::from(STEPS);
    (0..=STEPS)
        // Quantiles among failures have no place.
        .filter_map(|step| Some((place(step), latency.quantile_ns_or_none(1.0 - 10_f64.powf(-place(step)))?)))
        .filter(|(_, ns)| *ns > 0.0)
        .collect()
}

/// Makes the table of the named percentiles of each system.
fn quantile_table(merged: &[(&SystemCase<'_>, &Latency)], unit: &RowUnit<'_>) -> Markup {
    html! {
        table.small {
            thead { tr {
                th { "system" } th.num { "operations" }
                @for (_, name) in &NAMED { th.num { (name) } }
            } }
            tbody { @for (system, latency) in merged { tr {
                th scope="row" { bdi { (system.name) } }
                td.num { (crate::number::whole_number(latency.operation_count(), Script::Typographic)) }
                @for (q, _) in &NAMED {
                    td.num { (latency.quantile_ns_or_none(*q).map_or("–".to_owned(), |ns| unit.print(ns, Script::Typographic))) }
                }
            } } }
        }
        p.note { "In " (unit.unit_name()) ". – : fewer than " (SAMPLES_BEYOND) " operations beyond it, or it lies among those that failed." }
    }
}

/// Draws throughput and latency over the time of the measured part.
pub fn over_time_charts(view: &CaseView<'_>, loaded: &Loaded<'_>, known: Option<RowUnit<'_>>, id: &str) -> Vec<Markup> {
    let loaded: Vec<(&SystemCase<'_>, &CaseLatency)> =
        loaded.iter().filter(|(_, l)| l.slots.len() > 1).map(|(system, l)| (*system, l)).collect();
    if loaded.is_empty() {
        return vec![super::figure::empty_figure(&view.title, "no run stored more than one interval")];
    }
    let mut all = vec![throughput_chart(view, &loaded, &format!("{id}-rate"))];
    all.extend(tail_chart(view, &loaded, known, &format!("{id}-tail")));
    all
}

/// Draws throughput over time: the median of the runs, and their range.
fn throughput_chart(view: &CaseView<'_>, loaded: &[(&SystemCase<'_>, &CaseLatency)], id: &str) -> Markup {
    let values = loaded.iter().flat_map(|(_, l)| l.slots.iter().flat_map(|slot| slot.rates.iter().copied()));
    let y = Axis::from_zero(values, 5);
    let mut panel = time_panel(loaded, y);
    panel.title = format!("Throughput over the measured part, {}", view.title);
    panel.description =
        "Per system the median over its runs, with the range from the lowest to the highest.".to_owned();
    panel.y_caption = "operations a second: median of the runs, and their range".to_owned();
    let mut series = Vec::new();
    for (system, latency) in loaded {
        let rows: Vec<(f64, f64, f64, f64)> =
            latency.slots.iter().map(|slot| spread_of_runs(slot.at_s, &slot.rates)).collect();
        let area = rows.iter().map(|(at, lo, _, hi)| (*at, *lo, *hi)).collect();
        panel.layers.insert(0, Layer::Area(area, Ink::Range(system.index)));
        panel.layers.push(Layer::Line(rows.iter().map(|r| (r.0, r.2)).collect(), Ink::Line(system.index)));
        series.push(LiveSeries {
            name: system.name.to_owned(),
            index: system.index,
            x: rows.iter().map(|r| r.0).collect(),
            y: rows.iter().map(|r| r.2).collect(),
            range: Some(rows.iter().map(|r| (r.1, r.3)).collect()),
        });
    }
    let live = Live { unit: "operations a second".to_owned(), kind: "seconds", zoom: true, y_log: false, series };
    let systems: Vec<&SystemCase<'_>> = loaded.iter().map(|(system, _)| *system).collect();
    let table = series_table(&live, "operations a second, median of the runs");
    let title = format!("{}: throughput", view.title);
    Figure { title: &title, panel: &panel, id, legend: systems_legend(&systems), live: Some(live) }
        .render_with_table(table)
}

/// The time with the lowest, the median and the highest rate of the runs.
fn spread_of_runs(at: f64, rates: &[f64]) -> (f64, f64, f64, f64) {
    let mut ordered = rates.to_vec();
    ordered.sort_by(f64::total_cmp);
    let n = ordered.len();
    let median = f64::midpoint(value_at_index(&ordered, n.saturating_sub(1) / 2), value_at_index(&ordered, n / 2));
    (at, value_at_index(&ordered, 0), median, value_at_index(&ordered, n.saturating_sub(1)))
}

/// The value at an index, else 0.
fn value_at_index(ordered: &[f64], index: usize) -> f64 {
    ordered.get(index).copied().unwrap_or(0.0)
}

/// Makes an empty panel over the time of a run.
fn time_panel(loaded: &[(&SystemCase<'_>, &CaseLatency)], y: Axis) -> Panel {
    let ends = loaded.iter().filter_map(|(_, l)| l.slots.last()).map(|slot| slot.at_s);
    let end = ends.fold(0.0, f64::max);
    let mut panel = Panel::new(WIDTH, HEIGHT, Axis::between(0.0, end * 1.02, 8), y);
    panel.left = 60;
    panel.grid = GridLines::Horizontal;
    panel.x_caption = "seconds of the measured part".to_owned();
    panel
}

/// Draws over time the highest percentile that most intervals have; `None` if none has.
fn tail_chart(
    view: &CaseView<'_>,
    loaded: &[(&SystemCase<'_>, &CaseLatency)],
    known: Option<RowUnit<'_>>,
    id: &str,
) -> Option<Markup> {
    let shown = |q: f64| {
        let slots: Vec<&super::load::Slot> = loaded.iter().flat_map(|(_, latency)| &latency.slots).collect();
        let with = slots
            .iter()
            .copied()
            .filter(|s| s.latency.as_ref().is_some_and(|h| h.quantile_ns_or_none(q).is_some()))
            .count();
        with * 5 >= slots.iter().copied().count() * 4
    };
    let q = [0.99, 0.9, 0.5].into_iter().find(|q| shown(*q))?;
    let curves: Vec<(&SystemCase<'_>, Vec<(f64, f64)>)> = loaded
        .iter()
        .map(|(system, latency)| {
            (
                *system,
                latency
                    .slots
                    .iter()
                    .filter_map(|slot| Some((slot.at_s, slot.latency.as_ref()?.quantile_ns_or_none(q)?)))
                    .collect(),
            )
        })
        .collect();
    let values: Vec<f64> = curves.iter().flat_map(|(_, curve)| curve.iter().map(|(_, ns)| *ns)).collect();
    let unit = known.unwrap_or_else(|| RowUnit::new("ns", values.iter().copied()));
    let mut panel = time_panel(loaded, Axis::from_zero(values.iter().copied().map(|ns| unit.convert(ns)), 5));
    let name = format!("p{:.0}", q * 100.0);
    panel.title = format!("Response time {name} over the measured part, {}", view.title);
    panel.description = "Per system, of all responses of its runs together.".to_owned();
    panel.y_caption = format!("{name}, {}: of all runs together", unit.unit_name());
    let mut series = Vec::new();
    for (system, curve) in &curves {
        let points: Vec<(f64, f64)> = curve.iter().map(|(at, ns)| (*at, unit.convert(*ns))).collect();
        series.push(LiveSeries {
            name: system.name.to_owned(),
            index: system.index,
            x: points.iter().map(|p| p.0).collect(),
            y: points.iter().map(|p| p.1).collect(),
            range: None,
        });
        panel.layers.push(Layer::Line(points, Ink::Line(system.index)));
    }
    let live = Live { unit: unit.unit_name().to_owned(), kind: "seconds", zoom: true, y_log: false, series };
    let systems: Vec<&SystemCase<'_>> = curves.iter().map(|(system, _)| *system).collect();
    let table = series_table(&live, &format!("response {name}, {}", unit.unit_name()));
    let title = format!("{}: response {name}", view.title);
    Some(
        Figure { title: &title, panel: &panel, id, legend: systems_legend(&systems), live: Some(live) }
            .render_with_table(table),
    )
}

/// Lists each system's values over time, a line each.
fn series_table(live: &Live, what: &str) -> Markup {
    html! {
        dl.values {
            @for series in &live.series { dt { bdi { (series.name) } ", " (what) } dd { (values_text(series)) } }
        }
    }
}

/// Writes a series' values with three digits, separated by dots.
fn values_text(series: &LiveSeries) -> String {
    let mut text = String::new();
    for y in &series.y {
        let _ = write!(text, "{} · ", crate::number::significant_digits(*y, 3, Script::Typographic));
    }
    text.trim_end_matches(" · ").to_owned()
}
