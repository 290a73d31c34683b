//! The data plane: how a worker hands operations to a system and gets completions.
//!
//! The shape is fio's engine table (queue, commit, get events). An engine in this process answers [`Submitted::Done`]
//! at once, a server behind a socket [`Submitted::Queued`] and later in [`Lane::reap`].

use std::fmt;

use model::DurabilityTier;
use serde::{Deserialize, Serialize};

use crate::datum::Datum;
use crate::durations::Durations;

/// A failure's meaning for the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// SQLSTATE 40001 and the like: may be repeated.
    Serialization,
    /// The victim of a deadlock: may be repeated.
    Deadlock,
    /// A lock was not had in time.
    LockTimeout,
    Constraint,
    TooManyConnections,
    /// Whether the work was committed is unknown.
    ConnectionLost,
    DiskFull,
    /// Any other error of the server.
    Statement,
    /// An error of the load's script, such as division by zero.
    Script,
    /// No pool connection became free.
    PoolTimeout,
    /// Given up long after the run's end.
    Unresponsive,
}

impl ErrorClass {
    /// Caused by other clients; a repetition may succeed.
    pub fn is_contention(self) -> bool {
        matches!(
            self,
            ErrorClass::Serialization | ErrorClass::Deadlock | ErrorClass::LockTimeout | ErrorClass::PoolTimeout
        )
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ErrorClass::Serialization => "serialization",
            ErrorClass::Deadlock => "deadlock",
            ErrorClass::LockTimeout => "lock_timeout",
            ErrorClass::Constraint => "constraint",
            ErrorClass::TooManyConnections => "too_many_connections",
            ErrorClass::ConnectionLost => "connection_lost",
            ErrorClass::DiskFull => "disk_full",
            ErrorClass::Statement => "statement",
            ErrorClass::Script => "script",
            ErrorClass::PoolTimeout => "pool_timeout",
            ErrorClass::Unresponsive => "unresponsive",
        }
    }

    pub const ALL: [ErrorClass; 11] = [
        ErrorClass::Serialization,
        ErrorClass::Deadlock,
        ErrorClass::LockTimeout,
        ErrorClass::Constraint,
        ErrorClass::TooManyConnections,
        ErrorClass::ConnectionLost,
        ErrorClass::DiskFull,
        ErrorClass::Statement,
        ErrorClass::Script,
        ErrorClass::PoolTimeout,
        ErrorClass::Unresponsive,
    ];
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpError {
    pub class: ErrorClass,
    pub message: String,
}

/// The error of a lost connection.
pub fn connection_lost(cause: &(impl fmt::Display + ?Sized)) -> OpError {
    OpError { class: ErrorClass::ConnectionLost, message: cause.to_string() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpOutcome {
    Ok,
    Failed(OpError),
}

/// Result of a submission.
#[derive(Debug)]
pub enum Submitted {
    /// It has ended already.
    Done(OpOutcome),
    /// [`Lane::reap`] completes it.
    Queued,
    /// No room: reap, then submit again.
    Busy,
}

/// The end of a queued operation.
#[derive(Debug)]
pub struct Completion {
    /// Index into the worker's clients.
    pub client: usize,
    pub outcome: OpOutcome,
}

/// A point of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPoint {
    /// Separates what was sent so far, without waiting.
    Sync,
    /// Ends the pipeline and waits for all of it.
    End,
}

/// Last row of a result, or all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptRow {
    pub rows: u64,
    pub columns: Vec<String>,
    /// Values of the last row, or of all, row by row; text where the lane does not know types.
    pub values: Vec<Datum>,
}

/// The bytes that a lane of blocks moved, and the cost of submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// How operations ran, with kernel features.
    pub form: String,
    /// Features that the operating system does not have, and were done without.
    pub shortfalls: Vec<String>,
    /// Threads whose CPU time is not the worker's.
    pub helpers: Helpers,
    /// Including warm-up.
    pub read_bytes: u64,
    /// Including warm-up.
    pub written_bytes: u64,
    pub syncs: u64,
    /// Bytes that the operations can reach in all files.
    pub span_bytes: u64,
    /// Submission cost of a sample of operations, in the measured part.
    pub submission: Durations,
}

/// The threads that execute a lane's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Helpers {
    /// The worker's thread and the kernel.
    None,
    Threads,
}

impl Transfer {
    pub fn new(form: String, shortfalls: Vec<String>, helpers: Helpers) -> Transfer {
        let submission = Durations::with_room();
        Transfer { form, shortfalls, helpers, read_bytes: 0, written_bytes: 0, syncs: 0, span_bytes: 0, submission }
    }

    /// Adds the counts of another lane, and each of its shortfalls once.
    pub fn merge(&mut self, other: Transfer) {
        for shortfall in other.shortfalls {
            if !self.shortfalls.contains(&shortfall) {
                self.shortfalls.push(shortfall);
            }
        }
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.syncs = self.syncs.saturating_add(other.syncs);
        // Threads share the files.
        self.span_bytes = self.span_bytes.max(other.span_bytes);
        self.submission.merge(&other.submission);
    }
}

/// A system's own counts of a load's sessions, from before the first operation to after the last. `None`: not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCounts {
    /// Number of transactions that were started, however they ended.
    pub transactions: Option<u64>,
    /// Executed, however they ended.
    pub statements: Option<u64>,
    /// Number of statements that may be counted twice, since they were prepared again.
    pub twice: u64,
    pub commits: Option<u64>,
    /// The durability of a commit in the weakest session, by the settings that it has now.
    #[serde(default)]
    pub promise: Option<DurabilityTier>,
    /// The same before the load.
    #[serde(default)]
    pub promise_before: Option<DurabilityTier>,
}

impl SessionCounts {
    /// The sums of both sessions' counts, and the weaker of their promises.
    #[must_use]
    pub fn plus(self, other: SessionCounts) -> SessionCounts {
        /// The sum of two counts, if both are known.
        fn sum_known(mine: Option<u64>, theirs: Option<u64>) -> Option<u64> {
            mine.zip(theirs).map(|(mine, theirs)| mine.saturating_add(theirs))
        }
        /// The weaker of two promises, of those that are known.
        fn weakest_known(mine: Option<DurabilityTier>, theirs: Option<DurabilityTier>) -> Option<DurabilityTier> {
            mine.zip(theirs).map_or(mine.or(theirs), |(mine, theirs)| Some(mine.min(theirs)))
        }
        SessionCounts {
            transactions: sum_known(self.transactions, other.transactions),
            statements: sum_known(self.statements, other.statements),
            twice: self.twice.saturating_add(other.twice),
            commits: sum_known(self.commits, other.commits),
            promise: weakest_known(self.promise, other.promise),
            promise_before: weakest_known(self.promise_before, other.promise_before),
        }
    }

    /// The counts since `before`, without the counting query itself. `None` if a count went down: another session.
    pub fn since(self, before: SessionCounts) -> Option<SessionCounts> {
        /// `query` is how much the counting query itself adds. `None` if the count went down.
        fn difference_without_query(now: Option<u64>, then: Option<u64>, query: u64) -> Option<Option<u64>> {
            match (now, then) {
                (Some(now), Some(then)) => now.checked_sub(then)?.checked_sub(query).map(Some),
                _ => Some(None),
            }
        }
        Some(SessionCounts {
            transactions: difference_without_query(self.transactions, before.transactions, 1)?,
            statements: difference_without_query(self.statements, before.statements, 1)?,
            twice: self.twice.saturating_sub(before.twice),
            commits: difference_without_query(self.commits, before.commits, 0)?,
            promise: self.promise,
            promise_before: before.promise,
        })
    }
}

/// Rows that a system returned and changed, as each of its answers reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCounts {
    pub returned: u64,
    /// Inserted, updated, deleted or copied, as the system counts them.
    pub changed: u64,
}

impl RowCounts {
    /// The rows of both.
    #[inline]
    #[must_use]
    pub fn plus(self, other: RowCounts) -> RowCounts {
        RowCounts {
            returned: self.returned.saturating_add(other.returned),
            changed: self.changed.saturating_add(other.changed),
        }
    }

    /// Adds up what two parts of a load counted, if any did.
    #[must_use]
    pub fn sum_known(a: Option<RowCounts>, b: Option<RowCounts>) -> Option<RowCounts> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.plus(b)),
            (a, b) => a.or(b),
        }
    }

    /// The rows since an earlier count.
    #[must_use]
    pub fn since(self, before: RowCounts) -> RowCounts {
        RowCounts {
            returned: self.returned.saturating_sub(before.returned),
            changed: self.changed.saturating_sub(before.changed),
        }
    }
}

/// The source of an operation's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instants {
    /// The worker takes them at the client's turn, and when it handles the completion.
    Worker,
    /// [`Lane::instants_ns`] has them, where submitting and reaping cost as much as the operations and must not count.
    Lane,
}

/// One worker's way to a system. Made, used and closed by a single thread.
///
/// What every lane of statements owes the loop, and what holds it, is in `docs/extending.md`. In short:
///
/// - **Messages.** An operation is a message: one statement, or several that a script joins with `\;`. Parameters are numbered
///   across the message ([`StatementOp::parameters`](workloads::transactions::StatementOp::parameters)); a library that
///   takes one statement at a time gets them numbered for each by
///   [`ScriptStatement::message_parts`](workloads::transactions::ScriptStatement::message_parts), and those of a text by
///   [`split`](workloads::transactions::split). Kept rows are one entry for each statement of the message.
/// - **Autocommit.** What stands outside `BEGIN` and `COMMIT` is committed when its operation has ended well. `BEGIN` is an
///   operation like others, in the dialect's words.
/// - **Recovery.** After a failure [`Lane::recover`] is called once, whatever the failure was: inside a transaction or not, on a
///   connection that is gone, or where the system has rolled back by itself. Afterwards the client begins its next transaction.
///   What has failed leaves nothing. It is called after [`Lane::end_transaction`] has failed, too.
/// - **Refusals.** What the engine cannot do, such as a pipeline or connections that are made again, is refused by
///   [`System::drive`](workloads::system::System::drive) before the load begins, and never done in another way.
pub trait Lane {
    const INSTANTS: Instants = Instants::Worker;

    type Op;

    /// Begins a client's operation. A client has at most one operation in flight.
    fn submit(&mut self, client: usize, op: &Self::Op) -> Submitted;

    /// Sends what was queued.
    fn flush(&mut self) {}

    /// A point in a client's pipeline. Lanes without real pipelines ignore it. [`SyncPoint::End`] completes with the
    /// pipeline, with the first failure in it.
    fn sync_pipeline(&mut self, _client: usize, _point: SyncPoint) -> Submitted {
        Submitted::Done(OpOutcome::Ok)
    }

    /// Last rows of the results of the client's last operation, if requested. Valid until its next operation.
    fn kept_rows(&self, _client: usize) -> &[KeptRow] {
        &[]
    }

    /// Waits for completions until `deadline_ns` of the worker's clock, and appends them.
    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>);

    /// Begins to bring a client back after a failed operation, so that it can begin a transaction. `None`: in
    /// progress, completed by [`Lane::reap`]. Must not block. A failure means that the connection is unusable.
    fn recover(&mut self, client: usize) -> Option<OpOutcome>;

    /// Fails if the client's finished script left a transaction open.
    fn end_transaction(&mut self, _client: usize) -> Result<(), OpError> {
        Ok(())
    }

    /// Begins to replace a client's connection, with its prepared statements. `None`: in progress, completed by
    /// [`Lane::reap`]. Must not block. A failure: the system refuses the client, or the lane has no connections. Only
    /// for a client without an operation in flight.
    fn reconnect(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Failed(connection_lost("this lane cannot make a connection anew")))
    }

    /// CPU time of the lane's own threads so far.
    fn helpers_cpu_ns(&self) -> u64 {
        0
    }

    /// Number of the lane's own threads.
    fn helper_threads(&self) -> usize {
        0
    }

    /// Submission and completion of a client's last transaction by the machine's clock. Only for [`Instants::Lane`].
    fn instants_ns(&self, _client: usize) -> (u64, u64) {
        (0, 0)
    }

    /// Is called when the measured part begins.
    fn begin_measurement(&mut self) {}

    /// The transfer of a lane of blocks; called once, at the end.
    fn block_transfer(&mut self) -> Option<Transfer> {
        None
    }

    /// What the sessions counted of themselves; asked once, after the last operation.
    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        Err("the engine does not tell what it has counted of a session".to_owned())
    }

    /// The server's number of a client's session, if it reports one.
    fn session_number(&self, _client: usize) -> Option<u32> {
        None
    }

    /// Number of entries into the kernel, if they are counted exactly.
    fn kernel_entries(&self) -> Option<u64> {
        None
    }

    /// Counts the rows of every answer to this connection so far, also before it was made again. `None`: the lane has no rows.
    fn row_counts(&self, _connection: usize) -> Option<RowCounts> {
        None
    }

    /// Closes all connections, and waits until they are closed.
    fn close(self);
}
