//! Makes étalon's schema and fills its tables.

use std::collections::BTreeSet;

use super::dialect::PostgresDialect;
use super::room::{self, Reach, Room};
use super::{PostgresServer, PostgresSystem, SCHEMA, allowed_reach};
use crate::owner::TableOwner;
use crate::postgres::lane::{AskError, Client};
use crate::server::parts::{LoadsParts, NOTES};
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::{self, piece_writer};
use load::error::{Failure, FailureKind};
use workloads::contents::{Contents, Rows};
use workloads::dataset::{Dataset, Dialect, Table};
use workloads::system::Consent;

/// Reads who made étalon's schema, by its comment.
pub(super) fn owner_of_schema(client: &mut Client) -> Result<TableOwner, Failure> {
    let sql = format!(
        "SELECT coalesce(pg_catalog.obj_description(oid, 'pg_namespace'), '') FROM pg_catalog.pg_namespace \
         WHERE nspname = '{SCHEMA}'"
    );
    let rows =
        client.query_text_rows(&sql).map_err(|error| ask_failure(format!("look for the schema `{SCHEMA}`"), &error))?;
    let comment = rows.into_iter().next().map(|row| row.into_iter().next().flatten().unwrap_or_default());
    Ok(match comment {
        None => TableOwner::Absent,
        Some(comment) => TableOwner::from_marker(&comment),
    })
}

/// Returns who made the schema, or fails if others did and the user has not agreed to lose it.
pub(super) fn refuse_foreign_schema(client: &mut Client, consent: Consent) -> Result<TableOwner, Failure> {
    let hint = format!("rename it (`ALTER SCHEMA {SCHEMA} RENAME TO …`), use another database, or drop it with --yes");
    owner_of_schema(client)?.refuse_foreign_owner(consent, &format!("the schema `{SCHEMA}`"), &hint)
}

/// Makes the schema and its tables again in one transaction, loads and checks their rows.
/// It must be étalon's, absent, or given up.
///
/// One transaction: rows can be written frozen, since no one sees the tables yet, so no run pays for hint bits or
/// anti-wraparound vacuum; and a failure changes nothing.
pub(super) fn load_tables(client: &mut Client, data: &Dataset, reach: Reach) -> Result<(), Failure> {
    let tried = format!("load {} into the schema `{SCHEMA}`", data.name);
    let asked = |error: AskError| load_failure(&tried, &error);
    let sent = begin_load(client, data, reach).and_then(|()| fill_tables(client, data).map_err(asked));
    let held = sent.and_then(|sent| server::check_tables_as_sent(client, data, &PostgresDialect, &sent, asked));
    let finished = held.and_then(|()| finish_load(client, data).map_err(asked));
    if finished.as_ref().is_err_and(|failure| failure.kind != FailureKind::ConnectionLost) {
        // The failure is the first error's.
        let _ = client.execute("ROLLBACK");
    }
    finished
}

/// Makes the failure of a load, with what lets the role load if that was denied.
fn load_failure(tried: &str, error: &AskError) -> Failure {
    let failure = ask_failure(tried, error);
    match failure.kind {
        FailureKind::Permission => failure.with_hint("let the role make a schema: `GRANT CREATE ON DATABASE … TO …`"),
        _ => failure,
    }
}

/// Begins a transaction, drops étalon's things in the schema, and notes what étalon will make there.
fn begin_load(client: &mut Client, data: &Dataset, reach: Reach) -> Result<(), Failure> {
    let tried = format!("make the schema `{SCHEMA}`");
    client.execute("BEGIN").map_err(|error| load_failure(&tried, &error))?;
    let mut names = data.made_names(&PostgresDialect);
    names.extend(NOTES.rsplit('.').next().map(str::to_owned));
    if client
        .query_first_value(&format!("SELECT pg_catalog.to_regnamespace('{SCHEMA}') IS NOT NULL"))
        .map_err(|error| load_failure(&tried, &error))?
        == "t"
    {
        let room = Room::inspect(client, reach).map_err(|error| load_failure(&tried, &error))?;
        room.refuse_dependents()?;
        room.refuse_taken(&names)?;
        room.drop_own_things(client).map_err(|error| load_failure(&tried, &error))?;
        if !room.is_shared() {
            client.execute(&format!("DROP SCHEMA {SCHEMA}")).map_err(|error| load_failure(&tried, &error))?;
        }
    }
    client.execute(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}")).map_err(|error| load_failure(&tried, &error))?;
    room::write_comment(client, &names).map_err(|error| load_failure(&tried, &error))
}

/// Makes the tables and sends their rows; returns what was sent.
fn fill_tables(client: &mut Client, data: &Dataset) -> Result<Contents, AskError> {
    let mut sent = Contents::default();
    for table in &data.tables {
        client.execute(&PostgresDialect.create_table_sql(table))?;
        let mut rows = Rows::new(table);
        if table.rows > 0 {
            client.copy_in(&format!("COPY {} FROM STDIN (FREEZE)", table.name), &mut piece_writer(&mut rows))?;
        }
        sent.tables.push((table.name.to_string(), rows.checksum()));
    }
    Ok(sent)
}

/// Makes keys and indexes, runs the data set's last statements, notes the tables' numbers, and commits.
fn finish_load(client: &mut Client, data: &Dataset) -> Result<(), AskError> {
    for statement in data.tables.iter().filter_map(primary_key_sql) {
        client.execute(&statement)?;
    }
    for index in &data.indexes {
        client.execute(&PostgresDialect.create_index_sql(index))?;
    }
    data.last_statements(&PostgresDialect).iter().try_for_each(|statement| client.execute(statement))?;
    room::note_numbers(client, &data.lasting_tables(&PostgresDialect))?;
    client.execute("COMMIT")
}

/// Writes the statement that adds a table's primary key, if it has one.
fn primary_key_sql(table: &Table) -> Option<String> {
    let key = table.primary_key.join(", ");
    (!key.is_empty()).then(|| format!("ALTER TABLE {} ADD PRIMARY KEY ({key})", table.name))
}

impl LoadsParts for PostgresServer {
    const READ_NOTES: (&'static str, &'static str) =
        ("BEGIN; LOCK TABLE etalon.etalon_loaded IN SHARE MODE", " ORDER BY part");

    /// Has the server notice within 5 s that the session's client is gone.
    /// That ends the making of an index for an étalon that was killed.
    fn set_up_loader(client: &mut Client) -> Result<(), AskError> {
        // For each transaction it would have to be known to the server.
        if client.shares_session() {
            Ok(())
        } else {
            client.set_for_session(&[("client_connection_check_interval", "5s")])
        }
    }

    /// Tests whether étalon made the schema that is there.
    fn may_continue_load(client: &mut Client) -> Result<bool, Failure> {
        Ok(owner_of_schema(client)? == TableOwner::Etalon)
    }

    /// Makes schema, tables and notes of a load in parts, in one transaction.
    fn make_tables(
        system: &PostgresSystem,
        client: &mut Client,
        data: &Dataset,
        notes: &[String],
    ) -> Result<(), Failure> {
        let tried = format!("load {} into the schema `{SCHEMA}`", data.name);
        let tables = data.tables.iter().map(|table| PostgresDialect.create_table_sql(table));
        let mut statements = tables.chain(notes.iter().cloned()).chain(["COMMIT".to_owned()]);
        let made = begin_load(client, data, allowed_reach(system)).and_then(|()| {
            statements
                .try_for_each(|statement| client.execute(&statement))
                .map_err(|error| load_failure(&tried, &error))
        });
        if made.as_ref().is_err_and(|failure| failure.kind != FailureKind::ConnectionLost) {
            // The failure is the first error's.
            let _ = client.execute("ROLLBACK");
        }
        made
    }

    /// Sends rows to a table by `COPY`.
    fn send_rows(client: &mut Client, table: &Table, rows: &mut Rows<'_>) -> Result<(), Failure> {
        let sent = client.copy_in(&format!("COPY {} FROM STDIN", table.name), &mut piece_writer(rows));
        sent.map_err(|error| ask_failure(format!("load {}", table.name), &error))
    }

    /// Writes the statements for a table's primary key and indexes.
    fn later_statements(data: &Dataset, table: &Table) -> Vec<String> {
        let of_table = data.indexes.iter().filter(|index| index.table == table.name);
        primary_key_sql(table)
            .into_iter()
            .chain(of_table.map(|index| PostgresDialect.create_index_sql(index)))
            .collect()
    }

    /// Returns `false`: statements of all kinds are undone with their transaction.
    fn means_already_made(_error: &AskError) -> bool {
        false
    }

    /// Vacuums and freezes a table: rows that came in several transactions cannot be written frozen.
    fn settle_table(client: &mut Client, table: &Table) -> Result<(), Failure> {
        let run = client.execute_alone(&format!("VACUUM (FREEZE, ANALYZE) {SCHEMA}.{}", table.name));
        run.map_err(|error| ask_failure(format!("vacuum {}", table.name), &error))
    }

    /// Drops the notes, runs the data set's last statements, and commits.
    fn end_load(client: &mut Client, data: &Dataset) -> Result<(), Failure> {
        let begin = ["BEGIN".to_owned(), format!("DROP TABLE {NOTES}")];
        let mut statements = begin.into_iter().chain(data.last_statements(&PostgresDialect));
        let ended = statements
            .try_for_each(|statement| client.execute(&statement))
            .and_then(|()| room::note_numbers(client, &data.lasting_tables(&PostgresDialect)))
            .and_then(|()| client.execute("COMMIT"));
        if matches!(ended, Err(AskError::Server(_))) {
            let _ = client.execute("ROLLBACK");
        }
        ended.map_err(|error| load_failure(&format!("finish the load of {}", data.name), &error))?;
        if data.has_statements_of_user() { vacuum_tables(client, data) } else { Ok(()) }
    }
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
    /// Reads the state by which a later write would be seen. `None` while a numbered transaction is running.
    pub(super) fn read_now(client: &mut Client) -> Result<Option<Untouched>, Failure> {
        let tried = "ask whether anything was written";
        // In this order: a transaction that begins after the first question is still visible at the second.
        let writing = "SELECT (SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'transactionid' AND granted \
                       AND mode = 'ExclusiveLock') + (SELECT count(*) FROM pg_catalog.pg_prepared_xacts)";
        if client.query_first_value(writing).map_err(failing_to(tried))? != "0" {
            return Ok(None);
        }
        let last = "SELECT concat_ws(' ', pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot()), \
                    extract(epoch FROM pg_catalog.pg_postmaster_start_time()))";
        let last = client.query_first_value(last).map_err(failing_to(tried))?;
        Ok(Some(Untouched { last }))
    }
}

/// Vacuums and analyses a data set's tables.
/// Otherwise a first run would differ from a second.
pub(super) fn vacuum_tables(client: &mut Client, data: &Dataset) -> Result<(), Failure> {
    for table in &data.tables {
        let run = client.execute_alone(&format!("VACUUM (ANALYZE) {SCHEMA}.{}", table.name));
        run.map_err(|error| ask_failure(format!("vacuum {}", table.name), &error))?;
    }
    Ok(())
}

/// Drops what étalon made in its schema, and the schema if nothing else lies there.
///
/// # Errors
/// [`FailureKind::NotOurs`]: something of others stays, which the failure names.
pub(super) fn remove_schema(client: &mut Client) -> Result<(), Failure> {
    if owner_of_schema(client)? != TableOwner::Etalon {
        return Ok(());
    }
    let room = drop_own_and_list(client);
    if matches!(room, Err(AskError::Server(_))) {
        // The failure is the first error's.
        let _ = client.execute("ROLLBACK");
    }
    room.map_err(|error| ask_failure(format!("drop the schema `{SCHEMA}`"), &error))?.refuse_leftovers_of_others()
}

/// Drops étalon's things in its schema in one transaction, and returns what was there.
fn drop_own_and_list(client: &mut Client) -> Result<Room, AskError> {
    client.execute("BEGIN")?;
    let room = Room::inspect(client, Reach::Names)?;
    match (room.drop_own_things(client)?, room.is_shared()) {
        (false, false) => client.execute(&format!("DROP SCHEMA {SCHEMA}"))?,
        // What others make by these names from now on is not étalon's.
        (false, true) => room::write_comment(client, &BTreeSet::new())?,
        (true, _) => {}
    }
    client.execute("COMMIT")?;
    Ok(room)
}
