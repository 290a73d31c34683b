//! When transactions are meant to begin.

/// Yields the *intended* instant of each transaction. Response time counts from it, whenever the transaction was
/// really sent, so a stall is charged to every request that it delayed.
pub trait Pacer {
    /// The intended instant of a client's next transaction, given when the client became free. Never earlier than the
    /// schedule, and in the past if the client is late.
    fn intended_ns(&mut self, client: usize, free_ns: u64) -> u64;
}

/// The closed loop: a client begins its next transaction as soon as the last one has ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed;

impl Pacer for Closed {
    fn intended_ns(&mut self, _client: usize, free_ns: u64) -> u64 {
        free_ns
    }
}

/// A constant rate for each client, with the clients' starts spread evenly over the first period.
#[derive(Clone, Debug)]
pub struct Constant {
    period_ns: u64,
    next_ns: Vec<u64>,
}

impl Constant {
    /// `clients` clients that share `rate_per_s` transactions a second from `start_ns` on.
    pub fn new(clients: usize, rate_per_s: f64, start_ns: u64) -> Constant {
        let period_ns = (clients as f64 * 1e9 / rate_per_s) as u64;
        let next_ns = (0..clients as u64).map(|i| start_ns + i * period_ns / clients as u64).collect();
        Constant { period_ns, next_ns }
    }
}

impl Pacer for Constant {
    fn intended_ns(&mut self, client: usize, _free_ns: u64) -> u64 {
        let intended = self.next_ns[client];
        self.next_ns[client] += self.period_ns;
        intended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the clients do, the schedule holds exactly the rate, and no client's instants move.
        #[test]
        fn a_constant_rate_does_not_depend_on_completions(
            clients in 1usize..20,
            rate in 1.0f64..1e6,
            free in proptest::collection::vec(0u64..10_000_000_000, 1..50),
        ) {
            let mut pacer = Constant::new(clients, rate, 1_000);
            let mut again = Constant::new(clients, rate, 1_000);
            let mut last = vec![0; clients];
            for (i, free_ns) in free.iter().enumerate() {
                let client = i % clients;
                let intended = pacer.intended_ns(client, *free_ns);
                prop_assert_eq!(intended, again.intended_ns(client, 0));
                prop_assert!(intended >= last[client]);
                last[client] = intended;
            }
        }
    }

    #[test]
    fn starts_are_spread_over_the_first_period() {
        let mut pacer = Constant::new(4, 1_000.0, 0);
        let starts: Vec<u64> = (0..4).map(|c| pacer.intended_ns(c, 0)).collect();
        assert_eq!(starts, [0, 1_000_000, 2_000_000, 3_000_000]);
        assert_eq!(pacer.intended_ns(0, 0), 4_000_000);
    }
}
