//! A layer between SQLite and its files that counts what passes: exactly, by kind of file.
//!
//! SQLite keeps no counters of its own I/O. Its VFS interface (<https://www.sqlite.org/vfs.html>) is the place where all of
//! it goes by; this one hands every call on to the system's own VFS and notes how many there were, how many bytes, and
//! how long they took. It costs two clock readings a call.
//!
//! What SQLite reads through a memory map (`mmap_size`) is no call, and is counted as fetches without a time. The shared
//! memory of the write-ahead log's index is no file I/O and is not counted.

mod count;
mod shim;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use count::Counts;
pub use count::{FileIo, Traffic};

use crate::error::HostError;

/// The kinds of files that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Database,
    Wal,
    /// The rollback journal, and the super-journal of a transaction over several databases.
    Journal,
    /// Sorters, statement journals and temporary tables. SQLite gives these files no name, so that they are those of the
    /// whole process.
    Temporary,
}

impl FileKind {
    pub const ALL: [FileKind; 4] = [FileKind::Database, FileKind::Wal, FileKind::Journal, FileKind::Temporary];

    /// The kind's name in metrics and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::Database => "database",
            FileKind::Wal => "wal",
            FileKind::Journal => "journal",
            FileKind::Temporary => "temporary",
        }
    }
}

/// What all connections to one database have done since the process began.
#[derive(Debug, Default)]
struct Database {
    files: [Counts; 3],
}

#[derive(Debug, Default)]
struct Registry {
    databases: Mutex<HashMap<PathBuf, Arc<Database>>>,
    temporary: Counts,
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::default)
}

impl Registry {
    fn database(&self, path: &Path) -> Arc<Database> {
        let mut databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(databases.entry(path.to_owned()).or_default())
    }
}

/// Makes the counting VFS known to SQLite; any number of times. Connections that are opened by its name are counted.
pub fn register() -> Result<&'static str, HostError> {
    static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
    match REGISTERED.get_or_init(shim::register) {
        Ok(()) => Ok(shim::NAME_TEXT),
        Err(reason) => Err(HostError::unavailable("count the I/O of SQLite", reason.clone())),
    }
}

/// What has passed to and from the files of a database since the process began, by all its connections. The path is that of
/// the database, which must exist.
pub fn traffic(database: &Path) -> Result<Traffic, HostError> {
    let path = std::fs::canonicalize(database).map_err(HostError::at("find", database))?;
    let database = registry().database(&path);
    let [main, wal, journal] = &database.files;
    Ok(Traffic { files: [main.read(), wal.read(), journal.read(), registry().temporary.read()] })
}

#[cfg(test)]
mod tests;
