//! The tables as Markdown, for merge requests and notes.

use crate::comparison::{Comparison, ComparisonSet, Side};
use crate::evidence::Evidence;
use crate::labels::{
    RowNotes, change_of, direction_arrow, explain_exploring, explain_primary, figure_of, interval_words, metric_name,
    missing_side_text, reason_of_all, row_unit, table_title,
};
use crate::number::{RowUnit, Script, half_width_text, percent_text};
use crate::text::{clean_text, rows_of_remedy};
use crate::views;

/// Writes the comparisons and the tables of families as Markdown.
pub fn render_comparisons(evidence: &Evidence, set: &ComparisonSet) -> String {
    let mut out = String::new();
    out.push_str(&format!("**{}**\n\n", escape_markdown(&set.answer)));
    set.compared.iter().for_each(|line| out.push_str(&format!("- {}\n", escape_markdown(line))));
    out.push('\n');
    for note in &set.notes {
        out.push_str(&format!("> {}.\n\n", escape_markdown(&note.text)));
    }
    for table in &set.tables {
        out.push_str(&format!(
            "### {}: {} against {}\n\n",
            escape_markdown(&table_title(table)),
            escape_markdown(&table.b),
            escape_markdown(&table.a)
        ));
        let reason = reason_of_all(&table.rows).map(|reason| format!("No verdicts: {reason}"));
        let families =
            [reason, explain_primary(set, Script::Plain), explain_exploring(set, &table.rows, Script::Plain)];
        for family in families.into_iter().flatten() {
            out.push_str(&format!("{}.\n\n", escape_markdown(&family)));
        }
        let level = percent_text(set.rules.level, Script::Plain);
        out.push_str(&format!(
            "| metric | A {} | B {} | B vs A | {level} interval | verdict |\n|---|--:|--:|--:|---|---|\n",
            escape_markdown(&table.a),
            escape_markdown(&table.b)
        ));
        let mut notes = RowNotes::of_rows(&table.rows);
        for row in &table.rows {
            out.push_str(&table_line(row, set, &mut notes));
        }
        out.push('\n');
        let of_all = notes.of_all_rows().iter().map(|note| format!("All rows: {}.\n\n", escape_markdown(note)));
        out.extend(of_all);
        let listed: String = notes
            .numbered()
            .map(|(number, note)| format!("{number}. {}\n", escape_markdown(&note.join("; "))))
            .collect();
        if !listed.is_empty() {
            out.push_str(&format!("{listed}\n"));
        }
    }
    if !set.tables.is_empty() {
        out.push_str(&format!("B vs A: {}.\n\n", escape_markdown(&interval_words(&set.rules))));
    }
    for line in &set.remedies {
        let rows = rows_of_remedy(&line.rows, set);
        let command = line.command.as_ref().map_or_else(String::new, |command| format!(": {}", code_span(command)));
        out.push_str(&format!("- {}: {}{command}\n", escape_markdown(&rows), escape_markdown(&line.text)));
    }
    if !set.remedies.is_empty() {
        out.push('\n');
    }
    out + &views::markdown::render_tables(
        &[views::overview::overview_tables(set), views::all_views(evidence, set)].concat(),
    )
}

/// Writes a text as a code span, or escaped if a backtick in it would end the span.
fn code_span(text: &str) -> String {
    if text.contains('`') { escape_markdown(text) } else { format!("`{}`", clean_text(text)) }
}

/// Writes the row of a comparison in a Markdown table.
fn table_line(row: &Comparison, set: &ComparisonSet, notes: &mut RowNotes) -> String {
    let unit = row_unit(row);
    let name = [
        row.case_label(),
        metric_name(&row.metric.id),
        format!("{} {}", unit.unit_name(), direction_arrow(row.metric.direction)),
    ]
    .into_iter()
    .filter(|part| !part.trim().is_empty())
    .collect::<Vec<_>>()
    .join(", ");
    let (word, rest) = notes.verdict_words(row, set);
    let separator = if row.why_no_verdict().is_some() { ": " } else { ", " };
    let verdict = [word, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator);
    let mark = notes.number_of_row(row).map_or_else(String::new, |number| format!(" <sup>({number})</sup>"));
    let change = change_of(row);
    format!(
        "| {} | {} | {} | {} | {} | {}{mark} |\n",
        escape_markdown(&name),
        figure_cell(&row.a, &unit),
        figure_cell(&row.b, &unit),
        change.map_or_else(|| "n/a".to_owned(), |c| c.print_change(Script::Plain)),
        change.map_or_else(|| "n/a".to_owned(), |c| c.print_interval(Script::Plain)),
        escape_markdown(&verdict)
    )
}

/// Writes a side's figure, or why there is none.
fn figure_cell(side: &Side, unit: &RowUnit<'_>) -> String {
    let Some(figure) = figure_of(side, unit, Script::Plain) else { return missing_side_text(side).to_owned() };
    let half = side.half_width.map_or_else(String::new, |share| format!(" {}", half_width_text(share, Script::Plain)));
    format!("{figure}{half}")
}

/// Escapes a text for Markdown, so that it has no markup, HTML, cell borders or line ends.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean_text(text).chars() {
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
