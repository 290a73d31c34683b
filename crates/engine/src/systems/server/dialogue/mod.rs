//! Request–response protocols over a reactor; each protocol is a [`Conversation`].

mod asking;
mod link;
mod native;
pub(crate) mod tls;

use crate::error::{Failure, FailureKind};
use crate::lane::{KeptRow, OpError, Outcome};
use crate::systems::server::connector;
use crate::workloads::transactions::{Program, StatementOp};

pub(crate) use asking::{AskError, Asker, ServerError, single};
pub(crate) use link::{Link, Timed, Tls};
pub use native::NativeLane;

pub(crate) struct Opened<C> {
    pub(crate) link: Link,
    pub(crate) connection: C,
}

/// Reconnects a client.
pub(crate) type Opener<C> = connector::Opener<Opened<C>>;

/// Replaces a portable word by the engine's own; other statements stay.
pub(crate) fn translated<'a>(sql: &'a str, words: &[(&str, &'a str)]) -> &'a str {
    let trimmed = sql.trim();
    let own = words.iter().find(|(portable, _)| trimmed.eq_ignore_ascii_case(portable));
    own.map_or(sql, |(_, own)| own)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The client is idle.
    Free,
    /// The client waits for the answer.
    Waiting,
    Gone(OpError),
}

#[derive(Debug)]
pub enum Heard {
    /// The answer is incomplete.
    Nothing,
    /// The answer is complete.
    Answer(Outcome),
    /// The connection is unusable.
    End(OpError),
}

/// Refuses to send transactions ahead, which a dialogue of one request and one answer cannot do. `product` is what a person calls
/// the engine.
pub(crate) fn refuse_pipeline(product: &str, program: &Program) -> Result<(), Failure> {
    if program.depth() == 1 {
        return Ok(());
    }
    let cause = format!("{product}'s protocol has no pipeline: each statement waits for the end of the one before it");
    Err(Failure::new(FailureKind::Unsupported, format!("use `pipeline = {}`", program.depth()), cause)
        .hint(format!("leave `pipeline` at 1 on {product}")))
}

/// The protocol state of a client's connection; the lane moves the bytes.
pub trait Conversation {
    fn state(&self) -> &State;

    /// For lanes that find it gone.
    fn state_mut(&mut self) -> &mut State;

    /// Encodes an operation and begins to wait for its answer. `text` is memory for unprepared requests. On failure
    /// nothing is waited for.
    fn request<'a>(&'a mut self, op: &StatementOp, text: &'a mut Vec<u8>) -> Result<&'a [u8], OpError>;

    /// Reads everything received.
    fn read(&mut self, received: &[u8]) -> Heard;

    /// Whether a failed transaction may be open.
    fn needs_rollback(&self) -> bool;

    /// Whether one is open.
    fn is_in_transaction(&self) -> bool {
        self.needs_rollback()
    }

    fn rollback() -> StatementOp;

    fn kept(&self) -> &[KeptRow];

    /// From the login, if the server tells it.
    fn session_number(&self) -> Option<u32> {
        None
    }

    /// Bytes sent before closing; if any, the server closes first.
    fn farewell(out: &mut Vec<u8>);
}
