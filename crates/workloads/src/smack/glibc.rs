//! The numbers that `rand()` of the GNU C library gives a program that has never called `srand()`.
//!
//! super-smack's data generator is such a program, so its files are the same on every run. The generator is the
//! additive feedback generator that `random(3)` describes, with its default state of 31 words.

const DEGREE: usize = 31;
/// How far behind the newest word the second summand is.
const SEPARATION: usize = 3;
/// The seed where `srand` is not called.
const DEFAULT_SEED: i64 = 1;
/// The words are first filled with the multiplicative generator of Park and Miller ("Random number generators: good
/// ones are hard to find", CACM 31(10), 1988).
const MULTIPLIER: i64 = 16_807;
const MODULUS: i64 = 0x7fff_ffff;

#[derive(Clone, Debug)]
pub(super) struct Rand {
    state: [u32; DEGREE],
    /// The word that becomes the next.
    at: usize,
}

impl Rand {
    /// Makes the generator of a program that has just started and never called `srand()`.
    pub(super) fn unseeded() -> Rand {
        let mut word = DEFAULT_SEED;
        let mut state = [0; DEGREE];
        for place in &mut state {
            *place = word as u32;
            word = word * MULTIPLIER % MODULUS;
        }
        let mut rand = Rand { state, at: SEPARATION };
        // The library throws the first ten rounds away.
        for _ in 0..10 * DEGREE {
            rand.next_rand();
        }
        rand
    }

    /// Draws the next number of `rand()`: from 0 to 2,147,483,647.
    pub(super) fn next_rand(&mut self) -> u32 {
        // Without divisions: it is called millions of times.
        let behind = if self.at < SEPARATION { self.at + DEGREE - SEPARATION } else { self.at - SEPARATION };
        let sum = self.state[self.at].wrapping_add(self.state[behind]);
        self.state[self.at] = sum;
        self.at = if self.at + 1 == DEGREE { 0 } else { self.at + 1 };
        sum >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_library_s() {
        let mut rand = Rand::unseeded();
        let first: Vec<u32> = (0..5).map(|_| rand.next_rand()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793]);
        // The next million, summed by a C program on Debian 12's glibc 2.36.
        assert_eq!((0..1_000_000).map(|_| u64::from(rand.next_rand())).sum::<u64>(), 1_073_752_234_616_439);
    }
}
