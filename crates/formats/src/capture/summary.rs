//! What a capture holds, without a value.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;

use super::counts::{Count, Group, Reason};
use super::{CaptureError, SavedCapture};

/// Most steps of the rate over time.
const MOST_STEPS: i64 = 24;
/// Steps of the rate, seconds, from which the shortest is taken that gives no more than [`MOST_STEPS`].
const STEPS_S: [i64; 12] = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400];

/// Statements that differ in their values alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Class {
    /// Its number in the file.
    pub id: u64,
    pub kind: String,
    pub text: String,
    pub executions: u64,
    pub errors: u64,
    /// Executions that have a duration.
    pub timed: u64,
    pub total_us: u64,
}

/// A part of the time that the capture covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Since 1970.
    pub begin_us: i64,
    pub executions: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub source: String,
    pub is_redacted: bool,
    pub sessions: u64,
    pub executions: u64,
    pub without_duration: u64,
    /// When the first and the last statement began, since 1970.
    pub span_us: Option<(i64, i64)>,
    pub step_s: i64,
    pub steps: Vec<Step>,
    /// Those that took most time first.
    pub classes: Vec<Class>,
    /// Errors by their code.
    pub errors: Vec<(String, u64)>,
    pub counts: Vec<Count>,
}

impl Summary {
    /// Sums a capture up.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn from_capture(capture: &SavedCapture) -> Result<Summary, CaptureError> {
        summarise(capture).map_err(|error| match error {
            CaptureError::Database(_) => CaptureError::Damaged,
            other => other,
        })
    }

    /// Sums the counts of a group's reasons.
    pub fn sum_of_group(&self, group: Group) -> u64 {
        self.counts.iter().filter(|counted| counted.reason.group() == group).map(|counted| counted.count).sum()
    }

    /// Number of a class's executions that failed; `None` if the log does not say.
    pub fn failed_count(&self, class: &Class) -> Option<u64> {
        (class.errors > 0 || self.says_failures()).then_some(class.errors)
    }

    /// Whether the log says of each execution whether it failed.
    pub fn says_failures(&self) -> bool {
        self.counts.iter().all(|counted| counted.reason != Reason::ErrorUnknown)
    }

    /// Sums the time of all executions.
    pub fn total_us(&self) -> u64 {
        self.classes.iter().map(|class| class.total_us).sum()
    }
}

/// Runs a query whose only row is a number.
fn query_number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// Sums a capture up by classes of statements, steps of time and errors.
fn summarise(capture: &SavedCapture) -> Result<Summary, CaptureError> {
    let connection = &capture.connection;
    let span = connection.query_row("SELECT min(first_us), max(last_us) FROM executions", [], |row| {
        Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
    })?;
    let (first, last) = span.unwrap_or_default();
    let length_s = last.saturating_sub(first) / 1_000_000;
    let step_s = STEPS_S.into_iter().find(|step| length_s / step < MOST_STEPS).unwrap_or(length_s / MOST_STEPS + 1);
    let mut summary = Summary {
        source: connection.query_row("SELECT value FROM meta WHERE key = 'source'", [], |row| row.get(0))?,
        is_redacted: query_number(connection, "SELECT value FROM meta WHERE key = 'is_redacted'")? != 0,
        sessions: query_number(connection, "SELECT count(*) FROM sessions")?.cast_unsigned(),
        span_us: span,
        step_s,
        counts: stored_counts(capture)?,
        ..Summary::default()
    };
    let (mut classes, mut steps, mut errors) =
        (HashMap::<u64, Class>::new(), BTreeMap::<i64, u64>::new(), BTreeMap::<u64, u64>::new());
    capture.for_each(|one| {
        let class = classes.entry(one.class).or_default();
        class.executions += 1;
        class.errors += u64::from(one.packed.error > 0);
        class.timed += u64::from(one.packed.duration_us.is_some());
        class.total_us = class.total_us.saturating_add(one.packed.duration_us.unwrap_or(0));
        summary.executions += 1;
        summary.without_duration += u64::from(one.packed.duration_us.is_none());
        let step = one.packed.start_us.saturating_sub(first) / (step_s * 1_000_000);
        *steps.entry(step.clamp(0, MOST_STEPS)).or_default() += 1;
        if one.packed.error > 0 {
            *errors.entry(one.packed.error).or_default() += 1;
        }
    })?;
    let last_step = steps.last_key_value().map_or(-1, |(step, _)| *step);
    summary.steps = (0..=last_step)
        .map(|step| Step {
            begin_us: first.saturating_add(step * step_s * 1_000_000),
            executions: steps.get(&step).copied().unwrap_or(0),
        })
        .collect();
    for (id, mut class) in classes {
        let text = "SELECT kind, text FROM classes WHERE id = ?1";
        let row = connection.query_row(text, [id.cast_signed()], |row| Ok((row.get(0)?, row.get(1)?)));
        (class.kind, class.text) = row?;
        class.id = id;
        summary.classes.push(class);
    }
    summary.classes.sort_by(|one, other| {
        (other.total_us, other.executions, &one.text).cmp(&(one.total_us, one.executions, &other.text))
    });
    for (id, count) in errors {
        let code =
            connection.query_row("SELECT code FROM errors WHERE id = ?1", [id.cast_signed()], |row| row.get(0))?;
        summary.errors.push((code, count));
    }
    summary.errors.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
    Ok(summary)
}

/// Reads the counts that the capture holds.
fn stored_counts(capture: &SavedCapture) -> Result<Vec<Count>, CaptureError> {
    let mut found = Vec::new();
    for reason in Reason::ALL {
        let mut count = capture.connection.prepare_cached("SELECT count FROM counts WHERE reason = ?1")?;
        let mut rows = count.query([reason.code()])?;
        if let Some(row) = rows.next()? {
            found.push(Count { reason: *reason, count: row.get::<_, i64>(0)?.cast_unsigned() });
        }
    }
    Ok(found)
}
