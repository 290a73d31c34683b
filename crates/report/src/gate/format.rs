//! Output formats of the gate.

use std::fmt::Write as _;
use std::str::FromStr;

use super::{GateLine, GateOutcome, GateStatus, Record, RowStatus};
use crate::markdown::escape;
use crate::text::clean;

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

pub fn render(outcome: &GateOutcome, format: Format) -> String {
    match format {
        Format::Text => text(outcome),
        Format::Github => github(outcome),
        Format::Junit => junit(outcome),
        Format::Markdown => markdown(outcome),
    }
}

fn described(line: &GateLine) -> String {
    clean(&format!("{} ({}): {}", line.name, line.sides, line.detail))
}

fn text(outcome: &GateOutcome) -> String {
    let mut out: String = outcome.apart.iter().map(|text| format!("note: {}\n", clean(text))).collect();
    for line in &outcome.lines {
        let _ = writeln!(out, "{:<12}  {}", line.status.as_str(), described(line));
    }
    for line in &outcome.changed {
        let _ = writeln!(out, "{}", clean(line));
    }
    if !outcome.interval.is_empty() {
        let _ = writeln!(out, "{}", outcome.interval);
    }
    let _ = writeln!(out, "{}", outcome.summary());
    if let Some(line) = outcome.undecided() {
        let _ = writeln!(out, "{}", clean(&line));
    }
    out
}

fn github(outcome: &GateOutcome) -> String {
    let mut out: String = outcome
        .apart
        .iter()
        .map(|text| format!("::notice title=etalon gate::{}\n", github_data(&clean(text))))
        .collect();
    for line in &outcome.lines {
        if let Some(level) = level(line) {
            let _ =
                writeln!(out, "::{level} title=etalon: {}::{}", line.status.as_str(), github_data(&described(line)));
        }
    }
    for line in &outcome.changed {
        let _ = writeln!(out, "::notice title=etalon gate::{}", github_data(&clean(line)));
    }
    let level = match outcome.status {
        GateStatus::Passed => "notice",
        GateStatus::NotFailed => "warning",
        _ => "error",
    };
    let parts = [outcome.summary(), outcome.undecided().unwrap_or_default(), outcome.interval.clone()];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let _ = writeln!(out, "::{level} title=etalon gate::{}", github_data(&parts));
    out
}

fn level(line: &GateLine) -> Option<&'static str> {
    match line.status {
        RowStatus::Regressed | RowStatus::Broken | RowStatus::Failed => Some("error"),
        RowStatus::NotCompared if !line.is_asked => None,
        RowStatus::Open | RowStatus::NotCompared => Some("warning"),
        RowStatus::Improved => Some("notice"),
        RowStatus::Held => None,
    }
}

/// GitHub's escapes for a command's message.
fn github_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn junit(outcome: &GateOutcome) -> String {
    let failures = outcome.lines.iter().filter(|line| line.status.fails()).count();
    let skipped = outcome.count(RowStatus::Open) + outcome.count(RowStatus::NotCompared);
    let nothing = usize::from(matches!(outcome.status, GateStatus::TooFewRows | GateStatus::Unfinished));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"etalon gate\" tests=\"{}\" failures=\"{failures}\" errors=\"{nothing}\" skipped=\"{skipped}\" \
         time=\"{:.3}\"{}>",
        outcome.lines.len() + nothing,
        outcome.record.seconds(),
        timestamp(&outcome.record)
    );
    out.push_str(&properties(&outcome.record));
    for line in &outcome.lines {
        let name = xml(&line.name);
        let class = xml(&line.sides);
        let detail = xml(&line.detail);
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
        let message = xml(&outcome.summary());
        let _ =
            writeln!(out, "  <testcase classname=\"etalon\" name=\"gate\"><error message=\"{message}\"/></testcase>");
    }
    let lines: Vec<&str> =
        outcome.apart.iter().chain(&outcome.changed).chain([&outcome.interval]).map(String::as_str).collect();
    let lines = lines.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ");
    if !lines.is_empty() {
        let lines = xml(&lines);
        let _ = writeln!(out, "  <system-out>{lines}</system-out>");
    }
    out.push_str("</testsuite>\n");
    out
}

fn timestamp(record: &Record) -> String {
    let started = record.started_unix_ms.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    started.map_or_else(String::new, |at| format!(" timestamp=\"{}\"", at.strftime("%Y-%m-%dT%H:%M:%S")))
}

fn properties(record: &Record) -> String {
    if record.properties.is_empty() {
        return String::new();
    }
    let mut out = String::from("  <properties>\n");
    for (name, value) in &record.properties {
        let _ = writeln!(out, "    <property name=\"{name}\" value=\"{}\"/>", xml(value));
    }
    out + "  </properties>\n"
}

fn xml(text: &str) -> String {
    let escaped = clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Not allowed in XML 1.0.
    escaped.replace('"', "&quot;").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn markdown(outcome: &GateOutcome) -> String {
    let noted: String = outcome.apart.iter().map(|text| format!("> {}.\n\n", escape(text))).collect();
    let mut out = format!("**{}**\n\n{noted}| status | row | sides | B vs A |\n|---|---|---|---|\n", outcome.summary());
    for line in &outcome.lines {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            line.status.as_str(),
            escape(&line.name),
            escape(&line.sides),
            escape(&line.detail)
        );
    }
    for line in &outcome.changed {
        let _ = writeln!(out, "\n{}.", escape(line));
    }
    if !outcome.interval.is_empty() {
        let _ = writeln!(out, "\nB vs A: {}.", escape(&outcome.interval));
    }
    if let Some(line) = outcome.undecided() {
        let _ = writeln!(out, "\n{}.", escape(&line));
    }
    out
}
