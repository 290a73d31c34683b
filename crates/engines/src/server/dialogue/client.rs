use std::time::{Duration, Instant};

use super::{AskError, Asker, Conversation, OpenedConnection, ServerError, TextRows, single};
use workloads::rows::{Rows, Value};

/// A blocking connection: the control plane's, and a lane's before the load.
pub(crate) struct Client<P> {
    pub(crate) asker: Asker,
    /// Memory for requests.
    pub(crate) out: Vec<u8>,
    pub(crate) protocol: P,
}

pub(crate) fn text_rows(rows: &Rows) -> TextRows {
    rows.iter().map(|row| row.into_iter().map(Value::text).collect()).collect()
}

/// A value as a protocol has it.
pub(crate) fn text_value(bytes: Option<&[u8]>) -> Value<'_> {
    bytes.map_or(Value::Null, Value::Text)
}

/// What an engine's protocol adds to a [`Client`].
pub(crate) trait WireProtocol: Sized + Send + 'static {
    type Error: ServerError;
    /// A lane's connection.
    type Connection: Conversation + Send + 'static;
    /// How a script's statements travel.
    type Statements: Send + Sync + 'static;

    /// Adds the rows of one or more statements to `rows`.
    fn rows(client: &mut Client<Self>, sql: &str, rows: &mut Rows) -> Result<(), AskError<Self::Error>>;

    /// Asks for the least that the server answers, if possible without a statement that it would count.
    fn ping(client: &mut Client<Self>) -> Result<(), AskError<Self::Error>>;

    /// Prepares a lane's statements.
    fn into_opened(
        client: Client<Self>,
        statements: &Self::Statements,
    ) -> Result<OpenedConnection<Self::Connection>, AskError<Self::Error>>;

    /// A goodbye, if there is any.
    fn farewell(_out: &mut Vec<u8>) {}
}

impl<P: WireProtocol> Client<P> {
    pub(crate) fn rows(&mut self, sql: &str) -> Result<TextRows, AskError<P::Error>> {
        let mut rows = Rows::default();
        self.asker.name(sql);
        P::rows(self, sql, &mut rows)?;
        Ok(text_rows(&rows))
    }

    /// The answer to a user's query, which may be of any size.
    pub(crate) fn answer(&mut self, sql: &str) -> Result<Rows, AskError<P::Error>> {
        let mut rows = Rows::default();
        self.asker.name(sql);
        self.asker.take_any_size(true);
        let asked = P::rows(self, sql, &mut rows);
        self.asker.take_any_size(false);
        asked.map(|()| rows)
    }

    pub(crate) fn execute(&mut self, sql: &str) -> Result<(), AskError<P::Error>> {
        self.rows(sql).map(|_| ())
    }

    /// Empty for `NULL` or no row.
    pub(crate) fn one(&mut self, sql: &str) -> Result<String, AskError<P::Error>> {
        Ok(single(self.rows(sql)?))
    }

    pub(crate) fn encryption(&self) -> Option<String> {
        self.asker.link.encryption()
    }

    /// Limits the time of everything that the session is asked from now on, together.
    pub(crate) fn limit(&mut self, timeout: Duration) {
        self.asker.link.set_deadline(Some(Instant::now() + timeout));
    }

    /// The load's statements have no time limit.
    pub(crate) fn lift_limit(&mut self) {
        self.asker.link.set_deadline(None);
    }

    /// Waits until it is gone.
    pub(crate) fn close(self) {
        self.asker.link.part(P::farewell);
    }
}
