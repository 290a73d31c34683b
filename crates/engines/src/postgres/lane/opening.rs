use wire::WireError;
use wire::postgres::{DescribePortal, Ending, Statement, frontend};

use super::client::quote_text;
use super::statement::make_template;

const SEARCH_PATH: &str = "search_path";

/// What is set for each transaction, ahead of its first statement, where a pooler lends a session for no longer: it ends with
/// the transaction, which the server begins for both together.
///
/// The server warns of each `SET LOCAL` ahead of a statement of the extended protocol, a line in its log for each transaction.
/// There `set_config` takes its place; after a `BEGIN`, whose isolation no query may precede, `SET LOCAL` is no warning.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    settings: Vec<String>,
    /// Statements of the simple protocol.
    simple: String,
    /// A request of the extended protocol, without an end, to go ahead of a statement.
    ahead: Vec<u8>,
    /// Such requests to follow a `BEGIN`.
    after: Vec<u8>,
}

impl Opening {
    /// Adds a setting that each transaction begins with, and encodes it.
    pub(super) fn add_setting(&mut self, name: &str, value: &str) -> Result<(), WireError> {
        let command = set_local_sql(name, value);
        self.simple.push_str(&command);
        self.simple.push_str("; ");
        append_statement(&command, &mut self.after)?;
        self.settings.push(format!("pg_catalog.set_config({}, {}, true)", quote_text(name), quote_text(value)));
        self.ahead.clear();
        // No row comes of it, which would be counted as the script's.
        let query = format!("SELECT WHERE pg_catalog.num_nulls({}) > 0", self.settings.join(", "));
        append_statement(&query, &mut self.ahead)
    }

    /// Appends a simple query that begins with the settings. Returns how many results come ahead of the query's.
    pub(super) fn encode_query(&self, sql: &str, words: &mut String, out: &mut Vec<u8>) -> Result<usize, WireError> {
        words.clear();
        words.push_str(&self.simple);
        words.push_str(sql);
        frontend::write_query(words, out)?;
        Ok(self.settings.len())
    }

    /// Appends the settings ahead of a request of the extended protocol. Returns how many results come of them.
    pub(super) fn encode_ahead(&self, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.ahead);
        usize::from(!self.settings.is_empty())
    }

    /// Appends the settings after a `BEGIN` of the extended protocol, without an end. Returns how many results come.
    pub(super) fn encode_after(&self, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.after);
        self.settings.len()
    }
}

/// Appends an unprepared statement without parameters, for a pipeline.
fn append_statement(statement: &str, out: &mut Vec<u8>) -> Result<(), WireError> {
    make_template(Statement::Unprepared(statement), &[], DescribePortal::Omit, Ending::Pipeline)?.encode(&[], out)
}

/// Writes `SET LOCAL`, which has no rows, while `set_config` has.
/// Étalon's own search path is a list of names.
fn set_local_sql(name: &str, value: &str) -> String {
    let value = if name == SEARCH_PATH { value.to_owned() } else { quote_text(value) };
    format!("SET LOCAL {} = {value}", quote_setting(name))
}

/// Quotes a setting's name; an extension's has a dot, which is not part of a name.
fn quote_setting(name: &str) -> String {
    name.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect::<Vec<_>>().join(".")
}
