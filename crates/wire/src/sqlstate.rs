//! Five characters that say what kind of error it is.

use std::fmt;

/// An SQLSTATE: class (two characters) and condition (three). PostgreSQL: Appendix A, "PostgreSQL Error Codes". MySQL:
/// "Server Error Message Reference".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// `53300` (PostgreSQL): `max_connections` is exceeded.
    pub const TOO_MANY_CONNECTIONS: Self = Self(*b"53300");
    /// `HY000` (MySQL): no more exact state exists.
    pub const GENERAL: Self = Self(*b"HY000");

    /// Five printable ASCII characters; anything else becomes [`GENERAL`](Self::GENERAL).
    pub fn new(code: &[u8]) -> Self {
        match <[u8; 5]>::try_from(code) {
            Ok(code) if code.iter().all(u8::is_ascii_alphanumeric) => Self(code),
            _ => Self::GENERAL,
        }
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        // `new` lets only ASCII in.
        std::str::from_utf8(&self.0).unwrap_or("HY000")
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}
