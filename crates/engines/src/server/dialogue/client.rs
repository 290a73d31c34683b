use std::time::{Duration, Instant};

use super::{AskError, Asker, Conversation, OpenedConnection, ServerError, TextRows, first_value};
use workloads::rows::{Rows, Value};

/// A blocking connection: the control plane's, and a lane's before the load.
pub(crate) struct Client<P> {
    pub(crate) asker: Asker,
    /// Memory for requests.
    pub(crate) out: Vec<u8>,
    pub(crate) protocol: P,
}

/// Copies rows as texts; `None` is `NULL`.
pub(crate) fn to_text_rows(rows: &Rows) -> TextRows {
    rows.iter_rows().map(|row| row.into_iter().map(Value::into_text).collect()).collect()
}

/// Makes a value of bytes that a protocol sends as text; `None` is `NULL`.
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

    /// Runs one or more statements, and appends their rows to `rows`.
    fn query_rows(client: &mut Client<Self>, sql: &str, rows: &mut Rows) -> Result<(), AskError<Self::Error>>;

    /// Asks for the least that the server answers, if possible without a statement that it would count.
    fn ping_server(client: &mut Client<Self>) -> Result<(), AskError<Self::Error>>;

    /// Prepares a lane's statements on a client's session, and makes it a connection of the lane.
    fn into_prepared(
        client: Client<Self>,
        statements: &Self::Statements,
    ) -> Result<OpenedConnection<Self::Connection>, AskError<Self::Error>>;

    /// Writes the bytes that take leave of the server to `out`, if the protocol has any.
    fn write_farewell(_out: &mut Vec<u8>) {}
}

impl<P: WireProtocol> Client<P> {
    /// Runs statements, and returns their rows as texts.
    pub(crate) fn query_text_rows(&mut self, sql: &str) -> Result<TextRows, AskError<P::Error>> {
        let mut rows = Rows::default();
        self.asker.name_question(sql);
        P::query_rows(self, sql, &mut rows)?;
        Ok(to_text_rows(&rows))
    }

    /// Runs a user's query, and returns its rows: the answer may be of any size.
    pub(crate) fn query_large(&mut self, sql: &str) -> Result<Rows, AskError<P::Error>> {
        let mut rows = Rows::default();
        self.asker.name_question(sql);
        self.asker.set_any_answer_size(true);
        let asked = P::query_rows(self, sql, &mut rows);
        self.asker.set_any_answer_size(false);
        asked.map(|()| rows)
    }

    /// Runs statements, and discards their rows.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<(), AskError<P::Error>> {
        self.query_text_rows(sql).map(|_| ())
    }

    /// Runs a query, and returns its first value: empty for `NULL` or no row.
    pub(crate) fn query_first_value(&mut self, sql: &str) -> Result<String, AskError<P::Error>> {
        Ok(first_value(self.query_text_rows(sql)?))
    }

    /// Names the protocol version and cipher of the connection, if it is encrypted.
    pub(crate) fn encryption(&self) -> Option<String> {
        self.asker.link.describe_encryption()
    }

    /// Limits the time of everything that the session is asked from now on, together.
    pub(crate) fn limit_time(&mut self, timeout: Duration) {
        self.asker.set_limit(Some(Instant::now() + timeout));
    }

    /// Lifts the time limit of [`Client::limit_time`]: the load's statements have none.
    pub(crate) fn lift_limit(&mut self) {
        self.asker.set_limit(None);
    }

    /// Closes the connection, and waits until the server has closed it.
    pub(crate) fn close_and_wait(self) {
        self.asker.link.close_politely(P::write_farewell);
    }
}
