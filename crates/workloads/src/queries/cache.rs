//! Whether a cache of results answers in the engine's place: one of the server, or of a proxy before it. Such a cache knows queries
//! by their text, maybe without comments, so a query with another comment and its keywords in other letters misses it.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use load::counters::Placement;
use load::error::Failure;

use super::procedure::{Question, Wording};
use super::source::{has_nested_comment, piece_length};
use crate::session::{Session, datum_number, split_refusal};
use crate::system::System;

/// An answer from a cache takes at most this part of the time.
const MANY_TIMES: f64 = 3.0;
/// Seconds that it saves at least: less is chance.
const LEAST_SAVED_S: f64 = 0.000_2;
/// What takes about as long in both wordings is alike.
const ALIKE_TIMES: f64 = 1.5;
/// Times that the query is asked in both wordings; the shortest of each are compared, which a busy machine makes the least longer.
/// Chance alone would favour one wording in 14 of 16 pairs in 1 of 480 checks, and a check takes such a time before.
const PAIRS: usize = 16;
/// Pairs that may be alike: a moment of a busy machine meets an answer from a cache, too.
const MOST_ALIKE: usize = 2;
/// A query of so many seconds is asked in fewer pairs, since what a busy machine adds is a small part of it.
const LONG_S: f64 = 0.2;
const PAIRS_OF_LONG: usize = 5;
const WORDINGS: [Wording; 2] = [Wording::Reworded, Wording::AsWritten];

/// Makes each wording unlike those before; the first number of each process is another one.
static ASKED: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(host::clock::unix_ms().unsigned_abs()));

/// Stands behind a query of étalon's, and before its number.
pub const REMARK: &str = "\n/* etalon ";

/// Words that no engine takes for a name unless they are quoted.
const RESERVED: [&str; 14] = [
    "select", "from", "where", "group", "order", "having", "join", "on", "and", "or", "union", "distinct", "as", "null",
];

/// Words a statement as no cache has met it, so that a cache of results misses it: a comment behind it, and its keywords in other
/// letters, since some caches leave comments out. The plan is the same.
pub fn make_wording_unique(sql: &str) -> String {
    let number = ASKED.fetch_add(1, Ordering::Relaxed);
    let mut bits = number;
    let reworded = with_keywords(sql, || {
        let is_large = bits & 1 == 1;
        bits >>= 1;
        is_large
    });
    format!("{reworded}{REMARK}{:x} {number:x} */", host::clock::unix_ms())
}

/// Gives a statement that étalon has worded its own way without the remark and with large keywords; any other as it is. Servers
/// that leave out what stands behind a statement keep the keywords in large and small letters.
pub fn without_rewording(sql: &str) -> Cow<'_, str> {
    let (statement, is_own) = sql.split_once(REMARK).map_or((sql, false), |(statement, _)| (statement, true));
    let mut words = statement.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    if is_own || words.any(is_mixed_keyword) {
        Cow::Owned(with_keywords(statement, || true))
    } else {
        Cow::Borrowed(sql)
    }
}

/// Tests whether a word is a keyword with a large letter behind the first one, and a small letter.
fn is_mixed_keyword(word: &str) -> bool {
    RESERVED.contains(&word.to_ascii_lowercase().as_str())
        && word[1..].contains(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_lowercase())
}

/// Tests whether a `$` may begin a quoted text, as it does unless it is that of a parameter, `$1`.
fn may_quote_by_dollars(sql: &str) -> bool {
    sql.split('$').skip(1).any(|behind| !behind.starts_with(|c: char| c.is_ascii_digit()))
}

/// Writes keywords in large and small letters, as `is_large` says of each letter. A statement whose texts may end otherwise than
/// [`piece_length`] knows stays as it is.
fn with_keywords(sql: &str, mut is_large: impl FnMut() -> bool) -> String {
    if sql.contains('\\') || may_quote_by_dollars(sql) || has_nested_comment(sql) {
        return sql.to_owned();
    }
    let (mut written, mut rest) = (String::with_capacity(sql.len()), sql);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(piece_length(rest));
        if RESERVED.contains(&piece.to_ascii_lowercase().as_str()) {
            let letters = piece.chars();
            written.extend(letters.map(|c| if is_large() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }));
        } else {
            written.push_str(piece);
        }
        rest = behind;
    }
    written
}

/// Whether times distinguish an answer from a cache of results from one that the engine made.
///
/// They do not where the engine keeps plans by their text, which takes longer for a text that it has not met, too. No
/// cache stands before a library.
pub fn can_detect_cache(system: &dyn System) -> bool {
    matches!(system.placement(), Placement::Server) && !system.dialect().keeps_plans_by_text()
}

/// What was seen while a query was timed.
pub struct Seen<'a> {
    /// Seconds that it took in a wording of its own, before that.
    pub reworded_s: f64,
    pub executions_s: &'a [f64],
    /// The engine's count of answers from its cache before that, if it counts them.
    pub hits_before: Option<f64>,
    /// Row of its parameters that was asked last.
    pub row: usize,
}

impl Seen<'_> {
    /// Whether a cache of results answered the query; asks again in both wordings where it looks so.
    pub fn is_cached(&self, question: &Question<'_>, sessions: &mut [Box<dyn Session>]) -> Result<bool, Failure> {
        let shortest_s = self.executions_s.iter().copied().fold(f64::INFINITY, f64::min);
        let has_hits = self.hits_before.is_some() && read_cache_hits(question, sessions)? > self.hits_before;
        if !has_hits && !is_saved(self.reworded_s, shortest_s) {
            return Ok(false);
        }
        // Clients that ask the same at the same time answer each other from a cache.
        let sessions = sessions.get_mut(..1).unwrap_or_default();
        let (mut shortest, mut by_hits, mut alike) = ([f64::INFINITY; 2], has_hits, 0);
        let pairs = if self.reworded_s < LONG_S { PAIRS } else { PAIRS_OF_LONG };
        for _ in 0..pairs {
            let (mut hits, mut elapsed_s) = ([false; 2], [0.0; 2]);
            // Drawn, so that what others do at the same time meets both.
            let first = draw_first();
            for at in [first, 1 - first] {
                let before = read_cache_hits(question, sessions)?;
                let executed = question.execute_all(sessions, self.row, WORDINGS[at])?;
                if executed.answer.is_err() {
                    return Ok(false);
                }
                elapsed_s[at] = executed.elapsed_s;
                shortest[at] = shortest[at].min(executed.elapsed_s);
                hits[at] = read_cache_hits(question, sessions)? > before;
            }
            // Others' hits would be counted in both.
            by_hits &= hits == [false, true];
            alike += usize::from(elapsed_s[0] < ALIKE_TIMES * elapsed_s[1]);
            if alike > MOST_ALIKE && !by_hits {
                return Ok(false);
            }
        }
        Ok(by_hits || is_saved(shortest[0], shortest[1]))
    }
}

/// Draws which of two wordings is first, from the number of the last one.
fn draw_first() -> usize {
    // Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, 6.4).
    (ASKED.load(Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63) as usize
}

/// Whether a statement as written is so much faster than reworded that a cache must have saved the work.
fn is_saved(reworded_s: f64, as_written_s: f64) -> bool {
    reworded_s >= MANY_TIMES * as_written_s && reworded_s - as_written_s >= LEAST_SAVED_S
}

/// Reads the engine's count of answers from its cache of results; `None` if it has no such cache, or does not say.
pub fn read_cache_hits(question: &Question<'_>, sessions: &mut [Box<dyn Session>]) -> Result<Option<f64>, Failure> {
    let Some((sql, session)) = question.dialect.cache_hits_sql().zip(sessions.first_mut()) else { return Ok(None) };
    let rows = split_refusal(session.query(sql))?.unwrap_or_default();
    Ok(datum_number(rows.first().and_then(|row| row.last())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wording_of_its_own_differs_in_more_than_a_comment() {
        let mut wordings: Vec<String> = (0..1_000).map(|_| make_wording_unique("select 'from' From t")).collect();
        assert!(wordings.iter().all(|sql| without_rewording(sql) == "SELECT 'from' FROM t"), "{wordings:?}");
        wordings.iter_mut().for_each(|sql| sql.truncate(sql.find(REMARK).unwrap()));
        wordings.sort();
        wordings.dedup();
        assert_eq!(wordings.len(), 1_000);
        for sql in ["SELECT 'it\\'s and', a FROM t", "SELECT $$and$$", "SELECT /* /* */ ' */ 'and'"] {
            assert_eq!(with_keywords(sql, || false), sql);
        }
    }
}
