//! When transactions are meant to begin.
//!
//! Response time counts from the *intended* instant, so a stall is charged to every request that it delays.

use crate::rng::Rng;
use crate::traffic::{Arrivals, Span};

/// Separates a schedule's random draws from the load's.
const ARRIVALS_SALT: u64 = 0x6172_7269_7661_6c73;
/// Separates think times' random draws from the load's.
const THINK_SALT: u64 = 0x7468_696e_6b69_6e67;

/// Intended instants of a worker's transactions. The kind is fixed during a run, so branching is free.
#[derive(Clone, Debug)]
pub enum Pacer {
    /// A client begins its next transaction when the last one ends.
    Closed,
    /// A closed loop with pauses or a ramp.
    Eased(Eased),
    /// The next free client takes the next instant.
    Rate(ArrivalSchedule),
}

/// A closed loop with ramp and think time.
#[derive(Clone, Copy, Debug)]
pub struct Eased {
    pub seed: u64,
    pub start_ns: u64,
    /// Clients begin evenly over this time.
    pub ramp_ns: u64,
    /// Number of clients of all workers.
    pub all_clients: u32,
    /// Think time between transactions.
    pub think: Option<Span>,
}

impl Eased {
    /// `index` counts over all workers; `free_ns` is when the client is free.
    pub fn intended_ns(&self, client: u32, index: u64, free_ns: u64) -> u64 {
        if index == 0 {
            let place = u128::from(self.ramp_ns) * u128::from(client) / u128::from(self.all_clients.max(1));
            return free_ns.max(self.start_ns + place as u64);
        }
        free_ns + self.think.map_or(0, |think| think.draw_ns(self.seed ^ THINK_SALT, client, index))
    }
}

/// The options of which a schedule is made.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleOptions {
    /// Seed of the run.
    pub seed: u64,
    /// Index among the run's schedules.
    pub number: u32,
    pub arrivals: Arrivals,
    /// The rate after the ramp.
    pub rate_per_s: f64,
    /// First instant of a constant rate, as a share of its period: interleaves workers.
    pub phase: f64,
    pub start_ns: u64,
    /// The rate grows evenly from zero.
    pub ramp_ns: u64,
}

/// Instants of a rate, determined by the seed alone.
#[derive(Clone, Debug)]
pub struct ArrivalSchedule {
    /// Next instant to be taken.
    taken: Cursor,
    /// Next future instant, on the same sequence: counts due ones without storing them.
    due: Cursor,
}

impl ArrivalSchedule {
    pub fn new(options: ScheduleOptions) -> ArrivalSchedule {
        let cursor = Cursor::new(options);
        ArrivalSchedule { taken: cursor.clone(), due: cursor }
    }

    /// Takes the next arrival, and returns its instant.
    pub fn take_next(&mut self) -> u64 {
        let instant_ns = self.taken.at_ns;
        self.taken.advance();
        instant_ns
    }

    pub fn taken_count(&self) -> u64 {
        self.taken.passed
    }

    /// Number of arrivals until an instant, taken or not; iterates over all of them.
    pub fn count_until(&self, end_ns: u64) -> u64 {
        let mut cursor = Cursor::new(self.taken.options);
        while cursor.at_ns < end_ns {
            cursor.advance();
        }
        cursor.passed
    }

    /// Number of arrivals that are due and not taken.
    pub fn backlog(&mut self, now_ns: u64) -> u64 {
        while self.due.at_ns <= now_ns {
            self.due.advance();
        }
        self.due.passed.saturating_sub(self.taken.passed)
    }
}

/// A place in a schedule.
///
/// Instants are made in *operational time* with one transaction per unit, and mapped to real time by the inverse of
/// the rate's integral: a ramp works for even and exponential gaps (time change of an inhomogeneous Poisson process:
/// Çinlar, "Introduction to Stochastic Processes", 1975, section 4.7).
#[derive(Clone, Debug)]
struct Cursor {
    at_ns: u64,
    /// How many instants came before it.
    passed: u64,
    /// The instant in operational time.
    units: f64,
    rng: Rng,
    options: ScheduleOptions,
}

impl Cursor {
    fn new(options: ScheduleOptions) -> Cursor {
        let rng = Rng::of_transaction(options.seed ^ ARRIVALS_SALT, options.number, 0);
        let mut cursor = Cursor { at_ns: 0, passed: 0, units: 0.0, rng, options };
        cursor.units = match options.arrivals {
            Arrivals::Constant => options.phase,
            Arrivals::Poisson => cursor.rng.exponential(),
        };
        cursor.at_ns = cursor.instant_ns();
        cursor
    }

    /// Goes on to the next arrival.
    fn advance(&mut self) {
        self.passed += 1;
        self.units = match self.options.arrivals {
            // From the count, so that errors do not add up.
            Arrivals::Constant => self.options.phase + self.passed as f64,
            Arrivals::Poisson => self.units + self.rng.exponential(),
        };
        self.at_ns = self.instant_ns();
    }

    /// The instant of the current arrival.
    fn instant_ns(&self) -> u64 {
        let per_ns = self.options.rate_per_s / 1e9;
        let ramp_ns = self.options.ramp_ns as f64;
        // The rate's integral is rate × t² / (2 ramp) within the ramp, and rate × (t - ramp / 2) after it.
        let since_ns = if self.units < per_ns * ramp_ns / 2.0 {
            (2.0 * self.units * ramp_ns / per_ns).sqrt()
        } else {
            self.units / per_ns + ramp_ns / 2.0
        };
        self.options.start_ns + since_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn options(rate_per_s: f64, arrivals: Arrivals) -> ScheduleOptions {
        ScheduleOptions { seed: 3, number: 0, arrivals, rate_per_s, phase: 0.0, start_ns: 1_000, ramp_ns: 0 }
    }

    fn instants(options: ScheduleOptions, count: usize) -> Vec<u64> {
        let mut schedule = ArrivalSchedule::new(options);
        (0..count).map(|_| schedule.take_next()).collect()
    }

    proptest! {
        /// Whatever is asked in between, the instants are equal, ordered, and keep the rate.
        #[test]
        fn instants_do_not_depend_on_completions(
            seed: u64,
            rate in 10.0f64..1e6,
            poisson: bool,
            asked in proptest::collection::vec(0u64..100_000_000_000, 1..50),
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let options = ScheduleOptions { seed, ..options(rate, arrivals) };
            let mut asked_between = ArrivalSchedule::new(options);
            let mut last = 0;
            for (expected, now_ns) in instants(options, asked.len()).into_iter().zip(&asked) {
                asked_between.backlog(*now_ns / 1_000);
                let instant = asked_between.take_next();
                prop_assert_eq!(instant, expected);
                prop_assert!(instant >= last);
                last = instant;
            }
        }

        /// Mean and standard deviation are both 1 / rate.
        #[test]
        fn poisson_gaps_are_exponential(seed: u64, rate in 10.0f64..1e5) {
            let count = 20_000;
            let all = instants(ScheduleOptions { seed, ..options(rate, Arrivals::Poisson) }, count);
            let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * rate / 1e9).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // Standard errors are 0.7 % and 2 %: never seven of them.
            prop_assert!((mean - 1.0).abs() < 0.05, "mean {mean}");
            prop_assert!((variance - 1.0).abs() < 0.15, "variance {variance}");
            // Gaps are uncorrelated: the standard error is 0.7 %.
            let pairs = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
            let correlation = pairs.sum::<f64>() / gaps.len() as f64 / variance;
            prop_assert!(correlation.abs() < 0.05, "correlation {correlation}");
        }

        /// A ramp halves what would have come.
        #[test]
        fn a_ramp_costs_half_of_its_own_transactions(poisson: bool, ramp_s in 1u64..20, rate in 1_000.0f64..5_000.0) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let ramp_ns = ramp_s * 1_000_000_000;
            let options = ScheduleOptions { start_ns: 0, ramp_ns, ..options(rate, arrivals) };
            let mut schedule = ArrivalSchedule::new(options);
            let half = schedule.backlog(ramp_ns / 2) as f64;
            let whole = schedule.backlog(ramp_ns) as f64;
            let twice = schedule.backlog(2 * ramp_ns) as f64;
            let expected = rate * ramp_s as f64 / 2.0;
            let slack = 2.0 + 6.0 * (3.0 * expected).sqrt();
            prop_assert!((half - expected / 4.0).abs() < slack, "{half} of {expected}");
            prop_assert!((whole - expected).abs() < slack, "{whole} of {expected}");
            prop_assert!((twice - 3.0 * expected).abs() < slack, "{twice} of {expected}");
        }
    }

    #[test]
    fn constant_instants_are_a_period_apart_and_interlock() {
        let even = ScheduleOptions { start_ns: 0, ..options(1_000.0, Arrivals::Constant) };
        assert_eq!(instants(even, 4), [0, 1_000_000, 2_000_000, 3_000_000]);
        assert_eq!(instants(ScheduleOptions { phase: 0.25, ..even }, 2), [250_000, 1_250_000]);
    }

    #[test]
    fn what_is_due_and_not_taken_is_the_backlog() {
        let mut schedule =
            ArrivalSchedule::new(ScheduleOptions { start_ns: 0, ..options(1_000.0, Arrivals::Constant) });
        assert_eq!(schedule.backlog(5_500_000), 6);
        assert_eq!([schedule.take_next(), schedule.take_next()], [0, 1_000_000]);
        assert_eq!(schedule.backlog(5_500_000), 4);
        for _ in 0..10 {
            schedule.take_next();
        }
        assert_eq!(schedule.backlog(6_000_000), 0, "instants that were taken early are no debt");
    }

    #[test]
    fn clients_begin_over_the_ramp_and_think_between_transactions() {
        let think = Some(Span { least_ns: 10, most_ns: 20 });
        let eased = Eased { seed: 1, start_ns: 100, ramp_ns: 1_000, all_clients: 4, think };
        let starts: Vec<u64> = (0..4).map(|client| eased.intended_ns(client, 0, 100)).collect();
        assert_eq!(starts, [100, 350, 600, 850]);
        for index in 1..50 {
            assert!((510..=520).contains(&eased.intended_ns(1, index, 500)));
        }
    }
}
