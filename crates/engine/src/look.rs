//! Looks at an experiment that ends when it is sure, by whoever knows how to judge.

use model::Look;
use store::{Store, StoreError};

/// Judges what is in a store.
pub trait Judge: Send + Sync {
    /// By the rounds before `round`.
    ///
    /// # Errors
    /// The store cannot be read.
    fn look(&self, store: &Store, round: u32) -> Result<Look, StoreError>;
}
