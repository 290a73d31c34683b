//! Who makes the load of a stream: this process by itself, or several hosts together.
//!
//! Whoever makes it, each host takes a *segment* of the clients. Keys, schedules and random streams follow from the seed
//! and the number of a client, which counts over all hosts, so no work is handed out while a trial runs. The local run is
//! the case of one host whose segment is all of the clients.

mod local;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use model::Schedule;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, FailureKind};
use crate::observer::Observer;
use crate::series::Latencies;
use crate::target::shares;
use crate::worker::{Tally, TaskLog};
use crate::workloads::StreamTask;

pub use local::{AtOnce, Local, Starter};

/// What hosts that have no name of their own are called in series: this one.
pub const LOCAL_HOST: &str = "local";

/// A stream that is to be loaded.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// What is asked of the system, of all hosts together.
    pub task: &'a StreamTask,
    pub schedule: &'a Schedule,
    /// Seed of the trial's random streams.
    pub seed: u64,
    /// Set by whoever wants the trial to end early.
    pub interrupt: &'a AtomicBool,
}

/// What one host did of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Share {
    pub host: String,
    /// What its workers counted.
    pub tally: Tally,
    pub latencies: Latencies,
    /// How many threads made the load.
    pub workers: usize,
    /// How many cores they and their helpers could use: one each, but no more than the host has.
    pub cores: usize,
    /// What the host's processors did from before the warm-up to the end, or why that is not known.
    pub machine: Result<MachineShare, String>,
    /// How far apart the hosts began at most, in nanoseconds; nothing where there is one host.
    pub start_skew_ns: Option<u64>,
    /// What it took from the first word to the hosts until they began together, in nanoseconds; nothing where the host
    /// waited for nobody.
    pub start_time_ns: Option<u64>,
}

/// What a machine's processors did, each as a share (0 to 1) of all of their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineShare {
    /// Doing anything at all.
    pub busy: f64,
    /// Taken by the hypervisor for other guests.
    pub steal: f64,
}

/// How a load ended.
#[derive(Clone, Debug)]
pub enum Loaded {
    /// With what each host did.
    Done(Vec<Share>),
    /// Whoever ran it stopped it; some of its tasks may have ended.
    Interrupted(Vec<TaskLog>),
}

/// Who makes the load.
pub trait Crew {
    /// Makes it, from the connections to the last answer. The tables must be prepared and at rest.
    fn load(&self, order: &Order<'_>, observer: &mut dyn Observer) -> Result<Loaded, Failure>;
}

/// The clients of each of so many hosts, as alike as can be. Where the load consists of processes a host has whole ones.
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
