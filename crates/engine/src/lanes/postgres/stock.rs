//! PostgreSQL through the stock driver: a connection and a thread for each client, answered when `submit` returns.
//!
//! For encrypted connections: the reactor knows no TLS.

use std::error::Error as _;
use std::io;

use bytes::BytesMut;
use postgres::error::DbError;
use postgres::types::{Format, IsNull, ToSql, Type};
use postgres::{Client, SimpleQueryMessage, Statement};

use super::class_of_state;
use crate::dataset::Datum;
use crate::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, Outcome, Submitted};
use crate::workloads::transactions::{Rows, StatementOp};

/// Connections with their statements prepared.
pub struct StockLane {
    connections: Vec<Connection>,
}

/// One client's connection.
struct Connection {
    client: Client,
    /// Empty where statements travel as text.
    statements: Vec<Prepared>,
    block: Block,
    /// What was kept of the last operation's rows.
    kept: Vec<KeptRow>,
}

/// A statement, and what it does to the transaction it is in.
struct Prepared {
    statement: Statement,
    effect: Effect,
}

/// What a statement does to the transaction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Opens,
    Closes,
    None,
}

/// Whether a transaction block is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Open,
    Closed,
}

impl Effect {
    fn of(sql: &str) -> Effect {
        let word = sql.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        match word.to_ascii_uppercase().as_str() {
            "BEGIN" | "START" => Effect::Opens,
            "COMMIT" | "END" | "ROLLBACK" | "ABORT" => Effect::Closes,
            _ => Effect::None,
        }
    }
}

impl StockLane {
    /// Prepares `sql` on every connection; each connection is one client.
    ///
    /// # Errors
    /// The server does not take a statement.
    pub fn prepare(clients: Vec<Client>, sql: &[String]) -> Result<StockLane, postgres::Error> {
        let mut connections = Vec::with_capacity(clients.len());
        for mut client in clients {
            let mut statements = Vec::with_capacity(sql.len());
            for text in sql {
                statements.push(Prepared { statement: client.prepare(text)?, effect: Effect::of(text) });
            }
            connections.push(Connection { client, statements, block: Block::Closed, kept: Vec::new() });
        }
        Ok(StockLane { connections })
    }
}

impl Connection {
    fn execute(&mut self, op: &StatementOp) -> Result<(), postgres::Error> {
        self.kept.clear();
        let effect = match self.statements.get(op.statement) {
            Some(Prepared { statement, effect }) => {
                let parameters: Vec<&(dyn ToSql + Sync)> = op.parameters.iter().map(|datum| datum as _).collect();
                self.client.execute(statement, &parameters)?;
                *effect
            }
            None => {
                for message in self.client.simple_query(&op.text)? {
                    keep(&mut self.kept, &message);
                }
                Effect::of(&op.text)
            }
        };
        match effect {
            Effect::Opens => self.block = Block::Open,
            Effect::Closes => self.block = Block::Closed,
            Effect::None => {}
        }
        Ok(())
    }
}

/// Keeps the last row of each result.
fn keep(kept: &mut Vec<KeptRow>, message: &SimpleQueryMessage) {
    match message {
        SimpleQueryMessage::RowDescription(columns) => {
            let columns = columns.iter().map(|column| column.name().to_owned()).collect();
            kept.push(KeptRow { rows: 0, columns, values: Vec::new() });
        }
        SimpleQueryMessage::Row(row) => {
            if let Some(result) = kept.last_mut() {
                let text = |place| row.get(place).map_or(Datum::Null, |text| Datum::Text(text.to_owned().into()));
                result.rows += 1;
                result.values = (0..row.len()).map(text).collect();
            }
        }
        _ => {}
    }
}

/// A value goes in binary as the type that the server inferred for its place, where that is a plain number or text,
/// and otherwise as text, which the server reads itself.
impl ToSql for Datum {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (self, kind) {
            (Datum::Null, _) => Ok(IsNull::Yes),
            (Datum::Int(n), &Type::INT2) => i16::try_from(*n)?.to_sql(kind, out),
            (Datum::Int(n), &Type::INT4) => i32::try_from(*n)?.to_sql(kind, out),
            (Datum::Int(n), &Type::INT8) => n.to_sql(kind, out),
            (Datum::Int(n), &Type::FLOAT4) => (*n as f32).to_sql(kind, out),
            (Datum::Int(n), &Type::FLOAT8) => (*n as f64).to_sql(kind, out),
            (Datum::Double(x), &Type::FLOAT4) => (*x as f32).to_sql(kind, out),
            (Datum::Double(x), &Type::FLOAT8) => x.to_sql(kind, out),
            (Datum::Int(n), _) => n.to_string().to_sql(&Type::TEXT, out),
            (Datum::Double(x), _) => x.to_string().to_sql(&Type::TEXT, out),
            (Datum::Text(text), _) => text.as_ref().to_sql(&Type::TEXT, out),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    fn encode_format(&self, kind: &Type) -> Format {
        let float = matches!(*kind, Type::FLOAT4 | Type::FLOAT8);
        let int = matches!(*kind, Type::INT2 | Type::INT4 | Type::INT8);
        match self {
            Datum::Int(_) if int || float => Format::Binary,
            Datum::Double(_) if float => Format::Binary,
            _ => Format::Text,
        }
    }

    postgres::types::to_sql_checked!();
}

/// What an error of the driver means for the load.
pub(crate) fn classify(error: &postgres::Error) -> OpError {
    let class = match error.as_db_error() {
        Some(db) => class_of_state(db.code().code()),
        None if error.is_closed() || io_error(error).is_some() => ErrorClass::ConnectionLost,
        None => ErrorClass::Statement,
    };
    OpError { class, message: said(error) }
}

/// The operating system's error behind the driver's.
pub(crate) fn io_error(error: &postgres::Error) -> Option<&io::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// What the server or the driver said, on one line.
pub(crate) fn said(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => said_by_server(db),
        None => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(inner) = cause {
                text = format!("{text}: {inner}");
                cause = inner.source();
            }
            text
        }
    }
}

fn said_by_server(db: &DbError) -> String {
    super::server_said(db.message(), db.detail(), db.code().code())
}

impl Lane for StockLane {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        if op.rows == Rows::Keep && op.text.is_empty() {
            let message =
                "over an encrypted connection `\\gset` and `\\aset` work only with the simple protocol".to_owned();
            return Submitted::Done(Outcome::Failed(OpError { class: ErrorClass::Script, message }));
        }
        Submitted::Done(match self.connections[client].execute(op) {
            Ok(()) => Outcome::Ok,
            Err(error) => Outcome::Failed(classify(&error)),
        })
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        &self.connections[client].kept
    }

    /// The server leaves a transaction block that has failed open until it is rolled back. Outside of one there is
    /// nothing to do, and a `ROLLBACK` would be a warning in the server's log for every error.
    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &mut self.connections[client];
        match std::mem::replace(&mut connection.block, Block::Closed) {
            Block::Open => connection.client.batch_execute("ROLLBACK").map_err(|error| classify(&error)),
            Block::Closed => Ok(()),
        }
    }

    fn close(self) {
        for connection in self.connections {
            // The trial is over; a server that has gone away before its clients is told by the next question to it.
            let _ = connection.client.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn values_take_the_form_that_the_place_asks_for() {
        let encode = |datum: &Datum, kind: Type| {
            let mut out = BytesMut::new();
            let null = datum.to_sql(&kind, &mut out);
            (null.map(|null| matches!(null, IsNull::Yes)).map_err(|_| ()), out.to_vec())
        };
        assert_eq!(encode(&Datum::Int(7), Type::INT2), (Ok(false), vec![0, 7]));
        assert_eq!(encode(&Datum::Int(7), Type::INT4), (Ok(false), vec![0, 0, 0, 7]));
        assert_eq!(encode(&Datum::Int(-1), Type::INT8), (Ok(false), vec![255; 8]));
        assert_eq!(encode(&Datum::Int(70_000), Type::INT2).0, Err(()));
        assert_eq!(encode(&Datum::Int(2), Type::FLOAT8), (Ok(false), 2f64.to_be_bytes().to_vec()));
        assert_eq!(encode(&Datum::Int(12), Type::NUMERIC), (Ok(false), b"12".to_vec()));
        assert_eq!(encode(&Datum::Text(Cow::Borrowed("é")), Type::BPCHAR), (Ok(false), "é".as_bytes().to_vec()));
        assert_eq!(encode(&Datum::Null, Type::INT4), (Ok(true), vec![]));
    }

    #[test]
    fn blocks_are_told_by_their_first_word() {
        assert_eq!(Effect::of("BEGIN"), Effect::Opens);
        assert_eq!(Effect::of("start transaction isolation level serializable"), Effect::Opens);
        assert_eq!(Effect::of("END"), Effect::Closes);
        assert_eq!(Effect::of("COMMIT"), Effect::Closes);
        assert_eq!(Effect::of("UPDATE begin SET x = 1"), Effect::None);
    }
}
