//! What the server says in words: "ERROR" and "INFO".

use std::fmt;

use super::cursor::{Cursor, Parse};

/// An error or a remark of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerMessage {
    /// Its number, as `sys.messages` has it.
    pub number: i32,
    /// Where in the server it was raised; for a refused login, why.
    pub state: u8,
    /// How bad it is: up to 10 a remark, from 20 on the connection ends.
    pub class: u8,
    pub text: String,
    pub server: String,
    /// The procedure, if it was raised in one.
    pub procedure: String,
    /// The line of the batch or the procedure, from 1; 0 if it has none.
    pub line: u32,
}

/// The server ends the connection after an error of this class or a higher one.
const FATAL: u8 = 20;

impl ServerMessage {
    /// The body of the token, behind its length.
    pub(super) fn parse(body: &[u8]) -> Parse<Self> {
        let mut cursor = Cursor::new(body);
        Ok(Self {
            number: cursor.u32()?.cast_signed(),
            state: cursor.u8()?,
            class: cursor.u8()?,
            text: cursor.text()?,
            server: cursor.short_text()?,
            procedure: cursor.short_text()?,
            line: cursor.u32()?,
        })
    }

    /// Whether the connection ends with it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.class >= FATAL
    }
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, level {}, state {}]", self.text.trim_end(), self.number, self.class, self.state)
    }
}
