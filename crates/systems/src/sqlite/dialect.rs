use std::borrow::Cow;

use families::dataset::{ColumnKind, Dialect, Nulls, Table};

pub(super) struct SqliteDialect;

impl Dialect for SqliteDialect {
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int | ColumnKind::BigInt => "INTEGER".to_owned(),
            ColumnKind::Char(length) => format!("CHAR({length})"),
            ColumnKind::Timestamp => "TIMESTAMP".to_owned(),
        }
    }

    fn placeholder(&self, number: usize) -> String {
        format!("?{number}")
    }

    /// A writing transaction locks at its start: upgrading later fails with `SQLITE_BUSY` whenever another writes,
    /// whatever the busy timeout.
    fn statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        if sql.eq_ignore_ascii_case("begin") { Cow::Borrowed("BEGIN IMMEDIATE") } else { Cow::Borrowed(sql) }
    }

    /// With the primary key: only so is it the row's address.
    fn define_table(&self, table: &Table) -> String {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let kind = self.column_type(column.kind);
                let key = if table.primary_key == Some(column.name) { " PRIMARY KEY" } else { "" };
                let nulls = if column.nulls == Nulls::Refused { " NOT NULL" } else { "" };
                format!("{} {kind}{key}{nulls}", column.name)
            })
            .collect();
        format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
    }
}
