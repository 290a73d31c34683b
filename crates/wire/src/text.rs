//! Statements whose parameters are spliced in as text, for the modes that know no parameters.

use crate::value::Text;
use crate::{Result, Value, WireError};

/// A statement cut at its parameters: piece, parameter, piece, …, piece.
///
/// Values are spliced in unquoted, as `pgbench -M simple` does, where the script writes the quotes. `NULL` becomes the
/// word. Never use it for values from outside a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTemplate {
    pieces: Vec<String>,
}

impl TextTemplate {
    pub fn new<S: Into<String>>(pieces: impl IntoIterator<Item = S>) -> Self {
        Self { pieces: pieces.into_iter().map(Into::into).collect() }
    }

    #[must_use]
    pub fn parameters(&self) -> usize {
        self.pieces.len().saturating_sub(1)
    }

    /// Appends the statement with `values` in place.
    pub fn render(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.parameters() {
            return Err(WireError::ParameterCount { expected: self.parameters(), given: values.len() });
        }
        for (index, piece) in self.pieces.iter().enumerate() {
            out.extend_from_slice(piece.as_bytes());
            match values.get(index).map(|value| value.text()) {
                Some(Text::Null) => out.extend_from_slice(b"NULL"),
                Some(Text::Inline(text)) => out.extend_from_slice(text.as_slice()),
                Some(Text::Borrowed(text)) => out.extend_from_slice(text),
                None => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_values_between_pieces() {
        let template = TextTemplate::new(["UPDATE t SET a = ", " WHERE b = ", ""]);
        let mut out = Vec::new();
        template.render(&[Value::Int(-7), Value::Null], &mut out).unwrap();
        assert_eq!(out, b"UPDATE t SET a = -7 WHERE b = NULL");
        assert_eq!(template.render(&[], &mut out), Err(WireError::ParameterCount { expected: 2, given: 0 }));
    }
}
