use std::borrow::Cow;
use std::time::Duration;

use super::lane::quote_text;
use super::order_entry::Procedures;
use super::statement_log::StatementsOfLog;
use super::statements::PgStatStatements;

use workloads::dataset::{ColumnKind, ContentsDialect, Dialect, Explain};
use workloads::order_entry::OrderEntryDialect;
use workloads::queries::StatementStatistics;
use workloads::session::datum_text;
use workloads::statement_log::StatementLog;

pub(super) struct PostgresDialect;

/// A base backup leaves out the rows of unlogged tables: <https://www.postgresql.org/docs/current/protocol-replication.html>.
impl ContentsDialect for PostgresDialect {
    /// Query for the columns of all tables that a base backup keeps, with their tables' names.
    fn columns_sql(&self) -> &'static str {
        "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.quote_ident(a.attname) FROM pg_catalog.pg_class c JOIN \
         pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
         AND NOT a.attisdropped WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', \
         'information_schema') ORDER BY c.oid, a.attnum"
    }

    /// Query for the schemas and names of all tables and views.
    fn tables_and_views_sql(&self) -> &'static str {
        "SELECT pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(c.relname) FROM pg_catalog.pg_class c JOIN \
         pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' \
         AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')"
    }

    /// Writes the query for a table's row count and a digest of these columns.
    fn digest_sql(&self, table: &str, columns: &[String]) -> Option<String> {
        let row = columns.join(", ");
        Some(format!(
            "SELECT count(*), coalesce(sum(('x' || substr(md5(ROW({row})::text), 1, 15))::bit(60)::bigint), 0) FROM ONLY {table}"
        ))
    }
}

impl Dialect for PostgresDialect {
    /// Names that mark files of SQL as PostgreSQL's own.
    fn file_suffixes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql", "pg"]
    }

    /// Quotes a text so that a backslash in it is one, whatever `standard_conforming_strings` is.
    fn text_literal(&self, text: &str) -> String {
        if text.contains('\\') { quote_text(text) } else { format!("'{}'", text.replace('\'', "''")) }
    }

    /// Returns how others' tables are read whole.
    fn contents_dialect(&self) -> Option<&'static dyn ContentsDialect> {
        Some(&PostgresDialect)
    }

    /// Statements that begin and end a read-only transaction.
    fn read_only_wrapper(&self) -> (&'static str, &'static str) {
        ("BEGIN TRANSACTION READ ONLY", "ROLLBACK")
    }

    /// Queries for this session's name, and for those of other sessions that are at work.
    fn session_names(&self) -> Option<(&'static str, &'static str)> {
        Some((
            "SELECT pid || ' ' || extract(epoch FROM backend_start) FROM pg_catalog.pg_stat_activity \
             WHERE pid = pg_catalog.pg_backend_pid()",
            "SELECT pid || ' ' || extract(epoch FROM backend_start) FROM pg_catalog.pg_stat_activity \
             WHERE state = 'active' AND pid <> pg_catalog.pg_backend_pid()",
        ))
    }

    /// Writes the statement that limits a transaction's queries; nothing is needed after it.
    fn time_limit(&self, limit: Duration) -> Option<(String, String)> {
        // It ends with the transaction.
        Some((format!("SET LOCAL statement_timeout = {}", limit.as_millis()), String::new()))
    }

    /// Returns how a query's plan is asked for and read.
    fn explain_form(&self) -> Option<Explain> {
        Some(Explain {
            prefix: "EXPLAIN (COSTS OFF) ",
            plan: |rows| rows.iter().map(|row| datum_text(row.first())).collect::<Vec<_>>().join("\n"),
        })
    }

    /// Writes the type of a column in PostgreSQL's words.
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int => "integer".to_owned(),
            ColumnKind::BigInt => "bigint".to_owned(),
            ColumnKind::Char(length) => format!("character({length})"),
            ColumnKind::VarChar(most) => format!("character varying({most})"),
            ColumnKind::Decimal(digits, places) => format!("numeric({digits}, {places})"),
            ColumnKind::Date => "date".to_owned(),
            ColumnKind::Timestamp => "timestamp".to_owned(),
        }
    }

    /// Writes a parameter's placeholder, as `$1`.
    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }

    /// Returns the statement as it is: portable words are PostgreSQL's own.
    fn translate_statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(sql)
    }

    /// Returns how the statement log is switched.
    fn statement_log(&self) -> Option<&'static dyn StatementLog> {
        Some(&StatementsOfLog)
    }

    /// Returns how `pg_stat_statements` is read.
    fn statement_statistics(&self) -> Option<&'static dyn StatementStatistics> {
        Some(&PgStatStatements)
    }

    /// Returns order entry's procedures in PL/pgSQL.
    fn order_entry(&self) -> Option<&'static dyn OrderEntryDialect> {
        Some(&Procedures)
    }
}
