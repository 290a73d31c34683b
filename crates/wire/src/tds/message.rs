//! "ERROR" and "INFO".

use std::fmt;

use super::cursor::{Cursor, Parse};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerMessage {
    /// The message's number in `sys.messages`.
    pub number: i32,
    /// The spot in the server's code where it was raised; for a refused login, the reason.
    pub state: u8,
    /// Up to 10 a remark; from 20 on the connection ends.
    pub class: u8,
    pub text: String,
}

/// The lowest class with which the server closes the connection.
const FATAL: u8 = 20;

impl ServerMessage {
    /// Reads an error or a message of the server.
    pub(super) fn parse(body: &[u8]) -> Parse<Self> {
        let mut cursor = Cursor::new(body);
        Ok(Self {
            number: cursor.take_u32()?.cast_signed(),
            state: cursor.take_u8()?,
            class: cursor.take_u8()?,
            text: cursor.take_text()?,
        })
    }

    /// Tests whether the server ends the session with it.
    pub fn is_fatal(&self) -> bool {
        self.class >= FATAL
    }
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, level {}, state {}]", self.text.trim_end(), self.number, self.class, self.state)
    }
}
