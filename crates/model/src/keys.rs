//! A workload's keys, declared once: the declaration is their part of the plan's schema, their defaults, and a struct of
//! typed values.

use std::marker::PhantomData;
use std::time::Duration;

use crate::catalog::{KeyKind, KeySpec, Literal};
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
    /// Reads a key's value as this type; `None` if it is another.
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

/// Reads a [`KeyKind::DurationRange`].
impl FromKey for (Duration, Duration) {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        duration::parse_range(value?.as_text()?).ok()
    }
}

/// Reads [`KeyKind::Durations`].
impl FromKey for Vec<Duration> {
    fn from_key(value: Option<&Value>) -> Option<Self> {
        duration::parse_list(value?.as_text()?).ok()
    }
}

impl KeySpec {
    /// Reads the key's value at a point, or its default; fails if the key cannot have it.
    pub fn read<T: FromKey>(&self, point: &Point) -> Result<T, KeyError> {
        let value = point.get(self.name).cloned().or_else(|| self.default?.to_value());
        if let Some(value) = value.as_ref().filter(|value| !self.kind.takes(value)) {
            return Err(KeyError { key: self.name, wrong: format!("cannot be {value}") });
        }
        T::from_key(value.as_ref()).ok_or_else(|| KeyError { key: self.name, wrong: "has no value".to_owned() })
    }
}

impl KeyKind {
    /// Whether a plan may give a key of this kind the value; what a text means is for the workload to say.
    fn takes(self, value: &Value) -> bool {
        match self {
            KeyKind::Int { min, max } => value.as_int().is_some_and(|number| (min..=max).contains(&number)),
            KeyKind::Float { min, max } => value.as_float().is_some_and(|number| (min..=max).contains(&number)),
            KeyKind::Share => value.as_float().is_some_and(|share| (0.0..=1.0).contains(&share)),
            KeyKind::Bool => matches!(value, Value::Bool(_)),
            KeyKind::Choice(words) => value.as_text().is_some_and(|text| words.contains(&text)),
            KeyKind::ChoiceOrFile(_)
            | KeyKind::Mix(_)
            | KeyKind::Duration
            | KeyKind::DurationRange
            | KeyKind::Durations
            | KeyKind::OfEngines
            | KeyKind::Text => value.as_text().is_some(),
        }
    }
}

/// What a key takes, and what it is when not written: left out, unless there is a default of type `D`.
#[derive(Clone, Copy, Debug)]
pub struct Shape<D> {
    kind: KeyKind,
    default: Option<Literal>,
    of: PhantomData<D>,
}

impl<D> Shape<D> {
    /// Makes the shape of a key of this kind that may be absent.
    const fn new(kind: KeyKind) -> Shape<D> {
        Shape { kind, default: Some(Literal::Absent), of: PhantomData }
    }

    /// Makes the key one that every plan has to write.
    #[must_use]
    pub const fn required(self) -> Shape<D> {
        Shape { default: None, ..self }
    }

    /// Makes the key's specification with its name and what it is about.
    #[must_use]
    pub const fn called(self, name: &'static str, about: &'static str) -> KeySpec {
        KeySpec { name, kind: self.kind, default: self.default, about: about.trim_ascii_start() }
    }
}

macro_rules! defaults {
    ($($of:ty => $literal:ident,)*) => {
        $(impl Shape<$of> {
            /// Gives the key a default.
            #[must_use]
            pub const fn or(self, default: $of) -> Shape<$of> {
                Shape { default: Some(Literal::$literal(default)), ..self }
            }
        })*
    };
}

defaults! { i64 => Int, f64 => Float, bool => Bool, &'static str => Text, }

/// The shapes that [`keys!`](crate::keys!) knows, one for each [`KeyKind`].
pub mod shapes {
    use std::ops::RangeInclusive;

    use super::Shape;
    use crate::catalog::KeyKind;

    type Words = &'static [&'static str];

    pub const FLAG: Shape<bool> = Shape::new(KeyKind::Bool);
    pub const SHARE: Shape<f64> = Shape::new(KeyKind::Share);
    pub const DURATION: Shape<&'static str> = Shape::new(KeyKind::Duration);
    pub const DURATION_RANGE: Shape<&'static str> = Shape::new(KeyKind::DurationRange);
    pub const DURATIONS: Shape<&'static str> = Shape::new(KeyKind::Durations);
    pub const TEXT: Shape<&'static str> = Shape::new(KeyKind::Text);
    pub const OF_ENGINES: Shape<&'static str> = Shape::new(KeyKind::OfEngines);

    /// Makes a key that takes a whole number in a range.
    pub const fn int(within: RangeInclusive<i64>) -> Shape<i64> {
        Shape::new(KeyKind::Int { min: *within.start(), max: *within.end() })
    }

    /// Makes a key that takes a number in a range.
    pub const fn float(within: RangeInclusive<f64>) -> Shape<f64> {
        Shape::new(KeyKind::Float { min: *within.start(), max: *within.end() })
    }

    /// Makes a key that takes one of some words.
    pub const fn choice(words: Words) -> Shape<&'static str> {
        Shape::new(KeyKind::Choice(words))
    }

    /// Makes a key that takes one of some words or the path of a file.
    pub const fn choice_or_file(words: Words) -> Shape<&'static str> {
        Shape::new(KeyKind::ChoiceOrFile(words))
    }

    /// Makes a key that takes one of some words, or several with weights.
    pub const fn mix(words: Words) -> Shape<&'static str> {
        Shape::new(KeyKind::Mix(words))
    }
}

/// Declares a workload's keys: a struct, whose `SPECS` are for the catalog and whose `read` takes its values from a point.
/// A key's comment is what the documents say of it, its unit included; it has the field's name unless another is given.
///
/// ```
/// use model::Point;
///
/// model::keys! {
///     struct Keys {
///         /// Rows of a statement
///         rows: u64 = int(1..=1_000).or(8),
///         /// Connections of the pool
///         pool_size as "pool.size": Option<u64> = int(1..=9),
///     }
/// }
///
/// let keys = Keys::read(&Point::new()).unwrap();
/// assert_eq!((keys.rows, keys.pool_size, Keys::SPECS[0].about, Keys::SPECS[1].name), (8, None, "Rows of a statement", "pool.size"));
/// ```
#[macro_export]
macro_rules! keys {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($visibility:vis struct $keys:ident {
        $($(#[doc = $about:literal])+ $field:ident $(as $name:literal)?: $type:ty = $shape:expr,)*
    }) => {
        #[derive(Clone, Debug)]
        $visibility struct $keys {
            $($(#[doc = $about])+ $visibility $field: $type,)*
        }

        impl $keys {
            $visibility const SPECS: &'static [$crate::KeySpec; [$(stringify!($field)),*].len()] = {
                use $crate::keys::shapes::*;
                &[$($shape.called($crate::keys!(@name $field $($name)?), concat!($($about),+)),)*]
            };

            $visibility fn read(point: &$crate::Point) -> Result<$keys, $crate::KeyError> {
                let [$($field,)*] = Self::SPECS;
                Ok($keys { $($field: $field.read(point)?,)* })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::keys! {
        struct Keys {
            /// Rows
            rows: u64 = int(1..=9).or(8),
            /// What
            /// compresses
            codec: String = choice(&["none", "zstd"]).or("zstd"),
            /// Pause
            wait: Option<Duration> = DURATION,
            /// Bytes
            size: u32 = int(0..=9).required(),
        }
    }

    #[test]
    fn a_point_becomes_typed_values_and_what_no_plan_says_is_refused() {
        let read = |pairs: &[(&str, Value)]| {
            let mut point: Point = [("size".to_owned(), Value::Int(0))].into();
            point.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            Keys::read(&point)
        };
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
        assert_eq!(Keys::SPECS[1].about, "What compresses");
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
