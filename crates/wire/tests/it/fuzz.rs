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
