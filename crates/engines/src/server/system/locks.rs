//! Which of a load's sessions wait for locks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{ClientOf, Server, ServerSystem};
use crate::server::dialogue::first_row;
use crate::server::parse_whole_number;
use crate::server::refusal::ask_failure;
use load::error::{Failure, FailureKind};
use load::lock_watch::LockWaiters;

/// How long the answer to a sample within a run is waited for.
const LONGEST_SAMPLE: Duration = Duration::from_secs(5);

impl<S: Server> ServerSystem<S> {
    /// Counts sessions that wait for locks, by the first of the server's queries that the login may run.
    pub(super) fn sample_locks(&self) -> Result<Option<LockWaiters>, Failure> {
        loop {
            let question = self.lock_question.load(Ordering::Relaxed);
            let Some(sql) = self.server.lock_waiter_queries().get(question) else { return Ok(None) };
            match self.ask_for_locks(sql) {
                Err(failure) if failure.kind == FailureKind::Permission => {
                    self.lock_question.store(question + 1, Ordering::Relaxed);
                }
                waiters => return waiters.map(Some),
            }
        }
    }

    /// Runs a query for sessions that wait for locks, with a limit of time.
    fn ask_for_locks(&self, sql: &str) -> Result<LockWaiters, Failure> {
        // A load waits for this question at its end, and a server that has frozen does not answer it.
        self.ask(|client| {
            client.limit_time(LONGEST_SAMPLE);
            let waiters = read_lock_waiters::<S>(client, sql);
            client.lift_limit();
            waiters.map_err(|failure| match failure.kind {
                FailureKind::ConnectionLost => Failure { kind: FailureKind::Interrupted, ..failure },
                _ => failure,
            })
        })
    }
}

/// Reads from the answer to `sql` how many sessions wait for rows, and whether others hold them up.
fn read_lock_waiters<S: Server>(client: &mut ClientOf<S>, sql: &str) -> Result<LockWaiters, Failure> {
    let tried = "see which sessions wait for locks";
    let row = first_row(client.query_text_rows(sql).map_err(|error| ask_failure(tried, &error))?);
    let number = |column: usize| match row.get(column) {
        Some(Some(text)) => parse_whole_number(text, tried),
        _ => Ok(0),
    };
    let count = |column: usize| number(column).map(|number| u64::try_from(number).unwrap_or(0));
    Ok(LockWaiters { for_rows: count(0)?, behind_others: number(1)? > 0, others_at_work: count(2)? })
}
