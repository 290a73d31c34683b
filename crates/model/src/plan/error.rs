use std::fmt;

use serde::Serialize;

use super::changes::Changes;
use super::redact;
use super::tree::Origin;

/// Displayed as lines that end with the hint. Passwords are masked and control characters escaped: safe for a
/// terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanError {
    pub source: String,
    /// Line in the file, from 1; none when it concerns the file as a whole or an argument.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    pub message: String,
    pub hint: Option<String>,
    pub snippet: Option<String>,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n  plan: {}", self.message, self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(snippet) = &self.snippet {
            write!(f, "  {snippet}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}

/// All errors of a plan, in the order of the file, then those of `--set`; never empty. An empty line stands between
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PlanErrors {
    pub errors: Vec<PlanError>,
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanErrors {}

/// The longest line that is quoted, in bytes.
const LONGEST_SNIPPET: usize = 1000;

pub(super) struct Problems<'a> {
    source: &'a str,
    text: &'a str,
    changes: &'a Changes,
    /// Byte offset at which each line starts.
    line_starts: Vec<usize>,
    found: Vec<(u64, PlanError)>,
    /// What is no error, each sentence once.
    pub(super) notes: Vec<String>,
}

const QUOTED_CHARS: usize = 100;

impl<'a> Problems<'a> {
    /// Makes an empty list of the problems of a plan's text.
    pub(super) fn new(source: &'a str, text: &'a str, changes: &'a Changes) -> Problems<'a> {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Problems { source, text, changes, line_starts, found: Vec::new(), notes: Vec::new() }
    }

    /// Adds a problem at a place, without secrets and with the line that it is in.
    pub(super) fn add(&mut self, at: &Origin, message: impl AsRef<str>, hint: Option<String>) {
        let message = escape(&redact::redact_words(message.as_ref()));
        let hint = hint.map(|hint| escape(&redact::redact_words(&hint)));
        let source = quote(self.source);
        let whole = PlanError { source, line: None, column: None, message, hint, snippet: None };
        let (place, error) = match at {
            Origin::Whole => (0, whole),
            Origin::Set(index) => {
                let (path, value) = self.changes.set.get(*index).map_or(("", ""), |(p, v)| (p, v));
                let argument = quote(&redact::redact_line(&format!("--set {path}={value}")));
                (u64::MAX, PlanError { source: argument, ..whole })
            }
            Origin::System(index) => {
                let name = self.changes.systems.get(*index).map_or("", |system| &system.name);
                (u64::MAX, PlanError { source: quote(&format!("--system {name}")), ..whole })
            }
            Origin::File(offset) => {
                let line = self.line_starts.partition_point(|start| start <= offset).max(1);
                let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
                let before = self.text.get(start..*offset).unwrap_or("");
                let content = self.text.get(start..).unwrap_or("").lines().next().unwrap_or("");
                let is_readable = content.len() <= LONGEST_SNIPPET && !content.trim().is_empty();
                let snippet = is_readable.then(|| quote(redact::redact_line(content).trim()));
                let (line, column) = (saturate_u32(line), saturate_u32(before.chars().count() + 1));
                let place = u64::from(line) << 32 | u64::from(column);
                (place, PlanError { line: Some(line), column: Some(column), snippet, ..whole })
            }
        };
        self.found.push((place, error));
    }

    /// Gives the `--set` argument as written, if it gave the scalar at this place.
    /// A shell drops quotes, so `--set …=5` may mean the string.
    pub(super) fn as_written(&self, at: &Origin) -> Option<&'a str> {
        match at {
            Origin::Set(index) => self.changes.set.get(*index).map(|(_, value)| value.trim()),
            Origin::Whole | Origin::File(_) | Origin::System(_) => None,
        }
        .filter(|value| !value.starts_with(['[', '{']))
    }

    /// Adds a note for the plan's author, once.
    pub(super) fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Tests whether nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Gives the errors in the order of their places.
    pub(super) fn into_errors(mut self) -> PlanErrors {
        self.found.sort_by_key(|(place, _)| *place);
        PlanErrors { errors: self.found.into_iter().map(|(_, error)| error).collect() }
    }
}

/// Converts a number to `u32`, or to the largest that fits.
fn saturate_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Whether a character is a control or changes the direction of writing.
pub(super) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Escapes the characters of a text that cannot be printed.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

/// Escapes and shortens a text from outside for a message.
pub(super) fn quote(text: &str) -> String {
    let mut chars = text.chars();
    let short: String = chars.by_ref().take(QUOTED_CHARS).collect();
    let mut quoted = escape(&short);
    if chars.next().is_some() {
        quoted.push('…');
    }
    quoted
}
