//! Results in pieces that fit into messages.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::protocol::Outcome;

/// What of a message is left to its headers, in bytes.
const HEADERS: usize = 4_096;
/// No piece is larger than this, in bytes, even where the server would take it.
const LARGEST: usize = 512 << 10;
/// No result is larger than this once it is unpacked, in bytes.
const LARGEST_RESULT: u64 = 1 << 30;

/// The id of a piece: the same for whoever publishes it again.
pub fn id(session: &str, agent: &str, job: u64, part: u32) -> String {
    format!("{session}.{agent}.{job}.{part}")
}

/// Packs a result, and cuts it.
///
/// # Errors
/// It cannot be written as JSON, such as a figure that is no number.
pub fn split(outcome: &Outcome, largest_message: usize) -> Result<Vec<Vec<u8>>, String> {
    let json = serde_json::to_vec(outcome).map_err(|error| error.to_string())?;
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&json).map_err(|error| error.to_string())?;
    let packed = packer.finish().map_err(|error| error.to_string())?;
    let piece = largest_message.saturating_sub(HEADERS).clamp(HEADERS, LARGEST);
    Ok(packed.chunks(piece).map(<[u8]>::to_vec).collect())
}

/// Puts the pieces together again.
///
/// # Errors
/// They are no result.
pub fn join(pieces: &[Vec<u8>]) -> Result<Outcome, String> {
    let packed = pieces.concat();
    let mut json = Vec::new();
    ZlibDecoder::new(&packed[..]).take(LARGEST_RESULT).read_to_end(&mut json).map_err(|error| error.to_string())?;
    serde_json::from_slice(&json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{TrialRecord, TrialState};

    #[test]
    fn pieces_make_the_whole_again() {
        // Text that does not pack.
        let mut state = 1_u64;
        let reason: String = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (state >> 33) as u8 % 90)
        })
        .take(100_000)
        .collect();
        let record = TrialRecord::without_result(TrialState::Failed, reason);
        let pieces = split(&Outcome::Record(Box::new(record.clone())), 20_000).unwrap();
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.len() <= 20_000));
        let Outcome::Record(read) = join(&pieces).unwrap() else { panic!() };
        assert_eq!(*read, record);
        assert!(join(&pieces[1..]).is_err());
    }
}
