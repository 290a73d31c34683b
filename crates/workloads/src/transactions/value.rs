//! Typed values of the script language, and how they turn into one another.

use std::fmt::{self, Write};

use load::datum::Datum;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScriptValue {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
}

/// Why an expression has no value. The words are pgbench's where it has them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum Fault {
    #[error("cannot coerce {from} to {to}")]
    Coercion { from: &'static str, to: &'static str },
    #[error("double to int overflow for {0}")]
    TooLarge(f64),
    #[error("bigint {0} out of range")]
    OutOfRange(&'static str),
    #[error("division by zero")]
    DivisionByZero,
    #[error("empty range given to random")]
    EmptyRange,
    #[error("random range is too large")]
    WideRange,
    #[error("{0}")]
    Parameter(String),
    #[error("the variable `:{0}` has no value")]
    Undefined(String),
    #[error("the variable `:{name}` holds `{text}`, which is no value")]
    Malformed { name: String, text: String },
}

impl ScriptValue {
    /// Name of the value's type, for messages.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            ScriptValue::Null => "null",
            ScriptValue::Bool(_) => "boolean",
            ScriptValue::Int(_) => "int",
            ScriptValue::Double(_) => "double",
        }
    }

    /// Makes the fault of a value that cannot become another type, as a result.
    fn coercion_fault<T>(self, to: &'static str) -> Result<T, Fault> {
        Err(Fault::Coercion { from: self.type_name(), to })
    }

    /// Reads the value as a boolean; other types are a fault.
    pub(super) fn to_bool(self) -> Result<bool, Fault> {
        match self {
            ScriptValue::Bool(b) => Ok(b),
            _ => self.coercion_fault("boolean"),
        }
    }

    /// Reads the value as the nearest whole number, halves to the even one; other types are a fault.
    pub(super) fn to_int(self) -> Result<i64, Fault> {
        match self {
            ScriptValue::Int(n) => Ok(n),
            ScriptValue::Double(x) => {
                let whole = x.round_ties_even();
                // 2^63 is the first double that does not fit; -2^63 fits.
                let fits = whole >= i64::MIN as f64 && whole < -(i64::MIN as f64);
                if fits { Ok(whole as i64) } else { Err(Fault::TooLarge(whole)) }
            }
            _ => self.coercion_fault("int"),
        }
    }

    /// Reads the value as a double; other types are a fault.
    pub(super) fn to_double(self) -> Result<f64, Fault> {
        match self {
            ScriptValue::Double(x) => Ok(x),
            ScriptValue::Int(n) => Ok(n as f64),
            _ => self.coercion_fault("double"),
        }
    }

    /// Whether `\if` and `WHEN` take the value for true: NULL and zero are false.
    pub(super) fn is_true(self) -> bool {
        match self {
            ScriptValue::Null => false,
            ScriptValue::Bool(b) => b,
            ScriptValue::Int(n) => n != 0,
            ScriptValue::Double(x) => x != 0.0,
        }
    }

    /// Writes the value into a statement's parameter; doubles get 15 digits, as in pgbench.
    pub(super) fn write_to(self, datum: &mut Datum) {
        *datum = match self {
            ScriptValue::Null => Datum::Null,
            ScriptValue::Bool(true) => Datum::Text("true".into()),
            ScriptValue::Bool(false) => Datum::Text("false".into()),
            ScriptValue::Int(n) => Datum::Int(n),
            ScriptValue::Double(x) => Datum::Double(round_to_15_digits(x)),
        };
    }
}

/// Writes a value as pgbench writes it into a statement.
impl fmt::Display for ScriptValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptValue::Null => f.write_str("NULL"),
            ScriptValue::Bool(b) => b.fmt(f),
            ScriptValue::Int(n) => n.fmt(f),
            ScriptValue::Double(x) => write_general(f, *x),
        }
    }
}

/// A few dozen bytes on the stack: enough for any number with 15 digits.
#[derive(Default)]
struct Small {
    bytes: [u8; 32],
    length: usize,
}

impl Small {
    /// The text that was written.
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Small {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Writes a finite number with 15 significant digits and a decimal exponent, `d.dddddddddddddde±x`.
fn scientific_digits(x: f64) -> Small {
    let mut small = Small::default();
    // At most 1 + 1 + 1 + 14 + 1 + 4 characters.
    let _ = write!(small, "{x:.14e}");
    small
}

/// Rounds a number to 15 significant digits.
fn round_to_15_digits(x: f64) -> f64 {
    if x.is_finite() && x.fract() != 0.0 || x.abs() >= 1e15 {
        scientific_digits(x).as_str().parse().unwrap_or(x)
    } else {
        x
    }
}

/// Writes a number as C's `%.15g` does, with PostgreSQL's words for what is no number.
fn write_general(f: &mut fmt::Formatter<'_>, x: f64) -> fmt::Result {
    if x.is_nan() {
        return f.write_str("NaN");
    }
    if x.is_infinite() {
        return f.write_str(if x < 0.0 { "-Infinity" } else { "Infinity" });
    }
    let text = scientific_digits(x);
    let (mantissa, exponent) = text.as_str().split_once('e').unwrap_or((text.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..15).contains(&exponent) {
        let mantissa = trim_fraction(mantissa);
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(f, "{mantissa}e{sign}{:02}", exponent.abs());
    }
    let mut fixed = Small::default();
    let _ = write!(fixed, "{x:.*}", (14 - exponent) as usize);
    f.write_str(trim_fraction(fixed.as_str()))
}

/// Strips the zeros at the end of a fraction.
fn trim_fraction(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Reads a typed value from a text, as pgbench does; `None` if it is none.
pub(super) fn value_of_text(text: &str) -> Option<ScriptValue> {
    if text.is_empty() {
        None
    } else if text.eq_ignore_ascii_case("null") {
        Some(ScriptValue::Null)
    } else if !text.is_ascii() {
        None
    } else if is_prefix_of(text, "true") || is_prefix_of(text, "yes") || text.eq_ignore_ascii_case("on") {
        Some(ScriptValue::Bool(true))
    } else if is_prefix_of(text, "false")
        || is_prefix_of(text, "no")
        || text.eq_ignore_ascii_case("off")
        || text.eq_ignore_ascii_case("of")
    {
        Some(ScriptValue::Bool(false))
    } else if looks_whole(text) {
        text.trim_start_matches(C_SPACE).parse().ok().map(ScriptValue::Int)
    } else {
        double_of_text(text.trim_start_matches(C_SPACE)).map(ScriptValue::Double)
    }
}

/// Whether a text begins a word, in any case.
fn is_prefix_of(text: &str, word: &str) -> bool {
    text.len() <= word.len() && word[..text.len()].eq_ignore_ascii_case(text)
}

/// What C's `isspace` takes.
const C_SPACE: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

/// Whether C would read a text as a whole number.
fn looks_whole(text: &str) -> bool {
    let digits = text.trim_start_matches(C_SPACE);
    let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Reads a double from a text; `None` if it is none, or is too large or too small for a double.
pub(super) fn double_of_text(text: &str) -> Option<f64> {
    let x: f64 = text.parse().ok()?;
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !digits.bytes().any(|b| (b'1'..=b'9').contains(&b));
    let spelt_out = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_alphabetic());
    let in_range = spelt_out || (x.is_finite() && (is_zero || x.is_normal()));
    in_range.then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_c_writes_them() {
        assert_eq!(text_of(0.1 + 0.2), "0.3");
        assert_eq!(text_of(1e15), "1e+15");
        assert_eq!(text_of(999_999_999_999_999.0), "999999999999999");
        assert_eq!(text_of(0.0001), "0.0001");
        assert_eq!(text_of(0.000_012_5), "1.25e-05");
        assert_eq!(text_of(std::f64::consts::PI), "3.14159265358979");
        assert_eq!(text_of(-2.5), "-2.5");
        assert_eq!(text_of(100.0), "100");
        assert_eq!(text_of(-0.0), "-0");
        assert_eq!(text_of(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(text_of(f64::NAN), "NaN");
        assert_eq!(text_of(1e300), "1e+300");
        assert_eq!(text_of(-0.000_123_456_789_012_345_67), "-0.000123456789012346");
    }

    fn text_of(x: f64) -> String {
        ScriptValue::Double(x).to_string()
    }

    #[test]
    fn parameters_have_the_15_digits_that_pgbench_sends() {
        assert_eq!(datum_of(ScriptValue::Double(0.1 + 0.2)), Datum::Double(0.3));
        assert_eq!(datum_of(ScriptValue::Double(3.0)), Datum::Double(3.0));
        assert_eq!(datum_of(ScriptValue::Bool(true)), Datum::Text("true".into()));
        assert_eq!(datum_of(ScriptValue::Null), Datum::Null);
    }

    fn datum_of(value: ScriptValue) -> Datum {
        let mut datum = Datum::Null;
        value.write_to(&mut datum);
        datum
    }

    #[test]
    fn texts_are_typed_as_pgbench_types_them() {
        assert_eq!(value_of_text("NuLL"), Some(ScriptValue::Null));
        for yes in ["t", "TR", "true", "y", "yes", "on"] {
            assert_eq!(value_of_text(yes), Some(ScriptValue::Bool(true)), "{yes}");
        }
        for no in ["f", "FALSE", "n", "no", "of", "off"] {
            assert_eq!(value_of_text(no), Some(ScriptValue::Bool(false)), "{no}");
        }
        for nothing in ["", "o", "trueish", "1x", "1 ", "9223372036854775808", "1e999", "1e-400", "é"] {
            assert_eq!(value_of_text(nothing), None, "{nothing}");
        }
        assert_eq!(value_of_text(" -12"), Some(ScriptValue::Int(-12)));
        assert_eq!(value_of_text("+7"), Some(ScriptValue::Int(7)));
        assert_eq!(value_of_text("1.5e3"), Some(ScriptValue::Double(1500.0)));
        assert_eq!(value_of_text(".5"), Some(ScriptValue::Double(0.5)));
        assert_eq!(value_of_text("0.0"), Some(ScriptValue::Double(0.0)));
    }

    #[test]
    fn whole_numbers_are_the_nearest_and_in_range() {
        assert_eq!((int_of(2.5), int_of(3.5), int_of(-0.5)), (Ok(2), Ok(4), Ok(0)));
        assert_eq!(int_of(-9_223_372_036_854_775_808.0), Ok(i64::MIN));
        assert!(int_of(9_223_372_036_854_775_808.0).is_err());
        assert!(int_of(f64::NAN).is_err());
        assert!(ScriptValue::Bool(true).to_int().is_err());
    }

    fn int_of(x: f64) -> Result<i64, Fault> {
        ScriptValue::Double(x).to_int()
    }
}
