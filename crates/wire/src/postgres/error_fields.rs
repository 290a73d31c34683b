//! `ErrorResponse` (55.8).

use std::fmt;

use crate::reader::Reader;
use crate::{Result, SqlState};

/// The fields that are used. Broken UTF-8 (possible before the client's encoding is agreed on) is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorFields {
    /// The severity as the server words it (`S`), maybe translated.
    pub severity: String,
    /// The SQLSTATE (`C`).
    pub code: SqlState,
    /// The message (`M`).
    pub message: String,
    /// More about it (`D`).
    pub detail: Option<String>,
    /// The server's advice (`H`).
    pub hint: Option<String>,
    /// The function of the server's source that reported it (`R`): never translated, unlike the message.
    pub routine: Option<String>,
    is_fatal: bool,
}

impl ErrorFields {
    /// Parses the body. Unknown fields are ignored, as the protocol asks.
    pub fn parse(body: &[u8]) -> Result<Box<Self>> {
        let mut fields = Self {
            severity: String::new(),
            code: SqlState::GENERAL,
            message: String::new(),
            detail: None,
            hint: None,
            routine: None,
            is_fatal: false,
        };
        let mut reader = Reader::new(body);
        // Servers before 9.6 send the translated word alone.
        let mut plain = None;
        loop {
            let code = reader.take_u8()?;
            if code == 0 {
                break;
            }
            let text = reader.take_until_nul()?;
            let string = || String::from_utf8_lossy(text).into_owned();
            match code {
                b'S' => fields.severity = string(),
                b'V' => plain = Some(text),
                b'C' => fields.code = SqlState::new(text),
                b'M' => fields.message = string(),
                b'D' => fields.detail = Some(string()),
                b'H' => fields.hint = Some(string()),
                b'R' => fields.routine = Some(string()),
                _ => {}
            }
        }
        fields.is_fatal = matches!(plain.unwrap_or(fields.severity.as_bytes()), b"FATAL" | b"PANIC");
        Ok(Box::new(fields))
    }

    /// Whether the server closes the connection after this.
    pub fn ends_connection(&self) -> bool {
        self.is_fatal
    }
}

impl fmt::Display for ErrorFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_others_passed_by() {
        let fields = ErrorFields::parse(b"SFEHLER\0VERROR\0C23505\0Mm\0Dd\0Hh\0P7\0RInitPostgres\0?new\0\0").unwrap();
        assert_eq!((fields.detail.as_deref(), fields.hint.as_deref()), (Some("d"), Some("h")));
        assert_eq!(fields.routine.as_deref(), Some("InitPostgres"));
        assert_eq!(fields.to_string(), "FEHLER 23505: m");
        for fatal in [&b"SFATAL\0\0"[..], b"SSCHWER\0VFATAL\0\0", b"VPANIC\0\0"] {
            assert!(ErrorFields::parse(fatal).unwrap().ends_connection());
        }
        assert!(!ErrorFields::parse(b"SFATAL\0VERROR\0\0").unwrap().ends_connection());
    }

    #[test]
    fn cut_bodies_are_errors() {
        for body in [&b""[..], b"S", b"SERROR", b"SERROR\0"] {
            assert!(ErrorFields::parse(body).is_err());
        }
    }
}
