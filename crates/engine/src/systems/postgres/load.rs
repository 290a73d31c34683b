//! Makes étalon's schema and fills its tables.

use std::io::{self, Write as _};

use postgres::{Client, SimpleQueryMessage, Transaction};

use super::SCHEMA;
use super::connect::failure;
use super::dialect::PostgresDialect;
use crate::dataset::{Dataset, Datum, Dialect, Table};
use crate::error::{Failure, FailureKind};
use crate::systems::owner::{MARKER, Owner};
use crate::systems::server::write_row;
use crate::target::Consent;

/// Large enough that system calls do not count.
const PIECE_BYTES: usize = 64 * 1024;

pub(super) fn owner_of_schema(client: &mut Client) -> Result<Owner, Failure> {
    let sql = format!(
        "SELECT coalesce(pg_catalog.obj_description(oid, 'pg_namespace'), '') FROM pg_catalog.pg_namespace \
         WHERE nspname = '{SCHEMA}'"
    );
    let answer =
        client.simple_query(&sql).map_err(|error| failure(format!("look for the schema `{SCHEMA}`"), &error))?;
    let comment = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default()),
        _ => None,
    });
    Ok(match comment {
        None => Owner::Nobody,
        Some(comment) => Owner::of_marker(comment),
    })
}

/// Unless the user agreed.
pub(super) fn refuse_foreign_schema(client: &mut Client, consent: Consent) -> Result<Owner, Failure> {
    let hint = format!("rename it (`ALTER SCHEMA {SCHEMA} RENAME TO …`), use another database, or drop it with --yes");
    owner_of_schema(client)?.unless_foreign(consent, &format!("the schema `{SCHEMA}`"), &hint)
}

/// Recreates the schema and its tables. It must be étalon's, nobody's, or given up.
///
/// One transaction: rows can be written frozen, since nobody sees the tables yet, so no run pays for hint bits or
/// anti-wraparound vacuum; and a failure changes nothing.
pub(super) fn load(client: &mut Client, data: &Dataset) -> Result<(), Failure> {
    let tried = format!("load {} into the schema `{SCHEMA}`", data.name);
    let fill = |client: &mut Client| -> Result<(), LoadError> {
        let mut transaction = client.transaction()?;
        transaction.batch_execute(&format!(
            "DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}; COMMENT ON SCHEMA {SCHEMA} IS '{MARKER}'"
        ))?;
        for table in &data.tables {
            transaction.batch_execute(&PostgresDialect.create_table(table))?;
            if table.rows > 0 {
                copy(&mut transaction, table)?;
            }
        }
        for table in &data.tables {
            if let Some(key) = table.primary_key {
                transaction.batch_execute(&format!("ALTER TABLE {} ADD PRIMARY KEY ({key})", table.name))?;
            }
        }
        for index in &data.indexes {
            transaction.batch_execute(&PostgresDialect.create_index(index))?;
        }
        for statement in &data.afterwards {
            transaction.batch_execute(statement)?;
        }
        Ok(transaction.commit()?)
    };
    fill(client).map_err(|error| match error {
        LoadError::Server(error) => explain(&tried, &error),
        LoadError::Copy(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(error) => explain(&tried, error),
            None => Failure::new(FailureKind::ConnectionLost, tried.clone(), error),
        },
    })
}

fn explain(tried: &str, error: &postgres::Error) -> Failure {
    let failure = failure(tried, error);
    if failure.kind == FailureKind::Permission {
        return failure.hint("let the role make a schema: `GRANT CREATE ON DATABASE … TO …`");
    }
    failure
}

enum LoadError {
    Server(postgres::Error),
    Copy(io::Error),
}

impl From<postgres::Error> for LoadError {
    fn from(error: postgres::Error) -> LoadError {
        LoadError::Server(error)
    }
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> LoadError {
        LoadError::Copy(error)
    }
}

fn copy(transaction: &mut Transaction<'_>, table: &Table) -> Result<(), LoadError> {
    let statement = format!("COPY {} FROM STDIN (FREEZE)", table.name);
    let mut writer = transaction.copy_in(&statement)?;
    let mut text = String::with_capacity(PIECE_BYTES + 4096);
    let mut row: Vec<Datum> = Vec::new();
    for index in 0..table.rows {
        row.clear();
        (table.row)(index, &mut row);
        write_row(&row, &mut text);
        if text.len() >= PIECE_BYTES {
            writer.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    writer.write_all(text.as_bytes())?;
    writer.finish()?;
    Ok(())
}

/// A state of the whole server without writes.
///
/// Whatever writes a row or changes a table takes a transaction number first: while none was given out, every row is
/// as it was. Numbers have an epoch and never return.
/// <https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT>
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Untouched {
    /// Next transaction number, and the server's start.
    last: String,
}

impl Untouched {
    /// `None` while a numbered transaction is running.
    pub(super) fn now(client: &mut Client) -> Result<Option<Untouched>, Failure> {
        let mut ask = |sql: &str| {
            let answer = super::counters::one(client, sql);
            answer.map_err(|error| failure("ask whether anything was written", &error))
        };
        // In this order: a transaction that begins after the first question is still visible at the second.
        let writing = "SELECT (SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'transactionid' AND granted \
                       AND mode = 'ExclusiveLock') + (SELECT count(*) FROM pg_catalog.pg_prepared_xacts)";
        if ask(writing)? != "0" {
            return Ok(None);
        }
        let last = ask("SELECT concat_ws(' ', pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot()), \
             extract(epoch FROM pg_catalog.pg_postmaster_start_time()))")?;
        Ok(Some(Untouched { last }))
    }
}

/// Dead rows, visibility map and statistics: otherwise a first run would differ from a second.
pub(super) fn vacuum(client: &mut Client, data: &Dataset) -> Result<(), Failure> {
    for table in &data.tables {
        let run = client.batch_execute(&format!("VACUUM (ANALYZE) {SCHEMA}.{}", table.name));
        run.map_err(|error| failure(format!("vacuum {}", table.name), &error))?;
    }
    Ok(())
}

/// If étalon made it.
pub(super) fn drop_schema(client: &mut Client) -> Result<(), Failure> {
    if owner_of_schema(client)? != Owner::Etalon {
        return Ok(());
    }
    let run = client.batch_execute(&format!("DROP SCHEMA {SCHEMA} CASCADE"));
    run.map_err(|error| failure(format!("drop the schema `{SCHEMA}`"), &error))
}
