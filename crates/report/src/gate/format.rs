//! Output formats of the gate.

use std::fmt::Write as _;
use std::str::FromStr;

use super::{GateLine, GateOutcome, GateStatus, Record, RowStatus};
use crate::markdown::escape_markdown;
use crate::text::clean_text;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    /// Annotations in GitHub Actions.
    Github,
    /// Shown by most CI systems.
    Junit,
    Markdown,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Text, Format::Github, Format::Junit, Format::Markdown];

    /// The format's name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Github => "github",
            Format::Junit => "junit",
            Format::Markdown => "markdown",
        }
    }
}

impl FromStr for Format {
    type Err = ();

    fn from_str(text: &str) -> Result<Format, ()> {
        Format::ALL.into_iter().find(|format| format.as_str() == text).ok_or(())
    }
}

/// Writes the outcome in a format.
pub fn render_outcome(outcome: &GateOutcome, format: Format) -> String {
    match format {
        Format::Text => render_text(outcome),
        Format::Github => render_github(outcome),
        Format::Junit => render_junit(outcome),
        Format::Markdown => render_markdown(outcome),
    }
}

/// Writes a line's name, sides and detail as one text, cleaned for a terminal.
fn line_sentence(line: &GateLine) -> String {
    clean_text(&format!("{} ({}): {}", line.name, line.sides, line.detail))
}

/// Writes the outcome as text for a terminal.
fn render_text(outcome: &GateOutcome) -> String {
    let mut out: String = outcome.apart.iter().map(|text| format!("note: {}\n", clean_text(text))).collect();
    for line in &outcome.lines {
        let _ = writeln!(out, "{:<12}  {}", line.status.as_str(), line_sentence(line));
    }
    for line in &outcome.changed {
        let _ = writeln!(out, "{}", clean_text(line));
    }
    if !outcome.interval.is_empty() {
        let _ = writeln!(out, "{}", outcome.interval);
    }
    let _ = writeln!(out, "{}", outcome.summary_line());
    if let Some(line) = outcome.undecided_sentence() {
        let _ = writeln!(out, "{}", clean_text(&line));
    }
    out
}

/// Writes the outcome as annotations of GitHub Actions.
fn render_github(outcome: &GateOutcome) -> String {
    let mut out: String = outcome
        .apart
        .iter()
        .map(|text| format!("::notice title=etalon gate::{}\n", github_data(&clean_text(text))))
        .collect();
    for line in &outcome.lines {
        if let Some(level) = annotation_level(line) {
            let _ = writeln!(
                out,
                "::{level} title=etalon: {}::{}",
                line.status.as_str(),
                github_data(&line_sentence(line))
            );
        }
    }
    for line in &outcome.changed {
        let _ = writeln!(out, "::notice title=etalon gate::{}", github_data(&clean_text(line)));
    }
    let level = match outcome.status {
        GateStatus::Passed => "notice",
        GateStatus::NotFailed => "warning",
        _ => "error",
    };
    let parts = [outcome.summary_line(), outcome.undecided_sentence().unwrap_or_default(), outcome.interval.clone()];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let _ = writeln!(out, "::{level} title=etalon gate::{}", github_data(&parts));
    out
}

/// The level of a line's annotation on GitHub; `None` if it has none.
fn annotation_level(line: &GateLine) -> Option<&'static str> {
    match line.status {
        RowStatus::Regressed | RowStatus::Broken | RowStatus::Failed => Some("error"),
        RowStatus::NotCompared if !line.is_asked => None,
        RowStatus::Open | RowStatus::NotCompared => Some("warning"),
        RowStatus::Improved => Some("notice"),
        RowStatus::Held => None,
    }
}

/// Escapes a message as GitHub's commands have it.
fn github_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Writes the outcome as JUnit XML.
fn render_junit(outcome: &GateOutcome) -> String {
    let failures = outcome.lines.iter().filter(|line| line.status.fails_gate()).count();
    let skipped = outcome.count_of(RowStatus::Open) + outcome.count_of(RowStatus::NotCompared);
    let nothing = usize::from(matches!(outcome.status, GateStatus::TooFewRows | GateStatus::Unfinished));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"etalon gate\" tests=\"{}\" failures=\"{failures}\" errors=\"{nothing}\" skipped=\"{skipped}\" \
         time=\"{:.3}\"{}>",
        outcome.lines.len() + nothing,
        outcome.record.total_seconds(),
        junit_timestamp(&outcome.record)
    );
    out.push_str(&junit_properties(&outcome.record));
    for line in &outcome.lines {
        let name = escape_xml(&line.name);
        let class = escape_xml(&line.sides);
        let detail = escape_xml(&line.detail);
        let body = match line.status {
            RowStatus::Regressed | RowStatus::Broken | RowStatus::Failed => {
                format!("<failure message=\"{}: {detail}\"/>", line.status.as_str())
            }
            RowStatus::Open | RowStatus::NotCompared => {
                format!("<skipped message=\"{}: {detail}\"/>", line.status.as_str())
            }
            RowStatus::Improved | RowStatus::Held => {
                format!("<system-out>{}: {detail}</system-out>", line.status.as_str())
            }
        };
        let time = outcome.record.seconds_of(&line.runs);
        let _ = writeln!(out, "  <testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\">{body}</testcase>");
    }
    if nothing > 0 {
        let message = escape_xml(&outcome.summary_line());
        let _ =
            writeln!(out, "  <testcase classname=\"etalon\" name=\"gate\"><error message=\"{message}\"/></testcase>");
    }
    let lines: Vec<&str> =
        outcome.apart.iter().chain(&outcome.changed).chain([&outcome.interval]).map(String::as_str).collect();
    let lines = lines.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ");
    if !lines.is_empty() {
        let lines = escape_xml(&lines);
        let _ = writeln!(out, "  <system-out>{lines}</system-out>");
    }
    out.push_str("</testsuite>\n");
    out
}

/// Writes the time when the experiment began as JUnit's attribute; empty if it is not known.
fn junit_timestamp(record: &Record) -> String {
    let started = record.started_unix_ms.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    started.map_or_else(String::new, |at| format!(" timestamp=\"{}\"", at.strftime("%Y-%m-%dT%H:%M:%S")))
}

/// Writes the experiment's properties as JUnit XML; empty without any.
fn junit_properties(record: &Record) -> String {
    if record.properties.is_empty() {
        return String::new();
    }
    let mut out = String::from("  <properties>\n");
    for (name, value) in &record.properties {
        let _ = writeln!(out, "    <property name=\"{name}\" value=\"{}\"/>", escape_xml(value));
    }
    out + "  </properties>\n"
}

/// Escapes a text for XML, without the characters that XML cannot have.
fn escape_xml(text: &str) -> String {
    let escaped = clean_text(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Not allowed in XML 1.0.
    escaped.replace('"', "&quot;").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Writes the outcome as Markdown, with a table of the lines.
fn render_markdown(outcome: &GateOutcome) -> String {
    let noted: String = outcome.apart.iter().map(|text| format!("> {}.\n\n", escape_markdown(text))).collect();
    let mut out =
        format!("**{}**\n\n{noted}| status | row | sides | B vs A |\n|---|---|---|---|\n", outcome.summary_line());
    for line in &outcome.lines {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            line.status.as_str(),
            escape_markdown(&line.name),
            escape_markdown(&line.sides),
            escape_markdown(&line.detail)
        );
    }
    for line in &outcome.changed {
        let _ = writeln!(out, "\n{}.", escape_markdown(line));
    }
    if !outcome.interval.is_empty() {
        let _ = writeln!(out, "\nB vs A: {}.", escape_markdown(&outcome.interval));
    }
    if let Some(line) = outcome.undecided_sentence() {
        let _ = writeln!(out, "\n{}.", escape_markdown(&line));
    }
    out
}
