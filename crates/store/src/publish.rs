//! A new store appears under its name whole or not at all.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use model::PlannedRun;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::Tried;
use crate::header::{self, Header};
use crate::lock::beside;
use crate::{Result, StoreError, migrate, schema};

const TRIED: &str = "create the store";

/// Where a store is built; removed on drop.
struct Scaffold(PathBuf);

impl Scaffold {
    /// Makes an empty file of a name that no one else has. A process that is killed leaves it: nothing but its name would
    /// tell the next one whose it is.
    fn new(store: &Path, path: &Path) -> Result<Scaffold> {
        // Each `RandomState` has keys of its own, seeded by the operating system.
        let random = RandomState::new().build_hasher().finish();
        let scaffold = beside(store, &format!("-{random:016x}.new"));
        File::create_new(&scaffold).tried(path, TRIED)?;
        Ok(Scaffold(scaffold))
    }
}

impl Drop for Scaffold {
    fn drop(&mut self) {
        // After a rename it is not there. Its journal is in memory.
        let _ = fs::remove_file(&self.0);
    }
}

/// Fails when a store cannot be created there: a file is in the way, or the folder is missing.
pub(crate) fn check_free(path: &Path) -> Result<()> {
    // SQLite would take a stranger's journal for this store's own, and "recover" its pages into it.
    for suffix in ["", "-wal", "-journal", "-shm"] {
        let path = beside(path, suffix);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(StoreError::Exists { path });
        }
    }
    match path.parent() {
        // The parent of a bare name is empty.
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(StoreError::NoFolder { path: path.to_owned() })
        }
        Some(_) => Ok(()),
        None => Err(StoreError::NotAFile { path: path.to_owned(), what: "a folder" }),
    }
}

/// Builds the store beside its place and then puts it there; `path` is its name for messages, `full` where it is.
pub(crate) fn publish(path: &Path, full: &Path, header: &Header, order: &[PlannedRun]) -> Result<()> {
    let scaffold = Scaffold::new(full, path)?;
    build(&scaffold.0, path, header, order)?;
    // Unlike a rename, a link never replaces a file.
    match fs::hard_link(&scaffold.0, full) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(StoreError::Exists { path: path.to_owned() }),
        // A file system without links, such as FAT.
        Err(_) => {
            check_free(path)?;
            fs::rename(&scaffold.0, full).tried(path, TRIED)?;
        }
    }
    drop(scaffold);
    sync_folder(full);
    Ok(())
}

/// Removes a new store that nobody knows yet.
pub(crate) fn remove(full: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(beside(full, suffix));
    }
}

/// Makes the new name survive a power cut, where the system can; otherwise only a store without runs is lost.
fn sync_folder(full: &Path) {
    if let Some(folder) = full.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}

fn build(file: &Path, path: &Path, header: &Header, order: &[PlannedRun]) -> Result<()> {
    header::check_order(path, &header.plan.cases(), order)?;
    let mut conn = Connection::open(file).tried(path, TRIED)?;
    // `auto_vacuum` must come before the first table: it lets `close` give back the reserve. A scaffold may be lost,
    // so it is synced once at the end.
    let settings = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; \
                    PRAGMA foreign_keys = ON;";
    conn.execute_batch(settings).tried(path, TRIED)?;
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID).tried(path, TRIED)?;
    migrate::migrate(&mut conn, path, migrate::STEPS)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).tried(path, TRIED)?;
    header::save(&tx, path, header, order)?;
    if header::load(&tx, path)?.0 != *header {
        return Err(StoreError::Refused {
            path: path.to_owned(),
            tried: TRIED.to_owned(),
            why: "the plan does not survive being stored; it holds a number that is not finite".to_owned(),
        });
    }
    tx.commit().tried(path, TRIED)?;
    conn.close().map_err(|(_, e)| e).tried(path, TRIED)?;
    // Windows syncs only what is open for writing.
    File::options().write(true).open(file).and_then(|file| file.sync_all()).tried(path, TRIED)
}
