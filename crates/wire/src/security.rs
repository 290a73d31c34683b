//! Whether a connection is encrypted, so that no one can listen.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    Plain,
    Tls,
}
