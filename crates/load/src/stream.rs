//! Load as a stream of operations, pure in (seed, client, index). A foreign language may instead carry a client's
//! values from transaction to transaction; retries repeat them all the same.

use std::ops::{AddAssign, Range};

use serde::{Deserialize, Serialize};

use crate::lane::{ErrorClass, KeptRow, OpError, SyncPoint};

/// A client's next action within its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Execute the operation that was filled in.
    Op,
    /// Report a pipeline point to the lane.
    Sync(SyncPoint),
    /// Sleep for nanoseconds within the transaction.
    Sleep(u64),
    /// Pause for nanoseconds before the transaction, whose time begins afterwards. Under a rate it began when due,
    /// pause
    /// included.
    Pause(u64),
    Failed,
    End,
}

/// Retries after serialization failures and deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Including the first; 0 leaves only the time limit.
    pub max_tries: u32,
    /// Time after the intended start in which a try may begin.
    pub within_ns: Option<u64>,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { max_tries: 1, within_ns: None }
    }
}

impl Retry {
    /// Tests whether a failed transaction may be tried again.
    pub fn allows(&self, class: ErrorClass, tries: u32, since_intended_ns: u64) -> bool {
        let by_others = matches!(class, ErrorClass::Serialization | ErrorClass::Deadlock);
        let tries_left = self.max_tries == 0 || tries < self.max_tries;
        by_others && tries_left && self.within_ns.is_none_or(|limit_ns| since_intended_ns <= limit_ns)
    }
}

/// The work that a client has requested of the system in a transaction, counted as a server counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedWork {
    /// The server's transactions that it ended: one for each message outside an explicit transaction, one for each `COMMIT`
    /// and `ROLLBACK`.
    pub transactions: u64,
    pub statements: u64,
    /// `COMMIT`s.
    pub commits: u64,
    /// `ROLLBACK`s.
    pub rollbacks: u64,
}

impl AddAssign for RequestedWork {
    #[inline]
    fn add_assign(&mut self, other: RequestedWork) {
        self.transactions = self.transactions.saturating_add(other.transactions);
        self.statements = self.statements.saturating_add(other.statements);
        self.commits = self.commits.saturating_add(other.commits);
        self.rollbacks = self.rollbacks.saturating_add(other.rollbacks);
    }
}

/// The end of a transaction after its last try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    Succeeded,
    Failed,
}

/// A compiled stream, immutable and shared by clients.
pub trait Stream: Sync {
    type Op: Default;
    type Client;

    /// `client` counts over all workers and hosts.
    fn new_client(&self, seed: u64, client: u32) -> Self::Client;

    /// Makes the clients with these numbers. Overridden where many seeds are cheaper together.
    fn new_clients(&self, seed: u64, clients: Range<u32>) -> Vec<Self::Client> {
        clients.map(|client| self.new_client(seed, client)).collect()
    }

    /// Nanoseconds from the end of a client's transaction to the intended beginning of its next, `index`, in addition
    /// to the
    /// pacer's.
    fn wait_ns(&self, _client: &mut Self::Client, _index: u64) -> u64 {
        0
    }

    /// Begins the transaction of this index. The same index draws the same values again: a retry repeats its values.
    fn begin_transaction(&self, client: &mut Self::Client, index: u64);

    /// Fills in the next operation.
    fn next_op(&self, client: &mut Self::Client, op: &mut Self::Op) -> Next;

    /// Takes the kept rows of a successful operation.
    fn receive_rows(&self, _client: &mut Self::Client, _results: &[KeptRow]) -> Result<(), OpError> {
        Ok(())
    }

    /// The failure behind [`Next::Failed`].
    fn take_failure(&self, _client: &mut Self::Client) -> OpError {
        OpError { class: ErrorClass::Script, message: "the stream failed".to_owned() }
    }

    /// Kinds of transactions in the results, such as scripts of a mix; empty if not distinguished.
    fn kind_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Index into [`Stream::kind_names`] of the current transaction.
    fn current_kind(&self, _client: &Self::Client) -> usize {
        0
    }

    /// The work of the current or last transaction; 0 where the system does not count.
    fn requested_work(&self, _client: &Self::Client) -> RequestedWork {
        RequestedWork::default()
    }

    /// Transactions that are sent and counted together in a pipeline.
    fn batch_size(&self) -> u64 {
        1
    }

    /// How failed transactions are tried again.
    fn retry_rule(&self) -> Retry {
        Retry::default()
    }

    /// Adds to the counts of the load's own what the transaction that has just ended was about.
    fn add_tally(&self, _client: &Self::Client, _end: TransactionEnd, _into: &mut Vec<u64>) {}
}
