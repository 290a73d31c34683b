//! The order of the runs. A seed's order never changes, since a plan is run again to repeat an experiment: the
//! generator is written out here, and a test pins it.

use super::Plan;
use crate::run::PlannedRun;
use crate::schedule::Order;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): passes BigCrush, and
/// every seed is as good as any other.
struct SplitMix64(u64);

/// Keeps the order apart from other random streams of the same seed.
const ORDER_STREAM: u64 = 0x6f72_6465_7200_0001;

impl SplitMix64 {
    /// Draws the next 64 random bits.
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number below `n`, each as likely as the others.
    /// Draws from the incomplete last part of the range are repeated.
    fn draw_below_count(&mut self, n: u64) -> u64 {
        let incomplete = n.wrapping_neg() % n;
        loop {
            let draw = self.next_u64();
            if draw >= incomplete {
                return draw % n;
            }
        }
    }

    /// Shuffles the items (Fisher–Yates, as in Knuth's algorithm P).
    fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            let chosen = self.draw_below_count(last as u64 + 1) as usize;
            items.swap(last, chosen);
        }
    }
}

impl Plan {
    /// Lists every run in the order in which it runs: `schedule.rounds` runs of each of [`Plan::cases`].
    ///
    /// Interleaved: each round holds every case once, shuffled. The first rounds are the same however many follow, so
    /// an experiment can be extended. Sequential: all rounds of the first case, then all of the next.
    pub fn run_order(&self) -> Vec<PlannedRun> {
        let rounds = self.schedule.rounds;
        let points: usize = self.benchmarks.iter().map(|benchmark| benchmark.points.len()).sum();
        // A valid plan has far fewer; see `MAX_CASES`.
        let cases = u32::try_from(points.saturating_mul(self.systems.len())).unwrap_or(u32::MAX);
        let pairs: Vec<(u32, u32)> = match self.schedule.order {
            Order::Sequential => (0..cases).flat_map(|case| (0..rounds).map(move |round| (round, case))).collect(),
            Order::Interleaved => {
                let mut random = SplitMix64(self.schedule.seed ^ ORDER_STREAM);
                let mut pairs = Vec::new();
                for round in 0..rounds {
                    let mut shuffled: Vec<u32> = (0..cases).collect();
                    random.shuffle(&mut shuffled);
                    pairs.extend(shuffled.into_iter().map(|case| (round, case)));
                }
                pairs
            }
        };
        (0..).zip(pairs).map(|(position, (round, case))| PlannedRun { position, round, case }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn is_the_published_generator() {
        // The first draws from seed 1234567, as in the reference implementation's test vectors.
        let mut random = SplitMix64(1_234_567);
        let draws: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(draws, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn below_is_even() {
        let mut random = SplitMix64(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.draw_below_count(7) as usize] += 1;
        }
        // Six degrees of freedom: 30 is beyond p = 0.0001.
        let chi_square: f64 = counts.iter().map(|n| (f64::from(*n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 30.0, "{counts:?}");
        assert_eq!(random.draw_below_count(1), 0);
    }

    #[test]
    fn every_permutation_is_as_likely() {
        let mut random = SplitMix64(2);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // 23 degrees of freedom: 60 is beyond p = 0.0001.
        let chi_square: f64 = counts.values().map(|n| (f64::from(*n) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi_square < 60.0, "{counts:?}");
    }
}
