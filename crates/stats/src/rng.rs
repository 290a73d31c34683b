//! A small generator: the same seed gives the same load, and the same p-value, on every platform.

/// xoshiro256**, seeded through SplitMix64 (Blackman & Vigna, "Scrambled linear pseudorandom number generators",
/// ACM TOMS 47, 2021; reference code at prng.di.unimi.it, public domain). Not for secrets. A seed's numbers are part of
/// results and must never change.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Makes a generator whose whole sequence follows from `seed`. Any seed is good, 0 included.
    pub fn new(seed: u64) -> Rng {
        let mut counter = seed;
        Rng { state: std::array::from_fn(|_| split_mix(&mut counter)) }
    }

    /// Draws the next 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// Draws a number from [0, 1), with 53 random bits.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws a uniform number in `0..bound`; 0 when `bound` is 0.
    /// The high half of a 128-bit product (Lemire, ACM TOMACS 29, 2019) without his rejection step: the bias is below
    /// `bound` / 2^64, and every call costs one draw.
    pub fn draw_below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// Advances a SplitMix64 counter by one step and gives its 64 bits (Steele, Lea & Flood, OOPSLA 2014).
#[inline]
pub fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequence that the authors' splitmix64.c prints for this seed.
    #[test]
    fn split_mix_follows_the_reference() {
        let mut counter = 1_234_567;
        let first: Vec<u64> = (0..3).map(|_| split_mix(&mut counter)).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    /// xoshiro256starstar.c with state 1, 2, 3, 4; also the known-answer test of the crate rand_xoshiro.
    #[test]
    fn xoshiro_follows_the_reference() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..5).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360]);
        assert_eq!(Rng::new(42).next_u64(), 1_546_998_764_402_558_742);
    }

    #[test]
    fn draws_stay_in_range_and_spread() {
        let mut rng = Rng::new(0);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[rng.draw_below(6)] += 1;
            assert!((0.0..1.0).contains(&rng.next_f64()));
        }
        // Binomial sd is 91: five of them either side.
        assert!(counts.iter().all(|&c| (9_544..=10_456).contains(&c)), "{counts:?}");
        assert_eq!(rng.draw_below(0), 0);
    }
}
