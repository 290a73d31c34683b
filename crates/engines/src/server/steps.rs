//! Single statements.

use std::time::Duration;

use super::dialogue::{Client, TextRows, WireProtocol};
use super::refusal::ask_failure;
use super::text_datum;
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use workloads::dataset::Dialect;
use workloads::rows::Rows;
use workloads::session::{self, Session, running_words};

pub(crate) struct Steps<P: WireProtocol> {
    /// Taken on close.
    client: Option<Client<P>>,
    dialect: &'static dyn Dialect,
    /// Takes a limit of time away; empty without one.
    without_limit: String,
}

impl<P: WireProtocol> Steps<P> {
    /// Makes a session for single statements of a client that is logged in.
    pub(crate) fn new(client: Client<P>, dialect: &'static dyn Dialect) -> Steps<P> {
        Steps { client: Some(client), dialect, without_limit: String::new() }
    }

    /// Returns the session's client; fails once it is closed.
    fn open_client(&mut self) -> Result<&mut Client<P>, Failure> {
        let closed = || Failure::new(FailureKind::ConnectionLost, "use a session", "it is closed");
        self.client.as_mut().ok_or_else(closed)
    }

    /// Runs a statement, and returns its rows as texts.
    fn query_rows_as_text(&mut self, sql: &str) -> Result<TextRows, Failure> {
        self.open_client()?.query_text_rows(sql).map_err(|error| ask_failure(running_words(sql), &error))
    }
}

/// Converts rows of texts to data.
fn to_data(rows: TextRows) -> Vec<Vec<Datum>> {
    rows.into_iter().map(|row| row.into_iter().map(text_datum).collect()).collect()
}

impl<P: WireProtocol> Drop for Steps<P> {
    /// Closes the session, and waits until the server has closed it.
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            client.close_and_wait();
        }
    }
}

impl<P: WireProtocol> Session for Steps<P> {
    /// Runs a statement, and discards its rows.
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.query_rows_as_text(sql).map(|_| ())
    }

    /// Sets the server's time limit for queries, or takes it away; fails if the engine has none.
    fn limit_queries(&mut self, limit: Option<Duration>) -> Result<(), Failure> {
        let Some(limit) = limit else {
            let without_limit = std::mem::take(&mut self.without_limit);
            return if without_limit.is_empty() { Ok(()) } else { self.execute(&without_limit) };
        };
        let (before, behind) = self.dialect.time_limit(limit).ok_or_else(session::no_query_limit)?;
        self.execute(&before)?;
        self.without_limit = behind;
        Ok(())
    }

    /// Runs a query, and returns its rows as texts.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        self.query_rows_as_text(sql).map(to_data)
    }

    /// Runs a query whose answer may be of any size.
    fn query_answer(&mut self, sql: &str) -> Result<Rows, Failure> {
        self.open_client()?.query_large(sql).map_err(|error| ask_failure(running_words(sql), &error))
    }
}
