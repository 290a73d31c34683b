//! Protocols in which a client asks, and waits for the whole answer before it asks again, over a reactor. What is said is
//! each protocol's own affair: its [`Conversation`].

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

/// A connection that is ready for its first request.
pub(crate) struct Opened<C> {
    pub(crate) link: Link,
    pub(crate) connection: C,
}

/// Makes a client's connection anew.
pub(crate) type Opener<C> = connector::Opener<Opened<C>>;

/// A statement that is one of a portable script's words in `words`, in the engine's own words behind them; any other as it
/// is.
pub(crate) fn translated<'a>(sql: &'a str, words: &[(&str, &'a str)]) -> &'a str {
    let trimmed = sql.trim();
    let own = words.iter().find(|(portable, _)| trimmed.eq_ignore_ascii_case(portable));
    own.map_or(sql, |(_, own)| own)
}

/// What a connection is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its client does not wait for it.
    Free,
    /// Its client waits for the answer.
    Waiting,
    /// It is gone, for this reason.
    Gone(OpError),
}

/// What received bytes came to.
#[derive(Debug)]
pub enum Heard {
    /// The answer goes on.
    Nothing,
    /// The answer is complete.
    Answer(Outcome),
    /// The connection cannot be used any more.
    End(OpError),
}

/// Refuses to send transactions ahead, which a dialogue of one request and one answer cannot do. `product` is what a person calls
/// the engine.
///
/// # Errors
/// The plan has a `pipeline`.
pub(crate) fn refuse_pipeline(product: &str, program: &Program) -> Result<(), Failure> {
    if program.depth() == 1 {
        return Ok(());
    }
    let cause = format!("{product}'s protocol has no pipeline: each statement waits for the end of the one before it");
    Err(Failure::new(FailureKind::Unsupported, format!("use `pipeline = {}`", program.depth()), cause)
        .hint(format!("leave `pipeline` at 1 on {product}")))
}

/// One client's connection: what it is doing, and what it hears. Who moves the bytes is the lane's affair.
pub trait Conversation {
    /// What it is doing.
    fn state(&self) -> &State;

    /// The same, for lanes that find it gone.
    fn state_mut(&mut self) -> &mut State;

    /// Encodes an operation, and waits for its answer from here on. `text` is room for a request that is not prepared.
    ///
    /// # Errors
    /// The operation cannot be sent; nothing is waited for then. That includes a connection that is gone.
    fn request<'a>(&'a mut self, op: &StatementOp, text: &'a mut Vec<u8>) -> Result<&'a [u8], OpError>;

    /// Reads what was received, to its last byte.
    fn read(&mut self, received: &[u8]) -> Heard;

    /// Whether a transaction may be open, so that one that failed has to be rolled back.
    fn needs_rollback(&self) -> bool;

    /// Whether one is open.
    fn is_in_transaction(&self) -> bool {
        self.needs_rollback()
    }

    /// The request that rolls back.
    fn rollback() -> StatementOp;

    /// What was kept of the last operation's rows.
    fn kept(&self) -> &[KeptRow];

    /// The number by which the server let the session in, where it tells one.
    fn session_number(&self) -> Option<u32> {
        None
    }

    /// Appends what is said before a connection is closed. Where it is something, the server is waited for to close its
    /// side.
    fn farewell(out: &mut Vec<u8>);
}
