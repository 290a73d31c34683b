//! Single statements over an ordinary connection, for long steps, not for streams.

use load::datum::Datum;
use load::error::Failure;

/// Abilities of a session beside plain SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionKind {
    #[default]
    Plain,
    /// Geometries, natively or by an extension.
    Spatial,
}

/// A connection in étalon's own schema, with the plan's settings. Used by one thread at a time; several clients take
/// several sessions.
pub trait Session: Send {
    /// Discards rows.
    fn execute(&mut self, sql: &str) -> Result<(), Failure>;

    /// For repeated statements: prepared once in process; servers get the text each time.
    fn repeat(&mut self, sql: &str) -> Result<(), Failure> {
        self.execute(sql)
    }

    /// Reported by the server for this session's statements; `None` if not. Some omit other server threads.
    fn told_cpu_s(&self) -> Option<f64> {
        None
    }

    /// Number of transactions that the engine has committed in this session, as it counts them itself; `None` if it does not.
    fn commits(&self) -> Option<u64> {
        None
    }

    /// Number of queries that the engine has run in this session, as it counts them itself; `None` if it does not.
    fn queries_run(&self) -> Option<u64> {
        None
    }

    /// Numbers may come as text; the caller knows the types.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure>;
}

/// For a failure's message.
pub fn running(sql: &str) -> String {
    let start: String = sql.chars().take(80).collect();
    format!("run `{start}`")
}
