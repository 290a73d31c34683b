//! The executions of a capture in the order in which they began. A log has them by their end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::CaptureError;
use super::file::{Recorded, SavedCapture, damaged_error, read_block};

/// Servers round the times of records, to a second at most, so that a statement seems to begin before the one before it in its
/// session.
const ROUNDING_US: i64 = 2_000_000;

/// Where an execution is in the file: the number of its block, and its position in that.
type Position = (i64, usize);

/// Executions of blocks that were read.
#[derive(Default)]
struct Waiting {
    /// When one begins, its position, and its session.
    starts: BTreeSet<(i64, Position, u64)>,
    sessions: HashMap<u64, BTreeMap<Position, Recorded>>,
}

impl Waiting {
    /// Adds an execution at its position in the log.
    fn add(&mut self, position: Position, one: Recorded) {
        self.starts.insert((one.packed.start_us, position, one.packed.session));
        self.sessions.entry(one.packed.session).or_default().insert(position, one);
    }

    /// Takes the next execution, if it begins before `until_us`: the first in the log of the session whose turn it is.
    fn take(&mut self, until_us: i64) -> Option<Recorded> {
        let first = self.starts.first().filter(|(start_us, ..)| *start_us < until_us)?;
        let session = first.2;
        self.starts.pop_first();
        let of_session = self.sessions.get_mut(&session)?;
        let (_, one) = of_session.pop_first()?;
        if of_session.is_empty() {
            self.sessions.remove(&session);
        }
        Some(one)
    }
}

impl SavedCapture {
    /// Calls `each` with the executions by their start, those of a session in the log's order, until it breaks off.
    /// Only blocks that overlap in time are in memory together.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn each_by_start(&self, mut each: impl FnMut(Recorded) -> ControlFlow<()>) -> Result<(), CaptureError> {
        let classes = self.read_classes()?;
        let select = "SELECT block, count, first_us, id FROM executions ORDER BY first_us, id";
        let mut blocks = self.connection.prepare(select).map_err(damaged_error)?;
        let mut rows = blocks.query([]).map_err(damaged_error)?;
        let mut waiting = Waiting::default();
        loop {
            let row = rows.next().map_err(damaged_error)?;
            let first_us = row.map_or(Ok(i64::MAX), |row| row.get("first_us")).map_err(damaged_error)?;
            let until_us = if row.is_some() { first_us.saturating_sub(ROUNDING_US) } else { i64::MAX };
            while let Some(one) = waiting.take(until_us) {
                if each(one).is_break() {
                    return Ok(());
                }
            }
            let Some(row) = row else { return Ok(()) };
            let id = row.get("id").map_err(damaged_error)?;
            for (at, one) in read_block(row, &classes)?.into_iter().enumerate() {
                waiting.add((id, at), one);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::shape::Syntax;
    use crate::capture::{Capture, Execution, Session};

    #[test]
    fn executions_come_by_start_and_a_session_keeps_its_order() {
        let mut capture = Capture::in_memory(Syntax::Standard).unwrap();
        let second = 1_000_000;
        // A long statement is logged behind those of other blocks.
        let mut all: Vec<(u64, i64)> = (0..10_000_u64).map(|n| (n % 7, n.cast_signed() * second / 1_000)).collect();
        all.push((8, 500));
        // Rounded, the second of a session seems to begin before the first.
        all.extend([(9, 9 * second), (9, 9 * second - 900_000)]);
        for (number, (session, start_us)) in all.iter().enumerate() {
            let (key, text) = (session.to_string(), format!("SELECT {number}"));
            let session = Session { key: &key, ..Session::default() };
            capture
                .add_execution(Execution { session, start_us: *start_us, text: &text, ..Execution::default() })
                .unwrap();
        }
        let saved = capture.finish("test").unwrap();
        let mut found: Vec<(u64, i64, usize)> = Vec::new();
        let each = saved.each_by_start(|one| {
            let number = one.packed.literals[0].parse().unwrap();
            found.push((one.packed.session, one.packed.start_us, number));
            ControlFlow::Continue(())
        });
        each.unwrap();
        assert_eq!(found.len(), all.len());
        assert_eq!(found.iter().position(|one| one.2 == 10_000), Some(1), "the long one");
        for session in 1..=10 {
            let numbers: Vec<usize> = found.iter().filter(|one| one.0 == session).map(|one| one.2).collect();
            assert!(numbers.is_sorted(), "{session}");
        }
        let starts: Vec<i64> = found.iter().filter(|one| one.2 < 10_000).map(|one| one.1).collect();
        assert!(starts.is_sorted());
        let mut first = 0;
        let broken = saved.each_by_start(|_| {
            first += 1;
            ControlFlow::Break(())
        });
        assert!(broken.is_ok() && first == 1);
    }
}
