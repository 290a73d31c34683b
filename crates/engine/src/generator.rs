//! Who makes a stream's load: this process, or several hosts.
//!
//! Each host takes a *segment* of the clients. Keys, schedules and random streams follow from the seed and the
//! client's number over all hosts, so nothing is handed out during a run. A local run is one host with all clients.

mod local;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use model::Schedule;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, FailureKind};
use crate::observer::Observer;
use crate::series::Latencies;
use crate::target::shares;
use crate::worker::{LoadCounts, TaskLog};
use crate::workloads::StreamTask;

pub use local::{AtOnce, Local, Starter};

/// Name of this host in series.
pub const LOCAL_HOST: &str = "local";

#[derive(Clone, Copy)]
pub struct LoadSpec<'a> {
    /// Of all hosts together.
    pub task: &'a StreamTask,
    pub schedule: &'a Schedule,
    /// Of the run's random streams.
    pub seed: u64,
    pub interrupt: &'a AtomicBool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostLoad {
    pub host: String,
    pub counts: LoadCounts,
    pub latencies: Latencies,
    /// Load threads.
    pub workers: usize,
    /// Cores usable by workers and helpers: one each, within the host's.
    pub cores: usize,
    /// The host's processors, from before the warm-up to the end.
    pub machine: Result<MachineShare, String>,
    /// Largest difference between the hosts' starts; `None` for one host.
    pub start_skew_ns: Option<u64>,
    /// From the first message to the hosts' common start; `None` if the host waited for nobody.
    pub start_time_ns: Option<u64>,
}

/// As shares (0 to 1) of all processors' time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineShare {
    /// Not idle.
    pub busy: f64,
    /// By the hypervisor for other guests.
    pub steal: f64,
}

/// How a load ended.
#[derive(Clone, Debug)]
pub enum Loaded {
    /// One per host.
    Done(Vec<HostLoad>),
    /// With the tasks that had finished.
    Interrupted(Vec<TaskLog>),
}

pub trait LoadGenerator {
    /// From connecting to the last answer. The tables must be prepared and settled.
    fn load(&self, order: &LoadSpec<'_>, observer: &mut dyn Observer) -> Result<Loaded, Failure>;
}

/// Clients per host, as even as possible. Loads of processes keep a process on one host.
pub fn segments(task: &StreamTask, hosts: usize) -> Result<Vec<Range<u32>>, Failure> {
    let clients = task.clients.clone();
    let (parts, each, what) = match task.traffic.is_by_process() {
        true => {
            let processes = task.traffic.processes.max(1);
            (processes, clients.len() as u32 / processes, "processes")
        }
        false => (clients.len() as u32, 1, "clients"),
    };
    if hosts as u64 > u64::from(parts) {
        let cause = format!("the load consists of {parts} {what}, and each host must have one");
        return Err(Failure::new(FailureKind::Plan, format!("share the load out to {hosts} hosts"), cause)
            .hint(format!("ask for more {what}, or name fewer hosts in `clients_on`")));
    }
    let of_parts = shares(0..parts, hosts as u32);
    Ok(of_parts.into_iter().map(|part| clients.start + part.start * each..clients.start + part.end * each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Threads;
    use crate::traffic::Traffic;
    use crate::worker::Pace;
    use crate::workloads::transactions;

    fn task(clients: u32, processes: u32) -> StreamTask {
        let work = transactions::compile("SELECT 1;", &[]).unwrap().into();
        let traffic = Traffic { processes, ..Traffic::default() };
        StreamTask { work, clients: 0..clients, pace: Pace::Closed, threads: Threads::Best, traffic }
    }

    #[test]
    fn segments_are_alike_and_leave_nobody_out() {
        assert_eq!(segments(&task(10, 1), 1).unwrap(), vec![0..10; 1]);
        assert_eq!(segments(&task(10, 1), 3).unwrap(), [0..3, 3..6, 6..10]);
        assert_eq!(segments(&task(12, 3), 2).unwrap(), [0..4, 4..12], "a process is not torn apart");
    }

    #[test]
    fn a_host_without_work_is_refused() {
        let refused = segments(&task(2, 1), 3).unwrap_err();
        assert!(refused.to_string().contains("2 clients"), "{refused}");
        let refused = segments(&task(12, 2), 3).unwrap_err();
        assert!(refused.to_string().contains("2 processes"), "{refused}");
    }
}
