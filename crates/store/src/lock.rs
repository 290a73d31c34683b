//! One conductor per store: a lock of the operating system that dies with its process, and a token in the store.
//!
//! The lock is on a file of its own, `…-lock`. Locks on the store's own file would meet SQLite's: in some systems the
//! two kinds conflict, and in all of POSIX closing a file drops every lock that the process has on it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};
use same_file::Handle;

use crate::error::Tried;
use crate::{Result, StoreError};

/// Attempts when the file is removed between opening and locking.
const TRIES: u32 = 100;
const TRIED: &str = "lock the store";

#[derive(Debug)]
pub(crate) struct WriteLock {
    /// Closing it releases the lock.
    _file: File,
    path: PathBuf,
}

pub(crate) enum Taken {
    Ours(WriteLock),
    /// Another process, or another `Store` of this one, has it.
    Theirs,
}

impl WriteLock {
    /// Tries to take the lock of the store at `store`, without waiting.
    pub(crate) fn try_take(store: &Path) -> Result<Taken> {
        let path = with_suffix(store, "-lock");
        for _ in 0..TRIES {
            // Nothing is ever written into it.
            if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file() || found.len() > 0) {
                let cause = "what lies there is not étalon's: move it away";
                return Err(StoreError::from_io(&path, TRIED, io::Error::new(io::ErrorKind::AlreadyExists, cause)));
            }
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .or_store_error(&path, TRIED)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Taken::Theirs),
                // A file system without locks: the token alone must do.
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(e)) => return Err(StoreError::from_io(&path, TRIED, e)),
            }
            // Its holder may have removed it after we opened it, and another process may have made a new one: ours is
            // then not the one that others find.
            if is_at(&file, &path) {
                return Ok(Taken::Ours(WriteLock { _file: file, path }));
            }
        }
        Ok(Taken::Theirs)
    }
}

/// Whether the open file is still the one at its path.
fn is_at(file: &File, path: &Path) -> bool {
    let opened = file.try_clone().and_then(Handle::from_file);
    matches!((opened, Handle::from_path(path)), (Ok(opened), Ok(found)) if opened == found)
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // While still locked, so that no one locks a file that is about to vanish.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the store's path with `suffix` at its end.
pub(crate) fn with_suffix(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Registers this process as the writer; every later write checks the token that it returns.
pub(crate) fn enter_writer(conn: &Connection, path: &Path) -> Result<String> {
    let token = new_token();
    conn.execute(
        "INSERT OR REPLACE INTO writer (id, token, pid) VALUES (1, ?1, ?2)",
        params![token, std::process::id()],
    )
    .or_store_error(path, "open it for writing")?;
    Ok(token)
}

/// Unregisters this process, if it still is the writer.
pub(crate) fn leave_writer(conn: &Connection, token: &str) -> rusqlite::Result<()> {
    conn.execute("DELETE FROM writer WHERE token = ?1", [token]).map(|_| ())
}

/// Fails unless the token in the store is ours.
pub(crate) fn check_token(conn: &Connection, token: &str, path: &Path, tried: &str) -> Result<()> {
    let found: Option<(String, u32)> = conn
        .prepare_cached("SELECT token, pid FROM writer")
        .and_then(|mut query| query.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .or_store_error(path, tried)?;
    match found {
        Some((found, _)) if found == token => Ok(()),
        other => Err(StoreError::TakenOver {
            path: path.to_owned(),
            tried: tried.to_owned(),
            pid: other.map(|(_, pid)| pid),
        }),
    }
}

/// The process that writes the store, for a message; `None` when unknown.
pub(crate) fn writer_pid(conn: &Connection) -> Option<u32> {
    conn.query_row("SELECT pid FROM writer", [], |row| row.get(0)).ok()
}

/// Makes a token that no other writer has: process, time and a count.
fn new_token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    format!("{}-{nanos}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_file_at_the_locks_path_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (store, lock) = (dir.path().join("x.etalon"), dir.path().join("x.etalon-lock"));
        fs::write(&lock, "my own notes").unwrap();
        assert!(WriteLock::try_take(&store).is_err());
        assert_eq!(fs::read(&lock).unwrap(), b"my own notes");
        // A killed étalon's.
        fs::write(&lock, "").unwrap();
        assert!(matches!(WriteLock::try_take(&store), Ok(Taken::Ours(_))));
        assert!(!lock.exists());
    }

    #[test]
    fn a_lock_on_a_file_that_was_replaced_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.etalon-lock");
        let first = File::create(&path).unwrap();
        assert!(is_at(&first, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&first, &path));
        // Its path is there again, and another file.
        let second = File::create(&path).unwrap();
        assert!(!is_at(&first, &path) && is_at(&second, &path));
    }
}
