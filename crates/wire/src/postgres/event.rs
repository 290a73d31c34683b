//! What a server can say outside the handshake.

use crate::reader::Reader;
use crate::{Result, WireError};

use super::{CommandTag, ErrorFields, Fields, Format, ParameterTypes, Row};

/// As of `ReadyForQuery` (55.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    /// In a failed transaction, which only takes its end.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFormat {
    /// Lines of text or CSV.
    Text,
    Binary,
}

/// The announcement that opens a `COPY` (55.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStart {
    pub format: CopyFormat,
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

/// One message of the server, checked, borrowing the received bytes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    Ready(TransactionStatus),
    Done(CommandTag<'a>),
    /// A command failed. In the extended protocol the server ignores everything up to the next `Sync`.
    Error(Box<ErrorFields>),
    /// At any time.
    Notice(Box<ErrorFields>),
    /// A row; only if [`Rows::Keep`](super::Rows::Keep) is set.
    Row(Row<'a>),
    /// The columns of the rows to come, or of a described statement.
    Columns(Fields<'a>),
    ParameterTypes(ParameterTypes<'a>),
    /// The described statement or portal returns no rows.
    NoData,
    ParseComplete,
    BindComplete,
    CloseComplete,
    /// `Execute` stopped at its row limit.
    PortalSuspended,
    EmptyQuery,
    /// The server waits for the data of `COPY … FROM STDIN`.
    CopyIn(CopyStart),
    /// The server is about to send the data of `COPY … TO STDOUT`.
    CopyOut(CopyStart),
    /// Only if [`Rows::Keep`](super::Rows::Keep) is set.
    CopyData(&'a [u8]),
    /// All data of the `COPY` were sent.
    CopyDone,
    /// A run-time parameter changed. At any time.
    Parameter {
        name: &'a [u8],
        value: &'a [u8],
    },
    /// A channel that this session listens to. At any time.
    Notification {
        process_id: u32,
        channel: &'a [u8],
        payload: &'a [u8],
    },
}
