//! SQLite in the worker's own thread: every operation is done when `submit` returns.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement};

use crate::dataset::Datum;
use crate::lane::{Completion, ErrorClass, Lane, OpError, Outcome, Submitted};
use crate::workloads::transactions::StatementOp;

/// Connections with their statements prepared. Borrows the connections, since SQLite's statements do.
pub struct SqliteLane<'c> {
    connections: &'c [Connection],
    /// The statements of every client, one client after the other.
    statements: Vec<Statement<'c>>,
    per_client: usize,
}

impl<'c> SqliteLane<'c> {
    /// Prepares `sql` on every connection; each connection is one client.
    ///
    /// # Errors
    /// SQLite does not take a statement.
    pub fn prepare(connections: &'c [Connection], sql: &[String]) -> rusqlite::Result<SqliteLane<'c>> {
        let mut statements = Vec::with_capacity(connections.len() * sql.len());
        for connection in connections {
            for text in sql {
                statements.push(connection.prepare(text)?);
            }
        }
        Ok(SqliteLane { connections, statements, per_client: sql.len() })
    }
}

/// Executes a statement to its last row.
fn execute(statement: &mut Statement<'_>, parameters: &[Datum]) -> rusqlite::Result<()> {
    for (index, datum) in parameters.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, to_sql(datum))?;
    }
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// A value as SQLite takes it.
pub(crate) fn to_sql(datum: &Datum) -> ToSqlOutput<'_> {
    match datum {
        Datum::Null => ToSqlOutput::Owned(Value::Null),
        Datum::Int(n) => ToSqlOutput::Owned(Value::Integer(*n)),
        Datum::Double(x) => ToSqlOutput::Owned(Value::Real(*x)),
        Datum::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
    }
}

/// What an error of SQLite means for the load.
pub(crate) fn classify(error: &rusqlite::Error) -> OpError {
    let class = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorClass::LockTimeout,
        Some(ErrorCode::ConstraintViolation) => ErrorClass::Constraint,
        Some(ErrorCode::DiskFull) => ErrorClass::DiskFull,
        Some(
            ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt,
        ) => ErrorClass::ConnectionLost,
        _ => ErrorClass::Statement,
    };
    OpError { class, message: error.to_string() }
}

impl Lane for SqliteLane<'_> {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        let statement = &mut self.statements[client * self.per_client + op.statement];
        Submitted::Done(match execute(statement, &op.parameters) {
            Ok(()) => Outcome::Ok,
            Err(error) => Outcome::Failed(classify(&error)),
        })
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &self.connections[client];
        if connection.is_autocommit() {
            return Ok(());
        }
        connection.execute_batch("ROLLBACK").map_err(|error| classify(&error))
    }

    /// The connections outlive the lane; [`crate::targets::sqlite`] closes them.
    fn close(self) {}
}
