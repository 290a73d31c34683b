//! What goes wrong between étalon and the machine.

use std::io;
use std::path::{Path, PathBuf};

/// What was tried, on what, and what came back. The cause is in the message, not in the `source` chain, so that it is
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
    Unavailable { tried: String, reason: String },
}

impl HostError {
    pub(crate) fn at(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HostError {
        move |cause| HostError::Path { tried, path: path.to_owned(), cause }
    }

    pub(crate) fn unavailable(tried: impl Into<String>, reason: impl Into<String>) -> HostError {
        HostError::Unavailable { tried: tried.into(), reason: reason.into() }
    }
}
