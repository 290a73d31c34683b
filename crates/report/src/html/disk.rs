//! Disk cases: the two published charts, and what they hide: curves over depths with intervals, knee and latency.

use maud::{Markup, html};

use super::chart::{Axis, BOTTOM, GridLines, Ink, Layer, Mark, Panel, Shape, series_class, text};
use super::figure::{Figure, Live, LiveSeries, swatch};
use crate::comparison::{ComparisonSet, DepthCurve, DepthPoint, DiskGroup, KNEE_SHARE, Knee};
use crate::number::{RowUnit, Script, half, percent};
use crate::words::{latency_of, rate_words};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;
/// Heights of a group's name, a bar, and the gap.
const NAME: i32 = 22;
const BAR: i32 = 18;
const GAP: i32 = 8;
/// Room above the bars.
const TOP: i32 = 4;
/// In letters.
const LONGEST_NAME: usize = 58;

/// Axis length over longest bar, to make room for figures.
const FIGURES: f64 = 1.4;
/// Intervals are cut at this multiple of the highest mean.
const HIGHEST_INTERVAL: f64 = 1.5;

pub fn lead(set: &ComparisonSet) -> String {
    format!(
        "Bars are what is published of such tests: the highest of all runs of a group, whatever its depth. The line on \
         a bar is the mean at that depth with its {} interval, where there are runs for one. Under them is what the \
         best hides: the mean at every depth, and the knee, the smallest depth with {} of the curve's highest mean. \
         Beyond it more outstanding I/Os buy waiting, not work.",
        percent(set.rules.level, Script::Typographic),
        percent(KNEE_SHARE, Script::Typographic)
    )
}

pub fn view(set: &ComparisonSet) -> Markup {
    let of = |metric: &str| set.disk.iter().filter(|group| group.metric.id == metric).collect::<Vec<&DiskGroup>>();
    html! {
        div.grid {
            @for metric in ["iops", "bandwidth"] { (best(&of(metric), metric)) }
        }
        h3 { "What the best of a group hides" }
        (hidden(set))
        div.grid { @for (number, group) in set.disk.iter().enumerate() { (curve(group, number)) } }
    }
}

fn system_legend(curves: &[&DepthCurve]) -> Markup {
    html! {
        span.legend { @for curve in curves { span.key { (swatch(curve.index)) bdi { (curve.system) } } } }
    }
}

fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn systems<'a>(groups: &[&'a DiskGroup]) -> Vec<&'a DepthCurve> {
    let mut found: Vec<&DepthCurve> = Vec::new();
    for curve in groups.iter().flat_map(|group| &group.curves) {
        if !found.iter().any(|known| known.index == curve.index) {
            found.push(curve);
        }
    }
    found.sort_by_key(|curve| curve.index);
    found
}

fn best(groups: &[&DiskGroup], id: &str) -> Markup {
    let Some(first) = groups.first() else { return html! {} };
    let unit = RowUnit::new(&first.metric.unit, []);
    let curves = || groups.iter().flat_map(|group| &group.curves);
    let highest = curves().filter_map(DepthCurve::best).map(|(_, value)| value).fold(0.0, f64::max);
    let title = format!("Best of each group, {}", rate_words(&first.metric));
    if highest <= 0.0 {
        return super::figure::nothing(&title, "no run has a figure");
    }
    let tall = groups.iter().map(|group| NAME + BAR * group.curves.len() as i32 + GAP).sum::<i32>();
    let y = Axis { lo: 0.0, hi: f64::from(tall), ticks: Vec::new() };
    // Figures stand to the right.
    let x = Axis::between(0.0, highest * FIGURES, 5);
    let mut panel = Panel::new(WIDTH, TOP + tall + BOTTOM, x, y);
    (panel.left, panel.top, panel.grid) = (12, TOP, GridLines::Vertical);
    panel.title.clone_from(&title);
    panel.description = "One bar per system and group, as long as its highest run.".to_owned();
    panel.x_caption = format!("{}: the highest of all runs and depths", rate_words(&first.metric));
    let mut offset = 0;
    for group in groups {
        let name = short(&group.label, LONGEST_NAME);
        panel.extra.push_str(&text("row", (14.0, f64::from(TOP + offset + 16)), "start", &name));
        offset += NAME;
        for curve in &group.curves {
            bar(&mut panel, curve, &unit, offset);
            offset += BAR;
        }
        offset += GAP;
    }
    let legend = system_legend(&systems(groups));
    let table = best_table(groups, &unit);
    Figure { title: &title, panel: &panel, id: &format!("disk-{id}"), legend, live: None }.render(table)
}

/// A bar `offset` below the upper edge, with its figures, its mean and its interval.
fn bar(panel: &mut Panel, curve: &DepthCurve, unit: &RowUnit<'_>, offset: i32) {
    let middle = panel.y.hi - f64::from(offset) - f64::from(BAR) / 2.0;
    let baseline = f64::from(TOP + offset + BAR - 5);
    let plot = panel.plot_box();
    let place = |value: f64| plot.left + value / panel.x.hi * (plot.right - plot.left);
    let Some((point, value)) = curve.best() else {
        panel.extra.push_str(&text("tick", (plot.left + 4.0, baseline), "start", "n/a"));
        return;
    };
    let half = f64::from(BAR) / 2.0 - 2.0;
    let said = format!("{} at depth {}", unit.print(value, Script::Typographic), point.depth);
    let edge = panel.x.hi / FIGURES;
    let behind = point.interval().map_or(value, |(_, hi)| hi.clamp(value, edge.max(value)));
    let label = text("tick", (place(behind) + 6.0, baseline), "start", &said);
    panel.extra.push_str(&label);
    panel.layers.push(Layer::Bar((0.0, middle - half), (value, middle + half), Ink::Bar(curve.index)));
    if let Some((lo, hi)) = point.interval() {
        panel.layers.push(Layer::Line(vec![(lo, middle), (hi.min(edge), middle)], Ink::Interval));
    }
    if let Some(mean) = point.mean().filter(|_| point.rate.runs.len() > 1) {
        panel.marks.push(Mark {
            x: mean,
            y: middle,
            shape: Shape::Diamond,
            radius: 3.0,
            class: "pt mean".to_owned(),
            title: format!("{}, depth {}: {}", curve.system, point.depth, mean_words(point, unit)),
        });
    }
}

fn mean_words(point: &DepthPoint, unit: &RowUnit<'_>) -> String {
    let Some(mean) = point.mean() else { return "n/a".to_owned() };
    let half = point.rate.half_width.map(|share| format!(" {}", half(share, Script::Typographic)));
    let void = point.void.as_ref().map(|void| format!(" ({})", void.text()));
    let parts = [half, void].into_iter().flatten().collect::<String>();
    format!("{} {}{parts}", unit.print(mean, Script::Typographic), unit.name())
}

fn best_table(groups: &[&DiskGroup], unit: &RowUnit<'_>) -> Markup {
    html! {
        table.small {
            thead { tr { th { "group" } th { "system" } th.num { "best, " (unit.name()) } th.num { "at depth" } } }
            tbody { @for group in groups { @for curve in &group.curves { tr {
                th scope="row" { bdi { (group.label) } }
                td { bdi { (curve.system) } }
                @match curve.best() {
                    Some((point, value)) => {
                        td.num { (unit.print(value, Script::Typographic)) }
                        td.num { (point.depth) }
                    }
                    None => { td.num { "n/a" } td.num { "–" } }
                }
            } } } }
        }
    }
}

/// Best, mean there, knee, rate and latency there.
fn hidden(set: &ComparisonSet) -> Markup {
    html! {
        div.scroll { table.disk {
            thead {
                tr {
                    th scope="col" rowspan="2" { "group" }
                    th scope="col" rowspan="2" { "system" }
                    th.num scope="colgroup" colspan="3" { "best" }
                    th.num scope="colgroup" colspan="3" { "knee" }
                }
                tr {
                    th.num scope="col" { "highest run" }
                    th.num scope="col" { "mean there" }
                    th.num scope="col" { "depth" }
                    th.num.knee-side scope="col" { "depth" }
                    th.num scope="col" { "mean there" }
                    th.num scope="col" { "latency there" }
                }
            }
            tbody { @for group in &set.disk { @for (number, curve) in group.curves.iter().enumerate() {
                tr {
                    @if number == 0 {
                        th scope="rowgroup" rowspan=(group.curves.len()) {
                            bdi { (group.label) } br; span.unit { (rate_words(&group.metric)) }
                        }
                    }
                    td.who data-l="system" { span { (swatch(curve.index)) " " bdi { (curve.system) } } }
                    (best_cells(group, curve))
                    (knee_cells(group, curve))
                }
            } } }
        } }
        p.note {
            "Latency there: the mean of the runs' 99th percentiles, or where no percentile is known their mean latency, \
             of imported results by Little's law (threads · depth / rate). ± half the interval of the mean; none of a \
             single run. ?: the means are not known well enough to tell where the knee is."
        }
    }
}

/// `label` shows on phones, where rows are cards.
fn mean_cell(label: &str, point: &DepthPoint, unit: &RowUnit<'_>) -> Markup {
    html! {
        td.num data-l=(label) { span {
            @match point.mean() {
                Some(mean) => {
                    (unit.print(mean, Script::Typographic))
                    @if let Some(share) = point.rate.half_width { span.half { " " (half(share, Script::Typographic)) } }
                    @if let Some(void) = &point.void { br; span.half { (void.text()) } }
                }
                None => { "n/a" }
            }
        } }
    }
}

fn best_cells(group: &DiskGroup, curve: &DepthCurve) -> Markup {
    let unit = RowUnit::new(&group.metric.unit, []);
    html! {
        @match curve.best() {
            Some((point, value)) => {
                td.num data-l="highest run" { (unit.print(value, Script::Typographic)) }
                (mean_cell("mean there", point, &unit))
                td.num data-l="at depth" { (point.depth) }
            }
            None => {
                td.num data-l="highest run" { "n/a" }
                td.num data-l="mean there" { "n/a" }
                td.num data-l="at depth" { "–" }
            }
        }
    }
}

fn knee_cells(group: &DiskGroup, curve: &DepthCurve) -> Markup {
    let unit = RowUnit::new(&group.metric.unit, []);
    html! {
        @match curve.knee() {
            Knee::At(point) => {
                td.num.knee-side data-l="knee at depth" { (point.depth) @if !curve.knee_is_sure() { "?" } }
                (mean_cell("mean at the knee", point, &unit))
                td.num data-l="latency at the knee" { (latency(group, point)) }
            }
            Knee::NotReached(point) => {
                td.num.knee-side data-l="knee" colspan="3" { "none: still rising at depth " (point.depth) }
            }
            Knee::Unknown => {
                td.num.knee-side data-l="knee" colspan="3" {
                    @match curve.gap() {
                        Some(point) => { "n/a: no figure at depth " (point.depth) }
                        None => { "n/a: fewer than two depths have a figure" }
                    }
                }
            }
        }
    }
}

/// `1.2 ms p99`.
fn latency(group: &DiskGroup, point: &DepthPoint) -> String {
    let (pick, name) = latency_of(group);
    pick(point).map_or_else(
        || format!("n/a {name}"),
        |(metric, value)| {
            let unit = RowUnit::new(&metric.unit, [value]);
            format!("{} {} {name}", unit.print(value, Script::Typographic), unit.name())
        },
    )
}

/// Logarithmic depths, from a power of two to the next.
fn curve(group: &DiskGroup, number: usize) -> Markup {
    let unit = RowUnit::new(&group.metric.unit, []);
    let known = |curve: &DepthCurve| curve.points.iter().filter(|point| point.mean().is_some()).count();
    let title = group.label.clone();
    if group.curves.iter().all(|curve| known(curve) < 2) {
        return super::figure::nothing(&title, "fewer than two depths have a figure: there is no curve");
    }
    let points = || group.curves.iter().flat_map(|curve| &curve.points);
    let means = || points().filter_map(DepthPoint::mean);
    let edge = means().fold(0.0, f64::max) * HIGHEST_INTERVAL;
    let ends = points().filter_map(|point| point.interval().map(|(_, hi)| hi.min(edge)));
    let mut panel = Panel::new(WIDTH, HEIGHT, depth_axis(group), Axis::from_zero(means().chain(ends), 5));
    panel.left = 64;
    panel.title = format!("{} by depth, {}", rate_words(&group.metric), group.label);
    panel.description =
        "Per system the mean of the runs at each depth with its interval; a ring is around the knee.".to_owned();
    panel.x_caption = "outstanding I/Os of a thread (logarithmic); ◯ knee".to_owned();
    let is_cut = points().filter_map(DepthPoint::interval).any(|(_, hi)| hi > edge);
    let cut = if is_cut { " (cut at the edge)" } else { "" };
    panel.y_caption = format!("{}: mean of the runs, and its interval{cut}", rate_words(&group.metric));
    let mut series = Vec::new();
    for curve in &group.curves {
        draw(&mut panel, group, curve);
        series.push(live(curve));
    }
    // Values on hover are at the depths.
    let live = Live { unit: unit.name().to_owned(), kind: "depth", zoom: false, y_log: false, series };
    let legend = system_legend(&group.curves.iter().collect::<Vec<_>>());
    Figure { title: &title, panel: &panel, id: &format!("depth-{number}"), legend, live: Some(live) }
        .render(depth_table(group, &unit))
}

fn depth_axis(group: &DiskGroup) -> Axis {
    let mut depths: Vec<i64> = group.curves.iter().flat_map(|c| &c.points).map(|point| point.depth.max(1)).collect();
    depths.sort_unstable();
    depths.dedup();
    let place = |depth: &i64| (*depth as f64).log2();
    let (lo, hi) = (depths.first().map_or(0.0, place), depths.last().map_or(1.0, place));
    let room = ((hi - lo) * 0.06).max(0.1);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for depth in &depths {
        // Depths may be too close for labels.
        if ticks.last().is_none_or(|(last, _)| place(depth) - last >= (hi - lo) / 14.0) {
            ticks.push((place(depth), depth.to_string()));
        }
    }
    Axis { lo: lo - room, hi: hi + room, ticks }
}

fn draw(panel: &mut Panel, group: &DiskGroup, curve: &DepthCurve) {
    let unit = RowUnit::new(&group.metric.unit, []);
    // Intervals of several systems at one depth stand beside each other.
    let of = group.curves.len() as f64;
    let place_of_it = group.curves.iter().position(|other| other.index == curve.index).unwrap_or(0) as f64;
    let beside = (place_of_it - (of - 1.0) / 2.0) * (panel.x.hi - panel.x.lo) * 0.012;
    let place = |point: &DepthPoint| (point.depth.max(1) as f64).log2();
    let edge = panel.y.hi;
    let band: Vec<(f64, f64, f64)> =
        curve.points.iter().filter_map(|p| p.interval().map(|(lo, hi)| (place(p), lo, hi.min(edge)))).collect();
    if band.len() > 1 {
        panel.layers.insert(0, Layer::Area(band, Ink::Range(curve.index)));
    }
    let line = curve.points.iter().filter_map(|point| Some((place(point), point.mean()?))).collect();
    panel.layers.push(Layer::Line(line, Ink::Line(curve.index)));
    for point in &curve.points {
        let Some(mean) = point.mean() else { continue };
        if let Some((lo, hi)) = point.interval() {
            panel.layers.push(Layer::Line(
                vec![(place(point) + beside, lo), (place(point) + beside, hi.min(edge))],
                Ink::Middle(curve.index),
            ));
        }
        let class = series_class(curve.index);
        let is_knee = matches!(curve.knee(), Knee::At(knee) if knee.depth == point.depth);
        if is_knee {
            let (sure, word) = if curve.knee_is_sure() { ("", "knee") } else { ("unsure ", "perhaps the knee") };
            panel.marks.push(Mark {
                x: place(point),
                y: mean,
                shape: Shape::Ring,
                radius: 8.5,
                class: format!("knee {sure}{class}"),
                title: format!("{}: {word} at depth {}", curve.system, point.depth),
            });
        }
        let void = if point.void.is_some() { "void " } else { "" };
        panel.marks.push(Mark {
            x: place(point),
            y: mean,
            shape: Shape::of_series(curve.index),
            radius: 4.0,
            class: format!("pt {void}{class}"),
            title: format!(
                "{}, depth {}: {}, {}",
                curve.system,
                point.depth,
                mean_words(point, &unit),
                latency(group, point)
            ),
        });
    }
}

fn live(curve: &DepthCurve) -> LiveSeries {
    let known: Vec<(&DepthPoint, f64)> = curve.points.iter().filter_map(|point| Some((point, point.mean()?))).collect();
    LiveSeries {
        name: curve.system.clone(),
        index: curve.index,
        x: known.iter().map(|(point, _)| (point.depth.max(1) as f64).log2()).collect(),
        y: known.iter().map(|(_, mean)| *mean).collect(),
        range: known.iter().map(|(point, _)| point.interval()).collect(),
    }
}

fn depth_table(group: &DiskGroup, unit: &RowUnit<'_>) -> Markup {
    html! {
        table.small {
            thead { tr {
                th { "system" } th.num { "depth" } th.num { "mean, " (unit.name()) } th.num { "runs" } th.num { "latency" }
            } }
            tbody { @for curve in &group.curves { @for point in &curve.points { tr {
                th scope="row" { bdi { (curve.system) } }
                td.num { (point.depth) }
                (mean_cell("mean", point, unit))
                td.num { (point.rate.runs.len()) }
                td.num { (latency(group, point)) }
            } } } }
        }
    }
}
