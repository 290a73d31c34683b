//! Makes étalon's database and fills its tables.

use std::collections::BTreeSet;

use super::connect::{Endpoint, ignore_unknown_statement};
use super::database_snapshots::Snapshots;
use super::dialect::{TSql, quote_name, quote_text};
use super::room::{self, Reach, Room};
use super::session::{SessionSettings, names_own_database};
use super::{SCHEMA, SqlServerSystem, allowed_reach, backup, keys};
use crate::owner::{GIVEN, MARKER, MARKER_TABLE, TableOwner};
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::url::Address as _;
use crate::server::{self, write_values};
use crate::sqlserver::lane::{AskError, Client};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use workloads::contents::{Contents, Rows};
use workloads::dataset::{Dataset, Dialect, Table};
use workloads::system::Consent;

/// Limit of `VALUES`.
const INSERT_ROWS: usize = 1000;
/// Bytes of a multi-row insert.
const INSERT_BYTES: usize = 256 << 10;

/// Follows `ALTER DATABASE … `: all sessions of the database end.
pub(super) const SINGLE_USER: &str = "SET SINGLE_USER WITH ROLLBACK IMMEDIATE";

/// Reads who made the database of étalon's name, by its marker: étalon, another, or it is absent or empty.
pub(super) fn table_owner(client: &mut Client) -> Result<TableOwner, Failure> {
    let tried = format!("look for the database `{SCHEMA}`");
    if client
        .query_first_value(&format!("SELECT COUNT(*) FROM sys.databases WHERE name = N'{SCHEMA}'"))
        .map_err(failing_to(&tried))?
        == "0"
    {
        return Ok(TableOwner::Absent);
    }
    let marker = format!("[{SCHEMA}].dbo.{MARKER_TABLE}");
    if client.query_first_value(&format!("SELECT OBJECT_ID(N'{marker}')")).map_err(failing_to(&tried))?.is_empty() {
        let things = format!("SELECT COUNT(*) FROM [{SCHEMA}].sys.objects WHERE is_ms_shipped = 0");
        let is_empty = client.query_first_value(&things).map_err(failing_to(&tried))? == "0";
        return Ok(if is_empty { TableOwner::Given } else { TableOwner::Others });
    }
    Ok(TableOwner::from_marker(&room::read_marker(client).map_err(failing_to(&tried))?))
}

/// Fails for a database that étalon did not make, unless the user agreed to lose it; returns whose it is.
pub(super) fn refuse_foreign(client: &mut Client, consent: Consent) -> Result<TableOwner, Failure> {
    let hint = "move its tables to another database, use another server, or drop it with --yes";
    table_owner(client)?.refuse_foreign_owner(consent, &format!("the database `{SCHEMA}`"), hint)
}

/// Whether the login may make databases.
pub(super) fn may_make_databases(client: &mut Client) -> Result<bool, AskError> {
    Ok(client.query_first_value("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY DATABASE')")? == "1")
}

/// Fails for a read-only database, and for a login that may not make étalon's database or tables in it.
pub(super) fn refuse_unfit(client: &mut Client, endpoint: &Endpoint, owner: TableOwner) -> Result<(), Failure> {
    let tried = "ask what the server lets étalon do";
    let using = format!("use {}", endpoint.address.shown_url());
    let login = client.query_first_value("SELECT SUSER_SNAME()").map_err(failing_to(tried))?;
    if owner == TableOwner::Absent {
        if may_make_databases(client).map_err(failing_to(tried))? {
            return Ok(());
        }
        let cause = format!("the login `{login}` may not make the database `{SCHEMA}`");
        let give = format!(
            "`ALTER SERVER ROLE dbcreator ADD MEMBER [{login}]`; or make it for the login: `CREATE DATABASE {SCHEMA}; ALTER \
             AUTHORIZATION ON DATABASE::{SCHEMA} TO [{login}]`"
        );
        return Err(Failure::new(FailureKind::Permission, using, cause).with_hint(give));
    }
    let state = client
        .query_first_value(&format!("SELECT DATABASEPROPERTYEX(N'{SCHEMA}', 'Updateability')"))
        .map_err(failing_to(tried))?;
    if state == "READ_ONLY" {
        let cause = format!("the database `{SCHEMA}` is read-only");
        return Err(
            Failure::new(FailureKind::Unsupported, using, cause).with_hint("name the primary server in the URL")
        );
    }
    let may = client
        .query_first_value(&format!("SELECT HAS_PERMS_BY_NAME(N'{SCHEMA}', 'DATABASE', 'CREATE TABLE')"))
        .map_err(failing_to(tried))?;
    if may == "1" {
        return Ok(());
    }
    let cause = format!("the login `{login}` may only read the database `{SCHEMA}`");
    let give = format!("`ALTER AUTHORIZATION ON DATABASE::{SCHEMA} TO [{login}]`");
    Err(Failure::new(FailureKind::Permission, using, cause).with_hint(give))
}

enum LoadError {
    Ask(AskError),
    Failed(Failure),
    Wrong(String),
    Settings,
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
            LoadError::Ask(error) => ask_failure(tried, &error),
            LoadError::Failed(failure) => failure,
            LoadError::Wrong(cause) => Failure::new(FailureKind::Verification, tried, cause),
            LoadError::Settings => Failure::new(
                FailureKind::Plan,
                tried,
                "the plan sets options of the database, and the database was given to étalon",
            )
            .with_hint(format!("drop the database `{SCHEMA}`, and let étalon make it; or set its options there")),
        }
    }
}

/// Makes étalon's database with the plan's options unless it is there, so that facts can be read.
/// One with another system's options is made again.
pub(super) fn ensure_database(system: &SqlServerSystem, client: &mut Client) -> Result<(), Failure> {
    let owner = refuse_foreign(client, system.consent)?;
    if owner == TableOwner::Guest {
        return Ok(());
    }
    if owner == TableOwner::Etalon && room::read_marker(client).is_ok_and(|said| said == marker_text(&system.session)) {
        return Ok(());
    }
    let made = make_room(system, client, owner, &BTreeSet::new());
    made.map_err(|error| error.into_failure(&format!("make the database `{SCHEMA}`")))
}

/// Drops étalon's own tables or database, then makes and fills the tables of a data set.
/// The database must be étalon's, absent, or given up.
pub(super) fn load_tables(system: &SqlServerSystem, client: &mut Client, data: &Dataset) -> Result<(), Failure> {
    let owner = refuse_foreign(client, system.consent)?;
    let tried = format!("load {} into the database `{SCHEMA}`", data.name);
    make_room(system, client, owner, &data.made_names(&TSql))
        .and_then(|()| fill_tables(client, data, &tried))
        .map_err(|error| error.into_failure(&tried))
}

/// Makes the tables, sends and verifies their rows, makes indexes, runs the last statements, and updates statistics.
fn fill_tables(client: &mut Client, data: &Dataset, tried: &str) -> Result<(), LoadError> {
    let mut sent = Contents::default();
    for table in &data.tables {
        client.execute(&TSql.create_table_sql(table))?;
        let mut rows = Rows::new(table);
        if table.rows > 0 {
            fill_table(client, table, &mut rows)?;
        }
        sent.tables.push((table.name.to_string(), rows.checksum()));
    }
    server::check_tables_as_sent(client, data, &TSql, &sent, failing_to(tried)).map_err(LoadError::Failed)?;
    for index in &data.indexes {
        client.execute(&TSql.create_index_sql(index))?;
    }
    for statement in &data.last_statements(&TSql) {
        client.execute(statement)?;
    }
    for table in &data.tables {
        ignore_unknown_statement(client.execute(&format!("UPDATE STATISTICS {}", quote_name(&table.name))))?;
    }
    Ok(())
}

/// Writes the marker's text, which distinguishes étalon's databases with other options.
fn marker_text(session: &SessionSettings) -> String {
    let options = session.database.iter().map(String::as_str).chain(session.encrypted.then_some("encrypted"));
    let options: Vec<&str> = options.collect();
    let sum = server::fnv1a_64(&options.join(";"));
    if options.is_empty() { MARKER.to_owned() } else { format!("{MARKER}; with options {sum:016x}") }
}

/// Drops étalon's things, making the database again or if it is absent, and lists in the marker what comes next.
fn make_room(
    system: &SqlServerSystem,
    client: &mut Client,
    owner: TableOwner,
    names: &BTreeSet<String>,
) -> Result<(), LoadError> {
    let (session, reach) = (&system.session, allowed_reach(system));
    match owner {
        TableOwner::Given | TableOwner::Guest if !session.database.is_empty() || session.encrypted => {
            return Err(LoadError::Settings);
        }
        TableOwner::Given => {
            enter_database(client)?;
            room::mark_database(client, &format!("{MARKER}{GIVEN}"))?;
        }
        TableOwner::Guest => {
            let room = Room::inspect(client, reach)?;
            empty_database(client, room, names)?;
        }
        TableOwner::Etalon if reach == Reach::Names => match Room::inspect(client, reach)? {
            room if room.has_nothing_of_others() => recreate_database(client, &system.endpoint, session)?,
            room => {
                if room::read_marker(client)? != marker_text(session) {
                    let tried = format!("make the database `{SCHEMA}` again, with the plan's options");
                    room.refuse_others(tried).map_err(LoadError::Failed)?;
                }
                empty_database(client, room, names)?;
            }
        },
        TableOwner::Etalon | TableOwner::Others => recreate_database(client, &system.endpoint, session)?,
        TableOwner::Absent => make_database(client, &system.endpoint, session)?,
    }
    Ok(room::write_names(client, names)?)
}

/// Drops the database and makes it again.
fn recreate_database(client: &mut Client, endpoint: &Endpoint, session: &SessionSettings) -> Result<(), LoadError> {
    drop_database(client).map_err(LoadError::Failed)?;
    make_database(client, endpoint, session)
}

/// Makes the database with its options and its marker.
fn make_database(client: &mut Client, endpoint: &Endpoint, session: &SessionSettings) -> Result<(), LoadError> {
    client.execute(&format!("CREATE DATABASE [{SCHEMA}]"))?;
    for option in &session.database {
        client.execute(&format!("ALTER DATABASE [{SCHEMA}] {option}"))?;
    }
    enter_database(client)?;
    if session.encrypted {
        keys::encrypt_database(client, endpoint).map_err(LoadError::Failed)?;
    }
    Ok(room::mark_database(client, &marker_text(session))?)
}

/// Makes étalon's database the session's.
/// Azure SQL Database has no `USE`; there the login selects the database.
fn enter_database(client: &mut Client) -> Result<(), AskError> {
    if client.query_first_value("SELECT DB_NAME()")?.eq_ignore_ascii_case(SCHEMA) {
        return Ok(());
    }
    client.execute(&format!("USE [{SCHEMA}]"))
}

/// Drops étalon's database with its own snapshots, ending all its sessions.
fn drop_database(client: &mut Client) -> Result<(), Failure> {
    let tried = format!("drop the database `{SCHEMA}`");
    client.execute("USE [master]").map_err(failing_to(&tried))?;
    // A database that has snapshots cannot be dropped.
    let snapshots = Snapshots::list_snapshots(client)?;
    snapshots.refuse_others()?;
    snapshots.drop_own(client)?;
    ignore_unknown_statement(client.execute(&format!("ALTER DATABASE [{SCHEMA}] {SINGLE_USER}")))
        .map_err(failing_to(&tried))?;
    client.execute(&format!("DROP DATABASE [{SCHEMA}]")).map_err(failing_to(&tried))
}

/// Drops étalon's things by name from a database that stays, and its snapshots.
fn empty_database(client: &mut Client, mut room: Room, names: &BTreeSet<String>) -> Result<(), LoadError> {
    // Or each page of what follows would be copied into one that a killed étalon left.
    Snapshots::list_snapshots(client).and_then(|snapshots| snapshots.drop_own(client)).map_err(LoadError::Failed)?;
    room.refuse_dependents().map_err(LoadError::Failed)?;
    room.refuse_taken(names).map_err(LoadError::Failed)?;
    enter_database(client)?;
    room.drop_own_things(client)?;
    room.refuse_dependents().map_err(LoadError::Failed)
}

/// Sends a table's rows by bulk copy, the fastest way.
/// Tables of a user's own statement may have unsupported columns, and are filled by statements.
fn fill_table(client: &mut Client, table: &Table, rows: &mut Rows<'_>) -> Result<(), LoadError> {
    let taken =
        if table.create.is_none() { copy_rows(client, table, rows)? } else { insert_rows(client, table, rows)? };
    if taken == table.rows {
        return Ok(());
    }
    Err(LoadError::Wrong(format!("the server took {taken} of {} rows of {}", table.rows, table.name)))
}

/// Writes the statement that begins a bulk copy into a table.
pub(super) fn insert_bulk_sql(table: &Table) -> String {
    let column =
        |column: &workloads::dataset::Column| format!("{} {}", quote_name(column.name), TSql.column_type(column.kind));
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    format!("INSERT BULK {} ({}) WITH (TABLOCK)", quote_name(&table.name), columns.join(", "))
}

/// Sends a table's rows by bulk copy; returns the number that the server took.
fn copy_rows(client: &mut Client, table: &Table, rows: &mut Rows<'_>) -> Result<u64, AskError> {
    let columns = client.ask(&format!("SELECT TOP (0) * FROM {}", quote_name(&table.name)))?.columns;
    client.copy_rows(&insert_bulk_sql(table), columns, &mut |row| rows.next_into(row))
}

/// Sends rows by multi-row statements in autocommit; returns the number that the server took.
fn insert_rows(client: &mut Client, table: &Table, of_table: &mut Rows<'_>) -> Result<u64, AskError> {
    let head = format!("INSERT INTO {} VALUES ", quote_name(&table.name));
    let (mut sql, mut rows, mut taken) = (head.clone(), 0, 0);
    let mut row: Vec<Datum> = Vec::new();
    while of_table.next_into(&mut row) {
        write_values(&row, quote_text, &mut sql);
        rows += 1;
        if rows == INSERT_ROWS || sql.len() >= INSERT_BYTES || of_table.are_over() {
            taken += client.ask(sql.trim_end_matches(','))?.touched;
            sql.truncate(head.len());
            rows = 0;
        }
    }
    Ok(taken)
}

/// Drops what étalon made, and the database with it if étalon made that and nothing of others lies there.
///
/// # Errors
/// [`FailureKind::NotOurs`]: something of others stays, which the failure names.
pub(super) fn remove_database(
    client: &mut Client,
    endpoint: &Endpoint,
    session: &SessionSettings,
) -> Result<(), Failure> {
    let owner = table_owner(client)?;
    if matches!(owner, TableOwner::Etalon | TableOwner::Guest) {
        let removed = remove_own(client, endpoint, owner);
        if session.encrypted
            && let Err(failure @ Failure { kind: FailureKind::NotOurs, .. }) = &removed
        {
            let hint = format!(
                "the database stays encrypted by the certificate `{}` in master, which stays, too",
                keys::CERTIFICATE
            );
            return Err(failure.clone().with_hint(hint));
        }
        removed?;
    }
    if session.encrypted { keys::remove_certificate(client) } else { Ok(()) }
}

/// Drops étalon's things, and the database with them if nothing else is there.
fn remove_own(client: &mut Client, endpoint: &Endpoint, owner: TableOwner) -> Result<(), Failure> {
    let tried = format!("drop the database `{SCHEMA}`");
    let mut room = Room::inspect(client, Reach::Names).map_err(failing_to(&tried))?;
    if owner == TableOwner::Etalon && room.has_nothing_of_others() {
        // The page inserts' first backup, which no one else would remove.
        backup::forget_history(client, SCHEMA);
        if !names_own_database(endpoint) {
            return drop_database(client);
        }
    }
    Snapshots::list_snapshots(client)?.drop_own(client)?;
    drop_remaining(client, &mut room, owner).map_err(failing_to(&tried))?;
    room.refuse_to_leave_unsaid()
}

/// Drops étalon's things, then its marker; where others' things stay in étalon's database, empties the marker's names.
fn drop_remaining(client: &mut Client, room: &mut Room, owner: TableOwner) -> Result<(), AskError> {
    enter_database(client)?;
    if room.drop_own_things(client)? {
        return Ok(());
    }
    if owner == TableOwner::Etalon && !room.has_nothing_of_others() {
        // It says whose the database is.
        return room::write_names(client, &BTreeSet::new());
    }
    client.execute(&format!("DROP TABLE dbo.{MARKER_TABLE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_insert_takes_them() {
        let mut sql = String::new();
        let row = [Datum::Int(-1), Datum::Null, Datum::Double(0.5), Datum::Text("a'b".into()), Datum::Text("é".into())];
        write_values(&row, quote_text, &mut sql);
        assert_eq!(sql, "(-1,NULL,5e-1,'a''b',N'é'),");
    }
}
