//! A turn of the loop: what is due, completed, given up.

use std::cmp::Reverse;
use std::time::Duration;

use model::duration;

use super::{Access, GaveUp, Measuring, Pacer, Stage, Starts, Worker};
use crate::clock::Clock;
use crate::lane::{ErrorClass, Lane, OpError};
use crate::stream::Stream;

/// How long answers are waited for in a run that was broken off.
const LAST_TIMEOUT_NS: u64 = 500_000_000;
/// Minimum wait for answers after the end.
const TIMEOUT_NS: u64 = 10_000_000_000;
/// Longest time between answers of a run by count, where nothing else shows a fault.
const SILENCE_TIMEOUT_NS: u64 = 120_000_000_000;
/// Waits this many times the longest transaction.
const TIMEOUT_FACTOR: u64 = 3;
/// Polling interval for a stop.
const STOP_POLL_NS: u64 = 200_000_000;

impl<L, S, C> Worker<'_, L, S, C>
where
    S: Stream,
    L: Lane<Op = S::Op>,
    C: Clock,
{
    /// Runs the clients until the load has ended, or the server is silent for too long.
    pub(super) fn run(&mut self) {
        for _ in 0..self.slots.len().min(self.rules.first_clients) {
            self.schedule_next();
        }
        let mut completions = Vec::with_capacity(self.slots.len().min(4096));
        while self.is_busy() {
            self.heed_end();
            self.begin_due();
            self.end_waits();
            if self.in_flight > 0 {
                self.lane.flush();
                let deadline_ns = if self.ready.is_empty() { self.wait_deadline_ns() } else { self.now_ns };
                self.lane.reap(deadline_ns, &mut completions);
                let reaped_ns = self.clock.now_ns();
                self.now_ns = reaped_ns;
                if completions.is_empty() {
                    self.heed_stop();
                    if self.now_ns >= self.patience_ends_ns() {
                        self.give_up();
                        return;
                    }
                } else {
                    self.heard_ns = reaped_ns;
                }
                for completion in completions.drain(..) {
                    self.in_flight -= 1;
                    self.complete(completion);
                    // Reuses the last completion's time.
                    self.lag.record(self.now_ns - reaped_ns);
                }
            } else if self.ready.is_empty() && self.turned_away.is_empty() && self.is_busy() {
                self.clock.wait_until(self.wait_deadline_ns());
                self.now_ns = self.clock.now_ns();
                self.heard_ns = self.now_ns;
                self.heed_stop();
            }
        }
    }

    /// Tests whether any client still has something to do.
    fn is_busy(&self) -> bool {
        let waiting = match &self.access {
            Access::Own => 0,
            Access::Pool(pool) => pool.waiting_count(),
        };
        self.in_flight + self.ready.len() + self.turned_away.len() + self.timers.len() + waiting > 0
    }

    /// The end of a wait without completions.
    fn wait_deadline_ns(&self) -> u64 {
        let timer_ns = self.timers.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        let wait_ns = match &self.access {
            Access::Own => u64::MAX,
            Access::Pool(pool) => pool.deadline_ns().unwrap_or(u64::MAX),
        };
        timer_ns.min(wait_ns).min(self.now_ns + STOP_POLL_NS)
    }

    /// Resubmits what the lane turned away, then begins what is due.
    fn begin_due(&mut self) {
        for _ in 0..self.turned_away.len() {
            if let Some(client) = self.turned_away.pop_front() {
                self.continue_client(client);
            }
        }
        while let Some(Reverse((at_ns, client))) = self.timers.peek().copied() {
            if at_ns > self.now_ns {
                break;
            }
            self.lag.record(self.now_ns - at_ns);
            self.timers.pop();
            self.ready.push_back(client);
        }
        for _ in 0..self.ready.len() {
            if let Some(client) = self.ready.pop_front() {
                self.continue_client(client);
            }
        }
    }

    /// Schedules the next client, if any is left.
    fn schedule_next(&mut self) {
        if self.next_client < self.slots.len() {
            self.next_client += 1;
            self.schedule_client(self.next_client - 1);
        }
    }

    /// Makes the client's next transaction due, or retires the client at the end. Returns until when its last one lasted,
    /// the time after it in which it thinks included.
    pub(super) fn schedule_client(&mut self, client: usize) -> u64 {
        self.note_start_of_measurement();
        let has_ended = self.has_ended();
        let slot = &self.slots[client];
        if !has_ended && self.rules.count.is_some_and(|count| slot.counted >= count) {
            self.schedule_next();
            return self.now_ns;
        }
        let index = slot.index;
        let intended_ns = match &mut self.pacer {
            Pacer::Closed => self.now_ns + self.stream.wait_ns(&mut self.slots[client].state, index),
            Pacer::Eased(eased) => eased.intended_ns(self.rules.first_client + client as u32, index, self.now_ns),
            Pacer::Rate(_) if has_ended => return self.now_ns,
            Pacer::Rate(_) => match self.take_instant(client) {
                Some(instant_ns) => instant_ns,
                None => return self.now_ns,
            },
        };
        // An end that comes unforeseen may lie within the thought.
        let lasted_ns = if self.rules.end_ns == u64::MAX { self.now_ns } else { intended_ns };
        if intended_ns > self.now_ns {
            self.note_thought(intended_ns - self.now_ns);
        }
        if has_ended || intended_ns >= self.rules.end_ns {
            return lasted_ns;
        }
        let intended_ns = if index == 1 { self.spread_in_time(client, intended_ns) } else { intended_ns };
        self.slots[client].intended_ns = intended_ns;
        if intended_ns <= self.now_ns {
            self.ready.push_back(client);
        } else {
            self.timers.push(Reverse((intended_ns, client)));
        }
        lasted_ns
    }

    /// Notes the think time after a transaction that has ended in the measured part of a closed loop.
    pub(super) fn note_thought(&mut self, thought_ns: u64) {
        let is_thought = self.rules.starts == Starts::WhenFree;
        if is_thought && self.measuring == Measuring::Started && self.now_ns <= self.rules.end_ns {
            self.counts.think_ns = self.counts.think_ns.saturating_add(thought_ns);
        }
    }

    /// Clients that began together would go on in step where all responses take equally long: after its first transaction
    /// each waits for its share of the time that it took, if all of that is still warm-up.
    fn spread_in_time(&self, client: usize, intended_ns: u64) -> u64 {
        let slot = &self.slots[client];
        let Some(together) = self.rules.together else { return intended_ns };
        let cycle_ns = intended_ns.saturating_sub(slot.intended_ns);
        if intended_ns.saturating_add(cycle_ns) >= self.rules.measured_ns {
            return intended_ns;
        }
        let place = u128::from(self.rules.first_client) + client as u128;
        intended_ns + (u128::from(cycle_ns) * place / u128::from(together)) as u64
    }

    /// Skips instants beyond the latency limit like `pgbench -L`, counting them for the client. `None` after its last.
    fn take_instant(&mut self, client: usize) -> Option<u64> {
        let Pacer::Rate(schedule) = &mut self.pacer else { return None };
        let slot = &mut self.slots[client];
        loop {
            let instant_ns = schedule.take_next();
            let too_late = self.rules.latency_limit_ns.is_some_and(|limit_ns| instant_ns + limit_ns < self.now_ns);
            if !too_late {
                let waiting = match &self.access {
                    Access::Own => 0,
                    Access::Pool(pool) => pool.waiting_count() as u64,
                };
                // An early client cannot be behind.
                if instant_ns < self.now_ns && self.now_ns >= self.rules.measured_ns {
                    let backlog = schedule.backlog(self.now_ns) + waiting;
                    self.counts.backlog_max = self.counts.backlog_max.max(backlog);
                    self.recorder.record_backlog(self.now_ns, backlog);
                }
                return Some(instant_ns);
            }
            if instant_ns >= self.rules.measured_ns {
                self.counts.skipped += self.stream.batch_size();
                slot.counted += self.stream.batch_size();
                if self.rules.count.is_some_and(|count| slot.counted >= count) {
                    return None;
                }
            }
        }
    }

    /// Ends the waits for the pool that have lasted too long.
    fn end_waits(&mut self) {
        loop {
            let Access::Pool(pool) = &mut self.access else { return };
            let Some(waiting) = pool.give_up(self.now_ns) else { return };
            let waited = duration::rounded_text(Duration::from_nanos(self.now_ns - waiting.since_ns));
            let message = format!("no connection of the pool became free within {waited}");
            if let (Some(waits), Measuring::Started) = (&mut self.counts.pool_wait, self.measuring) {
                waits.record_failed(1);
            }
            self.end_without_connection(waiting.client, OpError { class: ErrorClass::PoolTimeout, message });
        }
    }

    /// Checks for the end where it was unknown. Completions of this turn count inside.
    pub(super) fn heed_end(&mut self) {
        if self.rules.end_ns == u64::MAX
            && let Some(end_ns) = self.gate.end_ns()
        {
            self.rules.end_ns = end_ns;
        }
    }

    /// Drops what has not started.
    fn heed_stop(&mut self) {
        if self.stopped_ns.is_some() || !self.gate.is_stopped() {
            return;
        }
        self.stopped_ns = Some(self.now_ns);
        let slots = &self.slots;
        self.timers.retain(|Reverse((_, client))| !matches!(slots[*client].stage, Stage::Between | Stage::Paused));
        self.dismiss_waiting();
    }

    /// Whether no further transaction may begin.
    pub(super) fn has_ended(&self) -> bool {
        self.now_ns >= self.rules.end_ns || self.gate.is_stopped()
    }

    /// Empties the pool's queue at the end. In a closed loop only those that waited longer than any response are known
    /// to be slower.
    pub(super) fn dismiss_waiting(&mut self) {
        let Access::Pool(pool) = &mut self.access else { return };
        let batch = self.stream.batch_size();
        for waiting in pool.dismiss_waiting() {
            let waited_ns = self.now_ns.saturating_sub(waiting.since_ns);
            let intended_ns = self.slots[waiting.client].intended_ns;
            let is_out = match self.rules.starts {
                Starts::WhenFree => waited_ns < self.longest_response_ns,
                Starts::AtInstants => intended_ns < self.rules.measured_ns,
            };
            if is_out {
                continue;
            }
            self.counts.not_begun += batch;
            let late_ns = self.now_ns.saturating_sub(intended_ns);
            self.counts.count_over_limits(&self.rules, |limit_ns| batch * u64::from(late_ns > limit_ns));
            if let (Some(waits), Measuring::Started) = (&mut self.counts.pool_wait, self.measuring) {
                waits.record_failed(1);
            }
        }
    }

    /// Ended by the user, or by another worker's failure: nothing of it counts.
    fn is_broken_off(&self) -> bool {
        self.stopped_ns.is_some_and(|stopped_ns| stopped_ns < self.rules.end_ns) && self.gate.end_ns().is_none()
    }

    fn patience_ends_ns(&self) -> u64 {
        let by_experience_ns = self.longest_ns.saturating_mul(TIMEOUT_FACTOR);
        let by_time_ns = self.rules.end_ns.min(self.stopped_ns.unwrap_or(u64::MAX));
        let by_silence_ns = self.heard_ns.saturating_add(by_experience_ns.max(SILENCE_TIMEOUT_NS));
        match self.rules.count {
            Some(_) if self.stopped_ns.is_none() => by_silence_ns,
            _ if self.is_broken_off() => by_time_ns.saturating_add(by_experience_ns.max(LAST_TIMEOUT_NS)),
            _ => by_time_ns.saturating_add(by_experience_ns.max(TIMEOUT_NS)),
        }
    }

    /// Counts unanswered operations; asks nothing more.
    fn give_up(&mut self) {
        let since_ns = match (self.rules.count, self.stopped_ns) {
            // Another worker may have stopped this one first.
            (None, stopped_ns) => self.rules.end_ns.min(stopped_ns.unwrap_or(u64::MAX)),
            (Some(_), stopped_ns) => stopped_ns.unwrap_or(self.heard_ns),
        };
        let waited_s = self.now_ns.saturating_sub(since_ns) as f64 / 1e9;
        let what = if self.rules.count.is_some() { "for" } else { "after the end of the run for" };
        let message = format!("the system has not answered {what} {waited_s:.0} s");
        for client in 0..self.slots.len() {
            if self.slots[client].stage.is_with_lane() {
                self.log_task(client, None);
                self.counts.count_failure(OpError { class: ErrorClass::Unresponsive, message: message.clone() });
            }
        }
        self.in_flight = 0;
        self.gave_up = GaveUp::Yes;
        self.gate.stop();
    }
}
