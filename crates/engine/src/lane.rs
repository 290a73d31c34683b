//! The data plane: how a worker hands operations to a system and gets their ends back.
//!
//! The shape is that of fio's engine table (queue, commit, get events). It fits an engine in this process, which
//! answers [`Submitted::Done`] at once, and a server behind a socket, which answers [`Submitted::Queued`] and is
//! heard again in [`Lane::reap`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::dataset::Datum;
use crate::durations::Durations;

/// What an operation's failure means for the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// SQLSTATE 40001 and its kin: the transaction may be repeated.
    Serialization,
    /// Chosen as a deadlock's victim: the transaction may be repeated.
    Deadlock,
    /// A lock was not had in time.
    LockTimeout,
    /// A constraint was violated.
    Constraint,
    /// The server has no connection left to give.
    TooManyConnections,
    /// The connection is gone; whether the work was committed is not known.
    ConnectionLost,
    /// The device is full.
    DiskFull,
    /// Anything else that the server said.
    Statement,
    /// The load's own script failed, such as by a division by zero: no server is at fault.
    Script,
    /// No connection of the pool became free in time.
    PoolTimeout,
    /// There was no answer long after the end of the trial, and the operation was given up.
    Unresponsive,
}

impl ErrorClass {
    /// Whether it comes of what other clients do at the same time, so that the same may succeed a moment later.
    pub fn is_contention(self) -> bool {
        matches!(
            self,
            ErrorClass::Serialization | ErrorClass::Deadlock | ErrorClass::LockTimeout | ErrorClass::PoolTimeout
        )
    }

    /// The class's name in metrics and tables.
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

    /// Every class, for counters that are indexed by it.
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
    /// What it means for the load.
    pub class: ErrorClass,
    /// What the system said.
    pub message: String,
}

/// The loss of a connection.
pub(crate) fn lost(cause: &(impl fmt::Display + ?Sized)) -> OpError {
    OpError { class: ErrorClass::ConnectionLost, message: cause.to_string() }
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Failed(OpError),
}

/// What became of an operation that was handed over.
#[derive(Debug)]
pub enum Submitted {
    /// It has ended already.
    Done(Outcome),
    /// It is under way; [`Lane::reap`] will tell.
    Queued,
    /// There is no room now: reap, then submit it again.
    Busy,
}

/// The end of a queued operation.
#[derive(Debug)]
pub struct Completion {
    /// The client that it belongs to: an index into the worker's own clients.
    pub client: usize,
    pub outcome: Outcome,
}

/// A point of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPoint {
    /// What was sent so far stands by itself; nothing is waited for.
    Sync,
    /// The pipeline ends: everything that was sent in it is waited for.
    End,
}

/// The last row of one result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptRow {
    /// How many rows the result had. A statement without rows has none.
    pub rows: u64,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The values of the last row, if there was one; as text where the lane does not know better.
    pub values: Vec<Datum>,
}

/// What a lane of blocks moved, and what handing over cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// How operations were carried out, with what the kernel gave.
    pub form: String,
    /// What could not be had and was done without.
    pub shortfalls: Vec<String>,
    /// Whether threads of their own carried them out, whose CPU time is not the worker's.
    pub helpers: Helpers,
    /// Bytes that were read from the first to the last operation, warm-up included.
    pub read_bytes: u64,
    /// Bytes that were written, likewise.
    pub written_bytes: u64,
    pub syncs: u64,
    /// The cost of handing an operation over in the measured part; of a sample of them.
    pub submission: Durations,
}

/// Who carries out what a lane hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Helpers {
    /// The worker's thread and the kernel.
    None,
    Threads,
}

impl Transfer {
    /// A lane that has moved nothing.
    pub fn new(form: String, shortfalls: Vec<String>, helpers: Helpers) -> Transfer {
        let submission = Durations::default();
        Transfer { form, shortfalls, helpers, read_bytes: 0, written_bytes: 0, syncs: 0, submission }
    }

    /// Takes in what another worker's lane moved.
    pub fn merge(&mut self, other: Transfer) {
        for shortfall in other.shortfalls {
            if !self.shortfalls.contains(&shortfall) {
                self.shortfalls.push(shortfall);
            }
        }
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.syncs = self.syncs.saturating_add(other.syncs);
        self.submission.add(&other.submission);
    }
}

/// What a system has counted of a load's sessions, from before its first operation to after its last. `None` is what it
/// does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCounts {
    /// Transactions that were begun, however they ended.
    pub transactions: Option<u64>,
    /// Statements that were executed, however they ended.
    pub statements: Option<u64>,
    /// How many of these the system may have counted twice: of those that it prepared anew.
    pub twice: u64,
    /// `COMMIT`s that were executed.
    pub commits: Option<u64>,
}

impl SessionCounts {
    /// The sum of both, of what both count.
    #[must_use]
    pub fn plus(self, other: SessionCounts) -> SessionCounts {
        let sum =
            |mine: Option<u64>, theirs: Option<u64>| mine.zip(theirs).map(|(mine, theirs)| mine.saturating_add(theirs));
        SessionCounts {
            transactions: sum(self.transactions, other.transactions),
            statements: sum(self.statements, other.statements),
            twice: self.twice.saturating_add(other.twice),
            commits: sum(self.commits, other.commits),
        }
    }

    /// What a session has counted since `before`, without the question by which it was asked. Nothing if a count went
    /// down: it is another session.
    pub(crate) fn since(self, before: SessionCounts) -> Option<SessionCounts> {
        let since = |now: Option<u64>, then: Option<u64>, own: u64| match (now, then) {
            (Some(now), Some(then)) => now.checked_sub(then)?.checked_sub(own).map(Some),
            _ => Some(None),
        };
        Some(SessionCounts {
            transactions: since(self.transactions, before.transactions, 1)?,
            statements: since(self.statements, before.statements, 1)?,
            twice: self.twice.saturating_sub(before.twice),
            commits: since(self.commits, before.commits, 0)?,
        })
    }
}

/// Who takes the instants of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instants {
    /// The worker: it was sent when its client's turn came, and has ended when its end is worked off.
    Worker,
    /// The lane, by [`Lane::instants_ns`]: handing over and reaping cost as much as the operations themselves, and are
    /// no part of them.
    Lane,
}

/// One worker's way to a system. Made, used and closed by a single thread.
///
/// What every lane of statements owes the loop, and what holds it, is in `docs/extending.md`. In short:
///
/// - **Messages.** An operation is a message: one statement, or several that a script joins with `\;`. Parameters are numbered
///   across the message ([`StatementOp::parameters`](crate::workloads::transactions::StatementOp::parameters)); a library that
///   takes one statement at a time gets them numbered for each by
///   [`Statement::parts`](crate::workloads::transactions::Statement::parts), and those of a text by
///   [`split`](crate::workloads::transactions::split). Kept rows are one entry for each statement of the message.
/// - **Autocommit.** What stands outside `BEGIN` and `COMMIT` is committed when its operation has ended well. `BEGIN` is an
///   operation like others, in the dialect's words.
/// - **Recovery.** After a failure [`Lane::recover`] is called once, whatever the failure was: inside a transaction or not, on a
///   connection that is gone, or where the system has rolled back by itself. Afterwards the client begins its next transaction.
///   What has failed leaves nothing. It is called after [`Lane::end_transaction`] has failed, too.
/// - **Refusals.** What the engine cannot do, such as a pipeline or connections made anew, is refused by
///   [`Target::drive`](crate::target::Target::drive) before the load begins, and never done in another way.
pub trait Lane {
    /// Who takes the instants of an operation.
    const INSTANTS: Instants = Instants::Worker;

    type Op;

    /// Hands over a client's next operation. A client has at most one under way.
    fn submit(&mut self, client: usize, op: &Self::Op) -> Submitted;

    /// Sends what was queued.
    fn flush(&mut self) {}

    /// Tells of a point in a client's pipeline. A lane that executes pipelined operations like others has nothing left
    /// to do here. [`SyncPoint::End`] ends when all of the pipeline has; its failure is the first one's in it.
    fn sync(&mut self, _client: usize, _point: SyncPoint) -> Submitted {
        Submitted::Done(Outcome::Ok)
    }

    /// What was kept of the rows of the client's last operation, if it asked for them: the last row of each result, in
    /// the results' order. Valid until the client's next operation.
    fn kept_rows(&self, _client: usize) -> &[KeptRow] {
        &[]
    }

    /// Waits for ends of queued operations until `deadline_ns` of the worker's clock at the latest, and appends those
    /// that are there.
    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>);

    /// Begins to bring a client back to a state in which it can begin a transaction, after one of its operations has
    /// failed. `None`: that is under way, and ends like an operation, told by [`Lane::reap`]. It must not wait: others go on
    /// meanwhile. A failure says that the connection cannot be used any more.
    fn recover(&mut self, client: usize) -> Option<Outcome>;

    /// Says whether a client that has come to the end of its transaction has left one open.
    fn end_transaction(&mut self, _client: usize) -> Result<(), OpError> {
        Ok(())
    }

    /// Begins to end a client's connection and to make it anew, with what was prepared on it. `None`: that is under way, and
    /// ends like an operation, told by [`Lane::reap`]. It must not wait: others go on meanwhile. A failure says that the
    /// system does not let the client in again, or that the lane has no connections to make. Only asked of a client that
    /// has nothing under way.
    fn reconnect(&mut self, _client: usize) -> Option<Outcome> {
        Some(Outcome::Failed(lost("this lane cannot make a connection anew")))
    }

    /// CPU time that threads of the lane's own have used so far, in nanoseconds.
    fn helpers_cpu_ns(&self) -> u64 {
        0
    }

    /// How many threads of the lane's own there are.
    fn helper_threads(&self) -> usize {
        0
    }

    /// When a client's transaction that has just ended was handed over, and when its end was reaped, in nanoseconds of
    /// the machine's clock. Asked only of a lane that takes them.
    fn instants_ns(&self, _client: usize) -> (u64, u64) {
        (0, 0)
    }

    /// The measured part begins.
    fn begin_measurement(&mut self) {}

    /// What a lane of blocks has moved. Asked once, at the end.
    fn transfer(&mut self) -> Option<Transfer> {
        None
    }

    /// What the system has counted of this lane's sessions. Asked once, when the last operation has ended.
    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        Err("the engine does not tell what it has counted of a session".to_owned())
    }

    /// The number by which the server let a client's session in, where it tells one.
    fn session_number(&self, _client: usize) -> Option<u32> {
        None
    }

    /// How often this lane has entered the kernel since it was made, where it counts that exactly.
    fn kernel_entries(&self) -> Option<u64> {
        None
    }

    /// Ends every connection and waits until they are closed.
    fn close(self);
}
