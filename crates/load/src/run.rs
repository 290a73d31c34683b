//! One run of a load: what the generator counts, checked against what the system counts.

use std::time::Duration;

use model::{Mark, RunRecord, RunState};

use crate::counters::{Counters, Placement};
use crate::error::{Failure, FailureKind};
use crate::generator::{HostLoad, LoadGenerator, LoadShape, LoadSpec, Loaded};
use crate::lane::ErrorClass;
use crate::lock_watch::{LockWaiters, LockWaits};
use crate::measure::{HostFigures, LoadResult};
use crate::observer::Observer;
use crate::series::Latencies;
use crate::surroundings::Surroundings;
use crate::worker::{HOPELESS_FAILURES, LoadCounts, TaskLog};

/// A system's own counts, asked before and after a run, maybe on another host.
pub trait ServerCounters: Sync {
    /// Reads what the server has counted so far.
    fn counters(&self) -> Result<Counters, Failure>;

    /// CPU time of the server's processes.
    fn server_cpu_s(&self) -> Result<f64, String>;

    /// Runs a query, and returns the whole number that it answers.
    fn scalar(&self, sql: &str) -> Result<i64, Failure>;

    /// Results of queries over whole tables, which may be run side by side. Behind one that fails, none need run.
    fn scalars(&self, questions: &[String]) -> Result<Vec<i64>, Failure> {
        questions.iter().map(|sql| self.scalar(sql)).collect()
    }

    /// The load's sessions that wait for locks at this instant. `None`: the system does not show them.
    fn lock_waiters(&self) -> Result<Option<LockWaiters>, Failure> {
        Ok(None)
    }

    /// Where the server runs, as seen from the load generator.
    fn placement(&self) -> Placement;

    /// Whether the tables contained what was loaded, and nothing else, when the run began.
    fn begins_loaded(&self) -> bool {
        true
    }
}

/// A family's part in a run: the counts by which it is checked, and the measurements.
pub trait Account: Sync {
    /// Checks the client's counts against the server's. Returns the server's since `before`, and marks for what could
    /// not be checked.
    fn check_counts(
        &self,
        server: &dyn ServerCounters,
        before: &Counters,
        counts: &LoadCounts,
    ) -> Result<(Counters, Vec<Mark>), Failure>;

    /// Makes the run's record from what was seen.
    fn make_record(&self, evidence: LoadResult<'_>, before: &Counters) -> RunRecord;
}

pub struct LoadRun<'a> {
    pub server: &'a dyn ServerCounters,
    pub generator: &'a dyn LoadGenerator,
    pub account: &'a dyn Account,
    pub spec: LoadSpec<'a>,
}

impl LoadRun<'_> {
    /// Runs the load, checks its counts against the server's, and makes the run's record.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<RunRecord, Failure> {
        let before = self.server.counters()?;
        let server_cpu_before = self.server.server_cpu_s();
        let own_cpu_before = host::cpu::thread_cpu();
        let (loaded, lock_waits) =
            LockWaits::while_running(self.server, self.spec.schedule, || self.generator.run_load(&self.spec, observer));
        let shares = match loaded? {
            Loaded::Done(shares) => shares,
            Loaded::Interrupted(tasks) => {
                report_tasks(&tasks, observer);
                return Ok(RunRecord::without_result(RunState::Aborted, model::run::INTERRUPTED));
            }
        };
        let server_cpu_s = server_cpu_before.and_then(|before| Ok(self.server.server_cpu_s()? - before));
        let own_cpu = own_cpu_before.and_then(|before| Ok(host::cpu::thread_cpu()?.saturating_sub(before)));
        let whole = MergedLoad::from_shares(shares)?;
        let server_cpu_s = match self.server.placement() {
            Placement::OwnThreads => without_the_generator(server_cpu_s, &whole.counts, own_cpu),
            Placement::InProcess | Placement::Server => server_cpu_s,
        };
        report_tasks(&whole.counts.tasks, observer);
        refuse_broken(&whole.counts)?;
        refuse_without_think(&whole.counts, self.spec.shape)?;
        let (mut counters, mut marks) = self.account.check_counts(self.server, &before, &whole.counts)?;
        marks.extend(lock_waits.note_waits(self.spec.shape.connections(), &mut counters));
        let evidence = LoadResult {
            counts: whole.counts,
            latencies: whole.latencies,
            workers: whole.workers,
            cores: whole.cores,
            hosts: whole.hosts,
            placement: self.server.placement(),
            counters,
            server_cpu_s,
            start_skew_ns: whole.start_skew_ns,
            start_time_ns: whole.start_time_ns,
            pace: self.spec.shape.pace,
            traffic: &self.spec.shape.traffic,
            marks,
        };
        let mut record = self.account.make_record(evidence, &before);
        whole.surroundings.into_iter().for_each(|surroundings| surroundings.add_to(&mut record));
        Ok(record)
    }
}

/// The part of the process's CPU time that an engine with threads of its own has used: all but the workers' and this
/// thread's.
fn without_the_generator(
    process: Result<f64, String>,
    counts: &LoadCounts,
    this_thread: Result<Duration, String>,
) -> Result<f64, String> {
    let workers_ns = counts.generator_cpu_ns.ok_or("the operating system does not tell what the workers have used")?;
    Ok((process? - this_thread?.as_secs_f64() - workers_ns as f64 / 1e9).max(0.0))
}

struct MergedLoad {
    counts: LoadCounts,
    latencies: Latencies,
    workers: usize,
    cores: f64,
    hosts: Vec<HostFigures>,
    surroundings: Vec<Surroundings>,
    start_skew_ns: Option<u64>,
    start_time_ns: Option<u64>,
}

impl MergedLoad {
    /// Sums counts and merges histograms; nothing is averaged.
    fn from_shares(shares: Vec<HostLoad>) -> Result<MergedLoad, Failure> {
        let hosts = HostFigures::from_loads(&shares);
        let surroundings = shares.iter().map(|share| share.surroundings.clone()).collect();
        let start_skew_ns = shares.iter().filter_map(|share| share.start_skew_ns).max();
        let start_time_ns = shares.iter().filter_map(|share| share.start_time_ns).max();
        let mut shares = shares.into_iter();
        let Some(HostLoad { mut counts, mut latencies, mut workers, mut cores, .. }) = shares.next() else {
            return Err(Failure::new(FailureKind::Plan, "make the load", "no host takes part"));
        };
        for share in shares {
            counts.merge(share.counts)?;
            latencies.merge(share.latencies);
            workers = workers.saturating_add(share.workers);
            cores += share.cores;
        }
        Ok(MergedLoad { counts, latencies, workers, cores, hosts, surroundings, start_skew_ns, start_time_ns })
    }
}

/// Gives the finished tasks to the observer, if there are any.
fn report_tasks(tasks: &[TaskLog], observer: &mut dyn Observer) {
    if !tasks.is_empty() {
        observer.tasks_ended(tasks);
    }
}

/// Share of the think time by which a run may fall short: draws differ from their mean, and the clients from their
/// beginning.
const THINK_LEFT: f64 = 1.1;
/// Thoughts more than the time has room for, of each client: one under way at either edge.
const THOUGHTS_AT_EDGES: f64 = 2.0;

/// Finds clients that cannot have thought between their transactions: there was no time for it.
fn refuse_without_think(counts: &LoadCounts, shape: &LoadShape) -> Result<(), Failure> {
    let Some(think) = shape.traffic.think else { return Ok(()) };
    let mean_ns = (think.least_ns as f64 + think.most_ns as f64) / 2.0;
    let clients = shape.clients.len() as f64;
    let room = clients * (counts.window_ns as f64 / mean_ns.max(1.0) + THOUGHTS_AT_EDGES);
    let ended = counts.succeeded_in_window as f64;
    // Draws of a uniform span deviate by less than their mean, each by itself.
    if ended <= THINK_LEFT * room + 6.0 * room.sqrt() {
        return Ok(());
    }
    let cause = format!("{ended} transactions ended, and the think time leaves room for {room:.0}");
    Err(Failure::new(FailureKind::Verification, "trust the run's counts", cause))
}

/// Refuses unusable figures.
pub fn refuse_broken(counts: &LoadCounts) -> Result<(), Failure> {
    let Some((kind, cause)) = fatal_cause(counts) else { return Ok(()) };
    let failure = Failure::new(kind, "finish the run", cause);
    Err(match kind {
        FailureKind::NothingEnded => failure.with_hint("set a longer `schedule.duration`"),
        _ => failure,
    })
}

/// Why a run has no figures: a failure that ends it, or no success in the measured part.
fn fatal_cause(counts: &LoadCounts) -> Option<(FailureKind, String)> {
    if let Some(message) = first_message(counts, ErrorClass::Unresponsive) {
        let given_up = counts.failures_of(ErrorClass::Unresponsive);
        return Some((FailureKind::ConnectionLost, format!("{message}; {given_up} operations were given up")));
    }
    if counts.connection_lost {
        let message = first_message(counts, ErrorClass::ConnectionLost).unwrap_or("it did not say why");
        return Some((FailureKind::ConnectionLost, format!("a connection was lost: {message}")));
    }
    if let Some(message) = first_message(counts, ErrorClass::DiskFull) {
        return Some((FailureKind::DiskFull, format!("the system's device is full: {message}")));
    }
    if let Some(message) = first_message(counts, ErrorClass::Script) {
        return Some((FailureKind::Other, format!("the script failed: {message}")));
    }
    if counts.gave_up || (counts.succeeded_in_window == 0 && counts.failures() > 0) {
        let message = counts.messages.first().map_or("no message", |error| error.message.as_str());
        let who = if counts.gave_up && counts.succeeded > 0 {
            format!("of one thread's transactions the first {HOPELESS_FAILURES} failed")
        } else {
            "no transaction succeeded".to_owned()
        };
        return Some((FailureKind::Other, format!("{who}: {message}")));
    }
    (counts.succeeded_in_window == 0)
        .then(|| (FailureKind::NothingEnded, "nothing ended within the measured part".to_owned()))
}

/// The first message of an error class.
fn first_message(counts: &LoadCounts, class: ErrorClass) -> Option<&str> {
    counts.messages.iter().find(|error| error.class == class).map(|error| error.message.as_str())
}
