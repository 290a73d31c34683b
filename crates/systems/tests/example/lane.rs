//! The data plane, in the worker's own thread: every operation has ended when `submit` returns.

use families::transactions::{MessagePart, OPEN_TRANSACTION, Program, Protocol, StatementOp, split};
use load::datum::Datum;
use load::error::Failure;
use load::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, OpOutcome, Submitted};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement};

use super::{ExampleDialect, failure};

/// The clients of one worker, each with a connection.
pub struct ExampleLane {
    pub clients: Vec<Client>,
    /// The statements of every message of the program; the library takes one at a time.
    messages: Vec<Vec<MessagePart>>,
    protocol: Protocol,
}

pub struct Client {
    pub connection: Connection,
    kept: Vec<KeptRow>,
}

impl ExampleLane {
    pub fn new(connections: Vec<Connection>, program: &Program) -> Result<ExampleLane, Failure> {
        let messages: Vec<_> = program.statements().iter().map(|message| message.parts(&ExampleDialect)).collect();
        let is_prepared = program.protocol() == Protocol::Prepared;
        let prepared = || messages.iter().flatten().filter(|_| is_prepared);
        for connection in &connections {
            connection.set_prepared_statement_cache_capacity(prepared().count());
            for part in prepared() {
                connection
                    .prepare_cached(&part.sql)
                    .map_err(|error| failure(&format!("prepare `{}`", part.sql), &error))?;
            }
        }
        let clients = connections.into_iter().map(|connection| Client { connection, kept: Vec::new() }).collect();
        Ok(ExampleLane { clients, messages, protocol: program.protocol() })
    }

    fn execute(&mut self, client: usize, op: &StatementOp) -> rusqlite::Result<()> {
        let Client { connection, kept } = &mut self.clients[client];
        kept.clear();
        let is_text = self.protocol == Protocol::Simple;
        let of_text = if is_text { split(&op.text, &ExampleDialect) } else { Vec::new() };
        for part in if is_text { &of_text } else { &self.messages[op.statement] } {
            let row = run(&mut *connection.prepare_cached(&part.sql)?, part, op)?;
            if op.rows.are_kept() {
                kept.push(row);
            }
        }
        Ok(())
    }
}

/// Runs a statement to its last row, and gives that one, or all of them, if they are asked for.
fn run(statement: &mut Statement<'_>, part: &MessagePart, op: &StatementOp) -> rusqlite::Result<KeptRow> {
    for (place, of_message) in part.parameters.iter().enumerate() {
        statement.raw_bind_parameter(place + 1, to_sql(&op.parameters[*of_message]))?;
    }
    let mut kept = KeptRow::default();
    if op.rows.are_kept() {
        kept.columns = statement.column_names().map(str::to_owned).collect();
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        op.rows.begin_row(&mut kept);
        for place in 0..kept.columns.len() {
            kept.values.push(from_sql(row.get_ref(place)?));
        }
    }
    Ok(kept)
}

pub fn from_sql(value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Null,
        ValueRef::Integer(n) => Datum::Int(n),
        ValueRef::Real(x) => Datum::Double(x),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Datum::Text(String::from_utf8_lossy(bytes).into_owned().into())
        }
    }
}

pub fn to_sql(datum: &Datum) -> ToSqlOutput<'_> {
    match datum {
        Datum::Null => ToSqlOutput::Owned(Value::Null),
        Datum::Int(n) => ToSqlOutput::Owned(Value::Integer(*n)),
        Datum::Double(x) => ToSqlOutput::Owned(Value::Real(*x)),
        Datum::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
    }
}

/// What an error means for the load: what others cause may be tried again.
fn outcome(ended: rusqlite::Result<()>) -> OpOutcome {
    let Err(error) = ended else { return OpOutcome::Ok };
    let class = match error.sqlite_error_code() {
        // SQLITE_BUSY_SNAPSHOT: what was read has been changed since, and no waiting helps.
        _ if error.sqlite_error().is_some_and(|error| error.extended_code == 517) => ErrorClass::Serialization,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorClass::LockTimeout,
        Some(ErrorCode::ConstraintViolation) => ErrorClass::Constraint,
        Some(ErrorCode::DiskFull) => ErrorClass::DiskFull,
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt) => ErrorClass::ConnectionLost,
        _ => ErrorClass::Statement,
    };
    OpOutcome::Failed(OpError { class, message: error.to_string() })
}

impl Lane for ExampleLane {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        Submitted::Done(outcome(self.execute(client, op)))
    }

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        &self.clients[client].kept
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        if self.clients[client].connection.is_autocommit() {
            return Ok(());
        }
        Err(OpError { class: ErrorClass::Script, message: OPEN_TRANSACTION.to_owned() })
    }

    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        let connection = &self.clients[client].connection;
        Some(outcome(if connection.is_autocommit() { Ok(()) } else { connection.execute_batch("ROLLBACK") }))
    }

    fn close(self) {}
}
