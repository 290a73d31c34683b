//! A workload's keys, declared once: the declaration is their part of the plan's schema, their defaults, and a struct of
//! typed values.

use std::time::Duration;

use crate::catalog::{KeyKind, KeySpec};
use crate::duration;
use crate::value::{Point, Value};

/// A value that no plan of this build gives a key: a point may also come from a store or from another host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {wrong}")]
pub struct KeyError {
    pub key: &'static str,
    pub wrong: String,
}

/// What a key's value becomes. `None` for a missing value, or one of another type.
pub trait FromKey: Sized {
    fn from_key(value: Option<&Value>) -> Option<Self>;
}

/// An optional key.
impl<T: FromKey> FromKey for Option<T> {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        value.map_or(Some(None), |value| T::from_key(Some(value)).map(Some))
    }
}

impl FromKey for i64 {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        value?.as_int()
    }
}

impl FromKey for u64 {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        value?.as_int()?.try_into().ok()
    }
}

impl FromKey for u32 {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        value?.as_int()?.try_into().ok()
    }
}

impl FromKey for f64 {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        value?.as_float()
    }
}

impl FromKey for bool {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        if let Value::Bool(is) = value? { Some(*is) } else { None }
    }
}

impl FromKey for String {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        value?.as_text().map(str::to_owned)
    }
}

impl FromKey for Duration {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        duration::parse(value?.as_text()?).ok()
    }
}

/// Of [`KeyKind::DurationRange`].
impl FromKey for (Duration, Duration) {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        duration::parse_range(value?.as_text()?).ok()
    }
}

/// Of [`KeyKind::Durations`].
impl FromKey for Vec<Duration> {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        duration::parse_list(value?.as_text()?).ok()
    }
}

impl KeySpec {
    /// The value at a point, else the default.
    pub fn read<T: FromKey>(&self, point: &Point) -> Result<T, KeyError> {
        let value = point.get(self.name).cloned().or_else(|| self.default?.value());
        if let Some(value) = value.as_ref().filter(|value| !self.kind.takes(value)) {
            return Err(KeyError { key: self.name, wrong: format!("cannot be {value}") });
        }
        T::from_key(value.as_ref()).ok_or_else(|| KeyError { key: self.name, wrong: "has no value".to_owned() })
    }
}

impl KeyKind {
    /// Whether a plan may give it this value; what a text means is for the workload to say.
    fn takes(self, value: &Value) -> bool {
        match self {
            KeyKind::Int { min, max } => value.as_int().is_some_and(|number| (min..=max).contains(&number)),
            KeyKind::Float { min, max } => value.as_float().is_some_and(|number| (min..=max).contains(&number)),
            KeyKind::Bool => matches!(value, Value::Bool(_)),
            KeyKind::Choice(words) => value.as_text().is_some_and(|text| words.contains(&text)),
            KeyKind::ChoiceOrFile(_)
            | KeyKind::Mix(_)
            | KeyKind::Duration
            | KeyKind::DurationRange
            | KeyKind::Durations
            | KeyKind::Text => value.as_text().is_some(),
        }
    }
}

/// Declares a workload's keys: a struct, whose `SPECS` are for the catalog and whose `read` takes its values from a point.
///
/// ```
/// use model::{KeyKind, KeySpec, Literal, Point};
///
/// model::keys! {
///     struct Keys {
///         rows: u64 = KeySpec::new("rows", KeyKind::Int { min: 1, max: 1_000 }, Literal::Int(8), "Rows of a statement"),
///         seed: Option<u64> = KeySpec::optional("seed", KeyKind::Int { min: 0, max: 9 }, "Seed of the data"),
///     }
/// }
///
/// let keys = Keys::read(&Point::new()).unwrap();
/// assert_eq!((keys.rows, keys.seed, Keys::SPECS.len()), (8, None, 2));
/// ```
#[macro_export]
macro_rules! keys {
    ($visibility:vis struct $name:ident { $($field:ident: $type:ty = $spec:expr,)* }) => {
        #[derive(Clone, Debug)]
        $visibility struct $name {
            $($visibility $field: $type,)*
        }

        impl $name {
            $visibility const SPECS: &'static [$crate::KeySpec] = &[$($spec,)*];

            $visibility fn read(point: &$crate::Point) -> Result<$name, $crate::KeyError> {
                Ok($name {
                    $($field: {
                        const SPEC: $crate::KeySpec = $spec;
                        SPEC.read(point)?
                    },)*
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Literal;

    crate::keys! {
        struct Keys {
            rows: u64 = KeySpec::new("rows", KeyKind::Int { min: 1, max: 9 }, Literal::Int(8), ""),
            codec: String = KeySpec::new("codec", KeyKind::Choice(&["none", "zstd"]), Literal::Text("zstd"), ""),
            wait: Option<Duration> = KeySpec::optional("wait", KeyKind::Duration, ""),
            size: u32 = KeySpec { default: None, ..KeySpec::optional("size", KeyKind::Int { min: 0, max: 9 }, "") },
        }
    }

    #[test]
    fn a_point_becomes_typed_values_and_what_no_plan_says_is_refused() {
        let read = |pairs: &[(&str, Value)]| {
            let mut point: Point = [("size".to_owned(), Value::Int(0))].into();
            point.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            Keys::read(&point)
        };
        let text = |text: &str| Value::Text(text.to_owned());
        let keys = read(&[]).unwrap();
        assert_eq!((keys.rows, keys.codec.as_str(), keys.wait, keys.size), (8, "zstd", None, 0));
        let keys = read(&[("rows", Value::Int(1)), ("codec", text("none")), ("wait", text("5ms"))]).unwrap();
        assert_eq!((keys.rows, keys.codec.as_str(), keys.wait), (1, "none", Some(Duration::from_millis(5))));
        for (key, value) in
            [("rows", Value::Int(0)), ("rows", text("8")), ("codec", text("lzma")), ("wait", Value::Int(5))]
        {
            assert_eq!(read(&[(key, value.clone())]).unwrap_err().to_string(), format!("`{key}` cannot be {value}"));
        }
        assert_eq!(read(&[("wait", text("soon"))]).unwrap_err().to_string(), "`wait` has no value");
        assert_eq!(Keys::read(&Point::new()).unwrap_err().key, "size");
        assert_eq!(Keys::SPECS.iter().map(|spec| spec.name).collect::<Vec<_>>(), ["rows", "codec", "wait", "size"]);
    }
}
