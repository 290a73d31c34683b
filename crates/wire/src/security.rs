//! Whether somebody can listen.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    Plain,
    Tls,
}
