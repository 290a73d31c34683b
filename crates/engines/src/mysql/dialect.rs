use std::borrow::Cow;
use std::time::Duration;

use super::order_entry::Procedures;
use super::statement_log::SlowLog;
use super::statements::Digests;
use crate::mysql::lane::own_words;
use load::datum::Datum;

use workloads::dataset::{ColumnKind, ContentsDialect, Dialect, Explain, Nulls, Table};
use workloads::order_entry::OrderEntryDialect;
use workloads::queries::StatementStatistics;
use workloads::session::datum_text;
use workloads::statement_log::StatementLog;

pub(super) struct MySqlDialect;

/// The key of a table without one of its own. Servers that know invisible columns leave it out of `SELECT *` and of an `INSERT`
/// that names no columns: MySQL from 8.0.23 on, MariaDB from 10.3.3 on.
const ROW_NUMBER: &str =
    "`etalon_row` BIGINT NOT NULL AUTO_INCREMENT /*!80023 INVISIBLE */ /*M!100303 INVISIBLE */ PRIMARY KEY";

/// Makes one line of an `EXPLAIN` row, such as `1 SIMPLE orders: ref, key by_customer (5), ref const; Using index`.
/// It leaves out numbers of rows and the keys that were not chosen.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/explain-output.html>
fn plan_line(row: &[Datum]) -> String {
    let cell = |at: usize| datum_text(row.get(at));
    // MySQL has `partitions` behind the table, and `filtered` before the last column; MariaDB has neither.
    let (partitions, at) = if row.len() > 10 { (cell(3), 4) } else { (String::new(), 3) };
    let named = |name: &str, value: String| if value.is_empty() { value } else { format!(", {name} {value}") };
    let (key, bytes) = (named("key", cell(at + 2)), cell(at + 3));
    let bytes = if bytes.is_empty() { bytes } else { format!(" ({bytes})") };
    let more = cell(row.len().saturating_sub(1));
    let more = if more.is_empty() { more } else { format!("; {more}") };
    let (number, kind, table, access) = (cell(0), cell(1), cell(2), cell(at));
    let access = if table.is_empty() { access } else { format!(" {table}: {access}") };
    let (partitions, by) = (named("partitions", partitions), named("ref", cell(at + 4)));
    format!("{number} {kind}{access}{partitions}{key}{bytes}{by}{more}")
}

/// <https://dev.mysql.com/doc/refman/8.4/en/string-functions.html#function_quote>, which tells NULL from a text
impl ContentsDialect for MySqlDialect {
    /// Lists tables and columns of the current database, quoted.
    fn columns_sql(&self) -> &'static str {
        "SELECT CONCAT('`', REPLACE(c.table_name, '`', '``'), '`'), CONCAT('`', REPLACE(c.column_name, '`', '``'), '`') FROM \
         information_schema.columns c JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = \
         c.table_name WHERE t.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position"
    }

    /// Lists all users' tables and views with their schemas, quoted.
    fn tables_and_views_sql(&self) -> &'static str {
        "SELECT CONCAT('`', REPLACE(table_schema, '`', '``'), '`'), CONCAT('`', REPLACE(table_name, '`', '``'), '`') FROM \
         information_schema.tables WHERE table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')"
    }

    /// Counts a table's rows and sums a checksum of each.
    fn digest_sql(&self, table: &str, columns: &[String]) -> Option<String> {
        let values: Vec<String> = columns.iter().map(|column| format!("QUOTE({column})")).collect();
        let row = values.join(", ");
        Some(format!("SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', {row}))), 0) FROM {table}"))
    }
}

impl Dialect for MySqlDialect {
    /// Words in file names by which scripts are for this engine.
    fn file_suffixes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    /// The dialect in which contents of tables are digested.
    fn contents_dialect(&self) -> Option<&'static dyn ContentsDialect> {
        Some(&MySqlDialect)
    }

    /// Statements that begin and end a read-only transaction.
    fn read_only_wrapper(&self) -> (&'static str, &'static str) {
        ("START TRANSACTION READ ONLY", "ROLLBACK")
    }

    /// Quotes a text as a literal.
    fn text_literal(&self, text: &str) -> String {
        quote_text(text)
    }

    /// Queries for the own session's name, and for those of the sessions at work.
    /// A thread's number is not given again while the server runs.
    fn session_names(&self) -> Option<(&'static str, &'static str)> {
        Some((
            "SELECT CONNECTION_ID()",
            "SELECT id FROM information_schema.processlist WHERE command <> 'Sleep' AND id <> CONNECTION_ID()",
        ))
    }

    /// Statements that set a time limit for queries, and that restore what it was.
    /// MariaDB reads only the comments with `M`, and MySQL only the others: MariaDB skips those of versions 5.7 to 9.
    ///
    /// <https://mariadb.com/docs/server/reference/sql-structure/comment-syntax>
    fn time_limit(&self, limit: Duration) -> Option<(String, String)> {
        let (seconds, millis) = (limit.as_secs_f64(), limit.as_millis());
        let before = format!(
            "SET /*M!100100 @etalon_limit = @@SESSION.max_statement_time, SESSION max_statement_time = {seconds} */\
             /*!50708 @etalon_limit = @@SESSION.max_execution_time, SESSION max_execution_time = {millis} */"
        );
        let after = "SET SESSION /*M!100100 max_statement_time */ /*!50708 max_execution_time */ = @etalon_limit, \
                     @etalon_limit = NULL";
        Some((before, after.to_owned()))
    }

    /// Query for the hits of the server's cache of results.
    /// MySQL has no such cache since 8.0, and gives no row.
    fn cache_hits_sql(&self) -> Option<&'static str> {
        Some("SHOW GLOBAL STATUS LIKE 'Qcache_hits'")
    }

    /// How the engine explains a query, and how its plan is written in lines.
    fn explain_form(&self) -> Option<Explain> {
        Some(Explain {
            prefix: "EXPLAIN FORMAT=TRADITIONAL ",
            plan: |rows| rows.iter().map(|row| plan_line(row)).collect::<Vec<_>>().join("\n"),
        })
    }

    /// The type of a column of this kind, in SQL.
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int => "INT".to_owned(),
            ColumnKind::BigInt => "BIGINT".to_owned(),
            ColumnKind::Char(length) => format!("CHAR({length})"),
            ColumnKind::VarChar(most) => format!("VARCHAR({most})"),
            ColumnKind::Decimal(digits, places) => format!("DECIMAL({digits}, {places})"),
            ColumnKind::Date => "DATE".to_owned(),
            // `TIMESTAMP` converts between time zones and ends in 2038.
            ColumnKind::Timestamp => "DATETIME".to_owned(),
        }
    }

    /// The placeholder of a statement's parameter, by its number from 1.
    fn placeholder(&self, _number: usize) -> String {
        "?".to_owned()
    }

    /// Translates portable words such as `END` to MySQL's.
    fn translate_statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(own_words(sql))
    }

    /// Quotes the name of a table.
    fn table_name(&self, name: &str) -> String {
        quote_name(name)
    }

    /// The log by which the server records statements.
    fn statement_log(&self) -> Option<&'static dyn StatementLog> {
        Some(&SlowLog)
    }

    /// The server's statistics of statements.
    fn statement_statistics(&self) -> Option<&'static dyn StatementStatistics> {
        Some(&Digests)
    }

    /// The dialect of the order entry's procedures.
    fn order_entry(&self) -> Option<&'static dyn OrderEntryDialect> {
        Some(&Procedures)
    }

    /// Writes the `CREATE TABLE` of a data set's table, with its primary key from the start.
    /// InnoDB clusters rows by it, would copy the table to add one later, and some servers demand one.
    /// A table whose data set has no key is numbered, as InnoDB does unseen.
    fn define_table_sql(&self, table: &Table) -> String {
        let columns = table.columns.iter().map(|column| {
            let nulls = if column.nulls == Nulls::Refused { " NOT NULL" } else { "" };
            format!("`{}` {}{nulls}", column.name, self.column_type(column.kind))
        });
        let key = match table.primary_key {
            [] => ROW_NUMBER.to_owned(),
            key => {
                format!("PRIMARY KEY ({})", key.iter().map(|column| quote_name(column)).collect::<Vec<_>>().join(", "))
            }
        };
        let parts: Vec<String> = columns.chain([key]).collect();
        format!("CREATE TABLE `{}` ({})", table.name, parts.join(", "))
    }
}

/// Quotes a name.
pub(super) fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Writes a text as an SQL expression that any `sql_mode` reads as that text.
pub(super) fn quote_text(text: &str) -> String {
    // Doubled quotes work with any `sql_mode`; backslashes do not.
    let mut parts = text.split('\\').map(|part| format!("'{}'", part.replace('\'', "''")));
    if text.contains('\\') {
        format!("concat({})", parts.collect::<Vec<_>>().join(", char(92), "))
    } else {
        parts.next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::transactions::pgbench_tables;

    fn cells(cells: &[&str]) -> Vec<Datum> {
        let cells = cells.iter().map(|cell| (!cell.is_empty()).then(|| Datum::Text((*cell).to_owned().into())));
        cells.map(|cell| cell.unwrap_or(Datum::Null)).collect()
    }

    #[test]
    fn a_plan_has_no_costs_and_no_keys_that_were_not_chosen() {
        let mariadb = ["1", "SIMPLE", "o", "ref", "a,b", "b", "5", "const", "20", "Using index"];
        let mysql = ["1", "SIMPLE", "o", "p0", "ref", "a,b", "b", "5", "const", "20", "100.00", "Using index"];
        assert_eq!(plan_line(&cells(&mariadb)), "1 SIMPLE o: ref, key b (5), ref const; Using index");
        assert_eq!(plan_line(&cells(&mysql)), "1 SIMPLE o: ref, partitions p0, key b (5), ref const; Using index");
        let no_table = ["1", "SIMPLE", "", "", "", "", "", "", "", "No tables used"];
        assert_eq!(plan_line(&cells(&no_table)), "1 SIMPLE; No tables used");
    }

    #[test]
    fn tables_and_literals_are_mysql_s() {
        let tables = pgbench_tables(1).tables;
        assert_eq!(
            MySqlDialect.create_table_sql(&tables[2]),
            "CREATE TABLE `pgbench_accounts` (`aid` INT NOT NULL, `bid` INT, `abalance` INT, `filler` CHAR(84), PRIMARY KEY \
             (`aid`))"
        );
        assert!(
            MySqlDialect.create_table_sql(&tables[3]).ends_with(&format!(", {ROW_NUMBER})")),
            "history has no key of its own"
        );
        assert_eq!(quote_text("a'b"), "'a''b'");
        assert_eq!(quote_text(r"a\b"), "concat('a', char(92), 'b')");
        assert_eq!(quote_name("a`b"), "`a``b`");
    }
}
