//! Parameters and rows of a lane's statements.

use wire::Value;

use load::datum::Datum;
use load::lane::KeptRow;

/// Parameters passed without allocation.
const FEW: usize = 16;
/// More results mean a server without end; their last rows are kept.
const MOST_RESULTS: usize = 1 << 16;

pub(crate) fn value(datum: &Datum) -> Value<'_> {
    match datum {
        Datum::Null => Value::Null,
        Datum::Int(number) => Value::Int(*number),
        Datum::Double(number) => Value::Float(*number),
        Datum::Text(text) => Value::Text(text),
    }
}

/// Borrows the parameters as values; a few need no allocation.
pub(crate) fn with_values<T>(parameters: &[Datum], patch: impl FnOnce(&[Value<'_>]) -> T) -> T {
    if parameters.len() > FEW {
        let values: Vec<Value<'_>> = parameters.iter().map(value).collect();
        return patch(&values);
    }
    let mut values = [Value::Null; FEW];
    for (place, datum) in values.iter_mut().zip(parameters) {
        *place = value(datum);
    }
    patch(&values[..parameters.len()])
}

/// The last row of each result of an answer.
#[derive(Debug, Default)]
pub(crate) struct LastRows {
    /// Valid before `results`.
    rows: Vec<KeptRow>,
    results: usize,
}

impl LastRows {
    /// Forgets the rows before another answer.
    pub(crate) fn clear(&mut self) {
        self.results = 0;
    }

    pub(crate) fn kept(&self) -> &[KeptRow] {
        &self.rows[..self.results]
    }

    /// The current result's row.
    pub(crate) fn last(&mut self) -> Option<&mut KeptRow> {
        self.results.checked_sub(1).and_then(|last| self.rows.get_mut(last))
    }

    /// Begins another result, in an older one's memory. `None`: too many.
    pub(crate) fn begin(&mut self) -> Option<&mut KeptRow> {
        if self.results == MOST_RESULTS {
            return None;
        }
        if self.rows.len() == self.results {
            self.rows.push(KeptRow::default());
        }
        let result = &mut self.rows[self.results];
        self.results += 1;
        result.rows = 0;
        result.columns.clear();
        result.values.clear();
        Some(result)
    }
}
