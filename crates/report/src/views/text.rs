//! Tables for a terminal.

use unicode_width::UnicodeWidthStr;

use super::{Bars, Column, Table, TablePlacement, View};
use crate::number::Script;
use crate::text::{Grid, GridCell, GridLine, Style, clean_text, clipped_apart, wrap_to_width};

/// Writes the tables among views that a terminal shows, within a width where that can be.
pub fn render_tables(views: &[View], width: usize) -> String {
    let mut out = String::new();
    let mut case = None;
    for table in views.iter().filter_map(View::table).filter(|table| table.is_on_terminal()) {
        let is_under = table.placement == TablePlacement::Under;
        if case.replace(&table.case) != Some(&table.case) && !table.case.is_empty() {
            let (gap, mark) = (if out.is_empty() { "" } else { "\n" }, if is_under { "" } else { "# " });
            out.push_str(&format!("{gap}{mark}{}\n", clean_text(&table.case)));
        }
        let indent = if is_under { "  " } else { "" };
        let text = render_table(table, width - indent.len());
        out.extend(text.lines().map(|line| format!("{indent}{line}").trim_end().to_owned() + "\n"));
    }
    out
}

/// Writes a table with its title, lead, conclusions and notes, split into grids that fit.
fn render_table(table: &Table, width: usize) -> String {
    let gap = if matches!(table.placement, TablePlacement::Under | TablePlacement::Close) { "" } else { "\n" };
    let mut out = if table.title.is_empty() {
        String::new()
    } else {
        format!("{gap}{}", wrap_to_width(&clean_text(&table.title), width, 2))
    };
    table.lead.iter().for_each(|lead| out.push_str(&wrap_to_width(&clean_text(lead), width, 2)));
    let parts = split_to_fit(table, width);
    out.push_str(
        &parts.iter().map(|part| make_grid(table, part).render_grid(Style::Plain)).collect::<Vec<_>>().join("\n"),
    );
    for (number, said) in table.conclusions.iter().enumerate() {
        // Costs and doubts, which vary most in length, have a line of their own.
        let broken = if table.placement == TablePlacement::Under {
            said.find(" for ").or_else(|| said.rfind(" ("))
        } else {
            None
        };
        match broken.map(|at| said.split_at(at)) {
            Some((said, rest)) => out.push_str(&format!("{}\n {}\n", clean_text(said), clean_text(rest))),
            None => out.push_str(&format!(
                "{}{}",
                if number == 0 { gap } else { "" },
                wrap_to_width(&clean_text(said), width, 2)
            )),
        }
    }
    table.notes.iter().for_each(|note| out.push_str(&wrap_to_width(&clean_text(note), width, 2)));
    out
}

/// Splits the columns into as few grids as fit, each with the first column.
/// Neighbours under one heading stay together.
fn split_to_fit(table: &Table, width: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].is_hidden).collect();
    let Some((first, rest)) = all.split_first() else { return Vec::new() };
    let mut parts = vec![vec![*first]];
    for group in rest.chunk_by(|a: &usize, b: &usize| {
        !group_of_column(table, a).is_empty() && group_of_column(table, a) == group_of_column(table, b)
    }) {
        let last = parts.len() - 1;
        let wider = [parts[last].as_slice(), group].concat();
        if parts[last].len() == 1 || make_grid(table, &wider).total_width() <= width {
            parts[last] = wider;
        } else {
            parts.push([&[*first], group].concat());
        }
    }
    parts
}

/// The heading of the group that a column is in.
fn group_of_column<'a>(table: &'a Table, at: &usize) -> &'a str {
    &table.columns[*at].group
}

/// Makes the grid of some of a table's columns.
fn make_grid(table: &Table, part: &[usize]) -> Grid {
    let columns: Vec<&Column> = part.iter().map(|at| &table.columns[*at]).collect();
    let mut grid = Grid::new(columns.iter().map(|column| column.align).collect());
    if columns.iter().any(|column| !column.group.is_empty()) {
        let groups = columns.chunk_by(|a, b| a.group == b.group);
        grid.push_line(GridLine::Groups(groups.map(|group| (clean_text(&group[0].group), group.len())).collect()));
    }
    grid.push_line(GridLine::Cells(
        columns
            .iter()
            .map(|column| GridCell::new(column.head.split('\n').map(clean_text).collect::<Vec<_>>().join("\n")))
            .collect(),
    ));
    for row in &table.rows {
        grid.push_line(GridLine::Cells(
            part.iter().map(|at| GridCell::new(clean_text(&row[*at].print(Script::Plain)))).collect(),
        ));
    }
    grid
}

/// Room next to a bar.
const LONGEST_NAME: usize = 20;
/// Room next to a bar.
const FIGURES: usize = 42;

/// Draws bars as long as their numbers; empty where none is known.
pub fn render_bars(of: &Bars, width: usize) -> String {
    let all: Vec<&super::Bar> = of.groups.iter().flat_map(|group| &group.bars).collect();
    let highest = all.iter().copied().filter_map(|bar| bar.entry.value).fold(0.0, f64::max);
    if highest <= 0.0 {
        return String::new();
    }
    let cleaned: Vec<String> = all.iter().map(|bar| clean_text(&bar.name)).collect();
    let names = clipped_apart(&cleaned.iter().map(String::as_str).collect::<Vec<_>>(), LONGEST_NAME);
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let mut names = names.iter();
    let room = width.saturating_sub(widest + FIGURES + 6).max(10);
    let head = "means at the best depth; such tests are published by their highest run";
    let mut out = wrap_to_width(&format!("\n{} ({head})", of.title), width, 2);
    for group in &of.groups {
        out.push_str(&format!("  {}\n", clean_text(&group.name)));
        for (bar, name) in group.bars.iter().zip(names.by_ref()) {
            let pad = " ".repeat(widest.saturating_sub(name.width()));
            let drawn = "█"
                .repeat(bar.entry.value.map_or(0, |value| ((value / highest) * room as f64).round().max(1.0) as usize));
            out.push_str(&format!("    {}{pad}  {drawn} {}\n", name, bar.entry.print(Script::Plain)));
        }
    }
    out
}
