//! What goes wrong between étalon and the machine.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the machine to do what was asked: what was tried, on what, and what came back.
///
/// The cause is part of the message and not of the `source` chain, so that it is printed once however it is shown.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Something done to a file or folder.
    #[error("cannot {tried} {}: {cause}", path.display())]
    Path {
        /// What was tried, as a verb: `create the folder`.
        tried: &'static str,
        path: PathBuf,
        /// What the operating system answered.
        cause: io::Error,
    },
    /// A server that could not be started.
    #[error("cannot start {}: {cause}", program.display())]
    Start {
        program: PathBuf,
        /// What the operating system answered.
        cause: io::Error,
    },
    /// Something done to a process.
    #[error("cannot {tried} process {pid}: {reason}")]
    Process {
        /// What was tried, as a verb: `signal`.
        tried: &'static str,
        pid: u32,
        reason: String,
    },
    /// Something this machine or operating system does not have.
    #[error("cannot {tried}: {reason}")]
    Unavailable {
        /// What was tried, as a verb: `look up the user postgres`.
        tried: String,
        /// Why it is not to be had.
        reason: String,
    },
}

impl HostError {
    /// For `map_err` on calls that work on a path.
    pub(crate) fn at(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HostError {
        move |cause| HostError::Path { tried, path: path.to_owned(), cause }
    }

    /// For what is not to be had here.
    pub(crate) fn unavailable(tried: impl Into<String>, reason: impl Into<String>) -> HostError {
        HostError::Unavailable { tried: tried.into(), reason: reason.into() }
    }
}
