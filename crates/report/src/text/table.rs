//! One table: head, rows, footnotes.

use anstyle::{AnsiColor, Style as Ansi};
use stats::Verdict;

use super::grid::{Align, Grid, GridCell, GridLine, clean, clipped, wrapped};
use super::{Runs, TextOptions};
use crate::comparison::{Comparison, ComparisonSet, Outcome, Side, SideLetter, Table, Warning};
use crate::number::{RowUnit, Script, half, p_value, percent};
use crate::words::{RowNotes, absent_of, arrow, change, metric_name, row_unit, verdict_words};

/// The ways to lay the columns out, from wide to narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Everything on one line, with p.
    WithP,
    Line,
    /// Interval under the difference, remarks under the verdict.
    Stacked,
    /// Unit under the metric, half intervals under the figures.
    Tight,
    /// Like `Tight`, with broken verdicts, and names under their letters.
    Narrow,
}

impl Form {
    /// From wide to narrow.
    const ALL: [Form; 5] = [Form::WithP, Form::Line, Form::Stacked, Form::Tight, Form::Narrow];

    fn columns(self) -> Vec<Align> {
        use Align::{Left, Right};
        match self {
            Form::WithP => vec![Left, Left, Right, Right, Right, Left, Left, Left],
            Form::Line => vec![Left, Left, Right, Right, Right, Left, Left],
            Form::Stacked => vec![Left, Left, Right, Right, Right, Left],
            Form::Tight | Form::Narrow => vec![Left, Right, Right, Right, Left],
        }
    }

    fn longest_side(self) -> usize {
        match self {
            Form::WithP | Form::Line => 22,
            Form::Stacked => 14,
            Form::Tight => 12,
            Form::Narrow => 10,
        }
    }

    fn longest_metric(self) -> usize {
        match self {
            Form::WithP | Form::Line => 40,
            Form::Stacked | Form::Tight | Form::Narrow => 18,
        }
    }
}

pub struct Rendered {
    pub text: String,
    pub has_p: bool,
}

/// Also of a verdict's addition, in narrow forms.
const LONGEST_UNIT: usize = 12;
const LONGEST_REST: usize = 20;
/// Of a broken verdict: `inconclusive` is the longest word.
const NARROW_VERDICT: usize = 13;

pub fn render(table: &Table, set: &ComparisonSet, options: &TextOptions) -> Rendered {
    let mut notes = RowNotes::default();
    let marks: Vec<String> = table.rows.iter().map(|row| marks(&notes.of_row(row))).collect();
    let laid_out = |form| grid(table, set, &marks, form, options);
    let (form, grid) = Form::ALL
        .into_iter()
        .map(|form| (form, laid_out(form)))
        .find(|(_, grid)| grid.width() <= options.width)
        .unwrap_or_else(|| (Form::Narrow, laid_out(Form::Narrow)));
    let mut text = grid.render(options.style);
    text.push_str(&render_notes(&notes, options.width));
    Rendered { text, has_p: form == Form::WithP }
}

/// `(1,3)`.
pub(super) fn marks(numbers: &[usize]) -> String {
    if numbers.is_empty() {
        return String::new();
    }
    format!("({})", numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// Warnings, and the reason of a missing figure.
pub(super) fn figure_notes<'a>(warnings: &'a [Warning], side: &'a Side) -> impl Iterator<Item = String> + 'a {
    let reasons = side.unavailable.iter().filter(|_| side.estimate.is_none());
    warnings.iter().map(Warning::text).chain(reasons.map(|(reason, _)| format!("n/a: {reason}")))
}

/// Each on its own lines.
pub(super) fn render_notes(notes: &RowNotes, width: usize) -> String {
    notes.iter().map(|(number, note)| wrapped(&format!("({number}) {}", clean(note)), width, 4)).collect()
}

fn grid(table: &Table, set: &ComparisonSet, marks: &[String], form: Form, options: &TextOptions) -> Grid {
    let mut grid = Grid::new(form.columns());
    grid.push(GridLine::Cells(head(table, set, form)));
    let mut case = String::new();
    for (row, marks) in table.rows.iter().zip(marks) {
        let label = row.case_label();
        if label != case {
            grid.push(GridLine::Across(clean(&clipped(&label, options.width))));
            case = label;
        }
        let indent = if case.is_empty() { "" } else { "  " };
        grid.push(GridLine::Cells(cells(row, set, marks, indent, form)));
        if options.runs == Runs::Listed {
            for letter in [SideLetter::A, SideLetter::B] {
                grid.push(GridLine::Across(runs(row, letter, indent, options.width)));
            }
        }
    }
    grid
}

fn head(table: &Table, set: &ComparisonSet, form: Form) -> Vec<GridCell> {
    let between = if form == Form::Narrow { '\n' } else { ' ' };
    let side = |letter: SideLetter, name: &str| {
        format!("{}{between}{}", letter.as_str(), clipped(&clean(name), form.longest_side()))
    };
    let interval = format!("{} interval", percent(set.rules.level, Script::Plain));
    let (a, b) = (side(SideLetter::A, &table.a), side(SideLetter::B, &table.b));
    let under = format!("B vs A\n{interval}");
    let empty = String::new;
    let (change, verdict) = ("B vs A".to_owned(), "verdict".to_owned());
    let head = match form {
        Form::WithP => vec![empty(), empty(), a, b, change, interval, "p".to_owned(), verdict],
        Form::Line => vec![empty(), empty(), a, b, change, interval, verdict],
        Form::Stacked => vec![empty(), empty(), a, b, under, verdict],
        Form::Tight | Form::Narrow => vec![empty(), a, b, under, verdict],
    };
    let bold = Ansi::new().bold();
    head.into_iter().map(|text| GridCell::painted(text, bold)).collect()
}

fn cells(row: &Comparison, set: &ComparisonSet, marks: &str, indent: &str, form: Form) -> Vec<GridCell> {
    let unit = row_unit(row);
    let name = format!("{indent}{}", clipped(&clean(&metric_name(&row.metric.id)), form.longest_metric()));
    let of_unit = clipped(&clean(unit.name()), LONGEST_UNIT);
    let of_unit = format!("{of_unit} {}", arrow(row.metric.direction)).trim().to_owned();
    let (point, interval) = change(row).map_or_else(
        || ("-".to_owned(), String::new()),
        |change| (change.point(Script::Plain), change.interval(Script::Plain)),
    );
    let (word, rest) = verdict_words(row, set);
    let rest = clean(&rest);
    let one_line = || {
        let separator = match row.outcome {
            _ if rest.is_empty() => " ",
            Outcome::Verdict(Verdict::Equivalent) => " ",
            Outcome::Verdict(_) => ", ",
            Outcome::None(_) => ": ",
        };
        format!("{word}{separator}{rest} {marks}").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let two_lines = || format!("{word} {marks}\n{}", clipped(&rest, LONGEST_REST)).trim_end().to_owned();
    let (a, b) = (figure(&row.a, &unit), figure(&row.b, &unit));
    let stacked = || format!("{point}\n{interval}").trim_end().to_owned();
    let (mut texts, verdict) = match form {
        Form::WithP => {
            let p = row.estimate.as_ref().map_or_else(String::new, |e| p_value(e.p));
            (vec![name, of_unit, a.join(" "), b.join(" "), point, interval, p], one_line())
        }
        Form::Line => (vec![name, of_unit, a.join(" "), b.join(" "), point, interval], one_line()),
        Form::Stacked => (vec![name, of_unit, a.join(" "), b.join(" "), stacked()], two_lines()),
        Form::Tight | Form::Narrow => {
            let name = format!("{name}\n{indent}  {of_unit}").trim_end().to_owned();
            let broken = || wrapped(&one_line(), NARROW_VERDICT, 0).trim_end().to_owned();
            let verdict = if form == Form::Narrow { broken() } else { two_lines() };
            (vec![name, a.join("\n"), b.join("\n"), stacked()], verdict)
        }
    };
    let mut cells: Vec<GridCell> = texts.drain(..).map(GridCell::new).collect();
    cells.push(GridCell::painted(verdict, verdict_style(row)));
    cells
}

/// `18 400` and `±1 %`.
pub fn figure(side: &Side, unit: &RowUnit<'_>) -> Vec<String> {
    let Some(estimate) = side.estimate else { return vec![absent_of(side).to_owned()] };
    let half = side.half_width.map(|share| half(share, Script::Plain));
    [Some(unit.print(estimate, Script::Plain)), half].into_iter().flatten().collect()
}

fn verdict_style(row: &Comparison) -> Ansi {
    let colour = |colour: AnsiColor| Ansi::new().fg_color(Some(colour.into()));
    match row.outcome {
        Outcome::Verdict(Verdict::Faster) => colour(AnsiColor::Green).bold(),
        Outcome::Verdict(Verdict::Slower) => colour(AnsiColor::Red).bold(),
        Outcome::Verdict(Verdict::Equivalent) => colour(AnsiColor::Cyan),
        Outcome::Verdict(Verdict::Inconclusive) => colour(AnsiColor::Yellow),
        Outcome::None(_) => Ansi::new().dimmed(),
    }
}

fn runs(row: &Comparison, letter: SideLetter, indent: &str, width: usize) -> String {
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
    let line = format!("{} {}: {}", letter.as_str(), clean(unit.name()), values.join(",  "));
    let broken = wrapped(&line, width.saturating_sub(indent.len() + 2), 5);
    let indented: Vec<String> = broken.lines().map(|line| format!("{indent}  {line}")).collect();
    indented.join("\n").replace('\u{a0}', " ")
}
