//! A request that is encoded once, and whose parameters are then written behind it or patched in place.

use crate::{Result, Value, WireError};

use super::param::Encoded;
use super::{Format, frontend};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement<'a> {
    /// A statement prepared under this name before (`pgbench -M prepared`).
    Prepared(&'a str),
    /// This text, parsed anew in every request (`pgbench -M extended`).
    Unprepared(&'a str),
}

/// Whether to ask for the portal's columns. libpq always does; a benchmark that wants equal server work does too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescribePortal {
    /// Do not: the columns are known, or do not matter.
    #[default]
    Omit,
    Include,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// With `Sync`: one `ReadyForQuery` for each request.
    #[default]
    Sync,
    /// The caller appends [`frontend::sync`] when wanted.
    Pipeline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TemplateOptions {
    pub describe: DescribePortal,
    pub ending: Ending,
}

/// `Bind`, `Execute` and perhaps `Sync` of one statement (55.2.3), encoded except for the parameters' values. May be
/// shared by connections on which the statement has the same name.
#[derive(Debug, Clone)]
pub struct Template {
    types: Vec<u32>,
    head: Vec<u8>,
    /// Offset in `head`.
    bind_length_at: usize,
    /// Offset in `head`.
    formats_at: usize,
    tail: Vec<u8>,
}

/// One format for all columns, which is text.
const TEXT_RESULTS: [u8; 4] = [0, 1, 0, 0];

impl Template {
    /// `types` as `ParameterDescription` gave them; [`UNSPECIFIED`](super::oid::UNSPECIFIED) sends text.
    pub fn new(statement: Statement<'_>, types: &[u32], options: TemplateOptions) -> Result<Self> {
        let mut head = Vec::new();
        let name = match statement {
            Statement::Prepared(name) => name,
            Statement::Unprepared(sql) => {
                frontend::parse("", sql, types, &mut head)?;
                ""
            }
        };
        let bind_length_at = head.len() + 1;
        let formats_at = frontend::bind_head(name, types.len(), &mut head)?;
        let mut tail = Vec::new();
        if options.describe == DescribePortal::Include {
            frontend::describe_portal("", &mut tail)?;
        }
        frontend::execute("", 0, &mut tail)?;
        if options.ending == Ending::Sync {
            frontend::sync(&mut tail);
        }
        Ok(Self { types: types.to_vec(), head, bind_length_at, formats_at, tail })
    }

    pub fn parameters(&self) -> usize {
        self.types.len()
    }

    /// Appends the request with these parameters. `out` stays as it was when this fails.
    pub fn encode(&self, parameters: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
        self.encode_with(parameters, out, |_, _, _| {})
    }

    fn encode_with(
        &self,
        parameters: &[Value<'_>],
        out: &mut Vec<u8>,
        mut on_parameter: impl FnMut(usize, Option<usize>, Format),
    ) -> Result<()> {
        self.check(parameters)?;
        let start = out.len();
        out.extend_from_slice(&self.head);
        for (index, (&oid, &value)) in self.types.iter().zip(parameters).enumerate() {
            let encoded = Encoded::new(oid, value);
            out[start + self.formats_at + 2 * index + 1] = encoded.format.code();
            let at = out.len() - start + 4;
            on_parameter(at, encoded.bytes().map(<[u8]>::len), encoded.format);
            if let Err(error) = encoded.write(out) {
                out.truncate(start);
                return Err(error);
            }
        }
        out.extend_from_slice(&TEXT_RESULTS);
        if let Err(error) = frontend::patch_length(out, start + self.bind_length_at) {
            out.truncate(start);
            return Err(error);
        }
        out.extend_from_slice(&self.tail);
        Ok(())
    }

    fn check(&self, parameters: &[Value<'_>]) -> Result<()> {
        if parameters.len() == self.types.len() {
            Ok(())
        } else {
            Err(WireError::ParameterCount { expected: self.types.len(), given: parameters.len() })
        }
    }

    pub fn request(&self) -> Request {
        Request { bytes: Vec::new(), slots: Vec::with_capacity(self.types.len()) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    at: usize,
    /// `None`: it is `NULL` now.
    len: Option<usize>,
    format: Format,
}

/// One connection's bytes of a [`Template`].
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl Request {
    /// Writes new parameters into the request and returns it. Parameters of the same length are overwritten in place;
    /// otherwise the request is rebuilt in the same memory.
    pub fn patch(&mut self, template: &Template, parameters: &[Value<'_>]) -> Result<&[u8]> {
        template.check(parameters)?;
        if self.bytes.is_empty() || !self.overwrite(template, parameters) {
            self.rebuild(template, parameters)?;
        }
        Ok(&self.bytes)
    }

    /// The request as it was patched last; empty before the first time.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn overwrite(&mut self, template: &Template, parameters: &[Value<'_>]) -> bool {
        for ((slot, &oid), &value) in self.slots.iter().zip(&template.types).zip(parameters) {
            let encoded = Encoded::new(oid, value);
            let bytes = encoded.bytes();
            if bytes.map(<[u8]>::len) != slot.len || encoded.format != slot.format {
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
        let slots = &mut self.slots;
        template.encode_with(parameters, &mut self.bytes, |at, len, format| slots.push(Slot { at, len, format }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::oid;
    use super::*;

    #[test]
    fn a_point_select_has_the_documented_bytes() {
        let template = Template::new(Statement::Prepared("s1"), &[oid::INT4], TemplateOptions::default()).unwrap();
        let mut out = Vec::new();
        template.encode(&[Value::Int(42)], &mut out).unwrap();
        let bind = b"B\0\0\0\x1a\0s1\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x2a\0\x01\0\0";
        let execute = b"E\0\0\0\x09\0\0\0\0\0";
        assert_eq!(out, [&bind[..], execute, b"S\0\0\0\x04"].concat());
    }

    #[test]
    fn patching_gives_what_encoding_gives() {
        let types = [oid::INT4, oid::TEXT, oid::FLOAT8, oid::NUMERIC];
        let options = TemplateOptions { describe: DescribePortal::Include, ..TemplateOptions::default() };
        let template = Template::new(Statement::Unprepared("SELECT $1, $2, $3, $4"), &types, options).unwrap();
        let rounds: [[Value<'_>; 4]; 6] = [
            [Value::Int(1), Value::Text("abc"), Value::Float(0.5), Value::Int(10)],
            [Value::Int(2), Value::Text("xyz"), Value::Float(1.5), Value::Int(99)],
            [Value::Int(3), Value::Text("longer"), Value::Float(1.5), Value::Int(9)],
            [Value::Null, Value::Null, Value::Null, Value::Null],
            [Value::Null, Value::Null, Value::Null, Value::Null],
            [Value::Int(1 << 40), Value::Int(7), Value::Int(8), Value::Float(2.5)],
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
        assert!(matches!(request.patch(&template, &[]), Err(WireError::ParameterCount { expected: 4, given: 0 })));
    }

    #[test]
    fn a_pipelined_request_has_no_sync() {
        let options = TemplateOptions { ending: Ending::Pipeline, ..TemplateOptions::default() };
        let template = Template::new(Statement::Prepared("s"), &[], options).unwrap();
        let mut out = Vec::new();
        template.encode(&[], &mut out).unwrap();
        assert!(out.ends_with(b"E\0\0\0\x09\0\0\0\0\0"));
    }
}
