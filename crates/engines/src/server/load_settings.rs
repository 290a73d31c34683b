//! The settings that a run's own sessions have, and the server that they are of: a role may give them others than étalon's session
//! has, and a balancer another server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::Facts;
use model::facts::is_compared;

#[derive(Debug, Default)]
pub(super) struct LoadSettings(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// What sessions of runs said since facts were read last.
    of_loads: Vec<Facts>,
    /// Facts as they were read last.
    last: Facts,
}

impl LoadSettings {
    /// Notes the settings that a run's session has.
    pub(super) fn note_settings(&self, settings: Facts) {
        self.lock().of_loads.push(settings);
    }

    /// Replaces facts by those that sessions of runs noted, where these differ from the facts read before.
    pub(super) fn put_load_settings(&self, facts: &mut Facts) {
        let mut known = self.lock();
        let before = std::mem::replace(&mut known.last, facts.clone());
        for (name, fact) in std::mem::take(&mut known.of_loads).into_iter().flat_map(|facts| facts.entries) {
            if is_compared(&name, &fact) && before.entries.get(&name).is_some_and(|before| *before != fact) {
                facts.entries.insert(name, fact);
            }
        }
    }

    /// Locks the notes, poisoned ones too.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
