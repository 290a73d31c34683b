//! What an engine inside étalon's process shares with others of its kind: system, lane and sessions, over connections of a library
//! that takes one statement at a time and has executed it when the call returns.

use std::cell::RefCell;

use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, OpOutcome, Submitted};
use workloads::dataset::{Dataset, Dialect, Table};
use workloads::session::{Session, running_words};
use workloads::transactions::{MessagePart, OPEN_TRANSACTION, Program, Protocol, Rows, StatementOp, split_message};

use super::embedded;

mod system;

pub use system::{Library, LibrarySystem};

/// A connection of the library. Errors carry their meaning for the load.
pub trait Connection: Send + 'static {
    /// A statement that is prepared, and keeps what it needs of its connection.
    type Statement: Send;

    /// Prepares one statement; refuses a text of several.
    fn prepare(&mut self, sql: &str) -> Result<Self::Statement, OpError>;

    /// Executes a statement to its last row with the values of its placeholders, in their order.
    /// Where `rows` are kept, the columns' names and each row's values go into `kept`, after [`Rows::begin_row`]; a write has no
    /// rows.
    fn run_statement(
        &mut self,
        statement: &mut Self::Statement,
        values: &mut dyn Iterator<Item = &Datum>,
        rows: Rows,
        kept: &mut KeptRow,
    ) -> Result<(), OpError>;

    /// Whether an explicit transaction is open.
    /// `None`: the library does not say, and the statements' first words do ([`MessagePart::leaves_open`]).
    fn is_in_transaction(&self) -> Option<bool>;
}

/// Makes a failure that names what was tried when the library refused it.
pub fn library_failure(tried: impl Into<String>, error: &OpError) -> Failure {
    let kind = if error.class == ErrorClass::DiskFull { FailureKind::DiskFull } else { FailureKind::Other };
    Failure::new(kind, tried, &error.message)
}

/// Runs a query, and returns all its rows with their columns.
fn fetch_rows(connection: &mut impl Connection, sql: &str) -> Result<KeptRow, OpError> {
    let mut kept = KeptRow::default();
    let mut statement = connection.prepare(sql)?;
    connection.run_statement(&mut statement, &mut std::iter::empty(), Rows::KeepAll, &mut kept)?;
    Ok(kept)
}

/// Prepares a statement, runs it without values, and discards its rows.
fn run_once(connection: &mut impl Connection, sql: &str) -> Result<(), OpError> {
    let mut statement = connection.prepare(sql)?;
    connection.run_statement(&mut statement, &mut std::iter::empty(), Rows::Discard, &mut KeptRow::default())
}

/// Executes one statement, and discards its rows.
///
/// # Errors
/// The library refuses it.
pub fn execute(connection: &mut impl Connection, sql: &str) -> Result<(), Failure> {
    run_once(connection, sql).map_err(|error| library_failure(running_words(sql), &error))
}

/// Runs a query, and returns the first value of its first row, for `System::scalar` and for settings.
///
/// # Errors
/// The library refuses it.
pub fn query_first_datum(connection: &mut impl Connection, sql: &str) -> Result<Datum, Failure> {
    let kept = fetch_rows(connection, sql).map_err(|error| library_failure(running_words(sql), &error))?;
    Ok(kept.values.into_iter().next().unwrap_or_default())
}

/// Makes the tables of a data set, with their rows and keys, in one transaction.
///
/// # Errors
/// The library refuses a statement or a row.
pub fn build_tables(connection: &mut impl Connection, data: &Dataset, dialect: &dyn Dialect) -> Result<(), Failure> {
    execute(connection, &dialect.translate_statement("begin"))?;
    let connection = RefCell::new(connection);
    let statement = |sql: &str| execute(&mut **connection.borrow_mut(), sql);
    embedded::load_tables(data, dialect, statement, |table| {
        insert_rows(&mut **connection.borrow_mut(), table, dialect)
            .map_err(|error| library_failure(format!("fill the table {}", table.name), &error))?;
        if table.primary_key.is_empty() {
            return Ok(());
        }
        let (name, key) = (dialect.table_name(&table.name), table.primary_key.join(", "));
        statement(&format!("CREATE UNIQUE INDEX {}_key ON {name} ({key})", table.name))
    })?;
    statement(&dialect.translate_statement("commit"))
}

/// Fills a table with its rows by a prepared `INSERT`.
/// A table of a user's own statement has no columns here: the first row says how many there are.
fn insert_rows(connection: &mut impl Connection, table: &Table, dialect: &dyn Dialect) -> Result<(), OpError> {
    let mut row: Vec<Datum> = Vec::new();
    let mut prepared = None;
    for index in 0..table.rows {
        row.clear();
        (table.row)(index, &mut row);
        let statement = match &mut prepared {
            Some(statement) => statement,
            none => {
                let places: Vec<String> = (1..=row.len()).map(|number| dialect.placeholder(number)).collect();
                let insert = format!("INSERT INTO {} VALUES ({})", dialect.table_name(&table.name), places.join(", "));
                none.insert(connection.prepare(&insert)?)
            }
        };
        connection.run_statement(statement, &mut row.iter(), Rows::Discard, &mut KeptRow::default())?;
    }
    Ok(())
}

/// The clients of one worker, each with a connection.
pub struct InProcessLane<C: Connection> {
    pub clients: Vec<Client<C>>,
    /// The statements of every message of the program.
    messages: Vec<Vec<MessagePart>>,
    dialect: &'static dyn Dialect,
    protocol: Protocol,
}

pub struct Client<C: Connection> {
    pub connection: C,
    /// Those of every message, under [`Protocol::Prepared`].
    prepared: Vec<Vec<C::Statement>>,
    kept: Vec<KeptRow>,
    /// Whether an explicit transaction is open by the statements that have ended.
    is_open: bool,
}

impl<C: Connection> Client<C> {
    /// Makes a client of an open connection, and prepares the statements of these messages on it.
    fn new(mut connection: C, prepared: &[Vec<MessagePart>]) -> Result<Client<C>, Failure> {
        let prepared = prepared
            .iter()
            .map(|message| {
                message
                    .iter()
                    .map(|part| {
                        let prepared = connection.prepare(&part.sql);
                        prepared.map_err(|error| library_failure(format!("prepare `{}`", part.sql), &error))
                    })
                    .collect()
            })
            .collect::<Result<_, Failure>>()?;
        Ok(Client { connection, prepared, kept: Vec::new(), is_open: false })
    }

    /// Whether an explicit transaction is open, by the library or else by the statements that have ended.
    fn is_in_transaction(&self) -> bool {
        self.connection.is_in_transaction().unwrap_or(self.is_open)
    }

    /// Rolls the client's transaction back by this statement, if one is open.
    fn roll_back(&mut self, statement: &str) -> Result<(), OpError> {
        if !self.is_in_transaction() {
            return Ok(());
        }
        let ended = run_once(&mut self.connection, statement);
        self.is_open = false;
        match ended {
            // What failed may have ended the transaction, and a library that cannot be asked says so in this way.
            Err(error)
                if self.connection.is_in_transaction().is_none() && error.class != ErrorClass::ConnectionLost =>
            {
                Ok(())
            }
            ended => ended,
        }
    }
}

impl<C: Connection> InProcessLane<C> {
    /// Makes a lane of open connections, and prepares the program's statements on each if the protocol wants that.
    ///
    /// # Errors
    /// The library refuses one.
    pub fn new(
        connections: Vec<C>,
        program: &Program,
        dialect: &'static dyn Dialect,
    ) -> Result<InProcessLane<C>, Failure> {
        let protocol = program.protocol();
        let messages: Vec<_> = program.statements().iter().map(|message| message.message_parts(dialect)).collect();
        let prepared = if protocol == Protocol::Prepared { &messages[..] } else { &[] };
        let clients = connections.into_iter().map(|connection| Client::new(connection, prepared));
        Ok(InProcessLane { clients: clients.collect::<Result<_, Failure>>()?, messages, dialect, protocol })
    }

    /// Executes an operation over a client's connection.
    fn execute_op(&mut self, client: usize, op: &StatementOp) -> Result<(), OpError> {
        let Client { connection, prepared, kept, is_open } = &mut self.clients[client];
        kept.clear();
        let is_text = self.protocol == Protocol::Simple;
        let of_text = if is_text { split_message(&op.text, self.dialect) } else { Vec::new() };
        let parts = if is_text { &of_text } else { &self.messages[op.statement] };
        let mut prepared = prepared.get_mut(op.statement).map(|of_message| of_message.iter_mut());
        for part in parts {
            let mut row = KeptRow::default();
            let mut values = part.parameters.iter().map(|place| &op.parameters[*place]);
            match prepared.as_mut().and_then(Iterator::next) {
                Some(statement) => connection.run_statement(statement, &mut values, op.rows, &mut row)?,
                None => {
                    let mut statement = connection.prepare(&part.sql)?;
                    connection.run_statement(&mut statement, &mut values, op.rows, &mut row)?;
                }
            }
            *is_open = part.leaves_open(*is_open);
            if op.rows.are_kept() {
                kept.push(row);
            }
        }
        Ok(())
    }
}

/// Converts the result of an operation to a lane's outcome.
fn op_outcome(ended: Result<(), OpError>) -> OpOutcome {
    ended.map_or_else(OpOutcome::Failed, |()| OpOutcome::Ok)
}

impl<C: Connection> Lane for InProcessLane<C> {
    type Op = StatementOp;

    /// Executes an operation to its end, and returns the outcome.
    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        Submitted::Done(op_outcome(self.execute_op(client, op)))
    }

    /// Rows that were kept of a client's last operation.
    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        &self.clients[client].kept
    }

    /// Does nothing: every operation is done when [`Lane::submit`] returns.
    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    /// Fails if the client's finished script left a transaction open.
    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        if !self.clients[client].is_in_transaction() {
            return Ok(());
        }
        Err(OpError { class: ErrorClass::Script, message: OPEN_TRANSACTION.to_owned() })
    }

    /// Rolls back a client's open transaction after a failed operation.
    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        let roll_back = self.dialect.translate_statement("rollback");
        Some(op_outcome(self.clients[client].roll_back(&roll_back)))
    }

    /// Does nothing: connections are closed when they are dropped.
    fn close(self) {}
}

/// Statements asked one by one.
pub struct InProcessSession<C>(pub C);

impl<C: Connection> Session for InProcessSession<C> {
    /// Executes one statement, and discards its rows.
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        execute(&mut self.0, sql)
    }

    /// Runs a query, and returns its rows.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let KeptRow { columns, values, .. } =
            fetch_rows(&mut self.0, sql).map_err(|error| library_failure(running_words(sql), &error))?;
        Ok(values.chunks(columns.len().max(1)).map(<[Datum]>::to_vec).collect())
    }
}
