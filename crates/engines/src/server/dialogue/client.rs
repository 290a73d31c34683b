use std::time::{Duration, Instant};

use super::{AskError, Asker, Conversation, OpenedConnection, ServerError, TextRows, TypedTextRows, single};

/// A blocking connection: the control plane's, and a lane's before the load.
pub(crate) struct Client<P> {
    pub(crate) asker: Asker,
    /// Memory for requests.
    pub(crate) out: Vec<u8>,
    pub(crate) protocol: P,
}

/// What an engine's protocol adds to a [`Client`].
pub(crate) trait WireProtocol: Sized + Send + 'static {
    type Error: ServerError;
    /// A lane's connection.
    type Connection: Conversation + Send + 'static;
    /// How a script's statements travel.
    type Statements: Send + Sync + 'static;

    /// Asks for the rows of one or more statements, and tells of the last result's columns whether they hold numbers, where the
    /// protocol says so.
    fn typed_rows(client: &mut Client<Self>, sql: &str) -> Result<TypedTextRows, AskError<Self::Error>>;

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
        self.typed_rows(sql).map(|(rows, _)| rows)
    }

    pub(crate) fn typed_rows(&mut self, sql: &str) -> Result<TypedTextRows, AskError<P::Error>> {
        self.asker.name(sql);
        P::typed_rows(self, sql)
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
