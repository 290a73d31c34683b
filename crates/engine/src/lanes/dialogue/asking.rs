//! Why a question whose answer is waited for has none.

use std::fmt;
use std::io;

use wire::WireError;

use crate::lane::{ErrorClass, OpError, lost};

/// An error as a server sends it.
pub(crate) trait ServerError: Sized {
    /// The error by which the server refused a login, or what else broke the login off.
    fn of_login(error: WireError) -> Result<Box<Self>, WireError>;

    /// It on one line.
    fn said(&self) -> String;

    /// What it means for the load.
    fn error_class(&self) -> ErrorClass;

    /// It as the load sees it.
    fn op_error(&self) -> OpError {
        OpError { class: self.error_class(), message: self.said() }
    }
}

/// Why there is no answer; `E` is what the server's errors are.
#[derive(Debug)]
pub(crate) enum AskError<E> {
    /// The operating system says so.
    Io(io::Error),
    /// No encrypted channel came about.
    Tls(io::Error),
    /// The server broke the protocol, or refused the login.
    Wire(WireError),
    /// The server refused what was asked.
    Server(Box<E>),
}

impl<E> From<io::Error> for AskError<E> {
    fn from(cause: io::Error) -> AskError<E> {
        AskError::Io(cause)
    }
}

impl<E> From<WireError> for AskError<E> {
    fn from(cause: WireError) -> AskError<E> {
        AskError::Wire(cause)
    }
}

impl<E: ServerError> fmt::Display for AskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Io(cause) | AskError::Tls(cause) => cause.fmt(f),
            AskError::Wire(cause) => cause.fmt(f),
            AskError::Server(error) => f.write_str(&error.said()),
        }
    }
}

impl<E: ServerError> AskError<E> {
    /// It as the load sees it.
    pub(crate) fn op_error(&self) -> OpError {
        match self {
            AskError::Server(error) => error.op_error(),
            other => lost(other),
        }
    }
}
