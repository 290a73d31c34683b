//! Statements asked one by one over an ordinary connection, for steps that take long: not for a stream's hot path.

use crate::dataset::Datum;
use crate::error::Failure;

/// What a session must be able to do beside plain SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionKind {
    /// Nothing.
    #[default]
    Plain,
    /// Hold geometries and answer questions about them: the engine's own ability, or an extension that is loaded.
    Spatial,
}

/// A connection in étalon's own schema, with the plan's settings.
///
/// One thread uses it at a time; several clients take several sessions. Dropping it closes it.
pub trait Session: Send {
    /// Runs one statement whose rows nobody needs.
    ///
    /// # Errors
    /// The engine refused one, or the connection is gone.
    fn execute(&mut self, sql: &str) -> Result<(), Failure>;

    /// Runs one statement that will be run again and again. In process it is prepared once; a server gets its text each
    /// time.
    ///
    /// # Errors
    /// As [`Session::execute`].
    fn repeat(&mut self, sql: &str) -> Result<(), Failure> {
        self.execute(sql)
    }

    /// CPU seconds of this session's statements so far, as the server itself tells them; `None` where it tells nothing. What
    /// other threads of the server do for them is left out by some.
    fn told_cpu_s(&self) -> Option<f64> {
        None
    }

    /// Runs one statement and gives its rows. Numbers may come as text: whoever asks knows what they are.
    ///
    /// # Errors
    /// As [`Session::execute`].
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure>;
}

/// What was tried by a statement, for a failure: its beginning says which it was.
pub fn running(sql: &str) -> String {
    let start: String = sql.chars().take(80).collect();
    format!("run `{start}`")
}
