//! When transactions are meant to begin.
//!
//! Response time counts from the *intended* instant, whenever the transaction was really sent, so a stall is charged to
//! every request that it delayed.

use crate::rng::Rng;
use crate::traffic::{Arrivals, Span};

/// Keeps the draws of a schedule apart from those of the load.
const ARRIVALS_SALT: u64 = 0x6172_7269_7661_6c73;
/// The same for think times.
const THINK_SALT: u64 = 0x7468_696e_6b69_6e67;

/// Yields the intended instants of one worker's transactions. What kind it is does not change during a trial, so the
/// branch on it costs nothing.
#[derive(Clone, Debug)]
pub enum Pacer {
    /// The closed loop: a client begins its next transaction as soon as the last one has ended.
    Closed,
    /// The closed loop with pauses between transactions, or clients that begin one after the other.
    Eased(Eased),
    /// A rate: whichever client is free takes the next instant.
    Rate(Schedule),
}

/// A closed loop in which clients begin one after the other and think between transactions.
#[derive(Clone, Copy, Debug)]
pub struct Eased {
    /// Seed of the trial.
    pub seed: u64,
    /// The start of the load, in nanoseconds.
    pub start_ns: u64,
    /// Clients begin evenly over this time.
    pub ramp_ns: u64,
    /// All clients, those of other workers included: each has its place in the ramp.
    pub all_clients: u32,
    /// What a client waits between two transactions.
    pub think: Option<Span>,
}

impl Eased {
    /// The intended instant of transaction `index` of `client`, counted over all workers, when that client is free.
    pub fn intended_ns(&self, client: u32, index: u64, free_ns: u64) -> u64 {
        if index == 0 {
            let place = u128::from(self.ramp_ns) * u128::from(client) / u128::from(self.all_clients.max(1));
            return free_ns.max(self.start_ns + place as u64);
        }
        free_ns + self.think.map_or(0, |think| think.draw(self.seed ^ THINK_SALT, client, index))
    }
}

/// What a schedule is made of.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleOptions {
    /// Seed of the trial.
    pub seed: u64,
    /// Which of the trial's schedules it is.
    pub number: u32,
    /// How the instants are spread.
    pub arrivals: Arrivals,
    /// Instants a second, once the ramp is over.
    pub rate_per_s: f64,
    /// The first instant of a constant rate, as a share of its period: several workers' instants interlock.
    pub phase: f64,
    /// The start of the load, in nanoseconds.
    pub start_ns: u64,
    /// Over this time the rate grows evenly from nothing.
    pub ramp_ns: u64,
}

/// The instants of a rate, fixed by the seed alone and never moved by what the system does.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Before the next instant that a client takes.
    taken: Cursor,
    /// Before the next instant that has not come yet. It runs over the same instants, so that those that are due can
    /// be counted without being kept.
    due: Cursor,
}

impl Schedule {
    pub fn new(options: ScheduleOptions) -> Schedule {
        let cursor = Cursor::new(options);
        Schedule { taken: cursor.clone(), due: cursor }
    }

    /// Takes the next instant.
    pub fn take(&mut self) -> u64 {
        let instant_ns = self.taken.at_ns;
        self.taken.advance();
        instant_ns
    }

    /// How many instants have been taken.
    pub fn taken(&self) -> u64 {
        self.taken.passed
    }

    /// How many instants come before `end_ns`, taken or not. It goes through all of them once more.
    pub fn until(&self, end_ns: u64) -> u64 {
        let mut cursor = Cursor::new(self.taken.options);
        while cursor.at_ns < end_ns {
            cursor.advance();
        }
        cursor.passed
    }

    /// How many instants have come by `now_ns` that nobody has taken.
    pub fn backlog(&mut self, now_ns: u64) -> u64 {
        while self.due.at_ns <= now_ns {
            self.due.advance();
        }
        self.due.passed.saturating_sub(self.taken.passed)
    }
}

/// A place in a schedule.
///
/// Instants are made in *operational time*, in which one transaction is due for each unit, and stretched to real time
/// by the inverse of the rate's integral; so a ramp works alike for even and for exponential gaps (the time change of
/// an inhomogeneous Poisson process: Çinlar, "Introduction to Stochastic Processes", 1975, section 4.7).
#[derive(Clone, Debug)]
struct Cursor {
    /// The instant before which it stands.
    at_ns: u64,
    /// How many instants lie behind it.
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

    fn advance(&mut self) {
        self.passed += 1;
        self.units = match self.options.arrivals {
            // From the count, so that no error adds up.
            Arrivals::Constant => self.options.phase + self.passed as f64,
            Arrivals::Poisson => self.units + self.rng.exponential(),
        };
        self.at_ns = self.instant_ns();
    }

    fn instant_ns(&self) -> u64 {
        let per_ns = self.options.rate_per_s / 1e9;
        let ramp_ns = self.options.ramp_ns as f64;
        // The integral of the rate is rate × t² / (2 ramp) within the ramp, and rate × (t - ramp / 2) after it.
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
        let mut schedule = Schedule::new(options);
        (0..count).map(|_| schedule.take()).collect()
    }

    proptest! {
        /// Whatever is asked in between, the instants are the same, in order, and hold the rate.
        #[test]
        fn instants_do_not_depend_on_completions(
            seed: u64,
            rate in 10.0f64..1e6,
            poisson: bool,
            asked in proptest::collection::vec(0u64..100_000_000_000, 1..50),
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let options = ScheduleOptions { seed, ..options(rate, arrivals) };
            let mut asked_between = Schedule::new(options);
            let mut last = 0;
            for (expected, now_ns) in instants(options, asked.len()).into_iter().zip(&asked) {
                asked_between.backlog(*now_ns / 1_000);
                let instant = asked_between.take();
                prop_assert_eq!(instant, expected);
                prop_assert!(instant >= last);
                last = instant;
            }
        }

        /// The gaps of Poisson arrivals have the mean and the spread of an exponential distribution: both are 1 / rate.
        #[test]
        fn poisson_gaps_are_exponential(seed: u64, rate in 10.0f64..1e5) {
            let count = 20_000;
            let all = instants(ScheduleOptions { seed, ..options(rate, Arrivals::Poisson) }, count);
            let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * rate / 1e9).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // Standard errors are 0.7 % and 2 %: seven of them are never left by chance.
            prop_assert!((mean - 1.0).abs() < 0.05, "mean {mean}");
            prop_assert!((variance - 1.0).abs() < 0.15, "variance {variance}");
            // A gap says nothing about the next: the correlation's standard error is 0.7 %.
            let pairs = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
            let correlation = pairs.sum::<f64>() / gaps.len() as f64 / variance;
            prop_assert!(correlation.abs() < 0.05, "correlation {correlation}");
        }

        /// A ramp takes away half of what would have come while it lasts.
        #[test]
        fn a_ramp_costs_half_of_its_own_transactions(poisson: bool, ramp_s in 1u64..20, rate in 1_000.0f64..5_000.0) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let ramp_ns = ramp_s * 1_000_000_000;
            let options = ScheduleOptions { start_ns: 0, ramp_ns, ..options(rate, arrivals) };
            let mut schedule = Schedule::new(options);
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
        let mut schedule = Schedule::new(ScheduleOptions { start_ns: 0, ..options(1_000.0, Arrivals::Constant) });
        assert_eq!(schedule.backlog(5_500_000), 6);
        assert_eq!([schedule.take(), schedule.take()], [0, 1_000_000]);
        assert_eq!(schedule.backlog(5_500_000), 4);
        for _ in 0..10 {
            schedule.take();
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
