//! One table: head, rows, notes.

use anstyle::{AnsiColor, Style as Ansi};
use stats::Verdict;
use unicode_width::UnicodeWidthStr;

use super::grid::{Align, Grid, GridCell, GridLine, clean_text, clip_to_width, wrap_to_width};
use super::{Runs, TextOptions, every_row, pair_apart};
use crate::comparison::{Comparison, ComparisonSet, Outcome, Side, SideLetter, Table, Warning};
use crate::labels::{RowNotes, change_of, direction_arrow, figure_of, metric_name, missing_side_text, row_unit};
use crate::number::{RowUnit, Script, half_width_text, percent_text};

/// Letters of a side's name over its column, where there is room for names.
const LONGEST_SIDE: usize = 22;
const LONGEST_METRIC: usize = 30;
const LONGEST_UNIT: usize = 12;

/// Over the columns of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heads {
    /// `A rollback-journal`.
    Named,
    /// `A`, which the lines above explain.
    Letters,
    /// Letters, and each row's name on a line of its own.
    Above,
}

/// Writes the table in the widest form that fits, with its notes.
pub fn render_table(table: &Table, set: &ComparisonSet, options: &TextOptions) -> String {
    let mut notes = RowNotes::of_rows(&table.rows);
    let marks: Vec<String> = table.rows.iter().map(|row| note_mark(notes.number_of_row(row))).collect();
    let laid_out = |heads| make_grid(table, set, (&notes, &marks), heads, options);
    let mut one_line_heads = [Heads::Named, Heads::Letters].into_iter().map(&laid_out);
    let grid =
        one_line_heads.find(|grid| grid.total_width() <= options.width).unwrap_or_else(|| laid_out(Heads::Above));
    let mut text = grid.render_grid(options.style);
    let of_all = notes.of_all_rows().iter().map(|note| format!("{}: {}", every_row(options), clean_text(note)));
    text.extend(of_all.map(|note| wrap_to_width(&note, options.width, 4)));
    text + &render_notes(&notes, options.width)
}

/// Writes the mark of a note, such as `(1)`; empty without one.
pub(super) fn note_mark(number: Option<usize>) -> String {
    number.map_or_else(String::new, |number| format!("({number})"))
}

/// Lists the notes of a figure: warnings, and the reason if it is missing.
pub(super) fn figure_notes(warnings: &[Warning], side: &Side) -> Vec<String> {
    let reasons = side.unavailable.iter().filter(|_| side.estimate.is_none());
    warnings.iter().map(Warning::text).chain(reasons.map(|(reason, _)| format!("n/a: {reason}"))).collect()
}

/// Writes the numbered notes, each on its own lines.
pub(super) fn render_notes(notes: &RowNotes, width: usize) -> String {
    let mut out = String::new();
    for (number, texts) in notes.numbered() {
        for (at, text) in texts.iter().enumerate() {
            let mark = if at == 0 { format!("({number})") } else { "   ".to_owned() };
            let lines = wrap_to_width(&clean_text(text), width.saturating_sub(4), 0);
            for (line, text) in lines.lines().enumerate() {
                out.push_str(&format!("{} {text}\n", if line == 0 { mark.as_str() } else { "   " }));
            }
        }
    }
    out
}

/// Lays out a table's rows as a grid, with heads in a form.
fn make_grid(
    table: &Table,
    set: &ComparisonSet,
    (notes, marks): (&RowNotes, &[String]),
    heads: Heads,
    options: &TextOptions,
) -> Grid {
    use Align::{Left, Right};
    let has_shares = table.rows.iter().any(|row| row.share_of_whole.is_some());
    let share = has_shares.then_some(Right);
    let mut grid = Grid::new([Left, Right, Right, Right, Left].into_iter().chain(share).chain([Left]).collect());
    let head = head_cells(table, set, heads, has_shares);
    let head_widths: Vec<usize> = head.iter().map(GridCell::width).collect();
    grid.push_line(GridLine::Cells(head));
    let mut cells: Vec<Vec<String>> = table.rows.iter().map(|row| row_cells(row, has_shares)).collect();
    let names: Vec<String> = match heads {
        Heads::Above => cells.iter_mut().map(|cells| std::mem::take(&mut cells[0])).collect(),
        Heads::Named | Heads::Letters => Vec::new(),
    };
    // What is left for the verdict on a row's first line.
    let room = options.width.saturating_sub(
        (0..head_widths.len() - 1)
            .map(|column| cells.iter().map(|row| row[column].width()).fold(head_widths[column], usize::max) + 2)
            .sum(),
    );
    let mut case = String::new();
    for (at, ((row, marks), cells)) in table.rows.iter().zip(marks).zip(&cells).enumerate() {
        let label = row.case_label();
        if label != case {
            grid.push_line(GridLine::Across(clean_text(&clip_to_width(&label, options.width))));
            case = label;
        }
        if let Some(name) = names.get(at) {
            grid.push_line(GridLine::Across(clip_to_width(name, options.width)));
        }
        let (word, rest) = notes.verdict_words(row, set);
        let rest = clean_text(&rest);
        let verdict = verdict_cell(row, &word, &rest, marks);
        let is_short = verdict.width() <= room || rest.is_empty();
        let verdict = if is_short { verdict } else { format!("{word} {marks}").trim_end().to_owned() };
        let mut line: Vec<GridCell> = cells.iter().map(GridCell::new).collect();
        line.push(GridCell::painted(verdict, verdict_style(row)));
        grid.push_line(GridLine::Cells(line));
        if !is_short {
            grid.push_line(GridLine::Across(format!(
                "      {}",
                clip_to_width(&rest, options.width.saturating_sub(6))
            )));
        }
        if options.runs == Runs::Listed {
            for letter in [SideLetter::A, SideLetter::B] {
                grid.push_line(GridLine::Across(run_values(row, letter, options.width)));
            }
        }
    }
    grid
}

/// Makes the cells of the table's head.
fn head_cells(table: &Table, set: &ComparisonSet, heads: Heads, has_shares: bool) -> Vec<GridCell> {
    let interval = if table.rows.iter().any(|row| row.estimate.is_some()) {
        format!("{} interval", percent_text(set.rules.level, Script::Plain))
    } else {
        String::new()
    };
    let [a, b] = pair_apart(&clean_text(&table.a), &clean_text(&table.b), LONGEST_SIDE);
    let (a, b) = (side_head(heads, SideLetter::A, &a), side_head(heads, SideLetter::B, &b));
    let share = has_shares.then(|| "of A".to_owned());
    let figures = [String::new(), a, b, "B vs A".to_owned(), interval].into_iter().chain(share);
    figures.chain(["verdict".to_owned()]).map(|text| GridCell::painted(text, Ansi::new().bold())).collect()
}

/// Writes the head of a side's column: its letter, with its name if there is room.
fn side_head(heads: Heads, letter: SideLetter, name: &str) -> String {
    match heads {
        Heads::Named => format!("{} {name}", letter.as_str()),
        Heads::Letters | Heads::Above => letter.as_str().to_owned(),
    }
}

/// Writes a share in percent; one below 1 % is no 0 %.
fn share_text(percent: f64) -> String {
    if percent < 1.0 { "< 1 %".to_owned() } else { format!("{percent} %") }
}

/// Writes the cells of a row, all but the verdict.
fn row_cells(row: &Comparison, has_shares: bool) -> Vec<String> {
    let unit = row_unit(row);
    let name = clip_to_width(&clean_text(&metric_name(&row.metric.id)), LONGEST_METRIC);
    let of_unit = format!(
        "{} {}",
        clip_to_width(&clean_text(unit.unit_name()), LONGEST_UNIT),
        direction_arrow(row.metric.direction)
    );
    let indent = if row.label.is_empty() { "" } else { "  " };
    let name =
        [name.as_str(), of_unit.trim()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let (point, interval) = change_of(row).map_or_else(
        || ("-".to_owned(), String::new()),
        |change| {
            let interval = row.estimate.map(|_| change.print_interval(Script::Plain));
            (change.print_change(Script::Plain), interval.unwrap_or_default())
        },
    );
    let share = row.share_of_whole.map_or_else(String::new, share_text);
    let figures = [format!("{indent}{name}"), figure_text(&row.a, &unit), figure_text(&row.b, &unit), point, interval];
    figures.into_iter().chain(has_shares.then_some(share)).collect()
}

/// Writes a side's figure, or why there is none.
fn figure_text(side: &Side, unit: &RowUnit<'_>) -> String {
    figure_of(side, unit, Script::Plain).unwrap_or_else(|| missing_side_text(side).to_owned())
}

/// Writes the cell of a verdict: `no verdict: unequal durability (1)`.
fn verdict_cell(row: &Comparison, word: &str, rest: &str, marks: &str) -> String {
    let separator = match row.outcome {
        _ if rest.is_empty() => " ",
        Outcome::Verdict(Verdict::Equivalent) => " ",
        Outcome::Verdict(_) => ", ",
        Outcome::None(_) => ": ",
    };
    format!("{word}{separator}{rest} {marks}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a single system's figure and its half width, if it has one: `18 400` and `±1 %`.
pub fn figure_and_half_width(side: &Side, unit: &RowUnit<'_>) -> Vec<String> {
    let Some(figure) = figure_of(side, unit, Script::Plain) else { return vec![missing_side_text(side).to_owned()] };
    let half = side.half_width.map(|share| half_width_text(share, Script::Plain));
    [Some(figure), half].into_iter().flatten().collect()
}

/// The colour of a row's verdict.
fn verdict_style(row: &Comparison) -> Ansi {
    match row.outcome {
        Outcome::Verdict(Verdict::Faster) => foreground(AnsiColor::Green).bold(),
        Outcome::Verdict(Verdict::Slower) => foreground(AnsiColor::Red).bold(),
        Outcome::Verdict(Verdict::Equivalent) => foreground(AnsiColor::Cyan),
        Outcome::Verdict(Verdict::Inconclusive) => foreground(AnsiColor::Yellow),
        Outcome::None(_) => Ansi::new().dimmed(),
    }
}

/// The style of text in a colour.
fn foreground(colour: AnsiColor) -> Ansi {
    Ansi::new().fg_color(Some(colour.into()))
}

/// Writes the values of a side's runs, in their order, wrapped.
fn run_values(row: &Comparison, letter: SideLetter, width: usize) -> String {
    let unit = row_unit(row);
    let side = row.side(letter);
    let mut values: Vec<String> = side
        .runs
        .iter()
        // Keeps digit groups together.
        .map(|point| unit.print(point.value, Script::Plain).replace(' ', "\u{a0}"))
        .collect();
    if values.is_empty() {
        values.push("n/a".to_owned());
    }
    let line = format!("{} {}: {}", letter.as_str(), clean_text(unit.unit_name()), values.join(",  "));
    let broken = wrap_to_width(&line, width.saturating_sub(4), 5);
    let indented: Vec<String> = broken.lines().map(|line| format!("    {line}")).collect();
    indented.join("\n").replace('\u{a0}', " ")
}
