//! Connects a worker before the start.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{LoadCounts, RunLength, WorkerContext};
use crate::error::{Failure, FailureKind};

/// Concurrent logins of a worker, for distant servers and process-per-connection ones.
pub const LOGINS_AT_ONCE: usize = 32;

/// How long a pool keeps trying after its first refusal.
const REFUSALS_TIME: Duration = Duration::from_secs(3);

impl WorkerContext<'_> {
    /// No other thread or host uses the system meanwhile.
    pub fn is_alone(&self) -> bool {
        self.clients.len() as u32 == self.all_clients && self.length != RunLength::UntilEnded
    }

    /// Number of connections: one per client, or the pool's.
    pub fn connections(&self) -> u32 {
        match self.traffic.pool {
            Some(pool) => pool.connections,
            None => self.clients.len() as u32,
        }
    }

    /// Connects by `open`, numbered from the worker's first client, with `at_once` calls in parallel, and times each; `open` notes
    /// the nanoseconds that it spent on something else. A pool accepts fewer; otherwise the first failure is an error.
    pub fn connect_all<T: Send>(
        &mut self,
        at_once: usize,
        open: impl Fn(u32, &mut u64) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let wanted = self.connections();
        let first = self.clients.start;
        let opening = Opening::new(wanted, if self.traffic.pool.is_some() { REFUSALS_TIME } else { Duration::ZERO });
        let work = || {
            while let Some(number) = opening.next_connection() {
                let (began_ns, mut aside_ns) = (host::clock::now_ns(), 0);
                let result = open(first + number, &mut aside_ns);
                opening.note_result(result, host::clock::now_ns().saturating_sub(began_ns + aside_ns));
            }
        };
        thread::scope(|scope| {
            for _ in 1..at_once.min(wanted as usize) {
                // Fewer threads are only slower: this one works, too.
                let _ = thread::Builder::new().name("etalon-login".to_owned()).spawn_scoped(scope, work);
            }
            work();
        });
        let Ended { made, refused, .. } = opening.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        let count = made.len();
        self.opened.missing = u64::from(wanted) - count as u64;
        made.iter().for_each(|(_, took_ns)| self.opened.add_connection(*took_ns));
        refused.iter().for_each(|failure| self.opened.count_refused(failure.kind, 1, failure.cause.clone()));
        let failed = refused.len();
        match refused.into_iter().next() {
            Some(mut failure) if count == 0 || self.traffic.pool.is_none() => {
                if wanted > 1 {
                    let all = if self.traffic.pool.is_none() { self.all_clients } else { wanted };
                    failure.cause.push_str(&refusals_text(count, failed, wanted, all));
                }
                Err(failure)
            }
            _ => Ok(made.into_iter().map(|(connection, _)| connection).collect()),
        }
    }

    /// Number of connections that are open: all but the missing ones.
    pub fn open_connections(&self) -> usize {
        (u64::from(self.connections()) - self.opened.missing) as usize
    }
}

/// What a thread could not do of its `wanted` connections; all threads make `all`.
fn refusals_text(made: usize, refused: usize, wanted: u32, all: u32) -> String {
    let others =
        if all > wanted { format!(" by one of the threads, which make {all} together") } else { String::new() };
    format!(" ({made} of {wanted} connections were made{others}; {refused} refused, then no more tried)")
}

struct Opening<T> {
    wanted: u32,
    taken: AtomicU32,
    /// Time after the first refusal for which further connections are tried.
    retry_time: Duration,
    ended: Mutex<Ended<T>>,
}

struct Ended<T> {
    /// Connections, each with the nanoseconds that it took.
    made: Vec<(T, u64)>,
    refused: Vec<Failure>,
    first_refusal: Option<Instant>,
}

impl<T> Opening<T> {
    fn new(wanted: u32, retry_time: Duration) -> Opening<T> {
        let ended = Ended { made: Vec::with_capacity(wanted as usize), refused: Vec::new(), first_refusal: None };
        Opening { wanted, taken: AtomicU32::new(0), retry_time, ended: Mutex::new(ended) }
    }

    /// Locks what the threads that connect have done.
    fn lock_ended(&self) -> MutexGuard<'_, Ended<T>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next connection; `None` when all are taken or one has failed for too long.
    fn next_connection(&self) -> Option<u32> {
        let given_up = self.lock_ended().first_refusal.is_some_and(|since| since.elapsed() >= self.retry_time);
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (!given_up && number < self.wanted).then_some(number)
    }

    /// Notes a connection that was made, or why it failed.
    fn note_result(&self, result: Result<T, Failure>, took_ns: u64) {
        let mut ended = self.lock_ended();
        match result {
            Ok(connection) => ended.made.push((connection, took_ns)),
            Err(failure) => {
                ended.refused.push(failure);
                ended.first_refusal.get_or_insert_with(Instant::now);
            }
        }
    }
}

/// The shortfall of a pool, with counts by kind.
pub fn shortfall(counts: &LoadCounts) -> Option<String> {
    let connections = &counts.connections;
    if connections.missing == 0 {
        return None;
    }
    let tried: u64 = connections.refused.iter().map(|(_, count, _)| count).sum();
    let mut text = format!(
        "{} of {} connections of the pool were refused",
        connections.missing,
        connections.missing + connections.made - connections.made_again
    );
    if tried < connections.missing {
        text.push_str(&format!(" ({} of them not asked for any more)", connections.missing - tried));
    }
    for (kind, count, message) in &connections.refused {
        text.push_str(&format!("; {count} × {}: {message}", kind_words(*kind)));
    }
    Some(text)
}

fn kind_words(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unreachable => "unreachable",
        FailureKind::Login => "login refused",
        FailureKind::Permission => "not permitted",
        FailureKind::ConnectionLost => "connection lost",
        FailureKind::DiskFull => "disk full",
        FailureKind::Missing => "missing",
        FailureKind::Unsupported => "unsupported",
        FailureKind::NotOurs
        | FailureKind::Plan
        | FailureKind::Verification
        | FailureKind::PortTaken
        | FailureKind::NothingEnded
        | FailureKind::Interrupted
        | FailureKind::Other => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_whose_connections_it_counts() {
        let alone = refusals_text(31, 1, 50, 50);
        assert_eq!(alone, " (31 of 50 connections were made; 1 refused, then no more tried)");
        assert!(
            refusals_text(31, 1, 50, 100).contains("made by one of the threads, which make 100 together; 1 refused")
        );
    }
}
