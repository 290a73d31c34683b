//! A prepared statement's execution, encoded once; its parameters are written behind it or patched in place.

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

    pub fn parameters(&self) -> usize {
        self.parameters.into()
    }

    /// Appends the request with these parameters. `out` stays as it was when this fails. Announce it as
    /// [`Command::Execute`](super::Command::Execute).
    pub fn encode(&self, parameters: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
        self.encode_with(parameters, out, |_, _| {})
    }

    fn encode_with(
        &self,
        parameters: &[Value<'_>],
        out: &mut Vec<u8>,
        mut on_parameter: impl FnMut(usize, &Encoded<'_>),
    ) -> Result<()> {
        self.check(parameters)?;
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
                if encoded.bytes().is_none() {
                    out[nulls + index / 8] |= 1 << (index % 8);
                }
                encoded.write(out);
                let length = encoded.bytes().map_or(0, <[u8]>::len);
                on_parameter(out.len() - start - length, &encoded);
            }
        }
        packet::finish(out, start, 0).map(|_| ())
    }

    fn check(&self, parameters: &[Value<'_>]) -> Result<()> {
        if parameters.len() == self.parameters() {
            Ok(())
        } else {
            Err(WireError::ParameterCount { expected: self.parameters(), given: parameters.len() })
        }
    }

    pub fn request(&self) -> Request {
        Request { bytes: Vec::new(), slots: Vec::with_capacity(self.parameters()), patchable: false }
    }
}

/// A parameter's place in a [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    at: usize,
    /// `None`: it is `NULL` now.
    len: Option<usize>,
    kind: u8,
    flags: u8,
}

/// One connection's bytes of a [`Template`].
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// One packet, so the slots lie where they were written.
    patchable: bool,
}

impl Request {
    /// Writes new parameters into the request and returns it. Parameters of the same type and length are overwritten
    /// in place; otherwise the request is rebuilt in the same memory.
    pub fn patch(&mut self, template: &Template, parameters: &[Value<'_>]) -> Result<&[u8]> {
        template.check(parameters)?;
        if !self.patchable || !self.overwrite(parameters) {
            self.rebuild(template, parameters)?;
        }
        Ok(&self.bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn overwrite(&mut self, parameters: &[Value<'_>]) -> bool {
        for (slot, &value) in self.slots.iter().zip(parameters) {
            let encoded = Encoded::new(value);
            let bytes = encoded.bytes();
            let same_type = encoded.kind == slot.kind && Encoded::type_flags(value) == slot.flags;
            if !same_type || bytes.map(<[u8]>::len) != slot.len {
                // Earlier slots hold new values already; the rebuild writes them again.
                return false;
            }
            if let Some(bytes) = bytes {
                self.bytes[slot.at..slot.at + bytes.len()].copy_from_slice(bytes);
            }
        }
        true
    }

    fn rebuild(&mut self, template: &Template, parameters: &[Value<'_>]) -> Result<()> {
        self.bytes.clear();
        self.slots.clear();
        self.patchable = false;
        let (slots, mut values) = (&mut self.slots, parameters.iter());
        template.encode_with(parameters, &mut self.bytes, |at, encoded| {
            let flags = values.next().map_or(0, |&value| Encoded::type_flags(value));
            slots.push(Slot { at, len: encoded.bytes().map(<[u8]>::len), kind: encoded.kind, flags });
        })?;
        self.patchable = self.bytes.len() < packet::MAX_PAYLOAD;
        Ok(())
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
        Template::new(5, 0).encode(&[], &mut out).unwrap();
        assert_eq!(out, b"\x0a\0\0\0\x17\x05\0\0\0\0\x01\0\0\0");
    }

    #[test]
    fn patching_gives_what_encoding_gives() {
        let template = Template::new(1, 3);
        let long = "x".repeat(300);
        let rounds: [[Value<'_>; 3]; 7] = [
            [Value::Int(1), Value::Text("abc"), Value::Float(0.5)],
            [Value::Int(2), Value::Text("xyz"), Value::Float(1.5)],
            [Value::Unsigned(2), Value::Text("xyz"), Value::Float(1.5)],
            [Value::Int(3), Value::Text(&long), Value::Bool(true)],
            [Value::Null, Value::Null, Value::Null],
            [Value::Null, Value::Null, Value::Null],
            [Value::Bytes(b"b"), Value::Int(7), Value::Text("")],
        ];
        let mut request = template.request();
        for round in rounds {
            let mut out = Vec::new();
            template.encode(&round, &mut out).unwrap();
            assert_eq!(request.patch(&template, &round).unwrap(), out);
        }
        // Once large enough, it stays in place.
        let place = request.bytes().as_ptr();
        for round in rounds {
            assert_eq!(request.patch(&template, &round).unwrap().as_ptr(), place);
        }
        assert!(request.patch(&template, &[]).is_err());
    }
}
