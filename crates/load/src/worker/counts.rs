use serde::{Deserialize, Serialize};

use super::{Confined, Rules};
use crate::completed::Completed;
use crate::durations::Durations;
use crate::error::{Failure, FailureKind};
use crate::lag::LoopLag;
use crate::lane::{ErrorClass, OpError, RowCounts, SessionCounts, Transfer};
use crate::recorder::KindCounts;
use crate::stream::RequestedWork;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadCounts {
    /// Including warm-up: what the server must have seen.
    pub succeeded: u64,
    /// The measured part's: of a closed loop by shares at its edges, of a rate those that were due in it.
    pub completed: Completed,
    /// Ended inside the measured part.
    pub succeeded_in_window: u64,
    pub failed_in_window: u64,
    /// Transactions that a rate made due in the measured part.
    pub due_in_window: u64,
    /// Time between transactions of a closed loop in the measured part, of all clients in nanoseconds.
    pub think_ns: u64,
    /// Due and not started at the end, and clients that had waited for the pool longer than any response.
    pub not_begun: u64,
    /// Waiting for a retry at the end, after longer than any response. Shorter ones are not counted.
    pub broken_off: u64,
    /// Failures by [`ErrorClass::ALL`], including warm-up.
    pub failed: [u64; ErrorClass::ALL.len()],
    /// First per class.
    pub messages: Vec<OpError>,
    /// Tried more than once, including warm-up.
    pub retried: u64,
    /// Tries after the first, including warm-up.
    pub retries: u64,
    /// CPU time of all threads in the measured part.
    pub cpu_ns: Option<u64>,
    /// CPU time from each thread's beginning to its end, in nanoseconds.
    #[serde(default)]
    pub generator_cpu_ns: Option<u64>,
    /// CPU time of each worker's thread.
    pub threads: Vec<u64>,
    /// The limits on those threads in their use of the processors.
    pub confined: Vec<Confined>,
    /// The longest time of the measured part in which étalon stood still on one host.
    pub paused_ns: u64,
    /// Reconnecting threads.
    pub helper_threads: usize,
    /// Measured part.
    pub window_ns: u64,
    pub connection_lost: bool,
    /// The worker gave up since too few transactions succeeded.
    pub gave_up: bool,
    /// Responses beyond each of [`NetworkTraffic::limits_ns`](crate::traffic::NetworkTraffic::limits_ns), and longer waits at the
    /// end. Without failures.
    pub over_limits: Vec<u64>,
    /// Beyond the latency limit.
    pub late: u64,
    /// Transactions that were not started, since they were already beyond the latency limit.
    pub skipped: u64,
    /// Most transactions due and not started.
    pub backlog_max: u64,
    /// Waits for a pool connection, in vain or not; `None` without a pool.
    pub pool_wait: Option<Durations>,
    pub connections: Connections,
    /// Lateness of the loop.
    pub lag: LoopLag,
    /// Entries of the lanes into the kernel in the measured part, if counted.
    pub kernel_entries: Option<u64>,
    /// Counts of each kind of transactions, if kinds are distinguished.
    pub kinds: Vec<KindCounts>,
    /// Counts that the load itself keeps, including warm-up.
    pub tallies: Vec<u64>,
    /// Logs of tasks, in the order of their ends.
    pub tasks: Vec<TaskLog>,
    /// The transfer of lanes of blocks.
    pub transfer: Option<Transfer>,
    /// Work requested by successful transactions, including warm-up.
    pub asked: RequestedWork,
    /// Upper bound for failed transactions and tries: the server may not have received all.
    pub asked_in_vain: RequestedWork,
    /// Rows of all answers, including warm-up, failures and retries. `None`: the lane has no rows.
    #[serde(default)]
    pub rows: Option<RowCounts>,
    /// Successful transactions that changed rows, including warm-up; of a pipeline, at most one a batch.
    #[serde(default)]
    pub wrote: u64,
    /// The server's counts.
    pub sessions: Option<Result<SessionCounts, String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    pub made: u64,
    /// Connections that `reconnect` made.
    pub made_again: u64,
    /// Total time.
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    /// Wanted by a pool.
    pub missing: u64,
    /// Kind, count, first message.
    pub refused: Vec<(FailureKind, u64, String)>,
}

/// Adds to a sum without overflow, since a count may come from another host.
fn add_saturating(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

impl Connections {
    /// Counts a connection and how long it took.
    pub fn add_connection(&mut self, took_ns: u64) {
        self.min_ns = if self.made == 0 { took_ns } else { self.min_ns.min(took_ns) };
        self.max_ns = self.max_ns.max(took_ns);
        self.sum_ns += took_ns;
        self.made += 1;
    }

    /// Gives earlier connections this time: for virtual time.
    pub fn assume_duration(&mut self, took_ns: u64) {
        self.sum_ns = took_ns * self.made;
        (self.min_ns, self.max_ns) = (took_ns, took_ns);
    }

    /// Counts connections that failed, by kind, with the first message.
    pub fn count_refused(&mut self, kind: FailureKind, count: u64, message: String) {
        match self.refused.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, known, _)) => add_saturating(known, count),
            None => self.refused.push((kind, count, message)),
        }
    }

    /// Adds the connections of another worker.
    fn merge(&mut self, other: Connections) {
        if other.made > 0 {
            self.min_ns = if self.made == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        }
        self.max_ns = self.max_ns.max(other.max_ns);
        add_saturating(&mut self.sum_ns, other.sum_ns);
        add_saturating(&mut self.made, other.made);
        add_saturating(&mut self.made_again, other.made_again);
        add_saturating(&mut self.missing, other.missing);
        for (kind, count, message) in other.refused {
            self.count_refused(kind, count, message);
        }
    }
}

/// One process's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLog {
    /// Number of the process, from 0.
    pub process: u32,
    /// Start of the load.
    pub began_unix_ms: i64,
    pub tasks: Vec<TaskEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// Tasks due and not ended when this one became due, itself included.
    pub running: u32,
    /// Time from due to end; `None` if it failed.
    pub response_ns: Option<u64>,
    /// Since the start of the load.
    pub ended_ns: u64,
}

impl LoadCounts {
    /// Number of operations that the end of the run broke off or kept from beginning.
    pub fn stopped_count(&self) -> u64 {
        self.not_begun.saturating_add(self.broken_off)
    }

    /// Counts a failure by its class.
    pub fn count_failure(&mut self, error: OpError) {
        self.count_failures(error, 1);
    }

    /// Counts failures of one class, and keeps its first message.
    pub fn count_failures(&mut self, error: OpError, count: u64) {
        let place = ErrorClass::ALL.iter().position(|class| *class == error.class).unwrap_or_default();
        self.failed[place] += count;
        if !self.messages.iter().any(|known| known.class == error.class) {
            self.messages.push(error);
        }
    }

    /// Counts responses over each limit.
    pub(super) fn count_over_limits(&mut self, rules: &Rules, over: impl Fn(u64) -> u64) {
        for (limit_ns, known) in rules.limits_ns.iter().zip(&mut self.over_limits) {
            *known += over(*limit_ns);
        }
        self.late += rules.latency_limit_ns.map_or(0, over);
    }

    /// Takes in another worker's counts, which may come from another host: no sum wraps.
    ///
    /// # Errors
    /// The other counts distinguish other kinds of transactions: they are of another load, or of another build of
    /// étalon.
    pub fn merge(&mut self, other: LoadCounts) -> Result<(), Failure> {
        self.merge_kinds(&other.kinds)?;
        add_saturating(&mut self.succeeded, other.succeeded);
        self.completed.merge(other.completed);
        add_saturating(&mut self.succeeded_in_window, other.succeeded_in_window);
        add_saturating(&mut self.failed_in_window, other.failed_in_window);
        add_saturating(&mut self.due_in_window, other.due_in_window);
        add_saturating(&mut self.think_ns, other.think_ns);
        add_saturating(&mut self.not_begun, other.not_begun);
        add_saturating(&mut self.broken_off, other.broken_off);
        for (mine, theirs) in self.failed.iter_mut().zip(other.failed) {
            add_saturating(mine, theirs);
        }
        for error in other.messages {
            if !self.messages.iter().any(|known| known.class == error.class) {
                self.messages.push(error);
            }
        }
        add_saturating(&mut self.retried, other.retried);
        add_saturating(&mut self.retries, other.retries);
        self.cpu_ns = self.cpu_ns.zip(other.cpu_ns).map(|(a, b)| a.saturating_add(b));
        self.threads.extend(other.threads);
        self.confined.extend(other.confined);
        self.paused_ns = self.paused_ns.max(other.paused_ns);
        self.helper_threads = self.helper_threads.saturating_add(other.helper_threads);
        self.window_ns = self.window_ns.max(other.window_ns);
        self.connection_lost |= other.connection_lost;
        self.gave_up |= other.gave_up;
        self.over_limits.resize(self.over_limits.len().max(other.over_limits.len()), 0);
        for (mine, theirs) in self.over_limits.iter_mut().zip(other.over_limits) {
            add_saturating(mine, theirs);
        }
        add_saturating(&mut self.late, other.late);
        add_saturating(&mut self.skipped, other.skipped);
        // An upper bound, since workers peak at different times.
        add_saturating(&mut self.backlog_max, other.backlog_max);
        self.pool_wait = match (self.pool_wait.take(), other.pool_wait) {
            (Some(mut mine), Some(theirs)) => {
                mine.merge(&theirs);
                Some(mine)
            }
            (mine, theirs) => mine.or(theirs),
        };
        self.connections.merge(other.connections);
        self.lag.merge(&other.lag);
        self.kernel_entries = self.kernel_entries.zip(other.kernel_entries).map(|(a, b)| a.saturating_add(b));
        self.tasks.extend(other.tasks);
        match (&mut self.transfer, other.transfer) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self.tallies.resize(self.tallies.len().max(other.tallies.len()), 0);
        self.tallies.iter_mut().zip(&other.tallies).for_each(|(sum, count)| add_saturating(sum, *count));
        self.asked += other.asked;
        self.asked_in_vain += other.asked_in_vain;
        self.rows = RowCounts::sum_known(self.rows, other.rows);
        add_saturating(&mut self.wrote, other.wrote);
        self.sessions = match (self.sessions.take(), other.sessions) {
            (Some(Ok(mine)), Some(Ok(theirs))) => Some(Ok(mine.plus(theirs))),
            (Some(Err(reason)), _) | (_, Some(Err(reason))) => Some(Err(reason)),
            (mine, theirs) => mine.or(theirs),
        };
        Ok(())
    }

    /// Adds the counts of each kind of transaction; fails if the kinds differ.
    fn merge_kinds(&mut self, others: &[KindCounts]) -> Result<(), Failure> {
        let [mine, theirs] =
            [self.kinds.as_slice(), others].map(|kinds| kinds.iter().map(|kind| kind.name.clone()).collect::<Vec<_>>());
        if mine != theirs {
            let cause = format!(
                "one part counted transactions of the kinds [{}], another [{}]",
                mine.join(", "),
                theirs.join(", ")
            );
            let failure = Failure::new(FailureKind::Verification, "add up what the parts of the load counted", cause);
            return Err(
                failure.with_hint("let every host run the same build of étalon; `etalon agents` lists the agents")
            );
        }
        self.kinds.iter_mut().zip(others).for_each(|(mine, theirs)| mine.merge(theirs));
        Ok(())
    }

    /// Number of transactions that were tried, each try by itself, including warm-up.
    pub fn tries(&self) -> u64 {
        self.succeeded.saturating_add(self.failures()).saturating_add(self.retries)
    }

    /// Number of failures of all classes.
    pub fn failures(&self) -> u64 {
        self.failed.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub fn failures_of(&self, class: ErrorClass) -> u64 {
        ErrorClass::ALL.iter().zip(self.failed).find(|(known, _)| **known == class).map_or(0, |(_, count)| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_kinds(names: &[&str]) -> LoadCounts {
        let kinds = names.iter().map(|name| KindCounts::new((*name).to_owned())).collect();
        LoadCounts { kinds, ..LoadCounts::default() }
    }

    #[test]
    fn parts_that_count_other_kinds_are_refused() {
        let mut all = of_kinds(&["read", "write"]);
        assert_eq!(all.merge(of_kinds(&["read", "write"])), Ok(()));
        for other in [&["write", "read"][..], &["read"], &["read", "write", "scan"], &[]] {
            let refused = all.merge(of_kinds(other)).unwrap_err();
            assert_eq!(refused.kind, FailureKind::Verification);
            assert!(refused.cause.contains("kinds [read, write], another ["), "{refused}");
        }
        assert!(of_kinds(&[]).merge(of_kinds(&["read"])).is_err());
    }

    #[test]
    fn no_sum_of_what_a_host_claims_wraps() {
        fn claims() -> LoadCounts {
            let mut counts = of_kinds(&["read"]);
            counts.kinds[0].in_window = u64::MAX;
            counts.kinds[0].response.record_failed(u64::MAX);
            (counts.succeeded, counts.succeeded_in_window, counts.failed_in_window) = (u64::MAX, u64::MAX, u64::MAX);
            (counts.not_begun, counts.broken_off, counts.backlog_max) = (u64::MAX, u64::MAX, u64::MAX);
            (counts.failed[0], counts.failed[1]) = (u64::MAX, u64::MAX);
            (counts.cpu_ns, counts.helper_threads, counts.over_limits) = (Some(u64::MAX), usize::MAX, vec![u64::MAX]);
            counts.asked.commits = u64::MAX;
            counts.connections = Connections { made: u64::MAX, sum_ns: u64::MAX, ..Connections::default() };
            counts.connections.count_refused(FailureKind::Login, u64::MAX, "no".to_owned());
            counts.sessions = Some(Ok(SessionCounts { twice: u64::MAX, ..SessionCounts::default() }));
            counts
        }
        let mut all = claims();
        all.merge(claims()).unwrap();
        assert_eq!((all.succeeded, all.succeeded_in_window, all.failed_in_window), (u64::MAX, u64::MAX, u64::MAX));
        assert_eq!((all.stopped_count(), all.failures(), all.backlog_max), (u64::MAX, u64::MAX, u64::MAX));
        assert_eq!((all.cpu_ns, all.over_limits, all.connections.made), (Some(u64::MAX), vec![u64::MAX], u64::MAX));
        assert_eq!((all.kinds[0].in_window, all.kinds[0].response.failure_count()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_share_that_leaves_out_what_this_build_counts_is_not_read() {
        let mut share = serde_json::to_value(LoadCounts::default()).unwrap();
        assert!(serde_json::from_value::<LoadCounts>(share.clone()).is_ok());
        share.as_object_mut().unwrap().remove("broken_off");
        assert!(serde_json::from_value::<LoadCounts>(share).unwrap_err().to_string().contains("broken_off"));
    }
}
