//! An encoded statement with patchable parameters.

use wire::WireError;
use wire::postgres::oid::UNSPECIFIED;
use wire::postgres::{DescribePortal, Ending, Statement, Template, TemplateOptions};

use crate::server::dialogue::with_values;
use families::transactions::{Flow, Rows};
use load::datum::Datum;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Rows are counted, not read.
    Plain,
    /// With columns.
    Described,
    /// In a pipeline.
    Pipelined,
}

impl Shape {
    pub(super) fn of(flow: Flow, rows: Rows) -> Shape {
        match (flow, rows) {
            (Flow::Pipelined, _) => Shape::Pipelined,
            (Flow::Wait, Rows::Keep) => Shape::Described,
            (Flow::Wait, Rows::Discard) => Shape::Plain,
        }
    }
}

/// Of a prepared statement.
pub(super) fn name(statement: usize) -> String {
    format!("s{statement}")
}

pub(super) struct Encoded {
    /// In the order of [`Shape`].
    forms: [Form; 3],
}

struct Form {
    template: Template,
    request: Vec<u8>,
}

impl Form {
    fn new(
        statement: Statement<'_>,
        types: &[u32],
        describe: DescribePortal,
        ending: Ending,
    ) -> Result<Form, WireError> {
        // Text columns, like psql and pgbench.
        let options = TemplateOptions { describe, ending };
        let template = Template::new(statement, types, options)?;
        Ok(Form { request: Vec::new(), template })
    }
}

impl Encoded {
    pub(super) fn prepared(number: usize, types: &[u32]) -> Result<Encoded, WireError> {
        let name = name(number);
        let form = |describe, ending| Form::new(Statement::Prepared(&name), types, describe, ending);
        let forms = [
            form(DescribePortal::Omit, Ending::Sync)?,
            form(DescribePortal::Include, Ending::Sync)?,
            form(DescribePortal::Omit, Ending::Pipeline)?,
        ];
        Ok(Encoded { forms })
    }

    /// Parsed each time. Untyped text parameters and described columns, like libpq's `PQsendQueryParams`.
    pub(super) fn unprepared(sql: &str, parameters: usize) -> Result<Encoded, WireError> {
        let types = vec![UNSPECIFIED; parameters];
        let form = |ending| Form::new(Statement::Unprepared(sql), &types, DescribePortal::Include, ending);
        Ok(Encoded { forms: [form(Ending::Sync)?, form(Ending::Sync)?, form(Ending::Pipeline)?] })
    }

    pub(super) fn request(&mut self, shape: Shape, parameters: &[Datum]) -> Result<&[u8], WireError> {
        let Form { template, request } = &mut self.forms[shape as usize];
        request.clear();
        with_values(parameters, |values| template.encode(values, request))?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_parameters_are_written_alike() {
        let types = vec![wire::postgres::oid::INT4; 20];
        let mut many = Encoded::prepared(0, &types).unwrap();
        let mut few = Encoded::prepared(0, &types[..16]).unwrap();
        let parameters = vec![Datum::Int(7); 20];
        let value = [0, 0, 0, 4, 0, 0, 0, 7];
        let count = |bytes: &[u8]| bytes.windows(8).filter(|window| *window == value).count();
        assert_eq!(count(many.request(Shape::Plain, &parameters).unwrap()), 20);
        assert_eq!(count(few.request(Shape::Plain, &parameters[..16]).unwrap()), 16);
        assert!(few.request(Shape::Plain, &parameters).is_err());
    }
}
