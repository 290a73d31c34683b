//! An audit as Markdown, for a comment under an article.

use crate::finding::{Audit, Checked};
use crate::text::{summary, support_lines, support_method};

pub fn render(audit: &Audit) -> String {
    let mut text = String::new();
    for note in &audit.notes {
        text.push_str(&format!("{}\n", escaped(note)));
    }
    text.push_str(&format!("\n**{}**\n\n", summary(audit)));
    text.push_str("| figure | printed | rows give | says | arithmetic |\n|---|--:|--:|---|---|\n");
    for figure in &audit.figures {
        text.push_str(&row(figure));
    }
    if !audit.remarks.is_empty() {
        text.push_str("\nThe table as a whole:\n\n");
        for remark in &audit.remarks {
            text.push_str(&format!("- *{}*: {}\n", remark.kind.as_str(), escaped(&remark.text)));
        }
    }
    if !audit.supports.is_empty() {
        text.push_str(&format!("\nWhat the rows support ({}):\n\n", escaped(&support_method(audit))));
        for line in support_lines(&audit.supports) {
            text.push_str(&format!("- {}\n", escaped(&line)));
        }
    }
    text
}

fn row(figure: &Checked) -> String {
    let right = figure.right_text();
    let says = if figure.status.is_bad() {
        format!("**{}**", figure.status.words())
    } else {
        figure.status.words().to_owned()
    };
    let printed = format!("{} {}", figure.printed, figure.unit);
    format!(
        "| {} | {} | {right} | {says} | {} |\n",
        escaped(&figure.label),
        escaped(printed.trim_end()),
        escaped(&figure.because)
    )
}

/// Text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '[' | '\\' | '#') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
