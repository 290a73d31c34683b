//! Disk space kept for the next record, so that it can be written when the measured system has filled the disk.
//!
//! Two files grow when a record is committed: the WAL at once, the store itself when the WAL is written back. So before
//! a run a blob of zeroes is committed and deleted again, and the WAL is written back: the store then owns free pages,
//! and the WAL owns its length on disk and is started over by the next transaction. This happens outside the measured
//! window; if there is no space for it, the run is not started. File systems that write every change to a new place
//! (btrfs, ZFS) give no such promise.

use std::path::Path;

use rusqlite::Connection;

use crate::error::Tried;
use crate::lock::with_suffix;
use crate::{Result, Store};

/// Below this the reserve is filled up: more than a run's record takes.
const LOW_BYTES: i64 = 1 << 19;
/// The reserve is filled up to this, so that it is not done before every run.
const FULL_BYTES: i64 = 1 << 20;

impl Store {
    /// Fills up the reserve of free space for the next run's record, and makes the next transaction start the WAL over.
    pub(crate) fn top_up_reserve(&mut self) -> Result<()> {
        let tried = "reserve space for the next run's record";
        // SQLite's name for it: a relative path means another file once the working folder has changed.
        let file = Path::new(self.conn.path().unwrap_or_default());
        let wal_bytes = std::fs::metadata(with_suffix(file, "-wal")).map_or(0, |found| found.len() as i64);
        if free_bytes(&self.conn).or_store_error(&self.path, tried)? < LOW_BYTES || wal_bytes < LOW_BYTES {
            self.write(tried, |tx, path| {
                tx.execute("INSERT INTO ballast (zeroes) VALUES (zeroblob(?1))", [FULL_BYTES])
                    .or_store_error(path, tried)
            })?;
            // Not in the same transaction: SQLite would then write none of it.
            self.write(tried, |tx, path| tx.execute("DELETE FROM ballast", []).or_store_error(path, tried))?;
        }
        self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).or_store_error(&self.path, tried)
    }
}

/// Counts the bytes of pages in the file that are free.
fn free_bytes(conn: &Connection) -> rusqlite::Result<i64> {
    let pages: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
    let page_bytes: i64 = conn.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    Ok(pages * page_bytes)
}
