//! A capture as a plan's keys have it replayed: its classes by name, its sessions on as few connections as that takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use formats::capture::summary::{Class, Summary};
use formats::capture::{CaptureError, SavedCapture};
use model::near::did_you_mean;

use super::Keys;
use super::selection::{Selection, SkippedCounts};
use super::statements::Statements;
use crate::queries::statement_name;
use crate::texts::Texts;
use load::error::{Failure, FailureKind};

/// Each has a thread of its own.
const MOST_CONNECTIONS: usize = 2_000;
const US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * US;

/// Statements of a capture that differ in their values alone.
#[derive(Clone, Debug, Default)]
pub struct ReplayedClass {
    pub name: String,
    /// Executions that are replayed.
    pub executions: u64,
}

#[derive(Debug, Default)]
pub struct Source {
    pub path: String,
    /// The path with the keys that say which executions are replayed.
    pub chosen: String,
    pub selection: Selection,
    /// Those with executions that are replayed, those first that took most time in the capture.
    pub classes: Vec<ReplayedClass>,
    /// The position in `classes` by a class's number in the capture.
    pub class_index: HashMap<u64, usize>,
    /// The connection of each session by its number in the capture. Sessions of one connection follow one another.
    pub connection_of: HashMap<u64, usize>,
    pub connections: usize,
    pub captured: u64,
    /// Whether the capture says of each execution whether it failed.
    pub says_failures: bool,
    pub skipped: SkippedCounts,
    /// When the first execution began that is replayed, since 1970.
    pub first_us: i64,
    /// From there to the captured end of the last.
    pub span_us: i64,
}

/// Makes the failure of a capture that cannot be read.
pub fn unreadable_capture(error: &CaptureError) -> Failure {
    Failure::new(FailureKind::Plan, "read the capture", error)
}

/// Makes the failure of a capture that cannot be replayed as the plan asks.
fn refuse_capture(path: &str, cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Plan, format!("replay the capture `{path}`"), cause)
}

/// Names all classes of a capture, in the order of the summary.
pub fn class_names(classes: &[Class]) -> Vec<String> {
    let named = classes.iter().enumerate();
    named.map(|(at, class)| statement_name(&class.text, at + 1, classes.len())).collect()
}

impl Source {
    /// Reads a capture once to know it, and once for what is replayed of it.
    ///
    /// # Errors
    /// It is no capture, its values are replaced, a key asks for what is not in it, or nothing is left.
    pub fn read(keys: &Keys, texts: &Texts) -> Result<Source, Failure> {
        let path = keys.capture.as_str();
        let capture = SavedCapture::open(Path::new(path)).map_err(|error| refuse_capture(path, error))?;
        let fingerprint = capture.fingerprint().map_err(|error| unreadable_capture(&error))?;
        texts.note_fingerprint(path, &fingerprint).map_err(|error| refuse_capture(path, error))?;
        let summary = Summary::from_capture(&capture).map_err(|error| unreadable_capture(&error))?;
        if summary.is_redacted {
            return Err(refuse_capture(
                path,
                "its values were replaced by `--redact`, so its statements find other rows",
            )
            .with_hint("capture the log again without `--redact`"));
        }
        let names = class_names(&summary.classes);
        let selection = Selection {
            of_database: sessions_of_database(&capture, keys)?,
            classes: chosen_classes(keys, &names, &summary.classes)?,
            renamed: if keys.names == "url" { HashMap::new() } else { renamed_sessions(&capture)? },
            ..select_times(keys, summary.span_us.unwrap_or_default())?
        };
        let Keys { database, sessions, only, from, to, .. } = keys;
        let chosen = format!("{path} {database:?} {sessions:?} {only:?} {from:?} {to:?} {}", keys.names);
        let says_failures = summary.says_failures();
        let captured = summary.executions;
        let mut source =
            Source { path: path.to_owned(), chosen, selection, captured, says_failures, ..Source::default() };
        if let Some(most) = keys.sessions {
            source.selection.sessions = Some(pick_sessions(source.survey(&capture)?.sessions, most as usize));
        }
        let survey = source.survey(&capture)?;
        source.take_survey(survey, &summary, names)?;
        Ok(source)
    }

    /// Reads which classes and sessions of the capture are replayed, and counts the rest by reason.
    fn survey(&self, capture: &SavedCapture) -> Result<Survey, Failure> {
        let (mut survey, mut statements) = (Survey::default(), Statements::new(capture));
        let mut failed = Ok(());
        let read = capture.for_each(|one| match self.selection.choose(&one, &mut statements) {
            Err(failure) => failed = Err(failure),
            Ok(Err(reason)) => survey.skipped.add(reason),
            Ok(Ok(_)) => {
                *survey.classes.entry(one.class).or_default() += 1;
                let start_us = one.packed.start_us;
                let end_us = start_us.saturating_add_unsigned(one.packed.duration_us.unwrap_or(0));
                let span = survey.sessions.entry(one.packed.session).or_insert((start_us, end_us));
                *span = (span.0.min(start_us), span.1.max(end_us));
            }
        });
        read.map_err(|error| unreadable_capture(&error))?;
        failed.map(|()| survey)
    }

    /// Takes over what a survey found: classes, times and connections; fails if nothing is left, or too many sessions.
    fn take_survey(&mut self, survey: Survey, summary: &Summary, names: Vec<String>) -> Result<(), Failure> {
        for (class, name) in summary.classes.iter().zip(names) {
            if let Some(executions) = survey.classes.get(&class.id) {
                self.class_index.insert(class.id, self.classes.len());
                self.classes.push(ReplayedClass { name, executions: *executions });
            }
        }
        if self.classes.is_empty() {
            let left = survey.skipped.describe_counts().unwrap_or_default();
            return Err(refuse_capture(&self.path, format!("none of its statements is left to replay: {left}")));
        }
        self.first_us = survey.sessions.values().map(|span| span.0).min().unwrap_or_default();
        let last_us = survey.sessions.values().map(|span| span.1).max().unwrap_or_default();
        self.span_us = last_us.saturating_sub(self.first_us);
        self.skipped = survey.skipped;
        (self.connection_of, self.connections) = assign_connections(survey.sessions);
        if self.connections > MOST_CONNECTIONS {
            let cause = format!("{} sessions at a time are more than {MOST_CONNECTIONS}", self.connections);
            return Err(refuse_capture(&self.path, cause).with_hint("replay some of them: `sessions = 1000`"));
        }
        Ok(())
    }
}

/// Finds when each session first chose other tables or rights than those it began with.
fn renamed_sessions(capture: &SavedCapture) -> Result<HashMap<u64, i64>, Failure> {
    let (mut renamed, mut statements) = (HashMap::new(), Statements::new(capture));
    let mut failed = Ok(());
    let read = capture.for_each(|one| match statements.get(one.packed.statement) {
        Err(failure) => failed = Err(failure),
        Ok(statement) if statement.chooses_names(&one.packed) => {
            let first = renamed.entry(one.packed.session).or_insert(one.packed.start_us);
            *first = one.packed.start_us.min(*first);
        }
        Ok(_) => {}
    });
    read.map_err(|error| unreadable_capture(&error))?;
    failed.map(|()| renamed)
}

#[derive(Default)]
struct Survey {
    skipped: SkippedCounts,
    /// Executions by the class's number.
    classes: HashMap<u64, u64>,
    /// When each session began its first statement, and ended its last.
    sessions: HashMap<u64, (i64, i64)>,
}

/// Lists the sessions of the database that is replayed; `None` for all, where the capture has one database.
fn sessions_of_database(capture: &SavedCapture, keys: &Keys) -> Result<Option<HashSet<u64>>, Failure> {
    let databases = capture.read_databases().map_err(|error| unreadable_capture(&error))?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    databases.values().for_each(|name| *counts.entry(name).or_default() += 1);
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, sessions)| Reverse(*sessions));
    // Before a session has chosen a database, it is in none.
    let is_one = names.iter().filter(|(name, _)| !name.is_empty()).count() == 1;
    let only = names.iter().map(|(name, _)| *name).find(|name| is_one && !name.is_empty());
    let shown = names.iter().take(5).map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match keys.database.as_deref().or(only) {
        None if names.len() < 2 => Ok(None),
        None => {
            let cause = format!("it has sessions of {} databases: {}", names.len(), shown);
            let name = names.first().map_or("", |(name, _)| *name);
            Err(refuse_capture(&keys.capture, cause)
                .with_hint(format!("name the one to replay: `database = \"{name}\"`")))
        }
        Some(name) if names.iter().any(|(known, _)| *known == name) => {
            Ok(Some(databases.iter().filter(|(_, of)| *of == name).map(|(session, _)| *session).collect()))
        }
        Some(name) => {
            Err(refuse_capture(&keys.capture, format!("it has no session of the database `{name}`, but of {shown}")))
        }
    }
}

/// Lists the numbers of the classes that `only` names; `None` without that key.
fn chosen_classes(keys: &Keys, names: &[String], classes: &[Class]) -> Result<Option<HashSet<u64>>, Failure> {
    let Some(only) = &keys.only else { return Ok(None) };
    let mut found = HashSet::new();
    for name in only.split(',').map(str::trim) {
        let at = names.iter().position(|known| known == name).ok_or_else(|| {
            let names = names.iter().map(String::as_str);
            let hint = format!("`etalon show {}` lists them", keys.capture);
            refuse_capture(&keys.capture, format!("it has no class `{name}`"))
                .with_hint(did_you_mean(name, names).unwrap_or(hint))
        })?;
        found.insert(classes[at].id);
    }
    Ok(Some(found))
}

/// Reads the keys `from` and `to` as instants of the capture.
///
/// `from` is on the day of the first statement or, before the last one, on the next; `to` is behind it.
fn select_times(keys: &Keys, (first_us, last_us): (i64, i64)) -> Result<Selection, Failure> {
    let next_us = keys.from.as_ref().map(|text| time_of_key("from", text, first_us)).transpose()?;
    let from_us = next_us.map(|next_us| if next_us > last_us { next_us - DAY_US } else { next_us });
    let after_us = from_us.unwrap_or(first_us);
    let to_us = keys.to.as_ref().map(|text| time_of_key("to", text, after_us + 1)).transpose()?;
    Ok(Selection { from_us, to_us, ..Selection::default() })
}

/// Reads a key as the first instant with that time of day after another one.
fn time_of_key(key: &str, text: &str, after_us: i64) -> Result<i64, Failure> {
    time_after(text, after_us).ok_or_else(|| {
        let cause = format!("`{text}` is no time of day");
        Failure::new(FailureKind::Plan, format!("read the key `{key}`"), cause)
            .with_hint("write it as `10:00` or `10:00:30`")
    })
}

/// The first instant with a time of day, from an instant on; microseconds since 1970, `None` if it is no time.
fn time_after(text: &str, after_us: i64) -> Option<i64> {
    let parts: Vec<i64> = text.trim().split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    if !((0..24).contains(&hours) && (0..60).contains(&minutes) && (0..60).contains(&seconds)) {
        return None;
    }
    let found_us = after_us.div_euclid(DAY_US) * DAY_US + (hours * 3_600 + minutes * 60 + seconds) * US;
    Some(if found_us < after_us { found_us + DAY_US } else { found_us })
}

/// Picks at most `most` sessions, the same each time, spread over the capture.
fn pick_sessions(sessions: HashMap<u64, (i64, i64)>, most: usize) -> HashSet<u64> {
    let mut sessions: Vec<u64> = sessions.into_keys().collect();
    // Multiples of the golden ratio lie far from one another.
    sessions.sort_by_key(|session| session.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    sessions.into_iter().take(most).collect()
}

/// Gives each session a connection, which another one has again after its end; returns these and their number.
fn assign_connections(sessions: HashMap<u64, (i64, i64)>) -> (HashMap<u64, usize>, usize) {
    let mut by_start: Vec<(i64, u64, i64)> =
        sessions.into_iter().map(|(session, (start, end))| (start, session, end)).collect();
    by_start.sort_unstable();
    let mut ends: BTreeSet<(i64, usize)> = BTreeSet::new();
    let (mut of_session, mut count) = (HashMap::new(), 0);
    for (start, session, end) in by_start {
        let connection = match ends.first().copied().filter(|(ended, _)| *ended < start) {
            Some(free) => {
                ends.remove(&free);
                free.1
            }
            None => {
                count += 1;
                count - 1
            }
        };
        ends.insert((end, connection));
        of_session.insert(session, connection);
    }
    (of_session, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_share_a_connection_that_follow_one_another() {
        let spans = [(1, (0, 10)), (2, (5, 20)), (3, (11, 12)), (4, (21, 30)), (5, (25, 26))];
        let (of_session, count) = assign_connections(spans.into());
        assert_eq!(count, 2);
        assert_eq!(of_session[&1], of_session[&3]);
        assert_ne!(of_session[&1], of_session[&2]);
        assert_ne!(of_session[&4], of_session[&5]);
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        let ten = 10 * 3_600 * US;
        let day = DAY_US;
        assert_eq!(time_after("10:00", 5 * day), Some(5 * day + ten));
        assert_eq!(time_after("10:00:30", 5 * day + ten), Some(5 * day + ten + 30 * US));
        assert_eq!(time_after("10:00", 5 * day + ten), Some(5 * day + ten));
        assert_eq!(time_after("10:00", 5 * day + ten + 1), Some(6 * day + ten));
        let keys = |from: &str, to: &str| {
            let times = [("from", from), ("to", to)];
            let given = times.into_iter().filter(|(_, text)| !text.is_empty());
            let mut point: model::Point = [("capture".to_owned(), model::Value::Text("c".to_owned()))].into();
            point.extend(given.map(|(key, text)| (key.to_owned(), model::Value::Text(text.to_owned()))));
            Keys::read(&point).unwrap()
        };
        // From five seconds behind ten to half past ten.
        let span = (ten + 5 * US, ten + 1_800 * US);
        for (from, to, found) in [
            ("10:00", "10:05", (Some(ten), Some(ten + 300 * US))),
            ("10:10", "", (Some(ten + 600 * US), None)),
            ("", "10:05", (None, Some(ten + 300 * US))),
            ("23:00", "01:00", (Some(ten - 11 * 3_600 * US), Some(ten - 9 * 3_600 * US))),
        ] {
            let selection = select_times(&keys(from, to), span).unwrap();
            assert_eq!((selection.from_us, selection.to_us), found, "{from} {to}");
        }
        for wrong in ["10", "24:00", "10:60", "10:00:60", "a:b", "-1:00", ""] {
            assert_eq!(time_after(wrong, 0), None, "{wrong}");
        }
    }
}
