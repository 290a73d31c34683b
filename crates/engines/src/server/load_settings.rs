//! The settings that a load's own sessions have: a role, or who alters it, may give them others than étalon's session has.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Facts, Nature};

#[derive(Debug, Default)]
pub(super) struct LoadSettings(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Settings of each load's first session, since facts were read last.
    of_loads: Vec<Facts>,
    /// Facts as they were read last.
    last: Facts,
}

impl LoadSettings {
    pub(super) fn note(&self, settings: Facts) {
        self.lock().of_loads.push(settings);
    }

    /// Puts settings that loads had, and that were others before them, in place of those that a session has now.
    pub(super) fn add_to(&self, facts: &mut Facts) {
        let mut known = self.lock();
        let before = std::mem::replace(&mut known.last, facts.clone());
        for (name, fact) in std::mem::take(&mut known.of_loads).into_iter().flat_map(|facts| facts.entries) {
            if fact.nature == Nature::Identity && before.entries.get(&name).is_some_and(|before| *before != fact) {
                facts.entries.insert(name, fact);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
