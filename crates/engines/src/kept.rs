//! A control plane's connection and claim, despite leftovers of another étalon.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use host::claim::{ClaimError, FileClaim};

use crate::server::dialogue::Waiting;
use load::error::{Failure, FailureKind};

/// A killed étalon's sessions end a moment after it. Tests use one that does not.
const RIVAL_TIMEOUT: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };
const RIVAL_POLL: Duration = Duration::from_millis(200);
/// How often an idle claim's session says something: proxies, address translation and servers end sessions that are silent.
const BEAT: Duration = if cfg!(test) { Duration::from_millis(100) } else { Duration::from_secs(1) };
/// How long a claim may be missing before the tables count as another étalon's, and how long an étalon waits before it touches what
/// another one left.
pub(crate) const FENCE: Duration = if cfg!(test) { Duration::from_secs(1) } else { Duration::from_secs(3) };

/// Returns this process's random number, by which its sessions and claims are known among a server's users.
/// Several systems of a plan may be one server with other settings or paths, so a claim is the process's.
pub(crate) fn process_claim_key() -> i32 {
    static KEY: OnceLock<i32> = OnceLock::new();
    *KEY.get_or_init(|| (RandomState::new().build_hasher().finish() >> 33) as i32)
}

/// What to do about another étalon's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rivals {
    /// It may be that of a killed one, whose session is about to end.
    AwaitEnd,
    /// A claim was lost: the other étalon has started meanwhile.
    RefuseAtOnce,
}

/// A session that holds a claim.
pub(crate) trait Holder: Send + 'static {
    /// Sends the least that the server answers.
    ///
    /// # Errors
    /// The session has ended.
    fn ping(&mut self) -> Result<(), Failure>;
}

/// What becomes of an idle session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    KeptAlive,
    /// The server is étalon's own, or no claim hangs on the session.
    Left,
}

/// A kept connection with a claim, replaced when lost. A thread notices within [`BEAT`] that it was lost, and takes the claim
/// again.
pub(crate) struct KeptClaim<C: Holder> {
    shared: Arc<Shared<C>>,
}

struct Shared<C> {
    connect: Box<dyn Fn(Rivals) -> Result<C, Failure> + Send + Sync>,
    idle: Idle,
    slot: Mutex<Slot<C>>,
    /// How the claim was lost since [`KeptClaim::forget_loss`].
    loss: Mutex<Option<Failure>>,
}

struct Slot<C> {
    held: Option<C>,
    /// Last instant at which the claim was known to be valid. `None`: it was never taken, or was given up.
    known: Option<Instant>,
    is_watched: bool,
}

impl<C: Holder> KeptClaim<C> {
    /// Makes a claim that is not taken yet; `connect` makes the session and takes it.
    pub(crate) fn new(
        idle: Idle,
        connect: impl Fn(Rivals) -> Result<C, Failure> + Send + Sync + 'static,
    ) -> KeptClaim<C> {
        let slot = Mutex::new(Slot { held: None, known: None, is_watched: false });
        KeptClaim { shared: Arc::new(Shared { connect: Box::new(connect), idle, slot, loss: Mutex::new(None) }) }
    }

    /// Asks `question` over the connection, made if needed; asks once more over a new one if it was lost.
    /// `question` must be repeatable.
    pub(crate) fn ask_connection<T>(
        &self,
        mut question: impl FnMut(&mut C) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut slot = self.shared.lock();
        if let Some(connection) = slot.held.as_mut() {
            match question(connection) {
                Err(failure) if failure.kind == FailureKind::ConnectionLost => slot.held = None,
                Err(failure) if failure.kind == FailureKind::Interrupted => {
                    // An answer is still to come.
                    slot.held = None;
                    return Err(failure);
                }
                other => {
                    slot.known = Some(Instant::now());
                    return other;
                }
            }
        }
        self.shared.reconnect(&mut slot, Rivals::AwaitEnd)?;
        self.shared.start_heartbeat(&mut slot);
        let Some(connection) = slot.held.as_mut() else {
            return Err(Failure::new(FailureKind::ConnectionLost, "use a session", "it is closed"));
        };
        let answer = question(connection);
        let is_unusable =
            |failure: &Failure| matches!(failure.kind, FailureKind::ConnectionLost | FailureKind::Interrupted);
        if answer.as_ref().is_err_and(is_unusable) {
            slot.held = None;
        }
        answer
    }

    /// Ends the connection after `close`; the next question makes a new one.
    pub(crate) fn end_connection(&self, close: impl FnOnce(C)) {
        let mut slot = self.shared.lock();
        slot.known = None;
        if let Some(connection) = slot.held.take() {
            close(connection);
        }
    }

    /// Returns how the claim was lost since [`KeptClaim::forget_loss`]: another étalon may have used the tables.
    pub(crate) fn claim_loss_so_far(&self) -> Option<Failure> {
        lock_mutex(&self.shared.loss).clone()
    }

    /// Forgets how the claim was lost, and returns it.
    pub(crate) fn forget_loss(&self) -> Option<Failure> {
        lock_mutex(&self.shared.loss).take()
    }
}

impl<C: Holder> Shared<C> {
    /// Locks the connection's slot, and empties it if its last user panicked.
    fn lock(&self) -> MutexGuard<'_, Slot<C>> {
        // A connection in use during a panic is in an unknown state.
        self.slot.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut guard = poisoned.into_inner();
            guard.held = None;
            guard
        })
    }

    /// Connects again and takes the claim; notes that the claim was lost if it was missing for too long.
    fn reconnect(&self, slot: &mut Slot<C>, rivals: Rivals) -> Result<(), Failure> {
        let held = (self.connect)(rivals);
        let missing = slot.known.map(|known| known.elapsed()).filter(|missing| *missing > FENCE);
        if let (Some(missing), Idle::KeptAlive) = (missing, self.idle) {
            let cause =
                format!("it was lost for {:.1} s, and another étalon may have used them", missing.as_secs_f64());
            lock_mutex(&self.loss).get_or_insert(Failure::new(FailureKind::ConnectionLost, TRIED, cause));
        }
        match held {
            Ok(held) => {
                slot.held = Some(held);
                slot.known = Some(Instant::now());
                Ok(())
            }
            Err(failure) => {
                if slot.known.is_some() && failure.kind == FailureKind::NotOurs {
                    *lock_mutex(&self.loss) = Some(failure.clone());
                }
                Err(failure)
            }
        }
    }

    /// Starts the thread that keeps an idle session alive, once.
    fn start_heartbeat(self: &Arc<Self>, slot: &mut Slot<C>) {
        if self.idle == Idle::KeptAlive && !slot.is_watched {
            let weak = Arc::downgrade(self);
            // Without a thread the claim is as good as its session.
            slot.is_watched =
                thread::Builder::new().name("claim".to_owned()).spawn(move || run_heartbeat(&weak)).is_ok();
        }
    }

    /// Pings the session unless it is in use, and connects again if it is lost.
    fn ping_if_idle(&self) {
        // In use, it is alive.
        let Ok(mut slot) = self.slot.try_lock() else { return };
        match slot.held.as_mut().map(Holder::ping) {
            Some(Ok(())) => {
                slot.known = Some(Instant::now());
                return;
            }
            Some(Err(_)) => slot.held = None,
            None if slot.known.is_none() => return,
            None => {}
        }
        // Where it cannot be had now, the next beat tries again.
        let _ = self.reconnect(&mut slot, Rivals::RefuseAtOnce);
    }
}

const TRIED: &str = "keep the claim on étalon's tables";

/// Pings a shared session at intervals until no one holds it.
fn run_heartbeat<C: Holder>(shared: &Weak<Shared<C>>) {
    loop {
        thread::sleep(BEAT);
        let Some(shared) = shared.upgrade() else { return };
        shared.ping_if_idle();
    }
}

/// Locks a mutex, a poisoned one too.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries to claim until it succeeds, or until another étalon's leftovers should have ended.
/// `attempt` breaks with the claim, or continues with the error about the rival.
pub(crate) fn wait_for_release<T>(
    rivals: Rivals,
    waiting: &Waiting,
    mut attempt: impl FnMut() -> Result<ControlFlow<T, Failure>, Failure>,
) -> Result<T, Failure> {
    let started = Instant::now();
    loop {
        match attempt()? {
            ControlFlow::Break(claim) => return Ok(claim),
            ControlFlow::Continue(rival)
                if rivals == Rivals::RefuseAtOnce || waiting.is_interrupted() || started.elapsed() > RIVAL_TIMEOUT =>
            {
                return Err(rival);
            }
            ControlFlow::Continue(_) => thread::sleep(RIVAL_POLL),
        }
    }
}

/// Claims a file for this étalon; fails if another étalon has it, or the claim cannot be made.
/// Two processes that make and remove the same files would spoil each other's runs. A killed étalon's lock dies with it.
pub(crate) fn claim_file(path: &Path) -> Result<FileClaim, Failure> {
    let tried = format!("claim {}", path.display());
    FileClaim::claim(path).map_err(|error| match error {
        ClaimError::Taken(_) => Failure::new(FailureKind::NotOurs, tried, error)
            .with_hint("wait until it has ended, or name another file for one of the two"),
        ClaimError::NotOurs(_) => Failure::new(FailureKind::NotOurs, tried, error)
            .with_hint("étalon's lock would be there: move it away, or name another file"),
        ClaimError::Host(error) => Failure::new(error.kind().into(), tried, error),
    })
}
