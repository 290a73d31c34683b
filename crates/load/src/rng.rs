//! Seeded random numbers for load.

use stats::rng::split_mix;

#[derive(Clone, Debug)]
pub struct Rng(stats::rng::Rng);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(stats::rng::Rng::new(seed))
    }

    /// Independent of other streams' progress, so that shards need no coordination and retries repeat values.
    pub fn of_transaction(seed: u64, client: u32, index: u64) -> Rng {
        let mut mix = seed;
        let mut key = split_mix(&mut mix) ^ u64::from(client);
        let key = split_mix(&mut key) ^ index;
        Rng::new(key)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `lo..=hi`; `lo > hi` gives `lo`.
    pub fn int_between(&mut self, lo: i64, hi: i64) -> i64 {
        if lo >= hi {
            return lo;
        }
        let range = (hi as u64).wrapping_sub(lo as u64);
        lo.wrapping_add(self.below_or_equal(range) as i64)
    }

    /// Draws from `0..=range`, by rejection on the fewest bits.
    fn below_or_equal(&mut self, range: u64) -> u64 {
        let shift = range.leading_zeros().min(63);
        loop {
            let draw = self.next_u64() >> shift;
            if draw <= range {
                return draw;
            }
        }
    }

    /// Draws from [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        self.0.next_f64()
    }

    /// Draws from the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Draws from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the reference xoshiro256** for splitmix64 seed 0, from `rand_xoshiro`'s
    /// `Xoshiro256StarStar::seed_from_u64(0)`.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut rng = Rng::new(0);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [11091344671253066420, 13793997310169335082, 1900383378846508768]);
    }

    #[test]
    fn ranges_are_inclusive_and_even() {
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[(rng.int_between(-2, 3) + 2) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
        assert_eq!(rng.int_between(5, 5), 5);
        for _ in 0..100 {
            let _ = rng.int_between(i64::MIN, i64::MAX);
        }
    }

    #[test]
    fn a_transaction_draws_the_same_values_again() {
        fn draw(client: u32, index: u64) -> u64 {
            Rng::of_transaction(42, client, index).next_u64()
        }
        assert_eq!(draw(3, 9), draw(3, 9));
        assert_ne!(draw(3, 9), draw(9, 3));
        assert_ne!(draw(0, 1), draw(1, 0));
    }
}
