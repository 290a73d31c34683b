//! A request that is encoded once, except for its parameters.

use crate::{Result, Value, WireError};

use super::param::Encoded;
use super::{frontend, oid};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement<'a> {
    /// A statement prepared under this name before (`pgbench -M prepared`).
    Prepared(&'a str),
    /// This text, parsed again in every request (`pgbench -M extended`).
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
    /// Each request ends with `Sync`, so that it gets its own `ReadyForQuery`.
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
    /// The whole request where every parameter is an integer of fixed width: then only the numbers change. Empty otherwise.
    fixed: Vec<u8>,
}

/// Bytes of a parameter's length, which stands before its value.
const LENGTH_BYTES: usize = 4;

/// Writes the bytes, and returns the offset at which they end.
#[inline]
fn write_at<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) -> usize {
    out[at..at + N].copy_from_slice(&bytes);
    at + N
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
                frontend::write_parse("", sql, types, &mut head)?;
                ""
            }
        };
        let bind_length_at = head.len() + 1;
        let formats_at = frontend::bind_head(name, types.len(), &mut head)?;
        let mut tail = Vec::new();
        if options.describe == DescribePortal::Include {
            frontend::describe_portal("", &mut tail)?;
        }
        frontend::write_execute("", 0, &mut tail)?;
        if options.ending == Ending::Sync {
            frontend::write_sync(&mut tail);
        }
        let mut template = Self { types: types.to_vec(), head, bind_length_at, formats_at, tail, fixed: Vec::new() };
        if types.iter().all(|oid| matches!(*oid, oid::INT2 | oid::INT4 | oid::INT8)) {
            let mut fixed = Vec::new();
            template.write_request(&vec![Value::Int(0); types.len()], &mut fixed)?;
            template.fixed = fixed;
        }
        Ok(template)
    }

    pub fn parameter_count(&self) -> usize {
        self.types.len()
    }

    /// Appends the request with these parameters. `out` stays as it was when this fails.
    pub fn encode(&self, parameters: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
        if parameters.len() != self.parameter_count() {
            return Err(WireError::ParameterCount { expected: self.parameter_count(), given: parameters.len() });
        }
        if !self.fixed.is_empty() && self.patch_numbers(parameters, out) {
            return Ok(());
        }
        self.write_request(parameters, out)
    }

    /// `false` if one of them is no number of its type; then nothing is appended.
    #[inline]
    fn patch_numbers(&self, parameters: &[Value<'_>], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.extend_from_slice(&self.fixed);
        let mut at = start + self.head.len();
        for (&oid, &value) in self.types.iter().zip(parameters) {
            // Behind its length.
            at += LENGTH_BYTES;
            let written = match (oid, value) {
                (oid::INT4, Value::Int(value)) => {
                    i32::try_from(value).ok().map(|value| write_at(out, at, value.to_be_bytes()))
                }
                (oid::INT8, Value::Int(value)) => Some(write_at(out, at, value.to_be_bytes())),
                (oid::INT2, Value::Int(value)) => {
                    i16::try_from(value).ok().map(|value| write_at(out, at, value.to_be_bytes()))
                }
                _ => None,
            };
            let Some(end) = written else {
                out.truncate(start);
                return false;
            };
            at = end;
        }
        true
    }

    /// Appends the request, with each value in its type's binary form or as text; nothing if one fails.
    fn write_request(&self, parameters: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&self.head);
        for (index, (&oid, &value)) in self.types.iter().zip(parameters).enumerate() {
            let encoded = Encoded::new(oid, value);
            out[start + self.formats_at + 2 * index + 1] = encoded.format.code();
            if let Err(error) = encoded.write_value(out) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Numbers that fit their types and others, in every mixture.
        #[test]
        fn a_patched_request_is_the_written_one(parameters in prop::collection::vec((0usize..4, any::<i64>(), 0u32..64), 0..5)) {
            let oids = [oid::INT2, oid::INT4, oid::INT8, oid::TEXT];
            let types: Vec<u32> = parameters.iter().map(|(kind, ..)| oids[*kind]).collect();
            let values: Vec<Value<'_>> = parameters.iter().map(|(_, n, shift)| Value::Int(n >> shift)).collect();
            let template = Template::new(Statement::Prepared("s"), &types, TemplateOptions::default()).unwrap();
            prop_assert_eq!(template.fixed.is_empty(), types.contains(&oid::TEXT));
            let (mut encoded, mut written) = (b"before".to_vec(), b"before".to_vec());
            template.encode(&values, &mut encoded).unwrap();
            template.write_request(&values, &mut written).unwrap();
            prop_assert_eq!(encoded, written);
        }
    }

    #[test]
    fn a_point_select_has_the_documented_bytes() {
        let template = Template::new(Statement::Prepared("s1"), &[oid::INT4], TemplateOptions::default()).unwrap();
        let mut out = Vec::new();
        let none = template.encode(&[], &mut out);
        assert!(matches!(none, Err(WireError::ParameterCount { expected: 1, given: 0 })));
        template.encode(&[Value::Int(42)], &mut out).unwrap();
        let bind = b"B\0\0\0\x1a\0s1\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x2a\0\x01\0\0";
        let execute = b"E\0\0\0\x09\0\0\0\0\0";
        assert_eq!(out, [&bind[..], execute, b"S\0\0\0\x04"].concat());
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
