/// Why a text cannot be read, and where.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("line {line}{}: {what}", column_suffix(.column))]
    At {
        line: u64,
        /// The character in the line, from 1, where one can be named.
        column: Option<usize>,
        what: String,
        hint: Option<String>,
    },
    /// Something about the text as a whole.
    #[error("{what}")]
    Whole { what: String, hint: Option<String> },
    #[error("cannot read on after line {line}: {source}")]
    Read {
        /// The last line that was read, 0 for none.
        line: u64,
        source: std::io::Error,
    },
}

/// Writes the suffix `, column 7`. By reference for the derive.
fn column_suffix(column: &Option<usize>) -> String {
    column.map_or_else(String::new, |column| format!(", column {column}"))
}

impl FormatError {
    /// Makes an error in a line.
    pub fn at_line(line: u64, what: impl Into<String>) -> FormatError {
        FormatError::At { line, column: None, what: what.into(), hint: None }
    }

    /// Makes an error at a column of a line.
    pub fn at_column(line: u64, column: usize, what: impl Into<String>) -> FormatError {
        FormatError::At { line, column: Some(column), what: what.into(), hint: None }
    }

    /// Makes an error of the whole text.
    pub fn of_whole(what: impl Into<String>) -> FormatError {
        FormatError::Whole { what: what.into(), hint: None }
    }

    /// Adds a hint to the error; an error of reading takes none.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> FormatError {
        match &mut self {
            FormatError::At { hint, .. } | FormatError::Whole { hint, .. } => *hint = Some(text.into()),
            FormatError::Read { .. } => {}
        }
        self
    }

    /// The error's hint, if it has one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            FormatError::At { hint, .. } | FormatError::Whole { hint, .. } => hint.as_deref(),
            FormatError::Read { .. } => None,
        }
    }

    /// The line of the error, from 1; `None` if it is of the whole text.
    pub fn line_number(&self) -> Option<u64> {
        match self {
            FormatError::At { line, .. } => Some(*line),
            FormatError::Whole { .. } | FormatError::Read { .. } => None,
        }
    }
}
