//! `ErrorResponse` and `NoticeResponse` with all their fields (55.8).

use std::fmt;

use crate::reader::Reader;
use crate::{Result, SqlState};

/// Ordered from harmless to fatal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Notices: `DEBUG`, `LOG`, `INFO`, `NOTICE`, `WARNING`.
    Notice,
    /// `ERROR`: the statement failed, the connection lives.
    Error,
    /// `FATAL`: the server closes this connection.
    Fatal,
    /// `PANIC`: the server closes all connections.
    Panic,
}

/// Every field of an error or a notice. Broken UTF-8 (possible before the client's encoding is agreed on) is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorFields {
    /// From the field that is never translated.
    pub severity: Severity,
    /// As the server words it (`S`), maybe translated.
    pub severity_text: String,
    /// The SQLSTATE (`C`).
    pub code: SqlState,
    /// The message (`M`).
    pub message: String,
    /// More about it (`D`).
    pub detail: Option<String>,
    /// What to do about it (`H`).
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1 (`P`).
    pub position: Option<u32>,
    /// Where in [`internal_query`](Self::internal_query) (`p`).
    pub internal_position: Option<u32>,
    /// A statement of the server's own (`q`).
    pub internal_query: Option<String>,
    /// The call stack (`W`).
    pub context: Option<String>,
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub data_type: Option<String>,
    pub constraint: Option<String>,
    /// The server's source file (`F`).
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The routine in it (`R`).
    pub routine: Option<String>,
}

impl ErrorFields {
    /// Parses the body. Unknown fields are ignored, as the protocol asks.
    pub fn parse(body: &[u8]) -> Result<Box<Self>> {
        let mut fields = Box::new(Self::empty());
        let mut reader = Reader::new(body);
        let mut plain_severity = None;
        loop {
            let code = reader.u8()?;
            if code == 0 {
                break;
            }
            let text = reader.until_nul()?;
            if code == b'V' {
                plain_severity = Some(severity(text));
            }
            fields.set(code, text);
        }
        fields.severity = plain_severity.unwrap_or_else(|| severity(fields.severity_text.as_bytes()));
        Ok(fields)
    }

    fn empty() -> Self {
        Self {
            severity: Severity::Error,
            severity_text: String::new(),
            code: SqlState::GENERAL,
            message: String::new(),
            detail: None,
            hint: None,
            position: None,
            internal_position: None,
            internal_query: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            file: None,
            line: None,
            routine: None,
        }
    }

    fn set(&mut self, code: u8, text: &[u8]) {
        let string = || String::from_utf8_lossy(text).into_owned();
        let number = || std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        match code {
            b'S' => self.severity_text = string(),
            b'C' => self.code = SqlState::new(text),
            b'M' => self.message = string(),
            b'D' => self.detail = Some(string()),
            b'H' => self.hint = Some(string()),
            b'P' => self.position = number(),
            b'p' => self.internal_position = number(),
            b'q' => self.internal_query = Some(string()),
            b'W' => self.context = Some(string()),
            b's' => self.schema = Some(string()),
            b't' => self.table = Some(string()),
            b'c' => self.column = Some(string()),
            b'd' => self.data_type = Some(string()),
            b'n' => self.constraint = Some(string()),
            b'F' => self.file = Some(string()),
            b'L' => self.line = number(),
            b'R' => self.routine = Some(string()),
            _ => {}
        }
    }

    /// Whether the server closes the connection after this.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        self.severity >= Severity::Fatal
    }
}

fn severity(text: &[u8]) -> Severity {
    match text {
        b"PANIC" => Severity::Panic,
        b"FATAL" => Severity::Fatal,
        b"WARNING" | b"NOTICE" | b"INFO" | b"LOG" | b"DEBUG" => Severity::Notice,
        // `ERROR`, and translations of servers before 9.6, which send no untranslated field.
        _ => Severity::Error,
    }
}

impl fmt::Display for ErrorFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity_text, self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read() {
        let body = b"SFEHLER\0VERROR\0C23505\0Mm\0Dd\0Hh\0P7\0p8\0qq\0Ww\0ss\0tt\0cc\0dd\0nn\0Ff\0L9\0Rr\0?new\0\0";
        let fields = ErrorFields::parse(body).unwrap();
        assert_eq!(fields.severity, Severity::Error);
        assert_eq!(fields.code.as_str(), "23505");
        assert_eq!((fields.position, fields.internal_position, fields.line), (Some(7), Some(8), Some(9)));
        assert_eq!(fields.constraint.as_deref(), Some("n"));
        assert_eq!(fields.to_string(), "FEHLER 23505: m");
    }

    #[test]
    fn cut_bodies_are_errors() {
        for body in [&b""[..], b"S", b"SERROR", b"SERROR\0"] {
            assert!(ErrorFields::parse(body).is_err());
        }
    }
}
