//! What statements have cost: the extension `pg_stat_statements`.
//!
//! <https://www.postgresql.org/docs/current/pgstatstatements.html>

use std::collections::HashMap;

use load::error::{Failure, FailureKind};
use workloads::queries::{Remembered, StatementStatistics};
use workloads::session::{Session, datum_number, datum_text};

/// Statements that are read.
const MOST: usize = 1_000;
/// Letters of a text that are read.
const LONGEST: usize = 65_536;
const EXTENSION: &str = "SELECT quote_ident(n.nspname), (string_to_array(e.extversion, '.')::int[] >= '{1,8}')::int, \
                         (string_to_array(e.extversion, '.')::int[] >= '{1,9}')::int, \
                         (SELECT count(*) FROM pg_settings WHERE name LIKE 'pg_stat_statements.%'), \
                         current_setting('server_version_num')::int / 10000, current_database() \
                         FROM (SELECT) one LEFT JOIN pg_extension e ON e.extname = 'pg_stat_statements' \
                         LEFT JOIN pg_namespace n ON n.oid = e.extnamespace";

pub(super) struct PgStatStatements;

impl StatementStatistics for PgStatStatements {
    /// Returns the name of the extension that keeps the statistics.
    fn display_name(&self) -> &'static str {
        "pg_stat_statements"
    }

    fn where_values_come_from(&self) -> &'static str {
        "PostgreSQL 14 and later show values as long as a session that asked with them has asked nothing else"
    }

    fn how_to_see_all(&self) -> &'static str {
        "`GRANT pg_read_all_stats TO ROLE` shows them"
    }

    /// Reads the statements that have cost most in this database, with calls and times.
    fn read_statements(&self, session: &mut dyn Session) -> Result<Vec<Remembered>, Failure> {
        let view = View::find_view(session)?;
        let examples = view.example_texts(session).map_err(|failure| view.explain_denial(failure))?;
        let rows = session.query(&view.statements_sql())?;
        let read = rows.iter().map(|row| {
            let [form, calls, total_ms, letters, is_about_server, statements] =
                std::array::from_fn(|column| datum_text(row.get(column)));
            let is_cut = letters.parse::<usize>().is_ok_and(|letters| letters > LONGEST);
            let text = examples.get(&form).cloned().unwrap_or(form);
            Remembered {
                text: (!text.is_empty()).then_some(text),
                statements: statements.parse().unwrap_or_default(),
                is_cut,
                is_about_server: is_about_server == "1",
                calls: calls.parse().unwrap_or_default(),
                total_s: total_ms.parse::<f64>().unwrap_or_default() / 1e3,
            }
        });
        Ok(read.collect())
    }
}

/// The extension's view, as its version has it.
struct View {
    schema: String,
    /// It tells execution from planning.
    has_planning: bool,
    /// It tells statements of sessions from those within functions.
    has_levels: bool,
    /// Sessions show the number of the statement that they ran last.
    has_numbers: bool,
}

impl View {
    /// Finds the view of statement statistics; the failure says what to type if it is missing.
    ///
    /// # Errors
    /// It is not there: what to type.
    fn find_view(session: &mut dyn Session) -> Result<View, Failure> {
        let rows = session.query(EXTENSION)?;
        let row = rows.first().map(Vec::as_slice).unwrap_or_default();
        let is_set = |column: usize| datum_number(row.get(column)).is_some_and(|value| value > 0.0);
        let (schema, database) = (datum_text(row.first()), datum_text(row.get(5)));
        let missing = |cause: &str, hint: String| {
            Err(Failure::new(FailureKind::Missing, "read `pg_stat_statements`", cause).with_hint(hint))
        };
        if !is_set(3) {
            return missing(
                "the server has not loaded it, so it keeps no statistics of statements",
                "add `pg_stat_statements` to `shared_preload_libraries` in `postgresql.conf`, restart the server, run \
                 `CREATE EXTENSION pg_stat_statements` in the database, and wait until its usual statements have been run"
                    .to_owned(),
            );
        }
        if schema.is_empty() {
            let cause = format!("the extension is not in the database `{database}`");
            return missing(&cause, format!("run `CREATE EXTENSION pg_stat_statements` in the database `{database}`"));
        }
        let has_numbers = datum_number(row.get(4)).is_some_and(|release| release >= 14.0);
        Ok(View { schema, has_planning: is_set(1), has_levels: is_set(2), has_numbers })
    }

    /// Adds to a failure what lets the account read the view.
    fn explain_denial(&self, failure: Failure) -> Failure {
        match failure.kind {
            FailureKind::Permission => failure.with_hint(format!("`GRANT USAGE ON SCHEMA {} TO …`", self.schema)),
            _ => failure,
        }
    }

    /// Writes the query for the statements with their calls and times.
    fn statements_sql(&self) -> String {
        let View { schema, .. } = self;
        let total = if self.has_planning { "total_exec_time" } else { "total_time" };
        let level = if self.has_levels { "AND toplevel" } else { "" };
        // A text whose temporary tables were made again is there several times.
        format!(
            "SELECT left(form, {LONGEST}), sum(calls), sum({total}), max(length(form)), \
             max((form ~* '\\m(from|join)\\s+\"?(pg_|information_schema)|\\mpg_(catalog|stat)')::int), \
             CASE WHEN form IS NULL THEN count(*) ELSE 1 END \
             FROM (SELECT *, nullif(query, '<insufficient privilege>') form FROM {schema}.pg_stat_statements) s \
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) {level} \
             GROUP BY form ORDER BY 3 DESC LIMIT {MOST}"
        )
    }

    /// Reads texts with values that sessions ran last, by the statistics' text of each.
    fn example_texts(&self, session: &mut dyn Session) -> Result<HashMap<String, String>, Failure> {
        if !self.has_numbers {
            return Ok(HashMap::new());
        }
        let View { schema, .. } = self;
        let rows = session.query(&format!(
            "SELECT left(s.query, {LONGEST}), max(a.query) FROM pg_stat_activity a JOIN {schema}.pg_stat_statements s \
             ON s.queryid = a.query_id AND s.dbid = a.datid \
             WHERE a.pid <> pg_backend_pid() AND a.query !~ '\\$[0-9]' AND a.query !~ ';\\s*\\S' \
             AND octet_length(a.query) < pg_size_bytes(current_setting('track_activity_query_size')) - 1 GROUP BY 1"
        ))?;
        Ok(rows.iter().map(|row| (datum_text(row.first()), datum_text(row.get(1)))).collect())
    }
}
