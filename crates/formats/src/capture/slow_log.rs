//! The slow log of MySQL, MariaDB and Percona Server: lines that begin with `#`, then the statement.

use std::borrow::Cow;
use std::io::BufRead;

use super::clock::Clock;
use super::lines::RecordBytes;
use super::times::{parse_moment, zone_s};
use super::{Capture, CaptureError, Execution, Reason, Session};

const USER: &str = "# User@Host: ";
const TIME: &str = "# Time: ";
const COMMAND: &str = "# administrator command: ";
/// What has to be known of the records before.
#[derive(Debug, Default)]
pub struct SlowRecords {
    /// Counts starts of the server: it numbers its sessions from the beginning.
    starts: u64,
    time_us: Option<i64>,
    /// MySQL names a database when it is not that of the record before, whatever the session.
    database: String,
    clock: Clock,
}

/// What the lines before a statement say.
#[derive(Debug, Default)]
struct Head<'a> {
    user: &'a str,
    session: &'a str,
    database: Option<&'a str>,
    duration_us: Option<u64>,
    rows: Option<u64>,
    bytes: Option<u64>,
    error: Option<&'a str>,
    start_us: Option<i64>,
    is_in_routine: bool,
}

/// Tells whether a line begins a record.
fn begins_record(line: &[u8]) -> bool {
    let stamp = line.strip_prefix(TIME.as_bytes()).and_then(|stamp| str::from_utf8(stamp).ok());
    stamp.is_some_and(|stamp| parse_time(stamp).is_some()) || is_user_line(line)
}

/// Tests whether a line is the first that a server writes when it starts.
pub(super) fn is_server_start(line: &[u8]) -> bool {
    line.ends_with(b" started with:\n") || line.ends_with(b" started with:\r\n")
}

/// Tests whether a line says who ran the statement.
fn is_user_line(line: &[u8]) -> bool {
    line.starts_with(USER.as_bytes()) && line.windows(4).any(|part| part == b"] @ ")
}

/// Finds the time of a log's first record; `None` if it is no slow log.
pub fn first_us(lines: &[&str]) -> Option<i64> {
    lines.iter().find(|line| is_user_line(line.as_bytes()))?;
    lines
        .iter()
        .find_map(|line| parse_set_timestamp(line).or_else(|| parse_time(line.strip_prefix(TIME)?).map(|(us, _)| us)))
}

/// Reads a whole slow log into a capture.
///
/// # Errors
/// The log cannot be read, or the capture cannot be written.
pub fn read_log(
    reader: &mut dyn BufRead,
    records: &mut SlowRecords,
    capture: &mut Capture,
) -> Result<(), CaptureError> {
    records.clock.begin_file();
    records.database.clear();
    let (mut record, mut line) = (RecordBytes::default(), RecordBytes::default());
    let mut has_user = false;
    loop {
        line.clear();
        if line.read_line(reader)?.is_none() {
            break;
        }
        let is_start = is_server_start(line.bytes());
        // The time of a record is a line before it.
        if is_start || (begins_record(line.bytes()) && (has_user || !is_user_line(line.bytes()))) {
            take_record(&record, records, capture)?;
            record.clear();
            has_user = false;
        }
        has_user |= is_user_line(line.bytes());
        if is_start {
            records.starts += 1;
            records.database.clear();
        }
        record.push_line(&line);
    }
    take_record(&record, records, capture)
}

/// Reads a record of the log: adds its execution, or counts why there is none.
fn take_record(bytes: &RecordBytes, records: &mut SlowRecords, capture: &mut Capture) -> Result<(), CaptureError> {
    let text = String::from_utf8_lossy(bytes.bytes());
    let Some(begin) = text.find(USER).filter(|at| *at == 0 || text[..*at].ends_with('\n')) else {
        // What a server writes when it starts, or a time without a record.
        records.note_time(text.lines().next().unwrap_or_default());
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with(TIME)).count();
        (0..lines).for_each(|_| capture.count_reason(Reason::Foreign));
        return Ok(());
    };
    records.note_time(text.lines().next().unwrap_or_default());
    let (head, statement) = split_head(&text[begin..]);
    if let Some(database) = head.database {
        database.clone_into(&mut records.database);
    }
    if statement.starts_with(COMMAND) {
        capture.count_reason(Reason::Command);
        return Ok(());
    }
    if head.is_in_routine {
        capture.count_reason(Reason::InRoutine);
        return Ok(());
    }
    let whole = statement.strip_suffix('\n').and_then(|statement| statement.trim_end_matches('\r').strip_suffix(';'));
    let damage = match (&text, whole, head.duration_us) {
        _ if bytes.is_too_long() => Some(Reason::TooLong),
        (Cow::Owned(_), ..) => Some(Reason::NotUtf8),
        (text, ..) if text.contains('\0') => Some(Reason::Nul),
        (_, None, _) | (_, _, None) => Some(Reason::CutOff),
        _ => None,
    };
    let (Some(whole), None) = (whole, damage) else {
        capture.count_reason(damage.unwrap_or(Reason::CutOff));
        return Ok(());
    };
    let duration_us = head.duration_us.unwrap_or(0);
    let Some(start_us) = records.start_us(&head, duration_us) else {
        capture.count_reason(Reason::CutOff);
        return Ok(());
    };
    let end_us = start_us.saturating_add(i64::try_from(duration_us).unwrap_or(i64::MAX));
    records.clock.take_time(end_us, records.time_us.is_some(), capture);
    if head.error.is_none() {
        capture.count_reason(Reason::ErrorUnknown);
    }
    let key = session_key(records.starts, head.session, &records.database);
    let session = Session { key: &key, user: head.user, database: &records.database, application: "" };
    let Head { duration_us, rows, bytes, error, .. } = head;
    capture.add_execution(Execution {
        session,
        start_us,
        duration_us,
        text: whole,
        rows,
        bytes,
        error,
        parameters: Vec::new(),
    })
}

/// Makes what tells a connection's statements in a database apart: what is sent to one database is replayed on one.
pub(super) fn session_key(starts: u64, session: &str, database: &str) -> String {
    format!("{starts}.{session}.{database}")
}

impl SlowRecords {
    /// Remembers the time of a line of times: MariaDB writes one only when the second has changed.
    fn note_time(&mut self, line: &str) {
        if let Some((us, has_fraction)) = line.strip_prefix(TIME).and_then(parse_time) {
            self.time_us = has_fraction.then_some(us);
        }
    }

    /// Computes when the statement began: its end less its duration, or else the second that the record names.
    /// The end is known exactly where the record has its time with a fraction.
    fn start_us(&self, head: &Head<'_>, duration_us: u64) -> Option<i64> {
        let exact = self.time_us.map(|end| end.saturating_sub(i64::try_from(duration_us).unwrap_or(i64::MAX)));
        exact.or(head.start_us)
    }
}

/// Reads the lines before a statement, and gives the text that follows them.
fn split_head(text: &str) -> (Head<'_>, &str) {
    let (mut head, mut rest) = (Head::default(), text);
    while head.start_us.is_none()
        && let Some((line, behind)) = rest.split_once('\n')
    {
        let line = line.trim_end_matches('\r');
        if let Some(user) = line.strip_prefix(USER) {
            head.user = user.split('[').next().unwrap_or_default();
            read_fields(line, &mut head);
        } else if line.starts_with("# ") && !line.starts_with(COMMAND) {
            read_fields(line, &mut head);
        } else if let Some(database) = line.strip_prefix("use ") {
            head.database = Some(database.trim_end_matches(';').trim_matches('`'));
        } else if let Some(us) = parse_set_timestamp(line) {
            head.start_us = Some(us);
        } else {
            break;
        }
        rest = behind;
    }
    (head, rest)
}

/// Reads a line's `Name: value` pairs into the head of a record.
fn read_fields<'a>(line: &'a str, head: &mut Head<'a>) {
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let Some(name) = word.strip_suffix(':') else { continue };
        match name {
            "Stored_routine" => head.is_in_routine = true,
            "Schema" => head.database = Some(""),
            _ => {}
        }
        // `Schema:` may have no value.
        let Some(value) = words.clone().next().filter(|value| !value.ends_with(':')) else { continue };
        match name {
            "Id" | "Thread_id" => head.session = value,
            "Schema" => head.database = Some(value),
            "Query_time" => head.duration_us = parse_seconds_us(value),
            "Rows_sent" => head.rows = value.parse().ok(),
            "Bytes_sent" => head.bytes = value.parse().ok(),
            // MySQL writes 0 also where a statement failed.
            "Errno" | "Last_errno" => head.error = Some(value).filter(|code| *code != "0"),
            _ => {}
        }
    }
}

/// Parses seconds with decimals, in microseconds.
fn parse_seconds_us(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let decimals: String = decimals.chars().chain(std::iter::repeat('0')).take(6).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(decimals.parse().ok()?)
}

/// Parses `SET timestamp=1732823465;`, also with other variables before it, in microseconds.
fn parse_set_timestamp(line: &str) -> Option<i64> {
    let values = line.strip_prefix("SET ")?.strip_suffix(';')?;
    let value = values.split(',').find_map(|one| one.strip_prefix("timestamp="))?;
    i64::try_from(parse_seconds_us(value)?).ok()
}

/// Parses `2026-11-28T19:41:05.123456Z` or `261128 19:41:05`, and tells whether it is exact.
pub(super) fn parse_time(text: &str) -> Option<(i64, bool)> {
    if let Some(found) = parse_moment(text) {
        let zone = text[found.length..].trim();
        return Some((found.us - zone_s(zone) * 1_000_000, found.has_fraction));
    }
    let (day, clock) = text.trim().split_once(' ')?;
    let part = |at: usize| day.get(at..at + 2);
    let text = format!("20{}-{}-{} {:0>8}", part(0)?, part(2)?, part(4)?, clock.trim());
    parse_moment(&text).map(|found| (found.us, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_both_forms() {
        assert_eq!(parse_time("2026-11-28T19:41:05.5Z"), Some((1_795_894_865_500_000, true)));
        assert_eq!(parse_time("261128  9:41:05"), Some((1_795_858_865_000_000, false)));
        assert_eq!(parse_set_timestamp("SET last_insert_id=4,timestamp=1795894865;"), Some(1_795_894_865_000_000));
        assert_eq!(
            (parse_seconds_us("1.000123"), parse_seconds_us("2"), parse_seconds_us("x")),
            (Some(1_000_123), Some(2_000_000), None)
        );
    }
}
