//! A query asked by several clients at the same time, run after run, and what is measured of it if its answer is right.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use model::{Absence, Direction, Measurement, NoValue, Reading, Role};

use crate::rows::Rows;
use crate::session::{Session, running_words};
use load::error::{Failure, FailureKind};
use load::rng::Rng;

/// Whether its answers were right; else what was expected, and what came, or why none did.
pub(crate) type AnswerCheck = Result<(), NoValue>;

pub(crate) struct TimedQuery {
    /// From the first client's question to the last one's answer, in seconds.
    pub(crate) elapsed_s: f64,
    /// To the last client's first row; `None` if one has none.
    pub(crate) first_row_s: Option<f64>,
    pub(crate) answers: Vec<Result<Rows, Failure>>,
}

#[derive(Clone, Copy)]
pub(crate) struct QueryText<'a> {
    pub(crate) sql: &'a str,
    pub(crate) around: (&'a str, &'a str),
    /// The engine ends it after this time.
    pub(crate) limit: Option<TimeLimit>,
}

#[derive(Clone, Copy)]
pub(crate) struct TimeLimit {
    /// The limit for all statements of a file together.
    pub(crate) whole: Duration,
    /// What the statements before this one have left of it.
    pub(crate) left: Duration,
}

/// One client's answer, with the instants between which it was made.
pub(crate) struct Answer {
    pub(crate) rows: Result<Rows, Failure>,
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

impl QueryText<'_> {
    /// Asks the query once by every session at the same time; returns the time and all answers.
    pub(crate) fn run_at_once(self, sessions: &mut [Box<dyn Session>]) -> TimedQuery {
        let answers: Vec<Answer> = match sessions {
            [one] => vec![self.ask_once(&mut **one, || ())],
            several => {
                let start = Barrier::new(several.len());
                let ask = |session: &mut Box<dyn Session>| {
                    self.ask_once(&mut **session, || {
                        start.wait();
                    })
                };
                thread::scope(|scope| {
                    let ask = &ask;
                    let handles: Vec<_> = several.iter_mut().map(|session| scope.spawn(move || ask(session))).collect();
                    handles
                        .into_iter()
                        .map(|handle| match handle.join() {
                            Ok(answer) => answer,
                            Err(panic) => std::panic::resume_unwind(panic),
                        })
                        .collect()
                })
            }
        };
        let from = answers.iter().map(|answer| answer.from).min();
        let to = answers.iter().map(|answer| answer.to).max();
        let elapsed = from.zip(to).map(|(from, to)| to - from).unwrap_or_default();
        TimedQuery {
            elapsed_s: elapsed.as_secs_f64(),
            first_row_s: from.and_then(|from| first_row_s(&answers, from)),
            answers: answers.into_iter().map(|answer| answer.rows).collect(),
        }
    }

    /// Asks the query by one session, and times it; `wait` runs between the preparation and the clock.
    pub(crate) fn ask_once(self, session: &mut dyn Session, wait: impl FnOnce()) -> Answer {
        let (before, after) = self.around;
        let begun = if before.is_empty() { Ok(()) } else { session.execute(before) };
        let prepared = begun.and_then(|()| self.limit.map_or(Ok(()), |limit| session.limit_queries(Some(limit.left))));
        wait();
        let from = Instant::now();
        let rows = prepared
            .and_then(|()| session.query_answer(self.sql))
            .and_then(|rows| rows.require_whole(|| running_words(self.sql)));
        let to = Instant::now();
        let ended = if after.is_empty() { Ok(()) } else { session.execute(after) };
        let ended = if self.limit.is_some() { ended.and(session.limit_queries(None)) } else { ended };
        let rows = rows.map_err(|failure| self.explain_timeout(failure, to - from));
        Answer { rows: rows.and_then(|rows| ended.map(|()| rows)), from, to }
    }

    /// Adds to a failure that the query was ended by its timeout, if it took that long.
    fn explain_timeout(self, failure: Failure, elapsed: Duration) -> Failure {
        let Some(limit) = self.limit.filter(|limit| elapsed >= limit.left) else { return failure };
        if failure.kind == FailureKind::ConnectionLost {
            return failure;
        }
        let cause = format!(
            "it took longer than its timeout, {}: {}",
            model::duration::spaced_text(limit.whole),
            failure.cause
        );
        Failure { kind: FailureKind::Other, cause, ..failure }
    }
}

/// Seconds to the last client's first row; `None` if one has none.
fn first_row_s(answers: &[Answer], from: Instant) -> Option<f64> {
    let mut last_s = 0.0_f64;
    for answer in answers {
        last_s = last_s.max((answer.rows.as_ref().ok()?.first_row_at()? - from).as_secs_f64());
    }
    Some(last_s)
}

/// Shuffles the indexes of the queries for a run.
///
/// The order differs by round, so that no query always profits from the one before it.
pub(crate) fn shuffled_order(queries: usize, seed: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed);
    let mut order: Vec<usize> = (0..queries).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, rng.int_between(0, last as i64) as usize);
    }
    order
}

/// Reads why a query that failed has no figure; fails if the system failed, and not the query.
pub(crate) fn absence_of_failure(failure: Failure) -> Result<NoValue, Failure> {
    match failure.kind {
        FailureKind::Unreachable | FailureKind::ConnectionLost | FailureKind::DiskFull | FailureKind::Login => {
            Err(failure)
        }
        FailureKind::Unsupported | FailureKind::Missing => Ok(Absence::Unsupported.with_reason(failure.cause)),
        // Such as a timeout, or too little memory.
        _ => Ok(Absence::Failed.with_reason(failure.cause)),
    }
}

/// Makes a diagnostic measurement of a count.
pub(crate) fn count_measurement(id: &str, count: f64) -> Measurement {
    Measurement::value(id, "", Direction::Neither, Role::Diagnostic, count)
}

/// Makes a measurement in milliseconds of a reading in seconds.
pub(crate) fn milliseconds_measurement(id: &str, role: Role, seconds: Reading) -> Measurement {
    let reading = match seconds {
        Reading::Value(seconds) => Reading::Value(seconds * 1e3),
        unavailable => unavailable,
    };
    Measurement::new(id, "ms", Direction::Lower, role, reading)
}

/// Mean of the executions' seconds; unavailable without executions.
pub(crate) fn mean_s(executions_s: &[f64]) -> Reading {
    match executions_s.len() {
        0 => Reading::unavailable("it was not run"),
        executions => Reading::Value(executions_s.iter().sum::<f64>() / executions as f64),
    }
}

/// Sum of all queries' readings; unavailable if any is, since it would compare with nothing.
pub(crate) fn total_reading<'a>(names: impl Iterator<Item = &'a str>, readings: &[Reading]) -> Reading {
    let mut sum = 0.0;
    for (name, reading) in names.zip(readings) {
        match reading {
            Reading::Value(value) => sum += value,
            Reading::Unavailable(reason) => return Reading::unavailable(format!("no total without {name}, {reason}")),
        }
    }
    Reading::Value(sum)
}

/// Passes on a figure if its answer is right, else the reason why it is not.
pub(crate) fn only_if_right(check: &AnswerCheck, reading: Reading) -> Reading {
    check.as_ref().map_or_else(|missing| Reading::Unavailable(missing.clone()), |()| reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_fails_the_run_and_a_refused_query_does_not() {
        assert!(absence_of_failure(failure(FailureKind::ConnectionLost)).is_err());
        assert_eq!(absence_of_failure(failure(FailureKind::Unsupported)), Ok(Absence::Unsupported.with_reason("why")));
        assert_eq!(absence_of_failure(failure(FailureKind::Other)), Ok(Absence::Failed.with_reason("why")));
    }

    fn failure(kind: FailureKind) -> Failure {
        Failure::new(kind, "ask", "why")
    }

    #[test]
    fn every_round_has_an_order_of_its_own_that_its_systems_share() {
        assert_eq!(shuffled_order(15, 5), shuffled_order(15, 5));
        assert_ne!(shuffled_order(15, 5), shuffled_order(15, 6));
        let mut sorted = shuffled_order(15, 7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..15).collect::<Vec<_>>());
    }
}
