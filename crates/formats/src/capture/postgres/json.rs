//! PostgreSQL's `jsonlog`: a record is an object on a line of its own.

use std::borrow::Cow;
use std::io::BufRead;

use serde::Deserialize;

use super::super::lines::{RecordBytes, without_line_end};
use super::super::times::parse_zoned;
use super::super::{Capture, CaptureError, Reason};
use super::{Record, Records};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    timestamp: String,
    user: String,
    dbname: String,
    pid: Option<u32>,
    session_id: String,
    ps: String,
    error_severity: String,
    state_code: String,
    message: String,
    detail: String,
    context: String,
    statement: String,
    application_name: String,
}

/// The first letters of each record.
pub const BEGIN: &str = "{\"timestamp\":\"";

/// Tells whether a line begins as a record does.
pub fn is_head(line: &[u8]) -> bool {
    line.starts_with(BEGIN.as_bytes())
}

/// Reads a whole log in JSON, a record a line, into a capture.
///
/// # Errors
/// The log cannot be read, or the capture cannot be written.
pub fn read_log(reader: &mut dyn BufRead, records: &mut Records, capture: &mut Capture) -> Result<(), CaptureError> {
    let mut line = RecordBytes::default();
    loop {
        line.clear();
        if line.read_line(reader)?.is_none() {
            return Ok(());
        }
        if !without_line_end(line.bytes()).is_empty() {
            take_line(&line, records, capture)?;
        }
    }
}

/// Takes a line, which is a record, into the capture.
fn take_line(line: &RecordBytes, records: &mut Records, capture: &mut Capture) -> Result<(), CaptureError> {
    if line.is_too_long() {
        capture.count_reason(Reason::TooLong);
        return Ok(());
    }
    let text = String::from_utf8_lossy(line.bytes());
    // A server that was cut off and started again goes on in the same line; within a string its quotation marks are escaped.
    let begin = text.rfind(BEGIN).unwrap_or(0);
    if begin > 0 {
        capture.count_reason(Reason::CutOff);
    }
    let parsed = serde_json::from_str::<Object>(&text[begin..]).ok();
    let Some((object, moment)) =
        parsed.and_then(|object| parse_zoned(&object.timestamp).map(|moment| (object, moment)))
    else {
        capture.count_reason(Reason::CutOff);
        return Ok(());
    };
    let damage = match &text {
        Cow::Owned(_) => Some(Reason::NotUtf8),
        Cow::Borrowed(_) if object.message.contains('\0') || object.statement.contains('\0') => Some(Reason::Nul),
        Cow::Borrowed(_) => None,
    };
    let record = Record {
        moment,
        session: &object.session_id,
        process: object.pid,
        user: &object.user,
        database: &object.dbname,
        application: &object.application_name,
        step: &object.ps,
        severity: &object.error_severity,
        state: &object.state_code,
        message: &object.message,
        detail: &object.detail,
        context: &object.context,
        statement: &object.statement,
        damage,
    };
    records.take_record(&record, capture)
}
