//! Bytes that cannot be compressed, and that no other block has.

/// Generators side by side, for a vector unit.
const LANES: usize = 16;
const LANE_BYTES: usize = 8;
const ROUND_BYTES: usize = LANES * LANE_BYTES;

/// A stream of fresh incompressible bytes, the same for the same seed.
///
/// Marsaglia's xorshift64 ("Xorshift RNGs", 2003) in 16 lanes, seeded by SplitMix64. Poor randomness is enough: no
/// compressor looks for relations over GF(2). It costs about as much as copying (some 0.04 ns a byte), so every byte
/// of every write can be fresh. Stamping a number into each sector of a repeated block escapes deduplication by
/// blocks, but not a filesystem that compresses several neighbouring writes in one record: there, all but the stamps
/// repeats.
#[derive(Clone, Debug)]
pub struct Content {
    lanes: [u64; LANES],
}

impl Content {
    /// Two workers with one seed write the same blocks: give each its own.
    pub fn new(seed: u64) -> Content {
        let mut state = seed;
        // A lane of zero would stay zero.
        Content { lanes: std::array::from_fn(|_| split_mix(&mut state) | 1) }
    }

    /// Fills all of `bytes` with the stream's next.
    pub fn fill_next(&mut self, bytes: &mut [u8]) {
        let mut lanes = self.lanes;
        let mut rounds = bytes.chunks_exact_mut(ROUND_BYTES);
        for round in &mut rounds {
            step_lanes(&mut lanes);
            for (word, lane) in round.chunks_exact_mut(LANE_BYTES).zip(&lanes) {
                word.copy_from_slice(&lane.to_le_bytes());
            }
        }
        let rest = rounds.into_remainder();
        if !rest.is_empty() {
            step_lanes(&mut lanes);
            for (word, lane) in rest.chunks_mut(LANE_BYTES).zip(&lanes) {
                word.copy_from_slice(&lane.to_le_bytes()[..word.len()]);
            }
        }
        self.lanes = lanes;
    }
}

/// Steps the generators, one in each lane.
#[inline(always)]
fn step_lanes(lanes: &mut [u64; LANES]) {
    for lane in lanes {
        *lane ^= *lane << 13;
        *lane ^= *lane >> 7;
        *lane ^= *lane << 17;
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut hash = *state;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_follows_its_seed_however_it_is_cut() {
        let mut whole = vec![0; 4096];
        Content::new(7).fill_next(&mut whole);
        let mut parts = vec![0; 4096];
        let mut content = Content::new(7);
        let (first, second) = parts.split_at_mut(1024);
        content.fill_next(first);
        content.fill_next(second);
        assert_eq!(whole, parts);
        let mut other = vec![0; 4096];
        Content::new(8).fill_next(&mut other);
        assert_ne!(whole, other);
        let mut odd = vec![0; 13];
        Content::new(7).fill_next(&mut odd);
        assert_eq!(odd, whole[..13]);
    }

    #[test]
    fn no_block_comes_twice_and_none_is_compressible() {
        let mut content = Content::new(1);
        let mut bytes = vec![0; 1 << 20];
        content.fill_next(&mut bytes);
        let sectors: std::collections::HashSet<&[u8]> = bytes.chunks_exact(512).collect();
        assert_eq!(sectors.len(), bytes.len() / 512);
        let packed = miniz_oxide::deflate::compress_to_vec(&bytes, 1).len();
        assert!(packed >= bytes.len(), "{packed}");
    }
}
