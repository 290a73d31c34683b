//! Results on their way from the stream to the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use load::error::{Failure, FailureKind};
use model::Case;

use crate::bus::{ACK_WAIT, Bus, BusError, Delivery, Results};
use crate::parts;
use crate::protocol::{Outcome, Recorded};

const AT_ONCE: usize = 256;
/// Time between fetches while waiting.
const AGAIN: Duration = Duration::from_millis(50);
/// Time for results that were delivered to an earlier run, which did not acknowledge them.
const LEFT_TIMEOUT: Duration = Duration::from_secs(2 * ACK_WAIT.as_secs());

/// Fetched results, acknowledged once stored.
pub(crate) struct Inbox {
    results: Results,
    session: String,
    state: Mutex<InboxState>,
}

#[derive(Default)]
struct InboxState {
    /// Pieces by agent and id.
    pieces: HashMap<(String, String), Vec<u8>>,
    deliveries: Vec<Delivery>,
    /// Unstored runs of earlier runs.
    left: Vec<Left>,
}

struct Left {
    agent: String,
    recorded: Recorded,
    deliveries: Vec<Delivery>,
}

impl Inbox {
    /// Opens the stream of an experiment's results for this session.
    pub(crate) fn open(bus: &Arc<Bus>, experiment: &str, session: &str) -> Result<Inbox, BusError> {
        Ok(Inbox {
            results: bus.open_experiment_results(experiment)?,
            session: session.to_owned(),
            state: Mutex::default(),
        })
    }

    /// Locks the state, even after a panic.
    fn lock_state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches what earlier runs of the experiment left in the stream.
    pub(crate) fn collect_left(&self) -> Result<(), BusError> {
        let deadline = Instant::now() + LEFT_TIMEOUT;
        let mut fetched: Vec<Delivery> = Vec::new();
        loop {
            fetched.extend(self.results.fetch(AT_ONCE)?);
            let known: BTreeSet<(&str, &str)> =
                fetched.iter().map(|one| (one.agent.as_str(), one.id.as_str())).collect();
            // What was delivered to a killed conductor comes again only after a while.
            if self.results.count_outstanding()? <= known.len() as u64 || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(AGAIN);
        }
        let mut of_result: BTreeMap<(String, String), BTreeMap<u32, Vec<Delivery>>> = BTreeMap::new();
        let mut state = self.lock_state();
        for delivery in fetched {
            match parts::split_part_id(&delivery.id) {
                Some((result, part)) => {
                    let key = (delivery.agent.clone(), result.to_owned());
                    of_result.entry(key).or_default().entry(part).or_default().push(delivery);
                }
                None => state.deliveries.push(delivery),
            }
        }
        for ((agent, _), of_part) in of_result {
            let pieces: Vec<Vec<u8>> =
                of_part.values().filter_map(|same| Some(same.first()?.payload.clone())).collect();
            let deliveries: Vec<Delivery> = of_part.into_values().flatten().collect();
            match parts::join_outcome(&pieces) {
                Ok(Outcome::Record(recorded)) => state.left.push(Left { agent, recorded: *recorded, deliveries }),
                // A share is useless without the server's earlier counters, and so is a result with missing pieces.
                Ok(Outcome::HostLoad(_) | Outcome::Cut(_)) | Err(_) => state.deliveries.extend(deliveries),
            }
        }
        Ok(())
    }

    /// Takes the run of that case and seed, if an earlier conductor had that agent measure it. Returned once.
    pub(crate) fn take_left_over(&self, agent: &str, case: &Case, seed: u64) -> Option<Recorded> {
        let mut state = self.lock_state();
        let index = state
            .left
            .iter()
            .position(|left| left.agent == agent && left.recorded.seed == seed && left.recorded.case == *case)?;
        let Left { recorded, deliveries, .. } = state.left.remove(index);
        state.deliveries.extend(deliveries);
        Some(recorded)
    }

    /// Waits for an agent's result of `count` pieces, and joins them.
    pub(crate) fn wait_for_result(
        &self,
        agent: &str,
        job: u64,
        count: u32,
        timeout: Duration,
    ) -> Result<Outcome, Failure> {
        let ids = parts::part_ids(&self.session, agent, job, count)
            .map_err(|cause| cannot_fetch(agent, FailureKind::Other, cause))?;
        let ids: Vec<(String, String)> = ids.into_iter().map(|id| (agent.to_owned(), id)).collect();
        let deadline = Instant::now() + timeout;
        loop {
            let pieces = {
                let state = self.lock_state();
                ids.iter().map(|id| state.pieces.get(id).cloned()).collect::<Option<Vec<_>>>()
            };
            if let Some(pieces) = pieces {
                // Just published: its times of day are moved to this host's clock.
                let mut outcome: Outcome =
                    parts::join_outcome(&pieces).map_err(|cause| cannot_fetch(agent, FailureKind::Other, cause))?;
                outcome.shift_times(host::clock::unix_ms());
                return Ok(outcome);
            }
            match self.results.fetch(AT_ONCE) {
                Ok(deliveries) if deliveries.is_empty() => std::thread::sleep(AGAIN),
                Ok(deliveries) => {
                    self.keep_deliveries(deliveries);
                    continue;
                }
                Err(error) if Instant::now() >= deadline => {
                    return Err(cannot_fetch(agent, FailureKind::ConnectionLost, error.to_string()));
                }
                Err(_) => std::thread::sleep(AGAIN),
            }
            if Instant::now() >= deadline {
                return Err(cannot_fetch(agent, FailureKind::ConnectionLost, "it is not there".to_owned()));
            }
        }
    }

    /// Keeps this session's results until they are asked for; others wait only to be acknowledged.
    fn keep_deliveries(&self, deliveries: Vec<Delivery>) {
        let prefix = format!("{}.", self.session);
        let mut state = self.lock_state();
        for mut delivery in deliveries {
            // A late one of an earlier run belongs to a repeated run; the next acknowledgement drops it.
            if delivery.id.starts_with(&prefix) {
                let id = (delivery.agent.clone(), delivery.id.clone());
                state.pieces.insert(id, std::mem::take(&mut delivery.payload));
            }
            state.deliveries.push(delivery);
        }
    }

    /// Drops all pieces, and tells the stream that what was delivered is stored or useless.
    pub(crate) fn acknowledge_all(&self) {
        let (mut state, mut done) = (self.lock_state(), Vec::new());
        std::mem::swap(&mut done, &mut state.deliveries);
        state.pieces.clear();
        drop(state);
        // Otherwise it is delivered again, recognised by its id and dropped.
        let _ = self.results.acknowledge(&done);
    }
}

/// Makes the failure of a result that cannot be fetched.
fn cannot_fetch(agent: &str, kind: FailureKind, cause: String) -> Failure {
    Failure::new(kind, format!("fetch the result of the agent `{agent}` from the stream"), cause)
}
