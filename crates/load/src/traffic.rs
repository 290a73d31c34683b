//! The shape of a workload's load: arrivals, pauses, limits, shared connections.

use std::time::Duration;

use model::Length;

use crate::rng::Rng;

/// Default response limits: bounds of "at once", "without losing the thread" and "without losing patience" (Nielsen,
/// "Usability Engineering", 1993, section 5.5), and half of the last.
pub const LIMITS: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(10)];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    #[default]
    Constant,
    /// Exponential gaps, like independent users.
    Poisson,
}

/// A fixed or uniform length, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub least_ns: u64,
    pub most_ns: u64,
}

impl Span {
    /// Draws a duration, determined by seed, client and number.
    pub fn draw_ns(self, seed: u64, client: u32, number: u64) -> u64 {
        let draw = Rng::of_transaction(seed, client, number).next_u64();
        let count = u128::from(self.most_ns - self.least_ns) + 1;
        // The bias is below count / 2^64: less than a clock can resolve.
        self.least_ns + ((u128::from(draw) * count) >> 64) as u64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    pub connections: u32,
    /// The longest wait before the transaction fails; `None` for ever.
    pub acquire_timeout_ns: Option<u64>,
}

/// Apart from the [`Pace`](crate::worker::Pace). Default: one connection per client, no pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkTraffic {
    pub arrivals: Arrivals,
    /// Clients and tasks begin one after the other, or a rate grows from zero.
    pub ramp_ns: u64,
    /// Think time between transactions, without a pool connection.
    pub think: Option<Span>,
    /// Pause between operations, with the connection.
    pub pause: Option<Span>,
    /// Transactions per connection; 0 for no limit.
    pub reconnect_every: u32,
    /// Later responses are late; under a rate, transactions that would be late are skipped.
    pub latency_limit_ns: Option<u64>,
    /// Ascending; slower responses are counted.
    pub limits_ns: Vec<u64>,
    /// Shared in each process.
    pub pool: Option<PoolSize>,
    /// Instead of the schedule's length.
    pub length: Option<Length>,
    /// Per process, one transaction each, instead of continuing clients.
    pub tasks: Option<u32>,
    /// Per process; `None` for all.
    pub tasks_at_once: Option<u32>,
    /// Independent copies of the load, each with clients or tasks, pool and thread.
    pub processes: u32,
}

impl Default for NetworkTraffic {
    fn default() -> NetworkTraffic {
        NetworkTraffic {
            arrivals: Arrivals::Constant,
            ramp_ns: 0,
            think: None,
            pause: None,
            reconnect_every: 0,
            latency_limit_ns: None,
            limits_ns: LIMITS.iter().map(|limit| limit.as_nanos() as u64).collect(),
            pool: None,
            length: None,
            tasks: None,
            tasks_at_once: None,
            processes: 1,
        }
    }
}

impl NetworkTraffic {
    /// A pool's queue is in order only on one thread, so a worker is a process.
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
        let draws: Vec<u64> = (0..20_000).map(|number| span.draw_ns(7, 3, number)).collect();
        assert!(draws.iter().all(|ns| (50..=249).contains(ns)));
        assert!(draws.contains(&50) && draws.contains(&249), "both ends are in the range");
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        // Standard error of the mean: 57.7 / sqrt(20,000) = 0.41.
        assert!((mean - 149.5).abs() < 2.0, "{mean}");
        assert_eq!(draws[9], span.draw_ns(7, 3, 9));
        assert_ne!(span.draw_ns(7, 3, 1), span.draw_ns(7, 4, 1));
        assert_eq!(Span { least_ns: 5, most_ns: 5 }.draw_ns(1, 1, 1), 5);
        let _ = Span { least_ns: 0, most_ns: u64::MAX }.draw_ns(1, 1, 1);
    }
}
