//! What a capture holds, for people and as JSON: statements without their values.

use std::fmt::Write as _;
use std::path::Path;

use formats::capture::summary::Summary;
use formats::capture::{APPLICATION_ID, Group, SavedCapture};
use serde_json::{Value, json};
use workloads::replay::class_names;

use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

/// Classes that are printed; `--json` has all.
const MOST_CLASSES: usize = 20;
/// Letters of a class's text in its line at least.
const SHORTEST_TEXT: usize = 20;
const BAR: usize = 30;

/// Whether a file is a capture, by the application number in its SQLite header.
pub fn is_capture(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; 72];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"SQLite format 3\0") && head[68..] == APPLICATION_ID.to_be_bytes()
}

/// Prints what a capture holds: rates, classes of statements, and what was left out.
pub fn show_capture(path: &Path, printer: Printer) -> Result<Exit, CliError> {
    let capture = SavedCapture::open(path).map_err(|error| CliError::from(&error))?;
    let summary = Summary::from_capture(&capture).map_err(|error| CliError::from(&error))?;
    printer.print_result(&if printer.json {
        capture_json(&summary).to_string()
    } else {
        capture_text(&summary, printer.width())
    });
    Ok(Exit::Done)
}

/// Prints how many statements were captured, and what was left out.
pub fn print_taken(summary: &Summary, path: &Path, printer: Printer) {
    if printer.json {
        printer.print_result(&capture_json(summary).to_string());
        return;
    }
    let taken = summary.executions;
    let statements = taken + summary.sum_of_group(Group::LeftOut);
    printer.print_result(&format!("{taken} of {statements} statements are in {}\n", path.display()));
    printer.print_note(&left_out_lines(summary));
    printer.print_note(&format!("`etalon show {}` shows them without their values", path.display()));
}

/// Writes a time in UTC, to the millisecond.
fn time_text(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// Writes what a capture holds as JSON.
fn capture_json(summary: &Summary) -> Value {
    let group = |group: Group| -> Vec<Value> {
        let of_group = summary.counts.iter().filter(|counted| counted.reason.group() == group);
        of_group
            .map(|one| json!({ "code": one.reason.code(), "reason": one.reason.sentence(), "count": one.count }))
            .collect()
    };
    let total_us = summary.total_us();
    let classes = summary.classes.iter().zip(class_names(&summary.classes)).map(|(class, name)| {
        let known = class.timed > 0;
        json!({
            "name": name, "kind": class.kind, "text": class.text, "executions": class.executions, "errors": summary.failed_count(class),
            "total_s": known.then_some(class.total_us as f64 / 1e6), "share": known.then(|| share(class.total_us, total_us)),
        })
    });
    let steps =
        summary.steps.iter().map(|step| json!({ "begin": time_text(step.begin_us), "executions": step.executions }));
    let errors = summary.errors.iter().map(|(code, count)| json!({ "code": code, "count": count }));
    json!({
        "schema_version": 1, "source": summary.source, "is_redacted": summary.is_redacted, "sessions": summary.sessions,
        "executions": summary.executions, "without_duration": summary.without_duration,
        "first": summary.span_us.map(|span| time_text(span.0)), "last": summary.span_us.map(|span| time_text(span.1)),
        "step_s": summary.step_s, "rate": steps.collect::<Vec<_>>(), "classes": classes.collect::<Vec<_>>(),
        "errors": errors.collect::<Vec<_>>(), "left_out": group(Group::LeftOut), "aside": group(Group::Aside),
        "doubts": group(Group::Doubt),
    })
}

/// Divides a part by its whole; 0 if the whole is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Writes what a capture holds as text.
fn capture_text(summary: &Summary, width: usize) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "source      {}", summary.source);
    let redacted = if summary.is_redacted { "replaced" } else { "in the file, and never shown" };
    let _ = writeln!(text, "values      {redacted}");
    let _ = writeln!(text, "sessions    {}", summary.sessions);
    let _ = writeln!(text, "statements  {}", summary.executions);
    if summary.without_duration > 0 {
        let _ = writeln!(text, "            {} without a duration", summary.without_duration);
    }
    if let Some((first, last)) = summary.span_us {
        let _ = writeln!(text, "from        {}", time_text(first));
        let _ = writeln!(text, "to          {}", time_text(last));
    }
    let _ = writeln!(text, "\nstatements a second, each {} s", summary.step_s);
    let most = summary.steps.iter().map(|step| step.executions).max().unwrap_or(0);
    for step in &summary.steps {
        let rate = step.executions as f64 / summary.step_s as f64;
        let bar = (BAR as f64 * share(step.executions, most)).round() as usize;
        let _ = writeln!(text, "{}  {rate:>10.1}  {}", time_text(step.begin_us), "█".repeat(bar));
    }
    let names = class_names(&summary.classes);
    let name_width = names.iter().take(MOST_CLASSES).map(String::len).max().unwrap_or(0).max("name".len());
    let _ = writeln!(text, "\n  time  statements  errors     mean ms  {:<name_width$}  class", "name");
    let total_us = summary.total_us();
    for (class, name) in summary.classes.iter().zip(names).take(MOST_CLASSES) {
        let (part, mean_ms) = match class.timed {
            0 => ("n/a".to_owned(), "n/a".to_owned()),
            timed => (
                format!("{:.1} %", 100.0 * share(class.total_us, total_us)),
                format!("{:.3}", class.total_us as f64 / 1e3 / timed as f64),
            ),
        };
        let errors = summary.failed_count(class).map_or_else(|| "n/a".to_owned(), |errors| errors.to_string());
        let line = format!("{part:>6}  {:>10}  {errors:>6}  {mean_ms:>10}  {name:<name_width$}  ", class.executions);
        let free = width.saturating_sub(line.chars().count()).max(SHORTEST_TEXT);
        let _ = writeln!(text, "{line}{}", shorten(&class.text, free));
    }
    if summary.classes.len() > MOST_CLASSES {
        let more = summary.classes.len() - MOST_CLASSES;
        let _ = writeln!(text, "and {more} further classes: `--json` has all");
    }
    for (code, count) in &summary.errors {
        let _ = writeln!(text, "error {code}: {count}");
    }
    let counts = left_out_lines(summary);
    if !counts.is_empty() {
        let _ = write!(text, "\n{counts}");
    }
    text
}

/// Shortens a text to a number of characters, with an ellipsis.
fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((end, c)) if end + c.len_utf8() < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Lists what is not in the capture, and why, a line each.
fn left_out_lines(summary: &Summary) -> String {
    let mut text = String::new();
    for (group, title) in [
        (Group::LeftOut, "statements that are left out"),
        (Group::Aside, "records that are no statements"),
        (Group::Doubt, "doubts"),
    ] {
        let of_group: Vec<_> = summary.counts.iter().filter(|counted| counted.reason.group() == group).collect();
        if !of_group.is_empty() {
            let _ = writeln!(text, "{title}:");
        }
        for counted in of_group {
            let _ = writeln!(text, "{:>10}  {}", counted.count, counted.reason.sentence());
        }
    }
    text
}
