use std::borrow::Cow;
use std::collections::BTreeMap;

use load::datum::Datum;

use workloads::dataset::{ColumnKind, ContentsDialect, Dialect, Explain, Nulls, Table};
use workloads::session::datum_text;

pub(super) struct SqliteDialect;

/// Writes the rows of a query plan as an indented tree, each step below the one that it belongs to.
/// The columns are a step's number, that of the other step, one that is not used, and the words.
///
/// <https://sqlite.org/eqp.html>
fn plan_tree(rows: &[Vec<Datum>]) -> String {
    let mut depths: BTreeMap<String, usize> = BTreeMap::new();
    let lines = rows.iter().map(|row| {
        let depth = depths.get(&datum_text(row.get(1))).map_or(0, |depth| depth + 1);
        depths.insert(datum_text(row.first()), depth);
        format!("{}{}", "  ".repeat(depth), datum_text(row.get(3)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// SQLite has no function that hashes. The rows of a virtual table lie in tables of its own.
impl ContentsDialect for SqliteDialect {
    /// Query for tables and columns, quoted, apart from virtual tables.
    fn columns_sql(&self) -> &'static str {
        "SELECT '\"' || replace(m.name, '\"', '\"\"') || '\"', '\"' || replace(c.name, '\"', '\"\"') || '\"' FROM sqlite_schema m JOIN \
         pragma_table_info(m.name) c WHERE m.type = 'table' AND substr(m.name, 1, 7) <> 'sqlite_' AND upper(ltrim(m.sql)) NOT LIKE \
         'CREATE VIRTUAL%' ORDER BY m.name, c.cid"
    }

    /// Query for all tables and views, quoted.
    fn tables_and_views_sql(&self) -> &'static str {
        "SELECT 'main', '\"' || replace(name, '\"', '\"\"') || '\"' FROM sqlite_schema WHERE type IN ('table', 'view') AND \
         substr(name, 1, 7) <> 'sqlite_'"
    }
}

impl Dialect for SqliteDialect {
    /// Words in file names by which scripts are for this engine.
    fn file_suffixes(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    /// The dialect in which contents of tables are digested.
    fn contents_dialect(&self) -> Option<&'static dyn ContentsDialect> {
        Some(&SqliteDialect)
    }

    /// Statements that forbid and allow writing.
    fn read_only_wrapper(&self) -> (&'static str, &'static str) {
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF")
    }

    /// How the engine explains a query, and how its plan is written in lines.
    fn explain_form(&self) -> Option<Explain> {
        Some(Explain { prefix: "EXPLAIN QUERY PLAN ", plan: plan_tree })
    }

    /// The type of a column of this kind, in SQL.
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int | ColumnKind::BigInt => "INTEGER".to_owned(),
            ColumnKind::Char(length) => format!("CHAR({length})"),
            ColumnKind::VarChar(most) => format!("VARCHAR({most})"),
            ColumnKind::Decimal(digits, places) => format!("DECIMAL({digits}, {places})"),
            ColumnKind::Date => "DATE".to_owned(),
            ColumnKind::Timestamp => "TIMESTAMP".to_owned(),
        }
    }

    /// The placeholder of a statement's parameter, by its number from 1.
    fn placeholder(&self, number: usize) -> String {
        format!("?{number}")
    }

    /// Translates portable words: `BEGIN` locks at once, and `FOR UPDATE` is left out.
    /// A writing transaction locks at its start, and everything: upgrading later fails with `SQLITE_BUSY`
    /// whenever another writes, whatever the busy timeout.
    fn translate_statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        if sql.eq_ignore_ascii_case("begin") {
            return Cow::Borrowed("BEGIN IMMEDIATE");
        }
        if sql.eq_ignore_ascii_case("start transaction read only") {
            return Cow::Borrowed("BEGIN");
        }
        Cow::Borrowed(sql.strip_suffix(" FOR UPDATE").unwrap_or(sql))
    }

    /// Writes the `CREATE TABLE` of a data set's table, with its primary key: only so is one column the row's address.
    fn define_table_sql(&self, table: &Table) -> String {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let kind = self.column_type(column.kind);
                let key = if table.primary_key == [column.name] { " PRIMARY KEY" } else { "" };
                let nulls = if column.nulls == Nulls::Refused { " NOT NULL" } else { "" };
                format!("{} {kind}{key}{nulls}", column.name)
            })
            .collect();
        let key = match table.primary_key {
            [] | [_] => String::new(),
            several => format!(", PRIMARY KEY ({})", several.join(", ")),
        };
        format!("CREATE TABLE {} ({}{key})", table.name, columns.join(", "))
    }
}
