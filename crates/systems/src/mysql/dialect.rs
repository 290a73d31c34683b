use std::borrow::Cow;

use super::order_entry::Procedures;
use crate::mysql::lane::own_words;
use families::dataset::{ColumnKind, Dialect, Nulls, Table};
use families::order_entry::OrderEntryDialect;

pub(super) struct MySqlDialect;

impl Dialect for MySqlDialect {
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int => "INT".to_owned(),
            ColumnKind::BigInt => "BIGINT".to_owned(),
            ColumnKind::Char(length) => format!("CHAR({length})"),
            ColumnKind::VarChar(most) => format!("VARCHAR({most})"),
            ColumnKind::Decimal(digits, places) => format!("DECIMAL({digits}, {places})"),
            // `TIMESTAMP` converts between time zones and ends in 2038.
            ColumnKind::Timestamp => "DATETIME".to_owned(),
        }
    }

    fn placeholder(&self, _number: usize) -> String {
        "?".to_owned()
    }

    fn statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(own_words(sql))
    }

    fn table_name(&self, name: &str) -> String {
        quoted(name)
    }

    fn order_entry(&self) -> Option<&'static dyn OrderEntryDialect> {
        Some(&Procedures)
    }

    /// With the primary key: InnoDB clusters rows by it, and would copy the table to add one later.
    fn define_table(&self, table: &Table) -> String {
        let columns = table.columns.iter().map(|column| {
            let nulls = if column.nulls == Nulls::Refused { " NOT NULL" } else { "" };
            format!("`{}` {}{nulls}", column.name, self.column_type(column.kind))
        });
        let key = table.primary_key.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
        let key = (!key.is_empty()).then(|| format!("PRIMARY KEY ({key})"));
        let parts: Vec<String> = columns.chain(key).collect();
        format!("CREATE TABLE `{}` ({})", table.name, parts.join(", "))
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

pub(super) fn literal(text: &str) -> String {
    // Doubled quotes work with any `sql_mode`; backslashes do not.
    let mut parts = text.split('\\').map(|part| format!("'{}'", part.replace('\'', "''")));
    match text.contains('\\') {
        false => parts.next().unwrap_or_default(),
        true => format!("concat({})", parts.collect::<Vec<_>>().join(", char(92), ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use families::transactions::pgbench_tables;

    #[test]
    fn tables_and_literals_are_mysql_s() {
        let tables = pgbench_tables(1).tables;
        assert_eq!(
            MySqlDialect.create_table(&tables[2]),
            "CREATE TABLE `pgbench_accounts` (`aid` INT NOT NULL, `bid` INT, `abalance` INT, `filler` CHAR(84), PRIMARY KEY \
             (`aid`))"
        );
        assert_eq!(literal("a'b"), "'a''b'");
        assert_eq!(literal(r"a\b"), "concat('a', char(92), 'b')");
        assert_eq!(quoted("a`b"), "`a``b`");
    }
}
