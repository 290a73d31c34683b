//! A program as a stream of operations, by its scripts or by a load that is written in Rust.

use std::ops::Range;

use super::client::{ScriptClient, StatementOp};
use super::native::NativeRun;
use super::program::Program;
use load::lane::{KeptRow, OpError};
use load::stream::{Next, RequestedWork, Retry, Stream, TransactionEnd};

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "all clients of a run are of one kind, and a script's is read all the time"
)]
pub enum ProgramClient {
    Script(ScriptClient),
    Native(NativeRun),
}

impl Stream for Program {
    type Op = StatementOp;
    type Client = ProgramClient;

    /// Makes the client of this number in a run, of a script or of a native load.
    fn new_client(&self, seed: u64, client: u32) -> ProgramClient {
        match &self.native {
            None => ProgramClient::Script(self.script_client(seed, client)),
            Some(native) => ProgramClient::Native(NativeRun::new(native.new_client(seed, client))),
        }
    }

    /// Makes the clients with these numbers in a run.
    fn new_clients(&self, seed: u64, clients: Range<u32>) -> Vec<ProgramClient> {
        match &self.native {
            None => self.script_clients(seed, clients).into_iter().map(ProgramClient::Script).collect(),
            Some(_) => clients.map(|client| self.new_client(seed, client)).collect(),
        }
    }

    /// Nanoseconds that a client waits before a transaction; 0 for scripts, which pause by themselves.
    fn wait_ns(&self, client: &mut ProgramClient, index: u64) -> u64 {
        match client {
            ProgramClient::Script(_) => 0,
            ProgramClient::Native(run) => run.wait_ns(index),
        }
    }

    /// Begins a client's transaction.
    fn begin_transaction(&self, client: &mut ProgramClient, index: u64) {
        match client {
            ProgramClient::Script(client) => self.begin_script(client, index),
            ProgramClient::Native(run) => run.begin_transaction(index),
        }
    }

    /// Goes on to the client's next operation; fills `op` if it is a statement.
    fn next_op(&self, client: &mut ProgramClient, op: &mut StatementOp) -> Next {
        match client {
            ProgramClient::Script(client) => self.next_script_op(client, op),
            ProgramClient::Native(run) => run.next(&self.statements, op),
        }
    }

    /// Gives the rows of a statement to the client that asked for them.
    fn receive_rows(&self, client: &mut ProgramClient, results: &[KeptRow]) -> Result<(), OpError> {
        match client {
            ProgramClient::Script(client) => self.receive_in_script(client, results),
            ProgramClient::Native(run) => run.receive_rows(results),
        }
    }

    /// Takes the error by which a client's transaction failed.
    fn take_failure(&self, client: &mut ProgramClient) -> OpError {
        match client {
            ProgramClient::Script(client) => client.take_failure(),
            ProgramClient::Native(run) => run.make_failure(),
        }
    }

    /// What a client's current transaction has asked of the server.
    fn requested_work(&self, client: &ProgramClient) -> RequestedWork {
        match client {
            ProgramClient::Script(client) => client.requested_work(),
            ProgramClient::Native(run) => run.requested_work(),
        }
    }

    /// Number of transactions that a client sends before it waits for the first.
    fn batch_size(&self) -> u64 {
        self.pipeline_depth().into()
    }

    /// How failed transactions are tried again.
    fn retry_rule(&self) -> Retry {
        self.retry
    }

    /// Names of the kinds of transactions; none if there is one, or under `pipeline`.
    fn kind_names(&self) -> Vec<String> {
        // The transactions of one pipeline are of several kinds, and end as one.
        if self.pipeline_depth() > 1 { Vec::new() } else { self.kinds.clone() }
    }

    /// Index of the kind of a client's current transaction.
    fn current_kind(&self, client: &ProgramClient) -> usize {
        match client {
            ProgramClient::Script(client) => self.scripts[client.script_index()].kind,
            ProgramClient::Native(run) => run.current_kind(),
        }
    }

    /// Adds the counts of a native client's transaction that has ended to sums.
    fn add_tally(&self, client: &ProgramClient, end: TransactionEnd, into: &mut Vec<u64>) {
        if let ProgramClient::Native(run) = client {
            run.add_tally(end, into);
        }
    }
}
