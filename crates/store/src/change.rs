//! The change that étalon has made in a server, for the étalon that has to undo it.

use rusqlite::{Transaction, TransactionBehavior, params};

use crate::enum_names::read_one_of;
use crate::error::Tried;
use crate::{Access, Result, Store, StoreError, lock};

/// A change that is made, or may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChange {
    /// The system that the server is without it.
    pub server: String,
    /// The system that the server is with it.
    pub system: String,
    pub state: ChangeState,
    /// How the server names the session that works on it, if it does.
    pub session: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeState {
    /// It is being made or undone.
    Unsure,
    Made,
}

impl ChangeState {
    /// The state's word in the store.
    fn as_str(self) -> &'static str {
        match self {
            ChangeState::Unsure => "unsure",
            ChangeState::Made => "made",
        }
    }
}

impl Store {
    /// Reads the changes that are not undone, at most one of a server.
    pub fn read_changes(&self) -> Result<Vec<StoredChange>> {
        let sql = "SELECT server, system, state, session FROM changes ORDER BY server";
        self.query_rows("read the changes that are not undone", sql, [], |row| {
            let state = read_one_of(row, 2, &[ChangeState::Made, ChangeState::Unsure], ChangeState::as_str)?;
            Ok(StoredChange { server: row.get(0)?, system: row.get(1)?, state, session: row.get(3)? })
        })
    }

    /// Notes a change before it is made or undone, and once it is made.
    ///
    /// # Errors
    /// It is not written to the disk.
    pub fn put_change(&self, change: &StoredChange) -> Result<()> {
        self.write_change("note a change", |tx| {
            let StoredChange { server, system, state, session } = change;
            let sql = "INSERT OR REPLACE INTO changes (server, system, state, session) VALUES (?1, ?2, ?3, ?4)";
            tx.execute(sql, params![server, system, state.as_str(), session])
        })
    }

    /// Notes that a server's change is undone.
    ///
    /// # Errors
    /// It is not written to the disk.
    pub fn remove_change(&self, server: &str) -> Result<()> {
        self.write_change("note that a change is undone", |tx| {
            tx.execute("DELETE FROM changes WHERE server = ?1", [server])
        })
    }

    /// Writes a change's note in one transaction, if this process still is the writer.
    /// It works on a shared reference: changes are noted while a run holds the rest of the conductor.
    fn write_change(&self, tried: &str, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<usize>) -> Result<()> {
        let path = self.path.as_path();
        let Access::Write { token, .. } = &self.access else {
            return Err(StoreError::ReadOnly { path: path.to_owned(), tried: tried.to_owned() });
        };
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate).or_store_error(path, tried)?;
        lock::check_token(&tx, token, path, tried)?;
        work(&tx).or_store_error(path, tried)?;
        tx.commit().or_store_error(path, tried)
    }
}
