//! Tables as Markdown: those that a terminal shows.

use std::fmt::Write as _;

use super::{Table, View};
use crate::markdown::escape_markdown;
use crate::number::Script;
use crate::text::Align;

/// Writes the tables among views that a terminal shows as Markdown.
pub fn render_tables(views: &[View]) -> String {
    views.iter().filter_map(View::table).filter(|table| table.is_on_terminal()).map(render_table).collect()
}

/// Writes a table as Markdown, with its lead, conclusions and notes.
fn render_table(table: &Table) -> String {
    let named = [table.family, &table.case, table.title.trim_end_matches(':')];
    let named: Vec<&str> = named.into_iter().filter(|name| !name.is_empty()).collect();
    let mut out = format!("### {}\n\n", escape_markdown(&named.join(": ")));
    table.lead.iter().for_each(|lead| write_paragraph(&mut out, lead));
    let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].is_hidden).collect();
    let heads = shown.iter().map(|at| &table.columns[*at]).map(|column| {
        let head = column.head.replace('\n', " ");
        let words = [&column.group, &head].map(|word| escape_markdown(word));
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    });
    out.push_str(&table_line(heads.collect()));
    out.push_str(&table_line(
        shown.iter().map(|at| if table.columns[*at].align == Align::Left { "---" } else { "--:" }.to_owned()).collect(),
    ));
    for row in &table.rows {
        out.push_str(&table_line(shown.iter().map(|at| escape_markdown(&row[*at].print(Script::Plain))).collect()));
    }
    out.push('\n');
    table.conclusions.iter().chain(&table.notes).for_each(|said| write_paragraph(&mut out, said));
    out
}

/// Writes a line of a Markdown table.
fn table_line(cells: Vec<String>) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Writes an escaped text as a paragraph.
fn write_paragraph(out: &mut String, text: &str) {
    let _ = write!(out, "{}\n\n", escape_markdown(text));
}
