//! Values on their way to or from a server.

use std::io::Write;

/// A parameter or a decoded column, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL `NULL`.
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond `i64`: `bigint unsigned` of MySQL.
    Unsigned(u64),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// Room for the longest text of an `i64` (20) or a shortest round-trip `f64` with exponent (24).
pub(crate) const INLINE: usize = 24;

/// Avoids a heap allocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inline {
    bytes: [u8; INLINE],
    len: u8,
}

impl Inline {
    pub(crate) fn new(value: &[u8]) -> Self {
        let mut bytes = [0; INLINE];
        let len = value.len().min(INLINE);
        bytes[..len].copy_from_slice(&value[..len]);
        Self { bytes, len: len as u8 }
    }

    /// The bytes that are used.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Formats a short text without allocation; `None` if it is too long.
    fn format(arguments: std::fmt::Arguments<'_>) -> Option<Self> {
        let mut bytes = [0; INLINE];
        let mut rest = &mut bytes[..];
        rest.write_fmt(arguments).ok()?;
        let len = (INLINE - rest.len()) as u8;
        Some(Self { bytes, len })
    }

    /// The decimal text of a number.
    pub(crate) fn from_int(value: i64) -> Self {
        Self::from_digits(value.unsigned_abs(), value < 0)
    }

    /// The decimal text of a number.
    pub(crate) fn from_unsigned(value: u64) -> Self {
        Self::from_digits(value, false)
    }

    /// The decimal text of a magnitude, with its sign.
    fn from_digits(magnitude: u64, negative: bool) -> Self {
        let mut bytes = [0; INLINE];
        let mut at = INLINE;
        let mut rest = magnitude;
        loop {
            at -= 1;
            bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if negative {
            at -= 1;
            bytes[at] = b'-';
        }
        Self::new(&bytes[at..])
    }

    /// The shortest decimal text that reads back as the same number; `NaN`, `Infinity` and `-Infinity` as PostgreSQL
    /// spells them.
    pub(crate) fn from_float(value: f64) -> Self {
        if value.is_nan() {
            return Self::new(b"NaN");
        }
        if value.is_infinite() {
            return Self::new(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
        }
        Self::format(format_args!("{value}"))
            .or_else(|| Self::format(format_args!("{value:e}")))
            .unwrap_or_else(|| Self::new(b"NaN"))
    }
}

/// A value's text: inline, or borrowed from the caller.
pub(crate) enum Text<'a> {
    Null,
    Inline(Inline),
    Borrowed(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The value as text; bytes stay as they are.
    pub(crate) fn to_text(self) -> Text<'a> {
        match self {
            Value::Null => Text::Null,
            Value::Bool(true) => Text::Borrowed(b"true"),
            Value::Bool(false) => Text::Borrowed(b"false"),
            Value::Int(value) => Text::Inline(Inline::from_int(value)),
            Value::Unsigned(value) => Text::Inline(Inline::from_unsigned(value)),
            Value::Float(value) => Text::Inline(Inline::from_float(value)),
            Value::Text(text) => Text::Borrowed(text.as_bytes()),
            Value::Bytes(bytes) => Text::Borrowed(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_fit_inline() {
        for value in [0, 1, -1, 9, 10, i64::MAX, i64::MIN] {
            assert_eq!(Inline::from_int(value).as_slice(), value.to_string().as_bytes());
        }
        for value in [0.5, -0.0, 1e300, f64::MIN_POSITIVE, -f64::MAX, 1.0 / 3.0, 5e-324] {
            let text = String::from_utf8(Inline::from_float(value).as_slice().to_vec()).unwrap();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
        }
        assert_eq!(Inline::from_float(f64::NEG_INFINITY).as_slice(), b"-Infinity");
    }
}
