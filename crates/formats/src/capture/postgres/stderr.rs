//! PostgreSQL's log in text form: a prefix, a severity, a message. Further lines of a record begin with a tab.

use std::borrow::Cow;
use std::io::BufRead;

use super::super::lines::{RecordBytes, without_line_end};
use super::super::{Capture, CaptureError, Reason};
use super::prefix::{Prefix, split_severity};
use super::{Record, Records};

/// What follows a record with the same prefix and belongs to it.
const PARTS: [&str; 7] = ["DETAIL", "HINT", "QUERY", "CONTEXT", "LOCATION", "STATEMENT", "BACKTRACE"];

/// Reads a whole log in text form, with this prefix, into a capture.
///
/// # Errors
/// The log cannot be read, or the capture cannot be written.
pub fn read_log(
    reader: &mut dyn BufRead,
    prefix: &Prefix,
    records: &mut Records,
    capture: &mut Capture,
) -> Result<(), CaptureError> {
    let (mut record, mut line) = (RecordBytes::default(), RecordBytes::default());
    loop {
        line.clear();
        if line.read_line(reader)?.is_none() {
            break;
        }
        let is_continued = line.bytes().first() == Some(&b'\t');
        if is_continued && !record.bytes().is_empty() {
            record.push_line(&line);
            continue;
        }
        let head = String::from_utf8_lossy(&line.bytes()[..line.bytes().len().min(1_024)]);
        match prefix.find_in_line(&head).map(|said| split_severity(&head[said.length..]).unwrap_or_default().0) {
            Some(word) if PARTS.contains(&word) && !record.bytes().is_empty() => record.push_line(&line),
            Some(_) => {
                take_record(&record, prefix, records, capture)?;
                record.clear();
                record.push_line(&line);
            }
            None if without_line_end(line.bytes()).is_empty() => {}
            None => capture.count_reason(Reason::Foreign),
        }
    }
    take_record(&record, prefix, records, capture)
}

/// Reads a record by the log's prefix; one without a time is counted as cut off.
fn take_record(
    bytes: &RecordBytes,
    prefix: &Prefix,
    records: &mut Records,
    capture: &mut Capture,
) -> Result<(), CaptureError> {
    let text = String::from_utf8_lossy(bytes.bytes());
    let Some((said, moment)) = prefix.find_in_line(&text).and_then(|said| Some((said, said.moment?))) else {
        if !text.is_empty() {
            capture.count_reason(Reason::CutOff);
        }
        return Ok(());
    };
    let damage = match &text {
        _ if bytes.is_too_long() => Some(Reason::TooLong),
        Cow::Owned(_) => Some(Reason::NotUtf8),
        text if text.contains('\0') => Some(Reason::Nul),
        text if !text.ends_with('\n') => Some(Reason::CutOff),
        Cow::Borrowed(_) => None,
    };
    let parts = record_parts(&text, prefix);
    let part = |name: &str| parts.iter().find(|part| part.0 == name).map_or("", |part| part.1.as_str());
    let (severity, message) = parts.first().map(|part| (part.0, part.1.as_str())).unwrap_or_default();
    let record = Record {
        moment,
        session: if said.session.is_empty() { said.process } else { said.session },
        process: said.process.parse().ok(),
        user: said.user,
        database: said.database,
        application: said.application,
        step: said.step,
        severity,
        state: said.state,
        message,
        detail: part("DETAIL"),
        context: part("CONTEXT"),
        statement: part("STATEMENT"),
        damage,
    };
    records.take_record(&record, capture)
}

/// Splits a record into its parts by their names; the first is the message, by its severity.
fn record_parts<'a>(text: &'a str, prefix: &Prefix) -> Vec<(&'a str, String)> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        match (line.strip_prefix('\t'), parts.last_mut()) {
            (Some(more), Some((_, part))) => {
                part.push('\n');
                part.push_str(more);
            }
            _ => {
                let found = prefix.find_in_line(line).and_then(|said| split_severity(&line[said.length..]));
                if let Some((name, message)) = found {
                    parts.push((name, message.to_owned()));
                }
            }
        }
    }
    parts
}
