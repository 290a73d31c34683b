//! The one worker loop: of every family, of every engine, on real and on virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::clock::Clock;
use crate::error::Failure;
use crate::gate::Gate;
use crate::lane::{Completion, ErrorClass, Lane, OpError, Outcome, Submitted, SyncPoint};
use crate::pacer::Pacer;
use crate::recorder::{Exchange, Latencies, Recorder};
use crate::stream::{Next, Stream};

/// A worker that fails so often in a row without one success has met a broken script or server, not bad luck.
const HOPELESS_FAILURES: u64 = 100;

/// When a worker's clients stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLength {
    /// So long after the measured part began, in nanoseconds.
    Time(u64),
    /// After so many transactions of each client that began in the measured part.
    Count(u64),
}

/// How a worker's clients are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the system answers.
    Closed,
    /// So many transactions a second, of all this worker's clients together.
    Rate(f64),
}

/// A worker's share of a trial.
#[derive(Debug)]
pub struct WorkerContext<'a> {
    /// Seed of the trial's random streams.
    pub seed: u64,
    /// The worker's clients, counted over all workers and hosts.
    pub clients: Range<u32>,
    /// How they are paced.
    pub pace: Pace,
    /// Load before the measured part, in nanoseconds.
    pub warmup_ns: u64,
    /// The measured part.
    pub length: RunLength,
    /// Length of an interval of the series, in nanoseconds.
    pub interval_ns: u64,
    /// The common start.
    pub gate: &'a Gate,
    /// The way to the coordinator.
    pub exchange: Exchange,
}

/// What a worker counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Transactions that ended well from the first to the last, warm-up included: what the server must have seen.
    pub succeeded: u64,
    /// Those of them that ended inside the measured part.
    pub succeeded_in_window: u64,
    /// Failed transactions by class, in the order of [`ErrorClass::ALL`], warm-up included.
    pub failed: [u64; ErrorClass::ALL.len()],
    /// The first message of each class.
    pub messages: Vec<OpError>,
    /// Transactions that were tried more than once, however they ended, warm-up included.
    pub retried: u64,
    /// Tries after the first of all transactions, warm-up included.
    pub retries: u64,
    /// CPU time that this thread used in the measured part, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// From the start of the measured part to its end, in nanoseconds.
    pub window_ns: u64,
    /// Whether a connection was lost.
    pub connection_lost: bool,
    /// Whether the worker gave up, since nothing succeeded.
    pub hopeless: bool,
}

impl Tally {
    fn count_failures(&mut self, error: OpError, count: u64) {
        let place = ErrorClass::ALL.iter().position(|class| *class == error.class).unwrap_or_default();
        self.failed[place] += count;
        if !self.messages.iter().any(|known| known.class == error.class) {
            self.messages.push(error);
        }
    }

    /// Takes in another worker's tally.
    pub fn merge(&mut self, other: Tally) {
        self.succeeded += other.succeeded;
        self.succeeded_in_window += other.succeeded_in_window;
        for (mine, theirs) in self.failed.iter_mut().zip(other.failed) {
            *mine += theirs;
        }
        for error in other.messages {
            if !self.messages.iter().any(|known| known.class == error.class) {
                self.messages.push(error);
            }
        }
        self.retried += other.retried;
        self.retries += other.retries;
        self.cpu_ns = self.cpu_ns.zip(other.cpu_ns).map(|(a, b)| a + b);
        self.window_ns = self.window_ns.max(other.window_ns);
        self.connection_lost |= other.connection_lost;
        self.hopeless |= other.hopeless;
    }

    /// Failed transactions of all classes.
    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }
}

/// One client as its worker sees it.
struct Slot<S: Stream> {
    state: S::Client,
    op: S::Op,
    /// The number of the next transaction.
    index: u64,
    intended_ns: u64,
    sent_ns: u64,
    counted: u64,
    /// How often the transaction under way has been begun.
    tries: u32,
    stage: Stage,
}

/// Where a client stands when its turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before a transaction.
    Between,
    /// In a transaction, at its next operation.
    Within,
    /// At an operation that the lane had no room for.
    Op,
    /// At a point of a pipeline that the lane had no room for.
    Sync(SyncPoint),
}

/// Runs a worker's clients from the common start to the end. The lane must be connected; it is closed on return.
///
/// # Errors
/// None at present: what goes wrong under load is counted, and judged by the conductor.
pub fn run<L, S, C>(lane: L, stream: &S, clock: &C, context: WorkerContext<'_>) -> Result<Tally, Failure>
where
    S: Stream,
    L: Lane<Op = S::Op>,
    C: Clock,
{
    let Some(gate_ns) = context.gate.ready() else {
        lane.close();
        return Ok(Tally::default());
    };
    let start_ns = clock.start(gate_ns);
    clock.wait_until(start_ns);
    let pacer = make_pacer(&context, start_ns);
    let mut worker = Worker::new(lane, stream, clock, pacer, context, start_ns);
    worker.run();
    Ok(worker.finish())
}

fn make_pacer(context: &WorkerContext<'_>, start_ns: u64) -> Box<dyn Pacer> {
    match context.pace {
        Pace::Closed => Box::new(crate::pacer::Closed),
        Pace::Rate(rate) => Box::new(crate::pacer::Constant::new(context.clients.len(), rate, start_ns)),
    }
}

struct Worker<'a, L, S: Stream, C> {
    lane: L,
    stream: &'a S,
    clock: &'a C,
    pacer: Box<dyn Pacer>,
    gate: &'a Gate,
    recorder: Recorder,
    slots: Vec<Slot<S>>,
    /// Clients whose next transaction is due, or who have slept.
    ready: VecDeque<usize>,
    /// Clients whose operation the lane had no room for.
    turned_away: VecDeque<usize>,
    /// Clients that wait for their intended instant, or sleep in mid-transaction.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    in_flight: usize,
    tally: Tally,
    now_ns: u64,
    /// Start of the measured part.
    measured_ns: u64,
    /// No transaction begins from here on.
    end_ns: u64,
    count: Option<u64>,
    failures_in_a_row: u64,
    cpu_at_start: Option<u64>,
}

impl<'a, L, S, C> Worker<'a, L, S, C>
where
    S: Stream,
    L: Lane<Op = S::Op>,
    C: Clock,
{
    fn new(
        lane: L,
        stream: &'a S,
        clock: &'a C,
        pacer: Box<dyn Pacer>,
        context: WorkerContext<'a>,
        start_ns: u64,
    ) -> Self {
        let measured_ns = start_ns + context.warmup_ns;
        let (end_ns, count) = match context.length {
            RunLength::Time(length_ns) => (measured_ns + length_ns, None),
            RunLength::Count(count) => (u64::MAX, Some(count)),
        };
        let latencies = match context.pace {
            Pace::Closed => Latencies::ResponseOnly,
            Pace::Rate(_) => Latencies::ResponseAndService,
        };
        let slots = context
            .clients
            .clone()
            .map(|client| Slot {
                state: stream.client(context.seed, client),
                op: S::Op::default(),
                index: 0,
                intended_ns: 0,
                sent_ns: 0,
                counted: 0,
                tries: 0,
                stage: Stage::Between,
            })
            .collect();
        Worker {
            lane,
            stream,
            clock,
            pacer,
            gate: context.gate,
            recorder: Recorder::new(measured_ns, context.interval_ns, latencies, context.exchange),
            slots,
            ready: VecDeque::new(),
            turned_away: VecDeque::new(),
            timers: BinaryHeap::new(),
            in_flight: 0,
            tally: Tally::default(),
            now_ns: start_ns,
            measured_ns,
            end_ns,
            count,
            failures_in_a_row: 0,
            cpu_at_start: None,
        }
    }

    fn run(&mut self) {
        for client in 0..self.slots.len() {
            self.schedule(client);
        }
        let mut completions = Vec::with_capacity(self.slots.len());
        while self.in_flight + self.ready.len() + self.turned_away.len() + self.timers.len() > 0 {
            self.begin_due();
            if self.in_flight > 0 {
                self.lane.flush();
                let deadline_ns = self.timers.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
                let deadline_ns = if self.ready.is_empty() { deadline_ns } else { self.now_ns };
                self.lane.reap(deadline_ns, &mut completions);
                self.now_ns = self.clock.now_ns();
                for completion in completions.drain(..) {
                    self.in_flight -= 1;
                    self.complete(completion);
                }
            } else if let (true, Some(Reverse((at_ns, _)))) = (self.ready.is_empty(), self.timers.peek()) {
                self.clock.wait_until(*at_ns);
                self.now_ns = self.clock.now_ns();
            }
        }
    }

    /// Begins every transaction that is due, and offers the lane again what it turned away.
    fn begin_due(&mut self) {
        for _ in 0..self.turned_away.len() {
            if let Some(client) = self.turned_away.pop_front() {
                self.go_on(client);
            }
        }
        while let Some(Reverse((at_ns, client))) = self.timers.peek().copied() {
            if at_ns > self.now_ns {
                break;
            }
            self.timers.pop();
            self.ready.push_back(client);
        }
        // Only those that are ready now: a lane that answers at once makes them ready again, and the others' turn
        // comes first.
        for _ in 0..self.ready.len() {
            if let Some(client) = self.ready.pop_front() {
                self.go_on(client);
            }
        }
    }

    /// Fixes when a free client's next transaction is meant to begin; retires the client at the end of the trial.
    fn schedule(&mut self, client: usize) {
        self.note_start_of_measurement();
        let finished = self.count.is_some_and(|count| self.slots[client].counted >= count);
        if finished || self.now_ns >= self.end_ns || self.gate.stopped() {
            return;
        }
        let intended_ns = self.pacer.intended_ns(client, self.now_ns);
        if intended_ns >= self.end_ns {
            return;
        }
        self.slots[client].intended_ns = intended_ns;
        if intended_ns <= self.now_ns {
            self.ready.push_back(client);
        } else {
            self.timers.push(Reverse((intended_ns, client)));
        }
    }

    /// Goes on with a client from wherever it stands.
    fn go_on(&mut self, client: usize) {
        match self.slots[client].stage {
            Stage::Between => self.begin(client),
            Stage::Within => self.advance(client),
            Stage::Op | Stage::Sync(_) => {
                if self.submit(client) {
                    self.advance(client);
                }
            }
        }
    }

    fn begin(&mut self, client: usize) {
        let slot = &mut self.slots[client];
        slot.sent_ns = self.now_ns;
        slot.tries = 1;
        self.stream.begin(&mut slot.state, slot.index);
        slot.index += 1;
        if self.now_ns >= self.measured_ns {
            slot.counted += self.stream.batch();
        }
        self.advance(client);
    }

    /// Goes on with a client's transaction until it waits for the system, sleeps, or has ended.
    fn advance(&mut self, client: usize) {
        loop {
            let slot = &mut self.slots[client];
            slot.stage = Stage::Within;
            match self.stream.next(&mut slot.state, &mut slot.op) {
                Next::Op => slot.stage = Stage::Op,
                Next::Sync(point) => slot.stage = Stage::Sync(point),
                Next::Sleep(duration_ns) => {
                    self.now_ns = self.clock.now_ns();
                    self.timers.push(Reverse((self.now_ns.saturating_add(duration_ns), client)));
                    return;
                }
                Next::Failed => {
                    let error = self.stream.failure(&mut slot.state);
                    self.now_ns = self.clock.now_ns();
                    self.fail(client, error);
                    return;
                }
                Next::End => {
                    self.now_ns = self.clock.now_ns();
                    match self.lane.end_transaction(client) {
                        Ok(()) => self.succeed(client),
                        Err(error) => self.fail(client, error),
                    }
                    return;
                }
            }
            if !self.submit(client) {
                return;
            }
        }
    }

    /// Hands the lane what the client stands at. `true` if that has ended well already.
    fn submit(&mut self, client: usize) -> bool {
        let submitted = match self.slots[client].stage {
            Stage::Sync(point) => self.lane.sync(client, point),
            _ => self.lane.submit(client, &self.slots[client].op),
        };
        match submitted {
            Submitted::Queued => {
                self.in_flight += 1;
                false
            }
            Submitted::Busy => {
                self.turned_away.push_back(client);
                false
            }
            Submitted::Done(Outcome::Ok) => self.receive(client),
            Submitted::Done(Outcome::Failed(error)) => {
                self.now_ns = self.clock.now_ns();
                self.fail(client, error);
                false
            }
        }
    }

    /// Gives the stream the rows that it asked for. `false` if it cannot go on with them.
    fn receive(&mut self, client: usize) -> bool {
        let received = self.stream.receive(&mut self.slots[client].state, self.lane.kept_rows(client));
        let Err(error) = received else { return true };
        self.now_ns = self.clock.now_ns();
        self.fail(client, error);
        false
    }

    fn complete(&mut self, completion: Completion) {
        match completion.outcome {
            Outcome::Ok => {
                if self.receive(completion.client) {
                    self.advance(completion.client);
                }
            }
            Outcome::Failed(error) => self.fail(completion.client, error),
        }
    }

    fn succeed(&mut self, client: usize) {
        let done_ns = self.now_ns;
        self.end_transaction(client);
        self.failures_in_a_row = 0;
        let batch = self.stream.batch();
        self.tally.succeeded += batch;
        if done_ns >= self.measured_ns {
            let slot = &self.slots[client];
            self.recorder.record_batch(batch, slot.intended_ns, slot.sent_ns, done_ns);
            if done_ns <= self.end_ns {
                self.tally.succeeded_in_window += batch;
            }
            if self.count.is_some() {
                self.tally.window_ns = done_ns - self.measured_ns;
            }
        }
        self.schedule(client);
    }

    /// Counts the tries of a transaction that has ended.
    fn end_transaction(&mut self, client: usize) {
        let slot = &mut self.slots[client];
        slot.stage = Stage::Between;
        let retries = u64::from(slot.tries.saturating_sub(1));
        self.tally.retries += retries;
        self.tally.retried += u64::from(retries > 0);
    }

    fn fail(&mut self, client: usize, error: OpError) {
        let lost = error.class == ErrorClass::ConnectionLost;
        let recovered = if lost { Ok(()) } else { self.lane.recover(client) };
        if recovered.is_ok() && self.retries(client, error.class) {
            let slot = &mut self.slots[client];
            slot.tries += 1;
            // The number of this transaction once more, so that it repeats its values.
            self.stream.begin(&mut slot.state, slot.index - 1);
            slot.stage = Stage::Within;
            // By way of the queue: the others' turn comes first, and the stack stays flat.
            self.ready.push_back(client);
            return;
        }
        self.end_transaction(client);
        if self.now_ns >= self.measured_ns {
            (0..self.stream.batch()).for_each(|_| self.recorder.record_error(self.now_ns));
        }
        self.failures_in_a_row += 1;
        // A script that cannot go on ends its client in pgbench, and the run has no result. So here.
        let broken = error.class == ErrorClass::Script;
        self.tally.count_failures(error, self.stream.batch());
        if let Err(error) = recovered {
            self.tally.connection_lost |= error.class == ErrorClass::ConnectionLost;
            self.tally.count_failures(error, 1);
            self.gate.stop();
        }
        if lost {
            self.tally.connection_lost = true;
            self.gate.stop();
        }
        if broken || (self.tally.succeeded == 0 && self.failures_in_a_row >= HOPELESS_FAILURES) {
            self.tally.hopeless = true;
            self.gate.stop();
        }
        self.schedule(client);
    }

    /// Whether a transaction that has failed is tried again: not after the end of the trial.
    fn retries(&self, client: usize, class: ErrorClass) -> bool {
        let slot = &self.slots[client];
        let running = self.now_ns < self.end_ns && !self.gate.stopped();
        running && self.stream.retry().allows(class, slot.tries, self.now_ns.saturating_sub(slot.intended_ns))
    }

    /// Notes the thread's CPU time when the measured part begins.
    fn note_start_of_measurement(&mut self) {
        if self.cpu_at_start.is_none() && self.now_ns >= self.measured_ns {
            self.cpu_at_start = thread_cpu_ns();
        }
    }

    fn finish(mut self) -> Tally {
        self.tally.cpu_ns = thread_cpu_ns().zip(self.cpu_at_start).map(|(end, start)| end.saturating_sub(start));
        if self.count.is_none() {
            self.tally.window_ns = self.end_ns - self.measured_ns;
        }
        self.recorder.finish();
        self.lane.close();
        self.tally
    }
}

fn thread_cpu_ns() -> Option<u64> {
    host::cpu::thread_cpu().ok().map(|cpu| cpu.as_nanos() as u64)
}

#[cfg(test)]
#[path = "worker/tests.rs"]
mod tests;
