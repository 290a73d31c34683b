//! Makes étalon's database and fills its tables.

use std::collections::BTreeSet;

use super::dialect::{MySqlDialect, quote_name, quote_text};
use super::room::{self, Reach, Room};
use super::{MySqlServer, MySqlSystem, SCHEMA, allowed_reach};
use crate::mysql::lane::{AskError, Client};
use crate::owner::{GIVEN, MARKER, MARKER_TABLE, TableOwner};
use crate::server::dialogue::first_columns;
use crate::server::parts::{LoadsParts, NOTES};
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::{self, piece_writer, write_values};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use workloads::contents::{Contents, Rows};
use workloads::dataset::{Dataset, Dialect, Table};
use workloads::system::Consent;

/// Bytes of a multi-row insert, within the server's default `max_allowed_packet`.
pub(super) const INSERT_BYTES: usize = 1 << 20;
const DUPLICATE_KEY_NAME: u16 = 1061;
const NO_LOCAL_FILES: [u16; 4] = [1148, 2068, 3948, 4166];

/// Reads who made the database of étalon's name, by its marker: étalon, another, or it is absent or empty.
pub(super) fn table_owner(client: &mut Client) -> Result<TableOwner, Failure> {
    let tried = format!("look for the database `{SCHEMA}`");
    let there = format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'");
    if client.query_first_value(&there).map_err(failing_to(&tried))? == "0" {
        return Ok(TableOwner::Absent);
    }
    let marker = format!(
        "SELECT table_comment FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name = \
         '{MARKER_TABLE}'"
    );
    let owner = TableOwner::from_marker(&client.query_first_value(&marker).map_err(failing_to(&tried))?);
    if owner != TableOwner::Others {
        return Ok(owner);
    }
    let things = format!(
        "SELECT (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{SCHEMA}') + \
         (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = '{SCHEMA}') + \
         (SELECT COUNT(*) FROM information_schema.events WHERE event_schema = '{SCHEMA}')"
    );
    Ok(if client.query_first_value(&things).map_err(failing_to(&tried))? == "0" {
        TableOwner::Given
    } else {
        TableOwner::Others
    })
}

/// Fails for a database that étalon did not make, unless the user agreed to lose it; returns whose it is.
pub(super) fn refuse_foreign(client: &mut Client, consent: Consent) -> Result<TableOwner, Failure> {
    let hint = "move its tables to another database, use another server, or drop it with --yes";
    table_owner(client)?.refuse_foreign_owner(consent, &format!("the database `{SCHEMA}`"), hint)
}

/// Drops étalon's own tables, then makes and fills those of a data set.
/// The database must be étalon's, absent, or given up.
pub(super) fn load_tables(client: &mut Client, data: &Dataset, owner: TableOwner, reach: Reach) -> Result<(), Failure> {
    let tried = format!("load {} into the database `{SCHEMA}`", data.name);
    make_room(client, data, owner, reach)
        .and_then(|()| fill_tables(client, data, &tried))
        .map_err(|error| error.into_failure(&tried))
}

/// Makes the tables, sends and verifies their rows, then makes indexes and statistics.
fn fill_tables(client: &mut Client, data: &Dataset, tried: &str) -> Result<(), LoadError> {
    let mut sent = Contents::default();
    for table in &data.tables {
        client.execute(&MySqlDialect.create_table_sql(table))?;
        let mut rows = Rows::new(table);
        if table.rows > 0 {
            fill_table(client, table, &mut rows)?;
        }
        sent.tables.push((table.name.to_string(), rows.checksum()));
    }
    server::check_tables_as_sent(client, data, &MySqlDialect, &sent, |error| explain_denial(tried, &error))
        .map_err(LoadError::Failed)?;
    for index in &data.indexes {
        client.execute(&MySqlDialect.create_index_sql(index))?;
    }
    for statement in &data.last_statements(&MySqlDialect) {
        client.execute(statement)?;
    }
    for table in &data.tables {
        analyze_table(client, table)?;
    }
    Ok(())
}

enum LoadError {
    Ask(AskError),
    Failed(Failure),
    Wrong(String),
}

impl From<AskError> for LoadError {
    fn from(error: AskError) -> LoadError {
        LoadError::Ask(error)
    }
}

impl LoadError {
    /// Makes the failure of a load.
    fn into_failure(self, tried: &str) -> Failure {
        match self {
            LoadError::Ask(error) => explain_denial(tried, &error),
            LoadError::Failed(failure) => failure,
            LoadError::Wrong(cause) => Failure::new(FailureKind::Verification, tried, cause),
        }
    }
}

/// Makes a failure from an error, with a hint if the account lacks a privilege.
fn explain_denial(tried: &str, error: &AskError) -> Failure {
    let failure = ask_failure(tried, error);
    match failure.kind {
        FailureKind::Permission if failure.hint.is_none() => {
            failure.with_hint(format!("let the account have étalon's own database: `GRANT ALL ON {SCHEMA}.* TO …`"))
        }
        _ => failure,
    }
}

/// Drops étalon's things, making the database if it is absent, and lists in the marker what étalon is about to make.
fn make_room(client: &mut Client, data: &Dataset, owner: TableOwner, reach: Reach) -> Result<(), LoadError> {
    let mut names = data.made_names(&MySqlDialect);
    names.extend(NOTES.rsplit('.').next().map(str::to_owned));
    match owner {
        TableOwner::Absent => make_database(client)?,
        TableOwner::Others => {
            client.execute(&format!("DROP DATABASE {SCHEMA}"))?;
            make_database(client)?;
        }
        TableOwner::Given => room::make_marker(client, &format!("{MARKER}{GIVEN}"))?,
        TableOwner::Guest | TableOwner::Etalon => {
            let mut room = Room::inspect(client, reach)?;
            room.refuse_dependents().map_err(LoadError::Failed)?;
            room.refuse_taken(&names).map_err(LoadError::Failed)?;
            room.drop_own_things(client)?;
            room.refuse_dependents().map_err(LoadError::Failed)?;
        }
    }
    room::write_names(client, &names)?;
    Ok(client.execute(&format!("USE {SCHEMA}"))?)
}

/// Makes the database with its marker, or not at all.
fn make_database(client: &mut Client) -> Result<(), AskError> {
    client.execute(&format!("CREATE DATABASE {SCHEMA}"))?;
    let marked = room::make_marker(client, MARKER);
    if matches!(marked, Err(AskError::Server(_))) {
        // The failure is the first error's; it is empty.
        let _ = client.execute(&format!("DROP DATABASE {SCHEMA}"));
    }
    marked
}

/// Sends a table's rows, as a file where allowed: twice as fast as statements.
fn fill_table(client: &mut Client, table: &Table, rows: &mut Rows<'_>) -> Result<(), LoadError> {
    let packet_bytes: usize =
        client.query_first_value("SELECT @@SESSION.max_allowed_packet")?.parse().unwrap_or(INSERT_BYTES);
    if client.query_first_value("SELECT @@GLOBAL.local_infile")? == "1" {
        match send_file(client, table, rows, packet_bytes) {
            Ok(taken) if taken == rows.checksum().rows => return Ok(()),
            Ok(taken) => {
                let sent = rows.checksum().rows;
                return Err(LoadError::Wrong(format!("the server took {taken} of {sent} rows of {}", table.name)));
            }
            Err(AskError::Server(error)) if NO_LOCAL_FILES.contains(&error.code) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(insert_rows(client, table, rows, packet_bytes)?)
}

/// Writes the list of columns that rows have for an `INSERT`; empty for a user's own table.
/// A table without a key of its own has one column more.
fn loaded_columns(table: &Table) -> String {
    if table.columns.is_empty() {
        return String::new();
    }
    let names = table.columns.iter().map(|column| quote_name(column.name)).collect::<Vec<_>>();
    format!(" ({})", names.join(", "))
}

/// Sends a table's rows by `LOAD DATA LOCAL INFILE`; returns how many the server took.
fn send_file(client: &mut Client, table: &Table, rows: &mut Rows<'_>, packet_bytes: usize) -> Result<u64, AskError> {
    let columns = loaded_columns(table);
    let sql = format!("LOAD DATA LOCAL INFILE '{0}' INTO TABLE `{0}` CHARACTER SET utf8mb4{columns}", table.name);
    Ok(client.send_file(&sql, packet_bytes, &mut piece_writer(rows))?.affected)
}

/// Sends rows by multi-row statements in autocommit.
fn insert_rows(client: &mut Client, table: &Table, rows: &mut Rows<'_>, packet_bytes: usize) -> Result<(), AskError> {
    let limit = INSERT_BYTES.min(packet_bytes / 2);
    let head = format!("INSERT INTO `{}`{} VALUES ", table.name, loaded_columns(table));
    let mut sql = head.clone();
    let mut row: Vec<Datum> = Vec::new();
    while rows.next_into(&mut row) {
        write_values(&row, quote_text, &mut sql);
        if sql.len() >= limit || rows.are_over() {
            client.execute(sql.trim_end_matches(','))?;
            sql.truncate(head.len());
        }
    }
    Ok(())
}

impl LoadsParts for MySqlServer {
    const READ_NOTES: (&'static str, &'static str) = ("BEGIN", " ORDER BY part LOCK IN SHARE MODE");

    /// Whether a load that was broken off can go on: the tables are étalon's, and all transactional.
    fn may_continue_load(client: &mut Client) -> Result<bool, Failure> {
        if !matches!(table_owner(client)?, TableOwner::Etalon | TableOwner::Guest) {
            return Ok(false);
        }
        // Other engines keep half a transaction.
        let others = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_type = 'BASE TABLE' \
             AND engine <> 'InnoDB'"
        );
        let others =
            client.query_first_value(&others).map_err(|error| ask_failure("look at what is loaded already", &error))?;
        Ok(others == "0")
    }

    /// Makes the data set's empty tables and the notes of their parts.
    fn make_tables(system: &MySqlSystem, client: &mut Client, data: &Dataset, notes: &[String]) -> Result<(), Failure> {
        let tried = format!("load {} into the database `{SCHEMA}`", data.name);
        let owner = refuse_foreign(client, system.consent)?;
        make_room(client, data, owner, allowed_reach(system)).map_err(|error| error.into_failure(&tried))?;
        let mut statements =
            data.tables.iter().map(|table| MySqlDialect.create_table_sql(table)).chain(notes.iter().cloned());
        statements.try_for_each(|statement| client.execute(&statement)).map_err(|error| explain_denial(&tried, &error))
    }

    /// Sends rows of a part of a table.
    fn send_rows(client: &mut Client, table: &Table, rows: &mut Rows<'_>) -> Result<(), Failure> {
        fill_table(client, table, rows).map_err(|error| error.into_failure(&format!("load {}", table.name)))
    }

    /// Lists the statements that index a table once its rows are there.
    fn later_statements(data: &Dataset, table: &Table) -> Vec<String> {
        let of_table = data.indexes.iter().filter(|index| index.table == table.name);
        of_table.map(|index| MySqlDialect.create_index_sql(index)).collect()
    }

    /// Whether an error says that the index is there already.
    fn means_already_made(error: &AskError) -> bool {
        matches!(error, AskError::Server(error) if error.code == DUPLICATE_KEY_NAME)
    }

    /// Gathers a table's statistics.
    fn settle_table(client: &mut Client, table: &Table) -> Result<(), Failure> {
        analyze_table(client, table).map_err(|error| error.into_failure(&format!("analyze {}", table.name)))
    }

    /// Drops the load's notes and runs the data set's last statements.
    /// The user's statements may not be repeatable: an étalon that ends among them makes all again.
    fn end_load(client: &mut Client, data: &Dataset) -> Result<(), Failure> {
        finish_load(client, data).map_err(|error| error.into_failure(&format!("finish the load of {}", data.name)))
    }
}

/// Drops the notes and runs the data set's last statements.
fn finish_load(client: &mut Client, data: &Dataset) -> Result<(), LoadError> {
    client.execute(&format!("DROP TABLE {NOTES}"))?;
    data.last_statements(&MySqlDialect).iter().try_for_each(|statement| client.execute(statement))?;
    let again = if data.has_statements_of_user() { &data.tables } else { &[][..] };
    again.iter().try_for_each(|table| analyze_table(client, table))
}

/// Gathers a table's statistics again.
fn analyze_table(client: &mut Client, table: &Table) -> Result<(), LoadError> {
    for row in client.query_text_rows(&format!("ANALYZE TABLE `{}`", table.name))? {
        let [_, _, kind, message] = first_columns(row);
        if kind.eq_ignore_ascii_case("error") {
            return Err(LoadError::Wrong(format!("analyze {}: {message}", table.name)));
        }
    }
    Ok(())
}

/// Drops what étalon made, and the database with it if étalon made that and nothing of others lies there.
///
/// # Errors
/// [`FailureKind::NotOurs`]: something of others stays, which the failure names.
pub(super) fn remove_database(client: &mut Client) -> Result<(), Failure> {
    let owner = table_owner(client)?;
    if !matches!(owner, TableOwner::Etalon | TableOwner::Guest) {
        return Ok(());
    }
    let tried = format!("drop the database `{SCHEMA}`");
    let (room, views) = clear_room(client, owner).map_err(failing_to(&tried))?;
    room.check_nothing_left(views)
}

/// Drops what étalon made, and the database if it is étalon's alone.
/// Returns what is left, and the views of others that read it.
fn clear_room(client: &mut Client, owner: TableOwner) -> Result<(Room, Vec<String>), AskError> {
    let mut room = Room::inspect(client, Reach::Names)?;
    let views = room.views_of_others(client)?;
    match (room.drop_own_things(client)?, owner) {
        (true, _) => {}
        (false, TableOwner::Etalon) if room.is_shared() => room::write_names(client, &BTreeSet::new())?,
        (false, TableOwner::Etalon) => client.execute(&format!("DROP DATABASE {SCHEMA}"))?,
        (false, _) => client.execute(&format!("DROP TABLE {SCHEMA}.{MARKER_TABLE}"))?,
    }
    Ok((room, views))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_insert_takes_them() {
        let mut sql = String::new();
        let row = [Datum::Int(-1), Datum::Null, Datum::Double(0.5), Datum::Text("a'b".into())];
        write_values(&row, quote_text, &mut sql);
        assert_eq!(sql, "(-1,NULL,5e-1,'a''b'),");
    }
}
