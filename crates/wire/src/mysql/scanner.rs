//! Finds the results in a stream of bytes, and their end fast.

use crate::{Limits, Result, WireError};

use super::framer::Framer;
use super::reply::{Interest, State};
use super::{BinaryRow, Column, ErrorPacket, OkPacket, ServerStatus, TextRow};

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

/// The treatment of rows in [`Scanner::next`].
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
    Prepared(Prepared),
    /// A parameter of the statement being prepared.
    Parameter(Column<'a>),
    /// A result begins, with this many columns.
    Columns(u64),
    /// A column of the result, or of the statement being prepared. MariaDB omits unchanged ones of a prepared
    /// statement.
    Column(Column<'a>),
    /// The columns (or parameters) are complete; only from servers without [`DEPRECATE_EOF`](super::capability::DEPRECATE_EOF).
    ColumnsEnd,
    /// A row of a query's result; only if [`Rows::Keep`] is set.
    TextRow(TextRow<'a>),
    /// A row of a prepared statement's result; only if [`Rows::Keep`] is set.
    BinaryRow(BinaryRow<'a>),
    /// A result is complete. The status says whether another follows in this reply.
    Done(OkPacket),
    /// The command failed, and the reply is complete.
    Error(Box<ErrorPacket>),
    /// The server wants a local file. Answer with [`refuse_local_file`](super::command::refuse_local_file).
    LocalFile {
        name: &'a [u8],
        sequence: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    pub statement_id: u32,
    pub parameters: u16,
    /// 0: no result.
    pub columns: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reply {
    pub rows: u64,
    /// Over all results.
    pub affected: u64,
    pub results: u32,
    /// The last generated key.
    pub last_insert_id: u64,
    /// The session's state; an error leaves it as it was, since errors do not report it.
    pub status: ServerStatus,
    /// Warnings of the last result.
    pub warnings: u16,
    /// The answer to `COM_STMT_PREPARE`.
    pub prepared: Option<Prepared>,
}

/// The outcome of [`Scanner::scan_to_end`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanOutcome {
    /// All bytes are used up and the reply goes on.
    NeedMore,
    Done {
        reply: Reply,
        /// Bytes of `bytes` that belong to the reply; the rest is the next one.
        consumed: usize,
    },
    Failed {
        error: Box<ErrorPacket>,
        reply: Reply,
        consumed: usize,
    },
    LocalFile {
        sequence: u8,
        consumed: usize,
    },
    /// An error that answers nothing: the server is about to close the connection.
    Fatal(Box<ErrorPacket>),
}

/// Reads the server's side of a connection after the handshake. See the [crate] for its rules.
///
/// Announce every command that has a reply by [`expect_token`](Self::expect), in order. [`next`](Self::next) and
/// [`scan_to_end`](Self::scan_to_end) may be mixed.
#[derive(Debug)]
pub struct Scanner {
    framer: Framer,
    state: State,
    broken: Option<WireError>,
}

impl Scanner {
    pub fn new(limits: Limits, capabilities: u64) -> Self {
        Self { framer: Framer::new(limits.message_bytes, limits), state: State::new(capabilities), broken: None }
    }

    /// Announces a command whose reply follows those announced before.
    pub fn expect(&mut self, command: Command) {
        self.state.expect(command);
    }

    /// Announced replies that are not complete.
    pub fn pending_count(&self) -> usize {
        self.state.pending_count()
    }

    /// Whether [`next`](Self::next) reports rows, from the next payload on.
    pub fn set_rows(&mut self, rows: Rows) {
        self.state.rows = rows;
    }

    /// The current reply so far, or the one that just ended.
    pub fn reply(&self) -> Reply {
        self.state.reply
    }

    /// Memory that the scanner keeps.
    pub fn memory_bytes(&self) -> usize {
        self.framer.memory_bytes()
    }

    /// Takes the next event from the front of `input`. `None`: `input` is used up; more bytes are needed if anything
    /// is [`pending`](Self::pending). After an error it stays the same error.
    pub fn next_event<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let state = &mut self.state;
        let event = match self.framer.next_payload(input, |head| state.classify(head, Interest::Events)) {
            Ok(None) => return Ok(None),
            Ok(Some(payload)) => state.event_of(&payload),
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

    /// Reads to the end of a reply without its rows.
    #[inline]
    fn scan(&mut self, bytes: &[u8]) -> Result<ScanOutcome> {
        let mut input = bytes;
        let state = &mut self.state;
        while let Some(payload) =
            self.framer.next_payload(&mut input, |head| state.classify(head, Interest::Outcome))?
        {
            let consumed = bytes.len() - input.len();
            match state.event_of(&payload)? {
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
