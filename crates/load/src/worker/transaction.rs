//! A transaction from beginning to end.

use std::cmp::Reverse;

use super::{Access, Kinds, Measuring, Stage, Starts, TaskEnd, Tasks, Worker};
use crate::clock::Clock;
use crate::lane::{Completion, ErrorClass, Instants, Lane, OpError, OpOutcome, RowCounts, Submitted};
use crate::recorder::Inside;
use crate::stream::{Next, RequestedWork, Stream, TransactionEnd};

/// This many failures in a row without success mean a broken script or server.
pub(crate) const HOPELESS_FAILURES: u64 = 100;
/// Separates pauses' random draws from the load's.
const PAUSE_SALT: u64 = 0x7061_7573_6570_6175;
/// Pauses of a transaction before their numbers repeat.
const PAUSES_PER_TRANSACTION: u64 = 1 << 12;

impl<L, S, C> Worker<'_, L, S, C>
where
    S: Stream,
    L: Lane<Op = S::Op>,
    C: Clock,
{
    /// Goes on with a client whose wait has ended.
    pub(super) fn continue_client(&mut self, client: usize) {
        match self.slots[client].stage {
            Stage::Between => self.enter_client(client),
            Stage::Admitted => self.begin_transaction(client),
            Stage::Within => self.advance(client),
            Stage::Paused => {
                let slot = &mut self.slots[client];
                slot.sent_ns = self.now_ns;
                if self.rules.starts == Starts::WhenFree {
                    slot.intended_ns = self.now_ns;
                }
                self.advance(client);
            }
            Stage::Op | Stage::Sync(_) => {
                if self.submit_op(client) {
                    self.advance(client);
                }
            }
            Stage::InFlight | Stage::Recovering | Stage::Connecting => {}
        }
    }

    /// Begins a client's due transaction once it has a connection; until then it waits in line.
    fn enter_client(&mut self, client: usize) {
        if self.rules.tasks == Tasks::Logged {
            self.running += 1;
            self.slots[client].running = self.running;
        }
        let Access::Pool(pool) = &mut self.access else { return self.begin_transaction(client) };
        let Some(connection) = pool.acquire(client, self.now_ns) else { return };
        self.slots[client].connection = connection;
        self.note_wait(0);
        self.begin_transaction(client);
    }

    /// Records how long a client waited for a connection.
    fn note_wait(&mut self, waited_ns: u64) {
        if let (Some(waits), Measuring::Started) = (&mut self.counts.pool_wait, self.measuring) {
            waits.record_successes(waited_ns, 1);
        }
    }

    /// Gives a client's connection back; the longest waiting client gets it.
    fn leave_client(&mut self, client: usize) {
        if matches!(self.access, Access::Own) {
            return;
        }
        if self.has_ended() {
            self.dismiss_waiting();
        }
        let Access::Pool(pool) = &mut self.access else { return };
        let connection = self.slots[client].connection;
        if let Some(next) = pool.release(connection) {
            let slot = &mut self.slots[next.client];
            slot.connection = connection;
            slot.stage = Stage::Admitted;
            self.note_wait(self.now_ns.saturating_sub(next.since_ns));
            self.ready.push_back(next.client);
        }
    }

    /// Begins a transaction, reconnecting first if due. That counts in the response time, as `pgbench -C` has it, not
    /// in the service time.
    fn begin_transaction(&mut self, client: usize) {
        let connection = self.slots[client].connection;
        match self.carried.get(connection) {
            Some(carried) if *carried >= self.rules.reconnect_every => {}
            _ => return self.send_first(client),
        }
        let slot = &mut self.slots[client];
        slot.sent_ns = self.clock.now_ns();
        slot.stage = Stage::Connecting;
        match self.lane.reconnect(connection) {
            Some(outcome) => self.end_connecting(client, outcome),
            None => self.in_flight += 1,
        }
    }

    /// Ends a reconnect, successful or not.
    fn end_connecting(&mut self, client: usize, outcome: OpOutcome) {
        self.now_ns = self.clock.now_ns();
        if let OpOutcome::Failed(error) = outcome {
            return self.end_unbegun(client, error);
        }
        let slot = &self.slots[client];
        self.counts.connections.add_connection(self.now_ns.saturating_sub(slot.sent_ns));
        self.counts.connections.made_again += 1;
        self.carried[slot.connection] = 0;
        self.send_first(client);
    }

    /// Begins a transaction on its connection with its first operation.
    fn send_first(&mut self, client: usize) {
        if let Some(carried) = self.carried.get_mut(self.slots[client].connection) {
            *carried += 1;
        }
        let slot = &mut self.slots[client];
        slot.sent_ns = self.now_ns;
        slot.tries = 1;
        slot.ops = 0;
        self.note_rows_before(client);
        let slot = &mut self.slots[client];
        self.stream.begin_transaction(&mut slot.state, slot.index);
        slot.index += 1;
        if self.now_ns >= self.rules.measured_ns {
            slot.counted += self.stream.batch_size();
        }
        self.advance(client);
    }

    /// Advances the client until it waits, sleeps, or has ended.
    fn advance(&mut self, client: usize) {
        loop {
            let slot = &mut self.slots[client];
            slot.stage = Stage::Within;
            match self.stream.next_op(&mut slot.state, &mut slot.op) {
                Next::Op => {
                    slot.stage = Stage::Op;
                    slot.ops += 1;
                    if slot.ops > 1 && self.rules.pause.is_some() {
                        return self.pause_client(client);
                    }
                }
                Next::Sync(point) => slot.stage = Stage::Sync(point),
                Next::Sleep(duration_ns) => return self.sleep_client(client, duration_ns),
                Next::Pause(duration_ns) => {
                    slot.stage = Stage::Paused;
                    return self.sleep_unless_too_long(client, duration_ns);
                }
                Next::Failed => {
                    let error = self.stream.take_failure(&mut slot.state);
                    self.now_ns = self.clock.now_ns();
                    self.fail_try(client, error);
                    return;
                }
                Next::End => {
                    let connection = slot.connection;
                    self.now_ns = self.clock.now_ns();
                    match self.lane.end_transaction(connection) {
                        Ok(()) => self.succeed(client),
                        Err(error) => self.fail_try(client, error),
                    }
                    return;
                }
            }
            if !self.submit_op(client) {
                return;
            }
        }
    }

    /// Puts a client to sleep for a time.
    fn sleep_client(&mut self, client: usize, duration_ns: u64) {
        self.now_ns = self.clock.now_ns();
        self.timers.push(Reverse((self.now_ns.saturating_add(duration_ns), client)));
    }

    /// A transaction that would begin after the end does not begin.
    fn sleep_unless_too_long(&mut self, client: usize, duration_ns: u64) {
        self.now_ns = self.clock.now_ns();
        self.note_thought(duration_ns);
        if self.now_ns.saturating_add(duration_ns) < self.rules.end_ns && !self.gate.is_stopped() {
            return self.sleep_client(client, duration_ns);
        }
        self.slots[client].stage = Stage::Between;
        if self.rules.starts == Starts::AtInstants {
            self.break_off(client);
        }
        self.leave_client(client);
    }

    /// Pauses before an operation other than the first. Retries wait equally long.
    fn pause_client(&mut self, client: usize) {
        let Some(pause) = self.rules.pause else { return };
        let slot = &self.slots[client];
        let number = slot.index * PAUSES_PER_TRANSACTION + u64::from(slot.ops) % PAUSES_PER_TRANSACTION;
        let duration_ns = pause.draw_ns(self.rules.seed ^ PAUSE_SALT, self.rules.first_client + client as u32, number);
        self.sleep_client(client, duration_ns);
    }

    /// Submits a client's operation; `true` if it has succeeded already.
    fn submit_op(&mut self, client: usize) -> bool {
        let slot = &mut self.slots[client];
        let submitted = match slot.stage {
            Stage::Sync(point) => self.lane.sync_pipeline(slot.connection, point),
            _ => self.lane.submit(slot.connection, &slot.op),
        };
        match submitted {
            Submitted::Queued => {
                slot.stage = Stage::InFlight;
                self.in_flight += 1;
                false
            }
            Submitted::Busy => {
                self.turned_away.push_back(client);
                false
            }
            Submitted::Done(OpOutcome::Ok) => self.receive_rows(client),
            Submitted::Done(OpOutcome::Failed(error)) => {
                self.now_ns = self.clock.now_ns();
                self.fail_try(client, error);
                false
            }
        }
    }

    /// Gives the rows that were asked for to the stream; `false` if it cannot go on.
    fn receive_rows(&mut self, client: usize) -> bool {
        let slot = &mut self.slots[client];
        let received = self.stream.receive_rows(&mut slot.state, self.lane.kept_rows(slot.connection));
        let Err(error) = received else { return true };
        self.now_ns = self.clock.now_ns();
        self.fail_try(client, error);
        false
    }

    /// Goes on with the client of a completion.
    pub(super) fn complete(&mut self, completion: Completion) {
        let client = match &self.access {
            Access::Own => completion.client,
            Access::Pool(pool) => match pool.holder(completion.client) {
                Some(client) => client,
                None => return,
            },
        };
        match (self.slots[client].stage, completion.outcome) {
            (Stage::Recovering, outcome) => {
                if let Some(error) = self.slots[client].failure.take() {
                    self.end_try(client, error, outcome);
                }
            }
            (Stage::Connecting, outcome) => self.end_connecting(client, outcome),
            (_, OpOutcome::Ok) => {
                if self.receive_rows(client) {
                    self.advance(client);
                }
            }
            (_, OpOutcome::Failed(error)) => self.fail_try(client, error),
        }
    }

    /// Records a successful transaction.
    fn succeed(&mut self, client: usize) {
        let (sent_ns, done_ns) = match L::INSTANTS {
            Instants::Worker => (self.slots[client].sent_ns, self.now_ns),
            Instants::Lane => self.lane.instants_ns(self.slots[client].connection),
        };
        let changed = self.count_rows_of_kind(client).changed;
        self.counts.wrote += u64::from(changed > 0);
        self.note_transaction_ended(client);
        self.failures_in_a_row = 0;
        let batch = self.stream.batch_size();
        self.counts.succeeded += batch;
        self.counts.asked += self.stream.requested_work(&self.slots[client].state);
        self.stream.add_tally(&self.slots[client].state, TransactionEnd::Succeeded, &mut self.counts.tallies);
        let slot = &self.slots[client];
        let began_ns = self.span_begins_ns(client);
        let kind = if self.rules.kinds == Kinds::ToldApart { self.stream.current_kind(&slot.state) } else { 0 };
        let response_ns = done_ns.saturating_sub(slot.intended_ns);
        self.longest_ns = self.longest_ns.max(done_ns.saturating_sub(sent_ns));
        self.longest_response_ns = self.longest_response_ns.max(response_ns);
        let inside = if done_ns <= self.rules.end_ns { Inside::Window } else { Inside::Later };
        if done_ns >= self.rules.measured_ns {
            self.counts.succeeded_in_window += batch * u64::from(inside == Inside::Window);
        }
        if self.is_measured(client, done_ns) {
            self.recorder.record_batch(batch, slot.intended_ns, sent_ns, done_ns);
            if response_ns > self.rules.shortest_limit_ns {
                self.count_limits(response_ns);
            }
            // Empty if kinds are not distinguished.
            if let Some(kind) = self.counts.kinds.get_mut(kind) {
                kind.record_successes(batch, response_ns, inside);
            }
            if self.rules.count.is_some() {
                self.counts.window_ns = done_ns - self.rules.measured_ns;
            }
        }
        self.log_task(client, Some(response_ns));
        self.leave_client(client);
        let lasted_ns = self.schedule_client(client);
        self.count_completed(kind, began_ns, lasted_ns);
    }

    /// The instant from which a transaction counts as work in the measured part: when it was due, but in a closed loop with a pool
    /// when it was sent, since another client had the connection before.
    fn span_begins_ns(&self, client: usize) -> u64 {
        let slot = &self.slots[client];
        match (&self.access, self.rules.starts) {
            (Access::Pool(_), Starts::WhenFree) => slot.sent_ns,
            _ => slot.intended_ns,
        }
    }

    /// Under a rate what was due in the measured part counts, in a closed loop what of each span lies in it.
    fn count_completed(&mut self, kind: usize, began_ns: u64, lasted_ns: u64) {
        let batch = self.stream.batch_size();
        let span = began_ns..if self.rules.starts == Starts::AtInstants { began_ns } else { lasted_ns };
        let window = self.rules.measured_ns..self.rules.end_ns;
        self.counts.completed.add_batch(batch, &span, &window);
        if let Some(kind) = self.counts.kinds.get_mut(kind) {
            kind.completed.add_batch(batch, &span, &window);
        }
    }

    /// Says whether a transaction that has ended belongs to the measured part: under a rate one that was due in it, so that what
    /// was left over from the warm-up is none of its work.
    fn is_measured(&self, client: usize, done_ns: u64) -> bool {
        let belongs_ns = match self.rules.starts {
            Starts::WhenFree => done_ns,
            Starts::AtInstants => self.slots[client].intended_ns,
        };
        belongs_ns >= self.rules.measured_ns
    }

    /// Limits exceeded by a response or wait.
    pub(super) fn count_limits(&mut self, response_ns: u64) {
        let batch = self.stream.batch_size();
        self.counts.count_over_limits(&self.rules, |limit_ns| batch * u64::from(response_ns > limit_ns));
    }

    /// Logs a task's end; without a response time it failed.
    pub(super) fn log_task(&mut self, client: usize, response_ns: Option<u64>) {
        if self.rules.tasks == Tasks::Logged
            && let Some(log) = self.counts.tasks.last_mut()
        {
            let ended_ns = self.now_ns.saturating_sub(self.rules.start_ns);
            self.running = self.running.saturating_sub(1);
            log.tasks.push(TaskEnd { running: self.slots[client].running, response_ns, ended_ns });
        }
    }

    /// Keeps the connection's rows before a try.
    fn note_rows_before(&mut self, client: usize) {
        let slot = &mut self.slots[client];
        slot.rows_before = self.lane.row_counts(slot.connection).unwrap_or_default();
    }

    /// Returns the rows of a try that has ended, successful or not, counted among those of its kind where kinds are distinguished.
    fn count_rows_of_kind(&mut self, client: usize) -> RowCounts {
        let slot = &self.slots[client];
        let Some(rows) = self.lane.row_counts(slot.connection) else { return RowCounts::default() };
        let rows = rows.since(slot.rows_before);
        if self.rules.kinds == Kinds::ToldApart {
            let kind = self.stream.current_kind(&slot.state);
            if let Some(kind) = self.counts.kinds.get_mut(kind) {
                kind.add_rows(self.stream.batch_size(), rows);
            }
        }
        rows
    }

    /// Sets a client between transactions, and counts its retries.
    fn note_transaction_ended(&mut self, client: usize) {
        let slot = &mut self.slots[client];
        slot.stage = Stage::Between;
        let retries = u64::from(slot.tries.saturating_sub(1));
        self.counts.retries += retries;
        self.counts.retried += u64::from(retries > 0);
    }

    /// Recovers a client after a failed try, which may take time.
    pub(super) fn fail_try(&mut self, client: usize, error: OpError) {
        self.counts.asked_in_vain += self.stream.requested_work(&self.slots[client].state);
        // The open transaction, and its rollback.
        self.counts.asked_in_vain += RequestedWork { transactions: 1, statements: 1, commits: 0, rollbacks: 1 };
        if error.class == ErrorClass::ConnectionLost {
            return self.end_try(client, error, OpOutcome::Ok);
        }
        let slot = &mut self.slots[client];
        match self.lane.recover(slot.connection) {
            Some(recovered) => self.end_try(client, error, recovered),
            None => {
                slot.failure = Some(error);
                slot.stage = Stage::Recovering;
                self.in_flight += 1;
            }
        }
    }

    /// Retries or ends the transaction after recovery, successful or not.
    fn end_try(&mut self, client: usize, error: OpError, recovered: OpOutcome) {
        self.count_rows_of_kind(client);
        let is_tried_again = recovered == OpOutcome::Ok && self.may_retry(client, error.class);
        if is_tried_again && self.may_go_on(client) {
            let slot = &mut self.slots[client];
            slot.tries += 1;
            slot.ops = 0;
            self.note_rows_before(client);
            let slot = &mut self.slots[client];
            // With the same number, so that it repeats its values.
            self.stream.begin_transaction(&mut slot.state, slot.index - 1);
            slot.stage = Stage::Within;
            // Through the queue: others come first, and the stack stays flat.
            self.ready.push_back(client);
            return;
        }
        self.note_transaction_ended(client);
        if is_tried_again {
            self.break_off(client);
        } else {
            self.note_failed_kind(client);
            self.stream.add_tally(&self.slots[client].state, TransactionEnd::Failed, &mut self.counts.tallies);
            self.count_failure(client, error);
        }
        if let OpOutcome::Failed(error) = recovered {
            self.lose_connection(error);
        }
        self.log_task(client, None);
        self.leave_client(client);
        self.schedule_client(client);
    }

    /// Tries go on after the end for as long as others took: the share of the transaction that lies inside is known then.
    fn may_go_on(&self, client: usize) -> bool {
        let is_stopped = self.gate.is_stopped() && self.gate.end_ns().is_none();
        let taken_ns = self.now_ns.saturating_sub(self.slots[client].intended_ns);
        !self.has_ended() || (!is_stopped && taken_ns < self.longest_response_ns)
    }

    /// Ends a transaction because of the run's end, which is no failure. It counts as slower only if it has taken
    /// longer than any response.
    fn break_off(&mut self, client: usize) {
        let taken_ns = self.now_ns.saturating_sub(self.slots[client].intended_ns);
        if taken_ns < self.longest_response_ns || !self.is_measured(client, self.now_ns) {
            return;
        }
        let batch = self.stream.batch_size();
        self.counts.broken_off += batch;
        self.recorder.record_failed(batch, self.now_ns);
        self.count_limits(taken_ns);
        let kind =
            if self.rules.kinds == Kinds::ToldApart { self.stream.current_kind(&self.slots[client].state) } else { 0 };
        if let Some(kind) = self.counts.kinds.get_mut(kind) {
            kind.broken_off += batch;
            kind.response.record_failed(batch);
        }
    }

    /// Ends the run, since a connection is unusable.
    fn lose_connection(&mut self, error: OpError) {
        self.gate.stop();
        // A full device is reported as such.
        self.counts.connection_lost |= error.class != ErrorClass::DiskFull;
        let class = if error.class == ErrorClass::DiskFull { error.class } else { ErrorClass::ConnectionLost };
        let message = match error.class {
            ErrorClass::ConnectionLost | ErrorClass::DiskFull => error.message,
            _ => format!("it could not be brought back after a failed transaction: {}", error.message),
        };
        self.counts.count_failure(OpError { class, message });
    }

    /// Ends a transaction that waited in vain for a connection.
    pub(super) fn end_without_connection(&mut self, client: usize, error: OpError) {
        self.count_unbegun(client, error);
        self.schedule_client(client);
    }

    /// Ends a transaction after a failed reconnect; the next one tries again.
    fn end_unbegun(&mut self, client: usize, error: OpError) {
        self.now_ns = self.clock.now_ns();
        self.count_unbegun(client, error);
        self.leave_client(client);
        self.schedule_client(client);
    }

    /// Counts a transaction that failed before it began, and moves the client past it.
    fn count_unbegun(&mut self, client: usize, error: OpError) {
        self.note_failed_unbegun(client);
        self.count_failure(client, error);
        let slot = &mut self.slots[client];
        slot.stage = Stage::Between;
        slot.index += 1;
        if self.now_ns >= self.rules.measured_ns {
            slot.counted += self.stream.batch_size();
        }
        self.log_task(client, None);
    }

    fn note_failed_kind(&mut self, client: usize) {
        if self.rules.kinds == Kinds::ToldApart && self.is_measured(client, self.now_ns) {
            let kind = self.stream.current_kind(&self.slots[client].state);
            if let Some(kind) = self.counts.kinds.get_mut(kind) {
                kind.failed += self.stream.batch_size();
                kind.response.record_failed(self.stream.batch_size());
            }
        }
    }

    /// Notes a failure of unknown kind: each may have lost it.
    fn note_failed_unbegun(&mut self, client: usize) {
        if self.is_measured(client, self.now_ns) {
            let batch = self.stream.batch_size();
            self.counts.kinds.iter_mut().for_each(|kind| kind.response.record_failed(batch));
        }
    }

    /// Stops the run if going on is pointless.
    fn count_failure(&mut self, client: usize, error: OpError) {
        let batch = self.stream.batch_size();
        if self.is_measured(client, self.now_ns) {
            self.recorder.record_failed(batch, self.now_ns);
        }
        if self.now_ns >= self.rules.measured_ns {
            self.counts.failed_in_window += batch * u64::from(self.now_ns <= self.rules.end_ns);
        }
        if self.rules.count.is_some() {
            self.counts.window_ns = self.counts.window_ns.max(self.now_ns.saturating_sub(self.rules.measured_ns));
        }
        // Contention is not a broken script or server.
        self.failures_in_a_row += u64::from(!error.class.is_contention());
        if error.class == ErrorClass::ConnectionLost {
            self.counts.connection_lost = true;
            self.gate.stop();
        }
        // A script error ends a client in pgbench, too, and voids the run.
        let broken = error.class == ErrorClass::Script;
        self.counts.count_failures(error, batch);
        if broken || (self.counts.succeeded == 0 && self.failures_in_a_row >= HOPELESS_FAILURES) {
            self.counts.gave_up = true;
            self.gate.stop();
        }
    }

    /// Whether the transaction may be retried, if the run goes on.
    fn may_retry(&self, client: usize, class: ErrorClass) -> bool {
        let slot = &self.slots[client];
        self.stream.retry_rule().allows(class, slot.tries, self.now_ns.saturating_sub(slot.intended_ns))
    }
}
