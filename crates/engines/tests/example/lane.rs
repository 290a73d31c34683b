//! The data plane, in the worker's own thread: a connection of the library, as [`engines::in_process`] wants one.

use std::borrow::Cow;
use std::path::Path;

use engines::in_process::Connection;
use example_ffi::{Error, Statement, Value};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, OpError};
use workloads::transactions::Rows;

pub struct ExampleConnection(example_ffi::Connection);

impl ExampleConnection {
    pub fn open(path: &Path) -> Result<ExampleConnection, OpError> {
        example_ffi::Connection::open(path).map(ExampleConnection).map_err(op_error)
    }
}

impl Connection for ExampleConnection {
    type Statement = Statement;

    fn prepare(&mut self, sql: &str) -> Result<Statement, OpError> {
        self.0.prepare(sql).map_err(op_error)
    }

    fn run_statement(
        &mut self,
        statement: &mut Statement,
        values: &mut dyn Iterator<Item = &Datum>,
        rows: Rows,
        kept: &mut KeptRow,
    ) -> Result<(), OpError> {
        let ended = run(statement, values, rows, kept);
        statement.reset();
        ended.map_err(op_error)
    }

    fn is_in_transaction(&self) -> Option<bool> {
        Some(self.0.is_in_transaction())
    }
}

fn run(
    statement: &mut Statement,
    values: &mut dyn Iterator<Item = &Datum>,
    rows: Rows,
    kept: &mut KeptRow,
) -> Result<(), Error> {
    for (number, value) in (1..).zip(values) {
        statement.bind(number, &to_sql(value))?;
    }
    if rows.are_kept() {
        kept.columns = statement.columns();
    }
    while statement.step()? {
        rows.begin_row(kept);
        for column in 0..kept.columns.len() {
            kept.values.push(from_sql(statement.value(column as i32)));
        }
    }
    Ok(())
}

fn from_sql(value: Value<'_>) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Int(n) => Datum::Int(n),
        Value::Double(x) => Datum::Double(x),
        Value::Text(text) => Datum::Text(text.into_owned().into()),
    }
}

fn to_sql(datum: &Datum) -> Value<'_> {
    match datum {
        Datum::Null => Value::Null,
        Datum::Int(n) => Value::Int(*n),
        Datum::Double(x) => Value::Double(*x),
        Datum::Text(text) => Value::Text(Cow::Borrowed(text)),
    }
}

/// What an error means for the load: what others cause may be tried again.
fn op_error(error: Error) -> OpError {
    let class = match (error.code, error.code & 0xff) {
        // SQLITE_BUSY_SNAPSHOT: what was read has been changed since, and no waiting helps.
        (517, _) => ErrorClass::Serialization,
        // SQLITE_BUSY, SQLITE_LOCKED.
        (_, 5 | 6) => ErrorClass::LockTimeout,
        // SQLITE_CONSTRAINT.
        (_, 19) => ErrorClass::Constraint,
        // SQLITE_FULL.
        (_, 13) => ErrorClass::DiskFull,
        // SQLITE_IOERR, SQLITE_CORRUPT.
        (_, 10 | 11) => ErrorClass::ConnectionLost,
        _ => ErrorClass::Statement,
    };
    OpError { class, message: error.message }
}
