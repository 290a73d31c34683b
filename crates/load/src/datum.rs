use std::borrow::Cow;

/// A value sent to a database.
#[derive(Debug, Default, PartialEq)]
pub enum Datum {
    #[default]
    Null,
    Int(i64),
    Double(f64),
    Text(Cow<'static, str>),
}

impl Clone for Datum {
    fn clone(&self) -> Datum {
        match self {
            Datum::Null => Datum::Null,
            Datum::Int(number) => Datum::Int(*number),
            Datum::Double(number) => Datum::Double(*number),
            Datum::Text(text) => Datum::Text(text.clone()),
        }
    }

    /// A text takes the place of another one without allocation, if it fits.
    fn clone_from(&mut self, source: &Datum) {
        match (self, source) {
            (Datum::Text(text), Datum::Text(other)) => text.clone_from(other),
            (datum, other) => *datum = other.clone(),
        }
    }
}

impl Datum {
    /// The datum as a whole number, also from a text.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Datum::Int(number) => Some(*number),
            Datum::Text(text) => text.parse().ok(),
            Datum::Null | Datum::Double(_) => None,
        }
    }
}
