//! The grammar of replies: which payload may follow which ("Text Resultset", "COM_STMT_PREPARE Response").

use std::collections::VecDeque;

use crate::reader::Reader;
use crate::{Result, WireError};

use super::framer::{Head, Payload, Treatment};
use super::packet::MAX_PAYLOAD;
use super::scanner::{Command, Event, Prepared, Reply, Rows};
use super::{BinaryRow, Column, ErrorPacket, OkPacket, TextRow, capability};

const OK: u8 = 0x00;
const LOCAL_FILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// A result, or the answer to `COM_STMT_PREPARE`.
    Result,
    Columns {
        left: u64,
    },
    ColumnsEof,
    Rows,
    PreparedParameters {
        left: u16,
    },
    PreparedParametersEof,
    PreparedColumns {
        left: u16,
    },
    PreparedColumnsEof,
}

/// The kind of a payload, by its first byte and the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unsolicited,
    Error,
    Result,
    Parameter,
    Column,
    ColumnsEnd,
    Row,
    RowsEnd,
}

/// The payloads that must be read; others may be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// All but rows that no one asked for.
    Events,
    /// All that do not end a result.
    Outcome,
}

#[derive(Debug)]
pub(super) struct State {
    capabilities: u64,
    pub(super) rows: Rows,
    expected: VecDeque<Command>,
    command: Command,
    phase: Phase,
    kind: Kind,
    columns: u64,
    pub(super) reply: Reply,
}

impl State {
    pub(super) fn new(capabilities: u64) -> Self {
        Self {
            capabilities,
            rows: Rows::default(),
            expected: VecDeque::new(),
            command: Command::Simple,
            phase: Phase::Idle,
            kind: Kind::Result,
            columns: 0,
            reply: Reply::default(),
        }
    }

    /// Announces a command whose reply follows those announced before.
    pub(super) fn expect(&mut self, command: Command) {
        self.expected.push_back(command);
    }

    /// Number of replies that are not complete.
    pub(super) fn pending_count(&self) -> usize {
        self.expected.len() + usize::from(!self.is_idle())
    }

    /// Tests whether no reply has begun.
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether the last payload answers nothing.
    pub(super) fn is_unsolicited(&self) -> bool {
        self.kind == Kind::Unsolicited
    }

    /// Tests whether the server sends no EOF packets.
    fn deprecates_eof(&self) -> bool {
        self.capabilities & capability::DEPRECATE_EOF != 0
    }

    /// Classifies the payload that begins here and moves to the next phase. Called once per payload.
    #[inline]
    pub(super) fn classify(&mut self, head: Head, interest: Interest) -> Result<Treatment> {
        if self.phase == Phase::Idle {
            self.begin_reply(head)?;
        }
        self.kind = match (self.phase, head.first) {
            (_, None) => return Err(WireError::Protocol("an empty packet")),
            (Phase::Idle, _) => Kind::Unsolicited,
            // No row, column or count begins so.
            (_, Some(ERROR)) => {
                self.phase = Phase::Idle;
                Kind::Error
            }
            (Phase::Rows, Some(first)) => {
                if first == EOF && head.length < if self.deprecates_eof() { MAX_PAYLOAD } else { 9 } {
                    Kind::RowsEnd
                } else {
                    self.reply.rows += 1;
                    Kind::Row
                }
            }
            (Phase::Result, _) => Kind::Result,
            (phase, first) => self.take_definition(phase, first)?,
        };
        let unread = match self.kind {
            Kind::Row => interest == Interest::Outcome || self.rows == Rows::Skip,
            // A reply's last packet is always read, so that its end is recognised.
            Kind::Column | Kind::Parameter | Kind::ColumnsEnd => interest == Interest::Outcome && !self.is_idle(),
            _ => false,
        };
        Ok(if unread { Treatment::Skip } else { Treatment::Keep })
    }

    /// Begins the reply to the next command, by its first byte.
    fn begin_reply(&mut self, head: Head) -> Result<()> {
        match self.expected.pop_front() {
            Some(command) => {
                self.command = command;
                self.phase = Phase::Result;
                self.reply = Reply { status: self.reply.status, ..Reply::default() };
                Ok(())
            }
            None if head.first == Some(ERROR) => Ok(()),
            None => Err(WireError::Unexpected { tag: head.first.unwrap_or(0), state: "nothing was asked" }),
        }
    }

    /// A payload before the rows; moves to the next phase.
    fn take_definition(&mut self, phase: Phase, first: Option<u8>) -> Result<Kind> {
        let (next, kind) = match phase {
            Phase::Columns { left: 2.. }
            | Phase::PreparedParameters { left: 2.. }
            | Phase::PreparedColumns { left: 2.. } => (
                one_less(phase),
                if matches!(phase, Phase::PreparedParameters { .. }) { Kind::Parameter } else { Kind::Column },
            ),
            Phase::Columns { .. } => (self.phase_after_columns(), Kind::Column),
            Phase::PreparedParameters { .. } if self.deprecates_eof() => (self.phase_for_prepared(), Kind::Parameter),
            Phase::PreparedParameters { .. } => (Phase::PreparedParametersEof, Kind::Parameter),
            Phase::PreparedColumns { .. } if self.deprecates_eof() => (Phase::Idle, Kind::Column),
            Phase::PreparedColumns { .. } => (Phase::PreparedColumnsEof, Kind::Column),
            _ if first != Some(EOF) => return Err(WireError::Protocol("EOF is missing behind the columns")),
            Phase::ColumnsEof => (Phase::Rows, Kind::ColumnsEnd),
            Phase::PreparedParametersEof => (self.phase_for_prepared(), Kind::ColumnsEnd),
            _ => (Phase::Idle, Kind::ColumnsEnd),
        };
        self.phase = next;
        Ok(kind)
    }

    /// The phase after the definitions of columns.
    fn phase_after_columns(&self) -> Phase {
        if self.deprecates_eof() { Phase::Rows } else { Phase::ColumnsEof }
    }

    /// The phase after the parameters of a prepared statement.
    fn phase_for_prepared(&self) -> Phase {
        match self.reply.prepared.map_or(0, |prepared| prepared.columns) {
            0 => Phase::Idle,
            left => Phase::PreparedColumns { left },
        }
    }

    /// The event that a payload is.
    pub(super) fn event_of<'a>(&mut self, payload: &Payload<'a>) -> Result<Event<'a>> {
        let bytes = payload.bytes;
        match self.kind {
            Kind::Unsolicited | Kind::Error => Ok(Event::Error(ErrorPacket::parse(bytes)?)),
            Kind::Result if self.command == Command::Prepare => self.prepared_event(bytes),
            Kind::Result => self.result_event(payload),
            Kind::Parameter => Ok(Event::Parameter(Column::parse(bytes)?)),
            Kind::Column => Ok(Event::Column(Column::parse(bytes)?)),
            Kind::ColumnsEnd => Ok(Event::ColumnsEnd),
            Kind::Row if self.command == Command::Execute => {
                Ok(Event::BinaryRow(BinaryRow::parse(bytes, self.columns)?))
            }
            Kind::Row => Ok(Event::TextRow(TextRow::parse(bytes, self.columns)?)),
            Kind::RowsEnd if self.deprecates_eof() => Ok(self.done_event(OkPacket::parse(bytes)?)),
            Kind::RowsEnd => Ok(self.done_event(OkPacket::parse_eof(bytes)?)),
        }
    }

    /// The event of the first payload of a result.
    fn result_event<'a>(&mut self, payload: &Payload<'a>) -> Result<Event<'a>> {
        let bytes = payload.bytes;
        let unexpected = |tag| Err(WireError::Unexpected { tag, state: "waiting for a result" });
        match (bytes, self.command) {
            ([OK, ..], _) => Ok(self.done_event(OkPacket::parse(bytes)?)),
            ([EOF, _, _, _, _], Command::Simple) => Ok(self.done_event(OkPacket::parse_eof(bytes)?)),
            ([LOCAL_FILE, name @ ..], Command::Query) => Ok(Event::LocalFile { name, sequence: payload.sequence }),
            ([tag @ (EOF | LOCAL_FILE), ..], _) | ([tag, ..], Command::Simple) => unexpected(*tag),
            _ => {
                let mut reader = Reader::new(bytes);
                self.columns = reader.lenenc_int()?;
                if self.columns == 0 {
                    return Err(WireError::Protocol("a result without columns"));
                }
                let caches = self.capabilities & capability::MARIADB_CACHE_METADATA != 0;
                let columns_follow = !caches || reader.take_u8()? != 0;
                self.phase =
                    if columns_follow { Phase::Columns { left: self.columns } } else { self.phase_after_columns() };
                Ok(Event::Columns(self.columns))
            }
        }
    }

    /// The event of a prepared statement.
    fn prepared_event<'a>(&mut self, bytes: &'a [u8]) -> Result<Event<'a>> {
        let mut reader = Reader::new(bytes);
        match reader.take_u8()? {
            OK => {}
            tag => return Err(WireError::Unexpected { tag, state: "preparing a statement" }),
        }
        let statement_id = reader.take_u32_le()?;
        let prepared = Prepared { statement_id, columns: reader.take_u16_le()?, parameters: reader.take_u16_le()? };
        self.reply.prepared = Some(prepared);
        self.reply.results = 1;
        self.phase = match prepared.parameters {
            0 => self.phase_for_prepared(),
            left => Phase::PreparedParameters { left },
        };
        Ok(Event::Prepared(prepared))
    }

    /// Ends a result; returns its event.
    fn done_event<'a>(&mut self, ok: OkPacket) -> Event<'a> {
        let reply = &mut self.reply;
        reply.affected = reply.affected.saturating_add(ok.affected_rows);
        reply.results = reply.results.saturating_add(1);
        if ok.last_insert_id != 0 {
            reply.last_insert_id = ok.last_insert_id;
        }
        reply.status = ok.status;
        reply.warnings = ok.warnings;
        self.phase = if ok.status.more_results() { Phase::Result } else { Phase::Idle };
        Event::Done(ok)
    }
}

/// The phase with one definition fewer to come.
fn one_less(phase: Phase) -> Phase {
    match phase {
        Phase::Columns { left } => Phase::Columns { left: left - 1 },
        Phase::PreparedParameters { left } => Phase::PreparedParameters { left: left - 1 },
        Phase::PreparedColumns { left } => Phase::PreparedColumns { left: left - 1 },
        other => other,
    }
}
