//! Every run in run order, by round: shows drift and modes.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{Metric, Order, PlannedRun, RunState};

use super::cases::{CaseView, SystemCase};
use super::chart::{Axis, GridLines, Ink, Layer, Mark, Panel, Shape, series_class};
use super::figure::{Figure, empty_figure, systems_legend};
use crate::comparison::{Index, RunPoint};
use crate::evidence::Evidence;
use crate::labels::{direction_arrow, metric_name};
use crate::lookup::Lookup;
use crate::number::{RowUnit, Script, median};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 240;
/// Labels of rounds that find room.
const MOST_ROUND_LABELS: u32 = 12;

/// The positions of the runs in the charts of them all.
pub struct RunOrder {
    axis: Axis,
    /// The extent of every other round; none in sequential order.
    bands: Vec<(f64, f64)>,
}

/// Draws a mark for every run of a case and metric, in the order in which they ran.
pub fn runs_figure(
    (index, order): (&Index<'_>, &RunOrder),
    view: &CaseView<'_>,
    (metric, unit): (&Metric, &RowUnit<'_>),
    id: &str,
) -> Markup {
    let title = format!("{}: {}", view.title, metric_name(&metric.id));
    let sides: Vec<(&SystemCase<'_>, Vec<RunPoint>)> =
        view.systems.iter().map(|system| (system, index.points_of_cases(&[system.case], &metric.id))).collect();
    let values: Vec<f64> = sides.iter().flat_map(|(_, points)| points.iter().map(|point| point.value)).collect();
    if values.is_empty() {
        return empty_figure(&title, "no run has a value");
    }
    let y = Axis::linear(values.iter().copied().map(|value| unit.convert(value)), 5);
    let mut panel = Panel::new(WIDTH, HEIGHT, order.axis.clone(), y.clone());
    panel.left = 60;
    panel.grid = GridLines::Horizontal;
    panel.title = format!("Every run, {title}");
    panel.description = "One mark per run, from left to right as the store has them.".to_owned();
    panel.x_caption = if order.bands.is_empty() { "run" } else { "round, in run order" }.to_owned();
    panel.y_caption = format!("{} {}", unit.unit_name(), direction_arrow(metric.direction)).trim().to_owned();
    let bands = order.bands.iter();
    panel.layers = bands.map(|(from, to)| Layer::Box((*from, y.lo), (*to, y.hi), Ink::Block)).collect();
    for (system, points) in &sides {
        let middle = median(points.iter().map(|point| point.value)).map(|value| unit.convert(value));
        if let (Some(first), Some(last), Some(middle)) = (points.first(), points.last(), middle) {
            let ends = [(f64::from(first.position), middle), (f64::from(last.position), middle)];
            panel.layers.push(Layer::Line(ends.to_vec(), Ink::Middle(system.index)));
        }
        panel.marks.extend(points.iter().map(|point| run_mark(&index.lookup, system, point, unit)));
    }
    panel.marks.extend(view.systems.iter().flat_map(|system| lost_run_marks(&index.lookup, system, y.lo)));
    let systems: Vec<&SystemCase<'_>> = sides.iter().map(|(system, _)| *system).collect();
    let legend = html! { (systems_legend(&systems)) (mark_legend(&panel)) };
    Figure { title: &title, panel: &panel, id, legend, live: None }.render_with_table(values_table(&sides, unit))
}

/// Makes the axis of the runs in their order, labelled by rounds, with a band for every other round.
pub fn run_order(evidence: &Evidence) -> RunOrder {
    let plan = &evidence.header.plan;
    let last = evidence.runs.iter().map(|run| run.planned.position).max().unwrap_or(0);
    let mut axis = Axis { lo: -1.0, hi: f64::from(last) + 1.0, ticks: Vec::new() };
    if plan.schedule.order == Order::Sequential {
        axis.ticks = Axis::between(0.0, f64::from(last), 8).ticks;
        return RunOrder { axis, bands: Vec::new() };
    }
    // By existing rounds: a damaged store may claim any number.
    let mut extents: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for PlannedRun { round, position, .. } in evidence.runs.iter().map(|run| run.planned) {
        let extent = extents.entry(round).or_insert((position, position));
        *extent = (extent.0.min(position), extent.1.max(position));
    }
    let every = extents.keys().next_back().map_or(0, |last| *last).saturating_add(1).div_ceil(MOST_ROUND_LABELS);
    axis.ticks = extents
        .iter()
        .filter(|(round, _)| *round % every == 0)
        .map(|(round, extent)| {
            let (lo, hi) = round_edges(*extent);
            (f64::midpoint(lo, hi), (u64::from(*round) + 1).to_string())
        })
        .collect();
    let bands = extents.into_iter().filter(|(round, _)| round % 2 == 1).map(|(_, extent)| round_edges(extent));
    RunOrder { axis, bands: bands.collect() }
}

/// The edges of a round on the axis, half a run before its first run and after its last.
fn round_edges((lo, hi): (u32, u32)) -> (f64, f64) {
    (f64::from(lo) - 0.5, f64::from(hi) + 0.5)
}

/// Makes the mark of a run, whose title has its value and what it is marked with.
fn run_mark(lookup: &Lookup<'_>, system: &SystemCase<'_>, point: &RunPoint, unit: &RowUnit<'_>) -> Mark {
    let mut title = format!(
        "{}, round {}: {} {}",
        system.name,
        u64::from(point.round) + 1,
        unit.print(point.value, Script::Typographic),
        unit.unit_name()
    );
    let mut class = format!("pt {}", series_class(system.index));
    for mark in lookup.marks_of_run(point.run) {
        title.push_str(&format!("; {}: {}", crate::comparison::mark_name(mark.kind), mark));
        if mark.kind.voids_verdict() {
            class = format!("pt void {}", series_class(system.index));
        }
    }
    Mark {
        x: f64::from(point.position),
        y: unit.convert(point.value),
        shape: Shape::of_series(system.index),
        radius: 4.0,
        class,
        title,
    }
}

/// Makes a legend that explains crosses and hollow marks, if there are any.
fn mark_legend(panel: &Panel) -> Markup {
    html! {
        @if has_mark(panel, "pt lost") || has_mark(panel, "pt void") { span.legend {
            @if has_mark(panel, "pt lost") { span.key { (legend_sample("pt lost", Shape::Cross)) "no result" } }
            @if has_mark(panel, "pt void") { span.key { (legend_sample("pt void", Shape::Circle)) "hollow: carries no verdict" } }
        } }
    }
}

/// Whether a panel has marks whose class begins so.
fn has_mark(panel: &Panel, class: &str) -> bool {
    panel.marks.iter().any(|mark| mark.class.starts_with(class))
}

/// Draws a mark for the legend.
fn legend_sample(class: &str, shape: Shape) -> Markup {
    html! { svg.icon viewBox="0 0 16 16" aria-hidden="true" { path class=(class) d=(shape.path_data(8.0, 8.0, 4.0)) {} } }
}

/// Makes a cross at the lower edge for each run without a result.
fn lost_run_marks(lookup: &Lookup<'_>, system: &SystemCase<'_>, floor: f64) -> Vec<Mark> {
    let lost =
        lookup.last_attempts(&[system.case]).filter(|run| matches!(run.state, RunState::Failed | RunState::Aborted));
    lost.map(|run| Mark {
        x: f64::from(run.planned.position),
        y: floor,
        shape: Shape::Cross,
        radius: 4.5,
        class: "pt lost".to_owned(),
        title: format!(
            "{}, round {}: {}: {}",
            system.name,
            run.planned.round + 1,
            run.state,
            run.reason.as_deref().unwrap_or("no reason was recorded")
        ),
    })
    .collect()
}

/// Makes the table of the values by round.
fn values_table(sides: &[(&SystemCase<'_>, Vec<RunPoint>)], unit: &RowUnit<'_>) -> Markup {
    html! {
        table.small {
            thead { tr { th { "round" } @for (system, _) in sides { th.num { bdi { (system.name) } ", " (unit.unit_name()) } } } }
            tbody {
                @for round in all_rounds(sides) { tr {
                    th scope="row" { (round + 1) }
                    @for (_, points) in sides { td.num {
                        @let values: Vec<String> = points
                            .iter()
                            .filter(|point| point.round == round)
                            .map(|point| unit.print(point.value, Script::Typographic))
                            .collect();
                        @if values.is_empty() { "n/a" } @else { (values.join(", ")) }
                    } }
                } }
            }
        }
    }
}

/// Lists the rounds in which a side has a value.
fn all_rounds(sides: &[(&SystemCase<'_>, Vec<RunPoint>)]) -> Vec<u32> {
    let mut rounds: Vec<u32> = sides.iter().flat_map(|(_, points)| points.iter().map(|point| point.round)).collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds
}
