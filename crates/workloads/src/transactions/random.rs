//! pgbench's random numbers, draw for draw: the generator, how it is seeded, and the distributions.
//!
//! The numbers of a seed are part of a result. `tests/pgbench.rs` holds them against the real `pgbench`.

use std::ops::Range;

use stats::rng::split_mix;

/// xoroshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021), its
/// state filled by splitmix64 (Steele, Lea and Flood, OOPSLA 2014): PostgreSQL's generator from version 15 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    s0: u64,
    s1: u64,
}

/// Replaces an all-zero state, which would produce only zeros: Knuth's constants.
const NEVER_ZERO: Generator = Generator { s0: 0x5851_f42d_4c95_7f2d, s1: 0x1405_7b7e_f767_814f };

impl Generator {
    /// Makes a generator from a seed.
    pub fn new(seed: u64) -> Generator {
        let mut mix = seed;
        let generator = Generator { s0: split_mix(&mut mix), s1: split_mix(&mut mix) };
        if generator.s0 == 0 && generator.s1 == 0 { NEVER_ZERO } else { generator }
    }

    /// Draws the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let (s0, s1) = (self.s0, self.s1 ^ self.s0);
        let result = s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s0 = s0.rotate_left(24) ^ s1 ^ (s1 << 16);
        self.s1 = s1.rotate_left(37);
        result
    }

    /// Draws a number in [0, 1) with 52 random bits.
    pub fn unit_double(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 * (-52f64).exp2()
    }

    /// Draws a whole number in `0..=range`, by rejection on the fewest bits that hold it; a range of 0 draws nothing.
    pub fn up_to(&mut self, range: u64) -> u64 {
        if range == 0 {
            return 0;
        }
        let shift = range.leading_zeros();
        loop {
            let draw = self.next_u64() >> shift;
            if draw <= range {
                return draw;
            }
        }
    }

    /// Draws `random(lo, hi)`; the caller has checked that `lo <= hi`.
    pub fn uniform_between(&mut self, lo: i64, hi: i64) -> i64 {
        lo.wrapping_add(self.up_to(hi.wrapping_sub(lo) as u64) as i64)
    }

    /// Draws `random_exponential(lo, hi, parameter)`: the upper end's density is e^-parameter of the lower's.
    pub fn exponential_between(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.unit_double();
        at_share(lo, hi, -(cut + (1.0 - cut) * uniform).ln() / parameter)
    }

    /// Draws `random_gaussian(lo, hi, parameter)`: the ends are `parameter` standard deviations from the middle.
    ///
    /// Box and Muller, 1958, redrawn beyond the ends.
    pub fn gaussian_between(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        loop {
            let radius = (-2.0 * (1.0 - self.unit_double()).ln()).sqrt();
            let deviation = radius * (2.0 * std::f64::consts::PI * (1.0 - self.unit_double())).sin();
            if (-parameter..parameter).contains(&deviation) {
                return at_share(lo, hi, (deviation + parameter) / (parameter * 2.0));
            }
        }
    }

    /// Draws `random_zipfian(lo, hi, s)`, by rejection (Devroye, "Non-Uniform Random Variate Generation", 1986, p. 550).
    pub fn zipfian_between(&mut self, lo: i64, hi: i64, s: f64) -> i64 {
        let n = hi.wrapping_sub(lo).wrapping_add(1);
        if n <= 1 {
            return lo;
        }
        let b = 2f64.powf(s - 1.0);
        loop {
            let (u, v) = (self.unit_double(), self.unit_double());
            let x = u.powf(-1.0 / (s - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(s - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= n as f64 {
                return lo.wrapping_sub(1).wrapping_add(x as i64);
            }
        }
    }
}

/// The whole number in `lo..=hi` at a share in [0, 1) of the range.
fn at_share(lo: i64, hi: i64, share: f64) -> i64 {
    let count = hi.wrapping_sub(lo).wrapping_add(1);
    lo.wrapping_add((count as f64 * share) as i64)
}

/// The base generator's draws, in pgbench's order: one for each client, one for `default_seed`, then three for each
/// thread (choice of script, throttle, sampled log).
///
/// Étalon has no threads in a script's sense: client `i` draws as it does in `pgbench -c n -j n`, where thread `i`
/// carries client `i` alone. With one client that is every pgbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    pub functions: Generator,
    pub choice: Generator,
    pub default_seed: i64,
}

/// Whether `default_seed` is drawn, or defined by the user and then not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultSeed {
    /// It takes its draw.
    Drawn,
    /// It takes none.
    Defined,
}

impl Seeds {
    /// Computes the seeds of `client` (from 0) of `clients`, as pgbench draws them.
    pub fn new(seed: u64, client: u32, clients: u32, default_seed: DefaultSeed) -> Seeds {
        let after = client.saturating_add(1);
        let of_range = Seeds::seeds_of_clients(seed, client..after, clients, default_seed);
        of_range.into_iter().next().unwrap_or_else(|| Seeds::seeds_beyond_count(seed, client))
    }

    /// Computes the seeds of several clients with all draws made once.
    ///
    /// Thousands of clients that each drew all the others' would take seconds.
    pub fn seeds_of_clients(seed: u64, range: Range<u32>, clients: u32, default_seed: DefaultSeed) -> Vec<Seeds> {
        let mut base = Generator::new(seed);
        let mut all: Vec<Seeds> = range.clone().map(|client| Seeds::seeds_beyond_count(seed, client)).collect();
        for number in 0..clients {
            let draw = base.next_u64();
            let place = number.checked_sub(range.start).and_then(|place| all.get_mut(place as usize));
            if let Some(seeds) = place {
                seeds.functions = Generator::new(draw);
            }
        }
        let default_seed = match default_seed {
            DefaultSeed::Drawn => base.next_u64() as i64,
            DefaultSeed::Defined => 0,
        };
        for _ in 0..u64::from(range.start) * 3 {
            base.next_u64();
        }
        for seeds in &mut all {
            seeds.default_seed = default_seed;
            seeds.choice = Generator::new(base.next_u64());
            base.next_u64();
            base.next_u64();
        }
        all
    }

    /// Computes the seeds of a client beyond the count, which has none of pgbench's.
    fn seeds_beyond_count(seed: u64, client: u32) -> Seeds {
        let own = Generator::new(hash_murmur2(i64::from(client), seed) as u64);
        Seeds { functions: own, choice: own, default_seed: 0 }
    }
}

/// Computes `hash_murmur2(value, seed)` (Appleby's MurmurHash64A of the eight bytes).
pub fn hash_murmur2(value: i64, seed: u64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mut k = (value as u64).wrapping_mul(MULTIPLIER);
    k = (k ^ (k >> 47)).wrapping_mul(MULTIPLIER);
    let mut hash = ((seed ^ MULTIPLIER.wrapping_mul(8)) ^ k).wrapping_mul(MULTIPLIER);
    hash = (hash ^ (hash >> 47)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 47)) as i64
}

/// Computes `hash_fnv1a(value, seed)` (Fowler, Noll and Vo) of the eight bytes, the low one first.
pub fn hash_fnv1a(value: i64, seed: u64) -> i64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    value
        .to_le_bytes()
        .iter()
        .fold(start, |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)) as i64
}

/// Computes `permute(value, size, seed)`: the value's position in a permutation of `0..size` that the seed chooses.
///
/// Six rounds of bijections: the lower and the upper half that is a power of two long are each multiplied by an odd
/// number, xored and rotated, then everything is shifted by an offset modulo the size.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Generator::new(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    let mut v = (value as u64) % size;
    for _ in 0..6 {
        let (odd, xor) = ((random.next_u64() & mask) | 1, random.next_u64() & mask);
        if v <= mask {
            v = stir(v, odd, xor, mask, bits);
        }
        let (odd, xor) = ((random.next_u64() & mask) | 1, random.next_u64() & mask);
        let from_the_top = size - 1 - v;
        if from_the_top <= mask {
            v = size - 1 - stir(from_the_top, odd, xor, mask, bits);
        }
        // Both are below 2^63: the sum fits.
        v = (v + random.up_to(size - 1)) % size;
    }
    v as i64
}

/// Does one round of a permutation: multiplies a number, and rotates its bits within the mask.
fn stir(v: u64, odd: u64, xor: u64, mask: u64, bits: u32) -> u64 {
    let v = (v.wrapping_mul(odd) ^ xor) & mask;
    ((v << 1) & mask) | (v >> (bits - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_their_limits() {
        let mut random = Generator::new(7);
        for _ in 0..2_000 {
            assert!((-3..=9).contains(&random.uniform_between(-3, 9)));
            assert!((-3..=9).contains(&random.exponential_between(-3, 9, 5.0)));
            assert!((-3..=9).contains(&random.gaussian_between(-3, 9, 2.0)));
            assert!((-3..=9).contains(&random.zipfian_between(-3, 9, 1.07)));
            assert!((0.0..1.0).contains(&random.unit_double()));
        }
        assert_eq!(random.zipfian_between(4, 4, 1.5), 4);
        let before = random;
        assert_eq!(random.uniform_between(5, 5), 5);
        assert_eq!(random, before, "a range of one number consumes no draw");
    }

    #[test]
    fn a_permutation_takes_every_place_once() {
        for size in [1, 2, 3, 4, 7, 8, 100, 1_000] {
            let mut places: Vec<i64> = (0..size).map(|i| permute(i, size, 42)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..size).collect::<Vec<_>>());
        }
        assert!((0..i64::MAX).contains(&permute(i64::MIN, i64::MAX, -1)));
    }

    #[test]
    fn clients_have_seeds_of_their_own_and_one_default_seed() {
        let seeds: Vec<Seeds> = (0..4).map(|client| Seeds::new(5, client, 4, DefaultSeed::Drawn)).collect();
        assert!(seeds.iter().all(|s| s.default_seed == seeds[0].default_seed));
        assert_ne!(seeds[0].functions, seeds[1].functions);
        assert_ne!(seeds[0].choice, seeds[1].choice);
        assert_eq!(Seeds::new(5, 9, 4, DefaultSeed::Drawn).default_seed, seeds[0].default_seed);
        assert_eq!(Seeds::seeds_of_clients(5, 1..4, 4, DefaultSeed::Drawn), seeds[1..]);
        let defined = Seeds::seeds_of_clients(5, 3..6, 4, DefaultSeed::Defined);
        assert_eq!(defined[0], Seeds::new(5, 3, 4, DefaultSeed::Defined));
        assert_eq!(defined[2], Seeds::new(5, 5, 4, DefaultSeed::Defined));
        assert_ne!(defined[1].functions, defined[2].functions);
    }
}
