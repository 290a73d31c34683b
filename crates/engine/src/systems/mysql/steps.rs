//! Single statements. Geometries are built in.

use std::borrow::Cow;

use crate::dataset::Datum;
use crate::error::{Failure, FailureKind};
use crate::session::{Session, running};
use crate::systems::mysql::lane::Client;
use crate::systems::server::refusal::failure;

pub(super) struct MySqlSession {
    /// Taken on close.
    client: Option<Client>,
}

impl MySqlSession {
    pub(super) fn new(client: Client) -> MySqlSession {
        MySqlSession { client: Some(client) }
    }

    fn client(&mut self) -> Result<&mut Client, Failure> {
        let gone = || Failure::new(FailureKind::ConnectionLost, "use a session", "it is closed");
        self.client.as_mut().ok_or_else(gone)
    }
}

impl Drop for MySqlSession {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            client.close();
        }
    }
}

impl Session for MySqlSession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.client()?.execute(sql).map_err(|error| failure(running(sql), &error))
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let rows = self.client()?.rows(sql).map_err(|error| failure(running(sql), &error))?;
        let datum = |value: Option<String>| value.map_or(Datum::Null, |text| Datum::Text(Cow::Owned(text)));
        Ok(rows.into_iter().map(|row| row.into_iter().map(datum).collect()).collect())
    }
}
