//! Results in pieces that fit into messages.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::protocol::Outcome;

/// Bytes of a message for headers.
const HEADERS: usize = 4_096;
/// Even where the server would take more.
const LARGEST: usize = 512 << 10;
/// Unpacked.
const LARGEST_RESULT: u64 = 1 << 30;

/// Makes the id of a part, always the same, so that it can be published again.
pub fn part_id(session: &str, agent: &str, job: u64, part: u32) -> String {
    format!("{session}.{agent}.{job}.{part}")
}

/// Makes the ids of a result's parts; fails if it has too many.
pub fn part_ids(session: &str, agent: &str, job: u64, count: u32) -> Result<Vec<String>, String> {
    // Only the last piece may be smaller than the smallest.
    if u64::from(count) > LARGEST_RESULT / HEADERS as u64 {
        return Err(format!("it is said to have {count} pieces, more than one of {LARGEST_RESULT} bytes has"));
    }
    Ok((0..count).map(|part| part_id(session, agent, job, part)).collect())
}

/// Splits a part's id into the result's common beginning and the part's number.
pub fn split_part_id(id: &str) -> Option<(&str, u32)> {
    let (result, part) = id.rsplit_once('.')?;
    Some((result, part.parse().ok()?))
}

/// Size of the pieces for a message of at most this many bytes.
pub fn piece_bytes(largest_message: usize) -> usize {
    largest_message.saturating_sub(HEADERS).clamp(HEADERS, LARGEST)
}

/// Compresses bytes, and cuts them into pieces.
pub fn pack(bytes: &[u8], piece_bytes: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).map_err(|error| error.to_string())?;
    let packed = packer.finish().map_err(|error| error.to_string())?;
    Ok(packed.chunks(piece_bytes.max(1)).map(<[u8]>::to_vec).collect())
}

/// Joins pieces, and decompresses them; fails beyond the largest result.
pub fn unpack(pieces: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let packed = pieces.concat();
    let mut bytes = Vec::new();
    ZlibDecoder::new(&packed[..]).take(LARGEST_RESULT).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 == LARGEST_RESULT {
        return Err(format!("it is larger than {LARGEST_RESULT} bytes"));
    }
    Ok(bytes)
}

/// Writes a result as JSON, packed into pieces that fit a message.
pub fn split_outcome(outcome: &Outcome, largest_message: usize) -> Result<Vec<Vec<u8>>, String> {
    let json = serde_json::to_vec(outcome).map_err(|error| error.to_string())?;
    pack(&json, piece_bytes(largest_message))
}

/// Reads the result that these pieces hold.
pub fn join_outcome(pieces: &[Vec<u8>]) -> Result<Outcome, String> {
    serde_json::from_slice(&unpack(pieces)?).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Recorded;
    use model::{Case, Point, RunRecord, RunState};

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
        let record = RunRecord::without_result(RunState::Failed, reason);
        let case = Case {
            benchmark: "b".to_owned(),
            workload: "w".to_owned(),
            system: "s".to_owned(),
            point: Point::default(),
        };
        let recorded = Recorded { case, seed: 7, began_unix_ms: 0, published_unix_ms: 0, record, tasks: Vec::new() };
        let pieces = split_outcome(&Outcome::Record(Box::new(recorded.clone())), 20_000).unwrap();
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.len() <= 20_000));
        let Outcome::Record(read) = join_outcome(&pieces).unwrap() else { panic!() };
        assert_eq!((read.record, read.seed), (recorded.record, 7));
        assert!(join_outcome(&pieces[1..]).is_err() && join_outcome(&pieces[..pieces.len() - 1]).is_err());
        assert_eq!(split_part_id(&part_id("0f", "a-1", 12, 3)), Some(("0f.a-1.12", 3)));
    }

    #[test]
    fn an_agent_cannot_make_the_conductor_wait_for_billions_of_pieces() {
        assert_eq!(part_ids("0f", "a", 1, 2).unwrap(), ["0f.a.1.0", "0f.a.1.1"]);
        assert!(part_ids("0f", "a", 1, u32::MAX).unwrap_err().contains("4294967295 pieces"));
    }
}
