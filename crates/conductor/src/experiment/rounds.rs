//! Decides before each round which of its runs are still wanted.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use load::observer::Observer;
use model::plan::{FEWEST_TO_JUDGE, MAX_ROUNDS};
use model::{PlannedRun, Schedule, Stop};

use super::{Conductor, ExperimentError};

impl Conductor<'_> {
    /// Takes out of the plan, from `round` on, the cases that are settled, or all if all are or time is over.
    /// Returns the number of runs that this spares. Does nothing unless the experiment ends when it is sure.
    pub(super) fn leave_out(
        &mut self,
        round: u32,
        spent: Duration,
        observer: &mut dyn Observer,
    ) -> Result<usize, ExperimentError> {
        let (Some(until), Some(judge)) = (self.plan.schedule.until_sure, self.options.judge.clone()) else {
            return Ok(0);
        };
        if round < until.first {
            return Ok(0);
        }
        let look = judge.judge_look(self.store, round)?;
        let all: BTreeSet<u32> = (0..self.cases.len() as u32).collect();
        let is_late = until.max_time.is_some_and(|most| spent >= most);
        if look.rows.is_empty() && !is_late {
            // A single system: there is nothing to be sure of.
            return Ok(0);
        }
        let is_sure = look.settled.len() == all.len();
        observer.look_taken(round, &look, is_late);
        let left_out = match until.stop {
            _ if is_late => &all,
            Stop::Rows | Stop::All if is_sure => &all,
            Stop::Rows => &look.settled,
            Stop::All | Stop::Never => return Ok(0),
        };
        Ok(self.store.leave_out(left_out, round)?)
    }

    /// Takes `round` and all later ones out of the plan if the promised time would be over before its end.
    /// Returns the number of runs that this spares.
    pub(super) fn leave_out_late(&mut self, round: u32, observer: &mut dyn Observer) -> Result<usize, ExperimentError> {
        let Some(limit) = self.options.limit else { return Ok(0) };
        let Some((first, each)) = self.pace_of_rounds(round) else { return Ok(0) };
        let time = model::duration::format(limit.asked);
        if round < FEWEST_TO_JUDGE {
            if round == first + 1 && limit.ends_before(each * (FEWEST_TO_JUDGE - round)) {
                observer.warning(&format!(
                    "a round takes about {}, so that the {FEWEST_TO_JUDGE} of a verdict take longer than `--for {time}`",
                    model::duration::rounded_text(each)
                ));
            }
            return Ok(0);
        }
        if !limit.ends_before(each) {
            return Ok(0);
        }
        let all: BTreeSet<u32> = (0..self.cases.len() as u32).collect();
        Ok(self.store.leave_out(&all, round)?)
    }

    /// The first round without loading that this process began, and how long a round takes since; `None` before `round` if no such
    /// round has ended.
    fn pace_of_rounds(&mut self, round: u32) -> Option<(u32, Duration)> {
        // The first round of a process loads the tables.
        let loading = *self.first_round.get_or_insert(round);
        if round <= loading {
            return None;
        }
        let (first, began) = *self.first_paced.get_or_insert_with(|| (round, Instant::now()));
        (round > first).then(|| (first, began.elapsed() / (round - first)))
    }

    /// Adds a round to the plan if all are run and another one fits into the time; returns its runs.
    pub(super) fn add_round_in_time(&mut self) -> Result<Vec<PlannedRun>, ExperimentError> {
        let Some(limit) = self.options.limit.filter(|limit| limit.adds_rounds) else { return Ok(Vec::new()) };
        let schedule = self.store.header().plan.schedule.clone();
        let fits = self.pace_of_rounds(schedule.rounds).is_some_and(|(_, each)| !limit.ends_before(each));
        if !fits || u64::from(schedule.rounds) >= MAX_ROUNDS {
            return Ok(Vec::new());
        }
        self.store.extend_plan(&Schedule { rounds: schedule.rounds + 1, ..schedule })?;
        Ok(self.store.pending()?.into_iter().filter(|run| run.round == schedule.rounds).collect())
    }
}
