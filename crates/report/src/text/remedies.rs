//! What would help rows without a verdict, below the tables.

use super::{clean_text, wrap_to_width};
use crate::comparison::{ComparisonSet, RemedyLine};

/// Longer lists of rows are counted.
const MOST_NAMED: usize = 2;

/// Writes what would help, each remedy with its rows and command.
/// A command has a line of its own, however long, so that it can be copied.
pub(super) fn render_remedies(set: &ComparisonSet, lines: &[RemedyLine], width: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = String::from("\nwhat would help:\n");
    for (index, line) in lines.iter().enumerate() {
        let text = format!("{}: {}.", rows_text(&line.rows, set), line.text);
        out.push_str(&format!("  {}", wrap_to_width(&clean_text(&text), width.saturating_sub(2), 4)));
        // Remedies that take one run have one command, said behind the last of them.
        let is_said_below = lines[index + 1..].iter().any(|later| later.command == line.command);
        if !is_said_below && let Some(command) = line.command.as_ref() {
            out.push_str(&format!("      {}\n", clean_text(command)));
        }
    }
    out
}

/// Names the rows of a remedy: `points, clients=4, response p99`, the first of many, or `all rows`.
pub fn rows_text(names: &[String], set: &ComparisonSet) -> String {
    match names.len() {
        all if all > 1 && all == set.rows().count() => "all rows".to_owned(),
        n if n <= MOST_NAMED => names.join("; "),
        n => format!("{} and {} more rows", names[0], n - 1),
    }
}
