//! How an experiment ended.

use load::error::{Failure, FailureKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExperimentEnd {
    /// Every run was run.
    Complete { failed: usize },
    /// By the user; resumable.
    Interrupted,
    /// By the plan, after a failed run; resumable.
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
    /// Of a system or benchmark.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            ExperimentError::System { failure, .. } | ExperimentError::Benchmark { failure, .. } => Some(failure),
            ExperimentError::Fleet(failure) => Some(failure),
            ExperimentError::FactsChanged { .. } | ExperimentError::Store(_) => None,
        }
    }
}
