//! A query asked by several clients at the same time, run after run.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crate::session::Session;
use load::datum::Datum;
use load::error::Failure;

pub(crate) struct TimedQuery {
    /// From the first client's question to the last one's answer, in seconds.
    pub(crate) elapsed_s: f64,
    pub(crate) answers: Vec<Result<Vec<Vec<Datum>>, Failure>>,
}

#[derive(Clone, Copy)]
pub(crate) struct QueryText<'a> {
    pub(crate) sql: &'a str,
    pub(crate) around: (&'a str, &'a str),
}

/// One client's answer, with the instants between which it was made.
struct Answer {
    rows: Result<Vec<Vec<Datum>>, Failure>,
    from: Instant,
    to: Instant,
}

impl QueryText<'_> {
    /// Asks it once by every session at the same time.
    pub(crate) fn run(self, sessions: &mut [Box<dyn Session>]) -> TimedQuery {
        let answers: Vec<Answer> = match sessions {
            [one] => vec![self.ask(&mut **one, || ())],
            several => {
                let start = Barrier::new(several.len());
                let ask = |session: &mut Box<dyn Session>| {
                    self.ask(&mut **session, || {
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
            answers: answers.into_iter().map(|answer| answer.rows).collect(),
        }
    }

    /// Asks it by one session; `wait` stands between the preparation and the clock.
    fn ask(self, session: &mut dyn Session, wait: impl FnOnce()) -> Answer {
        let (before, after) = self.around;
        let prepared = if before.is_empty() { Ok(()) } else { session.execute(before) };
        wait();
        let from = Instant::now();
        let rows = session.query(self.sql);
        let to = Instant::now();
        let ended = if after.is_empty() { Ok(()) } else { session.execute(after) };
        Answer { rows: prepared.and(rows).and_then(|rows| ended.map(|()| rows)), from, to }
    }
}
