//! How a server's tables come back to their first state before each run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use host::copy::Blocks;
use model::{Reset, SystemPlan};

use super::copies::{Copies as _, KeptCopy};
use super::private::Recipe as _;
use super::system::{Server, ServerSystem};
use load::error::{Failure, FailureKind};
use workloads::dataset::Dataset;
use workloads::reset::{COPIED_FROM_BYTES, choose_reset};

/// What is known of the data sets that a system was loaded with.
#[derive(Default)]
pub(crate) struct Loaded {
    /// Bytes of those that are kept, by name: the place in this order is the number of the copy.
    kept: Mutex<BTreeMap<String, KeptCopy>>,
    /// The one that stays as runs leave it.
    last: Mutex<Option<String>>,
}

/// Chooses how a plan's tables of this size are brought back; serves [`Engine::choose_reset`].
///
/// [`Engine::choose_reset`]: workloads::system::Engine::choose_reset
pub(crate) fn choose_reset_of_plan<S: Server>(system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
    choose_reset_for::<S>(system.reset, find_ownership::<S>(system), size_bytes).map(Some)
}

/// A server, as far as its data can be copied.
#[derive(Clone, Copy)]
pub(crate) enum Ownership {
    Others,
    /// Étalon's, with all data in one folder.
    Own,
    /// Étalon's, with data elsewhere, too.
    Scattered,
}

/// Finds whose server the plan names and, of étalon's own, whether all its data lie in one folder.
pub(crate) fn find_ownership<S: Server>(system: &SystemPlan) -> Ownership {
    if system.server.is_none() {
        return Ownership::Others;
    }
    let is_scattered = system.settings.iter().any(|(name, value)| {
        let name = name.to_ascii_lowercase().replace('-', "_");
        S::Recipe::ELSEWHERE.contains(&name.as_str()) && value.to_string().contains(['/', '\\', ':'])
    });
    if is_scattered { Ownership::Scattered } else { Ownership::Own }
}

/// Tests whether a server that étalon did not start is to keep copies of loaded tables.
pub(crate) fn keeps_copies<S: Server>(system: &SystemPlan) -> bool {
    system.server.is_none()
        && system.reset.is_some_and(|reset| reset.keeps_copy() && S::Copies::OFFERS.contains(&reset))
}

/// Chooses how tables of this size are brought back between runs; fails if the way asked for is not to be had.
fn choose_reset_for<S: Server>(asked: Option<Reset>, ownership: Ownership, size_bytes: u64) -> Result<Reset, Failure> {
    let (offers, else_why): (&[Reset], _) = match ownership {
        Ownership::Own => (&[Reset::Clone, Reset::Restore], ""),
        Ownership::Others => (S::Copies::OFFERS, S::Copies::NO_OTHERS),
        Ownership::Scattered => {
            (&[], "by its `settings` the server has data outside of the folder that would be copied")
        }
    };
    let can = [&[Reset::Rebuild], offers, &[Reset::None]].concat();
    let is_copied = matches!(ownership, Ownership::Own) && size_bytes >= COPIED_FROM_BYTES;
    let usual = if is_copied { Reset::Restore } else { Reset::Rebuild };
    choose_reset(asked, &can, usual, else_why)
}

impl<S: Server> ServerSystem<S> {
    /// Returns how a data set's tables are brought back between runs.
    pub(super) fn reset_for_data(&self, data: &Dataset) -> Reset {
        choose_reset_for::<S>(self.reset, self.ownership, data.size_bytes).unwrap_or(Reset::Rebuild)
    }

    /// Explains how a data set's tables are brought back.
    pub(super) fn explain_tables_reset(&self, data: &Dataset) -> String {
        let reset = self.reset_for_data(data);
        if let Some(copies) = &self.copies {
            return copies.explain_reset(reset);
        }
        match self.lock_private().and_then(|private| private.data_folder().ok()) {
            Some(data) => workloads::reset::describe_file_reset(reset, &data),
            None => reset.to_string(),
        }
    }

    /// Brings a data set's tables to their first state before a run; serves [`System::prepare`].
    ///
    /// [`System::prepare`]: workloads::system::System::prepare
    pub(super) fn bring_first_state(&self, data: &Dataset) -> Result<(), Failure> {
        if !data.has_tables() {
            // Those of another data set go, and a copy would be one of nothing.
            *lock_mutex(&self.loaded.last) = None;
            return S::load_tables(self, data);
        }
        match self.reset_for_data(data) {
            Reset::Rebuild => S::load_tables(self, data),
            Reset::None => self.load_if_absent(data),
            reset @ (Reset::Restore | Reset::Clone) => self.bring_tables_back(data, reset),
        }
    }

    /// Forgets which data set was loaded last: the tables may be another étalon's by now.
    pub(super) fn forget_loaded(&self) {
        *lock_mutex(&self.loaded.last) = None;
    }

    /// Sums the bytes of all copies that are kept.
    pub(super) fn kept_bytes_of_all(&self) -> u64 {
        let kept_bytes = lock_mutex(&self.loaded.kept).values().map(|kept| kept.bytes).sum();
        self.copies.as_ref().map_or(kept_bytes, |copies| copies.weigh_copies(kept_bytes))
    }

    /// Loads a data set, unless it is what was loaded last.
    fn load_if_absent(&self, data: &Dataset) -> Result<(), Failure> {
        let mut last = lock_mutex(&self.loaded.last);
        if last.as_deref() != Some(&data.name) {
            *last = None;
            S::load_tables(self, data)?;
            *last = Some(data.name.clone());
        }
        Ok(())
    }

    /// Brings a data set's tables back from a kept copy, unless they are untouched; makes the copy if missing.
    fn bring_tables_back(&self, data: &Dataset, reset: Reset) -> Result<(), Failure> {
        let mut all = lock_mutex(&self.loaded.kept);
        let known = all.get(&data.name).copied();
        // A server that did not start on its copy cannot be asked.
        if known.is_some() && S::is_untouched(self, data).unwrap_or(false) {
            return Ok(());
        }
        let known = known.map(|copy| self.put_copy_back(copy, reset));
        match known {
            Some(Err(failure)) if failure.kind == FailureKind::Missing && self.copies.is_some() => {
                all.remove(&data.name);
                self.keep_and_put_back(&mut all, data, reset)?;
            }
            Some(put_back) => put_back?,
            None => self.keep_and_put_back(&mut all, data, reset)?,
        }
        S::note_prepared(self, data)
    }

    /// Loads a data set, keeps a copy of it, and puts that in place of the tables.
    fn keep_and_put_back(
        &self,
        all: &mut BTreeMap<String, KeptCopy>,
        data: &Dataset,
        reset: Reset,
    ) -> Result<(), Failure> {
        if let Some(copies) = &self.copies {
            self.control.close_session();
            copies.remove_old_copies()?;
        }
        S::load_tables(self, data)?;
        self.ask(|client| S::settle(self, client))?;
        self.control.close_session();
        let copy = match &self.copies {
            Some(copies) => copies.keep_copy()?,
            None => self.keep_data_as_copy(all.len())?,
        };
        all.insert(data.name.clone(), copy);
        self.put_copy_back(copy, reset)
    }

    /// Stops the private server, and moves its data folder away as the copy of this number.
    fn keep_data_as_copy(&self, number: usize) -> Result<KeptCopy, Failure> {
        let mut private = self.lock_private().ok_or_else(super::private::not_restartable_failure)?;
        let folder = private.copy_folder(number)?;
        private.stop_and_keep_data(&folder)?;
        Ok(KeptCopy { number, bytes: host::copy::bytes_of(&folder).unwrap_or_default() })
    }

    /// Replaces the tables by a kept copy.
    fn put_copy_back(&self, copy: KeptCopy, reset: Reset) -> Result<(), Failure> {
        self.control.close_session();
        if let Some(copies) = &self.copies {
            return copies.bring_back(copy, reset);
        }
        let mut private = self.lock_private().ok_or_else(super::private::not_restartable_failure)?;
        let folder = private.copy_folder(copy.number)?;
        let blocks = if reset == Reset::Clone { Blocks::SharedIfPossible } else { Blocks::Own };
        private.bring_back(&self.endpoint, &folder, blocks)
    }

    /// Removes all copies that the server keeps, with their tables and claim.
    pub(super) fn remove_copies(&self, copies: &S::Copies) -> Result<(), Failure> {
        self.control.close_session();
        lock_mutex(&self.loaded.kept).clear();
        copies.remove_all()
    }
}

/// Locks a mutex, a poisoned one too.
fn lock_mutex<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
