//! The one worker loop for every family and engine, on real and virtual time.

mod confined;
mod counts;
mod opening;
mod transaction;
mod turn;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::clock::Clock;
use crate::durations::Durations;
use crate::error::Failure;
use crate::gate::Gate;
use crate::lag::LoopLag;
use crate::lane::{Instants, Lane, OpError, RowCounts, SessionCounts, SyncPoint};
use crate::pacer::{ArrivalSchedule, Eased, Pacer, ScheduleOptions};
use crate::pool::ConnectionPool;
use crate::recorder::{Exchange, KindCounts, LatencyKinds, Recorder};
use crate::stream::Stream;
use crate::traffic::NetworkTraffic;

pub use confined::Confined;
pub use counts::{Connections, LoadCounts, TaskEnd, TaskLog};
pub use opening::{LOGINS_AT_ONCE, shortfall};
pub(crate) use transaction::HOPELESS_FAILURES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLength {
    /// The load ends this many nanoseconds after the measured part began.
    Time(u64),
    /// Each client starts this many transactions in the measured part.
    Count(u64),
    /// The load lasts until [`Gate::end_at`].
    UntilEnded,
}

/// Pacing of a worker's clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    Closed,
    /// Transactions a second of all this worker's clients.
    Rate(f64),
}

#[derive(Debug)]
pub struct WorkerContext<'a> {
    pub seed: u64,
    /// Counted over all workers and hosts.
    pub clients: Range<u32>,
    /// Number of clients of all workers.
    pub all_clients: u32,
    pub pace: Pace,
    pub traffic: &'a NetworkTraffic,
    /// Load before the measured part.
    pub warmup_ns: u64,
    pub length: RunLength,
    pub interval_ns: u64,
    pub gate: &'a Gate,
    /// The exchange of histograms with the coordinator.
    pub exchange: Exchange,
    /// The connections that [`WorkerContext::connect_all`] made.
    pub opened: Connections,
}

struct Slot<S: Stream> {
    state: S::Client,
    op: S::Op,
    /// The lane's index. With a pool, the current or last one.
    connection: usize,
    /// Index of the next transaction.
    index: u64,
    intended_ns: u64,
    sent_ns: u64,
    counted: u64,
    /// Number of tries of the current transaction.
    tries: u32,
    /// Submitted in the current try.
    ops: u32,
    /// Tasks in progress when it became due, itself included.
    running: u32,
    /// The failure of the current try, during recovery.
    failure: Option<OpError>,
    /// Rows of its connection before the current try, where kinds are distinguished.
    rows_before: RowCounts,
    stage: Stage,
}

/// A client's state at its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Between,
    /// The client has a pool connection, and a transaction is next.
    Admitted,
    /// The client pauses before its transaction.
    Paused,
    /// The next operation of a transaction is due.
    Within,
    /// A rejected operation is due again, or one after its pause.
    Op,
    /// A rejected pipeline point is due again.
    Sync(SyncPoint),
    InFlight,
    /// The lane recovers after a failure.
    Recovering,
    /// Reconnecting before a transaction.
    Connecting,
}

impl Stage {
    fn is_with_lane(self) -> bool {
        matches!(self, Stage::InFlight | Stage::Recovering | Stage::Connecting)
    }
}

/// Fixed during a run.
enum Access {
    /// One each, with the client's index.
    Own,
    Pool(ConnectionPool),
}

/// Decided once per run.
struct Rules {
    seed: u64,
    /// Counted over all workers.
    first_client: u32,
    start_ns: u64,
    measured_ns: u64,
    /// No transaction begins afterwards.
    end_ns: u64,
    count: Option<u64>,
    pause: Option<crate::traffic::Span>,
    reconnect_every: u32,
    /// Slower responses are checked against all limits.
    shortest_limit_ns: u64,
    limits_ns: Vec<u64>,
    latency_limit_ns: Option<u64>,
    tasks: Tasks,
    /// Clients of all workers that begin together, and are spread over a response time in the warm-up.
    together: Option<u32>,
    /// Clients that begin at once; each further one after an earlier one has ended.
    first_clients: usize,
    kinds: Kinds,
    starts: Starts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Starts {
    WhenFree,
    /// Fixed in advance by a rate.
    AtInstants,
}

/// Whether to log each client's end as a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tasks {
    Logged,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    ToldApart,
    One,
}

/// Runs a worker from the common start to the end. The lane must be connected, and is closed. Errors under load are
/// counted, and
/// judged by the conductor.
pub fn run_worker<L, S, C>(lane: L, stream: &S, clock: &C, context: WorkerContext<'_>) -> Result<LoadCounts, Failure>
where
    S: Stream,
    L: Lane<Op = S::Op>,
    C: Clock,
{
    // The lane has bound the thread by now.
    let confined = Confined::of_this_thread();
    let Some(gate_ns) = context.gate.wait_for_start() else {
        lane.close();
        return Ok(LoadCounts::default());
    };
    let start_ns = clock.local_instant_ns(gate_ns);
    let mut worker = Worker::new(lane, stream, clock, context, start_ns);
    clock.wait_until(start_ns);
    worker.run();
    Ok(worker.finish(confined))
}

/// Makes the pacer of a worker's clients.
fn make_pacer(context: &WorkerContext<'_>, start_ns: u64) -> Pacer {
    let traffic = context.traffic;
    match context.pace {
        Pace::Closed if traffic.think.is_none() && traffic.ramp_ns == 0 => Pacer::Closed,
        Pace::Closed => Pacer::Eased(Eased {
            seed: context.seed,
            start_ns,
            ramp_ns: traffic.ramp_ns,
            all_clients: context.all_clients,
            think: traffic.think,
        }),
        Pace::Rate(rate_per_s) => Pacer::Rate(ArrivalSchedule::new(ScheduleOptions {
            seed: context.seed,
            number: context.clients.start,
            arrivals: traffic.arrivals,
            rate_per_s,
            phase: f64::from(context.clients.start) / f64::from(context.all_clients.max(1)),
            start_ns,
            ramp_ns: traffic.ramp_ns,
        })),
    }
}

impl Rules {
    fn new(context: &WorkerContext<'_>, start_ns: u64, kinds: Kinds) -> Rules {
        let traffic = context.traffic;
        let measured_ns = start_ns + context.warmup_ns;
        let (end_ns, count) = match context.length {
            RunLength::Time(length_ns) => (measured_ns + length_ns, None),
            RunLength::Count(count) => (u64::MAX, Some(count)),
            RunLength::UntilEnded => (u64::MAX, None),
        };
        // A ramp, or thinking for random times, spreads them already.
        let is_spread = traffic.ramp_ns > 0 || traffic.think.is_some_and(|think| think.least_ns < think.most_ns);
        let together = (context.pace == Pace::Closed && !is_spread).then_some(context.all_clients.max(1));
        let all_limits = traffic.limits_ns.iter().copied().chain(traffic.latency_limit_ns);
        Rules {
            seed: context.seed,
            first_client: context.clients.start,
            start_ns,
            measured_ns,
            end_ns,
            count,
            pause: traffic.pause,
            reconnect_every: traffic.reconnect_every,
            shortest_limit_ns: all_limits.min().unwrap_or(u64::MAX),
            limits_ns: traffic.limits_ns.clone(),
            latency_limit_ns: traffic.latency_limit_ns,
            together,
            first_clients: traffic.tasks_at_once.map_or(usize::MAX, |tasks| tasks.max(1) as usize),
            tasks: if traffic.tasks.is_some() { Tasks::Logged } else { Tasks::No },
            kinds,
            starts: if context.pace == Pace::Closed { Starts::WhenFree } else { Starts::AtInstants },
        }
    }
}

struct Worker<'a, L, S: Stream, C> {
    lane: L,
    stream: &'a S,
    clock: &'a C,
    pacer: Pacer,
    rules: Rules,
    gate: &'a Gate,
    recorder: Recorder,
    slots: Vec<Slot<S>>,
    access: Access,
    /// Per connection since it was made; empty without `reconnect`.
    carried: Vec<u32>,
    /// Due, or woken.
    ready: VecDeque<usize>,
    /// Rejected by the lane.
    turned_away: VecDeque<usize>,
    /// Waiting for an instant, or sleeping.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    in_flight: usize,
    /// The first client that has not started yet.
    next_client: usize,
    /// Due and not ended.
    running: u32,
    counts: LoadCounts,
    lag: LoopLag,
    now_ns: u64,
    /// Last completion.
    heard_ns: u64,
    /// Since sending.
    longest_ns: u64,
    /// The longest response, of the measured part once it has begun.
    longest_response_ns: u64,
    /// Since the worker knows that it should stop.
    stopped_ns: Option<u64>,
    gave_up: GaveUp,
    failures_in_a_row: u64,
    cpu_at_start: Option<u64>,
    helpers_cpu_at_start_ns: u64,
    entries_at_start: Option<u64>,
    /// Rows of étalon's own questions before the load.
    rows_before: RowCounts,
    /// Number of the lane's connections.
    connections: usize,
    measuring: Measuring,
}

/// Operations without answer were given up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GaveUp {
    No,
    Yes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measuring {
    NotYet,
    Started,
}

impl<'a, L, S, C> Worker<'a, L, S, C>
where
    S: Stream,
    L: Lane<Op = S::Op>,
    C: Clock,
{
    fn new(lane: L, stream: &'a S, clock: &'a C, mut context: WorkerContext<'a>, start_ns: u64) -> Self {
        let traffic = context.traffic;
        let names = stream.kind_names();
        let kinds = if names.is_empty() { Kinds::One } else { Kinds::ToldApart };
        let rules = Rules::new(&context, start_ns, kinds);
        let open = context.open_connections();
        let access = match traffic.pool {
            None => Access::Own,
            Some(size) => Access::Pool(ConnectionPool::new(open, size)),
        };
        // Otherwise a transaction waits for its instant, a pool connection, or a new one.
        let is_sent_at_once = context.pace == Pace::Closed && traffic.pool.is_none() && traffic.reconnect_every == 0;
        let is_one = is_sent_at_once && L::INSTANTS == Instants::Worker;
        let latencies = if is_one { LatencyKinds::ResponseOnly } else { LatencyKinds::ResponseAndService };
        let states = stream.new_clients(context.seed, context.clients.clone());
        let slots: Vec<Slot<S>> =
            states.into_iter().enumerate().map(|(client, state)| Slot::new(client, state)).collect();
        let mut counts = LoadCounts {
            over_limits: vec![0; traffic.limits_ns.len()],
            pool_wait: traffic.pool.map(|_| Durations::with_room()),
            connections: std::mem::take(&mut context.opened),
            ..LoadCounts::default()
        };
        if kinds == Kinds::ToldApart {
            counts.kinds = names.into_iter().map(KindCounts::new).collect();
        }
        if traffic.tasks.is_some() {
            let process = context.clients.start / (context.clients.len() as u32).max(1);
            let tasks = Vec::with_capacity(slots.len());
            // The coordinator knows the time of day.
            counts.tasks = vec![TaskLog { process, began_unix_ms: 0, tasks }];
        }
        Worker {
            rows_before: sum_rows(&lane, open).unwrap_or_default(),
            connections: open,
            lane,
            stream,
            clock,
            pacer: make_pacer(&context, start_ns),
            gate: context.gate,
            recorder: Recorder::new(rules.measured_ns, context.interval_ns, latencies, context.exchange),
            carried: vec![0; if rules.reconnect_every > 0 { open } else { 0 }],
            rules,
            ready: VecDeque::with_capacity(slots.len()),
            slots,
            access,
            turned_away: VecDeque::new(),
            timers: BinaryHeap::new(),
            in_flight: 0,
            next_client: 0,
            running: 0,
            counts,
            lag: LoopLag::default(),
            now_ns: start_ns,
            heard_ns: start_ns,
            longest_ns: 0,
            longest_response_ns: 0,
            stopped_ns: None,
            gave_up: GaveUp::No,
            failures_in_a_row: 0,
            cpu_at_start: None,
            helpers_cpu_at_start_ns: 0,
            entries_at_start: None,
            measuring: Measuring::NotYet,
        }
    }

    /// Notes the worker's own use so far.
    fn note_start_of_measurement(&mut self) {
        if self.measuring == Measuring::NotYet && self.now_ns >= self.rules.measured_ns {
            self.measuring = Measuring::Started;
            self.cpu_at_start = thread_cpu_ns();
            self.helpers_cpu_at_start_ns = self.lane.helpers_cpu_ns();
            self.entries_at_start = self.lane.kernel_entries();
            self.lag.clear();
            // Only the measured part's, like what is compared with it.
            self.longest_response_ns = 0;
            self.lane.begin_measurement();
        }
    }

    /// Ends the worker, and returns its counts.
    fn finish(mut self, confined: Confined) -> LoadCounts {
        self.counts.cpu_ns = difference(thread_cpu_ns(), self.cpu_at_start);
        self.counts.generator_cpu_ns = thread_cpu_ns().map(|own_ns| own_ns + self.lane.helpers_cpu_ns());
        self.counts.kernel_entries = difference(self.lane.kernel_entries(), self.entries_at_start);
        self.counts.threads.extend(self.counts.cpu_ns);
        self.counts.confined.extend(self.counts.cpu_ns.map(|cpu_ns| Confined { cpu_ns, ..confined }));
        let helpers_ns = self.lane.helpers_cpu_ns().saturating_sub(self.helpers_cpu_at_start_ns);
        self.counts.cpu_ns = self.counts.cpu_ns.map(|own_ns| own_ns + helpers_ns);
        self.heed_end();
        if self.rules.count.is_none() && self.rules.end_ns != u64::MAX {
            self.counts.window_ns = self.rules.end_ns.saturating_sub(self.rules.measured_ns);
        }
        self.count_due();
        // Their kind is unknown, so each kind may have lost them.
        let never_begun = self.counts.skipped + self.counts.not_begun;
        self.counts.kinds.iter_mut().for_each(|kind| kind.response.record_failed(never_begun));
        self.counts.lag = std::mem::take(&mut self.lag);
        self.counts.rows = sum_rows(&self.lane, self.connections).map(|rows| rows.since(self.rows_before));
        self.counts.transfer = self.lane.block_transfer();
        self.counts.helper_threads = self.lane.helper_threads();
        self.counts.sessions = Some(self.session_counts());
        self.recorder.finish();
        self.lane.close();
        self.counts
    }

    /// Skipped after an interrupted run, where a silent server would only be waited for.
    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        let is_whole = !self.gate.is_stopped() || self.gate.end_ns().is_some();
        match self.gave_up {
            GaveUp::No if is_whole => self.lane.session_counts(),
            _ => Err("the run was broken off".to_owned()),
        }
    }
}

impl<L, S: Stream, C> Worker<'_, L, S, C> {
    /// Counts, under a rate, what was due in the measured part, and not started because all clients were busy.
    fn count_due(&mut self) {
        let Pacer::Rate(schedule) = &self.pacer else { return };
        let end_ns = self.rules.measured_ns + self.counts.window_ns;
        let before = schedule.count_until(self.rules.measured_ns);
        let due = schedule.count_until(end_ns);
        let batch = self.stream.batch_size();
        self.counts.due_in_window = (due - before) * batch;
        // A run by count has taken all.
        if self.rules.count.is_none() {
            let started = schedule.taken_count().max(before);
            let not_begun = due.saturating_sub(started) * batch;
            self.counts.not_begun += not_begun;
            // Avoids iterating over the schedule in vain.
            if not_begun > 0 {
                self.counts.count_over_limits(&self.rules, |limit_ns| {
                    schedule.count_until(end_ns.saturating_sub(limit_ns)).saturating_sub(started) * batch
                });
            }
        }
    }
}

impl<S: Stream> Slot<S> {
    fn new(client: usize, state: S::Client) -> Slot<S> {
        Slot {
            state,
            op: S::Op::default(),
            connection: client,
            index: 0,
            intended_ns: 0,
            sent_ns: 0,
            counted: 0,
            tries: 0,
            ops: 0,
            running: 0,
            failure: None,
            rows_before: RowCounts::default(),
            stage: Stage::Between,
        }
    }
}

/// Adds up the rows of all connections.
fn sum_rows<L: Lane>(lane: &L, connections: usize) -> Option<RowCounts> {
    (0..connections)
        .map(|connection| lane.row_counts(connection))
        .try_fold(RowCounts::default(), |sum, rows| Some(sum.plus(rows?)))
}

/// The difference of two readings, if both are known.
fn difference(end: Option<u64>, start: Option<u64>) -> Option<u64> {
    end.zip(start).map(|(end, start)| end.saturating_sub(start))
}

fn thread_cpu_ns() -> Option<u64> {
    host::cpu::thread_cpu().ok().map(|cpu| cpu.as_nanos() as u64)
}
