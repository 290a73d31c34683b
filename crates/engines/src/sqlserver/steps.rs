use crate::server::refusal::ask_failure;
use crate::sqlserver::lane::{AskError, Client, QueryAnswer, datum_of_cell};
use load::datum::Datum;
use load::error::Failure;
use wire::tds::ServerMessage;
use workloads::rows::Rows;
use workloads::session::{Session, SessionKind, running_words};

/// CPU milliseconds after each statement.
/// <https://learn.microsoft.com/en-us/sql/t-sql/statements/set-statistics-time-transact-sql>
const TELL_TIMES: &str = "SET STATISTICS TIME ON";
/// "SQL Server Execution Times", "SQL Server parse and compile time".
const TIMES: [i32; 2] = [3612, 3613];

/// Dropping it closes the connection: the protocol has no goodbye.
pub(super) struct SqlServerSession {
    client: Client,
    told_cpu_ms: Option<u64>,
}

impl SqlServerSession {
    /// Makes a session of a client; a spatial one has the server report CPU times.
    pub(super) fn new(mut client: Client, kind: SessionKind) -> Result<SqlServerSession, Failure> {
        if kind == SessionKind::Spatial {
            client.execute(TELL_TIMES).map_err(|error| ask_failure(running_words(TELL_TIMES), &error))?;
        }
        Ok(SqlServerSession { client, told_cpu_ms: None })
    }

    /// Runs statements, and adds their CPU time to the session's.
    fn query_answer(&mut self, sql: &str) -> Result<QueryAnswer, Failure> {
        let answer = self.client.ask(sql).map_err(|error: AskError| ask_failure(running_words(sql), &error))?;
        self.add_cpu(&answer.remarks);
        Ok(answer)
    }

    /// Adds the CPU time that the server's messages report.
    fn add_cpu(&mut self, remarks: &[ServerMessage]) {
        for remark in remarks.iter().filter(|remark| TIMES.contains(&remark.number)) {
            if let Some(ms) = first_number(&remark.text) {
                *self.told_cpu_ms.get_or_insert(0) += ms;
            }
        }
    }
}

/// Reads the first number in a message, which is the CPU time in any language.
fn first_number(text: &str) -> Option<u64> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl Session for SqlServerSession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.query_answer(sql).map(|_| ())
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let rows = self.query_answer(sql)?.rows;
        Ok(rows.into_iter().map(|row| row.into_iter().map(datum_of_cell).collect()).collect())
    }

    /// Runs a query, returns its rows, and adds its CPU time to the session's.
    fn query_answer(&mut self, sql: &str) -> Result<Rows, Failure> {
        let answer = self.client.answer_with_remarks(sql);
        let (rows, remarks) = answer.map_err(|error: AskError| ask_failure(running_words(sql), &error))?;
        self.add_cpu(&remarks);
        Ok(rows)
    }

    /// CPU seconds that the server has reported for the session's statements.
    fn reported_cpu_s(&self) -> Option<f64> {
        self.told_cpu_ms.map(|ms| ms as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_is_read_in_any_language() {
        let times = "\r\n SQL Server Execution Times:\r\n   CPU time = 1047 ms,  elapsed time = 2013 ms.";
        assert_eq!(first_number(times), Some(1047));
        assert_eq!(first_number("SQL Server-Ausführungszeiten: CPU-Zeit = 0 ms, verstrichene Zeit = 5 ms."), Some(0));
        assert_eq!(first_number("nothing"), None);
    }
}
