//! The ways in which a client and a server that speak a protocol can fail.

use crate::mysql::ErrorPacket;
use crate::postgres::ErrorFields;
use crate::tds::ServerMessage;

/// The failure of a connection. The caller's own faults are [`ParameterCount`](Self::ParameterCount),
/// [`RequestTooLarge`](Self::RequestTooLarge), [`NulByte`](Self::NulByte) and [`NoBinaryForm`](Self::NoBinaryForm);
/// after any
/// other, close the connection: the two sides no longer agree about the stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server broke the protocol's grammar.
    #[error("the server broke the protocol: {0}")]
    Protocol(&'static str),

    /// A valid message in the wrong state.
    #[error("the server broke the protocol: unexpected message 0x{tag:02x} while {state}")]
    Unexpected {
        tag: u8,
        /// The step that was expected or under way.
        state: &'static str,
    },

    /// A length beyond [`Limits`](crate::Limits).
    #[error("the server announced {what} of {length_bytes} bytes; the limit is {limit_bytes}")]
    TooLarge { what: &'static str, length_bytes: u64, limit_bytes: u64 },

    /// PostgreSQL refused the connection.
    #[error("the server refused the connection: {0}")]
    RefusedByPostgres(Box<ErrorFields>),

    /// MySQL or MariaDB refused the connection.
    #[error("the server refused the connection: {0}")]
    RefusedByMysql(Box<ErrorPacket>),

    /// SQL Server refused the connection.
    #[error("the server refused the connection: {0}")]
    RefusedBySqlServer(Box<ServerMessage>),

    /// The server wants a password and the configuration has none.
    #[error("the server asks for a password and none is set")]
    PasswordMissing,

    /// An authentication method that is not implemented.
    #[error("the server asks for {0} authentication, which is not supported")]
    UnsupportedAuthentication(String),

    /// This side rejected the exchange, for instance because the server's proof is wrong.
    #[error("authentication failed: {0}")]
    Authentication(String),

    /// TLS was required and the server has none.
    #[error("TLS is required and the server does not offer it")]
    TlsRefused,

    /// Channel binding was required and cannot be had.
    #[error("channel binding is required, but {0}")]
    ChannelBinding(Unbound),

    /// The password would cross the network in the clear.
    #[error("the server asks for the password itself, which is only sent over TLS or a local socket")]
    InsecureTransport,

    /// The password would go to a server whose certificate is not verified.
    #[error("the server asks for the password itself, which is only sent to one whose certificate is checked")]
    UnprovenServer,

    /// The caller gave a different number of parameters than the statement has.
    #[error("the statement has {expected} parameters, {given} were given")]
    ParameterCount { expected: usize, given: usize },

    /// Does not fit the protocol's length field.
    #[error("a request of {0} bytes does not fit the protocol")]
    RequestTooLarge(u64),

    /// A name or a statement holds a NUL byte, which ends strings in the protocol.
    #[error("{0} holds a NUL byte")]
    NulByte(&'static str),

    /// A value has no binary form in its column's type, and the format has no other.
    #[error("column {column} (type {type_id}) cannot be sent in binary")]
    NoBinaryForm {
        column: usize,
        /// The type's number in the protocol.
        type_id: u32,
    },

    /// The function does not fit the state machine's state.
    #[error("misuse of a protocol state machine: {0}")]
    Misuse(&'static str),
}

/// Why a login cannot be bound to the TLS channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unbound {
    /// There is no TLS to bind it to.
    #[error("the connection is not encrypted")]
    Unencrypted,
    /// It asked for no SCRAM password.
    #[error("the server let the client in without it")]
    LetIn,
    /// The server offers SCRAM without it, or its certificate has no hash that the standard knows.
    #[error("one of the two sides cannot do it")]
    Unable,
}

impl WireError {
    /// The error of a message that is shorter than it says.
    pub(crate) fn malformed() -> Self {
        Self::Protocol("a message is shorter than what it says it holds")
    }

    /// The SQLSTATE of the server's refusal.
    pub fn sqlstate(&self) -> Option<crate::SqlState> {
        match self {
            Self::RefusedByPostgres(fields) => Some(fields.code),
            Self::RefusedByMysql(packet) => Some(packet.sqlstate),
            _ => None,
        }
    }
}
