//! How a workload's transactions come: their arrivals, pauses, limits, and the connections that they share.

use std::time::Duration;

use crate::rng::Rng;

/// The response limits that are counted unless the plan names others: the bounds of "at once" and "without losing the
/// thread" and "without losing patience" (Nielsen, "Usability Engineering", 1993, section 5.5), and half of the last.
pub const LIMITS: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(10)];

/// How the instants of a rate are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    #[default]
    Constant,
    /// With exponential gaps, as independent users come.
    Poisson,
}

/// A length of time, or a range of which each value has the same chance; in nanoseconds, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub least_ns: u64,
    pub most_ns: u64,
}

impl Span {
    /// One of its values, fixed by the seed, the client and a number alone.
    pub fn draw(self, seed: u64, client: u32, number: u64) -> u64 {
        let draw = Rng::of_transaction(seed, client, number).next_u64();
        let count = u128::from(self.most_ns - self.least_ns) + 1;
        // The bias of the multiplication is below count / 2^64: far less than a clock can tell.
        self.least_ns + ((u128::from(draw) * count) >> 64) as u64
    }
}

/// Connections that clients share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    pub connections: u32,
    /// How long a client waits for one before its transaction counts as failed, in nanoseconds; `None` for ever.
    pub acquire_timeout_ns: Option<u64>,
}

/// How the transactions of a workload come, apart from their [`Pace`](crate::worker::Pace). The default is what every
/// client does by itself: one connection each, no pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// How the instants of a rate are spread.
    pub arrivals: Arrivals,
    /// Over this time clients and tasks begin one after the other, or a rate grows from nothing, in nanoseconds.
    pub ramp_ns: u64,
    /// What a client waits between two transactions; it holds no connection of a pool meanwhile.
    pub think: Option<Span>,
    /// What a client waits between two operations of a transaction; it keeps its connection.
    pub pause: Option<Span>,
    /// After how many transactions a connection is made anew; 0 for never.
    pub reconnect_every: u32,
    /// Responses beyond it are late; under a rate, transactions that could only be late are not begun. In nanoseconds.
    pub latency_limit_ns: Option<u64>,
    /// Responses beyond each of these are counted; in nanoseconds, ascending.
    pub limits_ns: Vec<u64>,
    /// The connections that clients share, in each process.
    pub pool: Option<PoolSize>,
    /// So many transactions of each client, whatever the schedule says of the length.
    pub transactions: Option<u64>,
    /// So many tasks in each process, each of which is one transaction, instead of clients that go on.
    pub tasks: Option<u32>,
    /// At most so many tasks of a process are under way at a time; `None` for all of them.
    pub tasks_at_once: Option<u32>,
    /// Independent copies of the load, each with clients or tasks, a pool and a thread of its own.
    pub processes: u32,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            arrivals: Arrivals::Constant,
            ramp_ns: 0,
            think: None,
            pause: None,
            reconnect_every: 0,
            latency_limit_ns: None,
            limits_ns: LIMITS.iter().map(|limit| limit.as_nanos() as u64).collect(),
            pool: None,
            transactions: None,
            tasks: None,
            tasks_at_once: None,
            processes: 1,
        }
    }
}

impl Traffic {
    /// Whether a worker must be a whole process of the load: a pool's queue is in order only on one thread.
    pub fn is_by_process(&self) -> bool {
        self.pool.is_some() || self.tasks.is_some() || self.processes > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_drawn_evenly_and_again() {
        let span = Span { least_ns: 50, most_ns: 249 };
        let draws: Vec<u64> = (0..20_000).map(|number| span.draw(7, 3, number)).collect();
        assert!(draws.iter().all(|ns| (50..=249).contains(ns)));
        assert!(draws.contains(&50) && draws.contains(&249), "both ends are in the range");
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        // Standard error of the mean: 57.7 / sqrt(20,000) = 0.41.
        assert!((mean - 149.5).abs() < 2.0, "{mean}");
        assert_eq!(draws[9], span.draw(7, 3, 9));
        assert_ne!(span.draw(7, 3, 1), span.draw(7, 4, 1));
        assert_eq!(Span { least_ns: 5, most_ns: 5 }.draw(1, 1, 1), 5);
        let _ = Span { least_ns: 0, most_ns: u64::MAX }.draw(1, 1, 1);
    }
}
