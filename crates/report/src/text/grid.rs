//! Columns that line up, whatever their cells hold.

use anstyle::Style as Ansi;
use unicode_width::UnicodeWidthStr;

/// To which edge a column's cells go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Figures.
    Right,
}

/// Whether a terminal that understands colours reads this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Nothing but text.
    #[default]
    Plain,
    /// ANSI colours. Nothing is told by colour alone.
    Ansi,
}

impl Style {
    /// The text in this style.
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
    /// A plain cell.
    pub fn new(text: impl Into<String>) -> GridCell {
        GridCell { text: text.into(), ansi: Ansi::new() }
    }

    /// A painted cell.
    pub fn painted(text: impl Into<String>, ansi: Ansi) -> GridCell {
        GridCell { text: text.into(), ansi }
    }

    fn line(&self, index: usize) -> &str {
        self.text.split('\n').nth(index).unwrap_or("")
    }

    fn height(&self) -> usize {
        self.text.split('\n').count()
    }

    fn width(&self) -> usize {
        self.text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
    }
}

/// A line of the grid.
#[derive(Clone, Debug)]
pub enum GridLine {
    /// One cell per column.
    Cells(Vec<GridCell>),
    /// Text across all columns.
    Across(String),
}

/// A table without borders.
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<Align>,
    lines: Vec<GridLine>,
}

/// Spaces between two columns.
const GAP: usize = 2;

impl Grid {
    /// A grid with these columns.
    pub fn new(columns: Vec<Align>) -> Grid {
        Grid { columns, lines: Vec::new() }
    }

    /// Adds a line.
    pub fn push(&mut self, line: GridLine) {
        self.lines.push(line);
    }

    fn widths(&self) -> Vec<usize> {
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

    /// How wide its widest line is.
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// The grid as text, each line with its end.
    pub fn render(&self, style: Style) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for line in &self.lines {
            match line {
                GridLine::Across(text) => out.push_str(text),
                GridLine::Cells(cells) => self.render_cells(cells, &widths, style, &mut out),
            }
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
        out
    }

    fn render_cells(&self, cells: &[GridCell], widths: &[usize], style: Style, out: &mut String) {
        let height = cells.iter().map(GridCell::height).max().unwrap_or(1);
        for index in 0..height {
            if index > 0 {
                while out.ends_with(' ') {
                    out.pop();
                }
                out.push('\n');
            }
            // Spaces are kept back until something follows them, so that no line ends in painted blanks.
            let mut blanks = 0;
            for ((cell, width), align) in cells.iter().zip(widths).zip(&self.columns) {
                let text = cell.line(index);
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

/// Text from outside, made harmless: a name that holds an escape sequence must not command the terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_bidi_control(c) { '\u{fffd}' } else { c }).collect()
}

/// Marks that turn the direction of what follows, out of the name that holds them.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// At most so many columns, the end replaced by an ellipsis.
pub fn clipped(text: &str, width: usize) -> String {
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

/// Text broken at spaces, further lines indented.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let size = word.width();
        if column > 0 && column + 1 + size > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += size;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut grid = Grid::new(vec![Align::Left, Align::Right, Align::Left]);
        let line = |cells: [&str; 3]| GridLine::Cells(cells.map(GridCell::new).to_vec());
        grid.push(line(["metric", "A", "verdict"]));
        grid.push(GridLine::Across("clients=4".into()));
        grid.push(line(["µs", "18 400", "faster\n1)"]));
        assert_eq!(
            grid.render(Style::Plain),
            "metric       A  verdict\nclients=4\nµs      18 400  faster\n                1)\n"
        );
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}");
        assert_eq!(clipped("rollback-journal", 8), "rollbac…");
        assert_eq!(wrapped("one two three", 8, 2), "one two\n  three\n");
    }

    #[test]
    fn paint_is_outside_the_measure() {
        let red = Ansi::new().fg_color(Some(anstyle::AnsiColor::Red.into()));
        let mut grid = Grid::new(vec![Align::Right, Align::Left]);
        grid.push(GridLine::Cells(vec![GridCell::painted("x", red), GridCell::new("y")]));
        assert_eq!(grid.width(), 4);
        assert_eq!(grid.render(Style::Ansi).matches('\u{1b}').count(), 2);
    }
}
