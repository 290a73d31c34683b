//! The texts of a plan's files on their way to agents, by hash, once per session.
//!
//! An agent opens no file for a conductor. A script's words may be larger than a message, so texts go ahead of cases,
//! packed and in pieces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use load::error::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use workloads::texts::NamedTexts;

use crate::parts;

/// Bytes of incomplete texts that are kept.
const MOST_COMING_BYTES: usize = 1 << 30;
/// Approximate overhead per piece, so that tiny ones are limited too.
const PIECE_OVERHEAD_BYTES: usize = 256;

/// SHA-256 in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TextId(String);

impl TextId {
    /// Makes the id of a text: its hash.
    fn from_text(text: &str) -> TextId {
        TextId(Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TextPiece {
    pub text: TextId,
    /// Number of the piece, from 0.
    pub number: u32,
    /// Pieces of the text.
    pub of: u32,
    pub packed: String,
}

/// Texts that the conductor has read, or that an agent was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextCache(Arc<Mutex<CachedTexts>>);

#[derive(Debug, Default)]
struct CachedTexts {
    texts: BTreeMap<TextId, Arc<str>>,
    coming: BTreeMap<TextId, BTreeMap<u32, Vec<u8>>>,
    /// Received since nothing was incomplete.
    coming_bytes: usize,
}

impl CachedTexts {
    /// Drops all texts that have come in part.
    fn forget_incomplete(&mut self) {
        self.coming.clear();
        self.coming_bytes = 0;
    }
}

/// Makes the failure of a text that cannot be taken in.
fn text_failure(cause: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Other, "take in a text that the plan's scripts name", cause.into())
}

impl TextCache {
    /// Locks the texts, even after a panic.
    fn lock_texts(&self) -> MutexGuard<'_, CachedTexts> {
        // Single insertions keep its maps consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps texts, and returns their ids by the scripts' names.
    pub(crate) fn keep_texts(&self, named: NamedTexts) -> BTreeMap<String, TextId> {
        let mut cache = self.lock_texts();
        let ids = named.into_iter().map(|(name, text)| {
            let id = TextId::from_text(&text);
            cache.texts.entry(id.clone()).or_insert(text);
            (name, id)
        });
        ids.collect()
    }

    /// Lists those of the ids whose texts are not here.
    pub(crate) fn missing_ids(&self, of: &[TextId]) -> Vec<TextId> {
        let cache = self.lock_texts();
        of.iter().filter(|id| !cache.texts.contains_key(id)).cloned().collect()
    }

    /// Finds the texts of these ids, by the scripts' names; fails if one is not here.
    pub(crate) fn texts_by_name(&self, ids: &BTreeMap<String, TextId>) -> Result<NamedTexts, Failure> {
        let cache = self.lock_texts();
        let named = ids.iter().map(|(name, id)| Some((name.clone(), Arc::clone(cache.texts.get(id)?))));
        named.collect::<Option<_>>().ok_or_else(|| {
            let cause = "it is not there (any more): the agent has been started again";
            Failure::new(FailureKind::ConnectionLost, "use a text that the plan's scripts name", cause)
        })
    }

    /// Packs a text into pieces, each for one message of at most that size.
    pub(crate) fn pack_text(&self, id: &TextId, largest_message: usize) -> Result<Vec<TextPiece>, Failure> {
        let text = self.lock_texts().texts.get(id).cloned().ok_or_else(|| text_failure("nobody has it"))?;
        // Base64 makes four characters of three bytes.
        let piece_bytes = parts::piece_bytes(largest_message) / 4 * 3;
        let packed = parts::pack(text.as_bytes(), piece_bytes).map_err(text_failure)?;
        let of = packed.len() as u32;
        let pieces = (0..).zip(packed).map(|(number, bytes)| TextPiece {
            text: id.clone(),
            number,
            of,
            packed: STANDARD.encode(bytes),
        });
        Ok(pieces.collect())
    }

    /// Takes in a piece of a text; the last one completes the text, whose hash is checked.
    pub(crate) fn take_in(&self, piece: &TextPiece) -> Result<(), Failure> {
        let bytes = STANDARD.decode(&piece.packed).map_err(|error| text_failure(error.to_string()))?;
        let mut cache = self.lock_texts();
        cache.coming_bytes += bytes.len() + piece.text.0.len() + PIECE_OVERHEAD_BYTES;
        if cache.coming_bytes > MOST_COMING_BYTES {
            cache.forget_incomplete();
            return Err(text_failure(format!("more than {MOST_COMING_BYTES} bytes of pieces wait for the rest")));
        }
        let coming = cache.coming.entry(piece.text.clone()).or_default();
        coming.insert(piece.number, bytes);
        if coming.len() < piece.of as usize {
            return Ok(());
        }
        let pieces: Vec<Vec<u8>> = cache.coming.remove(&piece.text).unwrap_or_default().into_values().collect();
        if cache.coming.is_empty() {
            cache.coming_bytes = 0;
        }
        let whole = parts::unpack(&pieces).map_err(text_failure)?;
        let text = String::from_utf8(whole).map_err(|_| text_failure("it is not UTF-8"))?;
        if TextId::from_text(&text) != piece.text {
            return Err(text_failure("it is another one than was announced"));
        }
        cache.texts.insert(piece.text.clone(), text.into());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> String {
        // Words that do not pack well.
        let mut state = 1_u64;
        let words = (0..10_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:016x}\n", state ^ (state >> 29))
        });
        words.collect()
    }

    #[test]
    fn a_text_comes_whole_in_pieces_and_is_named_again() {
        let (here, there) = (TextCache::default(), TextCache::default());
        let text: Arc<str> = words().into();
        let ids = here.keep_texts(NamedTexts::from([("a.smack\nwords.dat".to_owned(), Arc::clone(&text))]));
        let wanted: Vec<TextId> = ids.values().cloned().collect();
        assert_eq!(there.missing_ids(&wanted), wanted);
        let pieces = here.pack_text(&wanted[0], 24_000).unwrap();
        assert!(pieces.len() > 3, "{}", pieces.len());
        for piece in &pieces {
            assert!(serde_json::to_vec(piece).unwrap().len() < 24_000);
            assert!(there.texts_by_name(&ids).is_err(), "it is not whole before the last piece");
            there.take_in(piece).unwrap();
            let coming_bytes = there.lock_texts().coming_bytes;
            assert!(coming_bytes > PIECE_OVERHEAD_BYTES * piece.number as usize || piece.number + 1 == piece.of);
            // A repeated piece changes nothing.
            if piece.number + 1 < piece.of {
                there.take_in(piece).unwrap();
            }
        }
        assert!(there.missing_ids(&wanted).is_empty());
        assert_eq!(there.lock_texts().coming_bytes, 0, "nothing is coming any more");
        assert_eq!(there.texts_by_name(&ids).unwrap()["a.smack\nwords.dat"], text);
    }

    #[test]
    fn a_text_that_is_not_what_it_was_announced_as_is_refused() {
        let (here, there) = (TextCache::default(), TextCache::default());
        let ids = here.keep_texts(NamedTexts::from([("a".to_owned(), "one".into()), ("b".to_owned(), "two".into())]));
        let mut piece = here.pack_text(&ids["a"], 100_000).unwrap().remove(0);
        piece.text = ids["b"].clone();
        let refused = there.take_in(&piece).unwrap_err();
        assert!(refused.to_string().contains("announced"), "{refused}");
        assert_eq!(there.missing_ids(&[ids["b"].clone()]).len(), 1);
    }
}
