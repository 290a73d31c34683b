//! An encoded statement with patchable parameters.

use std::sync::{Arc, OnceLock};

use wire::WireError;
use wire::postgres::oid::UNSPECIFIED;
use wire::postgres::{DescribePortal, Ending, Statement, Template, TemplateOptions};

use crate::server::dialogue::with_values;
use load::datum::Datum;
use workloads::transactions::{Flow, Rows};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Rows are counted, not read.
    Plain,
    /// The answer begins with columns.
    Described,
    /// The statement travels in a pipeline.
    Pipelined,
}

impl Shape {
    /// Chooses the form of request for this flow and these rows.
    pub(super) fn for_flow(flow: Flow, rows: Rows) -> Shape {
        match (flow, rows) {
            (Flow::Pipelined, _) => Shape::Pipelined,
            (Flow::Wait, Rows::Keep | Rows::KeepAll) => Shape::Described,
            (Flow::Wait, Rows::Discard) => Shape::Plain,
        }
    }
}

/// Makes the name of the prepared statement of this number.
pub(super) fn statement_name(statement: usize) -> String {
    format!("s{statement}")
}

/// One for all connections: what every operation reads stays in the processor's cache.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    /// One template for each [`Shape`], in its order.
    forms: [Template; 3],
    /// It begins a transaction that lasts for further statements.
    pub(super) begins: bool,
}

/// Tests whether a statement is a `BEGIN` or `START TRANSACTION`.
fn begins_transaction(sql: &str) -> bool {
    let first = sql.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    first.eq_ignore_ascii_case("BEGIN") || first.eq_ignore_ascii_case("START")
}

impl Encoded {
    /// Encodes the requests of a prepared statement in each form.
    pub(super) fn encode_prepared(number: usize, sql: &str, types: &[u32]) -> Result<Encoded, WireError> {
        let name = statement_name(number);
        let statement = Statement::Prepared(&name);
        let forms = [
            make_template(statement, types, DescribePortal::Omit, Ending::Sync)?,
            make_template(statement, types, DescribePortal::Include, Ending::Sync)?,
            make_template(statement, types, DescribePortal::Omit, Ending::Pipeline)?,
        ];
        Ok(Encoded { forms, begins: begins_transaction(sql) })
    }

    /// Encodes a statement that is parsed each time, with untyped text parameters and described columns.
    /// libpq's `PQsendQueryParams` does the same.
    pub(super) fn encode_unprepared(sql: &str, parameters: usize) -> Result<Encoded, WireError> {
        let types = vec![UNSPECIFIED; parameters];
        let statement = Statement::Unprepared(sql);
        let waiting = make_template(statement, &types, DescribePortal::Include, Ending::Sync)?;
        let pipelined = make_template(statement, &types, DescribePortal::Include, Ending::Pipeline)?;
        let forms = [waiting.clone(), waiting, pipelined];
        Ok(Encoded { forms, begins: begins_transaction(sql) })
    }

    /// Appends the request in this form, with these parameters.
    pub(super) fn append_request(
        &self,
        shape: Shape,
        parameters: &[Datum],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        with_values(parameters, |values| self.forms[shape as usize].encode(values, out))
    }
}

/// Makes a request's template with text columns, like psql and pgbench.
pub(super) fn make_template(
    statement: Statement<'_>,
    types: &[u32],
    describe: DescribePortal,
    ending: Ending,
) -> Result<Template, WireError> {
    Template::new(statement, types, TemplateOptions { describe, ending })
}

/// Types of each statement's parameters, as the server reports them.
type ParameterTypes = Vec<Vec<u32>>;

/// Statements that each connection prepares.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(super) texts: Vec<String>,
    /// The statements with the first connection's types; others nearly always have the same types.
    encoded: OnceLock<(ParameterTypes, Arc<[Encoded]>)>,
}

impl Prepared {
    /// Makes the list of statements that each connection prepares.
    pub(crate) fn new(texts: Vec<String>) -> Prepared {
        Prepared { texts, encoded: OnceLock::new() }
    }

    /// Encodes all statements for these parameter types, once.
    pub(super) fn encode_with_types(&self, types: ParameterTypes) -> Result<Arc<[Encoded]>, WireError> {
        if let Some((_, encoded)) = self.encoded.get().filter(|(known, _)| *known == types) {
            return Ok(Arc::clone(encoded));
        }
        let numbered = self.texts.iter().zip(&types).enumerate();
        let encoded: Arc<[Encoded]> = numbered
            .map(|(number, (sql, types))| Encoded::encode_prepared(number, sql, types))
            .collect::<Result<_, _>>()?;
        // Another connection may have been faster.
        let _ = self.encoded.set((types, Arc::clone(&encoded)));
        Ok(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::postgres::oid;

    #[test]
    fn statements_that_begin_a_transaction_are_known() {
        for sql in ["BEGIN", "begin;", "START TRANSACTION READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE"] {
            assert!(begins_transaction(sql), "{sql}");
        }
        for sql in ["SELECT begin FROM t", "", "BEGINNING", "COMMIT"] {
            assert!(!begins_transaction(sql), "{sql}");
        }
    }

    #[test]
    fn few_and_many_parameters_are_written_alike() {
        let types = vec![oid::INT4; 20];
        let many = Encoded::encode_prepared(0, "SELECT 1", &types).unwrap();
        let few = Encoded::encode_prepared(0, "SELECT 1", &types[..16]).unwrap();
        let parameters = vec![Datum::Int(7); 20];
        fn count(encoded: &Encoded, parameters: &[Datum]) -> Result<usize, WireError> {
            let mut bytes = Vec::new();
            encoded.append_request(Shape::Plain, parameters, &mut bytes)?;
            Ok(bytes.windows(8).filter(|window| *window == [0, 0, 0, 4, 0, 0, 0, 7]).count())
        }
        assert_eq!(count(&many, &parameters).unwrap(), 20);
        assert_eq!(count(&few, &parameters[..16]).unwrap(), 16);
        assert!(count(&few, &parameters).is_err());
    }

    #[test]
    fn connections_share_their_requests_unless_their_parameters_differ() {
        let prepared = Prepared::new(vec!["SELECT $1".to_owned()]);
        let [first, second, other] =
            [oid::INT4, oid::INT4, oid::INT8].map(|oid| prepared.encode_with_types(vec![vec![oid]]).unwrap());
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        let [first, other] = [first, other].map(|encoded| {
            let mut bytes = Vec::new();
            encoded[0].append_request(Shape::Plain, &[Datum::Int(1)], &mut bytes).unwrap();
            bytes.len()
        });
        assert_eq!(first + 4, other);
    }
}
