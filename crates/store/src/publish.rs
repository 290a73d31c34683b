//! A new store appears under its name whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

use host::HostError;
use host::files::{self, PutError, Replacing};
use model::PlannedRun;
use rusqlite::{Connection, MAIN_DB, TransactionBehavior};

use crate::error::Tried;
use crate::header::{self, Header};
use crate::lock::with_suffix;
use crate::{Result, StoreError, migrate, schema};

const TRIED: &str = "create the store";

/// Fails when a store cannot be created there: a file is in the way, or the folder is missing.
pub(crate) fn check_free(path: &Path) -> Result<()> {
    // SQLite would take a stranger's journal for this store's own, and "recover" its pages into it.
    for suffix in ["", "-wal", "-journal", "-shm"] {
        let path = with_suffix(path, suffix);
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

/// Builds a store in memory and writes it to its place; `path` is its name for messages, `full` where it is.
pub(crate) fn write_new_store(path: &Path, full: &Path, header: &Header, order: &[PlannedRun]) -> Result<()> {
    let image = build_bytes(path, header, order)?;
    files::put_file(full, &image, Replacing::Own(&|_| false)).map_err(|error| match error {
        PutError::Occupied { .. } => StoreError::Exists { path: path.to_owned() },
        PutError::Host(HostError::Path { cause, .. }) => StoreError::from_io(path, TRIED, cause),
        PutError::Host(error) => StoreError::from_io(path, TRIED, io::Error::new(error.kind(), error.to_string())),
    })
}

/// Removes a new store that no one knows yet, with SQLite's files next to it.
pub(crate) fn remove_store_files(full: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(with_suffix(full, suffix));
    }
}

/// Makes the bytes of a new store's file; fails if the order does not fit the plan.
fn build_bytes(path: &Path, header: &Header, order: &[PlannedRun]) -> Result<Vec<u8>> {
    header::check_order(path, &header.plan.cases(), order)?;
    let mut conn = Connection::open_in_memory().or_store_error(path, TRIED)?;
    // `auto_vacuum` must come before the first table: it lets `close` give back the reserve.
    let settings = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA foreign_keys = ON;";
    conn.execute_batch(settings).or_store_error(path, TRIED)?;
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID).or_store_error(path, TRIED)?;
    migrate::migrate(&mut conn, path, migrate::STEPS)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).or_store_error(path, TRIED)?;
    header::save_plan(&tx, path, header, order)?;
    if header::load_header(&tx, path)?.0 != *header {
        return Err(StoreError::Refused {
            path: path.to_owned(),
            tried: TRIED.to_owned(),
            why: "the plan does not survive being stored; it holds a number that is not finite".to_owned(),
        });
    }
    tx.commit().or_store_error(path, TRIED)?;
    Ok(conn.serialize(MAIN_DB).or_store_error(path, TRIED)?.to_vec())
}
