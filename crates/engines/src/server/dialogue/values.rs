//! Parameters and rows of a lane's statements.

use std::borrow::Cow;

use wire::Value;

use load::datum::Datum;
use load::lane::KeptRow;
use workloads::transactions::Rows;

/// Parameters passed without allocation.
const FEW: usize = 16;
/// More results mean a server without end; their last rows are kept.
const MOST_RESULTS: usize = 1 << 16;
/// Texts whose memory is kept for the next answer, and the most bytes of each: a large answer frees its own.
const MOST_SPARE: usize = 256;
const SPARE_BYTES: usize = 512;

/// Borrows a datum as a protocol's value.
pub(crate) fn value_of_datum(datum: &Datum) -> Value<'_> {
    match datum {
        Datum::Null => Value::Null,
        Datum::Int(number) => Value::Int(*number),
        Datum::Double(number) => Value::Float(*number),
        Datum::Text(text) => Value::Text(text),
    }
}

/// Passes the parameters, borrowed as values, to `patch`; a few need no allocation.
pub(crate) fn with_values<T>(parameters: &[Datum], patch: impl FnOnce(&[Value<'_>]) -> T) -> T {
    if parameters.len() > FEW {
        let values: Vec<Value<'_>> = parameters.iter().map(value_of_datum).collect();
        return patch(&values);
    }
    let mut values = [Value::Null; FEW];
    for (place, datum) in values.iter_mut().zip(parameters) {
        *place = value_of_datum(datum);
    }
    patch(&values[..parameters.len()])
}

/// Keeps a text's memory in `spare` for later copies, unless it is large.
fn recycle_text(spare: &mut Vec<String>, mut text: String) {
    if text.capacity() <= SPARE_BYTES && spare.len() < MOST_SPARE {
        text.clear();
        spare.push(text);
    }
}

/// Copies a text into recycled memory.
fn copy_text(spare: &mut Vec<String>, text: &str) -> String {
    let mut copy = spare.pop().unwrap_or_default();
    copy.push_str(text);
    copy
}

/// The last row of each result of an answer.
#[derive(Debug, Default)]
pub(crate) struct LastRows {
    /// Valid before `results`.
    rows: Vec<KeptRow>,
    results: usize,
    /// Empty texts, whose memory the next ones take.
    spare: Vec<String>,
}

impl LastRows {
    /// Forgets the rows of the last answer, before another.
    pub(crate) fn forget_rows(&mut self) {
        self.results = 0;
    }

    /// Returns the last row of each result of the answer.
    pub(crate) fn kept_rows(&self) -> &[KeptRow] {
        &self.rows[..self.results]
    }

    /// Returns the row that is kept of the current result.
    pub(crate) fn current_row(&mut self) -> Option<&mut KeptRow> {
        self.results.checked_sub(1).and_then(|last| self.rows.get_mut(last))
    }

    /// Begins another result, in an older one's memory. `None`: too many.
    pub(crate) fn begin_result(&mut self) -> Option<&mut KeptRow> {
        if self.results == MOST_RESULTS {
            return None;
        }
        if self.rows.len() == self.results {
            self.rows.push(KeptRow::default());
        }
        let result = &mut self.rows[self.results];
        self.results += 1;
        result.rows = 0;
        result.columns.drain(..).for_each(|name| recycle_text(&mut self.spare, name));
        for value in result.values.drain(..) {
            if let Datum::Text(Cow::Owned(text)) = value {
                recycle_text(&mut self.spare, text);
            }
        }
        Some(result)
    }

    /// Gives the current result the names of its columns.
    pub(crate) fn name_columns<'a>(&mut self, names: impl Iterator<Item = &'a [u8]>) {
        if let Some(result) = self.results.checked_sub(1).and_then(|last| self.rows.get_mut(last)) {
            result.columns.extend(names.map(|name| copy_text(&mut self.spare, &String::from_utf8_lossy(name))));
        }
    }

    /// Keeps a row of texts in the current result; `false` if not all of it is UTF-8.
    /// What was kept of such a text is another value.
    pub(crate) fn keep_texts<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>, rows: Rows) -> bool {
        let Some(result) = self.results.checked_sub(1).and_then(|last| self.rows.get_mut(last)) else { return true };
        rows.begin_row(result);
        let mut is_utf8 = true;
        result.values.extend(values.map(|value| match value {
            None => Datum::Null,
            Some(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                is_utf8 &= matches!(text, Cow::Borrowed(_));
                Datum::Text(copy_text(&mut self.spare, &text).into())
            }
        }));
        is_utf8
    }
}
