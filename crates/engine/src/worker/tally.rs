//! What a worker counted.

use serde::{Deserialize, Serialize};

use super::Rules;
use crate::durations::Durations;
use crate::error::FailureKind;
use crate::lag::Lag;
use crate::lane::{ErrorClass, OpError, SessionCounts, Transfer};
use crate::recorder::KindTally;
use crate::stream::Asked;

/// What a worker counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Transactions that ended well from the first to the last, warm-up included: what the server must have seen.
    pub succeeded: u64,
    /// Those of them that ended inside the measured part.
    pub succeeded_in_window: u64,
    /// Transactions that failed inside the measured part.
    pub failed_in_window: u64,
    /// Transactions that a rate made due inside the measured part.
    pub due_in_window: u64,
    /// Those of them that nobody had begun when it ended, and clients that had waited for the pool longer than any response took.
    pub not_begun: u64,
    /// Transactions that would have been tried again if the measured part had gone on, and had taken longer by then than any
    /// response. Those that had taken less are counted nowhere.
    #[serde(default)]
    pub broken_off: u64,
    /// Failed transactions by class, in the order of [`ErrorClass::ALL`], warm-up included.
    pub failed: [u64; ErrorClass::ALL.len()],
    /// The first message of each class.
    pub messages: Vec<OpError>,
    /// Transactions that were tried more than once, however they ended, warm-up included.
    pub retried: u64,
    /// Tries after the first of all transactions, warm-up included.
    pub retries: u64,
    /// CPU time that all threads used in the measured part, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// The same for each worker's own thread.
    pub threads: Vec<u64>,
    /// How many threads beside the workers' used some of it: those that make connections anew.
    #[serde(default)]
    pub helper_threads: usize,
    /// From the start of the measured part to its end, in nanoseconds.
    pub window_ns: u64,
    pub connection_lost: bool,
    /// Whether the worker gave up, since nothing succeeded.
    pub hopeless: bool,
    /// Responses of the measured part beyond each of [`Traffic::limits_ns`](crate::traffic::Traffic::limits_ns), and what had
    /// waited longer when it ended. What failed is not among them.
    pub over_limits: Vec<u64>,
    /// The same beyond the latency limit.
    pub late: u64,
    /// Transactions of the measured part that were not begun, since they were later than the latency limit already.
    pub skipped: u64,
    /// The most transactions that were due and not begun at one time.
    pub backlog_max: u64,
    /// How long transactions of the measured part waited for a connection of the pool, those in vain among them; nothing
    /// without a pool.
    pub pool_wait: Option<Durations>,
    /// The connections that were made.
    pub connections: Connections,
    /// How late the loop turned to what was due.
    pub lag: Lag,
    /// How often the lanes entered the kernel in the measured part, where they count it.
    pub kernel_entries: Option<u64>,
    /// What kinds of transactions there were, if they are told apart.
    pub kinds: Vec<KindTally>,
    /// What became of each task, in the order in which they ended.
    pub tasks: Vec<TaskLog>,
    /// What the lanes of blocks moved.
    pub transfer: Option<Transfer>,
    /// What transactions that ended well asked of the server, warm-up included.
    #[serde(default)]
    pub asked: Asked,
    /// The most that failed transactions and tries may have asked of it beside that: whether it heard of all is not known.
    #[serde(default)]
    pub asked_in_vain: Asked,
    /// What the server counted of the sessions that asked, or why that is not known.
    #[serde(default)]
    pub sessions: Option<Result<SessionCounts, String>>,
}

/// How connections were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// How many were made.
    pub made: u64,
    /// Of these, how many instead of another: by `reconnect`.
    pub made_again: u64,
    /// The time of all of them, in nanoseconds.
    pub sum_ns: u64,
    /// The shortest, in nanoseconds.
    pub min_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// How many a pool wanted and did not get.
    pub missing: u64,
    /// How many were refused by kind of failure, with the first message of each.
    pub refused: Vec<(FailureKind, u64, String)>,
}

impl Connections {
    /// Counts a connection that took so long to make.
    pub fn count(&mut self, took_ns: u64) {
        self.min_ns = if self.made == 0 { took_ns } else { self.min_ns.min(took_ns) };
        self.max_ns = self.max_ns.max(took_ns);
        self.sum_ns += took_ns;
        self.made += 1;
    }

    /// Counts what was made already as if each had taken so long: for time that is virtual.
    pub fn assume(&mut self, took_ns: u64) {
        self.sum_ns = took_ns * self.made;
        (self.min_ns, self.max_ns) = (took_ns, took_ns);
    }

    pub fn refuse(&mut self, kind: FailureKind, count: u64, message: String) {
        match self.refused.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, known, _)) => *known += count,
            None => self.refused.push((kind, count, message)),
        }
    }

    fn merge(&mut self, other: Connections) {
        if other.made > 0 {
            self.min_ns = if self.made == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        }
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.made += other.made;
        self.made_again += other.made_again;
        self.missing += other.missing;
        for (kind, count, message) in other.refused {
            self.refuse(kind, count, message);
        }
    }
}

/// What one process of a load did with its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLog {
    /// The process, from 0.
    pub process: u32,
    /// When the load began, in milliseconds since 1970.
    pub began_unix_ms: i64,
    /// Its tasks in the order in which they ended.
    pub tasks: Vec<TaskEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// How many tasks were due and had not ended when this one became due, itself included.
    pub running: u32,
    /// From the instant at which it was due to its end, in nanoseconds; nothing if it failed.
    pub response_ns: Option<u64>,
    /// When it ended, in nanoseconds from the start of the load.
    pub ended_ns: u64,
}

impl Tally {
    /// How many transactions only the end of the trial stopped, known to be slower than all that succeeded.
    pub fn stopped(&self) -> u64 {
        self.not_begun + self.broken_off
    }

    /// Counts a failed transaction.
    pub fn count_failure(&mut self, error: OpError) {
        self.count_failures(error, 1);
    }

    /// Counts so many transactions that failed together.
    pub fn count_failures(&mut self, error: OpError, count: u64) {
        let place = ErrorClass::ALL.iter().position(|class| *class == error.class).unwrap_or_default();
        self.failed[place] += count;
        if !self.messages.iter().any(|known| known.class == error.class) {
            self.messages.push(error);
        }
    }

    /// Counts beyond each limit what `over` gives for it.
    pub(super) fn count_over(&mut self, rules: &Rules, over: impl Fn(u64) -> u64) {
        for (limit_ns, known) in rules.limits_ns.iter().zip(&mut self.over_limits) {
            *known += over(*limit_ns);
        }
        self.late += rules.latency_limit_ns.map_or(0, over);
    }

    /// Takes in another worker's tally.
    pub fn merge(&mut self, other: Tally) {
        self.succeeded += other.succeeded;
        self.succeeded_in_window += other.succeeded_in_window;
        self.failed_in_window += other.failed_in_window;
        self.due_in_window += other.due_in_window;
        self.not_begun += other.not_begun;
        self.broken_off += other.broken_off;
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
        self.threads.extend(other.threads);
        self.helper_threads += other.helper_threads;
        self.window_ns = self.window_ns.max(other.window_ns);
        self.connection_lost |= other.connection_lost;
        self.hopeless |= other.hopeless;
        self.over_limits.resize(self.over_limits.len().max(other.over_limits.len()), 0);
        for (mine, theirs) in self.over_limits.iter_mut().zip(other.over_limits) {
            *mine += theirs;
        }
        self.late += other.late;
        self.skipped += other.skipped;
        // Each worker's backlog is at its worst at a time of its own, so this is the worst that it can have been.
        self.backlog_max += other.backlog_max;
        self.pool_wait = match (self.pool_wait.take(), other.pool_wait) {
            (Some(mut mine), Some(theirs)) => {
                mine.add(&theirs);
                Some(mine)
            }
            (mine, theirs) => mine.or(theirs),
        };
        self.connections.merge(other.connections);
        self.lag.merge(&other.lag);
        self.kernel_entries = self.kernel_entries.zip(other.kernel_entries).map(|(a, b)| a + b);
        if self.kinds.is_empty() {
            self.kinds = other.kinds;
        } else {
            self.kinds.iter_mut().zip(&other.kinds).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        self.tasks.extend(other.tasks);
        match (&mut self.transfer, other.transfer) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self.asked += other.asked;
        self.asked_in_vain += other.asked_in_vain;
        self.sessions = match (self.sessions.take(), other.sessions) {
            (Some(Ok(mine)), Some(Ok(theirs))) => Some(Ok(mine.plus(theirs))),
            (Some(Err(reason)), _) | (_, Some(Err(reason))) => Some(Err(reason)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// Failed transactions of all classes.
    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Failed transactions of a class.
    pub fn failures_of(&self, class: ErrorClass) -> u64 {
        ErrorClass::ALL.iter().zip(self.failed).find(|(known, _)| **known == class).map_or(0, |(_, count)| count)
    }
}
