//! Throughput by number of clients: the published curves and bars, with what they hide.

use maud::{Markup, html};

use super::chart::{Axis, Ink, Layer, Mark, Panel, Shape, series_class};
use super::figure::{Figure, Live, LiveSeries, swatch};
use crate::comparison::{ClientsCurve, ClientsGroup, ClientsPoint, ComparisonSet};
use crate::number::{RowUnit, Script, half, percent};
use crate::views::{Bar, BarGroup, Bars};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;
/// Labels of the axis of clients that find room.
const MOST_LABELS: usize = 12;
const LAST: &str = "with the most clients";
const OF_PEAK: &str = "of the peak";

pub fn view(set: &ComparisonSet) -> Markup {
    html! {
        div.grid { @for (number, group) in set.clients.iter().enumerate() { (curves(group, number)) (bars(group, number)) } }
        h3 { "Peaks" }
        (peaks(set))
    }
}

pub fn lead(set: &ComparisonSet) -> String {
    format!(
        "As such tests are published: a curve for each system from few clients to many, and bars at three numbers of \
         clients. Each point is the mean of its runs; the shade and the line on a bar are its {} interval, where there \
         are runs for one. A peak is the highest mean; there is none where a number of clients has no figure.",
        percent(set.rules.level, Script::Typographic)
    )
}

fn unit(group: &ClientsGroup) -> RowUnit<'_> {
    let means = group.curves.iter().flat_map(|curve| &curve.points).filter_map(ClientsPoint::mean);
    RowUnit::new(&group.metric.unit, means)
}

fn words(point: &ClientsPoint, unit: &RowUnit<'_>) -> String {
    let Some(mean) = point.mean() else {
        let reason = point.rate.unavailable.first().map_or("no run was measured", |(reason, _)| reason);
        return format!("n/a: {reason}");
    };
    let half = point.rate.half_width.map(|share| format!(" {}", half(share, Script::Typographic)));
    let void = point.void.as_ref().map(|void| format!(" ({})", void.text()));
    format!("{}{}{}", unit.print(mean, Script::Typographic), half.unwrap_or_default(), void.unwrap_or_default())
}

fn legend(group: &ClientsGroup) -> Markup {
    html! {
        span.legend { @for curve in &group.curves { span.key { (swatch(curve.index)) bdi { (curve.system) } } } }
    }
}

fn curves(group: &ClientsGroup, number: usize) -> Markup {
    let title = format!("{}: throughput by clients", group.label);
    let unit = unit(group);
    let points = || group.curves.iter().flat_map(|curve| &curve.points);
    let tops = points().filter_map(|point| Some(point.interval().map_or(point.mean()?, |(_, hi)| hi)));
    let highest = points().filter_map(ClientsPoint::mean).fold(0.0, f64::max);
    if highest <= 0.0 {
        return super::figure::nothing(&title, "no run has a figure");
    }
    // A wild interval must not flatten the curves.
    let edge = highest * 1.5;
    let y = Axis::from_zero(tops.map(|top| unit.of(top.min(edge))), 5);
    let mut panel = Panel::new(WIDTH, HEIGHT, axis(group), y);
    panel.left = 64;
    panel.title.clone_from(&title);
    panel.description = "Per system the mean of the runs at each number of clients, with its interval.".to_owned();
    panel.x_caption = "clients at the same time".to_owned();
    panel.y_caption = format!("{}: mean of the runs, and its interval", unit.name());
    let mut series = Vec::new();
    for curve in &group.curves {
        draw(&mut panel, curve, &unit, unit.of(edge));
        let known: Vec<(&ClientsPoint, f64)> =
            curve.points.iter().filter_map(|point| Some((point, point.mean()?))).collect();
        series.push(LiveSeries {
            name: curve.system.clone(),
            index: curve.index,
            x: known.iter().map(|(point, _)| point.clients as f64).collect(),
            y: known.iter().map(|(_, mean)| unit.of(*mean)).collect(),
            range: known.iter().map(|(point, _)| point.interval().map(|(lo, hi)| (unit.of(lo), unit.of(hi)))).collect(),
        });
    }
    let live = Live { unit: unit.name().to_owned(), kind: "clients", zoom: false, y_log: false, series };
    let id = format!("clients-{number}");
    Figure { title: &title, panel: &panel, id: &id, legend: legend(group), live: Some(live) }
        .render(table(group, &unit))
}

/// Linear, as published; labelled with measured numbers.
fn axis(group: &ClientsGroup) -> Axis {
    let all = group.clients();
    let (lo, hi) = (all.first().map_or(0.0, |n| *n as f64), all.last().map_or(1.0, |n| *n as f64));
    let room = (hi - lo) * 0.04;
    let least = (hi - lo) / MOST_LABELS as f64;
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for clients in all {
        if ticks.last().is_none_or(|(last, _)| clients as f64 - last >= least) {
            ticks.push((clients as f64, clients.to_string()));
        }
    }
    Axis { lo: lo - room, hi: hi + room, ticks }
}

fn draw(panel: &mut Panel, curve: &ClientsCurve, unit: &RowUnit<'_>, edge: f64) {
    let place = |point: &ClientsPoint| point.clients as f64;
    let band: Vec<(f64, f64, f64)> = curve
        .points
        .iter()
        .filter_map(|point| {
            let (lo, hi) = point.interval()?;
            Some((place(point), unit.of(lo), unit.of(hi).min(edge)))
        })
        .collect();
    if band.len() > 1 {
        panel.layers.insert(0, Layer::Area(band, Ink::Range(curve.index)));
    }
    let line = curve.points.iter().filter_map(|point| Some((place(point), unit.of(point.mean()?)))).collect();
    panel.layers.push(Layer::Line(line, Ink::Line(curve.index)));
    // Many marks would cover the curve: they shrink, and are read on hover.
    let radius = if curve.points.len() > 24 { 2.0 } else { 4.0 };
    for point in &curve.points {
        let Some(mean) = point.mean() else { continue };
        let void = if point.void.is_some() { "void " } else { "" };
        panel.marks.push(Mark {
            x: place(point),
            y: unit.of(mean),
            shape: Shape::of_series(curve.index),
            radius,
            class: format!("pt {void}{}", series_class(curve.index)),
            title: format!("{}, {} clients: {} {}", curve.system, point.clients, words(point, unit), unit.name()),
        });
    }
}

fn bars(group: &ClientsGroup, number: usize) -> Markup {
    let unit = unit(group);
    let bar = |curve: &ClientsCurve, clients: i64| {
        let point = curve.at(clients)?;
        Some(Bar {
            index: curve.index,
            name: curve.system.clone(),
            value: point.mean().map(|mean| unit.of(mean)),
            interval: point.interval().map(|(lo, hi)| (unit.of(lo), unit.of(hi))),
            text: words(point, &unit),
            mean: None,
        })
    };
    let at = group.bars_at();
    let of = |clients: &i64| {
        let noun = if *clients == 1 { "client" } else { "clients" };
        let bars = group.curves.iter().filter_map(|curve| bar(curve, *clients)).collect();
        BarGroup { name: format!("{clients} {noun}"), bars }
    };
    let listed: Vec<String> = at.iter().map(ToString::to_string).collect();
    super::bars::render(&Bars {
        family: "transactions",
        title: format!("{}: throughput at {} clients", group.label, listed.join(", ")),
        id: format!("clients-bars-{number}"),
        unit: format!("{}: mean of the runs, and its interval", unit.name()),
        groups: at.iter().map(of).collect(),
    })
}

fn table(group: &ClientsGroup, unit: &RowUnit<'_>) -> Markup {
    html! {
        table.small {
            thead { tr {
                th.num { "clients" }
                @for curve in &group.curves { th.num { bdi { (curve.system) } ", " (unit.name()) } }
            } }
            tbody { @for clients in group.clients() { tr {
                th.num scope="row" { (clients) }
                @for curve in &group.curves { td.num { (curve.at(clients).map_or("–".to_owned(), |point| words(point, unit))) } }
            } } }
        }
    }
}

/// Peak and value at most clients, as sentences of the published test.
fn peaks(set: &ComparisonSet) -> Markup {
    html! {
        div.scroll { table.disk {
            thead { tr {
                th scope="col" { "benchmark" }
                th scope="col" { "system" }
                th.num scope="col" { "peak" }
                th.num scope="col" { "at clients" }
                th.num scope="col" { (LAST) }
                th.num scope="col" { (OF_PEAK) }
            } }
            tbody { @for group in &set.clients { @for (number, curve) in group.curves.iter().enumerate() { tr {
                @if number == 0 {
                    th scope="rowgroup" rowspan=(group.curves.len()) {
                        bdi { (group.label) } br; span.unit { (unit(group).name()) }
                    }
                }
                td.who data-l="system" { span { (swatch(curve.index)) " " bdi { (curve.system) } } }
                (peak(group, curve))
            } } } }
        } }
    }
}

fn peak(group: &ClientsGroup, curve: &ClientsCurve) -> Markup {
    let unit = unit(group);
    let peak = curve.peak();
    let void = |point: &ClientsPoint| html! { @if let Some(void) = &point.void { br; span.half { (void.text()) } } };
    let last = curve.points.last().and_then(|last| Some((last, last.mean()?)));
    html! {
        @match peak {
            Some((point, value)) => {
                td.num data-l="peak" { span { (unit.print(value, Script::Typographic)) (void(point)) } }
                td.num data-l="at clients" { (point.clients) }
            }
            None => { td.num data-l="peak" { "n/a" } td.num data-l="at clients" { "–" } }
        }
        @match last {
            Some((last, mean)) => {
                td.num data-l=(LAST) { span { (unit.print(mean, Script::Typographic)) " at " (last.clients) (void(last)) } }
            }
            None => { td.num data-l=(LAST) { "n/a" } }
        }
        @match peak.zip(last) {
            Some(((_, peak), (_, mean))) => { td.num data-l=(OF_PEAK) { (percent(mean / peak, Script::Typographic)) } }
            None => { td.num data-l=(OF_PEAK) { "–" } }
        }
    }
}
