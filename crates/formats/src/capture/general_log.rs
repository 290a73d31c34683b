//! The general log of MySQL and MariaDB: what each connection asked, when it came, without its time or its end.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::BufRead;

use super::clock::Clock;
use super::lines::RecordBytes;
use super::slow_log::{is_server_start, parse_time, session_key};
use super::{Capture, CaptureError, Execution, Reason, Session};

/// Connections whose user and database are known; beyond that all are forgotten.
const MOST_KNOWN: usize = 100_000;
/// Words behind a connection's number. Lines without one of them belong to the statement before.
const COMMANDS: [&str; 21] = [
    "Query",
    "Execute",
    "Prepare",
    "Connect",
    "Quit",
    "Init DB",
    "Close stmt",
    "Reset stmt",
    "Long Data",
    "Fetch",
    "Field List",
    "Statistics",
    "Ping",
    "Change user",
    "Reset connection",
    "Set option",
    "Processlist",
    "Refresh",
    "Kill",
    "Binlog Dump",
    "Debug",
];

/// What has to be known of the records before.
#[derive(Debug, Default)]
pub struct GeneralRecords {
    /// Counts starts of the server: it numbers its connections from the beginning.
    starts: u64,
    /// MariaDB writes a time only when the second has changed.
    time: Option<(i64, bool)>,
    connections: HashMap<String, Connection>,
    clock: Clock,
}

/// What a connection has said of itself.
#[derive(Clone, Debug, Default)]
struct Connection {
    user: String,
    database: String,
}

/// The first line of a record, up to what was asked.
#[derive(Debug, PartialEq, Eq)]
struct Head<'a> {
    time: Option<(i64, bool)>,
    connection: &'a str,
    command: &'static str,
    argument: &'a str,
}

/// Reads the head of a record; `None` for any other line.
fn parse_head(line: &str) -> Option<Head<'_>> {
    let (stamp, rest) = line.split_once('\t')?;
    let time = if stamp.is_empty() { None } else { Some(parse_time(stamp)?) };
    let rest = if time.is_none() { rest.strip_prefix('\t')? } else { rest };
    let rest = rest.trim_start_matches([' ', '\t']);
    let (connection, rest) = rest.split_once(' ')?;
    if connection.is_empty() || !connection.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (command, argument) = rest.split_once('\t')?;
    let command = COMMANDS.into_iter().find(|known| *known == command)?;
    Some(Head { time, connection, command, argument })
}

/// The time of the first record of a log; `None`: it is no general log.
pub fn first_us(lines: &[&str]) -> Option<i64> {
    lines.iter().find_map(|line| parse_head(line)?.time).map(|(us, _)| us)
}

/// Reads a whole log.
///
/// # Errors
/// The log cannot be read, or the capture cannot be written.
pub fn read_log(
    reader: &mut dyn BufRead,
    records: &mut GeneralRecords,
    capture: &mut Capture,
) -> Result<(), CaptureError> {
    records.clock.begin_file();
    let (mut record, mut line) = (RecordBytes::default(), RecordBytes::default());
    loop {
        line.clear();
        if line.read_line(reader)?.is_none() {
            break;
        }
        let is_start = is_server_start(line.bytes());
        if is_start || begins_record(line.bytes()) {
            take_record(&record, records, capture)?;
            record.clear();
        }
        if is_start {
            records.starts += 1;
            records.connections.clear();
        }
        record.push_line(&line);
    }
    take_record(&record, records, capture)
}

/// Tells whether a line begins a record.
fn begins_record(line: &[u8]) -> bool {
    /// Longest head: a time, a number of twenty digits, the longest command.
    const LONGEST_HEAD: usize = 96;
    let head = &line[..line.len().min(LONGEST_HEAD)];
    let valid = match str::from_utf8(head) {
        Ok(head) => head,
        Err(error) => str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    parse_head(valid).is_some()
}

/// Reads a record of the log: adds its execution, or counts why there is none.
fn take_record(bytes: &RecordBytes, records: &mut GeneralRecords, capture: &mut Capture) -> Result<(), CaptureError> {
    let text = String::from_utf8_lossy(bytes.bytes());
    let Some(head) = parse_head(&text) else {
        // What a server writes when it starts.
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        (0..lines).for_each(|_| capture.count_reason(Reason::Foreign));
        return Ok(());
    };
    records.time = head.time.or(records.time);
    match head.command {
        "Query" | "Execute" => {}
        "Prepare" => {
            capture.count_reason(Reason::Preparation);
            return Ok(());
        }
        command => {
            records.note_connection(command, head.connection, head.argument.trim_end());
            capture.count_reason(Reason::Command);
            return Ok(());
        }
    }
    let statement = head.argument.strip_suffix('\n').map(|statement| statement.trim_end_matches('\r'));
    let damage = match (&text, statement, records.time) {
        _ if bytes.is_too_long() => Some(Reason::TooLong),
        (Cow::Owned(_), ..) => Some(Reason::NotUtf8),
        (text, ..) if text.contains('\0') => Some(Reason::Nul),
        (_, None, _) | (_, _, None) => Some(Reason::CutOff),
        _ => None,
    };
    let (Some(text), Some((start_us, is_exact)), None) = (statement, records.time, damage) else {
        capture.count_reason(damage.unwrap_or(Reason::CutOff));
        return Ok(());
    };
    records.clock.take_time(start_us, is_exact, capture);
    capture.count_reason(Reason::ErrorUnknown);
    let of_connection = records.connections.get(head.connection).cloned().unwrap_or_default();
    let key = session_key(records.starts, head.connection, &of_connection.database);
    let session = Session { key: &key, user: &of_connection.user, database: &of_connection.database, application: "" };
    capture.add_execution(Execution { session, start_us, text, ..Execution::default() })
}

impl GeneralRecords {
    /// Remembers what a connection says of its user and its database: `me@host on shop using TCP/IP`, or `shop` alone.
    fn note_connection(&mut self, command: &str, connection: &str, argument: &str) {
        if self.connections.len() >= MOST_KNOWN && !self.connections.contains_key(connection) {
            self.connections.clear();
        }
        match command {
            "Connect" | "Change user" => {
                let (user, rest) = argument.split_once('@').unwrap_or((argument, ""));
                let behind = rest.split_once(" on ").map_or("", |(_, behind)| behind);
                let database = behind.split_once(" using").map_or(behind, |(database, _)| database).trim();
                let known = Connection { user: user.to_owned(), database: database.to_owned() };
                self.connections.insert(connection.to_owned(), known);
            }
            "Init DB" => {
                argument.clone_into(&mut self.connections.entry(connection.to_owned()).or_default().database);
            }
            "Quit" => {
                self.connections.remove(connection);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_with_and_without_a_time() {
        let exact = Some((1_795_990_868_561_176, true));
        for (line, time, connection, command, argument) in [
            ("2026-11-29T22:21:08.561176Z\t  109 Query\tSELECT 1,\n", exact, "109", "Query", "SELECT 1,\n"),
            ("\t\t   106 Init DB\ta", None, "106", "Init DB", "a"),
            ("261129 22:21:08\t   105 Quit\t", Some((1_795_990_868_000_000, false)), "105", "Quit", ""),
        ] {
            assert_eq!(parse_head(line), Some(Head { time, connection, command, argument }), "{line}");
        }
        for line in ["", " 'x'\tb", "\t\tx Query\ta", "\t\t 5 Ask\ta", "\t\t 5 Query", "Time\t 5 Query\ta"] {
            assert_eq!(parse_head(line), None, "{line}");
        }
    }
}
