//! Rows of an answer, packed: a large one costs its bytes, and what is made of them comes after the time that is measured.

use std::time::Instant;

use load::datum::Datum;
use load::error::{Failure, FailureKind};

/// Most bytes of an answer that are kept; behind them rows are only counted.
const MOST_BYTES: usize = 512 << 20;

/// Bytes before a value that say which it is, and those of lengths and numbers of values.
const NULL: u8 = 0;
const INT: u8 = 1;
const DOUBLE: u8 = 2;
const TEXT: u8 = 3;
const LENGTH_BYTES: usize = size_of::<u32>();

/// A value as an engine gives it; texts may have bytes that are no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Double(f64),
    Text(&'a [u8]),
}

impl Value<'_> {
    /// The value as text; `None` is `NULL`.
    pub fn into_text(self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Int(number) => Some(number.to_string()),
            Value::Double(number) => Some(number.to_string()),
            Value::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// Turns the value into a [`Datum`]; bytes that are no UTF-8 are replaced.
    fn into_datum(self) -> Datum {
        match self {
            Value::Null => Datum::Null,
            Value::Int(number) => Datum::Int(number),
            Value::Double(number) => Datum::Double(number),
            Value::Text(bytes) => Datum::Text(String::from_utf8_lossy(bytes).into_owned().into()),
        }
    }
}

impl<'a> From<&'a Datum> for Value<'a> {
    fn from(datum: &'a Datum) -> Value<'a> {
        match datum {
            Datum::Null => Value::Null,
            Datum::Int(number) => Value::Int(*number),
            Datum::Double(number) => Value::Double(*number),
            Datum::Text(text) => Value::Text(text.as_bytes()),
        }
    }
}

/// The rows that a statement, or several, have given.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// For each row how many values it has, then these.
    packed: Vec<u8>,
    count: usize,
    /// For each column of the last result whether its texts are numbers; `None`: the engine does not say.
    numbers: Option<Vec<bool>>,
    first_at: Option<Instant>,
    /// More bytes came than are kept.
    is_cut: bool,
}

impl Rows {
    /// Appends a row, or only counts it once the answer has grown too large.
    pub fn push_row<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) {
        self.first_at.get_or_insert_with(Instant::now);
        self.count += 1;
        if self.is_cut {
            return;
        }
        let start = self.packed.len();
        self.packed.extend([0; LENGTH_BYTES]);
        let mut width = 0_u32;
        for value in values {
            width += 1;
            match value {
                Value::Null => self.packed.push(NULL),
                Value::Int(number) => self.put_value(INT, &number.to_le_bytes()),
                Value::Double(number) => self.put_value(DOUBLE, &number.to_le_bytes()),
                Value::Text(bytes) => {
                    self.put_value(TEXT, &u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
                    self.packed.extend_from_slice(bytes);
                }
            }
        }
        self.packed[start..start + LENGTH_BYTES].copy_from_slice(&width.to_le_bytes());
        if self.packed.len() > MOST_BYTES {
            self.is_cut = true;
            self.packed = Vec::new();
        }
    }

    /// Appends a value's kind and bytes.
    fn put_value(&mut self, kind: u8, bytes: &[u8]) {
        self.packed.push(kind);
        self.packed.extend_from_slice(bytes);
    }

    /// Sets for each column of the result that follows whether its texts are numbers.
    pub fn set_numbers(&mut self, numbers: Vec<bool>) {
        self.numbers = Some(numbers);
    }

    /// The columns of the last result whose texts are numbers; `None` if the engine does not say.
    pub fn number_columns(&self) -> Option<&[bool]> {
        self.numbers.as_deref()
    }

    /// Instant at which the first row was here; `None` if there is none.
    pub fn first_row_at(&self) -> Option<Instant> {
        self.first_at
    }

    /// Unpacks the rows one by one.
    pub fn iter_rows(&self) -> impl Iterator<Item = Vec<Value<'_>>> {
        let mut rest = self.packed.as_slice();
        std::iter::from_fn(move || {
            let width = u32::from_le_bytes(take_bytes(&mut rest)?);
            (0..width).map(|_| take_value(&mut rest)).collect()
        })
    }

    /// Unpacks all rows to [`Datum`]s.
    pub fn to_data(&self) -> Vec<Vec<Datum>> {
        self.iter_rows().map(|row| row.into_iter().map(Value::into_datum).collect()).collect()
    }

    /// Fails unless all rows of the answer are kept.
    ///
    /// # Errors
    /// [`FailureKind::Other`]: it is too large.
    pub fn require_whole(self, tried: impl FnOnce() -> String) -> Result<Rows, Failure> {
        if !self.is_cut {
            return Ok(self);
        }
        let cause = format!(
            "its answer of {} rows has more than {} MiB, the most that is kept to be compared; count them, or add a limit",
            self.count,
            MOST_BYTES >> 20
        );
        Err(Failure::new(FailureKind::Other, tried(), cause))
    }
}

/// Takes one packed value from the front of `rest`.
fn take_value<'a>(rest: &mut &'a [u8]) -> Option<Value<'a>> {
    let [kind] = take_bytes(rest)?;
    Some(match kind {
        INT => Value::Int(i64::from_le_bytes(take_bytes(rest)?)),
        DOUBLE => Value::Double(f64::from_le_bytes(take_bytes(rest)?)),
        TEXT => {
            let length = u32::from_le_bytes(take_bytes(rest)?);
            let (bytes, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            *rest = behind;
            Value::Text(bytes)
        }
        _ => Value::Null,
    })
}

/// Takes `N` bytes from the front of `rest`.
fn take_bytes<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_pushed() {
        let all = [
            vec![Value::Int(-7), Value::Text(b"a"), Value::Null],
            vec![],
            vec![Value::Double(0.5), Value::Text(b""), Value::Text(&[0xff, 0])],
        ];
        let mut rows = Rows::default();
        assert_eq!(rows.first_row_at(), None);
        all.iter().for_each(|row| rows.push_row(row.iter().copied()));
        assert_eq!(rows.iter_rows().collect::<Vec<_>>(), all);
        assert!(rows.first_row_at().is_some());
        assert_eq!(rows.require_whole(String::new).unwrap().count, 3);
    }

    #[test]
    fn rows_that_are_not_all_kept_are_refused_with_their_number() {
        let mut rows = Rows::default();
        let large = vec![b'x'; MOST_BYTES / 2];
        for _ in 0..5 {
            rows.push_row([Value::Text(&large)].into_iter());
        }
        assert_eq!(rows.packed.capacity(), 0);
        let failure = rows.require_whole(|| "run it".to_owned()).unwrap_err();
        assert!(failure.cause.starts_with("its answer of 5 rows has more than 512 MiB"), "{failure}");
    }
}
