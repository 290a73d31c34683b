//! One SQLite file per experiment: the plan, the order, the journal of trials, what they measured.
//!
//! A store is a file that ends in `.etalon`. It can be opened with the `sqlite3` shell; the views `results` and
//! `journal` are meant for that. Three promises hold, whatever kills the process:
//!
//! 1. **The order is there before the first trial.** [`Store::create`] writes the plan, its cells and the order in one
//!    transaction into a file that appears under its name only when it is whole.
//! 2. **A crash costs one trial.** [`Store::finish_trial`] is one transaction, synchronous to the disk; nothing is
//!    written while a trial runs. What it acknowledged stays.
//! 3. **One conductor.** An operating system lock on a file beside the store (`…-lock`) refuses a second writer while
//!    the first lives. Should the lock fail to hold (some network file systems), a token in the store that every write
//!    checks makes the earlier writer stop with [`StoreError::TakenOver`].
//!
//! While a store is open for writing it is in WAL mode (`…-wal` and `…-shm` lie beside it), so that reports can read it
//! during a run. Closed, it is a single file in rollback mode, which can be read on read-only media too.

#![forbid(unsafe_code)]

mod error;
mod header;
mod journal;
mod lock;
mod migrate;
mod open;
mod publish;
mod read;
mod reserve;
mod schema;
mod words;

use std::path::{Path, PathBuf};

use model::Cell;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use error::StoreError;
pub use header::Header;
pub use journal::{StoredTrial, TrialId};
pub use read::StoredMeasurement;
pub use schema::{APPLICATION_ID, EXTENSION};

use error::Tried;
use lock::WriteLock;

/// A result of this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An experiment's store. See the [crate] for what it promises.
#[derive(Debug)]
pub struct Store {
    // Declared before `access`, so that SQLite has let go of the file before the lock is released.
    conn: Connection,
    path: PathBuf,
    header: Header,
    cells: Vec<Cell>,
    access: Access,
}

/// What this store may do to its file.
#[derive(Debug)]
enum Access {
    /// Only read it.
    ReadOnly,
    /// Write it, for as long as the token in the file is this one.
    Write {
        /// Released when it is dropped.
        lock: WriteLock,
        /// Ours among all that ever opened this store for writing.
        token: String,
    },
    /// Settled. The lock is held until the file is closed, which is when the fields are dropped.
    Settled {
        /// Released when it is dropped.
        _lock: WriteLock,
    },
}

impl Store {
    /// The path that the store was created or opened with, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the experiment is.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The cells of the plan; the index is the cell's identity.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Settles and closes the store: the WAL is written back and removed, so that a single file is left. Dropping a store
    /// does the same but cannot report an error. When a report is reading just then, `-wal` and `-shm` may stay; nothing
    /// is lost by it, and the next close removes them.
    ///
    /// # Errors
    /// When the WAL cannot be written back. All that was acknowledged is still in the store's files.
    pub fn close(mut self) -> Result<()> {
        self.settle()
    }

    /// One write transaction: all of `work` or nothing. Rolled back when `work` or the commit fails.
    fn write<T>(&mut self, tried: &str, work: impl FnOnce(&Transaction<'_>, &Path) -> Result<T>) -> Result<T> {
        let Access::Write { token, .. } = &self.access else {
            return Err(StoreError::ReadOnly { path: self.path.clone(), tried: tried.to_owned() });
        };
        let path = self.path.as_path();
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).tried(path, tried)?;
        lock::check_token(&tx, token, path, tried)?;
        let value = work(&tx, path)?;
        tx.commit().tried(path, tried)?;
        Ok(value)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Nobody to tell: `close` is there for those who want to know. The data is committed either way.
        let _ = self.settle();
    }
}
