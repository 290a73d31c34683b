//! Questions over whole tables, asked by several sessions at a time.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::system::{ClientOf, DatabaseClaim as _, Purpose, Server, ServerSystem, Settings as _, query_scalar};
use load::error::{Failure, FailureKind};
use workloads::system::System as _;

/// More sessions would wait for each other's pages and log.
const MOST_SESSIONS: usize = 8;

/// Returns how many sessions to divide this number of pieces of work among.
pub(crate) fn sessions_for(pieces: usize) -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(MOST_SESSIONS).min(pieces)
}

/// Runs queries by several sessions, and returns their whole numbers in the queries' order.
/// Étalon's own session asks, too, and alone where the account may have no other.
///
/// # Errors
/// The first failure in the order of the questions; none is asked once the user wants to stop.
pub(crate) fn scalars_in_parallel<S: Server>(
    system: &ServerSystem<S>,
    questions: &[String],
) -> Result<Vec<i64>, Failure> {
    let asked = Asked { questions, next: AtomicUsize::new(0), answers: Mutex::new(vec![None; questions.len()]) };
    thread::scope(|scope| {
        for _ in 1..sessions_for(questions.len()) {
            scope.spawn(|| {
                let Ok(mut client) = open_extra_session(system) else { return };
                asked.work_off(system, |sql| {
                    query_scalar::<S>(&mut client, sql).map_err(|failure| system.explain_failure(failure))
                });
                client.close_and_wait();
            });
        }
        asked.work_off(system, |sql| system.scalar(sql));
    });
    let answers = asked.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(interrupted_failure()))).collect()
}

/// Opens another session with the limits of étalon's own.
fn open_extra_session<S: Server>(system: &ServerSystem<S>) -> Result<ClientOf<S>, Failure> {
    let mut client = system.session.open_session(&system.endpoint, Purpose::Control)?;
    S::Claim::set_limits(&mut client).map_err(super::refusal::failing_to("set up a session of étalon's own"))?;
    Ok(client)
}

struct Asked<'a> {
    questions: &'a [String],
    next: AtomicUsize,
    answers: Mutex<Vec<Option<Result<i64, Failure>>>>,
}

impl Asked<'_> {
    /// Asks the next questions in turn until there are none left, one fails or the user stops it.
    fn work_off<S: Server>(&self, system: &ServerSystem<S>, mut ask: impl FnMut(&str) -> Result<i64, Failure>) {
        while !system.interrupt.load(Ordering::Relaxed) {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = self.questions.get(place) else { return };
            let answer = ask(question);
            if answer.is_err() {
                self.next.store(self.questions.len(), Ordering::Relaxed);
            }
            self.answers.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(answer);
        }
    }
}

/// Makes the failure that the questions were interrupted.
fn interrupted_failure() -> Failure {
    Failure::new(FailureKind::Other, "ask the tables", "it was interrupted")
}
