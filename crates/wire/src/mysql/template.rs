//! A prepared statement's execution.

use crate::{Result, Value, WireError};

use super::packet;
use super::param::Encoded;

/// `COM_STMT_EXECUTE` of one statement of one connection. The parameters' types are sent every time: two bytes each,
/// and no state that could get out of step with the server's.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    statement_id: u32,
    parameters: u16,
}

/// Command, statement, flags and iteration count.
const FIXED_BYTES: usize = 10;

impl Template {
    /// `statement_id` and `parameters` as `COM_STMT_PREPARE` answered.
    pub fn new(statement_id: u32, parameters: u16) -> Self {
        Self { statement_id, parameters }
    }

    pub fn parameter_count(&self) -> usize {
        self.parameters.into()
    }

    /// Appends the request with these parameters. `out` stays as it was when this fails. Announce it as
    /// [`Command::Execute`](super::Command::Execute).
    pub fn encode(&self, parameters: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
        if parameters.len() != self.parameter_count() {
            return Err(WireError::ParameterCount { expected: self.parameter_count(), given: parameters.len() });
        }
        let start = out.len();
        let payload = start + packet::HEADER_BYTES;
        let mut fixed = [0; packet::HEADER_BYTES + FIXED_BYTES];
        fixed[4] = 0x17;
        fixed[5..9].copy_from_slice(&self.statement_id.to_le_bytes());
        // No cursor; the iteration count is always 1.
        fixed[10] = 1;
        out.extend_from_slice(&fixed);
        if !parameters.is_empty() {
            let nulls = payload + FIXED_BYTES;
            let types = nulls + parameters.len().div_ceil(8) + 1;
            out.resize(types + 2 * parameters.len(), 0);
            out[types - 1] = 1;
            for (index, &value) in parameters.iter().enumerate() {
                let encoded = Encoded::new(value);
                out[types + 2 * index] = encoded.kind;
                out[types + 2 * index + 1] = Encoded::type_flags(value);
                if matches!(value, Value::Null) {
                    out[nulls + index / 8] |= 1 << (index % 8);
                }
                encoded.write_value(out);
            }
        }
        packet::finish_payload(out, start, 0).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_select_has_the_documented_bytes() {
        let mut out = Vec::new();
        Template::new(5, 1).encode(&[Value::Int(42)], &mut out).unwrap();
        assert_eq!(out, b"\x16\0\0\0\x17\x05\0\0\0\0\x01\0\0\0\0\x01\x08\0\x2a\0\0\0\0\0\0\0");
        out.clear();
        assert!(Template::new(5, 1).encode(&[], &mut out).is_err());
        Template::new(5, 0).encode(&[], &mut out).unwrap();
        assert_eq!(out, b"\x0a\0\0\0\x17\x05\0\0\0\0\x01\0\0\0");
    }
}
