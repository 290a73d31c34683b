//! Failed connections to a server, and their explanation.

use std::io;
use std::time::Duration;

use wire::WireError;

use crate::error::Failure;
use crate::lane::{OpError, lost};
use crate::systems::server::dialogue::{AskError, ServerError};

#[derive(Debug)]
pub(crate) enum Refusal<E> {
    Io(io::ErrorKind, String),
    Tls(String),
    NoTls,
    /// The password would cross a network in the clear.
    Insecure,
    /// The password would go to a server whose certificate is not verified.
    Unproven,
    Server(Box<E>),
    /// A listener without answer.
    Silent(Duration),
    Other(String),
}

/// Of a lane.
#[derive(Debug)]
pub(crate) enum OpenError<E> {
    Refused(Refusal<E>),
    /// After connecting.
    Asked(&'static str, AskError<E>),
}

/// An engine's explanations, with advice.
pub(crate) trait Explain {
    /// The server's errors.
    type Error: ServerError;

    fn explain(&self, refusal: &Refusal<Self::Error>) -> Failure;

    fn explain_asked(&self, tried: &str, error: &AskError<Self::Error>) -> Failure;
}

impl<E: ServerError> Refusal<E> {
    /// `patience` was the limit.
    pub(crate) fn of_io(cause: &io::Error, patience: Duration) -> Refusal<E> {
        match cause.kind() {
            // A blocking read's time-out.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refusal::Silent(patience),
            kind => Refusal::Io(kind, cause.to_string()),
        }
    }

    /// Of a login with this limit.
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
