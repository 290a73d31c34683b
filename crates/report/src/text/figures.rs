use super::TextOptions;
use super::grid::{Align, Grid, GridCell, GridLine, clean_text, clip_to_width, wrap_to_width};
use super::table::{figure_and_half_width, figure_notes, note_mark, render_notes};
use crate::comparison::{ComparisonSet, Figure};
use crate::labels::{RowNotes, direction_arrow, estimator_words, metric_name, unit_of};
use crate::number::{RowUnit, Script};

/// Writes a table of some figures of a set, with their notes.
pub fn render_figures<'f>(
    set: &ComparisonSet,
    figures: impl IntoIterator<Item = &'f Figure>,
    options: &TextOptions,
) -> String {
    use Align::{Left, Right};
    let mut grid = Grid::new(vec![Left, Left, Right, Right, Right, Right, Left]);
    let head = ["", "", "figure", "", "lowest", "highest", ""].map(GridCell::new);
    grid.push_line(GridLine::Cells(head.to_vec()));
    let mut notes = RowNotes::default();
    let mut group = String::new();
    for one in figures {
        let title = [one.benchmark.as_str(), one.label.as_str()].join(", ");
        let title = title.trim_end_matches(", ").to_owned();
        if title != group {
            grid.push_line(GridLine::Across(clean_text(&clip_to_width(&title, options.width))));
            group = title;
        }
        let number = notes.number_notes(figure_notes(&one.warnings, &one.side));
        grid.push_line(GridLine::Cells(figure_cells(one, note_mark(number))));
    }
    let mut out = grid.render_grid(options.style);
    out.push_str(&render_notes(&notes, options.width));
    let legend = format!("\nFigure: {}, ± half its interval.", estimator_words(set));
    out.push_str(&wrap_to_width(&legend, options.width, 0));
    out
}

/// Makes the cells of a figure: name, unit, value, half width, extremes and notes.
fn figure_cells(one: &Figure, notes: String) -> Vec<GridCell> {
    let unit = unit_of(&one.metric, [&one.side]);
    let mut figure = figure_and_half_width(&one.side, &unit);
    figure.resize(2, String::new());
    let summary = one.side.summary.as_ref();
    let name = format!("  {}", clip_to_width(&clean_text(&metric_name(&one.metric.id)), 30));
    let of_unit = format!("{} {}", clean_text(unit.unit_name()), direction_arrow(one.metric.direction));
    let [value, half] = [figure[0].clone(), figure[1].clone()];
    let (lowest, highest) = (extreme_text(summary.map(|s| s.min), &unit), extreme_text(summary.map(|s| s.max), &unit));
    let texts = [name, of_unit, value, half, lowest, highest, notes];
    texts.into_iter().map(GridCell::new).collect()
}

/// Writes the lowest or highest run; empty if it is not known.
fn extreme_text(value: Option<f64>, unit: &RowUnit<'_>) -> String {
    value.map_or_else(String::new, |value| unit.print(value, Script::Plain))
}
