//! The figures of a summary, as measurements under étalon's own names.

use model::{Direction, Measurement, Point, Reading, Role, Value};
use serde_json::Value as Json;

use crate::FormatError;
use crate::durations::latency_measurement;
use crate::imported::OF_SUCCESSES;
use crate::text::{NotUnderstood, leading_number, parse_number};

/// Measurements of one result.
#[derive(Debug, Default)]
pub struct Figures {
    pub measurements: Vec<Measurement>,
    /// True if anything failed: what is printed of what succeeded alone is no percentile of all.
    pub has_failed: bool,
}

impl Figures {
    /// Adds a measurement, if its value is known.
    fn push(&mut self, id: &str, unit: &str, direction: Direction, role: Role, value: Option<f64>) {
        let value = value.filter(|value| value.is_finite());
        self.measurements.extend(value.map(|value| Measurement::value(id, unit, direction, role, value)));
    }

    /// Adds a figure that is better when higher, if it is known.
    pub fn push_rate(&mut self, id: &str, unit: &str, role: Role, value: Option<f64>) {
        self.push(id, unit, Direction::Higher, role, value);
    }

    /// Adds a figure that is better when lower, if it is known.
    pub fn push_cost(&mut self, id: &str, unit: &str, role: Role, value: Option<f64>) {
        self.push(id, unit, Direction::Lower, role, value);
    }

    /// Adds a count of things that are worse when more, if it is known.
    pub fn push_count(&mut self, id: &str, value: Option<f64>) {
        self.push(id, "", Direction::Lower, Role::Diagnostic, value);
    }

    /// Adds a mean, shortest or longest response time in microseconds, `response_mean`, if it is known.
    pub fn push_response(&mut self, name: &str, us: Option<f64>) {
        let us = us.filter(|us| us.is_finite() && *us >= 0.0).map(|us| (us * 1e3).round() / 1e3);
        let id = format!("response_{name}");
        self.measurements.extend(us.map(|us| latency_measurement(&id, Role::Secondary, Reading::Value(us))));
    }

    /// Adds a percentile of the response time in microseconds; unavailable where some failed, since it is of successes.
    pub fn push_percentile(&mut self, rank: f64, us: Option<f64>) {
        let Some(us) = us.filter(|us| us.is_finite() && *us >= 0.0) else { return };
        let id = format!("response_p{}", rank.to_string().replace('.', ""));
        let role = if rank == 50.0 || rank == 99.0 { Role::Primary } else { Role::Secondary };
        let us = (us * 1e3).round() / 1e3;
        let reading = if self.has_failed { Reading::unavailable(OF_SUCCESSES) } else { Reading::Value(us) };
        self.measurements.push(latency_measurement(&id, role, reading));
    }

    /// Adds the percent of failures, or why it is not known where the tool does not tell.
    pub fn push_failed(&mut self, failed: Option<f64>, succeeded: Option<f64>, why_not: &str) {
        let reading = match (failed, succeeded) {
            (Some(failed), Some(succeeded)) if failed + succeeded > 0.0 => {
                self.has_failed = failed > 0.0;
                // A sum of nothing is -0.
                Reading::Value(100.0 * failed / (failed + succeeded) + 0.0)
            }
            _ => Reading::unavailable(why_not),
        };
        self.measurements.push(Measurement::failed_share(reading));
    }
}

/// Parses the value of a key: a number or else a text.
pub fn plain_value(text: &str) -> Value {
    text.trim().parse().map_or_else(|_| Value::Text(text.trim().to_owned()), Value::Int)
}

/// Inserts a key, if its value is known.
pub fn put_key(keys: &mut Point, name: &str, value: Option<Value>) {
    keys.extend(value.map(|value| (name.to_owned(), value)));
}

/// Reads a number, whether JSON has it as one or as text.
pub fn json_number(json: &Json) -> Option<f64> {
    json.as_f64().or_else(|| parse_number(json.as_str()?.trim()))
}

/// Makes the value of a key of a JSON number, text or boolean.
pub fn json_key(json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => Some(plain_value(text)),
        Json::Number(number) => Some(number.as_i64().map_or_else(|| plain_value(&number.to_string()), Value::Int)),
        Json::Bool(truth) => Some(Value::Bool(*truth)),
        _ => None,
    }
}

/// Reads the JSON documents in a text, each from the start of a line; in a page other blocks may stand around them.
///
/// # Errors
/// A document is no JSON.
pub fn json_documents(text: &str) -> Result<Vec<Json>, FormatError> {
    let (mut found, mut rest, mut line) = (Vec::new(), text, 0_u64);
    while let Some(begin) = next_document_start(rest) {
        line += count_lines(&rest[..begin]);
        rest = &rest[begin..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        match stream.next() {
            Some(Ok(json)) => found.push(json),
            Some(Err(error)) => {
                return Err(FormatError::at_line(line + error.line() as u64, format!("this is no JSON: {error}")));
            }
            None => break,
        }
        let length = stream.byte_offset();
        line += count_lines(&rest[..length]);
        rest = &rest[length..];
    }
    Ok(found)
}

/// Lists the lines with words around JSON documents: those of a mail or a shell.
pub fn lines_outside(text: &str) -> Vec<NotUnderstood> {
    let (mut found, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let begin = next_document_start(&text[from..]).map_or(text.len(), |at| from + at);
        let first = count_lines(&text[..from]) + 1;
        let lines = text[from..begin].split('\n').zip(first..);
        found.extend(
            lines
                .filter(|(line, _)| line.contains(char::is_alphanumeric))
                .map(|(line, at)| NotUnderstood::new(at, line)),
        );
        let mut stream = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<serde::de::IgnoredAny>();
        let is_whole = matches!(stream.next(), Some(Ok(_)));
        from = if is_whole { begin + stream.byte_offset().max(1) } else { text.len() };
    }
    found
}

/// Finds the beginning of the next JSON document.
fn next_document_start(rest: &str) -> Option<usize> {
    let bare = rest.trim_start();
    if bare.starts_with('{') { Some(rest.len() - bare.len()) } else { rest.find("\n{").map(|at| at + 1) }
}

/// Counts the line ends in a text.
fn count_lines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Parses the number at the start, with nothing but a unit behind it.
pub fn first_number(text: &str) -> Option<f64> {
    leading_number(text.trim()).map(|(number, _)| number)
}

/// Splits `name: value, name: value` into pairs.
pub fn name_value_pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(", ").filter_map(|pair| pair.split_once(':')).map(|(name, value)| (name.trim(), value.trim()))
}

/// Finds the value of an option of a command line: `--name=V`, `--name V`, `-n V`, `-nV`.
pub fn option_value<'a>(command: &'a str, long: &str, short: Option<char>) -> Option<&'a str> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['`', '"', '\'', '\\']));
    while let Some(word) = words.next() {
        if let Some(rest) = word.strip_prefix("--").and_then(|word| word.strip_prefix(long)) {
            match rest.strip_prefix('=') {
                Some(value) => return Some(value),
                None if rest.is_empty() => return words.next(),
                None => {}
            }
        }
        let bare = short.and_then(|short| word.strip_prefix('-')?.strip_prefix(short));
        match bare {
            Some("") => return words.next(),
            Some(value) if !word.starts_with("--") => return Some(value),
            _ => {}
        }
    }
    None
}

/// Notes a line that a reader does not know, if it is not blank.
/// A tool's output may be a small part of a text, so lines far from it are prose.
pub fn note_strange(number: u64, line: &str, into: &mut Vec<NotUnderstood>) {
    if !line.trim().is_empty() {
        into.push(NotUnderstood::new(number, line));
    }
}
