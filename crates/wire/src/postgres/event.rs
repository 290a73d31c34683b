//! What a server can say outside the handshake.

use crate::reader::Reader;
use crate::{Result, WireError};

use super::{CommandTag, ErrorFields, Fields, Format, ParameterTypes, Row};

/// Where a session stands with respect to transactions (55.7, "ReadyForQuery").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    /// In one that failed, and takes nothing but its end.
    Failed,
}

impl TransactionStatus {
    pub(crate) fn parse(body: &[u8]) -> Result<Self> {
        match body {
            b"I" => Ok(Self::Idle),
            b"T" => Ok(Self::InTransaction),
            b"E" => Ok(Self::Failed),
            _ => Err(WireError::Protocol("ReadyForQuery has an unknown status")),
        }
    }
}

/// How the data of a `COPY` are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFormat {
    /// Lines of text or CSV.
    Text,
    Binary,
}

/// The announcement that opens a `COPY` (55.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStart {
    /// How the data are written.
    pub format: CopyFormat,
    /// How many columns each row has.
    pub columns: u16,
}

impl CopyStart {
    pub(crate) fn parse(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let format = match reader.u8()? {
            0 => CopyFormat::Text,
            1 => CopyFormat::Binary,
            _ => return Err(WireError::Protocol("an unknown COPY format")),
        };
        let columns = reader.u16_be()?;
        for _ in 0..columns {
            Format::from_code(reader.i16_be()?)?;
        }
        Ok(Self { format, columns })
    }
}

/// One message of the server, checked, borrowed from the bytes it came in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The server waits for the next request.
    Ready(TransactionStatus),
    /// A command is complete.
    Done(CommandTag<'a>),
    /// A command failed. In the extended protocol the server now ignores everything up to the next `Sync`.
    Error(Box<ErrorFields>),
    /// A warning or a notice. May come at any time.
    Notice(Box<ErrorFields>),
    /// A row; only if [`Rows::Keep`](super::Rows::Keep) is set.
    Row(Row<'a>),
    /// The columns of the rows to come, or of a described statement.
    Columns(Fields<'a>),
    /// The parameters' types of a described statement.
    ParameterTypes(ParameterTypes<'a>),
    /// The described statement or portal returns no rows.
    NoData,
    /// `Parse` is done.
    ParseComplete,
    /// `Bind` is done.
    BindComplete,
    /// `Close` is done.
    CloseComplete,
    /// `Execute` stopped at its row limit.
    PortalSuspended,
    /// The statement was empty. Stands in for [`Done`](Self::Done).
    EmptyQuery,
    /// The server waits for the data of `COPY … FROM STDIN`.
    CopyIn(CopyStart),
    /// The server is about to send the data of `COPY … TO STDOUT`.
    CopyOut(CopyStart),
    /// A piece of them; only if [`Rows::Keep`](super::Rows::Keep) is set.
    CopyData(&'a [u8]),
    /// The server sent all of them.
    CopyDone,
    /// A run-time parameter has this value now. May come at any time.
    Parameter { name: &'a [u8], value: &'a [u8] },
    /// Somebody notified a channel that this session listens to. May come at any time.
    Notification { process_id: u32, channel: &'a [u8], payload: &'a [u8] },
}
