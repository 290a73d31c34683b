//! Tables as Markdown: those that a terminal shows.

use std::fmt::Write as _;

use super::{Table, View};
use crate::markdown::escape;
use crate::number::Script;
use crate::text::Align;

pub fn render(views: &[View]) -> String {
    views.iter().filter_map(View::table).filter(|table| table.is_on_terminal()).map(one).collect()
}

fn one(table: &Table) -> String {
    let named = [table.family, &table.case, table.title.trim_end_matches(':')];
    let named: Vec<&str> = named.into_iter().filter(|name| !name.is_empty()).collect();
    let mut out = format!("### {}\n\n", escape(&named.join(": ")));
    let paragraph = |out: &mut String, text: &String| {
        let _ = write!(out, "{}\n\n", escape(text));
    };
    table.lead.iter().for_each(|lead| paragraph(&mut out, lead));
    let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].is_hidden).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = shown.iter().map(|at| &table.columns[*at]).map(|column| {
        let head = column.head.replace('\n', " ");
        let words = [&column.group, &head].map(|word| escape(word));
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    });
    out.push_str(&line(heads.collect()));
    let rule = |at: &usize| if table.columns[*at].align == Align::Left { "---" } else { "--:" }.to_owned();
    out.push_str(&line(shown.iter().map(rule).collect()));
    for row in &table.rows {
        out.push_str(&line(shown.iter().map(|at| escape(&row[*at].print(Script::Plain))).collect()));
    }
    out.push('\n');
    table.conclusions.iter().chain(&table.notes).for_each(|said| paragraph(&mut out, said));
    out
}
