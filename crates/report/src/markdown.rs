//! The tables as Markdown, for merge requests and notes.

use crate::comparison::{Comparison, ComparisonSet, Side};
use crate::evidence::Evidence;
use crate::labels::{
    RowNotes, absent_of, arrow, change, exploring, figure_of, interval_words, metric_name, primary_family,
    reason_of_all, row_unit, table_title,
};
use crate::number::{RowUnit, Script, half, percent};
use crate::text::{clean, rows_of_remedy};
use crate::views;

/// The comparisons, and what families add to them.
pub fn render(evidence: &Evidence, set: &ComparisonSet) -> String {
    let mut out = String::new();
    out.push_str(&format!("**{}**\n\n", escape(&set.answer)));
    set.compared.iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
    out.push('\n');
    for note in &set.notes {
        out.push_str(&format!("> {}.\n\n", escape(&note.text)));
    }
    for table in &set.tables {
        out.push_str(&format!(
            "### {}: {} against {}\n\n",
            escape(&table_title(table)),
            escape(&table.b),
            escape(&table.a)
        ));
        let reason = reason_of_all(&table.rows).map(|reason| format!("No verdicts: {reason}"));
        let families = [reason, primary_family(set, Script::Plain), exploring(set, &table.rows, Script::Plain)];
        for family in families.into_iter().flatten() {
            out.push_str(&format!("{}.\n\n", escape(&family)));
        }
        let level = percent(set.rules.level, Script::Plain);
        out.push_str(&format!(
            "| metric | A {} | B {} | B vs A | {level} interval | verdict |\n|---|--:|--:|--:|---|---|\n",
            escape(&table.a),
            escape(&table.b)
        ));
        let mut notes = RowNotes::of_rows(&table.rows);
        for row in &table.rows {
            out.push_str(&line(row, set, &mut notes));
        }
        out.push('\n');
        let of_all = notes.of_all().iter().map(|note| format!("All rows: {}.\n\n", escape(note)));
        out.extend(of_all);
        let listed: String =
            notes.iter().map(|(number, note)| format!("{number}. {}\n", escape(&note.join("; ")))).collect();
        if !listed.is_empty() {
            out.push_str(&format!("{listed}\n"));
        }
    }
    if !set.tables.is_empty() {
        out.push_str(&format!("B vs A: {}.\n\n", escape(&interval_words(&set.rules))));
    }
    for line in &set.remedies {
        let rows = rows_of_remedy(&line.rows, set);
        let command = line.command.as_ref().map_or_else(String::new, |command| format!(": {}", code(command)));
        out.push_str(&format!("- {}: {}{command}\n", escape(&rows), escape(&line.text)));
    }
    if !set.remedies.is_empty() {
        out.push('\n');
    }
    out + &views::markdown::render(&[views::overview::tables(set), views::all(evidence, set)].concat())
}

/// A code span, unless the text would end it.
fn code(text: &str) -> String {
    if text.contains('`') { escape(text) } else { format!("`{}`", clean(text)) }
}

fn line(row: &Comparison, set: &ComparisonSet, notes: &mut RowNotes) -> String {
    let unit = row_unit(row);
    let name =
        [row.case_label(), metric_name(&row.metric.id), format!("{} {}", unit.name(), arrow(row.metric.direction))]
            .into_iter()
            .filter(|part| !part.trim().is_empty())
            .collect::<Vec<_>>()
            .join(", ");
    let (word, rest) = notes.verdict(row, set);
    let separator = if row.no_verdict().is_some() { ": " } else { ", " };
    let verdict = [word, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator);
    let mark = notes.of_row(row).map_or_else(String::new, |number| format!(" <sup>({number})</sup>"));
    let change = change(row);
    format!(
        "| {} | {} | {} | {} | {} | {}{mark} |\n",
        escape(&name),
        figure(&row.a, &unit),
        figure(&row.b, &unit),
        change.map_or_else(|| "n/a".to_owned(), |c| c.point(Script::Plain)),
        change.map_or_else(|| "n/a".to_owned(), |c| c.interval(Script::Plain)),
        escape(&verdict)
    )
}

fn figure(side: &Side, unit: &RowUnit<'_>) -> String {
    let Some(figure) = figure_of(side, unit, Script::Plain) else { return absent_of(side).to_owned() };
    let half = side.half_width.map_or_else(String::new, |share| format!(" {}", half(share, Script::Plain)));
    format!("{figure}{half}")
}

/// No markup, HTML, cell borders or line ends.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '`' | '[' | ']' | '\\' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // GitHub emphasises underscores only at word boundaries.
            '_' => out.push_str("\\_"),
            _ => out.push(c),
        }
    }
    out
}
