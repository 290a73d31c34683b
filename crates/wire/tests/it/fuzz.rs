use std::collections::BTreeSet;

use wire::{Limits, WireError};

pub const LIMITS: Limits =
    Limits { message_bytes: 20_000, handshake_message_bytes: 2000, handshake_total_bytes: 8000, retained_bytes: 100 };
/// A vector may hold up to twice what was put into it.
pub const MEMORY_BOUND_BYTES: usize = 2 * 20_000 + 16;

/// A small generator (SplitMix64); quality does not matter here, repeatability does.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Numbers at which parsers break.
const EDGES: [u32; 10] = [0, 1, 3, 4, 5, 0x7f, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.below(4) {
        if bytes.is_empty() {
            bytes.extend(rng.bytes(8));
        }
        let at = rng.below(bytes.len());
        match rng.below(7) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.next() as u8,
            2 => bytes.truncate(at),
            3 => {
                let inserted = rng.below(9);
                let inserted = rng.bytes(inserted);
                bytes.splice(at..at, inserted);
            }
            4 => {
                let end = (at + rng.below(12)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                let edge = EDGES[rng.below(EDGES.len())].to_be_bytes();
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&edge[..end - at]);
            }
            _ => {
                let end = (at + rng.below(64)).min(bytes.len());
                let copied = bytes[at..end].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, copied);
            }
        }
    }
}

/// Noise, the stream as it is, or damaged.
pub fn some(rng: &mut Rng, valid: &[u8]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    match rng.below(8) {
        0 => {
            let count = rng.below(600);
            bytes = rng.bytes(count);
        }
        1 => {}
        _ => mutate(rng, &mut bytes),
    }
    bytes
}

/// Some handshakes succeed, and the others fail in each of these ways.
pub fn hostile_handshakes_end(handshake: impl Fn(&mut Rng) -> Result<(), WireError>, expected: [&str; 6]) {
    let (mut in_count, mut errors) = (0, BTreeSet::new());
    for seed in 0..4000 {
        match handshake(&mut Rng::new(seed)) {
            Ok(()) => in_count += 1,
            Err(error) => {
                let text = format!("{error:?}");
                errors.insert(text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(in_count > 100, "{in_count}");
    for word in expected {
        assert!(errors.contains(word), "{word} never happened: {errors:?}");
    }
}

/// Cuts a stream into chunks of random sizes, small ones mostly.
pub fn chunks<'b>(rng: &mut Rng, bytes: &'b [u8]) -> Vec<&'b [u8]> {
    let mut rest = bytes;
    let mut chunks = Vec::new();
    let largest = [1, 3, 9, 50, 5000][rng.below(5)];
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at((1 + rng.below(largest)).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}
