//! A control plane's connection and claim, despite leftovers of another étalon.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::claim::{Claim, ClaimError};

use crate::server::dialogue::Waiting;
use load::error::{Failure, FailureKind};

/// A killed étalon's sessions end a moment after it. Tests use one that does not.
const RIVAL_PATIENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };
const RIVAL_POLL: Duration = Duration::from_millis(200);

/// A kept connection, replaced when lost.
pub(crate) struct KeptConnection<C>(Mutex<Option<C>>);

impl<C> KeptConnection<C> {
    pub(crate) fn none() -> KeptConnection<C> {
        KeptConnection(Mutex::new(None))
    }

    fn lock(&self) -> MutexGuard<'_, Option<C>> {
        // A connection in use during a panic is in an unknown state.
        self.0.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut guard = poisoned.into_inner();
            *guard = None;
            guard
        })
    }

    /// Asks over the connection. If it was lost since its last use, reconnects and asks once more, so `question` must
    /// be repeatable.
    pub(crate) fn ask<T>(
        &self,
        connect: impl FnOnce() -> Result<C, Failure>,
        mut question: impl FnMut(&mut C) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut slot = self.lock();
        if let Some(connection) = slot.as_mut() {
            match question(connection) {
                Err(failure) if failure.kind == FailureKind::ConnectionLost => *slot = None,
                Err(failure) if failure.kind == FailureKind::Interrupted => {
                    // An answer is still to come.
                    *slot = None;
                    return Err(failure);
                }
                other => return other,
            }
        }
        let mut connection = connect()?;
        let answer = question(&mut connection);
        let is_unusable =
            |failure: &Failure| matches!(failure.kind, FailureKind::ConnectionLost | FailureKind::Interrupted);
        if !answer.as_ref().is_err_and(is_unusable) {
            *slot = Some(connection);
        }
        answer
    }

    /// Ends the connection after `close`; the next question makes a new one.
    pub(crate) fn end(&self, close: impl FnOnce(C)) {
        let mut slot = self.lock();
        if let Some(connection) = slot.take() {
            close(connection);
        }
    }
}

/// Retries a claim for as long as another étalon's leftovers may need to end. `attempt` breaks with the claim, or
/// continues with the error about the rival.
pub(crate) fn wait_for_release<T>(
    waiting: &Waiting,
    mut attempt: impl FnMut() -> Result<ControlFlow<T, Failure>, Failure>,
) -> Result<T, Failure> {
    let started = Instant::now();
    loop {
        match attempt()? {
            ControlFlow::Break(claim) => return Ok(claim),
            ControlFlow::Continue(rival) if started.elapsed() > RIVAL_PATIENCE || waiting.is_interrupted() => {
                return Err(rival);
            }
            ControlFlow::Continue(_) => thread::sleep(RIVAL_POLL),
        }
    }
}

/// Two processes that make and remove the same files would spoil each other's runs. A killed étalon's lock dies with
/// it.
pub(crate) fn claim_file(path: &Path) -> Result<Claim, Failure> {
    let tried = format!("claim {}", path.display());
    Claim::take(path).map_err(|error| match error {
        ClaimError::Taken(_) => Failure::new(FailureKind::NotOurs, tried, error)
            .hint("wait until it has ended, or name another file for one of the two"),
        ClaimError::NotOurs(_) => Failure::new(FailureKind::NotOurs, tried, error)
            .hint("étalon's lock would be there: move it away, or name another file"),
        ClaimError::Host(error) => Failure::new(error.kind().into(), tried, error),
    })
}
