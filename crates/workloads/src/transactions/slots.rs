//! The memory of a client: one slot for each variable.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::value::{Fault, ScriptValue, value_of_text};
use load::datum::Datum;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum VariableSlot {
    #[default]
    Unset,
    Value(ScriptValue),
    /// A text from the user or from a row, given a type where a number is needed.
    Text(String),
}

impl VariableSlot {
    /// Makes a variable of a text: a whole number if it is written as one.
    pub(super) fn from_text(text: &str) -> VariableSlot {
        let mut slot = VariableSlot::Unset;
        slot.set_text(text);
        slot
    }

    /// Sets the variable to a text, or to a whole number if it is written as one; reuses a text's memory.
    pub(super) fn set_text(&mut self, text: &str) {
        if let Some(n) = canonical_int(text) {
            *self = VariableSlot::Value(ScriptValue::Int(n));
        } else if let VariableSlot::Text(memory) = self {
            memory.clear();
            memory.push_str(text);
        } else {
            *self = VariableSlot::Text(text.to_owned());
        }
    }

    /// Sets the variable to a value of a row; NULL becomes the empty text, as in pgbench.
    pub(super) fn set_datum(&mut self, datum: &Datum) {
        match datum {
            Datum::Null => self.set_text(""),
            Datum::Int(n) => *self = VariableSlot::Value(ScriptValue::Int(*n)),
            Datum::Double(x) => *self = VariableSlot::Value(ScriptValue::Double(*x)),
            Datum::Text(text) => self.set_text(text),
        }
    }

    /// Reads the variable as expressions see it; fails if it is not set, or is no value.
    pub(super) fn script_value(&self, name: &str) -> Result<ScriptValue, Fault> {
        match self {
            VariableSlot::Unset => Err(Fault::Undefined(name.to_owned())),
            VariableSlot::Value(value) => Ok(*value),
            VariableSlot::Text(text) => {
                value_of_text(text).ok_or_else(|| Fault::Malformed { name: name.to_owned(), text: text.clone() })
            }
        }
    }

    /// Writes the variable into a statement's parameter, reusing its memory if it can.
    pub(super) fn write_to(&self, datum: &mut Datum) {
        match (self, datum) {
            (VariableSlot::Unset, datum) => *datum = Datum::Null,
            (VariableSlot::Value(value), datum) => value.write_to(datum),
            (VariableSlot::Text(text), Datum::Text(Cow::Owned(memory))) => {
                memory.clear();
                memory.push_str(text);
            }
            (VariableSlot::Text(text), datum) => *datum = Datum::Text(Cow::Owned(text.clone())),
        }
    }

    /// Appends the variable to a text; an unset one is left as it was written, `:name`.
    pub(super) fn append_to(&self, name: &str, text: &mut String) {
        // Writing to a string does not fail.
        let _ = match self {
            VariableSlot::Unset => write!(text, ":{name}"),
            VariableSlot::Value(value) => write!(text, "{value}"),
            VariableSlot::Text(own) => text.write_str(own),
        };
    }
}

impl fmt::Display for VariableSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableSlot::Unset => Ok(()),
            VariableSlot::Value(value) => value.fmt(f),
            VariableSlot::Text(text) => f.write_str(text),
        }
    }
}

/// Reads a whole number that would be written exactly like this; `None` for any other text.
fn canonical_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let first_is_fine = text == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    if first_is_fine { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_kept_as_numbers_and_other_texts_as_they_are() {
        assert_eq!(VariableSlot::from_text("-12"), VariableSlot::Value(ScriptValue::Int(-12)));
        assert_eq!(VariableSlot::from_text("0"), VariableSlot::Value(ScriptValue::Int(0)));
        for text in ["007", "+1", "-0", " 1", "", "1.0", "9223372036854775808"] {
            assert_eq!(VariableSlot::from_text(text), VariableSlot::Text(text.to_owned()));
        }
        assert_eq!(VariableSlot::from_text("007").script_value("x"), Ok(ScriptValue::Int(7)));
        assert!(matches!(VariableSlot::from_text("").script_value("x"), Err(Fault::Malformed { .. })));
        assert!(matches!(VariableSlot::Unset.script_value("x"), Err(Fault::Undefined(_))));
    }

    #[test]
    fn parameters_reuse_their_memory() {
        let mut datum = Datum::Text(Cow::Owned(String::with_capacity(100)));
        VariableSlot::from_text("a text").write_to(&mut datum);
        let Datum::Text(Cow::Owned(text)) = &datum else { panic!("{datum:?}") };
        assert_eq!((text.as_str(), text.capacity()), ("a text", 100));
        VariableSlot::Unset.write_to(&mut datum);
        assert_eq!(datum, Datum::Null);
    }
}
