//! The load of this process: workers, their common start, and the coordinator.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use model::Length;

use super::{Driver, HostLoad, LOCAL_HOST, LoadGenerator, LoadShape, LoadSpec, Loaded, interval_ns};
use crate::error::{Failure, FailureKind};
use crate::gate::Gate;
use crate::observer::{Observer, Tick};
use crate::overlap::Overlap;
use crate::recorder::{Exchange, RecordedInterval};
use crate::series::{Collector, Gauge};
use crate::surroundings::Surroundings;
use crate::worker::{Confined, Connections, LoadCounts, Pace, RunLength, WorkerContext};

/// Time from the last worker's readiness to the common start.
const START_DELAY_NS: u64 = 2_000_000;
/// Polling interval for a stop.
const STOP_POLL: Duration = Duration::from_millis(100);
/// Polling interval for the end of what overlaps the load, which goes on meanwhile, uncounted.
const END_POLL: Duration = Duration::from_millis(2);

/// Decides when a ready load begins.
pub trait Starter: Sync {
    /// Called once all workers are connected. The start by [`host::clock::now_ns`], or `None` to cancel.
    fn start_ns(&self) -> Option<u64>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce;

impl Starter for AtOnce {
    fn start_ns(&self) -> Option<u64> {
        Some(host::clock::now_ns() + START_DELAY_NS)
    }
}

/// This process as a generator.
pub struct Local<'a> {
    driver: &'a dyn Driver,
    host: String,
    segment: Option<Range<u32>>,
    starter: &'a dyn Starter,
    /// Determines the load's length instead of the spec.
    overlap: Option<&'a Overlap>,
}

/// Shorter delays of the coordinator are the scheduler's, or a quota's.
const SHORTEST_PAUSE_NS: u64 = 250_000_000;
/// Shorter ones are those of any wait.
const SHORTEST_DELAY_NS: u64 = 20_000_000;

struct Ran {
    counts: LoadCounts,
    collector: Collector,
    workers: usize,
    /// How late the workers learnt of their start.
    late_ns: u64,
    interrupted: bool,
}

/// Cancels the run if a worker fails or panics, so that the others do not wait for ever.
struct AbandonUnlessRun<'a> {
    gate: &'a Gate,
    ran: bool,
}

impl Drop for AbandonUnlessRun<'_> {
    fn drop(&mut self) {
        if !self.ran {
            self.gate.abandon();
        }
    }
}

impl<'a> Local<'a> {
    /// All clients, in this process alone.
    pub fn new(driver: &'a dyn Driver) -> Local<'a> {
        Local { driver, host: LOCAL_HOST.to_owned(), segment: None, starter: &AtOnce, overlap: None }
    }

    /// The load begins before `overlap` and ends with it.
    #[must_use]
    pub fn overlapping(self, overlap: &'a Overlap) -> Local<'a> {
        Local { overlap: Some(overlap), ..self }
    }

    /// One of several hosts: its name, its clients, and who starts it.
    #[must_use]
    pub fn of_several(self, host: &str, segment: Range<u32>, starter: &'a dyn Starter) -> Local<'a> {
        Local { host: host.to_owned(), segment: Some(segment), starter, ..self }
    }

    /// Runs a worker in each thread, and returns what all counted.
    fn run_workers(&self, spec: &LoadSpec<'_>, observer: &mut dyn Observer) -> Result<Ran, Failure> {
        let shares = self.worker_shares(spec.shape);
        let workers = shares.len();
        let gate = Gate::new(workers);
        let (full, intervals) = channel();
        let mut returns = Vec::with_capacity(workers);
        let interval_ns = interval_ns(length_of(spec));
        thread::scope(|scope| {
            let mut handles = Vec::with_capacity(workers);
            for (worker, clients) in shares.into_iter().enumerate() {
                let (give_back, emptied) = channel();
                returns.push(give_back);
                let exchange = Exchange { worker, full: full.clone(), emptied };
                let context = self.worker_context(spec, clients, &gate, interval_ns, exchange);
                let thread = thread::Builder::new().name(format!("etalon-work-{worker}"));
                let started = thread.spawn_scoped(scope, move || {
                    let mut waiting = AbandonUnlessRun { gate: context.gate, ran: false };
                    let counts = self.driver.run_worker(context);
                    waiting.ran = counts.is_ok();
                    counts
                });
                handles.push(started.map_err(|error| {
                    gate.abandon();
                    Failure::new(FailureKind::Other, format!("start {workers} threads for the load"), error)
                })?);
            }
            drop(full);
            let gauge = if spec.shape.pace == Pace::Closed { Gauge::Nothing } else { Gauge::Backlog };
            let mut collector = Collector::new(workers, interval_ns, gauge);
            let (mut interrupted, mut began_unix_ms, mut late_ns) = (false, 0, 0);
            let mut pauses = Pauses::begin();
            if gate.wait_for_workers() {
                match self.starter.start_ns() {
                    Some(start_ns) => {
                        began_unix_ms = host::clock::unix_ms();
                        gate.open_at(start_ns);
                        late_ns = host::clock::now_ns().saturating_sub(start_ns);
                        if let Some(overlap) = self.overlap {
                            overlap.load_is_measured_from(start_ns + spec.schedule.warmup.as_nanos() as u64);
                        }
                        pauses.measured = self.measured_part(spec, start_ns);
                        let ends = (&intervals, returns.as_slice());
                        interrupted = self.coordinate(spec, ends, &gate, &mut collector, (observer, &mut pauses));
                    }
                    None => {
                        interrupted = true;
                        gate.abandon();
                    }
                }
            }
            let mut counts = join_workers(handles)?;
            counts.confined = Confined::merge_alike(counts.confined);
            // Virtual time does not pause.
            counts.paused_ns = if counts.cpu_ns.is_some() { pauses.lost_ns() } else { 0 };
            counts.tasks.iter_mut().for_each(|log| log.began_unix_ms = began_unix_ms);
            Ok(Ran { counts, collector, workers, late_ns, interrupted })
        })
    }

    /// Gives the measured part by the machine's clock, as far as it is known before.
    fn measured_part(&self, spec: &LoadSpec<'_>, start_ns: u64) -> Range<u64> {
        let is_tasks = spec.shape.traffic.tasks.is_some();
        let warmup_ns = if is_tasks { 0 } else { spec.schedule.warmup.as_nanos() as u64 };
        let from_ns = start_ns + warmup_ns;
        match run_length(spec, self.overlap) {
            RunLength::Time(length_ns) => from_ns..from_ns.saturating_add(length_ns),
            RunLength::Count(_) | RunLength::UntilEnded => from_ns..u64::MAX,
        }
    }

    /// Clients per worker: one worker per process if asked for, else as the system prefers.
    fn worker_shares(&self, shape: &LoadShape) -> Vec<Range<u32>> {
        let Range { start, end } = self.segment.clone().unwrap_or_else(|| shape.clients.clone());
        if !shape.traffic.is_by_process() {
            return self.driver.split_clients(start..end, shape.threads);
        }
        let of_process = shape.clients.len() as u32 / shape.traffic.processes.max(1);
        (start..end).step_by(of_process.max(1) as usize).map(|first| first..first + of_process).collect()
    }

    /// What a worker needs to run its clients.
    fn worker_context<'g>(
        &self,
        spec: &LoadSpec<'g>,
        clients: Range<u32>,
        gate: &'g Gate,
        interval_ns: u64,
        exchange: Exchange,
    ) -> WorkerContext<'g> {
        let shape = spec.shape;
        let share = clients.len() as f64 / shape.clients.len().max(1) as f64;
        let is_tasks = shape.traffic.tasks.is_some();
        WorkerContext {
            seed: spec.seed,
            clients,
            all_clients: shape.clients.len() as u32,
            traffic: &shape.traffic,
            pace: match shape.pace {
                Pace::Closed => Pace::Closed,
                Pace::Rate(rate) => Pace::Rate(rate * share),
            },
            // Tasks are the whole load: no warm-up is cut off, and they end by themselves.
            warmup_ns: if is_tasks { 0 } else { spec.schedule.warmup.as_nanos() as u64 },
            length: run_length(spec, self.overlap),
            interval_ns,
            gate,
            exchange,
            opened: Connections::default(),
        }
    }

    /// Merges intervals until the last worker ends. `true` if stopped.
    fn coordinate(
        &self,
        spec: &LoadSpec<'_>,
        (intervals, returns): (&Receiver<RecordedInterval>, &[Sender<RecordedInterval>]),
        gate: &Gate,
        collector: &mut Collector,
        (observer, pauses): (&mut dyn Observer, &mut Pauses),
    ) -> bool {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        let interval_ns = interval_ns(length_of(spec));
        let mut window_ns = match run_length(spec, self.overlap) {
            RunLength::Time(length_ns) => Some(length_ns),
            RunLength::Count(_) | RunLength::UntilEnded => None,
        };
        let mut interrupted = false;
        let poll = if self.overlap.is_some() { END_POLL } else { STOP_POLL };
        loop {
            if let Some(end_ns) = self.overlap.and_then(Overlap::end_ns)
                && !gate.is_stopped()
            {
                gate.end_at(end_ns);
            }
            if spec.interrupt.load(Ordering::Relaxed) && !interrupted {
                interrupted = true;
                gate.stop();
            }
            if gate.is_stopped() {
                // The load is ending; no more rates.
                window_ns = Some(0);
            }
            let before = Moment::now();
            let received = intervals.recv_timeout(poll);
            pauses.note_wait(before, Moment::now(), poll);
            match received {
                Ok(interval) => {
                    for whole in collector.add_interval(&interval) {
                        let Some(rate_per_s) = whole.rate_per_s(interval_ns, window_ns) else { continue };
                        observer.tick(Tick {
                            rate_per_s,
                            p50_ns: whole.p50_ns,
                            p99_ns: whole.p99_ns,
                            errors: whole.errors,
                            backlog: whole.backlog,
                        });
                    }
                    if let Some(back) = returns.get(interval.worker) {
                        // A finished worker takes nothing back.
                        let _ = back.send(interval);
                    }
                }
                Err(Timeout) => {}
                Err(Disconnected) => return interrupted,
            }
        }
    }
}

impl LoadGenerator for Local<'_> {
    fn run_load(&self, spec: &LoadSpec<'_>, observer: &mut dyn Observer) -> Result<Loaded, Failure> {
        let ran = self.run_workers(spec, observer)?;
        if ran.interrupted {
            return Ok(Loaded::Interrupted(ran.counts.tasks));
        }
        let window_ns = ran.counts.window_ns;
        let never_begun = ran.counts.skipped + ran.counts.not_begun;
        Ok(Loaded::Done(vec![HostLoad {
            host: self.host.clone(),
            cores: usable_cores(ran.workers, ran.counts.helper_threads, host::cpu::usable_cores()),
            counts: ran.counts,
            latencies: ran.collector.into_latencies(&self.host, window_ns, never_begun),
            workers: ran.workers,
            surroundings: Surroundings::default(),
            start_skew_ns: self.segment.as_ref().map(|_| ran.late_ns),
            start_time_ns: None,
        }]))
    }
}

/// Cores that the load can use. Helpers' CPU time is in the sum, so their cores count, too.
fn usable_cores(workers: usize, helpers: usize, usable: f64) -> f64 {
    ((workers + helpers).max(1) as f64).min(usable)
}

/// Time that étalon itself lost while its load was measured: it was stopped, or the machine suspended.
#[derive(Debug, Default)]
struct Pauses {
    measured: Range<u64>,
    sum_ns: u64,
    /// Sum of the delays that may be the scheduler's or a quota's.
    short_ns: u64,
    continued_before: usize,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    now_ns: u64,
    suspended_ns: u64,
}

impl Moment {
    /// Reads the clock, and how long the machine was suspended.
    fn now() -> Moment {
        Moment { now_ns: host::clock::now_ns(), suspended_ns: host::clock::suspended_ns() }
    }
}

impl Pauses {
    fn begin() -> Pauses {
        Pauses { continued_before: host::interrupt::times_continued(), ..Pauses::default() }
    }

    /// The time of all pauses; short delays count if signals stopped this process and let it go on.
    fn lost_ns(&self) -> u64 {
        let was_stopped = host::interrupt::times_continued() > self.continued_before;
        self.sum_ns + if was_stopped { self.short_ns } else { 0 }
    }

    /// A wait that should have ended after `most` lasted from `before` to `after`.
    fn note_wait(&mut self, before: Moment, after: Moment, most: Duration) {
        let due_ns = before.now_ns.saturating_add(most.as_nanos() as u64);
        let (start_ns, end_ns) = (self.measured.start, self.measured.end.max(self.measured.start));
        let late_ns = after.now_ns.clamp(start_ns, end_ns).saturating_sub(due_ns.clamp(start_ns, end_ns));
        let is_within = before.now_ns < self.measured.end && after.now_ns >= self.measured.start;
        let suspended_ns = if is_within { after.suspended_ns.saturating_sub(before.suspended_ns) } else { 0 };
        let lost_ns = late_ns + suspended_ns;
        if lost_ns >= SHORTEST_PAUSE_NS {
            self.sum_ns += lost_ns;
        } else if lost_ns >= SHORTEST_DELAY_NS {
            self.short_ns += lost_ns;
        }
    }
}

/// Merges the workers' counts.
fn join_workers(
    handles: Vec<thread::ScopedJoinHandle<'_, Result<LoadCounts, Failure>>>,
) -> Result<LoadCounts, Failure> {
    let mut counts: Option<LoadCounts> = None;
    let mut first_failure = None;
    for handle in handles {
        match handle.join() {
            Ok(Ok(one)) => match &mut counts {
                Some(all) => first_failure = first_failure.or(all.merge(one).err()),
                None => counts = Some(one),
            },
            Ok(Err(failure)) => first_failure = first_failure.or(Some(failure)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    match (first_failure, counts) {
        (Some(failure), _) => Err(failure),
        (None, Some(counts)) => Ok(counts),
        (None, None) => Err(Failure::new(FailureKind::Plan, "make the load", "it has no clients")),
    }
}

/// How long the run is: the workload's own length, else the schedule's.
fn length_of(spec: &LoadSpec<'_>) -> Length {
    spec.shape.traffic.length.unwrap_or(spec.schedule.length)
}

/// When the load ends.
fn run_length(spec: &LoadSpec<'_>, overlap: Option<&Overlap>) -> RunLength {
    match length_of(spec) {
        _ if spec.shape.traffic.tasks.is_some() => RunLength::Count(1),
        _ if overlap.is_some() => RunLength::UntilEnded,
        Length::Duration(duration) => RunLength::Time(duration.as_nanos() as u64),
        Length::Transactions(count) => RunLength::Count(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_far_beyond_its_time_is_a_pause_of_the_measured_part() {
        const S: u64 = 1_000_000_000;
        fn at(now_ns: u64, suspended_ns: u64) -> Moment {
            Moment { now_ns, suspended_ns }
        }
        fn lost(before: Moment, after: Moment) -> u64 {
            let mut pauses = Pauses { measured: 10 * S..15 * S, ..Pauses::begin() };
            pauses.note_wait(before, after, Duration::from_millis(100));
            assert_eq!(pauses.sum_ns, pauses.lost_ns());
            pauses.sum_ns
        }
        assert_eq!(lost(at(11 * S, 0), at(11 * S + 340_000_000, 0)), 0, "the scheduler's");
        assert_eq!(lost(at(11 * S, 0), at(13 * S + 100_000_000, 0)), 2 * S);
        assert_eq!(lost(at(8 * S, 0), at(10 * S + 900_000_000, 0)), 900_000_000, "as far as it reaches into it");
        assert_eq!((lost(at(7 * S, 0), at(9 * S, 0)), lost(at(15 * S, 0), at(19 * S, 0))), (0, 0));
        assert_eq!(lost(at(11 * S, 5 * S), at(11 * S + 1, 65 * S)), 60 * S, "a suspended machine");
    }

    #[test]
    fn helpers_have_cores_of_their_own_where_there_are_any() {
        assert_eq!(
            [
                usable_cores(1, 0, 64.0),
                usable_cores(1, 32, 64.0),
                usable_cores(4, 128, 64.0),
                usable_cores(3, 2, 2.0),
                usable_cores(1, 0, 0.15)
            ],
            [1.0, 33.0, 64.0, 2.0, 0.15]
        );
    }
}
