//! One trial of a stream: workers, coordinator, counts, metrics.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use model::{Length, Mark, MarkKind, Schedule, TrialRecord, TrialState};

use crate::beside::Beside;
use crate::error::{Failure, FailureKind};
use crate::gate::Gate;
use crate::lane::ErrorClass;
use crate::measure::{self, Evidence};
use crate::observer::{Observer, Tick};
use crate::recorder::{Exchange, Interval};
use crate::series::{Collector, Gauge};
use crate::target::{Counters, Load, Target};
use crate::worker::{Connections, Pace, RunLength, Tally, WorkerContext};
use crate::workloads::disk::Cursors;
use crate::workloads::transactions::Program;
use crate::workloads::{StreamTask, Work};

/// Between the moment when all workers are ready and their common start.
const START_DELAY_NS: u64 = 2_000_000;
/// How long the server's statistics may take to show what has been committed.
const STATISTICS_PATIENCE: Duration = Duration::from_secs(3);
/// How often the coordinator looks whether the user wants to stop.
const STOP_POLL: Duration = Duration::from_millis(100);
/// The same whether what runs beside the load has ended; the load goes on meanwhile, and is not counted.
const END_POLL: Duration = Duration::from_millis(2);

/// The length of the series' intervals: a second, or a tenth of a trial that is shorter than ten.
pub fn interval_ns(length: Length) -> u64 {
    match length {
        Length::Duration(duration) => (duration.as_millis() as u64 / 10).clamp(100, 1_000) * 1_000_000,
        Length::Transactions(_) => 1_000_000_000,
    }
}

/// What a trial needs to run.
pub struct TrialRun<'a> {
    /// The system.
    pub target: &'a dyn Target,
    /// What is asked of it.
    pub task: &'a StreamTask,
    /// Warm-up and length.
    pub schedule: &'a Schedule,
    /// Seed of the trial's random streams.
    pub seed: u64,
    /// Set by the user's Ctrl-C.
    pub interrupt: &'a AtomicBool,
}

/// What running the workers gave.
struct Ran {
    tally: Tally,
    collector: Collector,
    workers: usize,
    interrupted: bool,
}

/// Tells what runs beside a load that there is none any more.
struct EndOfLoad<'a>(Option<&'a Beside>);

impl Drop for EndOfLoad<'_> {
    fn drop(&mut self) {
        if let Some(beside) = self.0 {
            beside.load_has_ended();
        }
    }
}

/// Calls the trial off if a worker fails or panics, so that the others do not wait for it for ever.
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

impl TrialRun<'_> {
    /// Runs the trial. The tables must be prepared and at rest.
    ///
    /// # Errors
    /// The system could not be reached, or its counters not be read: the trial has no result.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<TrialRecord, Failure> {
        self.run_until(None, observer)
    }

    /// Runs the trial for as long as something beside it takes, in place of the schedule's length.
    ///
    /// # Errors
    /// As [`TrialRun::run`].
    pub fn run_beside(&self, beside: &Beside, observer: &mut dyn Observer) -> Result<TrialRecord, Failure> {
        self.run_until(Some(beside), observer)
    }

    fn run_until(&self, beside: Option<&Beside>, observer: &mut dyn Observer) -> Result<TrialRecord, Failure> {
        let _end_of_load = EndOfLoad(beside);
        let before = self.target.counters()?;
        let server_cpu_before = self.target.server_cpu_s();
        let machine_before = host::cpu::CpuSample::take();
        let ran = self.run_workers(beside, observer)?;
        let machine = host::cpu::CpuSample::between(&machine_before, &host::cpu::CpuSample::take());
        let server_cpu_s = server_cpu_before.and_then(|before| Ok(self.target.server_cpu_s()? - before));
        if !ran.tally.tasks.is_empty() {
            observer.tasks_ended(&ran.tally.tasks);
        }
        if ran.interrupted {
            return Ok(TrialRecord::without_result(TrialState::Aborted, "interrupted by the user"));
        }
        refuse_broken(&ran.tally)?;
        let (counters, marks) = match &self.task.work {
            Work::Statements(program) => {
                let counters = self.counters_after(&before, program, &ran.tally)?;
                let marks = self.check_counts(program, &ran.tally, &counters)?;
                (counters, marks)
            }
            Work::Blocks(_) => (self.target.counters()?.since(&before), Vec::new()),
        };
        let evidence = Evidence {
            tally: ran.tally,
            collector: ran.collector,
            workers: ran.workers,
            placement: self.target.placement(),
            counters,
            server_cpu_s,
            machine,
            pace: self.task.pace,
            traffic: &self.task.traffic,
            marks,
        };
        Ok(match &self.task.work {
            Work::Statements(_) => measure::record(evidence),
            Work::Blocks(load) => measure::blocks::record(evidence, load, before.devices.as_ref()),
        })
    }

    /// The workload's own length, or else the schedule's.
    fn length(&self) -> Length {
        self.task.traffic.transactions.map_or(self.schedule.length, Length::Transactions)
    }

    fn run_workers(&self, beside: Option<&Beside>, observer: &mut dyn Observer) -> Result<Ran, Failure> {
        let shares = self.shares();
        let workers = shares.len();
        let gate = Gate::new(workers);
        let (full, intervals) = channel();
        let mut returns = Vec::with_capacity(workers);
        let interval_ns = interval_ns(self.length());
        let cursors = Cursors::of(&self.task.work);
        let load = self.load(&cursors);
        thread::scope(|scope| {
            let mut handles = Vec::with_capacity(workers);
            for (worker, clients) in shares.into_iter().enumerate() {
                let (give_back, emptied) = channel();
                returns.push(give_back);
                let exchange = Exchange { worker, full: full.clone(), emptied };
                let context = self.context(clients, beside, &gate, interval_ns, exchange);
                handles.push(scope.spawn(move || {
                    let mut waiting = AbandonUnlessRun { gate: context.gate, ran: false };
                    let tally = self.target.drive(load, context);
                    waiting.ran = tally.is_ok();
                    tally
                }));
            }
            drop(full);
            let gauge = if self.task.pace == Pace::Closed { Gauge::Nothing } else { Gauge::Backlog };
            let mut collector = Collector::new(workers, interval_ns, gauge);
            let mut interrupted = false;
            let mut began_unix_ms = 0;
            if gate.wait_for_workers() {
                began_unix_ms = host::clock::unix_ms();
                let start_ns = host::clock::now_ns() + START_DELAY_NS;
                gate.open(start_ns);
                if let Some(beside) = beside {
                    beside.load_is_measured_from(start_ns + self.schedule.warmup.as_nanos() as u64);
                }
                interrupted = self.coordinate(&intervals, &returns, beside, &gate, &mut collector, observer);
            }
            let mut tally: Option<Tally> = None;
            let mut first_failure = None;
            for handle in handles {
                match handle.join() {
                    Ok(Ok(one)) => match &mut tally {
                        Some(all) => all.merge(one),
                        None => tally = Some(one),
                    },
                    Ok(Err(failure)) => first_failure = first_failure.or(Some(failure)),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            if let Some(failure) = first_failure {
                return Err(failure);
            }
            let mut tally = tally.unwrap_or_default();
            tally.tasks.iter_mut().for_each(|log| log.began_unix_ms = began_unix_ms);
            Ok(Ran { tally, collector, workers, interrupted })
        })
    }

    fn load<'t>(&'t self, cursors: &'t Cursors) -> Load<'t> {
        match &self.task.work {
            Work::Statements(program) => Load::Statements(program),
            Work::Blocks(load) => Load::Blocks { load, cursors },
        }
    }

    /// The clients of each worker: a worker for each process where that is asked for, else as the target likes it.
    fn shares(&self) -> Vec<Range<u32>> {
        let Range { start, end } = self.task.clients;
        if !self.task.traffic.is_by_process() {
            return self.target.workers(start..end, self.task.threads);
        }
        let of_process = (end - start) / self.task.traffic.processes.max(1);
        (0..self.task.traffic.processes).map(|p| start + p * of_process..start + (p + 1) * of_process).collect()
    }

    fn context<'g>(
        &'g self,
        clients: Range<u32>,
        beside: Option<&Beside>,
        gate: &'g Gate,
        interval_ns: u64,
        exchange: Exchange,
    ) -> WorkerContext<'g> {
        let share = clients.len() as f64 / self.task.clients.len().max(1) as f64;
        let is_tasks = self.task.traffic.tasks.is_some();
        WorkerContext {
            seed: self.seed,
            clients,
            all_clients: self.task.clients.len() as u32,
            traffic: &self.task.traffic,
            pace: match self.task.pace {
                Pace::Closed => Pace::Closed,
                Pace::Rate(rate) => Pace::Rate(rate * share),
            },
            // Tasks are all of the load: there is no part of them to leave out, and they end when they have ended.
            warmup_ns: if is_tasks { 0 } else { self.schedule.warmup.as_nanos() as u64 },
            length: match self.length() {
                _ if is_tasks => RunLength::Count(1),
                _ if beside.is_some() => RunLength::UntilEnded,
                Length::Duration(duration) => RunLength::Time(duration.as_nanos() as u64),
                Length::Transactions(count) => RunLength::Count(count),
            },
            interval_ns,
            gate,
            exchange,
            opened: Connections::default(),
        }
    }

    /// Merges intervals until the last worker has ended. `true` if the user interrupted.
    fn coordinate(
        &self,
        intervals: &Receiver<Interval>,
        returns: &[Sender<Interval>],
        beside: Option<&Beside>,
        gate: &Gate,
        collector: &mut Collector,
        observer: &mut dyn Observer,
    ) -> bool {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        let interval_s = interval_ns(self.length()) as f64 / 1e9;
        let mut interrupted = false;
        let poll = if beside.is_some() { END_POLL } else { STOP_POLL };
        loop {
            if let Some(end_ns) = beside.and_then(Beside::end_ns)
                && !gate.stopped()
            {
                gate.end(end_ns);
            }
            if self.interrupt.load(Ordering::Relaxed) && !interrupted {
                interrupted = true;
                gate.stop();
            }
            match intervals.recv_timeout(poll) {
                Ok(interval) => {
                    for whole in collector.take(&interval) {
                        observer.tick(Tick {
                            rate_per_s: whole.succeeded as f64 / interval_s,
                            p50_ns: whole.p50_ns,
                            p99_ns: whole.p99_ns,
                            errors: whole.errors,
                            backlog: whole.backlog,
                        });
                    }
                    if let Some(back) = returns.get(interval.worker) {
                        // A worker that has ended does not take it back.
                        let _ = back.send(interval);
                    }
                }
                Err(Timeout) => {}
                Err(Disconnected) => return interrupted,
            }
        }
    }

    /// The engine's counters once they show everything that was committed, less those before the trial.
    fn counters_after(&self, before: &Counters, program: &Program, tally: &Tally) -> Result<Counters, Failure> {
        let claimed = (tally.succeeded * program.commits_per_transaction()) as f64;
        let started_ns = host::clock::now_ns();
        loop {
            let since = self.target.counters()?.since(before);
            let complete = seen_by_server(&since).is_none_or(|(_, seen)| seen >= claimed);
            if complete || host::clock::now_ns() - started_ns > STATISTICS_PATIENCE.as_nanos() as u64 {
                return Ok(since);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Holds what the client claims against what the server has seen.
    fn check_counts(&self, program: &Program, tally: &Tally, counters: &Counters) -> Result<Vec<Mark>, Failure> {
        let mut marks = Vec::new();
        let disagree = |what: &str, claimed: u64, seen: String| {
            let cause = format!("the client counted {claimed} {what}, the server {seen}");
            Err(Failure::new(FailureKind::Verification, "trust the trial's counts", cause))
        };
        // A transaction that failed may have been committed before its failure was heard of.
        let (least, most) = (tally.succeeded, tally.succeeded + tally.failures());
        if let Some(check) = program.check {
            match self.target.scalar(check.sql) {
                Ok(seen) if u64::try_from(seen).is_ok_and(|seen| (least..=most).contains(&seen)) => {}
                Ok(seen) => return disagree("transactions", least, format!("{seen} (`{}`)", check.sql)),
                Err(failure) if failure.kind == FailureKind::Unsupported => marks.push(Mark {
                    kind: MarkKind::Note,
                    detail: format!("the server's count was not checked: {}", failure.cause),
                }),
                Err(failure) => return Err(failure),
            }
        }
        let claimed = least * program.commits_per_transaction();
        match seen_by_server(counters) {
            Some((what, seen)) if seen < claimed as f64 => disagree("commits", claimed, format!("only {seen}{what}")),
            _ => Ok(marks),
        }
    }
}

/// What the server has seen at least of the client's commits: commits where it counts them. Else its statements, of
/// which every commit takes at least one.
fn seen_by_server(counters: &Counters) -> Option<(&'static str, f64)> {
    let statements = || counters.get("statements").map(|seen| (" statements", seen));
    counters.get("commits").map(|seen| ("", seen)).or_else(statements)
}

/// Refuses a trial whose figures cannot be used.
fn refuse_broken(tally: &Tally) -> Result<(), Failure> {
    let said = |class: ErrorClass| tally.messages.iter().find(|e| e.class == class).map(|e| e.message.as_str());
    let refuse = |kind, cause: String| Err(Failure::new(kind, "finish the trial", cause));
    if let Some(message) = said(ErrorClass::Unresponsive) {
        let given_up = tally.failures_of(ErrorClass::Unresponsive);
        return refuse(FailureKind::ConnectionLost, format!("{message}; {given_up} operations were given up"));
    }
    if tally.connection_lost {
        let message = said(ErrorClass::ConnectionLost).unwrap_or("it did not say why");
        return refuse(FailureKind::ConnectionLost, format!("the system ended a connection: {message}"));
    }
    if let Some(message) = said(ErrorClass::DiskFull) {
        return refuse(FailureKind::DiskFull, format!("the system's device is full: {message}"));
    }
    if let Some(message) = said(ErrorClass::Script) {
        return refuse(FailureKind::Other, format!("the script failed: {message}"));
    }
    if tally.hopeless || (tally.succeeded_in_window == 0 && tally.failures() > 0) {
        let message = tally.messages.first().map_or("no message", |error| error.message.as_str());
        return refuse(FailureKind::Other, format!("no transaction succeeded: {message}"));
    }
    if tally.succeeded_in_window == 0 {
        return refuse(FailureKind::Other, "no transaction ended within the measured part".to_owned());
    }
    Ok(())
}
