use wire::WireError;
use wire::mysql::{Column, ColumnType, Prepared, Template};

use crate::server::dialogue::with_values;
use load::datum::Datum;

/// A result's columns as last described.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    pub(super) types: Vec<ColumnType>,
}

impl Columns {
    pub(super) fn push_column(&mut self, column: &Column<'_>) {
        self.names.push(String::from_utf8_lossy(column.name).into_owned());
        self.types.push(column.column_type);
    }

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.types.clear();
    }
}

pub(super) enum Form {
    Binary(Box<Binary>),
    /// The server does not prepare its kind, such as MySQL's `BEGIN`.
    Text(Vec<u8>),
}

/// Prepared on one connection.
pub(super) struct Binary {
    template: Template,
    request: Vec<u8>,
    /// MariaDB sends them on prepare, then only when they change.
    pub(super) columns: Columns,
}

impl Binary {
    pub(super) fn new(prepared: Prepared, columns: Columns) -> Binary {
        let template = Template::new(prepared.statement_id, prepared.parameters);
        Binary { request: Vec::new(), template, columns }
    }

    /// Encodes the request that executes the prepared statement with these parameters.
    pub(super) fn encode_request(&mut self, parameters: &[Datum]) -> Result<&[u8], WireError> {
        self.request.clear();
        with_values(parameters, |values| self.template.encode(values, &mut self.request))?;
        Ok(&self.request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_parameters_are_written_alike() {
        fn binary(parameters: u16) -> Binary {
            Binary::new(Prepared { statement_id: 1, parameters, columns: 0 }, Columns::default())
        }
        fn count(bytes: &[u8]) -> usize {
            bytes.windows(8).filter(|window| *window == [7, 0, 0, 0, 0, 0, 0, 0]).count()
        }
        let parameters = vec![Datum::Int(7); 20];
        assert_eq!(count(binary(20).encode_request(&parameters).unwrap()), 20);
        assert_eq!(count(binary(16).encode_request(&parameters[..16]).unwrap()), 16);
        assert!(binary(16).encode_request(&parameters).is_err());
    }
}
