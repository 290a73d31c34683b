//! Results of a single system.

use indexmap::IndexMap;
use maud::{Markup, html};
use model::Role;

use crate::comparison::{Bound, ComparisonSet, Figure};
use crate::labels::{
    better_words, design_sentence, direction_arrow, estimator_words, figure_of, metric_name, missing_side_text, unit_of,
};
use crate::number::{RowUnit, Script, half_width_text, percent_text};

/// Whether a set has figures of a single system instead of comparisons.
pub fn is_single(set: &ComparisonSet) -> bool {
    set.tables.is_empty() && !set.figures.is_empty()
}

/// The unit in which a figure is shown.
fn figure_unit(figure: &Figure) -> RowUnit<'_> {
    unit_of(&figure.metric, [&figure.side])
}

/// Makes cards with the main figures of a single system.
pub fn figure_cards(set: &ComparisonSet) -> Markup {
    let mut metrics: IndexMap<&str, Vec<&Figure>> = IndexMap::new();
    for figure in set.figures.iter().filter(|figure| figure.metric.role == Role::Primary) {
        metrics.entry(&figure.metric.id).or_default().push(figure);
    }
    metrics.retain(|_, figures| figures.iter().any(|figure| figure.side.estimate.is_some()));
    html! { @if !metrics.is_empty() { div.verdicts { @for (metric, figures) in &metrics {
        article.verdict { h3 { (metric_name(metric)) } p { (figure_range(figures)) } }
    } } } }
}

/// Shows the figure with its half width, or its range over the cases.
fn figure_range(figures: &[&Figure]) -> Markup {
    let mut known: Vec<(&Figure, f64)> = figures.iter().filter_map(|f| Some((*f, f.side.estimate?))).collect();
    known.sort_by(|x, y| x.1.total_cmp(&y.1));
    html! {
        @match (known.as_slice(), known.first(), known.last()) {
            ([(figure, value)], ..) => {
                span.figure { (print_with_unit(figure, *value)) }
                @if let Some(share) = figure.side.half_width { span.half { " " (half_width_text(share, Script::Typographic)) } }
            }
            (_, Some(least), Some(most)) => {
                span.figure { (print_with_unit(least.0, least.1)) } " to " span.figure { (print_with_unit(most.0, most.1)) }
                " over " (known.len()) " cases"
            }
            _ => {}
        }
    }
}

/// Writes a value with the sign of the figure's bound, and its unit.
fn print_with_unit(figure: &Figure, value: f64) -> String {
    let sign = figure.side.bound.map_or("", Bound::sign);
    format!("{sign}{} {}", figure_unit(figure).print(value, Script::Typographic), figure_unit(figure).unit_name())
}

/// Makes the table of a single system's figures.
pub fn figures_table(set: &ComparisonSet) -> Markup {
    let several = set.figures.iter().any(|figure| figure.benchmark != set.figures[0].benchmark);
    let level = percent_text(set.rules.level, Script::Typographic);
    // A single run is its own extreme.
    let extremes = set.figures.iter().any(|figure| figure.side.runs.len() > 1);
    let columns = Columns { several, extremes };
    html! {
        div.scroll { table.results {
            caption { span.design { (design_sentence(set)) } }
            thead { tr {
                th scope="col" { "case" }
                th scope="col" { "metric" }
                th.num scope="col" { (estimator_words(set)) }
                @if extremes {
                    th.num scope="col" { "lowest" }
                    th.num scope="col" { "highest" }
                }
                th.num scope="col" { "runs" }
            } }
            tbody { @for figure in &set.figures { (table_line(figure, columns)) } }
        } }
        p.note { "± half the " (level) " interval of the mean. ↑ higher is better, ↓ lower is better. n/a: could not be had, for the reason given." }
    }
}

/// What the table shows next to the figures.
#[derive(Clone, Copy)]
struct Columns {
    several: bool,
    extremes: bool,
}

/// Makes the row of a figure in the table.
fn table_line(figure: &Figure, columns: Columns) -> Markup {
    let unit = figure_unit(figure);
    let benchmark = (columns.several || figure.label.is_empty()).then_some(figure.benchmark.as_str());
    let case = benchmark.into_iter().chain(Some(figure.label.as_str())).filter(|part| !part.is_empty());
    let summary = figure.side.summary.as_ref();
    html! {
        tr {
            th scope="row" data-l="case" { bdi { (case.collect::<Vec<_>>().join(", ")) } }
            th scope="row" data-l="metric" {
                (metric_name(&figure.metric.id)) " "
                span.unit title=(better_words(&figure.metric)) { (unit.unit_name()) " " (direction_arrow(figure.metric.direction)) }
                @for warning in &figure.warnings { br; span.half { (warning.text()) } }
            }
            td.num data-l="figure" data-v=[figure.side.estimate.map(|value| value.to_string())] {
                @match figure_of(&figure.side, &unit, Script::Typographic) {
                    Some(text) => span {
                        (text)
                        @if let Some(share) = figure.side.half_width { span.half { " " (half_width_text(share, Script::Typographic)) } }
                    }
                    None => span.na { (missing_side_text(&figure.side)) @for (reason, _) in &figure.side.unavailable { " " (reason) } }
                }
            }
            @if columns.extremes {
                td.num data-l="lowest" { (extreme_text(summary.map(|s| s.min), &unit)) }
                td.num data-l="highest" { (extreme_text(summary.map(|s| s.max), &unit)) }
            }
            td.num data-l="runs" { (figure.side.runs.len()) }
        }
    }
}

/// Writes the lowest or highest run, or `n/a`.
fn extreme_text(value: Option<f64>, unit: &RowUnit<'_>) -> String {
    value.map_or("n/a".to_owned(), |value| unit.print(value, Script::Typographic))
}
