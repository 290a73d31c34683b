//! The messages of a server outside the handshake.

use crate::{Result, WireError};

use super::{CommandTag, ErrorFields, Fields, ParameterTypes, Row};

/// The status in `ReadyForQuery` (55.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    /// The transaction has failed, and only takes its end.
    Failed,
}

impl TransactionStatus {
    /// Reads the status of a transaction.
    pub(crate) fn parse(body: &[u8]) -> Result<Self> {
        match body {
            b"I" => Ok(Self::Idle),
            b"T" => Ok(Self::InTransaction),
            b"E" => Ok(Self::Failed),
            _ => Err(WireError::Protocol("ReadyForQuery has an unknown status")),
        }
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
    /// A row; only if [`Rows::Keep`](super::Rows::Keep) is set.
    Row(Row<'a>),
    /// The columns of the rows to come, or of a described statement.
    Columns(Fields<'a>),
    ParameterTypes(ParameterTypes<'a>),
    EmptyQuery,
    /// The server waits for the data of `COPY … FROM STDIN`.
    CopyIn,
    /// A piece of `COPY … TO STDOUT`; only if [`Rows::Keep`](super::Rows::Keep) is set.
    CopyData(&'a [u8]),
    /// Messages that are not used: notices, notifications, parameters, and those that only say that a step was done.
    Other,
}
