//! Results on their way from the stream to the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Failure, FailureKind};

use crate::bus::{Bus, Delivery, Results};
use crate::parts;
use crate::protocol::Outcome;

/// How many pieces are fetched at a time.
const AT_ONCE: usize = 256;
/// How long is waited for results before they are fetched again.
const AGAIN: Duration = Duration::from_millis(50);

/// Results that have been fetched. They are acknowledged once the store has what was made of them.
pub(crate) struct Inbox {
    results: Results,
    session: String,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    pieces: HashMap<String, Vec<u8>>,
    deliveries: Vec<Delivery>,
}

impl Inbox {
    pub(crate) fn open(bus: &Arc<Bus>, experiment: &str, session: &str) -> Result<Inbox, crate::bus::BusError> {
        Ok(Inbox { results: bus.results(experiment)?, session: session.to_owned(), held: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A result of that many parts, waited for so long.
    pub(crate) fn take(&self, agent: &str, job: u64, count: u32, patience: Duration) -> Result<Outcome, Failure> {
        let failed = |kind, cause: String| {
            Failure::new(kind, format!("fetch the result of the agent `{agent}` from the stream"), cause)
        };
        let ids: Vec<String> = (0..count).map(|part| parts::id(&self.session, agent, job, part)).collect();
        let deadline = Instant::now() + patience;
        loop {
            let pieces = {
                let held = self.lock();
                ids.iter().map(|id| held.pieces.get(id).cloned()).collect::<Option<Vec<_>>>()
            };
            if let Some(pieces) = pieces {
                return parts::join(&pieces).map_err(|cause| failed(FailureKind::Other, cause));
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
            // One of an earlier run of this experiment belongs to a trial that is repeated; the next acknowledgement
            // drops it.
            if delivery.id.starts_with(&own) {
                held.pieces.insert(delivery.id.clone(), std::mem::take(&mut delivery.payload));
            }
            held.deliveries.push(delivery);
        }
    }

    /// What was fetched is in the store, or of no use.
    pub(crate) fn acknowledge(&self) {
        let held = std::mem::take(&mut *self.lock());
        // What cannot be acknowledged now is handed out again, known by its id and dropped.
        let _ = self.results.acknowledge(&held.deliveries);
    }
}
