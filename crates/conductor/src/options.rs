//! How an experiment is run: what is not in its plan.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use host::reactor::Choice;
use store::Rest;

use crate::look::Judge;
use crate::site::Places;
use workloads::system::{Consent, Notices};
use workloads::workload::Grants;

/// For a server that went away.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A time that was promised for an experiment, with loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    pub began: Instant,
    /// What of it is left when it began.
    pub time: Duration,
    /// All of it, as the user gave it.
    pub asked: Duration,
    /// Whether rounds are added as long as they fit: not on virtual time, and not in a sequential order.
    pub adds_rounds: bool,
}

impl TimeLimit {
    /// How much longer than promised an experiment may take, as a share.
    const SLACK: f64 = 0.07;

    /// How much of the time is left.
    pub(crate) fn left(&self) -> Duration {
        self.time.saturating_sub(self.began.elapsed())
    }

    /// Whether the limit, with some slack, would be over before `more` time has passed.
    pub(crate) fn ends_before(&self, more: Duration) -> bool {
        self.began.elapsed() + more > self.time.mul_f64(1.0 + TimeLimit::SLACK)
    }
}

#[derive(Clone)]
pub struct ExperimentOptions {
    pub consent: Consent,
    pub interrupt: Arc<AtomicBool>,
    /// Hears what a silent system waits for.
    pub notices: Notices,
    /// Overrides where private servers live.
    pub scratch_base: Option<PathBuf>,
    pub grants: Grants,
    /// For the clients' I/O.
    pub reactor: Choice,
    /// Block devices whose data the user gave up by name.
    pub forfeited: Vec<PathBuf>,
    /// The plan's hosts; `None`: everything in this process.
    pub places: Option<Arc<dyn Places>>,
    /// For a server or host that went away.
    pub patience: Duration,
    /// For a round that an earlier run left incomplete.
    pub rest: Rest,
    /// The judge of a plan that ends when it is sure.
    pub judge: Option<Arc<dyn Judge>>,
    /// The time into which rounds are to fit.
    pub limit: Option<TimeLimit>,
    /// Ends once what an earlier étalon left changed is undone.
    pub only_undo: bool,
    /// The plan has more rounds than the store, which gets them once the systems are known to be the same.
    pub extends: bool,
}

impl ExperimentOptions {
    /// Makes options with default permissions and timeouts, and the best reactor.
    pub fn new(consent: Consent, interrupt: Arc<AtomicBool>) -> ExperimentOptions {
        ExperimentOptions {
            consent,
            interrupt,
            notices: Notices::default(),
            scratch_base: None,
            grants: Grants::default(),
            reactor: Choice::Auto,
            forfeited: Vec::new(),
            places: None,
            patience: TIMEOUT,
            rest: Rest::WholeRounds,
            judge: None,
            limit: None,
            only_undo: false,
            extends: false,
        }
    }
}
