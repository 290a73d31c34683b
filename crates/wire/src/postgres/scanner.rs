//! Finds the messages in a stream of bytes, and their end fast.

use crate::{Limits, Result, WireError};

use super::framer::{Frame, Framer, Interest};
use super::{CommandTag, ErrorFields, Event, Fields, ParameterTypes, Row, TransactionStatus};

/// The treatment of rows, and of the data of `COPY … TO STDOUT`, in [`Scanner::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    /// Count them and skip their bytes.
    #[default]
    Skip,
    /// Report each of them.
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    pub rows: u64,
    /// Sum of all command tags: rows selected, inserted, changed, copied.
    pub affected: u64,
    /// Rows inserted, updated, deleted, merged, copied.
    pub changed: u64,
    /// Completed commands; in a failed pipeline those before the failure.
    pub commands: u32,
    /// The session's state at the end of the reply.
    pub status: TransactionStatus,
}

/// The outcome of [`Scanner::scan_to_ready`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanOutcome {
    /// All bytes are used up and the reply goes on.
    NeedMore,
    Ready {
        reply: Reply,
        /// Bytes that belong to the reply; the rest is the next one.
        consumed: usize,
    },
    Failed {
        error: Box<ErrorFields>,
        reply: Reply,
        consumed: usize,
    },
    CopyIn {
        consumed: usize,
    },
    /// The server gave up this connection. Nothing follows.
    Fatal(Box<ErrorFields>),
}

/// Reads the server's side of a connection after the handshake. See the [crate] for its rules. [`next`](Self::next)
/// (by message) and [`scan_to_ready`](Self::scan_to_ready) (by reply) may be mixed.
#[derive(Debug)]
pub struct Scanner {
    framer: Framer,
    counts: ReplyCounts,
    error: Option<Box<ErrorFields>>,
    /// The reply is over; the next message begins another one.
    ended: bool,
    broken: Option<WireError>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ReplyCounts {
    /// Number of rows, without those that the framer skipped.
    rows: u64,
    affected: u64,
    changed: u64,
    commands: u32,
}

impl Scanner {
    pub fn new(limits: Limits) -> Self {
        Self { framer: Framer::new(limits), counts: ReplyCounts::default(), error: None, ended: false, broken: None }
    }

    /// Whether [`next`](Self::next) reports rows, from the next message on.
    pub fn set_rows(&mut self, rows: Rows) {
        self.framer.rows = rows;
    }

    /// Number of rows of the current reply so far, or of the one that just ended; skipped ones count.
    pub fn rows_seen(&self) -> u64 {
        self.framer.rows_skipped + self.counts.rows
    }

    /// Number of rows that the same reply changed.
    pub fn changed_seen(&self) -> u64 {
        self.counts.changed
    }

    /// Memory that the scanner keeps.
    pub fn memory_bytes(&self) -> usize {
        self.framer.memory_bytes()
    }

    /// Takes the next message from the front of `input`. `None`: `input` is used up. After an error it stays the same
    /// error.
    pub fn next_event<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>> {
        self.begin()?;
        let event = match self.framer.next_frame(input, Interest::Events) {
            Ok(None) => return Ok(None),
            Ok(Some(frame)) => event_of(&frame),
            Err(error) => Err(error),
        };
        match &event {
            Ok(Event::Ready(_)) => self.ended = true,
            Ok(Event::Done(tag)) => self.counts.add_command(*tag),
            Ok(Event::Row(_)) => self.counts.rows += 1,
            Ok(_) => {}
            Err(error) => self.broken = Some(error.clone()),
        }
        event.map(Some)
    }

    /// Reads on to `ReadyForQuery`, a `COPY` that wants data, or the end of the connection.
    ///
    /// Rows, notices, notifications and descriptions are skipped by their headers; only an error allocates. With
    /// several requests in flight, call it again with the bytes after `consumed`.
    pub fn scan_to_ready(&mut self, bytes: &[u8]) -> Result<ScanOutcome> {
        self.begin()?;
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
        while let Some(frame) = self.framer.next_frame(&mut input, Interest::Outcome)? {
            let consumed = bytes.len() - input.len();
            match frame.tag {
                b'C' => self.counts.add_command(CommandTag::parse(frame.body)?),
                b'I' => self.counts.commands = self.counts.commands.saturating_add(1),
                b'E' => {
                    let error = ErrorFields::parse(frame.body)?;
                    if error.ends_connection() {
                        return Ok(ScanOutcome::Fatal(error));
                    }
                    self.error.get_or_insert(error);
                }
                b'Z' => {
                    let status = TransactionStatus::parse(frame.body)?;
                    return Ok(self.finish(status, consumed));
                }
                b'G' => {
                    return Ok(ScanOutcome::CopyIn { consumed });
                }
                // Torn while rows were kept.
                b'D' => self.counts.rows += 1,
                _ => {}
            }
        }
        Ok(ScanOutcome::NeedMore)
    }

    /// Gets ready for the next message; fails if the stream is broken.
    #[inline]
    fn begin(&mut self) -> Result<()> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if std::mem::take(&mut self.ended) {
            self.counts = ReplyCounts::default();
            self.framer.rows_skipped = 0;
            self.error = None;
        }
        Ok(())
    }

    /// Ends a reply, and returns its counts.
    fn finish(&mut self, status: TransactionStatus, consumed: usize) -> ScanOutcome {
        let rows = self.rows_seen();
        let ReplyCounts { affected, changed, commands, .. } = self.counts;
        self.ended = true;
        let reply = Reply { rows, affected, changed, commands, status };
        match self.error.take() {
            None => ScanOutcome::Ready { reply, consumed },
            Some(error) => ScanOutcome::Failed { error, reply, consumed },
        }
    }
}

impl ReplyCounts {
    /// Adds a command's rows.
    fn add_command(&mut self, tag: CommandTag<'_>) {
        self.commands = self.commands.saturating_add(1);
        let rows = tag.row_count();
        self.affected = self.affected.saturating_add(rows);
        if tag.counts_changes() {
            self.changed = self.changed.saturating_add(rows);
        }
    }
}

/// The event that a message is.
fn event_of<'a>(frame: &Frame<'a>) -> Result<Event<'a>> {
    let body = frame.body;
    Ok(match frame.tag {
        b'Z' => Event::Ready(TransactionStatus::parse(body)?),
        b'C' => Event::Done(CommandTag::parse(body)?),
        b'E' => Event::Error(ErrorFields::parse(body)?),
        b'D' => Event::Row(Row::parse(body)?),
        b'T' => Event::Columns(Fields::parse(body)?),
        b't' => Event::ParameterTypes(ParameterTypes::parse(body)?),
        b'I' => Event::EmptyQuery,
        b'G' => Event::CopyIn,
        b'd' => Event::CopyData(body),
        // The framer has refused any that the protocol does not have.
        _ => Event::Other,
    })
}
