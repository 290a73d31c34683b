//! The rows that a workload works on, described once for every engine.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use host::blocks::Access;

/// One value that is sent to a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    /// NULL.
    #[default]
    Null,
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    Text(Cow<'static, str>),
}

impl Datum {
    /// The whole number that it is, or that its text is.
    pub(crate) fn whole(&self) -> Option<i64> {
        match self {
            Datum::Int(number) => Some(*number),
            Datum::Text(text) => text.parse().ok(),
            Datum::Null | Datum::Double(_) => None,
        }
    }
}

/// What a column holds; each engine's dialect has its own words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// 32-bit whole number.
    Int,
    /// 64-bit whole number.
    BigInt,
    /// Text of a fixed length in characters.
    Char(u32),
    /// Date and time.
    Timestamp,
}

/// Whether a column takes NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// It does.
    Allowed,
    /// It does not.
    Refused,
}

/// On whose tables a load works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tables {
    /// On tables that étalon makes and fills before each trial, and drops at the end.
    #[default]
    Own,
    /// On those that are there: étalon makes, fills and drops nothing.
    None,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether it takes NULL.
    pub nulls: Nulls,
}

/// Fills in row `index` (from 0); pure, so that any part can be loaded anywhere.
pub type RowRule = Arc<dyn Fn(u64, &mut Vec<Datum>) + Send + Sync>;

/// A table with the rule that makes its rows.
#[derive(Clone)]
pub struct Table {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its columns, in order. Empty where the user's own statement makes the table.
    pub columns: Vec<Column>,
    /// The column of its primary key, built after the rows are loaded.
    pub primary_key: Option<&'static str>,
    /// The user's own statement that makes the table, sent as it is: engines differ in what they take.
    pub create: Option<String>,
    /// How many rows.
    pub rows: u64,
    /// The rows.
    pub row: RowRule,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { name, columns, primary_key, create, rows, row: _ } = self;
        let mut table = f.debug_struct("Table");
        table.field("name", name).field("columns", columns).field("primary_key", primary_key);
        table.field("create", create).field("rows", rows).finish_non_exhaustive()
    }
}

/// An index on one column; it need not be unique.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
}

/// Tables in the order in which they are made.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// What it is, with its size: two data sets of one name are the same data.
    pub name: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// Indexes beside those of primary keys, built after the rows are loaded.
    pub indexes: Vec<Index>,
    /// The user's own statements, run once when the tables have been loaded.
    pub afterwards: Vec<String>,
    /// About how large it is once loaded, in bytes: for estimates before the run.
    pub size_bytes: u64,
    /// Files of blocks, for targets that hold no tables.
    pub files: Vec<DataFile>,
}

/// A file of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its name or path; without one the target gives it a name by its size and layout.
    pub name: Option<String>,
    /// How large étalon makes it, in bytes; without one a file that is there is taken as it is.
    pub size_bytes: Option<u64>,
    /// How it lies on its volume.
    pub layout: Layout,
    /// What of it is touched at least, from its beginning on, in bytes.
    pub reach_bytes: u64,
    /// What is done to it.
    pub access: Access,
}

/// How a file lies on its volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// In as few pieces as the filesystem likes.
    #[default]
    Fresh,
    /// In pieces that lie apart.
    Fragmented {
        /// So long, in bytes; a filesystem with larger clusters makes them of clusters.
        piece_bytes: u64,
    },
}

/// How an engine writes what every SQL engine has.
pub trait Dialect: Sync {
    /// The type of a column; in standard SQL's words, unless the engine has others.
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int => "INTEGER".to_owned(),
            ColumnKind::BigInt => "BIGINT".to_owned(),
            ColumnKind::Char(length) => format!("CHAR({length})"),
            ColumnKind::Timestamp => "TIMESTAMP".to_owned(),
        }
    }

    /// The placeholder of parameter `number`, from 1.
    fn placeholder(&self, number: usize) -> String;

    /// A statement of a portable script in the engine's own words, where those are others.
    fn statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(sql)
    }

    /// A query for the first `count` rows; `rest` is what stands behind the columns, with the order.
    fn first_rows(&self, columns: &str, rest: &str, count: u64) -> String {
        format!("SELECT {columns} {rest} LIMIT {count}")
    }

    /// The statement that makes an index.
    fn create_index(&self, index: &Index) -> String {
        format!("CREATE INDEX {} ON {} ({})", index.name, index.table, index.column)
    }

    /// The statement that makes a table: the user's own, or the dialect's, without its primary key.
    fn create_table(&self, table: &Table) -> String {
        table.create.clone().unwrap_or_else(|| self.define_table(table))
    }

    /// The dialect's own statement that makes a table, without its primary key unless it must be there.
    fn define_table(&self, table: &Table) -> String {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let nulls = if column.nulls == Nulls::Refused { " NOT NULL" } else { "" };
                format!("{} {}{nulls}", column.name, self.column_type(column.kind))
            })
            .collect();
        format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
    }
}
