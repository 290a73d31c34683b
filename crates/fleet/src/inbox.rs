//! Results on their way from the stream to the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Failure, FailureKind};
use model::Cell;

use crate::bus::{ACK_WAIT, Bus, BusError, Delivery, Results};
use crate::parts;
use crate::protocol::{Outcome, Recorded};

/// How many pieces are fetched at a time.
const AT_ONCE: usize = 256;
/// How long is waited for results before they are fetched again.
const AGAIN: Duration = Duration::from_millis(50);
/// How long results are waited for that were handed to an earlier run, which did not acknowledge them.
const LEFT_PATIENCE: Duration = Duration::from_secs(2 * ACK_WAIT.as_secs());

/// Results that have been fetched. They are acknowledged once the store has what was made of them.
pub(crate) struct Inbox {
    results: Results,
    session: String,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// By agent and id.
    pieces: HashMap<(String, String), Vec<u8>>,
    deliveries: Vec<Delivery>,
    /// Whole trials of earlier runs that nobody has stored.
    left: Vec<Left>,
}

/// A whole trial of an earlier run.
struct Left {
    agent: String,
    recorded: Recorded,
    deliveries: Vec<Delivery>,
}

impl Inbox {
    pub(crate) fn open(bus: &Arc<Bus>, experiment: &str, session: &str) -> Result<Inbox, BusError> {
        Ok(Inbox { results: bus.results(experiment)?, session: session.to_owned(), held: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches what earlier runs of the experiment left in the stream, before this one asks for anything.
    pub(crate) fn collect(&self) -> Result<(), BusError> {
        let deadline = Instant::now() + LEFT_PATIENCE;
        let mut fetched: Vec<Delivery> = Vec::new();
        loop {
            fetched.extend(self.results.fetch(AT_ONCE)?);
            let known: BTreeSet<(&str, &str)> =
                fetched.iter().map(|one| (one.agent.as_str(), one.id.as_str())).collect();
            // What was handed to a conductor that was killed comes again only after a while.
            if self.results.outstanding()? <= known.len() as u64 || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(AGAIN);
        }
        let mut of_result: BTreeMap<(String, String), BTreeMap<u32, Vec<Delivery>>> = BTreeMap::new();
        let mut held = self.lock();
        for delivery in fetched {
            match parts::of_id(&delivery.id) {
                Some((result, part)) => {
                    let key = (delivery.agent.clone(), result.to_owned());
                    of_result.entry(key).or_default().entry(part).or_default().push(delivery);
                }
                None => held.deliveries.push(delivery),
            }
        }
        for ((agent, _), of_part) in of_result {
            let pieces: Vec<Vec<u8>> =
                of_part.values().filter_map(|same| Some(same.first()?.payload.clone())).collect();
            let deliveries: Vec<Delivery> = of_part.into_values().flatten().collect();
            match parts::join(&pieces) {
                Ok(Outcome::Record(recorded)) => held.left.push(Left { agent, recorded: *recorded, deliveries }),
                // A share says nothing without what the server had counted before, which nobody knows any more; and a
                // result whose pieces are not all there is none.
                Ok(Outcome::Share(_) | Outcome::Cut(_)) | Err(_) => held.deliveries.extend(deliveries),
            }
        }
        Ok(())
    }

    /// The trial of that cell and seed, if an earlier run had it measured by that agent. It is given once, with times of day
    /// as long before its publication as they were.
    pub(crate) fn left_over(&self, agent: &str, cell: &Cell, seed: u64) -> Option<Recorded> {
        let mut held = self.lock();
        let is_it = |left: &Left| left.agent == agent && left.recorded.seed == seed && left.recorded.cell == *cell;
        let place = held.left.iter().position(is_it)?;
        let Left { recorded, deliveries, .. } = held.left.remove(place);
        held.deliveries.extend(deliveries);
        Some(recorded)
    }

    /// A result of that many parts, waited for so long.
    pub(crate) fn take(&self, agent: &str, job: u64, count: u32, patience: Duration) -> Result<Outcome, Failure> {
        let failed = |kind, cause: String| {
            Failure::new(kind, format!("fetch the result of the agent `{agent}` from the stream"), cause)
        };
        let ids = parts::ids(&self.session, agent, job, count).map_err(|cause| failed(FailureKind::Other, cause))?;
        let ids: Vec<(String, String)> = ids.into_iter().map(|id| (agent.to_owned(), id)).collect();
        let deadline = Instant::now() + patience;
        loop {
            let pieces = {
                let held = self.lock();
                ids.iter().map(|id| held.pieces.get(id).cloned()).collect::<Option<Vec<_>>>()
            };
            if let Some(pieces) = pieces {
                // It has just been published: its times of day become those of this host's clock.
                let mut outcome: Outcome = parts::join(&pieces).map_err(|cause| failed(FailureKind::Other, cause))?;
                outcome.shift(host::clock::unix_ms());
                return Ok(outcome);
            }
            match self.results.fetch(AT_ONCE) {
                Ok(deliveries) if deliveries.is_empty() => std::thread::sleep(AGAIN),
                Ok(deliveries) => {
                    self.keep(deliveries);
                    continue;
                }
                Err(error) if Instant::now() >= deadline => {
                    return Err(failed(FailureKind::ConnectionLost, error.to_string()));
                }
                Err(_) => std::thread::sleep(AGAIN),
            }
            if Instant::now() >= deadline {
                return Err(failed(FailureKind::ConnectionLost, "it is not there".to_owned()));
            }
        }
    }

    fn keep(&self, deliveries: Vec<Delivery>) {
        let own = format!("{}.", self.session);
        let mut held = self.lock();
        for mut delivery in deliveries {
            // One of an earlier run that comes as late as this belongs to a trial that is repeated; the next
            // acknowledgement drops it.
            if delivery.id.starts_with(&own) {
                let id = (delivery.agent.clone(), delivery.id.clone());
                held.pieces.insert(id, std::mem::take(&mut delivery.payload));
            }
            held.deliveries.push(delivery);
        }
    }

    /// What was fetched is in the store, or of no use.
    pub(crate) fn acknowledge(&self) {
        let (mut held, mut done) = (self.lock(), Vec::new());
        std::mem::swap(&mut done, &mut held.deliveries);
        held.pieces.clear();
        drop(held);
        // What cannot be acknowledged now is handed out again, known by its id and dropped.
        let _ = self.results.acknowledge(&done);
    }
}
