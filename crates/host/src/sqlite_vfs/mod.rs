//! A SQLite VFS (<https://www.sqlite.org/vfs.html>) that counts I/O by kind of file, since SQLite keeps no such
//! counters. It passes every call on to the system's VFS and notes number, bytes and time, at two clock readings a
//! call.
//!
//! Reads through a memory map (`mmap_size`) are no calls: they count as fetches without a time. The WAL index's shared
//! memory is no file I/O and does not count.

mod count;
mod shim;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use count::Counts;
pub use count::{FileIo, Traffic};

use crate::error::HostError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Database,
    Wal,
    /// The rollback journal, and the super-journal of a transaction over several databases.
    Journal,
    /// Sorters, statement journals and temporary tables. They have no name, so they are counted for the whole process.
    Temporary,
}

impl FileKind {
    pub const ALL: [FileKind; 4] = [FileKind::Database, FileKind::Wal, FileKind::Journal, FileKind::Temporary];

    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::Database => "database",
            FileKind::Wal => "wal",
            FileKind::Journal => "journal",
            FileKind::Temporary => "temporary",
        }
    }
}

/// All connections to one database since the process began.
#[derive(Debug, Default)]
struct Database {
    files: [Counts; 3],
}

#[derive(Debug, Default)]
struct Registry {
    databases: Mutex<HashMap<PathBuf, Arc<Database>>>,
    temporary: Counts,
}

/// The databases whose files are counted.
fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::default)
}

impl Registry {
    /// The counters of a database, made if there are none yet.
    fn database_at(&self, path: &Path) -> Arc<Database> {
        let mut databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(databases.entry(path.to_owned()).or_default())
    }
}

/// Registers the VFS with SQLite, idempotently. Connections opened with its name are counted.
pub fn register_vfs() -> Result<&'static str, HostError> {
    static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
    match REGISTERED.get_or_init(shim::register_shim) {
        Ok(()) => Ok(shim::NAME_TEXT),
        Err(reason) => Err(HostError::unavailable("count the I/O of SQLite", reason.clone())),
    }
}

/// All I/O of a database's connections since the process began. The path must exist.
pub fn traffic_of(database: &Path) -> Result<Traffic, HostError> {
    let path = std::fs::canonicalize(database).map_err(HostError::at("find", database))?;
    let database = registry().database_at(&path);
    let [main, wal, journal] = &database.files;
    Ok(Traffic { files: [main.read_io(), wal.read_io(), journal.read_io(), registry().temporary.read_io()] })
}

#[cfg(test)]
mod tests;
