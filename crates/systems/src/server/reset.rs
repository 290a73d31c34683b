//! How a server's tables come back to their first state before each run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use host::copy::Blocks;
use model::{Reset, SystemPlan};

use super::system::{Server, ServerSystem};
use families::dataset::Dataset;
use families::reset::{COPIED_FROM_BYTES, chosen};
use load::error::Failure;

/// What is known of the data sets that a system was loaded with.
#[derive(Default)]
pub(crate) struct Loaded {
    /// Bytes of those that are kept, by name: the place in this order is the number of the copy.
    kept: Mutex<BTreeMap<String, KeptCopy>>,
    /// The one that stays as runs leave it.
    last: Mutex<Option<String>>,
}

#[derive(Clone, Copy)]
struct KeptCopy {
    number: usize,
    bytes: u64,
}

/// For [`Engine::reset`](families::system::Engine::reset).
pub(crate) fn of_plan(system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
    of(system.reset, system.server.is_some(), size_bytes).map(Some)
}

fn of(asked: Option<Reset>, is_own: bool, size_bytes: u64) -> Result<Reset, Failure> {
    let of_own = [Reset::Rebuild, Reset::Clone, Reset::Restore, Reset::None];
    let of_others = [Reset::Rebuild, Reset::None];
    let can: &[Reset] = if is_own { &of_own } else { &of_others };
    let usual = if is_own && size_bytes >= COPIED_FROM_BYTES { Reset::Restore } else { Reset::Rebuild };
    chosen(asked, can, usual, "étalon copies the data only of a server that it has started itself")
}

impl<S: Server> ServerSystem<S> {
    pub(super) fn reset_of(&self, data: &Dataset) -> Reset {
        of(self.reset, self.private().is_some(), data.size_bytes).unwrap_or(Reset::Rebuild)
    }

    /// What a reader must know of a way to bring tables back.
    pub(super) fn reset_words(&self, data: &Dataset) -> String {
        let reset = self.reset_of(data);
        let shares =
            || self.private().and_then(|private| private.data().ok()).is_some_and(|data| host::copy::can_share(&data));
        match reset {
            Reset::Clone if shares() => format!("{reset}: a run pays for each block that it is the first to write"),
            Reset::Clone => format!("{reset}: copied whole, since the filesystem shares no blocks"),
            _ => reset.to_string(),
        }
    }

    /// As [`System::prepare`](families::system::System::prepare).
    pub(super) fn bring_back(&self, data: &Dataset) -> Result<(), Failure> {
        match self.reset_of(data) {
            Reset::Rebuild => S::prepare(self, data),
            Reset::None => self.load_once(data),
            Reset::Restore => self.copy_back(data, Blocks::Own),
            Reset::Clone => self.copy_back(data, Blocks::SharedIfPossible),
        }
    }

    pub(super) fn kept_bytes_of_all(&self) -> u64 {
        lock(&self.loaded.kept).values().map(|kept| kept.bytes).sum()
    }

    fn load_once(&self, data: &Dataset) -> Result<(), Failure> {
        let mut last = lock(&self.loaded.last);
        if last.as_deref() != Some(&data.name) {
            *last = None;
            S::prepare(self, data)?;
            *last = Some(data.name.clone());
        }
        Ok(())
    }

    fn copy_back(&self, data: &Dataset, blocks: Blocks) -> Result<(), Failure> {
        let mut all = lock(&self.loaded.kept);
        let number = match all.get(&data.name) {
            // A server that did not start on its copy tells nothing.
            Some(_) if S::is_untouched(self, data).unwrap_or(false) => return Ok(()),
            Some(kept) => kept.number,
            None => {
                S::prepare(self, data)?;
                self.ask(|client| S::settle(self, client))?;
                let number = all.len();
                self.control.close();
                let mut private = self.private().ok_or_else(super::private::not_restarted)?;
                let kept = private.kept(number)?;
                private.keep(&kept)?;
                let bytes = host::copy::bytes_of(&kept).unwrap_or_default();
                all.insert(data.name.clone(), KeptCopy { number, bytes });
                number
            }
        };
        self.control.close();
        {
            let mut private = self.private().ok_or_else(super::private::not_restarted)?;
            let kept = private.kept(number)?;
            private.bring_back(&self.endpoint, &kept, blocks)?;
        }
        S::was_prepared(self, data)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
