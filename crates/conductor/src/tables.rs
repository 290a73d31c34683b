//! What is known of a system's own tables from run to run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::Caches;

use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::lock_watch::LockWaiters;
use load::run::ServerCounters;
use workloads::contents::Contents;
use workloads::dataset::Dataset;
use workloads::system::System;
use workloads::work::SystemCounters;

/// What is known of the tables of one system.
#[derive(Default)]
pub struct KnownTables {
    /// How often each data set was read through, and what was there the first time.
    first: Mutex<BTreeMap<String, (u32, Contents)>>,
    /// Tables that stay as runs leave them: the data set, and what queries gave before anything ran on it.
    loaded: Mutex<Option<(String, BTreeMap<String, i64>)>>,
}

impl KnownTables {
    /// Reads every table through, and fails if it holds other rows than after the first load. `false`: nothing was read.
    /// All runs so begin with the same caches. What is to be cold is read twice: as it was loaded, and as it came back first.
    ///
    /// # Errors
    /// The system does not answer; or [`FailureKind::Verification`].
    pub fn read_through(&self, system: &dyn System, data: &Dataset, caches: Caches) -> Result<bool, Failure> {
        if data.tables.is_empty() || system.explain_reset(data).is_none() {
            return Ok(false);
        }
        let mut all = lock_mutex(&self.first);
        let times_read = all.get(&data.name).map_or(0, |(times, _)| *times);
        if caches == Caches::Cold && times_read >= 2 {
            return Ok(false);
        }
        let found = Contents::read_from(data, system)?;
        let (times, first) = all.entry(data.name.clone()).or_insert_with(|| (0, found.clone()));
        *times += 1;
        first.verify_found(data, &found).map(|()| true).map_err(|failure| Failure {
            tried: "bring the tables back as they were loaded first".to_owned(),
            ..failure
        })
    }

    /// Makes counters that a run on tables with earlier runs' rows is checked by: they answer as if those had come back.
    ///
    /// # Errors
    /// The system does not answer them.
    pub fn as_if_loaded<'a>(
        &self,
        system: &'a dyn System,
        data: &Dataset,
        counts: &[String],
    ) -> Result<AsIfLoaded<'a>, Failure> {
        let before: BTreeMap<String, i64> = counts.iter().cloned().zip(system.scalars(counts)?).collect();
        let mut loaded = lock_mutex(&self.loaded);
        if loaded.as_ref().is_none_or(|(name, _)| *name != data.name) {
            *loaded = Some((data.name.clone(), before.clone()));
        }
        let first = loaded.as_ref().map(|(_, first)| first.clone()).unwrap_or_default();
        Ok(AsIfLoaded { counters: SystemCounters(system), before, first })
    }

    /// Whether no run has been made on a data set's tables since they were loaded, where they stay as runs leave them.
    pub fn are_fresh(&self, data: &Dataset) -> bool {
        lock_mutex(&self.loaded).as_ref().is_none_or(|(name, _)| *name != data.name)
    }
}

/// Locks a mutex, even one that a panic has poisoned.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A system's counts, from whose answers is taken what the runs before this one have added. What else is asked is answered
/// as it is: what a run has broken stays broken.
pub struct AsIfLoaded<'a> {
    counters: SystemCounters<'a>,
    before: BTreeMap<String, i64>,
    /// A question that was not asked then had the answer 0.
    first: BTreeMap<String, i64>,
}

impl AsIfLoaded<'_> {
    /// Corrects the present answer to a count by what earlier runs have added to it.
    fn count_as_if_loaded(&self, sql: &str, now: i64) -> i64 {
        let before = self.before.get(sql);
        before.map_or(now, |before| now - before + self.first.get(sql).copied().unwrap_or_default())
    }
}

impl ServerCounters for AsIfLoaded<'_> {
    fn counters(&self) -> Result<Counters, Failure> {
        self.counters.counters()
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        self.counters.server_cpu_s()
    }

    /// Asks for a number, less what earlier runs have added to it.
    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        Ok(self.count_as_if_loaded(sql, self.counters.scalar(sql)?))
    }

    /// Asks for numbers, each less what earlier runs have added to it.
    fn scalars(&self, questions: &[String]) -> Result<Vec<i64>, Failure> {
        let now = self.counters.scalars(questions)?;
        Ok(questions.iter().zip(now).map(|(sql, now)| self.count_as_if_loaded(sql, now)).collect())
    }

    fn lock_waiters(&self) -> Result<Option<LockWaiters>, Failure> {
        self.counters.lock_waiters()
    }

    fn placement(&self) -> Placement {
        self.counters.placement()
    }

    /// Always `false`: the tables hold what earlier runs have left.
    fn begins_loaded(&self) -> bool {
        false
    }
}

/// Queries over whole tables take minutes each where these are large: none begins once the user wants to stop.
pub struct UntilInterrupted<'a>(pub SystemCounters<'a>, pub &'a AtomicBool);

impl UntilInterrupted<'_> {
    /// Fails if the user has asked to stop.
    fn refuse_if_interrupted(&self) -> Result<(), Failure> {
        if self.1.load(Ordering::Relaxed) {
            let tried = "hold the tables against the conditions";
            return Err(Failure::new(FailureKind::Other, tried, "it was interrupted"));
        }
        Ok(())
    }
}

impl ServerCounters for UntilInterrupted<'_> {
    fn counters(&self) -> Result<Counters, Failure> {
        self.0.counters()
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        self.0.server_cpu_s()
    }

    /// Asks for a number, unless the user has asked to stop.
    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        self.refuse_if_interrupted()?;
        self.0.scalar(sql)
    }

    /// Asks for numbers, unless the user has asked to stop.
    fn scalars(&self, questions: &[String]) -> Result<Vec<i64>, Failure> {
        self.refuse_if_interrupted()?;
        self.0.scalars(questions)
    }

    fn placement(&self) -> Placement {
        self.0.placement()
    }
}
