//! PostgreSQL's logs at `log_min_duration_statement = 0`: three forms of one record.

pub mod csv;
pub mod json;
pub mod prefix;
pub mod stderr;

use std::collections::HashMap;

use super::clock::Clock;
use super::shape::{Syntax, take_apart};
use super::times::Moment;
use super::{Capture, CaptureError, Execution, Reason, Session};

/// Sessions and processes that are remembered.
const MOST_KNOWN: usize = 65_536;

/// A record of a log, whatever its form.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub moment: Moment,
    pub session: &'a str,
    pub process: Option<u32>,
    pub user: &'a str,
    pub database: &'a str,
    pub application: &'a str,
    /// What the process does, such as `BIND`; empty where the log does not say.
    pub step: &'a str,
    pub severity: &'a str,
    pub state: &'a str,
    pub message: &'a str,
    pub detail: &'a str,
    pub context: &'a str,
    /// The statement that an error comes of.
    pub statement: &'a str,
    /// Why a statement in it cannot be taken.
    pub damage: Option<Reason>,
}

impl<'a> Record<'a> {
    /// Gives the session that the record is of.
    fn session(&self) -> Session<'a> {
        Session { key: self.session, user: self.user, database: self.database, application: self.application }
    }
}

/// A statement that was logged when it began.
#[derive(Debug)]
struct Pending {
    text: String,
    parameters: Result<Vec<Option<String>>, Reason>,
    start_us: i64,
    user: String,
    database: String,
    application: String,
}

#[derive(Debug, Default)]
struct Live {
    pending: Option<Pending>,
    /// Time that the steps before the execution took.
    prepared_us: u64,
}

/// What has to be known of the records before.
#[derive(Debug, Default)]
pub struct Records {
    live: HashMap<String, Live>,
    /// The last two sessions of each process.
    processes: HashMap<u32, [String; 2]>,
    clock: Clock,
}

impl Records {
    /// Notes that the next record is the first of another file.
    pub fn begin_file(&mut self) {
        self.clock.begin_file();
    }

    /// Takes a record: adds the execution that it ends, or counts why it is none.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub fn take_record(&mut self, record: &Record<'_>, capture: &mut Capture) -> Result<(), CaptureError> {
        self.count_doubts(record, capture);
        let message = record.message;
        if let Some(rest) = message.strip_prefix("duration: ") {
            return self.take_timed(rest, record, capture);
        }
        if let Some(logged) = Logged::parse_message(message) {
            return self.take_begun(&logged, record, capture);
        }
        match record.severity {
            "ERROR" | "FATAL" | "PANIC" => return self.take_failed(record, capture),
            _ if message.starts_with("AUDIT: ") => capture.count_reason(Reason::Audited),
            _ if is_translated(record) => capture.count_reason(record.damage.unwrap_or(Reason::OtherLanguage)),
            _ => capture.count_reason(Reason::Message),
        }
        if message.starts_with("disconnection: ") {
            self.end_session(record.session, capture)?;
        }
        Ok(())
    }

    /// Ends all sessions: what they began is added without a duration.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub fn finish(&mut self, capture: &mut Capture) -> Result<(), CaptureError> {
        let mut sessions: Vec<String> = self.live.keys().cloned().collect();
        sessions.sort();
        sessions.iter().try_for_each(|session| self.end_session(session, capture))
    }

    /// Counts the reasons for which the record is doubtful.
    fn count_doubts(&mut self, record: &Record<'_>, capture: &mut Capture) {
        self.clock.take_time(record.moment.us, record.moment.has_fraction, capture);
        let Some(process) = record.process else { return };
        if self.processes.len() >= MOST_KNOWN && !self.processes.contains_key(&process) {
            self.processes.clear();
        }
        let [now, before] = self.processes.entry(process).or_default();
        if now != record.session {
            if before == record.session && !before.is_empty() {
                capture.count_reason(Reason::SessionsMixed);
            }
            *before = std::mem::replace(now, record.session.to_owned());
        }
    }

    /// Gives what is known of a session; all is ended first where there are too many.
    fn live_session(&mut self, session: &str, capture: &mut Capture) -> Result<&mut Live, CaptureError> {
        if self.live.len() >= MOST_KNOWN && !self.live.contains_key(session) {
            self.finish(capture)?;
        }
        Ok(self.live.entry(session.to_owned()).or_default())
    }

    /// Takes a record with a duration: adds the statement that it has, or that an earlier one has.
    fn take_timed(&mut self, rest: &str, record: &Record<'_>, capture: &mut Capture) -> Result<(), CaptureError> {
        let Some((duration_us, rest)) = parse_duration_us(rest) else {
            capture.count_reason(record.damage.unwrap_or(Reason::CutOff));
            return Ok(());
        };
        if rest.starts_with("plan:") {
            capture.count_reason(Reason::PlanLogged);
            return Ok(());
        }
        if rest.starts_with("parse ") || rest.starts_with("bind ") || matches!(record.step, "PARSE" | "BIND") {
            capture.count_reason(Reason::Preparation);
            let live = self.live_session(record.session, capture)?;
            live.prepared_us = live.prepared_us.saturating_add(duration_us);
            return Ok(());
        }
        let live = self.live.get_mut(record.session);
        let (pending, prepared_us) =
            live.map(|live| (live.pending.take(), std::mem::take(&mut live.prepared_us))).unwrap_or_default();
        let whole_us = duration_us.saturating_add(prepared_us);
        let start_us = record.moment.us.saturating_sub(i64::try_from(whole_us).unwrap_or(i64::MAX));
        if rest.is_empty() {
            let Some(pending) = pending else {
                capture.count_reason(Reason::DurationOnly);
                return Ok(());
            };
            capture.count_reason(Reason::DurationOfLogged);
            return add_pending(pending, record.session, Some(whole_us), capture);
        }
        if let Some(pending) = pending {
            add_pending(pending, record.session, None, capture)?;
        }
        let Some(logged) = Logged::parse_message(rest) else {
            capture.count_reason(record.damage.unwrap_or(Reason::CutOff));
            return Ok(());
        };
        let parameters = match logged.check_usable(record).and_then(|()| logged.parameters_from(record.detail)) {
            Ok(parameters) => parameters,
            Err(reason) => {
                capture.count_reason(reason);
                return Ok(());
            }
        };
        let (session, duration_us) = (record.session(), Some(whole_us));
        capture.add_execution(Execution {
            session,
            start_us,
            duration_us,
            text: logged.text,
            parameters,
            ..Execution::default()
        })
    }

    /// Keeps a statement that is logged when it begins until its duration comes.
    fn take_begun(
        &mut self,
        logged: &Logged<'_>,
        record: &Record<'_>,
        capture: &mut Capture,
    ) -> Result<(), CaptureError> {
        let live = self.live_session(record.session, capture)?;
        let before = live.pending.take();
        live.pending = Some(Pending {
            text: logged.text.to_owned(),
            parameters: logged.check_usable(record).and_then(|()| logged.parameters_from(record.detail)),
            start_us: record.moment.us,
            user: record.user.to_owned(),
            database: record.database.to_owned(),
            application: record.application.to_owned(),
        });
        before.map_or(Ok(()), |before| add_pending(before, record.session, None, capture))
    }

    /// Adds a statement that ended with an error, which has no duration.
    fn take_failed(&mut self, record: &Record<'_>, capture: &mut Capture) -> Result<(), CaptureError> {
        let live = self.live.get_mut(record.session);
        let pending = live.and_then(|live| {
            live.prepared_us = 0;
            live.pending.take_if(|pending| record.statement.is_empty() || pending.text == record.statement)
        });
        if let Some(pending) = pending {
            capture.count_reason(Reason::Message);
            let code = Some(record.state).filter(|state| !state.is_empty()).unwrap_or("ERROR");
            return add_failed(pending, (record.session, code), capture);
        }
        if record.statement.is_empty() {
            // A connection that was refused, or a process of the server itself.
            let is_of_server = record.severity != "ERROR" || record.user.is_empty();
            capture.count_reason(if is_of_server { Reason::Message } else { Reason::ErrorOnly });
            return Ok(());
        }
        let parameters = record.context.split_once("with parameters: ").map(|(_, values)| values);
        let logged = Logged { text: record.statement, how: How::Failed };
        let parameters = logged.check_usable(record).and_then(|()| logged.parse_values(parameters));
        let parameters = match parameters {
            Ok(parameters) => parameters,
            Err(reason) => {
                capture.count_reason(reason);
                return Ok(());
            }
        };
        let error = Some(if record.state.is_empty() { "ERROR" } else { record.state });
        let (session, start_us, text) = (record.session(), record.moment.us, record.statement);
        capture.add_execution(Execution { session, start_us, text, parameters, error, ..Execution::default() })
    }

    /// Ends a session: what it began is added without a duration.
    fn end_session(&mut self, session: &str, capture: &mut Capture) -> Result<(), CaptureError> {
        let pending = self.live.remove(session).and_then(|live| live.pending);
        pending.map_or(Ok(()), |pending| add_pending(pending, session, None, capture))
    }
}

/// Adds a statement that was begun, with its duration if that is known.
fn add_pending(
    pending: Pending,
    session: &str,
    duration_us: Option<u64>,
    capture: &mut Capture,
) -> Result<(), CaptureError> {
    add_ended(
        pending,
        Execution { session: Session { key: session, ..Session::default() }, duration_us, ..Execution::default() },
        capture,
    )
}

/// Adds a statement that failed.
fn add_failed(pending: Pending, (session, code): (&str, &str), capture: &mut Capture) -> Result<(), CaptureError> {
    let session = Session { key: session, ..Session::default() };
    add_ended(pending, Execution { session, error: Some(code), ..Execution::default() }, capture)
}

/// Adds a statement that was logged when it began, with what is known of its end.
fn add_ended(pending: Pending, end: Execution<'_>, capture: &mut Capture) -> Result<(), CaptureError> {
    let Pending { text, parameters, start_us, user, database, application } = pending;
    match parameters {
        Ok(parameters) => capture.add_execution(Execution {
            session: Session { key: end.session.key, user: &user, database: &database, application: &application },
            start_us,
            text: &text,
            parameters,
            ..end
        }),
        Err(reason) => {
            capture.count_reason(reason);
            Ok(())
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Without parameters of its own.
    Simple,
    /// Prepared, with values.
    Prepared,
    /// The rest of what a cursor gives.
    Fetch,
    FunctionCall,
    /// Known from an error alone.
    Failed,
}

/// A statement in a message.
struct Logged<'a> {
    text: &'a str,
    how: How,
}

impl<'a> Logged<'a> {
    /// Parses `statement: …`, `execute NAME: …`, `execute fetch from NAME: …` and `fastpath function call: …`.
    fn parse_message(message: &'a str) -> Option<Logged<'a>> {
        if let Some(text) = message.strip_prefix("statement: ") {
            return Some(Logged { text, how: How::Simple });
        }
        if message.starts_with("fastpath function call: ") {
            return Some(Logged { text: "", how: How::FunctionCall });
        }
        let named = message.strip_prefix("execute ")?;
        let (named, how) = match named.strip_prefix("fetch from ") {
            Some(named) => (named, How::Fetch),
            None => (named, How::Prepared),
        };
        named.split_once(": ").map(|(_, text)| Logged { text, how })
    }

    /// Fails with the reason why the statement cannot be taken, whatever its values are.
    ///
    /// # Errors
    ///
    /// That reason.
    ///
    /// # Errors
    /// The reason why it cannot be taken, whatever its values are.
    fn check_usable(&self, record: &Record<'_>) -> Result<(), Reason> {
        if let Some(damage) = record.damage {
            return Err(damage);
        }
        match self.how {
            How::Fetch => return Err(Reason::Fetch),
            How::FunctionCall => return Err(Reason::FunctionCall),
            How::Simple | How::Prepared | How::Failed => {}
        }
        let is_copy = self.text.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
        if is_copy && take_apart(self.text, Syntax::Standard).class.contains("from stdin") {
            return Err(Reason::CopyData);
        }
        Ok(())
    }

    /// Parses the parameters' values in the message's detail.
    fn parameters_from(&self, detail: &str) -> Result<Vec<Option<String>>, Reason> {
        let values = detail.strip_prefix("parameters: ").or_else(|| detail.strip_prefix("Parameters: "));
        self.parse_values(values)
    }

    /// Parses the parameters' values, as many as the statement has.
    ///
    /// # Errors
    /// Values are missing, or were cut.
    fn parse_values(&self, values: Option<&str>) -> Result<Vec<Option<String>>, Reason> {
        if self.how == How::Simple || !self.text.contains('$') {
            return Ok(Vec::new());
        }
        let taken = take_apart(self.text, Syntax::Standard);
        // The placeholders of `PREPARE` are its own.
        if taken.parameters == 0 || taken.first_word() == "PREPARE" {
            return Ok(Vec::new());
        }
        let values = read_values(values.ok_or(Reason::ValuesMissing)?).ok_or(Reason::ValuesMissing)?;
        if values.len() < taken.parameters {
            return Err(Reason::ValuesMissing);
        }
        if values.iter().flatten().any(|value| value.ends_with("...")) {
            return Err(Reason::ValueCut);
        }
        Ok(values)
    }
}

/// Parses values as the log has them: `$1 = 'it''s', $2 = NULL`.
fn read_values(text: &str) -> Option<Vec<Option<String>>> {
    let (mut values, mut rest) = (Vec::new(), text);
    loop {
        let name = format!("${} = ", values.len() + 1);
        rest = rest.strip_prefix(&name)?;
        if let Some(behind) = rest.strip_prefix("NULL") {
            values.push(None);
            rest = behind;
        } else {
            let quoted = rest.strip_prefix('\'')?;
            let mut end = 0;
            loop {
                end += quoted[end..].find('\'')?;
                if quoted.as_bytes().get(end + 1) != Some(&b'\'') {
                    break;
                }
                end += 2;
            }
            values.push(Some(quoted[..end].replace("''", "'")));
            rest = &quoted[end + 1..];
        }
        match rest.strip_prefix(", ") {
            Some(behind) => rest = behind,
            None => return rest.is_empty().then_some(values),
        }
    }
}

/// Parses `1.234 ms`, in microseconds, and gives what follows.
fn parse_duration_us(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text.split_once(" ms")?;
    let (whole, thousandths) = number.split_once('.')?;
    if thousandths.len() != 3 {
        return None;
    }
    let us = whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(thousandths.parse().ok()?)?;
    Some((us, rest.trim_start_matches(' ')))
}

/// Tests whether a text has nothing but digits.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells whether a record is a duration, or an error of a statement, in another language than English.
fn is_translated(record: &Record<'_>) -> bool {
    const FIRST_CHARS: usize = 60;
    const SEVERITIES: [&str; 6] = ["LOG", "INFO", "NOTICE", "WARNING", "DEBUG", "DEBUG1"];
    let is_known = SEVERITIES.contains(&record.severity) || record.severity.starts_with("DEBUG");
    if !is_known && !record.statement.is_empty() {
        return true;
    }
    let end = record.message.char_indices().nth(FIRST_CHARS).map_or(record.message.len(), |(at, _)| at);
    record.message[..end].split(' ').collect::<Vec<_>>().windows(2).any(|pair| {
        let is_number = pair[0]
            .split_once(['.', ','])
            .is_some_and(|(whole, thousandths)| is_digits(whole) && thousandths.len() == 3 && is_digits(thousandths));
        is_number && matches!(pair[1].trim_end_matches(','), "ms" | "мс" | "ミリ秒")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_quotes() {
        let values = read_values("$1 = 'it''s, $2 = ', $2 = NULL, $3 = ''").unwrap();
        assert_eq!(values, [Some("it's, $2 = ".to_owned()), None, Some(String::new())]);
        for wrong in ["", "$2 = '1'", "$1 = '1", "$1 = '1', ", "$1 = 'a'b"] {
            assert_eq!(read_values(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_are_in_milliseconds_with_three_decimals() {
        assert_eq!(parse_duration_us("12.345 ms  statement: x"), Some((12_345, "statement: x")));
        assert_eq!(parse_duration_us("0.001 ms"), Some((1, "")));
        assert_eq!(parse_duration_us("1.5 ms"), None);
        assert_eq!(parse_duration_us("99999999999999999999.000 ms"), None);
    }
}
