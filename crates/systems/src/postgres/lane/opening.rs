use wire::WireError;
use wire::postgres::{DescribePortal, Ending, Statement, frontend};

use super::statement::template;

/// What is set for each transaction, ahead of its first statement, where a pooler lends a session for no longer: `SET LOCAL`
/// ends with the transaction, which the server begins for both together.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    /// Statements of the simple protocol.
    simple: String,
    /// Requests of the extended protocol, without an end.
    extended: Vec<u8>,
    /// Number of its statements: each has a result of its own.
    pub(super) results: usize,
}

impl Opening {
    pub(super) fn set(&mut self, statement: &str) -> Result<(), WireError> {
        self.simple.push_str(statement);
        self.simple.push_str("; ");
        self.results += 1;
        template(Statement::Unprepared(statement), &[], DescribePortal::Omit, Ending::Pipeline)?
            .encode(&[], &mut self.extended)
    }

    /// Appends a simple query that begins with it.
    pub(super) fn query(&self, sql: &str, words: &mut String, out: &mut Vec<u8>) -> Result<(), WireError> {
        words.clear();
        words.push_str(&self.simple);
        words.push_str(sql);
        frontend::query(words, out)
    }

    /// Appends it, to be followed by requests of the extended protocol.
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.extended);
    }
}
