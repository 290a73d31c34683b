//! One SQLite file per experiment: the plan, the order, the journal of runs, what they measured.
//!
//! A store is a file that ends in `.etalon`. It can be opened with the `sqlite3` shell; the views `results` and
//! `journal` are meant for that. Three promises hold, whatever kills the process:
//!
//! 1. **The order is there before the first run.** [`Store::create`] writes the plan, its cases and the order in one
//!    transaction into a file that appears under its name only when it is whole.
//! 2. **A crash costs one run.** [`Store::finish_run`] is one transaction, synchronous to the disk; nothing is
//!    written during a run. What it acknowledged stays.
//! 3. **One conductor.** An operating system lock on a file next to the store (`…-lock`) refuses a second writer while
//!    the first lives. Should the lock fail to hold (some network file systems), a token in the store that every write
//!    checks makes the earlier writer stop with [`StoreError::TakenOver`].
//!
//! While a store is open for writing it is in WAL mode (`…-wal` and `…-shm` lie next to it), so that reports can read it
//! during a run. Closed, it is a single file in rollback mode, which can be read on read-only media too.

#![forbid(unsafe_code)]

mod change;
mod enum_names;
mod error;
mod header;
pub mod history;
mod journal;
mod lock;
mod migrate;
mod open;
mod publish;
mod read;
mod relocate;
mod reserve;
mod schema;

use std::path::{Path, PathBuf};

use model::Case;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use change::{ChangeState, StoredChange};
pub use error::StoreError;
pub use header::Header;
pub use journal::{Rest, RunId, StoredRun};
pub use read::StoredMeasurement;
pub use schema::{APPLICATION_ID, EXTENSION};

use error::Tried;
use lock::WriteLock;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// See the [crate] for what it promises.
#[derive(Debug)]
pub struct Store {
    // Declared before `access`, so that SQLite has let go of the file before the lock is released.
    conn: Connection,
    path: PathBuf,
    header: Header,
    cases: Vec<Case>,
    access: Access,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Created,
    Opened,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is there, closed.
    Yes,
    /// It was new, and no run of it had started.
    No,
}

#[derive(Debug)]
enum Access {
    ReadOnly,
    /// Valid as long as this token is in the file.
    Write {
        lock: WriteLock,
        /// Unique among all that ever opened this store for writing.
        token: String,
        /// Device and inode of the store's file, where the system has them: another file at its path is not the store.
        inode: Option<(u64, u64)>,
        /// Whether it was reported that another file is at its path, or none.
        is_gone: bool,
    },
    /// The lock lasts until the file is closed, which is when the fields are dropped.
    Settled {
        _lock: WriteLock,
    },
}

impl Store {
    /// The path as given to `create` or `open`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment that was run, and the command that started it.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The plan's cases; the index is the case's identity.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Calls `read` so that all it reads is of one moment, while another process writes.
    ///
    /// # Errors
    /// What `read` returns, or the store cannot be read.
    pub fn at_one_moment<T>(&self, read: impl FnOnce(&Store) -> Result<T>) -> Result<T> {
        let _moment = self.conn.unchecked_transaction().or_store_error(&self.path, "begin to read it")?;
        read(self)
    }

    /// The process that has the store open for writing, or had it when it was killed; of another host where the folder is shared.
    pub fn writer_pid(&self) -> Option<u32> {
        lock::writer_pid(&self.conn)
    }

    /// Closes the store: writes the WAL back, so that a single file is left.
    /// Dropping does so too but cannot report an error.
    /// While a report reads, `-wal` and `-shm` may stay until the next close.
    ///
    /// # Errors
    /// When the WAL cannot be written back. All that was acknowledged is still in the store's files.
    pub fn close(mut self) -> Result<()> {
        self.give_up_writing()
    }

    /// Closes the store; if this value created it and no run was started, removes it under the lock.
    ///
    /// # Errors
    /// When it cannot be read, belongs to another by now, or cannot be closed: the file is there then.
    pub fn close_unless_untouched(mut self) -> Result<Kept> {
        let tried = "see whether any run was begun";
        let is_untouched = self.origin == Origin::Created
            && self.write(tried, |tx, path| {
                let count_started = "SELECT count(*) FROM runs WHERE state <> 'planned'";
                tx.query_row(count_started, [], |row| row.get::<_, i64>(0)).or_store_error(path, tried)
            })? == 0;
        let settled = self.give_up_writing();
        if !is_untouched {
            return settled.map(|()| Kept::Yes);
        }
        // Windows does not remove an open file.
        let memory = Connection::open_in_memory().or_store_error(&self.path, tried)?;
        let conn = std::mem::replace(&mut self.conn, memory);
        // SQLite's name for it: a relative path means another file once the working folder has changed.
        let file = PathBuf::from(conn.path().unwrap_or_default());
        conn.close().map_err(|(_, error)| error).or_store_error(&self.path, "close it")?;
        publish::remove_store_files(&file);
        Ok(if file.exists() { Kept::Yes } else { Kept::No })
    }

    /// Does `work` in one transaction, if this process still is the writer.
    fn write<T>(&mut self, tried: &str, work: impl FnOnce(&Transaction<'_>, &Path) -> Result<T>) -> Result<T> {
        let Access::Write { token, inode, is_gone, .. } = &self.access else {
            return Err(StoreError::ReadOnly { path: self.path.clone(), tried: tried.to_owned() });
        };
        let path = self.path.as_path();
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).or_store_error(path, tried)?;
        lock::check_token(&tx, token, path, tried)?;
        let value = work(&tx, path)?;
        tx.commit().or_store_error(path, tried)?;
        if !is_gone && inode.is_some_and(|inode| relocate::is_elsewhere(&self.conn, inode)) {
            return Err(self.restore_at_path(tried));
        }
        Ok(value)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // `close` is there for those who want the error. The data is committed either way.
        let _ = self.give_up_writing();
    }
}
