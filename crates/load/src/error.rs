//! Failures between étalon and a system, with advice.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// No answer at the address.
    Unreachable,
    /// The server refused the login.
    Login,
    /// A named database, file or program does not exist.
    Missing,
    Permission,
    DiskFull,
    /// An open connection was lost.
    ConnectionLost,
    /// The engine or this build does not support it.
    Unsupported,
    /// Something is in the way that étalon has not made.
    NotOurs,
    /// The plan asks for something wrong.
    Plan,
    Verification,
    /// Another program listens on the port that a server was to have.
    PortTaken,
    /// No operation ended in the measured part.
    NothingEnded,
    /// The user ended it.
    Interrupted,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// `connect to …`.
    pub tried: String,
    pub cause: String,
    pub hint: Option<String>,
}

impl From<io::ErrorKind> for FailureKind {
    fn from(kind: io::ErrorKind) -> FailureKind {
        match kind {
            io::ErrorKind::NotFound => FailureKind::Missing,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => FailureKind::Permission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FailureKind::DiskFull,
            io::ErrorKind::Unsupported => FailureKind::Unsupported,
            io::ErrorKind::AlreadyExists => FailureKind::NotOurs,
            _ => FailureKind::Other,
        }
    }
}

impl Failure {
    pub fn new(kind: FailureKind, tried: impl Into<String>, cause: impl fmt::Display) -> Failure {
        Failure { kind, tried: tried.into(), cause: cause.to_string(), hint: None }
    }

    /// A failure of the operating system.
    pub fn from_io(tried: impl Into<String>, error: &io::Error) -> Failure {
        Failure::new(error.kind().into(), tried, error)
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Waiting may help.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, FailureKind::Unreachable | FailureKind::ConnectionLost)
    }

    /// Whether it stays until the plan, the system, its space or its rights are changed.
    pub fn is_lasting(&self) -> bool {
        use FailureKind::{DiskFull, Missing, NotOurs, Permission, Plan, Unsupported};
        matches!(self.kind, DiskFull | Missing | NotOurs | Permission | Plan | Unsupported)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.tried, self.cause)
    }
}

impl std::error::Error for Failure {}

impl From<model::KeyError> for Failure {
    fn from(error: model::KeyError) -> Failure {
        Failure::new(FailureKind::Plan, format!("read the key `{}`", error.key), format!("it {}", error.wrong))
    }
}
