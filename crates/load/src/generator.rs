//! Generators of a stream's load: this process, or several hosts.
//!
//! Each host takes a *segment* of the clients. Keys, schedules and random streams follow from the seed and the
//! client's number over all hosts, so nothing is handed out during a run. A local run is one host with all clients.

mod local;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use std::time::Duration;

use model::{Length, Schedule};
use serde::{Deserialize, Serialize};

use crate::error::{Failure, FailureKind};
use crate::observer::Observer;
use crate::series::Latencies;
use crate::surroundings::Surroundings;
use crate::traffic::NetworkTraffic;
use crate::worker::{LoadCounts, Pace, TaskLog, WorkerContext};

pub use local::{AtOnce, Local, Starter};

/// Name of this host in series.
pub const LOCAL_HOST: &str = "local";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadLimit {
    #[default]
    Best,
    /// Limited by the clients.
    AtMost(u32),
}

/// Shares the clients out as evenly as possible.
pub fn share_clients(clients: Range<u32>, threads: u32) -> Vec<Range<u32>> {
    let count = clients.len() as u32;
    let threads = threads.clamp(1, count.max(1));
    let border = |thread: u32| clients.start + (u64::from(count) * u64::from(thread) / u64::from(threads)) as u32;
    (0..threads).map(|thread| border(thread)..border(thread + 1)).filter(|share| !share.is_empty()).collect()
}

/// The clients of a load and their pace: all that its threads know of it except the work itself.
#[derive(Clone, Debug)]
pub struct LoadShape {
    /// Counted from 0 over all processes.
    pub clients: Range<u32>,
    pub pace: Pace,
    pub threads: ThreadLimit,
    pub traffic: NetworkTraffic,
}

impl LoadShape {
    /// Number of connections: one per client, or the processes' pools.
    pub fn connections(&self) -> u64 {
        match self.traffic.pool {
            Some(pool) => u64::from(pool.connections) * u64::from(self.traffic.processes),
            None => self.clients.len() as u64,
        }
    }

    /// Refuses a ramp that is longer than the warm-up, unless the load is tasks.
    pub fn check_schedule(&self, schedule: &Schedule) -> Result<(), Failure> {
        let ramp = Duration::from_nanos(self.traffic.ramp_ns);
        if self.traffic.tasks.is_none() && ramp > schedule.warmup {
            let [ramp, warmup] = [ramp, schedule.warmup].map(model::duration::format);
            let cause = format!("the ramp of {ramp} would reach into the measured part: the warm-up is {warmup}");
            return Err(Failure::new(FailureKind::Plan, "measure under a ramp", cause)
                .with_hint("set `schedule.warmup` to the ramp's length or more"));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
pub struct LoadSpec<'a> {
    /// The load of all hosts together.
    pub shape: &'a LoadShape,
    pub schedule: &'a Schedule,
    /// Seed of the run's random streams.
    pub seed: u64,
    pub interrupt: &'a AtomicBool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostLoad {
    pub host: String,
    pub counts: LoadCounts,
    pub latencies: Latencies,
    pub workers: usize,
    /// Cores usable by workers and helpers: one each, within what étalon may use of the host's.
    pub cores: f64,
    /// Surroundings of an agent's machine; the conductor looks at its own machine itself.
    pub surroundings: Surroundings,
    /// Largest difference between the hosts' starts; `None` for one host.
    pub start_skew_ns: Option<u64>,
    /// Time from the first message to the hosts' common start; `None` if the host waited for no other.
    pub start_time_ns: Option<u64>,
}

/// How a load ended.
#[derive(Clone, Debug)]
pub enum Loaded {
    /// One per host.
    Done(Vec<HostLoad>),
    /// The load was interrupted; these tasks had finished.
    Interrupted(Vec<TaskLog>),
}

/// A system with the work that is asked of it, as the load's threads use it.
pub trait Driver: Sync {
    /// One host's clients by thread.
    fn split_clients(&self, clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>>;

    /// Runs a worker's part of a run on this thread, by [`crate::worker::run`].
    fn run_worker(&self, context: WorkerContext<'_>) -> Result<LoadCounts, Failure>;
}

/// A second, or a tenth of a shorter run than ten seconds.
pub(crate) fn interval_ns(length: Length) -> u64 {
    match length {
        Length::Duration(duration) => (duration.as_millis() as u64 / 10).clamp(100, 1_000) * 1_000_000,
        Length::Transactions(_) => 1_000_000_000,
    }
}

pub trait LoadGenerator {
    /// Runs the load, from connecting to the last answer. The tables must be prepared and settled.
    fn run_load(&self, spec: &LoadSpec<'_>, observer: &mut dyn Observer) -> Result<Loaded, Failure>;
}

/// Clients per host, as even as possible. Loads of processes keep a process on one host.
pub fn segments(shape: &LoadShape, hosts: usize) -> Result<Vec<Range<u32>>, Failure> {
    let clients = shape.clients.clone();
    let (parts, each, what) = if shape.traffic.is_by_process() {
        let processes = shape.traffic.processes.max(1);
        (processes, clients.len() as u32 / processes, "processes")
    } else {
        (clients.len() as u32, 1, "clients")
    };
    if hosts as u64 > u64::from(parts) {
        let cause = format!("the load consists of {parts} {what}, and each host must have one");
        return Err(Failure::new(FailureKind::Plan, format!("share the load out to {hosts} hosts"), cause)
            .with_hint(format!("ask for more {what}, or name fewer hosts in `clients_on`")));
    }
    let of_parts = share_clients(0..parts, hosts as u32);
    Ok(of_parts.into_iter().map(|part| clients.start + part.start * each..clients.start + part.end * each).collect())
}

#[cfg(test)]
mod tests {
    use model::{Length, OnError, Order};

    use super::*;

    fn shape(clients: u32, processes: u32) -> LoadShape {
        let traffic = NetworkTraffic { processes, ..NetworkTraffic::default() };
        LoadShape { clients: 0..clients, pace: Pace::Closed, threads: ThreadLimit::Best, traffic }
    }

    #[test]
    fn segments_are_alike_and_cover_all_clients() {
        assert_eq!(segments(&shape(10, 1), 1).unwrap(), vec![0..10; 1]);
        assert_eq!(segments(&shape(10, 1), 3).unwrap(), [0..3, 3..6, 6..10]);
        assert_eq!(segments(&shape(12, 3), 2).unwrap(), [0..4, 4..12], "a process is not torn apart");
    }

    #[test]
    fn a_host_without_work_is_refused() {
        let refused = segments(&shape(2, 1), 3).unwrap_err();
        assert!(refused.to_string().contains("2 clients"), "{refused}");
        let refused = segments(&shape(12, 2), 3).unwrap_err();
        assert!(refused.to_string().contains("2 processes"), "{refused}");
    }

    #[test]
    fn a_ramp_must_end_before_the_measured_part_begins() {
        let mut load = shape(1, 1);
        load.traffic.ramp_ns = 2_000_000_000;
        let mut schedule = Schedule {
            rounds: 1,
            warmup: Duration::from_secs(1),
            length: Length::Transactions(1),
            order: Order::Interleaved,
            seed: 1,
            on_error: OnError::Stop,
            until_sure: None,
            caches: model::Caches::Warmed,
        };
        let refused = load.check_schedule(&schedule).unwrap_err();
        assert!(refused.to_string().contains("the ramp of 2s"), "{refused}");
        schedule.warmup = Duration::from_secs(2);
        assert_eq!(load.check_schedule(&schedule), Ok(()));
        schedule.warmup = Duration::ZERO;
        load.traffic.tasks = Some(1);
        assert_eq!(load.check_schedule(&schedule), Ok(()), "tasks have no warm-up");
    }
}
