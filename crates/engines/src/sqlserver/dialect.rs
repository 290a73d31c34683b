//! How SQL Server writes SQL.

use std::borrow::Cow;

use super::order_entry::Procedures;
use crate::sqlserver::lane::{own_words, parameter_name};
use workloads::dataset::{ColumnKind, Dialect, Nulls, Table};
use workloads::order_entry::OrderEntryDialect;

pub(super) struct TSql;

impl Dialect for TSql {
    /// Words in file names by which scripts are for this engine.
    fn file_suffixes(&self) -> &'static [&'static str] {
        &["sqlserver", "mssql"]
    }

    /// Statements that begin and roll back a transaction, since T-SQL has no read-only one.
    fn read_only_wrapper(&self) -> (&'static str, &'static str) {
        ("BEGIN TRANSACTION", "ROLLBACK TRANSACTION")
    }

    /// Always `true`: the server keeps plans by the statement's text.
    fn keeps_plans_by_text(&self) -> bool {
        true
    }

    /// Quotes a text as a literal.
    fn text_literal(&self, text: &str) -> String {
        quote_text(text)
    }

    /// The type of a column of this kind, in SQL.
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int => "int".to_owned(),
            ColumnKind::BigInt => "bigint".to_owned(),
            ColumnKind::Char(length) => format!("char({length})"),
            ColumnKind::VarChar(most) => format!("varchar({most})"),
            ColumnKind::Decimal(digits, places) => format!("decimal({digits}, {places})"),
            ColumnKind::Date => "date".to_owned(),
            // `timestamp` is a row version here. Six digits of a second, like other engines.
            ColumnKind::Timestamp => "datetime2(6)".to_owned(),
        }
    }

    /// The placeholder of a statement's parameter, by its number from 1.
    fn placeholder(&self, number: usize) -> String {
        parameter_name(number)
    }

    /// The dialect of the order entry's procedures.
    fn order_entry(&self) -> Option<&'static dyn OrderEntryDialect> {
        Some(&Procedures)
    }

    /// Translates portable statements to T-SQL: words, calls, `FOR UPDATE` and `LIMIT 1`.
    /// Rows are locked by a hint behind the table's name, and a call's values stand without parentheses.
    fn translate_statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        let call = sql.strip_prefix("CALL ").and_then(|call| call.strip_suffix(')')?.split_once('('));
        if let Some((name, values)) = call {
            return Cow::Owned(format!("EXEC {name} {values}"));
        }
        let Some((table, condition)) = sql.strip_suffix(" FOR UPDATE").and_then(|select| select.split_once(" WHERE "))
        else {
            return Cow::Borrowed(own_words(sql));
        };
        match (condition.strip_suffix(" LIMIT 1"), table.strip_prefix("SELECT ")) {
            (Some(first), Some(table)) => Cow::Owned(format!("SELECT TOP (1) {table} WITH (UPDLOCK) WHERE {first}")),
            _ => Cow::Owned(format!("{table} WITH (UPDLOCK) WHERE {condition}")),
        }
    }

    /// Writes the query for the first `count` rows.
    fn first_rows_sql(&self, columns: &str, rest: &str, count: u64) -> String {
        format!("SELECT TOP ({count}) {columns} {rest}")
    }

    /// Quotes the name of a table.
    fn table_name(&self, name: &str) -> String {
        quote_name(name)
    }

    /// Writes the `CREATE TABLE` of a table with its primary key: it is clustered, and added later would rewrite all rows.
    fn define_table_sql(&self, table: &Table) -> String {
        let columns = table.columns.iter().map(|column| {
            let nulls = if column.nulls == Nulls::Refused { "NOT NULL" } else { "NULL" };
            format!("{} {} {nulls}", quote_name(column.name), self.column_type(column.kind))
        });
        let key = table.primary_key.iter().map(|column| quote_name(column)).collect::<Vec<_>>().join(", ");
        let key = (!key.is_empty()).then(|| format!("PRIMARY KEY CLUSTERED ({key})"));
        let parts: Vec<String> = columns.chain(key).collect();
        format!("CREATE TABLE {} ({})", quote_name(&table.name), parts.join(", "))
    }
}

/// Quotes a name.
pub(super) fn quote_name(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Quotes a text in the database's code page if it is ASCII, else as Unicode.
pub(super) fn quote_text(text: &str) -> String {
    let prefix = if text.is_ascii() { "" } else { "N" };
    format!("{prefix}'{}'", text.replace('\'', "''"))
}

/// Quotes a text as a Unicode literal.
pub(super) fn quote_unicode(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_an_exec() {
        assert_eq!(TSql.translate_statement("CALL stock_level(@P1, @P2, @P3)"), "EXEC stock_level @P1, @P2, @P3");
        assert_eq!(TSql.translate_statement("SELECT CALL (1)"), "SELECT CALL (1)");
    }

    #[test]
    fn each_procedure_has_its_name() {
        for (text, name) in Procedures.create_procedures().iter().zip(workloads::order_entry::PROCEDURES) {
            assert!(text.contains(&format!("CREATE PROCEDURE {name}\n")), "{name}");
        }
    }
}
