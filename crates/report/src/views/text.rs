//! Tables for a terminal.

use unicode_width::UnicodeWidthStr;

use super::{Bars, Column, Entry, Look, Table, View};
use crate::number::Script;
use crate::text::{Grid, GridCell, GridLine, Style, clean, clipped, wrapped};

/// Those tables of some views that a terminal shows, at most so wide where that can be.
pub fn render(views: &[View], width: usize) -> String {
    let mut out = String::new();
    let mut case = None;
    for table in views.iter().filter_map(View::table).filter(|table| table.is_on_terminal()) {
        let is_under = table.look == Look::Under;
        if case.replace(&table.case) != Some(&table.case) && !table.case.is_empty() {
            let (gap, mark) = (if out.is_empty() { "" } else { "\n" }, if is_under { "" } else { "# " });
            out.push_str(&format!("{gap}{mark}{}\n", clean(&table.case)));
        }
        let indent = if is_under { "  " } else { "" };
        let text = one(table, width - indent.len());
        out.extend(text.lines().map(|line| format!("{indent}{line}").trim_end().to_owned() + "\n"));
    }
    out
}

fn one(table: &Table, width: usize) -> String {
    let gap = if matches!(table.look, Look::Under | Look::Close) { "" } else { "\n" };
    let title = || format!("{gap}{}", wrapped(&clean(&table.title), width, 2));
    let mut out = if table.title.is_empty() { String::new() } else { title() };
    table.lead.iter().for_each(|lead| out.push_str(&wrapped(&clean(lead), width, 2)));
    let parts = parts(table, width);
    out.push_str(&parts.iter().map(|part| grid(table, part).render(Style::Plain)).collect::<Vec<_>>().join("\n"));
    for (number, said) in table.conclusions.iter().enumerate() {
        // Costs and doubts, which vary most in length, have a line of their own.
        let broken = said.find(" for ").or_else(|| said.rfind(" (")).filter(|_| table.look == Look::Under);
        match broken.map(|at| said.split_at(at)) {
            Some((said, rest)) => out.push_str(&format!("{}\n {}\n", clean(said), clean(rest))),
            None => out.push_str(&format!("{}{}", if number == 0 { gap } else { "" }, wrapped(&clean(said), width, 2))),
        }
    }
    table.notes.iter().for_each(|note| out.push_str(&wrapped(&clean(note), width, 2)));
    out
}

/// The columns in so few grids that each fits; the first column is in all of them, and neighbours under one heading stay
/// together.
fn parts(table: &Table, width: usize) -> Vec<Vec<usize>> {
    let shown = |at: &usize| !table.columns[*at].is_hidden;
    let all: Vec<usize> = (0..table.columns.len()).filter(shown).collect();
    let Some((first, rest)) = all.split_first() else { return Vec::new() };
    let alike = |a: &usize, b: &usize| {
        let group = |at: &usize| &table.columns[*at].group;
        !group(a).is_empty() && group(a) == group(b)
    };
    let mut parts = vec![vec![*first]];
    for group in rest.chunk_by(alike) {
        let last = parts.len() - 1;
        let wider = [parts[last].as_slice(), group].concat();
        if parts[last].len() == 1 || grid(table, &wider).width() <= width {
            parts[last] = wider;
        } else {
            parts.push([&[*first], group].concat());
        }
    }
    parts
}

fn grid(table: &Table, part: &[usize]) -> Grid {
    let columns: Vec<&Column> = part.iter().map(|at| &table.columns[*at]).collect();
    let mut grid = Grid::new(columns.iter().map(|column| column.align).collect());
    if columns.iter().any(|column| !column.group.is_empty()) {
        let groups = columns.chunk_by(|a, b| a.group == b.group);
        grid.push(GridLine::Groups(groups.map(|group| (clean(&group[0].group), group.len())).collect()));
    }
    grid.push(GridLine::Cells(
        columns
            .iter()
            .map(|column| GridCell::new(column.head.split('\n').map(clean).collect::<Vec<_>>().join("\n")))
            .collect(),
    ));
    let cell = |entry: &Entry| GridCell::new(clean(&entry.print(Script::Plain)));
    for row in &table.rows {
        grid.push(GridLine::Cells(part.iter().map(|at| cell(&row[*at])).collect()));
    }
    grid
}

/// Beside a bar.
const LONGEST_NAME: usize = 20;
/// Beside a bar.
const FIGURES: usize = 22;

/// Bars as long as their numbers; nothing where none is known.
pub fn bars(of: &Bars, width: usize) -> String {
    let all = || of.groups.iter().flat_map(|group| &group.bars);
    let highest = all().filter_map(|bar| bar.entry.value).fold(0.0, f64::max);
    if highest <= 0.0 {
        return String::new();
    }
    let name = |name: &str| clipped(&clean(name), LONGEST_NAME);
    let names = all().map(|bar| name(&bar.name).width()).max().unwrap_or(0);
    let room = width.saturating_sub(names + FIGURES + 6).max(10);
    let mut out = wrapped(&format!("\n{} (as published: the highest of all runs)", of.title), width, 2);
    for group in &of.groups {
        out.push_str(&format!("  {}\n", clean(&group.name)));
        for bar in &group.bars {
            let pad = " ".repeat(names.saturating_sub(name(&bar.name).width()));
            let long = |value: f64| ((value / highest) * room as f64).round().max(1.0) as usize;
            let drawn = "█".repeat(bar.entry.value.map_or(0, long));
            out.push_str(&format!("    {}{pad}  {drawn} {}\n", name(&bar.name), bar.entry.print(Script::Plain)));
        }
    }
    out
}
