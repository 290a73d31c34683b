//! The looks at an experiment that ends when it is sure: before each round that follows the fewest, whoever knows how to
//! judge says what is settled.

use std::collections::BTreeSet;

use store::{Store, StoreError};

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Cases, by index, all of whose rows are decided, or never will be.
    pub settled: BTreeSet<u32>,
    /// How each open row stands, for people.
    pub open: Vec<String>,
    /// Rows with a verdict that ends their runs, and all that have or may get one.
    pub decided: usize,
    pub rows: usize,
}

/// Judges what is in a store.
pub trait Judge: Send + Sync {
    /// By the rounds before `round`.
    ///
    /// # Errors
    /// The store cannot be read.
    fn look(&self, store: &Store, round: u32) -> Result<Look, StoreError>;
}

impl Look {
    /// In a sentence, after so many rounds.
    pub(crate) fn words(&self, rounds: u32, is_late: bool) -> String {
        let Look { open, decided, rows, .. } = self;
        if open.is_empty() {
            return format!("after {rounds} rounds nothing is open: {decided} of {rows} rows are decided");
        }
        let end = if is_late { ", and `max_time` is over" } else { "" };
        format!("after {rounds} rounds {decided} of {rows} rows are decided{end}; open: {}", open.join("; "))
    }
}
