//! A rate over a key that is swept: the mean with its interval, the knee, and on disks the latency.

use maud::{Markup, html};

use super::chart::{Axis, Ink, Layer, Mark, Panel, Shape, series_class};
use super::figure::{Figure, Live, LiveSeries};
use super::views::names_legend;
use crate::number::Script;
use crate::views::{Curve, CurveDot, CurveLine};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;
/// Labels of the axis that find room.
const MOST_LABELS: f64 = 13.0;
/// Intervals are cut at this multiple of the highest mean.
const HIGHEST_INTERVAL: f64 = 1.5;
/// The marks of more points than this are smaller, and are read on hover.
const MANY_POINTS: usize = 24;

/// The position of a point on the x axis: depths by their logarithm, as they double; clients as they are.
fn dot_position(curve: &Curve, dot: &CurveDot) -> f64 {
    if curve.key == "depth" { (dot.at.max(1) as f64).log2() } else { dot.at as f64 }
}

/// Draws the curves of a group, with the table of their values.
pub fn render_curve(curve: &Curve) -> Markup {
    let dots: Vec<&CurveDot> = curve.lines.iter().flat_map(|line| &line.points).collect();
    if curve.lines.iter().all(|line| line.points.iter().filter(|dot| dot.mean.value.is_some()).count() < 2) {
        let why = format!("fewer than two numbers of the key {} have a figure: there is no curve", curve.key);
        return super::figure::empty_figure(&curve.title, &why);
    }
    let means: Vec<f64> = dots.iter().copied().filter_map(|dot| dot.mean.value).collect();
    let highs: Vec<f64> = dots.iter().copied().filter_map(|dot| Some(dot.mean.interval?[1])).collect();
    // A wild interval must not flatten the curves.
    let edge = means.iter().copied().fold(0.0, f64::max) * HIGHEST_INTERVAL;
    let y = Axis::from_zero(means.iter().copied().chain(highs.iter().copied().map(|hi| hi.min(edge))), 5);
    let mut panel = Panel::new(WIDTH, HEIGHT, swept_key_axis(curve), y);
    panel.left = 64;
    panel.title = format!("{} by {}, {}", curve.unit, curve.key, curve.title);
    let has_intervals = !highs.is_empty();
    let interval = if has_intervals { " with its interval" } else { "" };
    panel.description =
        format!("Per system the mean of the runs at each {}{interval}; a ring is around the knee.", curve.key);
    panel.x_caption = match curve.key {
        "depth" => "outstanding I/Os of a thread (logarithmic); ◯ knee".to_owned(),
        _ => "clients at the same time".to_owned(),
    };
    let cut = if highs.iter().copied().any(|hi| hi > edge) { " (cut at the edge)" } else { "" };
    let interval = if has_intervals { ", and its interval" } else { "" };
    panel.y_caption = format!("{}: mean of the runs{interval}{cut}", curve.unit);
    for (number, line) in curve.lines.iter().enumerate() {
        // Intervals of several systems at one place stand next to each other.
        let middle = (curve.lines.len() as f64 - 1.0) / 2.0;
        let shift = (number as f64 - middle) * (panel.x.hi - panel.x.lo) * 0.012;
        draw_line(&mut panel, curve, line, shift, edge);
    }
    let series = curve.lines.iter().map(|line| live_series(curve, line)).collect();
    let live = Live { unit: curve.unit.clone(), kind: curve.key, zoom: false, y_log: false, series };
    let legend = names_legend(curve.lines.iter().map(|line| (line.index, line.system.as_str())));
    Figure { title: &curve.title, panel: &panel, id: &curve.id, legend, live: Some(live) }
        .render_with_table(values_table(curve))
}

/// Makes the axis of clients or depths, labelled where there is room.
fn swept_key_axis(curve: &Curve) -> Axis {
    let mut all: Vec<(f64, i64)> =
        curve.lines.iter().flat_map(|line| &line.points).map(|dot| (dot_position(curve, dot), dot.at)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (lo, hi) = (all.first().map_or(0.0, |one| one.0), all.last().map_or(1.0, |one| one.0));
    let room = ((hi - lo) * 0.05).max(0.1);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for (place, at) in all {
        // They may be too close for labels.
        if ticks.last().is_none_or(|(last, _)| place - last >= ((hi - lo) / MOST_LABELS).max(1e-9)) {
            ticks.push((place, at.to_string()));
        }
    }
    Axis { lo: lo - room, hi: hi + room, ticks }
}

/// Draws one system's curve with its intervals, marks and knee.
fn draw_line(panel: &mut Panel, curve: &Curve, line: &CurveLine, shift: f64, edge: f64) {
    let band = line.points.iter().filter_map(|dot| Some((dot_position(curve, dot), dot.mean.interval?)));
    let band: Vec<(f64, f64, f64)> = band.map(|(x, [lo, hi])| (x, lo, hi.min(edge))).collect();
    if band.len() > 1 {
        panel.layers.insert(0, Layer::Area(band, Ink::Range(line.index)));
    }
    let middle = line.points.iter().filter_map(|dot| Some((dot_position(curve, dot), dot.mean.value?)));
    panel.layers.push(Layer::Line(middle.collect(), Ink::Line(line.index)));
    let is_roomy = line.points.len() <= MANY_POINTS;
    let class = series_class(line.index);
    for dot in &line.points {
        let (x, Some(y)) = (dot_position(curve, dot), dot.mean.value) else { continue };
        if is_roomy && let Some([lo, hi]) = dot.mean.interval {
            let ends = vec![(x + shift, lo), (x + shift, hi.min(edge))];
            panel.layers.push(Layer::Line(ends, Ink::Middle(line.index)));
        }
        if line.knee == Some(dot.at) {
            let (sure, word) = if line.knee_is_sure { ("", "knee") } else { ("unsure ", "perhaps the knee") };
            let (class, title) =
                (format!("knee {sure}{class}"), format!("{}: {word} at {} {}", line.system, curve.key, dot.at));
            panel.marks.push(Mark { x, y, shape: Shape::Ring, radius: 8.5, class, title });
        }
        let void = if dot.mean.text.is_empty() { "" } else { "void " };
        let latency = if dot.latency.is_some() { format!(", {}", dot.latency_text) } else { String::new() };
        let mean = dot.mean.print(Script::Typographic);
        panel.marks.push(Mark {
            x,
            y,
            shape: Shape::of_series(line.index),
            radius: if is_roomy { 4.0 } else { 2.0 },
            class: format!("pt {void}{class}"),
            title: format!("{}, {} {}: {mean} {}{latency}", line.system, curve.key, dot.at, curve.unit),
        });
    }
}

/// Collects a curve's values for the page's pointer.
fn live_series(curve: &Curve, line: &CurveLine) -> LiveSeries {
    let known: Vec<(f64, f64, Option<[f64; 2]>)> = line
        .points
        .iter()
        .filter_map(|dot| Some((dot_position(curve, dot), dot.mean.value?, dot.mean.interval)))
        .collect();
    LiveSeries {
        name: line.system.clone(),
        index: line.index,
        x: known.iter().copied().map(|(x, ..)| x).collect(),
        y: known.iter().copied().map(|(_, mean, _)| mean).collect(),
        range: known.iter().copied().map(|(.., interval)| interval.map(|[lo, hi]| (lo, hi))).collect(),
    }
}

/// Makes the table of the curves' values.
fn values_table(curve: &Curve) -> Markup {
    html! {
        table.small {
            thead { tr {
                th { "system" } th.num { (curve.key) } th.num { "mean, " (curve.unit) } th.num { "runs" }
                @if !curve.latency.is_empty() { th.num { "latency" } }
            } }
            tbody { @for line in &curve.lines { @for dot in &line.points { tr {
                th scope="row" { bdi { (line.system) } }
                td.num { (dot.at) }
                td.num { (dot.mean.print(Script::Typographic)) }
                td.num { (dot.runs) }
                @if !curve.latency.is_empty() { td.num { (dot.latency_text) } }
            } } } }
        }
    }
}
