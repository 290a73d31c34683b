//! placeholder
use std::fmt;
/// x
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPacket {
    /// x
    pub sqlstate: crate::SqlState,
}
impl fmt::Display for ErrorPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("")
    }
}
