//! How much of a sample a compressor or deduplicating disk would save.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use crate::blocks::{BlockDone, BlockFile, BlockOp, BlockRing, RingForm, RingOptions, split_mix};

/// Bytes that a filesystem compresses at once.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// Spread over the target: 8 MiB.
const PIECES: u64 = 128;
/// Unit of most deduplicating storage.
const UNIT_BYTES: usize = 4096;
/// Finds repeats within 32 KiB and uneven byte frequencies, like fast compression in storage.
const LEVEL: u8 = 1;

/// Share that compression saves, from 0 to 1.
pub(super) fn compression_saving(opened: &BlockFile, span_bytes: u64) -> io::Result<f64> {
    let file = opened.file.try_clone()?;
    let options = RingOptions { form: RingForm::Blocking, ..RingOptions::new(1, PIECE_BYTES as u32) };
    let mut ring = BlockRing::new(&options, vec![file]).map_err(io::Error::other)?;
    let mut done: Vec<BlockDone> = Vec::with_capacity(1);
    let mut seen = HashSet::new();
    let (mut sampled, mut packed) = (0_u64, 0_u64);
    for offset in random_offsets(span_bytes, &mut crate::clock::now_ns()) {
        let read = BlockOp::Read { offset, bytes: PIECE_BYTES as u32 };
        ring.submit(0, 0, read).map_err(io::Error::other)?;
        ring.reap(u64::MAX, &mut done)?;
        let bytes = match done.pop().map(|done| done.result) {
            Some(Ok(bytes)) => bytes as usize,
            Some(Err(code)) => return Err(io::Error::from_raw_os_error(code)),
            None => 0,
        };
        let piece = ring.slot_buffer(0).and_then(|buffer| buffer.get(..bytes)).unwrap_or_default();
        sampled += bytes as u64;
        packed += left_over(piece, &mut seen);
    }
    forget(opened);
    // An empty sample proves nothing.
    Ok(if sampled == 0 { 1.0 } else { 1.0 - packed as f64 / sampled as f64 })
}

/// Bytes of a piece after deduplication and compression.
fn left_over(piece: &[u8], seen: &mut HashSet<u64>) -> u64 {
    let mut fresh = Vec::with_capacity(piece.len());
    for unit in piece.chunks(UNIT_BYTES) {
        let mut hasher = DefaultHasher::new();
        unit.hash(&mut hasher);
        // 64 bits collide once in 10^12 samples of some thousand units.
        if seen.insert(hasher.finish()) {
            fresh.extend_from_slice(unit);
        }
    }
    let packed = miniz_oxide::deflate::compress_to_vec(&fresh, LEVEL).len();
    // A compressor stores what would grow.
    packed.min(fresh.len()) as u64
}

/// A random place in each of equal parts of the span, in order.
fn random_offsets(span_bytes: u64, seed: &mut u64) -> Vec<u64> {
    let piece_bytes = PIECE_BYTES as u64;
    let places = span_bytes.div_ceil(piece_bytes).max(1);
    let pieces = places.min(PIECES);
    let offsets = (0..pieces).map(|part| {
        let (begin, end) = (part * places / pieces, (part + 1) * places / pieces);
        begin + split_mix(seed) % (end - begin).max(1)
    });
    offsets.map(|place| place * piece_bytes).collect()
}

/// Drops the sample from the page cache.
#[cfg(target_os = "linux")]
fn forget(opened: &BlockFile) {
    if !opened.cache.is_direct() {
        // Ignored advice leaves a few megabytes in the cache.
        let _ = rustix::fs::fadvise(&opened.file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

/// Does nothing: the page cache takes no advice here.
#[cfg(not(target_os = "linux"))]
fn forget(_opened: &BlockFile) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Content;

    fn share(bytes: &[u8]) -> f64 {
        let mut seen = HashSet::new();
        let left: u64 = bytes.chunks(PIECE_BYTES).map(|piece| left_over(piece, &mut seen)).sum();
        1.0 - left as f64 / bytes.len() as f64
    }

    #[test]
    fn what_compresses_or_repeats_shows() {
        let mut fresh = vec![0; 4 * PIECE_BYTES];
        Content::new(3).fill_next(&mut fresh);
        assert_eq!(share(&fresh), 0.0);
        assert!(share(&vec![0; PIECE_BYTES]) > 0.99);
        let counting: Vec<u8> = (0..PIECE_BYTES).map(|place| place as u8).collect();
        assert!(share(&counting) > 0.9, "the pattern that diskspd writes unless told otherwise");
        // Six random bits a byte: no repeats, and a quarter to save.
        let letters: Vec<u8> = fresh.iter().map(|byte| b'0' + byte % 64).collect();
        let saved = share(&letters);
        assert!((0.2..0.3).contains(&saved), "{saved}");
        // A pool of random bytes, written again and again.
        let pool: Vec<u8> = fresh[..PIECE_BYTES].repeat(4);
        assert!((share(&pool) - 0.75).abs() < 0.01);
        let mostly: Vec<u8> = [&fresh[..], &vec![0; PIECE_BYTES / 8]].concat();
        assert!(share(&mostly) > 0.01);
    }

    #[test]
    fn places_are_spread_and_inside() {
        let mut seed = 1;
        let few = random_offsets(3 * PIECE_BYTES as u64, &mut seed);
        assert_eq!(few, [0, PIECE_BYTES as u64, 2 * PIECE_BYTES as u64]);
        assert_eq!(random_offsets(100, &mut seed), [0]);
        let span = 10 << 30;
        let many = random_offsets(span, &mut seed);
        assert_eq!(many.len(), PIECES as usize);
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]) && many[127] < span);
        assert!(many[127] > span / 128 * 127 && many[0] < span / 128);
    }
}
