//! Load as a stream of operations, pure in (seed, client, index).
//!
//! A stream in a foreign language may keep that language's rule instead, by which a client's values run on from
//! transaction to transaction; a retry repeats its values all the same.

use std::ops::{AddAssign, Range};

use serde::{Deserialize, Serialize};

use crate::lane::{ErrorClass, KeptRow, OpError, SyncPoint};

/// What a client does next within its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Execute the operation that was filled in.
    Op,
    /// Let the lane know that a pipeline has come to this point.
    Sync(SyncPoint),
    /// Wait so many nanoseconds, as part of the transaction.
    Sleep(u64),
    /// Wait so many nanoseconds before the transaction, whose time begins afterwards. Under a rate it has begun when it
    /// was due, and the pause is part of it.
    Pause(u64),
    /// The stream cannot go on: [`Stream::failure`] says why.
    Failed,
    /// The transaction has ended.
    End,
}

/// When a transaction is tried again that failed only because of others: by a serialization failure or a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is tried at most, the first time included. 0 means that only time limits it.
    pub max_tries: u32,
    /// How long after its intended start it may be tried again, in nanoseconds.
    pub within_ns: Option<u64>,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { max_tries: 1, within_ns: None }
    }
}

impl Retry {
    /// Whether a transaction that has been tried so often, and began to be due so long ago, is tried again.
    pub fn allows(&self, class: ErrorClass, tries: u32, since_intended_ns: u64) -> bool {
        let by_others = matches!(class, ErrorClass::Serialization | ErrorClass::Deadlock);
        let tries_left = self.max_tries == 0 || tries < self.max_tries;
        by_others && tries_left && self.within_ns.is_none_or(|limit_ns| since_intended_ns <= limit_ns)
    }
}

/// What a client has asked of the system in a transaction, counted as a server counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The server's transactions that it ended: one for each message outside an explicit transaction, one for each `COMMIT`
    /// and `ROLLBACK`.
    pub transactions: u64,
    pub statements: u64,
    /// `COMMIT`s.
    pub commits: u64,
    /// `ROLLBACK`s.
    pub rollbacks: u64,
}

impl AddAssign for Asked {
    fn add_assign(&mut self, other: Asked) {
        self.transactions = self.transactions.saturating_add(other.transactions);
        self.statements = self.statements.saturating_add(other.statements);
        self.commits = self.commits.saturating_add(other.commits);
        self.rollbacks = self.rollbacks.saturating_add(other.rollbacks);
    }
}

/// A compiled stream of transactions. Clients share it and change nothing in it.
pub trait Stream: Sync {
    type Op: Default;
    /// What a client carries from operation to operation.
    type Client;

    /// A client's state before its first transaction. `client` counts over all workers and hosts.
    fn client(&self, seed: u64, client: u32) -> Self::Client;

    /// The states of several clients. Overridden where the seeds of many can be had more cheaply together.
    fn clients(&self, seed: u64, clients: Range<u32>) -> Vec<Self::Client> {
        clients.map(|client| self.client(seed, client)).collect()
    }

    /// Begins the client's transaction number `index`. The same number draws the same values, however often it is
    /// begun in a row: a retry repeats its values.
    fn begin(&self, client: &mut Self::Client, index: u64);

    /// Goes on to the transaction's next operation, and fills it in.
    fn next(&self, client: &mut Self::Client, op: &mut Self::Op) -> Next;

    /// Takes what the lane kept of the rows of an operation that has succeeded.
    fn receive(&self, _client: &mut Self::Client, _results: &[KeptRow]) -> Result<(), OpError> {
        Ok(())
    }

    /// Why the stream cannot go on, after [`Next::Failed`].
    fn failure(&self, _client: &mut Self::Client) -> OpError {
        OpError { class: ErrorClass::Script, message: "the stream failed".to_owned() }
    }

    /// The names of the kinds of transactions that are told apart in the results, such as the scripts of a mix. None
    /// tell nothing apart.
    fn kinds(&self) -> Vec<String> {
        Vec::new()
    }

    /// Which of [`Stream::kinds`] the client's transaction under way is.
    fn kind(&self, _client: &Self::Client) -> usize {
        0
    }

    /// What the client's transaction under way, or the one that has just ended, has asked so far. Nothing where the system
    /// does not count such things.
    fn asked(&self, _client: &Self::Client) -> Asked {
        Asked::default()
    }

    /// How many transactions are sent at once and counted together: those of a pipeline.
    fn batch(&self) -> u64 {
        1
    }

    /// When a transaction that failed for another's sake is tried again.
    fn retry(&self) -> Retry {
        Retry::default()
    }
}
