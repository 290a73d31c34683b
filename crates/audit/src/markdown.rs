//! An audit as Markdown, for a comment under an article.

use crate::finding::{Audit, Checked};
use crate::text::{summary_line, support_lines, support_method};

/// Renders an audit as Markdown.
pub fn render(audit: &Audit) -> String {
    let mut text = String::new();
    for note in &audit.notes {
        text.push_str(&format!("{}\n", escape_markdown(note)));
    }
    text.push_str(&format!("\n**{}**\n\n", summary_line(audit)));
    text.push_str("| figure | printed | rows give | says | arithmetic |\n|---|--:|--:|---|---|\n");
    for figure in &audit.figures {
        text.push_str(&table_row(figure));
    }
    if !audit.remarks.is_empty() {
        text.push_str("\nThe table as a whole:\n\n");
        for remark in &audit.remarks {
            text.push_str(&format!("- *{}*: {}\n", remark.kind.as_str(), escape_markdown(&remark.text)));
        }
    }
    if !audit.supports.is_empty() {
        text.push_str(&format!("\nWhat the rows support ({}):\n\n", escape_markdown(&support_method(audit))));
        for line in support_lines(&audit.supports) {
            text.push_str(&format!("- {}\n", escape_markdown(&line)));
        }
    }
    text
}

/// Renders a checked figure as a row of the Markdown table.
fn table_row(figure: &Checked) -> String {
    let right = figure.right_text();
    let says = if figure.status.is_bad() {
        format!("**{}**", figure.status.words())
    } else {
        figure.status.words().to_owned()
    };
    let printed = format!("{} {}", figure.printed, figure.unit);
    format!(
        "| {} | {} | {right} | {says} | {} |\n",
        escape_markdown(&figure.label),
        escape_markdown(printed.trim_end()),
        escape_markdown(&figure.because)
    )
}

/// Escapes text so that Markdown shows it as it is; control characters are left out.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '[' | '\\' | '#') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
