//! One conductor's hold on the agent: its lease, the systems that it opened, its jobs.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use conductor::site::Here;
use host::watch::Watch;
use load::error::{Failure, FailureKind};
use model::SystemPlan;
use workloads::system::{Part, System};

use super::job::{Job, Waits};
use super::{Shared, work};
use crate::protocol::Request;
use crate::texts::TextCache;

/// Answers kept for conductors that lost one.
const KEPT_JOBS: usize = 64;
/// Time for a load to end once stopped.
const ENDING_TIMEOUT: Duration = Duration::from_secs(10);
/// A dead conductor is not waited for long.
const LEASE_LIMITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

pub(super) struct Opened {
    pub(super) system: Arc<dyn System>,
    pub(super) plan: SystemPlan,
    pub(super) here: Here,
    pub(super) part: Part,
    /// Ends its long works, of whichever job.
    pub(super) interrupt: Arc<AtomicBool>,
    /// The reason why it is silent.
    pub(super) waits: Waits,
    /// The watch over its machine while other hosts load it.
    pub(super) watch: Mutex<Option<Watch>>,
}

/// One may be open as a whole and for load.
pub(super) type Systems = Arc<Mutex<BTreeMap<(String, bool), Arc<Opened>>>>;

/// Other étalons of this machine that take part.
pub(super) type CoLocated = Arc<Mutex<Vec<u32>>>;

pub(super) struct Session {
    id: String,
    pub(super) experiment: String,
    last_request: Instant,
    lease: Duration,
    pub(super) systems: Systems,
    co_located: CoLocated,
    texts: TextCache,
    jobs: BTreeMap<u64, Arc<Job>>,
}

/// Finds the request's session or begins it, and renews its lease; fails if another conductor has one.
pub(super) fn find_or_begin_session<'s>(
    slot: &'s mut Option<Session>,
    request: &Request,
    shared: &Shared,
) -> Result<&'s mut Session, Failure> {
    if let Some(other) = slot.as_ref().filter(|session| session.id != request.session) {
        let cause = format!("it serves another conductor (experiment {})", other.experiment);
        let tried = format!("work with the agent `{}`", shared.options.name);
        return Err(Failure::new(FailureKind::NotOurs, tried, cause).with_hint("wait until that one has ended"));
    }
    let session = slot.get_or_insert_with(|| {
        (shared.options.log)(&format!("experiment {}: a conductor has come", request.experiment));
        Session {
            id: request.session.clone(),
            experiment: request.experiment.clone(),
            last_request: Instant::now(),
            lease: Duration::ZERO,
            systems: Systems::default(),
            co_located: CoLocated::default(),
            texts: TextCache::default(),
            jobs: BTreeMap::new(),
        }
    });
    session.last_request = Instant::now();
    session.lease = Duration::from_millis(request.lease_ms).clamp(LEASE_LIMITS.0, LEASE_LIMITS.1);
    Ok(session)
}

/// Locks the open systems, even after a panic.
pub(super) fn lock_systems(systems: &Systems) -> MutexGuard<'_, BTreeMap<(String, bool), Arc<Opened>>> {
    systems.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Whether its last request is longer ago than its lease.
    pub(super) fn has_lapsed(&self) -> bool {
        self.last_request.elapsed() > self.lease
    }

    /// Finds the job of this number, or fails.
    pub(super) fn find_job(&self, number: u64) -> Result<Arc<Job>, Failure> {
        self.jobs.get(&number).cloned().ok_or_else(|| {
            // The agent was restarted, or the lease ran out.
            let cause = "it knows nothing of it (any more): it has been started again, or was not reached for too long";
            Failure::new(FailureKind::ConnectionLost, "ask an agent for a job", cause)
        })
    }

    /// Begins a job in a thread of its own; returns the one begun already if the request comes again.
    pub(super) fn begin_job(&mut self, request: &Request, shared: &Arc<Shared>) -> Arc<Job> {
        if let Some(job) = self.jobs.get(&request.job) {
            return Arc::clone(job);
        }
        while self.jobs.len() >= KEPT_JOBS {
            let Some(done) = self.jobs.iter().find(|(_, job)| job.is_done()).map(|(number, _)| *number) else { break };
            self.jobs.remove(&done);
        }
        let job = Arc::new(Job::default());
        self.jobs.insert(request.job, Arc::clone(&job));
        let work = work::Work {
            shared: Arc::clone(shared),
            systems: Arc::clone(&self.systems),
            co_located: Arc::clone(&self.co_located),
            texts: self.texts.clone(),
            job: Arc::clone(&job),
            request: request.clone(),
        };
        if let Err(error) = thread::Builder::new().name("etalon-job".to_owned()).spawn(move || work.run()) {
            job.finish(Err(Failure::new(FailureKind::Other, "start a thread for an agent's work", error)));
        }
        job
    }

    /// Stops the session's jobs, waits for them, and removes what was made in its systems.
    pub(super) fn close_agent_session(self, log: fn(&str)) {
        self.jobs.values().for_each(|job| job.stop());
        let deadline = Instant::now() + ENDING_TIMEOUT;
        for job in self.jobs.values() {
            if !job.wait_within(deadline.saturating_duration_since(Instant::now())) {
                log("a load does not end; its connections are left to the operating system");
            }
        }
        let systems = std::mem::take(&mut *lock_systems(&self.systems));
        for ((name, _), opened) in systems {
            if opened.part == Part::Whole
                && let Err(failure) = opened.system.drop_all()
            {
                log(&format!("system `{name}`: {failure}"));
            }
        }
    }
}
