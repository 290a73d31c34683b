//! An audit as text.

use unicode_width::UnicodeWidthStr;

use crate::finding::{Audit, Checked, FindingStatus};
use crate::support::{Conclusion, MetricJudgement, Support};

const PRINTED: usize = 12;
const RIGHT: usize = 12;
const SAYS: usize = 17;
const MIN_LABEL: usize = 20;
const INDENT: usize = 4;

/// Renders an audit as text.
pub fn render(audit: &Audit, width: usize) -> String {
    let mut text = String::new();
    for note in &audit.notes {
        text.push_str(&wrap_text(note, width, 0));
    }
    let label = width.saturating_sub(PRINTED + RIGHT + SAYS + 5).max(MIN_LABEL);
    text.push_str(&format!("\n{:<label$} {:>PRINTED$} {:>RIGHT$}   says\n", "figure", "printed", "rows give"));
    for figure in &audit.figures {
        text.push_str(&figure_line(figure, label));
        if figure.status != FindingStatus::Follows {
            text.push_str(&wrap_text(&figure.because, width, INDENT));
        }
    }
    text.push_str(&format!("\n{}", wrap_text(&summary_line(audit), width, 0)));
    if !audit.remarks.is_empty() {
        text.push_str("\nthe table as a whole\n");
        for remark in &audit.remarks {
            text.push_str(&wrap_text(&format!("{}: {}", remark.kind.as_str(), remark.text), width, INDENT));
        }
    }
    if !audit.supports.is_empty() {
        let head = format!("what the rows support ({})", support_method(audit));
        text.push_str(&format!("\n{}", wrap_text(&head, width, 0)));
        for line in support_lines(&audit.supports) {
            text.push_str(&wrap_text(&line, width, INDENT));
        }
    }
    text
}

/// Renders a checked figure as a line of the text table, its label padded to a width.
fn figure_line(figure: &Checked, label: usize) -> String {
    let printed = append_fitting_unit(&figure.printed, &figure.unit);
    let right = figure.right_text();
    let name = pad_to_width(&figure.label, label);
    let trimmed = format!("{name} {printed:>PRINTED$} {right:>RIGHT$}   {}", figure.status.words());
    format!("{}\n", trimmed.trim_end())
}

/// Appends the unit to a printed figure if both fit the column.
/// A long unit is left to the label.
pub(crate) fn append_fitting_unit(printed: &str, unit: &str) -> String {
    let whole = if unit.is_empty() { printed.to_owned() } else { format!("{printed} {unit}") };
    if whole.width() <= PRINTED { whole } else { printed.to_owned() }
}

/// Pads or cuts a text to a width, without its control characters.
fn pad_to_width(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        if fitted.width() + 1 >= width && text.width() > width {
            fitted.push('…');
            break;
        }
        fitted.push(c);
    }
    let fill = width.saturating_sub(fitted.width());
    format!("{fitted}{}", " ".repeat(fill))
}

/// Counts the figures of each status: `71 figures: 52 follow, 4 rounding, …`.
pub(crate) fn summary_line(audit: &Audit) -> String {
    let counts =
        FindingStatus::ALL.iter().map(|status| (audit.count_of(*status), status)).filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts.map(|(count, status)| format!("{count} {}", status.words_for(count))).collect();
    format!("{} figures: {}", audit.figures.len(), words.join(", "))
}

/// Says which side is A, and how both were compared.
pub(crate) fn support_method(audit: &Audit) -> String {
    let a = audit.supports.first().map(|support| format!("A is {}", support.a));
    a.into_iter().chain([audit.method.clone()]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Writes one line for each support; those without figures are grouped by reason.
pub(crate) fn support_lines(supports: &[Support]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for support in supports {
        match &support.judged {
            MetricJudgement { estimate: None, conclusion: Conclusion::None(why), .. } => {
                match reasons.iter_mut().find(|(known, _)| known == why) {
                    Some((_, what)) => what.push(&support.what),
                    None => reasons.push((why, vec![&support.what])),
                }
            }
            _ => lines.push(support_line(support)),
        }
    }
    lines.extend(reasons.into_iter().map(|(why, what)| format!("{}: no verdict: {why}", what.join(", "))));
    lines
}

/// Writes what the rows support in one line: the ratio with its interval, the p-value, n and the conclusion.
fn support_line(support: &Support) -> String {
    let Support { what, a, b, judged: MetricJudgement { n, estimate, conclusion } } = support;
    let sides = format!("{what}: {b} / {a}");
    let conclusion = match conclusion {
        Conclusion::Verdict(_, words) => format!("{b} {words}"),
        Conclusion::None(why) => format!("no verdict: {why}"),
    };
    match estimate {
        None => format!("{sides}: {conclusion}"),
        Some(e) => {
            let p = e.p_adjusted.map_or_else(|| format!("{} alone", p_words(e.p)), p_words);
            let n = format!("n = {} and {}", n.1, n.0);
            format!("{sides} = {:.3} ({:.3} to {:.3}), p {p}, {n}: {conclusion}", e.ratio, e.lo, e.hi)
        }
    }
}

/// Writes a p-value with four decimals, or `< 0.0001`.
fn p_words(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

/// Wraps a text to a width, each line indented, without its control characters.
fn wrap_text(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word: String = word.chars().filter(|c| !c.is_control()).collect();
        if !line.is_empty() && indent + line.width() + 1 + word.width() > width {
            lines.push_str(&format!("{:indent$}{line}\n", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push_str(&format!("{:indent$}{line}\n", ""));
    }
    lines
}
