//! PostgreSQL's `csvlog`: a record is a line of CSV, whose quoted fields may hold further line ends.

use std::borrow::Cow;
use std::io::BufRead;

use super::super::lines::{RecordBytes, without_line_end};
use super::super::times::parse_zoned;
use super::super::{Capture, CaptureError, Reason};
use super::{Record, Records};

/// Columns of the oldest version that is read, 9.0; later ones have more behind them.
const COLUMNS: usize = 23;

/// Tells whether a line begins as a record does.
/// No value of a record's does: there the quotation marks are doubled.
pub fn is_head(line: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&line[..line.len().min(400)]).into_owned();
    let Some(moment) = parse_zoned(&head) else { return false };
    let Some((_, rest)) = head[moment.length..].split_once(',') else { return false };
    let Some(rest) = behind_name(rest).and_then(behind_name) else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && rest[digits..].starts_with(',')
}

/// Gives what follows a name in quotation marks, or none, and its comma.
fn behind_name(text: &str) -> Option<&str> {
    match text.strip_prefix('"') {
        Some(name) if name.starts_with('"') => None,
        Some(name) => name.split_once("\",").map(|(_, rest)| rest),
        None => text.strip_prefix(','),
    }
}

/// Reads a whole log in CSV into a capture.
///
/// # Errors
/// The log cannot be read, or the capture cannot be written.
pub fn read_log(reader: &mut dyn BufRead, records: &mut Records, capture: &mut Capture) -> Result<(), CaptureError> {
    let (mut record, mut line) = (RecordBytes::default(), RecordBytes::default());
    let mut is_open = false;
    loop {
        line.clear();
        let Some(quotes) = line.read_line(reader)? else { break };
        if is_open && is_head(line.bytes()) {
            // The server ended in the middle of the record before.
            capture.count_reason(Reason::CutOff);
            record.clear();
            is_open = false;
        }
        record.push_line(&line);
        is_open ^= quotes % 2 == 1;
        while !is_open && !record.bytes().is_empty() {
            let rest = if take_record(&record, records, capture)? { Vec::new() } else { behind_cut(&record, capture) };
            is_open = rest.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            record.clear();
            record.push(&rest);
        }
    }
    if is_open {
        capture.count_reason(Reason::CutOff);
    }
    Ok(())
}

/// Counts what is no record as cut off, and gives the record that begins within it.
/// A server that started again may go on in the same line.
fn behind_cut(record: &RecordBytes, capture: &mut Capture) -> Vec<u8> {
    capture.count_reason(Reason::CutOff);
    let bytes = record.bytes();
    let days = (1..bytes.len()).filter(|at| bytes.get(at + 4) == Some(&b'-') && bytes.get(at + 7) == Some(&b'-'));
    let begin = days.into_iter().find(|at| is_head(&bytes[*at..]));
    begin.map_or_else(Vec::new, |begin| bytes[begin..].to_vec())
}

/// Takes a record into the capture; `false` if it is none.
fn take_record(bytes: &RecordBytes, records: &mut Records, capture: &mut Capture) -> Result<bool, CaptureError> {
    let text = String::from_utf8_lossy(without_line_end(bytes.bytes()));
    if text.is_empty() {
        return Ok(true);
    }
    let mut fields = split_fields(&text);
    let is_long_enough = fields.len() >= COLUMNS || (bytes.is_too_long() && fields.len() > 13);
    let is_whole = is_long_enough && fields.get(12).is_some_and(|field| is_state(field));
    let (true, Some(moment)) = (is_whole, fields.first().and_then(|time| parse_zoned(time))) else { return Ok(false) };
    fields.resize(fields.len().max(COLUMNS), Cow::Borrowed(""));
    let field = |number: usize| fields[number].as_ref();
    let damage = match &text {
        _ if bytes.is_too_long() => Some(Reason::TooLong),
        Cow::Owned(_) => Some(Reason::NotUtf8),
        text if text.contains('\0') => Some(Reason::Nul),
        Cow::Borrowed(_) => None,
    };
    let record = Record {
        moment,
        session: field(5),
        process: field(3).parse().ok(),
        user: field(1),
        database: field(2),
        application: field(22),
        step: field(7),
        severity: field(11),
        state: field(12),
        message: field(13),
        detail: field(14),
        context: field(18),
        statement: field(19),
        damage,
    };
    records.take_record(&record, capture)?;
    Ok(true)
}

/// Whether a field is a code of an error or of a success.
fn is_state(field: &str) -> bool {
    field.len() == 5 && field.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Splits a record into its fields; one that is cut off ends where it does.
fn split_fields(text: &str) -> Vec<Cow<'_, str>> {
    let (mut fields, mut rest) = (Vec::with_capacity(26), text);
    loop {
        let (field, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let end = end_of_quoted(quoted);
                let field = &quoted[..end];
                let field = if field.contains('"') { Cow::Owned(field.replace("\"\"", "\"")) } else { field.into() };
                (field, quoted.get(end + 1..).unwrap_or_default())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        fields.push(field);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return fields,
        }
    }
}

/// Finds the quotation mark that ends a field.
fn end_of_quoted(text: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find('"') {
        let at = from + at;
        if text.as_bytes().get(at + 1) != Some(&b'"') {
            return at;
        }
        from = at + 2;
    }
    text.len()
}
