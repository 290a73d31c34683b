//! Finds the results in a stream of bytes, and their end fast.

use crate::{Limits, Result, WireError};

use super::framer::Framer;
use super::reply::{Interest, State};
use super::{BinaryRow, Column, ErrorPacket, OkPacket, ServerStatus, TextRow};

/// What a reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `COM_QUERY`: rows come as text.
    Query,
    /// `COM_STMT_EXECUTE`: rows come in binary.
    Execute,
    /// `COM_STMT_PREPARE`.
    Prepare,
    /// Everything that is answered by OK or an error: `COM_PING`, `COM_STMT_RESET`, `COM_INIT_DB`, `COM_RESET_CONNECTION`.
    Simple,
}

/// What to do with rows in [`Scanner::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    /// Count them and skip their bytes.
    #[default]
    Skip,
    /// Report each of them.
    Keep,
}

/// One thing that the server said, borrowed from the bytes it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A statement is prepared; its parameters and columns follow.
    Prepared(Prepared),
    /// A parameter of the statement being prepared.
    Parameter(Column<'a>),
    /// A result begins, with so many columns.
    Columns(u64),
    /// A column of the result or of the statement being prepared. MariaDB leaves those of a prepared statement's result
    /// out if they are as they were.
    Column(Column<'a>),
    /// The columns (or parameters) are complete; only from servers without [`DEPRECATE_EOF`](super::capability::DEPRECATE_EOF).
    ColumnsEnd,
    /// A row of a query's result; only if [`Rows::Keep`] is set.
    TextRow(TextRow<'a>),
    /// A row of a prepared statement's result; only if [`Rows::Keep`] is set.
    BinaryRow(BinaryRow<'a>),
    /// A result is complete. Another one follows if the status says so; else the reply is.
    Done(OkPacket),
    /// The command failed, and the reply is complete.
    Error(Box<ErrorPacket>),
    /// The server wants a local file. Answer with [`refuse_local_file`](super::command::refuse_local_file).
    LocalFile {
        /// The file's name as the server gives it.
        name: &'a [u8],
        /// The number of the server's packet.
        sequence: u8,
    },
}

/// A statement that was prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// Its number on this connection.
    pub statement_id: u32,
    /// How many parameters it has.
    pub parameters: u16,
    /// How many columns its result has; 0: it has none.
    pub columns: u16,
}

/// What a reply came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reply {
    /// Rows that the server sent.
    pub rows: u64,
    /// Rows that it says it changed, over all results.
    pub affected: u64,
    pub results: u32,
    /// The last generated key.
    pub last_insert_id: u64,
    /// Where the session stands now. After an error: where it stood before, since errors do not tell.
    pub status: ServerStatus,
    /// Warnings of the last result.
    pub warnings: u16,
    /// The statement that was prepared, if that was the command.
    pub prepared: Option<Prepared>,
}

/// What [`Scanner::scan_to_end`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanOutcome {
    /// All bytes are used up and the reply goes on.
    NeedMore,
    /// The reply is complete.
    Done {
        /// What it came to.
        reply: Reply,
        /// How many of the given bytes belong to it. The rest is the next reply.
        consumed: usize,
    },
    /// The reply is complete: the command failed.
    Failed {
        error: Box<ErrorPacket>,
        reply: Reply,
        /// How many of the given bytes belong to it.
        consumed: usize,
    },
    /// The server wants a local file: answer, then scan on.
    LocalFile {
        /// The number of the server's packet.
        sequence: u8,
        /// How many of the given bytes were used.
        consumed: usize,
    },
    /// An error that answers nothing: the server is about to close the connection.
    Fatal(Box<ErrorPacket>),
}

/// Reads the server's side of a connection after the handshake. See the [crate] for the rules it keeps.
///
/// Every command that has a reply must be announced by [`expect`](Self::expect), in the order in which they are sent. Use
/// either [`next`](Self::next) or [`scan_to_end`](Self::scan_to_end); they may be mixed at any point of the stream.
#[derive(Debug)]
pub struct Scanner {
    framer: Framer,
    state: State,
    broken: Option<WireError>,
}

impl Scanner {
    /// A scanner between two replies. `capabilities` are those that both sides have.
    #[must_use]
    pub fn new(limits: Limits, capabilities: u64) -> Self {
        Self { framer: Framer::new(limits.message_bytes, limits), state: State::new(capabilities), broken: None }
    }

    /// Announces a command whose reply is to come after those that were announced before.
    pub fn expect(&mut self, command: Command) {
        self.state.expect(command);
    }

    /// How many announced replies are not complete.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.state.pending()
    }

    /// Says whether [`next`](Self::next) reports rows, from the next payload on.
    pub fn set_rows(&mut self, rows: Rows) {
        self.state.rows = rows;
    }

    /// What the current reply came to so far, or the one that just ended.
    #[must_use]
    pub fn reply(&self) -> Reply {
        self.state.reply
    }

    /// Memory that this scanner holds for torn payloads, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.framer.memory_bytes()
    }

    /// Takes the next event from the front of `input`. `None`: `input` is used up; more bytes are needed if anything is
    /// [`pending`](Self::pending).
    ///
    /// # Errors
    ///
    /// [`WireError::Protocol`], [`WireError::Unexpected`] and [`WireError::TooLarge`]; from then on always the same.
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let state = &mut self.state;
        let event = match self.framer.next(input, |head| state.judge(head, Interest::Events)) {
            Ok(None) => return Ok(None),
            Ok(Some(payload)) => state.event(&payload),
            Err(error) => Err(error),
        };
        if let Err(error) = &event {
            self.broken = Some(error.clone());
        }
        event.map(Some)
    }

    /// Reads on to the end of the reply, skipping rows and columns by their headers. Only an error allocates. With several
    /// commands in flight, call it again with the bytes behind `consumed`.
    pub fn scan_to_end(&mut self, bytes: &[u8]) -> Result<ScanOutcome> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let outcome = self.scan(bytes);
        if let Err(error) = &outcome {
            self.broken = Some(error.clone());
        }
        outcome
    }

    #[inline]
    fn scan(&mut self, bytes: &[u8]) -> Result<ScanOutcome> {
        let mut input = bytes;
        let state = &mut self.state;
        while let Some(payload) = self.framer.next(&mut input, |head| state.judge(head, Interest::Outcome))? {
            let consumed = bytes.len() - input.len();
            match state.event(&payload)? {
                Event::Error(error) if state.is_unsolicited() => return Ok(ScanOutcome::Fatal(error)),
                Event::Error(error) => {
                    return Ok(ScanOutcome::Failed { error, reply: state.reply, consumed });
                }
                Event::LocalFile { sequence, .. } => return Ok(ScanOutcome::LocalFile { sequence, consumed }),
                _ if state.is_idle() => return Ok(ScanOutcome::Done { reply: state.reply, consumed }),
                _ => {}
            }
        }
        Ok(ScanOutcome::NeedMore)
    }
}
