//! Why there is no connection to a server, and how its engine words it.

use std::io;
use std::time::Duration;

use wire::WireError;

use crate::error::Failure;
use crate::lane::{OpError, lost};
use crate::systems::server::dialogue::{AskError, ServerError};

/// Why there is no connection; `E` is what the server's errors are.
#[derive(Debug)]
pub(crate) enum Refusal<E> {
    /// The operating system says so.
    Io(io::ErrorKind, String),
    /// No encrypted channel came about.
    Tls(String),
    /// The server has no TLS.
    NoTls,
    /// The password would have to cross a network in the clear.
    Insecure,
    /// The password would have to be told to a server whose certificate was not checked.
    Unproven,
    /// The server says so.
    Server(Box<E>),
    /// It listens, and does not answer for so long.
    Silent(Duration),
    Other(String),
}

/// Why a lane's connection did not come about.
#[derive(Debug)]
pub(crate) enum OpenError<E> {
    /// It was not made.
    Refused(Refusal<E>),
    /// It was, and then this failed.
    Asked(&'static str, AskError<E>),
}

/// An engine's words for what goes wrong, with what to do about it.
pub(crate) trait Explain {
    /// What its server's errors are.
    type Error: ServerError;

    /// Why there is no connection.
    fn explain(&self, refusal: &Refusal<Self::Error>) -> Failure;

    /// Why something that was asked over an open connection has no answer.
    fn explain_asked(&self, tried: &str, error: &AskError<Self::Error>) -> Failure;
}

impl<E: ServerError> Refusal<E> {
    /// What the operating system says of a connection that was given so long.
    pub(crate) fn of_io(cause: &io::Error, patience: Duration) -> Refusal<E> {
        match cause.kind() {
            // What a blocking read says at the end of its patience.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refusal::Silent(patience),
            kind => Refusal::Io(kind, cause.to_string()),
        }
    }

    /// What a login came to that was given so long.
    pub(crate) fn of(error: AskError<E>, patience: Duration) -> Refusal<E> {
        match error {
            AskError::Io(cause) => Refusal::of_io(&cause, patience),
            AskError::Tls(cause) if cause.kind() == io::ErrorKind::TimedOut => Refusal::Silent(patience),
            AskError::Tls(cause) => Refusal::Tls(cause.to_string()),
            AskError::Server(error) => Refusal::Server(error),
            AskError::Wire(WireError::TlsRefused) => Refusal::NoTls,
            AskError::Wire(WireError::InsecureTransport) => Refusal::Insecure,
            AskError::Wire(WireError::UnprovenServer) => Refusal::Unproven,
            AskError::Wire(error) => {
                E::of_login(error).map_or_else(|error| Refusal::Other(error.to_string()), Refusal::Server)
            }
        }
    }

    /// The refusal as the load sees it.
    pub(crate) fn op_error(&self, endpoint: &impl Explain<Error = E>) -> OpError {
        match self {
            Refusal::Server(error) => error.op_error(),
            other => lost(&endpoint.explain(other).cause),
        }
    }
}

impl<E: ServerError> OpenError<E> {
    pub(crate) fn failure(&self, endpoint: &impl Explain<Error = E>) -> Failure {
        match self {
            OpenError::Refused(refusal) => endpoint.explain(refusal),
            OpenError::Asked(tried, error) => endpoint.explain_asked(tried, error),
        }
    }

    pub(crate) fn op_error(&self, endpoint: &impl Explain<Error = E>) -> OpError {
        match self {
            OpenError::Refused(refusal) => refusal.op_error(endpoint),
            OpenError::Asked(_, error) => error.op_error(),
        }
    }
}
