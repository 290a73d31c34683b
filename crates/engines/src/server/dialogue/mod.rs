//! Request–response protocols over a reactor; each protocol is a [`Conversation`].

mod asking;
mod client;
mod link;
mod native;
mod tls;
mod values;
mod waiting;

use crate::server::connector;
use load::error::{Failure, FailureKind};
use load::lane::{ErrorClass, KeptRow, OpError, OpOutcome, RowCounts, SyncPoint, connection_lost};
use workloads::transactions::{Program, StatementOp};

pub(crate) use asking::{AskError, Asker, Pieces, ServerError, TextRows, first_columns, first_row, first_value};
pub(crate) use client::{Client, WireProtocol, text_value, to_text_rows};
pub(crate) use link::{Link, Timed, Tls};
pub use native::NativeLane;
pub(crate) use values::{LastRows, value_of_datum, with_values};
pub(crate) use waiting::{Aside, INTERRUPTED, ServerWait, Vigil, Waiting};

pub(crate) struct OpenedConnection<C> {
    pub(crate) link: Link,
    pub(crate) connection: C,
}

/// Reconnects a client.
pub(crate) type Opener<C> = connector::Opener<OpenedConnection<C>>;

/// Replaces a statement that is a portable word by the engine's own; others stay as they are.
pub(crate) fn translate_word<'a>(sql: &'a str, words: &[(&str, &'a str)]) -> &'a str {
    let trimmed = sql.trim();
    let own = words.iter().find(|(portable, _)| trimmed.eq_ignore_ascii_case(portable));
    own.map_or(sql, |(_, own)| own)
}

/// Longer answers mean a server without end.
const ANSWER_BYTES: u64 = 1 << 30;

/// Adds what was received to an answer's size; returns the error if it is too long.
pub(crate) fn add_answer_bytes(answer_bytes: &mut u64, received: &[u8]) -> Option<OpError> {
    *answer_bytes += received.len() as u64;
    let too_long = format_args!("the server's answer has no end after {} MiB", ANSWER_BYTES >> 20);
    (*answer_bytes > ANSWER_BYTES).then(|| connection_lost(&too_long))
}

/// Makes the error of an answer with too many results.
pub(crate) fn endless_results_error() -> OpError {
    connection_lost("the server's answer has results without end")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogueState {
    /// The client is idle.
    Free,
    /// The client waits for the answer.
    Waiting,
    Gone(OpError),
}

/// What the messages contain that a server sent at once.
#[derive(Debug, Default)]
pub struct Heard {
    /// The answer is complete.
    pub(crate) answer: Option<OpOutcome>,
    /// The connection is unusable from then on.
    pub(crate) end: Option<OpError>,
    /// Rows of the answers that ended in it.
    pub(crate) rows: RowCounts,
}

/// How a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The protocol has no goodbye.
    Unsaid,
    /// The client takes leave; a new connection may be made at once.
    Said,
    /// The client takes leave; a new connection waits until the server has closed, since the old one counts among its
    /// connections.
    Awaited,
}

/// Makes the error of a statement that the protocol cannot carry.
pub(crate) fn encoding_error(error: wire::WireError) -> OpError {
    OpError { class: ErrorClass::Statement, message: error.to_string() }
}

/// Fails if a program sends transactions ahead, which a dialogue of one request and one answer cannot do.
/// `product` is what a person calls the engine.
pub(crate) fn refuse_pipeline(product: &str, program: &Program) -> Result<(), Failure> {
    if program.pipeline_depth() == 1 {
        return Ok(());
    }
    let cause = format!("{product}'s protocol has no pipeline: each statement waits for the end of the one before it");
    Err(Failure::new(FailureKind::Unsupported, format!("use `pipeline = {}`", program.pipeline_depth()), cause)
        .with_hint(format!("leave `pipeline` at 1 on {product}")))
}

/// The protocol state of a client's connection; the lane moves the bytes.
pub trait Conversation {
    const PARTING: Parting;
    /// Whether requests may follow each other before the first is answered. Without, those of a pipeline are waited for one by
    /// one.
    const PIPELINES: bool = false;

    /// Returns whether the client is idle, waits for an answer, or has lost its server.
    fn state(&self) -> &DialogueState;

    /// Returns the dialogue's state, to be set by lanes that find the server gone.
    fn state_mut(&mut self) -> &mut DialogueState;

    /// Encodes an operation, and begins to wait for its answer.
    /// `text` is memory for unprepared requests. On failure nothing is waited for.
    fn encode_request<'a>(&'a mut self, op: &StatementOp, text: &'a mut Vec<u8>) -> Result<&'a [u8], OpError>;

    /// Appends to `out` what ends a pipeline; nothing in protocols without one.
    fn encode_sync(&mut self, _point: SyncPoint, _out: &mut Vec<u8>) -> Result<(), OpError> {
        Ok(())
    }

    /// Reads everything received into `heard`; `reply` takes what the protocol has to say by itself.
    fn read_received(&mut self, received: &[u8], heard: &mut Heard, reply: &mut Vec<u8>);

    /// Whether a failed transaction may be open.
    fn needs_rollback(&self) -> bool;

    /// Whether a transaction is open.
    fn is_in_transaction(&self) -> bool {
        self.needs_rollback()
    }

    /// The statement that rolls back.
    const ROLLBACK: &'static str;

    /// Makes the client usable after a failure. `None`: by what `out` now holds, whose answer is awaited.
    fn recover_client(&mut self, out: &mut Vec<u8>) -> Option<OpOutcome> {
        if *self.state() != DialogueState::Free || !self.needs_rollback() {
            return Some(OpOutcome::Ok);
        }
        let text = Self::ROLLBACK.to_owned();
        self.encode_request(&StatementOp { statement: usize::MAX, text, ..StatementOp::default() }, out)
            .err()
            .map(OpOutcome::Failed)
    }

    /// Returns the rows that the last answer was asked to keep.
    fn kept_rows(&self) -> &[KeptRow];

    /// Number of the session, if the login reports it.
    fn session_number(&self) -> Option<u32> {
        None
    }

    /// Writes the bytes to `out` that are sent before closing.
    fn write_farewell(_out: &mut Vec<u8>) {}
}
