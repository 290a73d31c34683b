//! A text table with aligned columns.

use anstyle::Style as Ansi;
use unicode_width::UnicodeWidthStr;

/// The edge to which a column's cells go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    Left,
    #[default]
    Right,
}

/// Whether a terminal that understands colours reads this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    /// Colours; they repeat what the text already says.
    Ansi,
}

impl Style {
    /// Puts a text in a colour, if colours are on.
    pub fn paint(self, ansi: Ansi, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Ansi if text.is_empty() => String::new(),
            Style::Ansi => format!("{ansi}{text}{ansi:#}"),
        }
    }
}

/// A cell: its text, of one or more lines, and how it is painted.
#[derive(Clone, Debug, Default)]
pub struct GridCell {
    text: String,
    ansi: Ansi,
}

impl GridCell {
    /// Makes a cell in no colour.
    pub fn new(text: impl Into<String>) -> GridCell {
        GridCell { text: text.into(), ansi: Ansi::new() }
    }

    /// Makes a cell in a colour.
    pub fn painted(text: impl Into<String>, ansi: Ansi) -> GridCell {
        GridCell { text: text.into(), ansi }
    }

    /// One of the cell's lines; empty beyond the last.
    fn line_at(&self, index: usize) -> &str {
        self.text.split('\n').nth(index).unwrap_or("")
    }

    /// Number of the cell's lines.
    fn height(&self) -> usize {
        self.text.split('\n').count()
    }

    /// The terminal columns that the cell's widest line takes.
    pub fn width(&self) -> usize {
        self.text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
pub enum GridLine {
    /// One per column.
    Cells(Vec<GridCell>),
    /// Text across all columns.
    Across(String),
    /// Headings, each at the right edge of so many columns.
    Groups(Vec<(String, usize)>),
}

#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<Align>,
    lines: Vec<GridLine>,
}

const GAP: usize = 2;

impl Grid {
    /// Makes a grid without lines, by the columns' alignment.
    pub fn new(columns: Vec<Align>) -> Grid {
        Grid { columns, lines: Vec::new() }
    }

    /// Appends a line to the grid.
    pub fn push_line(&mut self, line: GridLine) {
        self.lines.push(line);
    }

    /// The width of each column, that of its widest cell.
    fn column_widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for line in &self.lines {
            if let GridLine::Cells(cells) = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.width());
                }
            }
        }
        widths
    }

    /// The terminal columns that the grid takes.
    pub fn total_width(&self) -> usize {
        let widths = self.column_widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// Writes the grid as text, columns aligned.
    pub fn render_grid(&self, style: Style) -> String {
        let widths = self.column_widths();
        let mut out = String::new();
        for line in &self.lines {
            match line {
                GridLine::Across(text) => out.push_str(text),
                GridLine::Cells(cells) => self.render_cells(cells, &widths, style, &mut out),
                GridLine::Groups(groups) => out.push_str(&group_headings(groups, &widths)),
            }
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
        out
    }

    /// Writes a line of cells, over as many lines of text as the highest has.
    fn render_cells(&self, cells: &[GridCell], widths: &[usize], style: Style, out: &mut String) {
        let height = cells.iter().map(GridCell::height).max().unwrap_or(1);
        for index in 0..height {
            if index > 0 {
                while out.ends_with(' ') {
                    out.pop();
                }
                out.push('\n');
            }
            // Delayed, so that no line ends in painted blanks.
            let mut blanks = 0;
            for ((cell, width), align) in cells.iter().zip(widths).zip(&self.columns) {
                let text = cell.line_at(index);
                let rest = width - text.width();
                let (before, after) = if *align == Align::Right { (rest, 0) } else { (0, rest) };
                if !text.is_empty() {
                    out.push_str(&" ".repeat(blanks + before));
                    out.push_str(&style.paint(cell.ansi, text));
                    blanks = after + GAP;
                } else {
                    blanks += width + GAP;
                }
            }
        }
    }
}

/// Writes the line of headings above groups of columns.
fn group_headings(groups: &[(String, usize)], widths: &[usize]) -> String {
    let (mut line, mut at, mut end) = (String::new(), 0, 0);
    for (name, columns) in groups {
        end += widths[at..at + columns].iter().map(|width| width + GAP).sum::<usize>();
        at += columns;
        let blanks = (end - GAP).saturating_sub(line.width() + name.width());
        line.push_str(&" ".repeat(if line.is_empty() || name.is_empty() { blanks } else { blanks.max(1) }));
        line.push_str(name);
    }
    line
}

/// Replaces control characters and direction marks in a text, so that names cannot control the terminal.
pub fn clean_text(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a character could command a terminal, or reorder the text around it.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_bidi_control(c)
}

/// Whether a character changes the direction of text, which would reorder what is around a name.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Clips a text to terminal columns, with an ellipsis at its end.
pub fn clip_to_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if kept.width() + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) + 1 > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// Wraps a text at spaces to a width, further lines indented, and ends it with a line feed.
/// It does not break within numbers or before their percent signs.
pub fn wrap_to_width(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let mut unbroken = word.to_owned();
        while let Some(next) = words.next_if(|next| belongs_to_number(&unbroken, next)) {
            unbroken.push(' ');
            unbroken.push_str(next);
        }
        let size = unbroken.width();
        if column > 0 && column + 1 + size > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(&unbroken);
        column += size;
    }
    out.push('\n');
    out
}

/// Whether a word continues the number before it: three further digits, or a percent sign.
fn belongs_to_number(before: &str, word: &str) -> bool {
    let digits = word.chars().take_while(char::is_ascii_digit).count();
    before.ends_with(|last: char| last.is_ascii_digit()) && (digits == 3 || word.starts_with('%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_broken() {
        assert_eq!(
            wrap_to_width("it takes 1 000 000 operations, 47.5 % more", 12, 2),
            "it takes\n  1 000 000\n  operations,\n  47.5 %\n  more\n"
        );
        assert_eq!(wrap_to_width("12 of 100 runs", 6, 0), "12 of\n100\nruns\n");
    }

    #[test]
    fn columns_line_up() {
        let mut grid = Grid::new(vec![Align::Left, Align::Right, Align::Left]);
        grid.push_line(line(["metric", "A", "verdict"]));
        grid.push_line(GridLine::Across("clients=4".into()));
        grid.push_line(line(["µs", "18 400", "faster\n1)"]));
        assert_eq!(
            grid.render_grid(Style::Plain),
            "metric       A  verdict\nclients=4\nµs      18 400  faster\n                1)\n"
        );
    }

    fn line(cells: [&str; 3]) -> GridLine {
        GridLine::Cells(cells.map(GridCell::new).to_vec())
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(clean_text("a\u{1b}[31mb\u{202e}c\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}");
        assert_eq!(clip_to_width("rollback-journal", 8), "rollbac…");
        assert_eq!(wrap_to_width("one two three", 8, 2), "one two\n  three\n");
    }

    #[test]
    fn paint_is_outside_the_measure() {
        let red = Ansi::new().fg_color(Some(anstyle::AnsiColor::Red.into()));
        let mut grid = Grid::new(vec![Align::Right, Align::Left]);
        grid.push_line(GridLine::Cells(vec![GridCell::painted("x", red), GridCell::new("y")]));
        assert_eq!(grid.total_width(), 4);
        assert_eq!(grid.render_grid(Style::Ansi).matches('\u{1b}').count(), 2);
    }
}
