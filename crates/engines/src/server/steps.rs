//! Single statements.

use std::time::Duration;

use super::dialogue::{Client, TextRows, WireProtocol};
use super::refusal::failure;
use super::text_datum;
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use workloads::dataset::Dialect;
use workloads::rows::Rows;
use workloads::session::{self, Session, running};

pub(crate) struct Steps<P: WireProtocol> {
    /// Taken on close.
    client: Option<Client<P>>,
    dialect: &'static dyn Dialect,
    /// Takes a limit of time away; empty without one.
    without_limit: String,
}

impl<P: WireProtocol> Steps<P> {
    pub(crate) fn new(client: Client<P>, dialect: &'static dyn Dialect) -> Steps<P> {
        Steps { client: Some(client), dialect, without_limit: String::new() }
    }

    fn client(&mut self) -> Result<&mut Client<P>, Failure> {
        let closed = || Failure::new(FailureKind::ConnectionLost, "use a session", "it is closed");
        self.client.as_mut().ok_or_else(closed)
    }

    fn ask(&mut self, sql: &str) -> Result<TextRows, Failure> {
        self.client()?.rows(sql).map_err(|error| failure(running(sql), &error))
    }
}

fn data(rows: TextRows) -> Vec<Vec<Datum>> {
    rows.into_iter().map(|row| row.into_iter().map(text_datum).collect()).collect()
}

impl<P: WireProtocol> Drop for Steps<P> {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            client.close();
        }
    }
}

impl<P: WireProtocol> Session for Steps<P> {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.ask(sql).map(|_| ())
    }

    fn limit(&mut self, limit: Option<Duration>) -> Result<(), Failure> {
        let Some(limit) = limit else {
            let without_limit = std::mem::take(&mut self.without_limit);
            return if without_limit.is_empty() { Ok(()) } else { self.execute(&without_limit) };
        };
        let (before, behind) = self.dialect.time_limit(limit).ok_or_else(session::without_limit)?;
        self.execute(&before)?;
        self.without_limit = behind;
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        self.ask(sql).map(data)
    }

    fn answer(&mut self, sql: &str) -> Result<Rows, Failure> {
        self.client()?.answer(sql).map_err(|error| failure(running(sql), &error))
    }
}
