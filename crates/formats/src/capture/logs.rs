//! Logs of a server, of one form, in the order of their times.

use std::io::{BufRead, Read as _};

use super::general_log::{self, GeneralRecords};
use super::postgres::prefix::Prefix;
use super::postgres::{Records, csv, json, stderr};
use super::shape::Syntax;
use super::slow_log::{self, SlowRecords};
use super::times;
use super::{Capture, CaptureError};

/// Bytes of a log's beginning by which it is recognised.
pub const HEAD_BYTES: u64 = 256 << 10;
const HEAD_LINES: usize = 400;

/// The form of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    Csv,
    Json,
    /// Text whose records have this prefix.
    Prefixed(Prefix),
    /// The slow log of MySQL, MariaDB or Percona Server.
    Slow,
    /// The general log of MySQL or MariaDB, which has no times of statements.
    General,
}

/// A log whose form is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    pub form: Form,
    /// The time of its first record, since 1970.
    pub first_us: i64,
}

impl Form {
    /// Names the form, with its prefix.
    pub fn name(&self) -> String {
        match self {
            Form::Csv => "csvlog".to_owned(),
            Form::Json => "jsonlog".to_owned(),
            Form::Prefixed(prefix) => format!("log with the prefix `{}`", prefix.as_str()),
            Form::Slow => "slow log".to_owned(),
            Form::General => "general log".to_owned(),
        }
    }

    /// Gives the syntax of the statements in such logs.
    pub fn syntax(&self) -> Syntax {
        match self {
            Form::Csv | Form::Json | Form::Prefixed(_) => Syntax::Standard,
            Form::Slow | Form::General => Syntax::Backslash,
        }
    }

    /// Names the setting by which the server logs each statement.
    pub fn how_to_log(&self) -> &'static str {
        match self {
            Form::Csv | Form::Json | Form::Prefixed(_) => "`log_min_duration_statement = 0`",
            Form::Slow => "`long_query_time = 0`",
            Form::General => "`general_log = ON`",
        }
    }
}

/// Reads the beginning of a log, as far as its form is looked for there.
///
/// # Errors
/// It cannot be read.
pub fn read_head(reader: &mut dyn BufRead) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Recognises a log's form and first time by its beginning; `None` if it is no log that is known.
/// The prefix of one in text form may be given.
pub fn recognise_log(head: &[u8], given: Option<&Prefix>) -> Option<Recognised> {
    let text = String::from_utf8_lossy(head);
    let lines: Vec<&str> = text.lines().take(HEAD_LINES).collect();
    if given.is_none() {
        let csv = lines.iter().find(|line| csv::is_head(line.as_bytes())).and_then(|line| times::parse_zoned(line));
        if let Some(first) = csv {
            return Some(Recognised { form: Form::Csv, first_us: first.us });
        }
        let json = lines.iter().find(|line| json::is_head(line.as_bytes()));
        if let Some(first) = json.and_then(|line| times::parse_zoned(line.get(json::BEGIN.len()..)?)) {
            return Some(Recognised { form: Form::Json, first_us: first.us });
        }
        if let Some(first_us) = slow_log::first_us(&lines) {
            return Some(Recognised { form: Form::Slow, first_us });
        }
        if let Some(first_us) = general_log::first_us(&lines) {
            return Some(Recognised { form: Form::General, first_us });
        }
    }
    let prefix = given.cloned().or_else(|| Prefix::guess_usual(&lines))?;
    let first_us = lines.iter().find_map(|line| prefix.find_in_line(line)?.moment)?.us;
    Some(Recognised { form: Form::Prefixed(prefix), first_us })
}

/// Reads logs of one server, one after the other.
#[derive(Debug, Default)]
pub struct Logs {
    records: Records,
    slow: SlowRecords,
    general: GeneralRecords,
}

impl Logs {
    /// Reads one log of a form into a capture.
    ///
    /// # Errors
    /// The log cannot be read, or the capture cannot be written.
    pub fn read_log(
        &mut self,
        form: &Form,
        reader: &mut dyn BufRead,
        capture: &mut Capture,
    ) -> Result<(), CaptureError> {
        self.records.begin_file();
        match form {
            Form::Csv => csv::read_log(reader, &mut self.records, capture),
            Form::Json => json::read_log(reader, &mut self.records, capture),
            Form::Prefixed(prefix) => stderr::read_log(reader, prefix, &mut self.records, capture),
            Form::Slow => slow_log::read_log(reader, &mut self.slow, capture),
            Form::General => general_log::read_log(reader, &mut self.general, capture),
        }
    }

    /// Adds the statements that have begun and have no end in the logs.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub fn finish(mut self, capture: &mut Capture) -> Result<(), CaptureError> {
        self.records.finish(capture)
    }
}
