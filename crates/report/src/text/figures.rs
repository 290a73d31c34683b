use super::TextOptions;
use super::grid::{Align, Grid, GridCell, GridLine, clean, clipped, wrapped};
use super::table::{figure, figure_notes, mark, render_notes};
use crate::comparison::{ComparisonSet, Figure};
use crate::labels::{RowNotes, arrow, estimator_words, metric_name, unit_of};
use crate::number::{RowUnit, Script};

/// Some figures of a set.
pub fn render<'f>(set: &ComparisonSet, figures: impl IntoIterator<Item = &'f Figure>, options: &TextOptions) -> String {
    use Align::{Left, Right};
    let mut grid = Grid::new(vec![Left, Left, Right, Right, Right, Right, Left]);
    let head = ["", "", "figure", "", "lowest", "highest", ""].map(GridCell::new);
    grid.push(GridLine::Cells(head.to_vec()));
    let mut notes = RowNotes::default();
    let mut group = String::new();
    for one in figures {
        let title = [one.benchmark.as_str(), one.label.as_str()].join(", ");
        let title = title.trim_end_matches(", ").to_owned();
        if title != group {
            grid.push(GridLine::Across(clean(&clipped(&title, options.width))));
            group = title;
        }
        let number = notes.number(figure_notes(&one.warnings, &one.side));
        grid.push(GridLine::Cells(cells(one, mark(number))));
    }
    let mut out = grid.render(options.style);
    out.push_str(&render_notes(&notes, options.width));
    let legend = format!("\nFigure: {}, ± half its interval.", estimator_words(set));
    out.push_str(&wrapped(&legend, options.width, 0));
    out
}

fn cells(one: &Figure, notes: String) -> Vec<GridCell> {
    let unit = unit_of(&one.metric, [&one.side]);
    let mut figure = figure(&one.side, &unit);
    figure.resize(2, String::new());
    let summary = one.side.summary.as_ref();
    let name = format!("  {}", clipped(&clean(&metric_name(&one.metric.id)), 30));
    let of_unit = format!("{} {}", clean(unit.name()), arrow(one.metric.direction));
    let [value, half] = [figure[0].clone(), figure[1].clone()];
    let (lowest, highest) = (extreme(summary.map(|s| s.min), &unit), extreme(summary.map(|s| s.max), &unit));
    let texts = [name, of_unit, value, half, lowest, highest, notes];
    texts.into_iter().map(GridCell::new).collect()
}

fn extreme(value: Option<f64>, unit: &RowUnit<'_>) -> String {
    value.map_or_else(String::new, |value| unit.print(value, Script::Plain))
}
