//! Failures between étalon and the machine.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::PutError;

/// The action that was tried, on what, and what came back. The cause is in the message, not in the `source` chain, so
/// that it is
/// printed once.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("cannot {tried} {}: {cause}", path.display())]
    Path { tried: &'static str, path: PathBuf, cause: io::Error },
    #[error("cannot start {}: {cause}", program.display())]
    Start { program: PathBuf, cause: io::Error },
    #[error("cannot {tried} process {pid}: {reason}")]
    Process { tried: &'static str, pid: u32, reason: String },
    #[error("cannot {tried}: {reason}")]
    Unavailable { tried: String, kind: io::ErrorKind, reason: String },
}

impl From<PutError> for HostError {
    fn from(error: PutError) -> HostError {
        match error {
            PutError::Occupied { path, occupant } => {
                let tried = format!("write {}", path.display());
                HostError::refused(io::ErrorKind::AlreadyExists, tried, occupant.to_string())
            }
            PutError::Host(error) => error,
        }
    }
}

impl HostError {
    /// Makes the error of an operation on a path.
    pub(crate) fn at(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HostError {
        move |cause| HostError::Path { tried, path: path.to_owned(), cause }
    }

    /// The error of what cannot be had here, for this reason.
    pub(crate) fn unavailable(tried: impl Into<String>, reason: impl Into<String>) -> HostError {
        HostError::refused(io::ErrorKind::Other, tried, reason)
    }

    /// The error of étalon's own refusal, of this kind.
    pub(crate) fn refused(kind: io::ErrorKind, tried: impl Into<String>, reason: impl Into<String>) -> HostError {
        HostError::Unavailable { tried: tried.into(), kind, reason: reason.into() }
    }

    /// The kind of the operating system's error, or of étalon's own refusal: what it did not make is there already.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            HostError::Path { cause, .. } | HostError::Start { cause, .. } => cause.kind(),
            HostError::Process { .. } => io::ErrorKind::Other,
            HostError::Unavailable { kind, .. } => *kind,
        }
    }
}
