//! How an experiment ended.

use load::error::{Failure, FailureKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExperimentEnd {
    /// Every run was run.
    Complete { failed: usize },
    /// The user ended it; it can be resumed.
    Interrupted,
    /// The plan ended it after a failed run; it can be resumed.
    Stopped { reason: String, kind: FailureKind },
}

#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    #[error("system `{system}`: {failure}")]
    System { system: String, failure: Failure },
    #[error("benchmark `{benchmark}`: {failure}")]
    Benchmark { benchmark: String, failure: Failure },
    /// The plan's hosts are not available.
    #[error("{0}")]
    Fleet(Failure),
    /// Since the experiment began.
    #[error("`{subject}` has changed since the experiment began: {differences}")]
    FactsChanged { subject: String, differences: String },
    /// The journal could not be written.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl ExperimentError {
    /// The failure of a system or benchmark, if that is what ended it.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            ExperimentError::System { failure, .. } | ExperimentError::Benchmark { failure, .. } => Some(failure),
            ExperimentError::Fleet(failure) => Some(failure),
            ExperimentError::FactsChanged { .. } | ExperimentError::Store(_) => None,
        }
    }
}
