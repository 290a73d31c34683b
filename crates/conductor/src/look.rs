//! Looks at an experiment that ends when it is sure, by a judge that the caller gives.

use model::Look;
use store::{Store, StoreError};

/// Judges what is in a store.
pub trait Judge: Send + Sync {
    /// Judges a store by the rounds before `round`: which rows are sure, and which cases are settled.
    ///
    /// # Errors
    /// The store cannot be read.
    fn judge_look(&self, store: &Store, round: u32) -> Result<Look, StoreError>;
}
