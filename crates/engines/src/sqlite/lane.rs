//! SQLite in the worker's thread: `submit` completes every operation.

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Batch, Connection, ErrorCode, Statement, StatementStatus};

use super::facts;

use model::DurabilityTier;

use load::datum::Datum;
use load::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, OpOutcome, RowCounts, SessionCounts, Submitted};
use workloads::transactions::{OPEN_TRANSACTION, Protocol, Rows, StatementOp};

/// A write on an outdated snapshot.
const SQLITE_BUSY_SNAPSHOT: i32 = 517;

/// Connections with prepared statements, which borrow them.
pub struct SqliteLane<'c> {
    connections: &'c [Connection],
    messages: Vec<Message<'c>>,
    per_client: usize,
    /// Texts that are prepared each time.
    texts: Vec<String>,
    protocol: Protocol,
    /// Per client, of its last operation.
    kept: Vec<Vec<KeptRow>>,
    ran: Result<SessionCounts, &'static str>,
    /// Rows returned on each connection.
    returned: Vec<u64>,
    /// What a commit of the weakest connection promises by its pragmas, before the load.
    promise: Option<DurabilityTier>,
}

/// `EXPLAIN` gives rows without execution.
const EXPLAIN: &str = "SQLite does not count how often `EXPLAIN` was run";

const NONE: SessionCounts = SessionCounts {
    transactions: None,
    statements: Some(0),
    twice: 0,
    commits: None,
    promise: None,
    promise_before: None,
};

/// Reads how often a statement was run, and prepared again before; fails for `EXPLAIN`.
/// A run cut off by a repreparation may or may not count.
/// <https://www.sqlite.org/c3ref/c_stmtstatus_counter.html>
fn read_run_counts(statement: &Statement<'_>) -> Result<SessionCounts, &'static str> {
    if statement.is_explain() != 0 {
        return Err(EXPLAIN);
    }
    let [statements, twice] = [StatementStatus::Run, StatementStatus::RePrepare]
        .map(|status| u64::try_from(statement.get_status(status)).unwrap_or_default());
    Ok(SessionCounts { statements: Some(statements), twice, ..SessionCounts::default() })
}

/// Adds a statement's counts to a sum, which fails once one cannot be counted.
fn add_statement_counts(
    sum: Result<SessionCounts, &'static str>,
    statement: &Statement<'_>,
) -> Result<SessionCounts, &'static str> {
    Ok(sum?.plus(read_run_counts(statement)?))
}

/// The weakest durability of all connections. `None`: one of the connections does not show it.
fn weakest_tier(connections: &[Connection]) -> Option<DurabilityTier> {
    let promises: Option<Vec<DurabilityTier>> = connections.iter().map(facts::durability_tier).collect();
    promises?.into_iter().min()
}

/// Statements joined by `\;`. SQLite has no messages: each runs, and outside a transaction commits, by itself.
struct Message<'c> {
    statements: Vec<Statement<'c>>,
}

impl<'c> SqliteLane<'c> {
    /// Makes a lane with one client per connection.
    /// By `protocol`, statements are prepared now or each time, with parameters or as text.
    pub fn new(
        connections: &'c [Connection],
        sql: Vec<String>,
        protocol: Protocol,
    ) -> rusqlite::Result<SqliteLane<'c>> {
        // Preparing a pragma may set it already.
        let promise = weakest_tier(connections);
        let mut messages = Vec::new();
        if protocol == Protocol::Prepared {
            for connection in connections {
                for text in &sql {
                    let statements = Batch::new(connection, text).collect()?;
                    messages.push(Message { statements });
                }
            }
        }
        let kept = vec![Vec::new(); connections.len()];
        let (per_client, ran, returned) = (sql.len(), Ok(NONE), vec![0; connections.len()]);
        Ok(SqliteLane { connections, messages, per_client, texts: sql, protocol, kept, ran, returned, promise })
    }

    /// Executes an operation over a client's connection, by the lane's protocol.
    fn execute_op(&mut self, client: usize, op: &StatementOp) -> rusqlite::Result<()> {
        let kept = &mut self.kept[client];
        match self.protocol {
            Protocol::Prepared => {
                let message = &mut self.messages[client * self.per_client + op.statement];
                execute_message(message, op, kept, &mut self.returned[client])
            }
            Protocol::Extended => {
                let counted = (&mut self.ran, &mut self.returned[client]);
                execute_text(&self.connections[client], &self.texts[op.statement], op, kept, counted)
            }
            Protocol::Simple => {
                let counted = (&mut self.ran, &mut self.returned[client]);
                execute_text(&self.connections[client], &op.text, op, kept, counted)
            }
        }
    }
}

/// Executes the statements of a message, and keeps or discards their rows.
fn execute_message(
    message: &mut Message<'_>,
    op: &StatementOp,
    kept: &mut Vec<KeptRow>,
    returned: &mut u64,
) -> rusqlite::Result<()> {
    match op.rows {
        Rows::Discard => message
            .statements
            .iter_mut()
            .try_for_each(|statement| execute_and_discard(statement, &op.parameters, returned)),
        Rows::Keep | Rows::KeepAll => {
            kept.resize_with(message.statements.len(), KeptRow::default);
            let pairs = message.statements.iter_mut().zip(kept);
            pairs.into_iter().try_for_each(|(statement, kept)| execute_and_keep(statement, op, kept, returned))
        }
    }
}

/// Prepares and executes the statements of a text one by one: a later one may need an earlier one's table.
fn execute_text(
    connection: &Connection,
    text: &str,
    op: &StatementOp,
    kept: &mut Vec<KeptRow>,
    (ran, returned): (&mut Result<SessionCounts, &'static str>, &mut u64),
) -> rusqlite::Result<()> {
    kept.clear();
    let mut batch = Batch::new(connection, text);
    while let Some(mut statement) = batch.next()? {
        let executed = match op.rows {
            Rows::Discard => execute_and_discard(&mut statement, &op.parameters, returned),
            Rows::Keep | Rows::KeepAll => {
                let mut row = KeptRow::default();
                let executed = execute_and_keep(&mut statement, op, &mut row, returned);
                kept.push(row);
                executed
            }
        };
        *ran = add_statement_counts(*ran, &statement);
        executed?;
    }
    Ok(())
}

/// Binds a message's parameters to one of its statements.
/// Parameters are numbered through a message; a statement knows those up to its own last.
fn bind_parameters(statement: &mut Statement<'_>, parameters: &[Datum]) -> rusqlite::Result<()> {
    let known = statement.parameter_count();
    for (index, datum) in parameters.iter().take(known).enumerate() {
        statement.raw_bind_parameter(index + 1, value_of_datum(datum))?;
    }
    Ok(())
}

/// Executes a statement, and counts the rows that it returns.
fn execute_and_discard(
    statement: &mut Statement<'_>,
    parameters: &[Datum],
    returned: &mut u64,
) -> rusqlite::Result<()> {
    bind_parameters(statement, parameters)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {
        *returned += 1;
    }
    Ok(())
}

/// Executes a statement, and keeps its columns' names and the rows that it returns.
fn execute_and_keep(
    statement: &mut Statement<'_>,
    op: &StatementOp,
    kept: &mut KeptRow,
    returned: &mut u64,
) -> rusqlite::Result<()> {
    bind_parameters(statement, &op.parameters)?;
    let count = statement.column_count();
    kept.rows = 0;
    kept.values.clear();
    kept.columns.resize_with(count, String::new);
    for (index, name) in kept.columns.iter_mut().enumerate() {
        name.clear();
        name.push_str(statement.column_name(index)?);
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        *returned += 1;
        op.rows.begin_row(kept);
        for index in 0..count {
            kept.values.push(datum_of_value(row.get_ref(index)?));
        }
    }
    Ok(())
}

/// Turns a value of SQLite into a datum; a blob's bytes are read as text.
fn datum_of_value(value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Null,
        ValueRef::Integer(n) => Datum::Int(n),
        ValueRef::Real(x) => Datum::Double(x),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Datum::Text(String::from_utf8_lossy(bytes).into_owned().into())
        }
    }
}

/// Turns a datum into a parameter for SQLite.
pub(crate) fn value_of_datum(datum: &Datum) -> ToSqlOutput<'_> {
    match datum {
        Datum::Null => ToSqlOutput::Owned(Value::Null),
        Datum::Int(n) => ToSqlOutput::Owned(Value::Integer(*n)),
        Datum::Double(x) => ToSqlOutput::Owned(Value::Real(*x)),
        Datum::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
    }
}

/// Makes a load's error from SQLite's: its class by code, and its message.
pub(crate) fn classify_error(error: &rusqlite::Error) -> OpError {
    // Another has changed what this transaction read: only a retry helps.
    let stale = error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_BUSY_SNAPSHOT);
    let class = match error.sqlite_error_code() {
        _ if stale => ErrorClass::Serialization,
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

    /// Executes a client's operation at once, and returns how it ended.
    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        Submitted::Done(match self.execute_op(client, op) {
            Ok(()) => OpOutcome::Ok,
            Err(error) => OpOutcome::Failed(classify_error(&error)),
        })
    }

    /// Rows that were kept of the last answer.
    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        &self.kept[client]
    }

    /// Does nothing: operations have ended when they are submitted.
    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    /// Fails if a client's script has left a transaction open.
    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        if self.connections[client].is_autocommit() {
            return Ok(());
        }
        Err(OpError { class: ErrorClass::Script, message: OPEN_TRANSACTION.to_owned() })
    }

    /// Rolls back a client's transaction, if one is open, and returns how that ended.
    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        let connection = &self.connections[client];
        if connection.is_autocommit() {
            return Some(OpOutcome::Ok);
        }
        let rolled_back = connection.execute_batch("ROLLBACK");
        Some(rolled_back.map_or_else(|error| OpOutcome::Failed(classify_error(&error)), |()| OpOutcome::Ok))
    }

    /// Counts the rows that a connection has returned and changed since it was opened.
    fn row_counts(&self, connection: usize) -> Option<RowCounts> {
        let changed = self.connections.get(connection)?.total_changes();
        Some(RowCounts { returned: self.returned[connection], changed })
    }

    /// Counts the statements that ran, with the weakest durability before and after.
    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        let prepared = self.messages.iter().flat_map(|message| &message.statements);
        let counts = prepared.fold(self.ran, add_statement_counts).map_err(str::to_owned)?;
        Ok(SessionCounts { promise: weakest_tier(self.connections), promise_before: self.promise, ..counts })
    }

    /// Does nothing: the connections outlive the lane, and [`crate::sqlite`] closes them.
    fn close(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::stream::{Next, Stream};
    use workloads::dataset::Dialect;
    use workloads::transactions::{ScriptOptions, Unset, compile_with};

    struct Numbered;

    impl Dialect for Numbered {
        fn placeholder(&self, number: usize) -> String {
            format!("?{number}")
        }
    }

    /// Returns the last answer.
    fn drive(connections: &[Connection], protocol: Protocol, script: &str, transactions: u64) -> Result<(), OpError> {
        let unset = Unset::Accepted;
        let program = compile_with(script, &ScriptOptions { protocol, unset, ..ScriptOptions::default() }).unwrap();
        let sql: Vec<String> = program.statements().iter().map(|s| s.sql_text(&Numbered)).collect();
        let mut lane = SqliteLane::new(connections, sql, protocol).unwrap();
        let mut client = program.new_client(1, 0);
        let mut op = StatementOp::default();
        for index in 0..transactions {
            program.begin_transaction(&mut client, index);
            while program.next_op(&mut client, &mut op) == Next::Op {
                match lane.submit(0, &op) {
                    Submitted::Done(OpOutcome::Ok) => program.receive_rows(&mut client, lane.kept_rows(0))?,
                    Submitted::Done(OpOutcome::Failed(error)) => return Err(error),
                    other => panic!("{other:?}"),
                }
            }
        }
        lane.end_transaction(0)
    }

    #[test]
    fn rows_and_joined_statements_reach_the_script() {
        for protocol in [Protocol::Prepared, Protocol::Extended, Protocol::Simple] {
            rows_and_joined_statements(protocol);
        }
    }

    #[test]
    fn a_script_that_ends_in_a_transaction_is_told() {
        let connections = [Connection::open_in_memory().unwrap()];
        let error = drive(&connections, Protocol::Prepared, "BEGIN; SELECT 1;", 1).unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Script, OPEN_TRANSACTION));
    }

    /// Unset variables are NULL as parameters, and unchanged in text.
    #[test]
    fn variables_that_nothing_sets_are_pgbench_s() {
        let connections = [Connection::open_in_memory().unwrap()];
        connections[0].execute_batch("CREATE TABLE t (a)").unwrap();
        drive(&connections, Protocol::Extended, "INSERT INTO t VALUES (:nobody);", 1).unwrap();
        drive(&connections, Protocol::Simple, "INSERT INTO t VALUES (':nobody');", 1).unwrap();
        let text: String =
            connections[0].query_row("SELECT group_concat(quote(a)) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(text, "NULL,':nobody'");
    }

    fn rows_and_joined_statements(protocol: Protocol) {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a INTEGER, b REAL, c TEXT)").unwrap();
        let connections = [connection];
        let script = "SELECT count(*) AS n, 1.5 AS half, 'x' AS text FROM t \\gset\n\\set m :n + 10\n\
            INSERT INTO t VALUES (:m, :half, :text) \\; INSERT INTO t VALUES (:m + 100, :half, NULL);\n\
            SELECT a AS first FROM t ORDER BY a \\; SELECT 1 AS none WHERE 0 \\; SELECT max(a) AS top FROM t \\aset\n\
            INSERT INTO t VALUES (:first, :top, 'aset');";
        let text = if protocol == Protocol::Simple { "':text'" } else { ":text" };
        drive(&connections, protocol, &script.replace(":text", text), 2).unwrap();
        let mut rows = connections[0].prepare("SELECT a || ' ' || b || ' ' || ifnull(c, '-') FROM t").unwrap();
        let rows: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows, ["10 1.5 x", "110 1.5 -", "110 110.0 aset", "13 1.5 x", "113 1.5 -", "113 113.0 aset"]);
        let error = drive(&connections, protocol, "SELECT a FROM t \\gset\nSELECT :a", 1).unwrap_err();
        assert_eq!(error.class, ErrorClass::Script);
    }

    /// SQLite counts each run once, or is not asked.
    #[test]
    fn every_statement_that_runs_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let connection = Connection::open(folder.path().join("db")).unwrap();
        connection.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE TABLE u (a)").unwrap();
        connection
            .execute_batch("CREATE TRIGGER r AFTER INSERT ON u BEGIN INSERT INTO t (b) VALUES (new.a); END")
            .unwrap();
        let attach = format!("ATTACH '{}' AS o", other.display());
        let counted = |sql: &str| {
            let mut statement = connection.prepare(sql).unwrap();
            let ran = execute_and_discard(&mut statement, &[], &mut 0);
            (ran.is_ok(), read_run_counts(&statement).map(|counts| counts.statements))
        };
        for sql in [
            "SELECT 1",
            "SELECT 1 WHERE 0",
            "VALUES (1), (2)",
            "BEGIN",
            "SAVEPOINT s",
            "INSERT INTO t (b) VALUES (1), (2) RETURNING a",
            "INSERT INTO t SELECT a + 10, b FROM t",
            "RELEASE s",
            "COMMIT",
            "BEGIN IMMEDIATE",
            "UPDATE t SET b = 3 RETURNING b",
            "ROLLBACK",
            "DELETE FROM u",
            "PRAGMA cache_size = 100",
            "PRAGMA cache_size",
            "PRAGMA foreign_keys = 1",
            "PRAGMA journal_mode = WAL",
            "PRAGMA wal_checkpoint",
            "PRAGMA integrity_check",
            "PRAGMA table_info(t)",
            "PRAGMA optimize",
            "PRAGMA nobody_knows",
            &attach,
            "CREATE TABLE o.v (a)",
            "DETACH o",
            "CREATE INDEX i ON t (b)",
            "ANALYZE",
            "REINDEX",
            "VACUUM",
            "DROP INDEX i",
        ] {
            assert_eq!(counted(sql), (true, Ok(Some(1))), "{sql}");
        }
        // Failed runs may or may not count: the load knows that they failed.
        for sql in ["INSERT INTO t (a) VALUES (1)", "COMMIT", "ROLLBACK TO nowhere"] {
            assert_eq!(counted(sql), (false, Ok(Some(1))), "{sql}");
        }
        // Trigger programs count, too, so SQLite may have run more than asked.
        assert_eq!(counted("INSERT INTO u VALUES (1), (2)"), (true, Ok(Some(3))));
        for sql in ["EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT 1"] {
            assert_eq!(counted(sql), (true, Err(EXPLAIN)), "{sql}");
        }
    }

    #[test]
    fn scripts_whose_statements_sqlite_does_not_count_say_so() {
        for protocol in [Protocol::Prepared, Protocol::Extended, Protocol::Simple] {
            let counted = |script: &str| {
                let program = compile_with(script, &ScriptOptions { protocol, ..ScriptOptions::default() }).unwrap();
                let sql: Vec<String> = program.statements().iter().map(|s| s.sql_text(&Numbered)).collect();
                let connections = [Connection::open_in_memory().unwrap()];
                let mut lane = SqliteLane::new(&connections, sql, protocol).unwrap();
                let (mut client, mut op) = (program.new_client(1, 0), StatementOp::default());
                program.begin_transaction(&mut client, 0);
                while program.next_op(&mut client, &mut op) == Next::Op {
                    assert!(matches!(lane.submit(0, &op), Submitted::Done(OpOutcome::Ok)), "{script}");
                }
                let asked = program.requested_work(&client).statements;
                (lane.session_counts().map(|counts| counts.statements.unwrap_or_default()), asked)
            };
            for (script, statements) in [
                ("SELECT 1;", 1),
                ("SELECT 1 \\; SELECT 2;", 2),
                ("SELECT 1 \\; \\; SELECT 2;", 2),
                ("SELECT 1 \\; /* nothing */ \\; SELECT 2;", 2),
                ("SELECT 1; ; SELECT 2;", 2),
                ("BEGIN; PRAGMA cache_size = 10; COMMIT;", 3),
            ] {
                assert_eq!(counted(script), (Ok(statements), statements), "{script}, {protocol:?}");
            }
            assert_eq!(counted("SELECT 1; EXPLAIN SELECT 2;"), (Err(EXPLAIN.to_owned()), 2), "{protocol:?}");
        }
    }

    #[test]
    fn a_write_on_a_snapshot_that_is_stale_may_be_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("db");
        let [one, other] = [&file, &file].map(|file| Connection::open(file).unwrap());
        one.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a); BEGIN; SELECT count(*) FROM t").unwrap();
        other.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let error = one.execute("INSERT INTO t VALUES (2)", []).unwrap_err();
        assert_eq!(classify_error(&error).class, ErrorClass::Serialization, "{error}");
    }
}
