//! Numbered migrations: step `i` takes a store from version `i` to version `i + 1`.
//!
//! `user_version` is the version. A new store runs the same steps from 0, so there is one way only in which tables come
//! to be. A step may rebuild tables: foreign keys are off while steps run and checked before they are committed.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::Tried;
use crate::{Result, StoreError, schema};

/// Never edit a released one.
pub(crate) const STEPS: &[&str] =
    &[schema::V1, schema::V2, schema::V3, schema::V4, schema::V5, schema::V6, schema::V7, schema::V8, schema::V9];

/// The version of the schema after all steps.
pub(crate) fn newest_version(steps: &[&str]) -> i64 {
    steps.len() as i64
}

/// Reads the version of a store's schema; fails if it is newer than `steps`, or negative.
pub(crate) fn read_schema_version(conn: &Connection, path: &Path, steps: &[&str]) -> Result<i64> {
    let found: i64 = conn
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .or_store_error(path, "read the version of the store")?;
    if found > newest_version(steps) {
        return Err(StoreError::NewerVersion { path: path.to_owned(), found, known: newest_version(steps) });
    }
    if found < 0 {
        return Err(damaged_error(path, format!("its version is {found}")));
    }
    Ok(found)
}

/// Brings a store's schema to the newest version, without checking foreign keys meanwhile.
pub(crate) fn migrate(conn: &mut Connection, path: &Path, steps: &[&str]) -> Result<()> {
    let from = read_schema_version(conn, path, steps)?;
    if from == newest_version(steps) {
        return Ok(());
    }
    let tried = format!("bring it from version {from} to version {}", newest_version(steps));
    conn.pragma_update(None, "foreign_keys", false).or_store_error(path, &tried)?;
    let done = run_steps(conn, path, steps, &tried);
    conn.pragma_update(None, "foreign_keys", true).or_store_error(path, &tried)?;
    done
}

/// Runs in one transaction the steps that a store does not have yet.
fn run_steps(conn: &mut Connection, path: &Path, steps: &[&str], tried: &str) -> Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Exclusive).or_store_error(path, tried)?;
    // The first reading was outside the transaction.
    let from = read_schema_version(&tx, path, steps)?;
    for step in steps.iter().skip(from as usize) {
        tx.execute_batch(step).or_store_error(path, tried)?;
    }
    let orphan: Option<String> = tx
        .prepare("PRAGMA foreign_key_check")
        .and_then(|mut query| query.query_map([], |row| row.get(0))?.next().transpose())
        .or_store_error(path, tried)?;
    if let Some(table) = orphan {
        return Err(damaged_error(path, format!("table {table} refers to rows that do not exist")));
    }
    tx.pragma_update(None, "user_version", newest_version(steps)).or_store_error(path, tried)?;
    tx.commit().or_store_error(path, tried)
}

/// Makes the error of a store whose version cannot be read or reached.
fn damaged_error(path: &Path, detail: String) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), tried: "read its version".to_owned(), detail }
}

#[cfg(test)]
#[path = "migrate_tests.rs"]
mod tests;
