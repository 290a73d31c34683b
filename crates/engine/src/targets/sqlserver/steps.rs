//! Statements asked one by one.

use super::connect::failure;
use crate::dataset::Datum;
use crate::error::Failure;
use crate::lanes::sqlserver::{Client, datum};
use crate::session::Session;

/// A session. Dropping it closes the connection: the protocol has no word for it.
pub(super) struct SqlServerSession {
    client: Client,
}

impl SqlServerSession {
    /// A session on a connection that uses étalon's database.
    pub(super) fn new(client: Client) -> SqlServerSession {
        SqlServerSession { client }
    }
}

impl Session for SqlServerSession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.execute(sql).map_err(|error| failure(shown(sql), &error))
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let answer = self.client.ask(sql).map_err(|error| failure(shown(sql), &error))?;
        Ok(answer.rows.into_iter().map(|row| row.into_iter().map(datum).collect()).collect())
    }
}

fn shown(sql: &str) -> String {
    let start: String = sql.chars().take(80).collect();
    format!("run `{start}`")
}
