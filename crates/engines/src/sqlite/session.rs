//! Single statements in this process, with SpatiaLite if wanted.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::Facts;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, StatementStatus};

use super::{sql_failure, strangers};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use workloads::rows::{Rows, Value};
use workloads::session::{Session, SessionKind, running_words};

/// Operations of SQLite's machine between two looks at the clock, a fraction of a millisecond.
const OPERATIONS: i32 = 10_000;

pub(super) struct SqliteSession {
    connection: Connection,
    /// Counted by SQLite's commit hook.
    commits: Arc<AtomicU64>,
    /// Counted by SQLite for each statement.
    queries: u64,
}

impl SqliteSession {
    /// Makes a session of a connection and counts its commits; a spatial one loads SpatiaLite.
    pub(super) fn new(mut connection: Connection, kind: SessionKind) -> Result<SqliteSession, Failure> {
        if kind == SessionKind::Spatial {
            load_spatialite(&connection)?;
            make_spatial(&connection)?;
        }
        let commits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&commits);
        connection
            .commit_hook(Some(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                // The commit goes on.
                false
            }))
            .map_err(|error| sql_failure("count a session's commits", &error))?;
        Ok(SqliteSession { connection, commits, queries: 0 })
    }
}

/// Loads the extension SpatiaLite into a connection.
fn load_spatialite(connection: &Connection) -> Result<(), Failure> {
    host::spatialite::load_extension(connection).map_err(|error| {
        Failure::new(FailureKind::Unsupported, "use SpatiaLite", error).with_hint(host::spatialite::HINT)
    })
}

/// Makes SpatiaLite's tables if missing, without its coordinate systems: étalon's data are planar.
fn make_spatial(connection: &Connection) -> Result<(), Failure> {
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'geometry_columns'";
    let made = connection.query_row(there, [], |row| row.get::<_, i64>(0)).and_then(|count| match count {
        0 => {
            let made = connection.query_row("SELECT InitSpatialMetaData(1, 'NONE')", [], |row| row.get::<_, i64>(0))?;
            strangers::note_all(connection).map(|()| made)
        }
        _ => Ok(1),
    });
    match made {
        Ok(1) => Ok(()),
        Ok(_) => Err(Failure::new(FailureKind::Other, "make SpatiaLite's tables", "SpatiaLite refused without a word")),
        Err(error) => Err(sql_failure("make SpatiaLite's tables", &error)),
    }
}

/// Reads the versions of SpatiaLite and its geometry library; none for another kind of session.
pub(super) fn spatial_facts(connection: &Connection, kind: SessionKind) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    if kind == SessionKind::Spatial {
        load_spatialite(connection)?;
        for (name, sql) in [("spatialite", "SELECT spatialite_version()"), ("geos", "SELECT geos_version()")] {
            let version: Option<String> =
                connection.query_row(sql, [], |row| row.get(0)).map_err(|error| sql_failure(sql, &error))?;
            match version {
                Some(version) => facts.record_identity(format!("{name}.version"), version),
                None => facts.record_unavailable(format!("{name}.version"), "SpatiaLite was built without it"),
            }
        }
    }
    Ok(facts)
}

impl SqliteSession {
    /// Runs a query, gives each row to `take`, and counts its runs.
    fn read_rows(&mut self, sql: &str, take: &mut dyn FnMut(&[ValueRef<'_>])) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values: Vec<ValueRef<'_>> =
                (0..columns).map(|index| row.get_ref(index)).collect::<rusqlite::Result<_>>()?;
            take(&values);
        }
        drop(rows);
        self.queries += u64::try_from(statement.get_status(StatementStatus::Run)).unwrap_or_default();
        Ok(())
    }
}

impl Session for SqliteSession {
    /// Runs statements whose rows are not wanted.
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.connection.execute_batch(sql).map_err(|error| query_failure(sql, &error))
    }

    /// Runs a statement that comes again, prepared once.
    fn execute_repeated(&mut self, sql: &str) -> Result<(), Failure> {
        let run = self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        run.map(|_| ()).map_err(|error| query_failure(sql, &error))
    }

    /// Number of commits so far, by SQLite's commit hook.
    fn committed_count(&self) -> Option<u64> {
        Some(self.commits.load(Ordering::Relaxed))
    }

    /// Number of statements that queries have run so far.
    fn query_count(&self) -> Option<u64> {
        Some(self.queries)
    }

    /// Has queries fail once this time from now on is over; `None` lifts the limit.
    fn limit_queries(&mut self, limit: Option<Duration>) -> Result<(), Failure> {
        let handler = limit.map(|limit| {
            let end = Instant::now() + limit;
            move || Instant::now() >= end
        });
        let limited = self.connection.progress_handler(OPERATIONS, handler);
        limited.map_err(|error| sql_failure("limit the time of a query", &error))
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let mut found = Vec::new();
        self.read_rows(sql, &mut |row| found.push(row_data(row))).map_err(|error| query_failure(sql, &error))?;
        Ok(found)
    }

    /// Runs a query, and returns its rows with their types.
    fn query_answer(&mut self, sql: &str) -> Result<Rows, Failure> {
        let mut answer = Rows::default();
        // Its numbers come as numbers.
        answer.set_numbers(Vec::new());
        self.read_rows(sql, &mut |row| push_row(row, &mut answer)).map_err(|error| query_failure(sql, &error))?;
        Ok(answer)
    }

    /// Runs a query, and gives each row to `take`.
    fn each_row(&mut self, sql: &str, take: &mut dyn FnMut(&[Datum])) -> Result<(), Failure> {
        self.read_rows(sql, &mut |row| take(&row_data(row))).map_err(|error| query_failure(sql, &error))
    }
}

/// Turns a row of SQLite into data.
fn row_data(row: &[ValueRef<'_>]) -> Vec<Datum> {
    row.iter().map(|value| datum_of_value(*value)).collect()
}

/// Turns a value of SQLite into a datum; a blob becomes hexadecimal text.
fn datum_of_value(value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Null,
        ValueRef::Integer(number) => Datum::Int(number),
        ValueRef::Real(number) => Datum::Double(number),
        ValueRef::Text(text) => Datum::Text(Cow::Owned(String::from_utf8_lossy(text).into_owned())),
        ValueRef::Blob(bytes) => Datum::Text(Cow::Owned(blob_text(bytes))),
    }
}

/// Appends a row to an answer, its blobs as text.
fn push_row(row: &[ValueRef<'_>], answer: &mut Rows) {
    let blobs: Vec<String> = row.iter().filter_map(|value| value.as_blob().ok()).map(blob_text).collect();
    let mut blobs = blobs.iter();
    answer.push_row(row.iter().map(|value| match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(*number),
        ValueRef::Real(number) => Value::Double(*number),
        ValueRef::Text(text) => Value::Text(text),
        ValueRef::Blob(_) => blobs.next().map_or(Value::Null, |text| Value::Text(text.as_bytes())),
    }));
}

/// Writes a blob in hexadecimal, as SQLite does: `X'00FF'`.
fn blob_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("X'{digits}'")
}

/// Makes the failure of a statement, which it names.
fn query_failure(sql: &str, error: &rusqlite::Error) -> Failure {
    sql_failure(&running_words(sql), error)
}
