//! What a session of étalon's is for.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Prepare, count and clean up.
    Control,
    /// Like a run's clients.
    Load,
}
