use std::borrow::Cow;

/// A value sent to a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    #[default]
    Null,
    Int(i64),
    Double(f64),
    Text(Cow<'static, str>),
}

impl Datum {
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Datum::Int(number) => Some(*number),
            Datum::Text(text) => text.parse().ok(),
            Datum::Null | Datum::Double(_) => None,
        }
    }
}
