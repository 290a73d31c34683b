//! Load as a stream of operations, pure in (seed, client, index).

/// What a client does next within its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Execute the operation that was filled in.
    Op,
    /// The transaction has ended.
    End,
}

/// A compiled stream of transactions. Clients share it and change nothing in it.
pub trait Stream: Sync {
    /// What is executed.
    type Op: Default;
    /// What a client carries from operation to operation.
    type Client;

    /// A client's state before its first transaction. `client` counts over all workers and hosts.
    fn client(&self, seed: u64, client: u32) -> Self::Client;

    /// Begins the client's transaction number `index`. The same number draws the same values, however often it is
    /// begun.
    fn begin(&self, client: &mut Self::Client, index: u64);

    /// Goes on to the transaction's next operation, and fills it in.
    fn next(&self, client: &mut Self::Client, op: &mut Self::Op) -> Next;
}
