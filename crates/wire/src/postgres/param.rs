//! How a value is written for a parameter or a column of a given type.

use crate::value::{Inline, Text};
use crate::{Result, Value, WireError};

use super::{Format, oid};

pub(crate) struct Encoded<'a> {
    pub(crate) format: Format,
    payload: Payload<'a>,
}

enum Payload<'a> {
    Null,
    Inline(Inline),
    Borrowed(&'a [u8]),
}

impl<'a> Encoded<'a> {
    /// The wire form for a parameter of type `oid`: binary where value and type fit, else text.
    ///
    /// A value that does not fit (a fraction for an `integer`, a number beyond its range) goes as text on purpose: the
    /// server judges it with its own message.
    pub(crate) fn new(oid: u32, value: Value<'a>) -> Self {
        match binary_payload(oid, value) {
            Some(payload) => Self { format: Format::Binary, payload },
            None => match value.to_text() {
                Text::Null => Self { format: Format::Text, payload: Payload::Null },
                Text::Inline(text) => Self { format: Format::Text, payload: Payload::Inline(text) },
                Text::Borrowed(text) => Self { format: Format::Text, payload: Payload::Borrowed(text) },
            },
        }
    }

    /// The bytes; `None` is `NULL`.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.payload {
            Payload::Null => None,
            Payload::Inline(bytes) => Some(bytes.as_slice()),
            Payload::Borrowed(bytes) => Some(bytes),
        }
    }

    /// Appends length (-1: `NULL`) and bytes.
    #[inline]
    pub(crate) fn write_value(&self, out: &mut Vec<u8>) -> Result<()> {
        let Some(bytes) = self.bytes() else {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            return Ok(());
        };
        let length = i32::try_from(bytes.len()).map_err(|_| WireError::RequestTooLarge(bytes.len() as u64))?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(bytes);
        Ok(())
    }
}

/// The value in its type's binary form, if it has one.
#[inline]
fn binary_payload<'a>(oid: u32, value: Value<'a>) -> Option<Payload<'a>> {
    let inline = |bytes: &[u8]| Some(Payload::Inline(Inline::new(bytes)));
    match (oid, value) {
        (oid::INT4, Value::Int(value)) => inline(&i32::try_from(value).ok()?.to_be_bytes()),
        (oid::INT8, Value::Int(value)) => inline(&value.to_be_bytes()),
        (oid::INT2, Value::Int(value)) => inline(&i16::try_from(value).ok()?.to_be_bytes()),
        (oid::OID, Value::Int(value)) => inline(&u32::try_from(value).ok()?.to_be_bytes()),
        // Rounded correctly, as the server would read the digits.
        (oid::FLOAT8, Value::Int(value)) => inline(&(value as f64).to_be_bytes()),
        (oid::FLOAT8, Value::Float(value)) => inline(&value.to_be_bytes()),
        (oid::FLOAT4, Value::Int(value)) => inline(&(value as f32).to_be_bytes()),
        (oid::FLOAT4, Value::Float(value)) => {
            let narrow = value as f32;
            // Out of range or underflow: the server refuses the text form, so refuse here.
            let lost = value.is_finite() && (narrow.is_infinite() || (narrow == 0.0 && value != 0.0));
            if lost { None } else { inline(&narrow.to_be_bytes()) }
        }
        (oid::BOOL, Value::Bool(value)) => inline(&[u8::from(value)]),
        (oid::BYTEA, Value::Bytes(bytes)) => Some(Payload::Borrowed(bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(oid: u32, value: Value<'_>) -> (Format, Option<Vec<u8>>) {
        let encoded = Encoded::new(oid, value);
        (encoded.format, encoded.bytes().map(<[u8]>::to_vec))
    }

    #[test]
    fn what_fits_goes_in_binary() {
        assert_eq!(form(oid::INT4, Value::Int(-2)), (Format::Binary, Some(vec![255, 255, 255, 254])));
        assert_eq!(form(oid::INT2, Value::Int(258)), (Format::Binary, Some(vec![1, 2])));
        assert_eq!(form(oid::INT8, Value::Int(1)), (Format::Binary, Some(vec![0, 0, 0, 0, 0, 0, 0, 1])));
        assert_eq!(form(oid::FLOAT8, Value::Float(1.0)), (Format::Binary, Some(vec![63, 240, 0, 0, 0, 0, 0, 0])));
        assert_eq!(form(oid::BOOL, Value::Bool(true)), (Format::Binary, Some(vec![1])));
    }

    #[test]
    fn what_does_not_fit_goes_as_text_for_the_server_to_judge() {
        assert_eq!(form(oid::INT4, Value::Int(1 << 40)), (Format::Text, Some(b"1099511627776".to_vec())));
        assert_eq!(form(oid::INT4, Value::Float(1.5)), (Format::Text, Some(b"1.5".to_vec())));
        assert_eq!(form(oid::FLOAT4, Value::Float(1e300)).0, Format::Text);
        assert_eq!(form(oid::NUMERIC, Value::Int(7)), (Format::Text, Some(b"7".to_vec())));
        assert_eq!(form(oid::INT4, Value::Text("12")), (Format::Text, Some(b"12".to_vec())));
        assert_eq!(form(oid::INT4, Value::Null), (Format::Text, None));
    }
}
