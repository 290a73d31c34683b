//! Making a worker's connections before the start.

use std::time::{Duration, Instant};

use super::{Tally, WorkerContext};
use crate::error::{Failure, FailureKind};

/// So long a pool goes on asking for connections after it was first refused one; what is then missing is not asked for.
const REFUSALS_PATIENCE: Duration = Duration::from_secs(3);

impl WorkerContext<'_> {
    /// How many connections the worker needs: one for each client, or those of its pool.
    pub fn connections(&self) -> u32 {
        match self.traffic.pool {
            Some(pool) => pool.connections,
            None => self.clients.len() as u32,
        }
    }

    /// Makes the worker's connections by calling `open` with a number for each, from the worker's first client on, and
    /// takes the time of each. A pool goes on with fewer than it asked for.
    ///
    /// # Errors
    /// The failure of the first connection that could not be made; for a pool, if none could.
    pub fn connect<T>(&mut self, mut open: impl FnMut(u32) -> Result<T, Failure>) -> Result<Vec<T>, Failure> {
        let wanted = self.connections();
        let mut connections = Vec::with_capacity(wanted as usize);
        let mut first_refusal: Option<(Instant, Failure)> = None;
        for number in 0..wanted {
            if first_refusal.as_ref().is_some_and(|(since, _)| since.elapsed() > REFUSALS_PATIENCE) {
                break;
            }
            let began_ns = host::clock::now_ns();
            match open(self.clients.start + number) {
                Ok(connection) => {
                    self.opened.count(host::clock::now_ns().saturating_sub(began_ns));
                    connections.push(connection);
                }
                Err(failure) if self.traffic.pool.is_none() => return Err(failure),
                Err(failure) => {
                    self.opened.refuse(failure.kind, 1, failure.cause.clone());
                    first_refusal.get_or_insert_with(|| (Instant::now(), failure));
                }
            }
        }
        self.opened.missing = u64::from(wanted) - connections.len() as u64;
        match first_refusal {
            Some((_, failure)) if connections.is_empty() => Err(failure),
            _ => Ok(connections),
        }
    }

    /// How many connections there are to work with.
    pub(super) fn open_connections(&self) -> usize {
        (u64::from(self.connections()) - self.opened.missing) as usize
    }
}

/// What is said of a pool that is smaller than the plan wants, with counts by kind; nothing if it is not.
pub fn shortfall(tally: &Tally) -> Option<String> {
    let connections = &tally.connections;
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
        text.push_str(&format!("; {count} × {}: {message}", words(*kind)));
    }
    Some(text)
}

/// Why a connection could not be made, in a word or two.
fn words(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unreachable => "unreachable",
        FailureKind::Login => "login refused",
        FailureKind::Permission => "not permitted",
        FailureKind::ConnectionLost => "connection lost",
        FailureKind::DiskFull => "disk full",
        FailureKind::Missing => "missing",
        FailureKind::Unsupported => "unsupported",
        FailureKind::NotOurs | FailureKind::Plan | FailureKind::Verification | FailureKind::Other => "refused",
    }
}
