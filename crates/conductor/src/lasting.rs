//! Failures that a further round would meet again.

use load::error::Failure;
use model::{PlannedRun, RunState};
use store::StoredRun;

/// Whether all runs of a round failed for one lasting reason: the next round would fail the same way.
#[derive(Default)]
pub(crate) struct LastingFailure {
    first: Option<(PlannedRun, Failure)>,
    is_refuted: bool,
}

impl LastingFailure {
    /// Begins to note the failures of a round; one with a run measured in an earlier sitting has no lasting failure.
    pub(crate) fn watch_round(round: u32, runs: &[StoredRun]) -> LastingFailure {
        LastingFailure {
            first: None,
            is_refuted: runs.iter().any(|run| run.planned.round == round && run.state == RunState::Measured),
        }
    }

    /// Notes that a run was measured, so that no failure lasts.
    pub(crate) fn note_measured(&mut self) {
        self.is_refuted = true;
    }

    /// Notes a failed run; a failure that passes, or differs from the first, shows that none lasts.
    pub(crate) fn note_run_failure(&mut self, run: PlannedRun, failure: Failure) {
        self.is_refuted |= !failure.is_lasting();
        match &self.first {
            Some((_, first)) => self.is_refuted |= *first != failure,
            None => self.first = Some((run, failure)),
        }
    }

    /// The failure that every run has met, if there is one.
    pub(crate) fn lasting_failure(&self) -> Option<&(PlannedRun, Failure)> {
        if self.is_refuted { None } else { self.first.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::error::FailureKind;

    #[test]
    fn what_is_left_of_a_round_does_not_stand_for_it() {
        let planned = PlannedRun { position: 0, round: 3, case: 0 };
        let measured = StoredRun {
            id: 1,
            planned,
            attempt: 1,
            state: RunState::Measured,
            reason: None,
            started_unix_ms: None,
            elapsed_s: 1.0,
        };
        assert!(lasting_failure().is_lasting());
        for (round, stops) in [(3, false), (4, true)] {
            let mut lasting = LastingFailure::watch_round(round, std::slice::from_ref(&measured));
            lasting.note_run_failure(PlannedRun { round, ..planned }, lasting_failure());
            assert_eq!(lasting.lasting_failure().is_some(), stops, "round {round}");
        }
    }

    fn lasting_failure() -> Failure {
        Failure::new(FailureKind::Unsupported, "do it", "it cannot")
    }
}
