//! "ERR_Packet".

use std::fmt;

use crate::reader::Reader;
use crate::{Result, SqlState};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPacket {
    /// The server's error number, such as 1213 for a deadlock.
    pub code: u16,
    /// The SQLSTATE; many errors have only `HY000`.
    pub sqlstate: SqlState,
    pub message: String,
}

impl ErrorPacket {
    pub const TOO_MANY_CONNECTIONS: u16 = 1040;

    /// Reads an error packet.
    pub(crate) fn parse(payload: &[u8]) -> Result<Box<Self>> {
        let mut reader = Reader::new(payload);
        reader.take_u8()?;
        let code = reader.take_u16_le()?;
        // Errors before authentication have no state.
        let (sqlstate, message) = match reader.unread() {
            [b'#', state_and_text @ ..] if state_and_text.len() >= 5 => {
                let (state, text) = state_and_text.split_at(5);
                (SqlState::new(state), text)
            }
            text if code == Self::TOO_MANY_CONNECTIONS => (SqlState::new(b"08004"), text),
            text => (SqlState::GENERAL, text),
        };
        Ok(Box::new(Self { code, sqlstate, message: String::from_utf8_lossy(message).into_owned() }))
    }
}

impl fmt::Display for ErrorPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_with_and_without_a_state() {
        let error = ErrorPacket::parse(b"\xff\xbd\x04#40001Deadlock found").unwrap();
        assert_eq!((error.code, error.sqlstate), (1213, SqlState::new(b"40001")));
        assert_eq!(error.to_string(), "ERROR 1213 (40001): Deadlock found");
        let early = ErrorPacket::parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((early.sqlstate.as_str(), early.message.as_str()), ("08004", "Too many connections"));
        assert!(ErrorPacket::parse(b"\xff\x10").is_err());
    }
}
