//! Single statements over an ordinary connection, for long steps, not for streams.

use std::time::Duration;

use crate::dataset::Tables;
use crate::queries::without_rewording;
use crate::rows::{Rows, Value};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use model::Reading;

/// Abilities of a session besides plain SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionKind {
    #[default]
    Plain,
    /// Geometries, natively or by an extension.
    Spatial,
    /// Plain SQL on the tables that are there, in place of étalon's own.
    OnTablesOfOthers,
}

impl SessionKind {
    /// Whose tables such a session works on.
    pub fn tables(self) -> Tables {
        match self {
            SessionKind::Plain | SessionKind::Spatial => Tables::Own,
            SessionKind::OnTablesOfOthers => Tables::None,
        }
    }
}

/// A connection in étalon's own schema, with the plan's settings. Used by one thread at a time; several clients take
/// several sessions.
pub trait Session: Send {
    /// Executes a statement, and discards its rows.
    fn execute(&mut self, sql: &str) -> Result<(), Failure>;

    /// Executes a statement that is repeated: prepared once in process, while servers get the text each time.
    fn execute_repeated(&mut self, sql: &str) -> Result<(), Failure> {
        self.execute(sql)
    }

    /// CPU seconds that the server reports for this session's statements; `None` if it does not. Some omit other threads.
    fn reported_cpu_s(&self) -> Option<f64> {
        None
    }

    /// Number of transactions that the engine counts as committed in this session; `None` if it does not count.
    fn committed_count(&self) -> Option<u64> {
        None
    }

    /// Number of queries that the engine counts as run in this session; `None` if it does not count.
    fn query_count(&self) -> Option<u64> {
        None
    }

    /// Sets the time after which the engine ends each query of the open read-only transaction; `None` takes it away.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: it does not end queries.
    fn limit_queries(&mut self, limit: Option<Duration>) -> Result<(), Failure> {
        limit.map_or(Ok(()), |_| Err(no_query_limit()))
    }

    /// Runs a query, and returns its rows. Numbers may come as text; the caller knows the types.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure>;

    /// Runs a user's query, and returns its rows as they come.
    fn query_answer(&mut self, sql: &str) -> Result<Rows, Failure> {
        let mut rows = Rows::default();
        self.query(sql)?.iter().for_each(|row| rows.push_row(row.iter().map(Value::from)));
        Ok(rows)
    }

    /// Runs a query, and passes on one row after the other, where the engine can without keeping all of them.
    fn each_row(&mut self, sql: &str, take: &mut dyn FnMut(&[Datum])) -> Result<(), Failure> {
        self.query(sql)?.iter().for_each(|row| take(row));
        Ok(())
    }
}

/// Makes the failure of an engine that does not end queries by itself.
pub fn no_query_limit() -> Failure {
    let cause = "étalon has no timeout for a query on this engine; leave `-- timeout` out of a file of its own, such as \
                 `q7.sqlserver.sql`";
    Failure::new(FailureKind::Unsupported, "limit the time of a query", cause)
}

/// Words for what was tried, in a failure: to run a statement, by its beginning.
pub fn running_words(sql: &str) -> String {
    let sql = without_rewording(sql);
    let words: Vec<&str> = sql.split_whitespace().collect();
    let start: String = words.join(" ").chars().take(80).collect();
    format!("run `{start}`")
}

/// Value as text; empty for NULL or for none.
pub fn datum_text(datum: Option<&Datum>) -> String {
    match datum {
        None | Some(Datum::Null) => String::new(),
        Some(Datum::Int(number)) => number.to_string(),
        Some(Datum::Double(number)) => number.to_string(),
        Some(Datum::Text(text)) => text.to_string(),
    }
}

/// Value as a number, which may come as text; `None` if it is none.
pub fn datum_number(datum: Option<&Datum>) -> Option<f64> {
    datum_text(datum).trim().parse().ok()
}

/// Runs a query, and returns the first number of its answer; fails if there is none.
pub fn query_number(session: &mut dyn Session, sql: &str) -> Result<f64, Failure> {
    let rows = session.query(sql)?;
    let cell = rows.first().and_then(|row| row.first());
    datum_number(cell).ok_or_else(|| Failure::new(FailureKind::Verification, running_words(sql), "it gave no number"))
}

/// Runs a query for a number, as a reading; unavailable if the login may not ask it or the engine does not have it.
pub fn query_reading(session: &mut dyn Session, sql: &str) -> Result<Reading, Failure> {
    Ok(split_refusal(query_number(session, sql))?.into())
}

/// Separates what the server refuses, which the run survives as a reason, from what ends the run.
pub fn split_refusal<T>(asked: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match asked {
        Ok(answer) => Ok(Ok(answer)),
        Err(failure) => match failure.kind {
            FailureKind::Permission | FailureKind::Unsupported | FailureKind::Other | FailureKind::Verification => {
                Ok(Err(failure.cause))
            }
            _ => Err(failure),
        },
    }
}
