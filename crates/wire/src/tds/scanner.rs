//! Scans what the server sends, during and after the login.

use crate::{Limits, Result, WireError};

use super::cursor::{Cursor, Trouble};
use super::packet::Framer;
use super::token::{Change, Token, is_null};
use super::{Cell, Column, ServerMessage};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    pub(super) status: u16,
    /// "CurCmd".
    pub command: u16,
    pub(super) rows: u64,
    /// Whether it ends a statement within a procedure.
    pub in_procedure: bool,
    /// Whether it ends a whole procedure, and so a call: it has a command of its own, `EXECUTE`, and is no statement's.
    pub of_procedure: bool,
}

impl Done {
    /// Counts the rows that a statement changed; a `SELECT` and a whole procedure have none of their own.
    pub fn changed_rows(&self) -> u64 {
        const COUNTED: u16 = 0x10;
        const SELECT: u16 = 0xC1;
        let counts = self.status & COUNTED != 0 && self.command != SELECT && !self.of_procedure;
        if counts { self.rows } else { 0 }
    }

    /// Tests whether the statement failed.
    pub fn is_error(&self) -> bool {
        self.status & 0x102 != 0
    }

    /// Number of rows, if it counts any.
    pub fn row_count(&self) -> Option<u64> {
        (self.status & 0x10 != 0).then_some(self.rows)
    }

    /// Whether it answers an attention.
    pub fn is_attention(&self) -> bool {
        self.status & 0x20 != 0
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Column],
    nulls: Option<&'a [u8]>,
    values: &'a [u8],
}

impl Row<'_> {
    /// Decodes the row's values.
    pub fn cells(&self) -> Result<Vec<Cell>> {
        let mut cursor = Cursor::new(self.values);
        let cells = self.columns.iter().enumerate().map(|(index, column)| match self.nulls {
            Some(nulls) if is_null(nulls, index) => Ok(Cell::Null),
            _ => Cell::parse(&column.info, &mut cursor).map_err(wire_error),
        });
        cells.collect()
    }
}

/// Receives what an answer holds; every method is optional.
pub trait Sink {
    /// Takes the columns of a result.
    fn columns(&mut self, _columns: &[Column]) {}

    /// Takes a row.
    fn row(&mut self, _row: Row<'_>) -> Result<()> {
        Ok(())
    }

    /// Takes the end of a statement.
    fn done(&mut self, _done: Done) {}

    /// Takes an error.
    fn error(&mut self, _error: ServerMessage) {}

    /// Takes a message that is no error.
    fn info(&mut self, _info: ServerMessage) {}

    /// Such as the handle of a prepared statement.
    fn return_value(&mut self, _value: Cell) {}
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Ignore;

impl Sink for Ignore {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    NeedMore,
    Ready { consumed: usize },
}

/// Whether an attention is still to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attention {
    None,
    Awaited,
}

/// The messages that arrive during a login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Greeting {
    pub(super) acknowledged: Option<(u32, (u8, u8, u16))>,
    pub(super) routed: Option<(String, u16)>,
    pub(super) negotiates: bool,
}

/// Scans answers in chunks of any size. Torn tokens are kept until complete.
#[derive(Debug, Clone)]
pub struct Scanner {
    limits: Limits,
    framer: Framer,
    torn: Vec<u8>,
    /// A torn token is parsed again only at this length, so that the cost stays linear.
    retry_bytes: usize,
    columns: Vec<Column>,
    /// The raw description of these columns: one that repeats is not parsed again.
    description: Vec<u8>,
    result: InResult,
    packet_bytes: usize,
    collation: [u8; 5],
    transaction: u64,
    attention: Attention,
    pub(super) greeting: Greeting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InResult {
    No,
    Yes,
}

/// The error of a parse that may not be short.
fn wire_error(trouble: Trouble) -> WireError {
    match trouble {
        Trouble::Short => WireError::malformed(),
        Trouble::Wrong(error) => error,
    }
}

impl Scanner {
    pub(super) fn new(limits: Limits, packet_bytes: usize, collation: [u8; 5]) -> Self {
        Self {
            limits,
            framer: Framer::default(),
            torn: Vec::new(),
            retry_bytes: 0,
            columns: Vec::new(),
            description: Vec::new(),
            result: InResult::No,
            packet_bytes,
            collation,
            transaction: 0,
            attention: Attention::None,
            greeting: Greeting::default(),
        }
    }

    /// The descriptor that every request carries; 0 without a transaction.
    pub fn transaction(&self) -> u64 {
        self.transaction
    }

    /// The size of packets that both sides agreed on.
    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    /// The server's number of the session (SPID), as its last packet has it.
    pub fn session_number(&self) -> u16 {
        self.framer.session_number()
    }

    /// The collation of the session's database.
    pub fn collation(&self) -> [u8; 5] {
        self.collation
    }

    /// Memory that the scanner keeps.
    pub fn retained_bytes(&self) -> usize {
        self.torn.capacity() + self.description.capacity()
    }

    /// The answer then ends only with the server's confirmation.
    pub fn attention_sent(&mut self) {
        self.attention = Attention::Awaited;
    }

    /// Reads tokens to the end of a reply, and gives them to `sink`.
    pub fn scan<S: Sink>(&mut self, received: &[u8], sink: &mut S) -> Result<Scan> {
        let mut input = received;
        while let Some(piece) = self.framer.next_piece(&mut input)? {
            if self.torn.is_empty() {
                let used = self.take_tokens(piece.bytes, sink)?;
                self.torn.extend_from_slice(&piece.bytes[used..]);
                self.retry_bytes = 2 * self.torn.len();
            } else {
                self.torn.extend_from_slice(piece.bytes);
                if piece.ends || self.torn.len() >= self.retry_bytes {
                    let mut torn = std::mem::take(&mut self.torn);
                    let used = self.take_tokens(&torn, sink)?;
                    torn.drain(..used);
                    self.torn = torn;
                    self.retry_bytes = 2 * self.torn.len();
                }
            }
            let limit_bytes = u64::from(self.limits.message_bytes);
            if self.torn.len() as u64 > limit_bytes {
                let length_bytes = self.torn.len() as u64;
                return Err(WireError::TooLarge { what: "a token", length_bytes, limit_bytes });
            }
            if piece.ends && self.end_message()? {
                return Ok(Scan::Ready { consumed: received.len() - input.len() });
            }
        }
        Ok(Scan::NeedMore)
    }

    /// `false`: another message answers an attention.
    fn end_message(&mut self) -> Result<bool> {
        if !self.torn.is_empty() {
            return Err(WireError::Protocol("an answer ends within a token"));
        }
        self.result = InResult::No;
        if self.torn.capacity() > self.limits.retained_bytes as usize {
            self.torn = Vec::new();
        }
        Ok(self.attention == Attention::None)
    }

    /// Takes the complete tokens; returns their length.
    fn take_tokens<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<usize> {
        let mut cursor = Cursor::new(bytes);
        loop {
            let complete = cursor.position();
            if cursor.is_at_end() {
                return Ok(complete);
            }
            if self.is_known(&bytes[complete..]) {
                cursor.skip(self.description.len());
                self.result = InResult::Yes;
                sink.columns(&self.columns);
                continue;
            }
            match Token::parse(&mut cursor, &self.columns) {
                Ok(Token::Columns(Some(columns))) => {
                    sink.columns(&columns);
                    self.note_columns(columns, &bytes[complete..cursor.position()]);
                }
                Ok(token) => self.take_token(token, sink)?,
                Err(Trouble::Short) => return Ok(complete),
                Err(Trouble::Wrong(error)) => return Err(error),
            }
        }
    }

    /// Whether this repeats the last result's columns.
    fn is_known(&self, bytes: &[u8]) -> bool {
        !self.description.is_empty() && bytes.starts_with(&self.description)
    }

    /// Keeps the columns of a result and their description.
    fn note_columns(&mut self, columns: Vec<Column>, description: &[u8]) {
        self.columns = columns;
        self.result = InResult::Yes;
        self.description.clear();
        if description.len() <= self.limits.retained_bytes as usize {
            self.description.extend_from_slice(description);
        }
    }

    /// Takes a token: gives it to `sink`, or notes what it says of the session.
    fn take_token<S: Sink>(&mut self, token: Token<'_>, sink: &mut S) -> Result<()> {
        match token {
            // Those with columns were taken already.
            Token::Columns(_) => self.result = InResult::No,
            Token::Row { nulls, values } => {
                if self.result == InResult::No {
                    return Err(WireError::Protocol("a row belongs to no result"));
                }
                sink.row(Row { columns: &self.columns, nulls, values })?;
            }
            Token::Error(error) => sink.error(error),
            Token::Info(info) => sink.info(info),
            Token::Done(done) => {
                if done.is_attention() {
                    self.attention = Attention::None;
                }
                sink.done(done);
            }
            Token::ReturnValue(value) => sink.return_value(value),
            Token::LoginAck { tds_version, version } => {
                self.greeting.acknowledged = Some((tds_version, version));
            }
            Token::Change(Change::PacketBytes(bytes)) => self.packet_bytes = bytes,
            Token::Change(Change::Collation(collation)) => self.collation = collation,
            Token::Change(Change::Began(descriptor)) => self.transaction = descriptor,
            Token::Change(Change::Ended) => self.transaction = 0,
            Token::Change(Change::Routed { host, port }) => self.greeting.routed = Some((host, port)),
            Token::Negotiate => self.greeting.negotiates = true,
            Token::Change(Change::Other) | Token::Skipped => {}
        }
        Ok(())
    }
}
