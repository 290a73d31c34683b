//! Failures that a further round would meet again.

use load::error::Failure;
use model::PlannedRun;

/// Whether all runs of a round failed for one lasting reason: the next round would fail the same way.
#[derive(Default)]
pub(crate) struct LastingFailure {
    first: Option<(PlannedRun, Failure)>,
    is_refuted: bool,
}

impl LastingFailure {
    /// A run was measured.
    pub(crate) fn clear(&mut self) {
        self.is_refuted = true;
    }

    pub(crate) fn take(&mut self, run: PlannedRun, failure: Failure) {
        self.is_refuted |= !failure.is_lasting();
        match &self.first {
            Some((_, first)) => self.is_refuted |= *first != failure,
            None => self.first = Some((run, failure)),
        }
    }

    pub(crate) fn verdict(&self) -> Option<&(PlannedRun, Failure)> {
        self.first.as_ref().filter(|_| !self.is_refuted)
    }
}
