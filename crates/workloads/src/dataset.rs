use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use host::blocks::Access;
use serde::{Deserialize, Serialize};

use crate::order_entry::OrderEntryDialect;
use crate::queries::StatementStatistics;
use crate::statement_log::StatementLog;
use load::datum::Datum;

/// Engines' dialects have names for these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// 32-bit whole number.
    Int,
    /// 64-bit whole number.
    BigInt,
    /// Length in characters.
    Char(u32),
    /// Most characters.
    VarChar(u32),
    /// Digits in all, and after the point.
    Decimal(u32, u32),
    Date,
    Timestamp,
}

/// Whether a column takes NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    Allowed,
    Refused,
}

/// Whose tables a load works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tables {
    /// Étalon makes and fills them before each run, and drops them at the end.
    #[default]
    Own,
    /// Existing ones: étalon makes, fills and drops nothing.
    None,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
    /// Whether it takes NULL.
    pub nulls: Nulls,
}

/// Fills in row `index` (from 0); pure, so that any part can be loaded anywhere.
pub type RowRule = Arc<dyn Fn(u64, &mut Vec<Datum>) + Send + Sync>;

#[derive(Clone)]
pub struct Table {
    pub name: Cow<'static, str>,
    pub columns: Vec<Column>,
    /// Built after loading; without columns there is none.
    pub primary_key: &'static [&'static str],
    /// The user's own statement, sent unchanged. The columns are then empty.
    pub create: Option<String>,
    pub rows: u64,
    /// Rows that follow each other and belong together, as a warehouse's: a part of a long load has whole units. Without such, 1.
    pub unit_rows: u64,
    pub row: RowRule,
}

/// Contiguous rows of a table that are loaded at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its place in [`Dataset::tables`].
    pub table: usize,
    /// Indexes.
    pub rows: Range<u64>,
}

/// From here on a data set is loaded in parts.
const LARGE_BYTES: u64 = 64 << 20;
/// The size of a part: large enough that its transaction does not count, and small enough that little is lost with it.
const PART_BYTES: u64 = 16 << 20;

impl Dataset {
    /// Whether a data set is loaded in parts over several connections, and its rows can be summed up.
    pub fn is_large(&self) -> bool {
        self.size_bytes >= LARGE_BYTES && self.tables.iter().all(|table| table.create.is_none())
    }

    /// Splits the rows of all tables into parts of about 16 MiB, in the tables' order.
    pub fn split_into_parts(&self) -> Vec<Part> {
        let all: u64 = self.tables.iter().map(|table| table.rows).sum();
        let like = (u128::from(all) * u128::from(PART_BYTES) / u128::from(self.size_bytes.max(1))) as u64;
        self.tables
            .iter()
            .enumerate()
            .flat_map(|(place, table)| {
                let unit = table.unit_rows.max(1);
                let (step, rows) = ((like / unit).max(1).saturating_mul(unit), table.rows);
                (0..rows.div_ceil(step)).map(move |part| {
                    let from = part * step;
                    Part { table: place, rows: from..from.saturating_add(step).min(rows) }
                })
            })
            .collect()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { name, columns, primary_key, create, rows, unit_rows, row: _ } = self;
        let mut table = f.debug_struct("Table");
        table.field("name", name).field("columns", columns).field("primary_key", primary_key);
        table.field("create", create).field("rows", rows).field("unit_rows", unit_rows).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Index {
    pub name: &'static str,
    pub table: &'static str,
    pub columns: &'static [&'static str],
}

/// Statements in the words of an engine, if it has them.
pub type EngineTexts = Arc<dyn Fn(&dyn Dialect) -> Option<Vec<String>> + Send + Sync>;

/// Statements that make something which every engine writes in its own language, such as stored procedures.
#[derive(Clone)]
pub struct EngineStatements {
    /// What they make, such as `the procedures of order entry`.
    pub made: String,
    /// Whether the user has written them, so that they may do anything.
    pub are_of_user: bool,
    /// The statements; `None`: there are none for the engine.
    pub texts: EngineTexts,
    /// What an engine without them does not have, such as `stored procedures`, and what helps.
    pub without: (String, &'static str),
}

impl fmt::Debug for EngineStatements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineStatements { made, are_of_user, texts: _, without: _ } = self;
        f.debug_struct("EngineStatements").field("made", made).field("are_of_user", are_of_user).finish_non_exhaustive()
    }
}

/// A set of tables, in order of creation.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// Equal names mean equal data, so it includes the size.
    pub name: String,
    pub tables: Vec<Table>,
    /// Without primary keys; built after loading.
    pub indexes: Vec<Index>,
    /// The user's own statements, run once after loading.
    pub afterwards: Vec<String>,
    /// Run after loading, too.
    pub engine_statements: Option<EngineStatements>,
    /// Names of tables that measured steps or scripts make in étalon's place.
    pub later: Vec<String>,
    /// Approximate, for estimates before the run.
    pub size_bytes: u64,
    /// For systems without tables.
    pub files: Vec<DataFile>,
}

impl Dataset {
    /// Whether étalon makes and fills tables before each run; otherwise measured steps make their own.
    pub fn has_tables(&self) -> bool {
        !self.tables.is_empty() || self.has_statements_of_user()
    }

    /// Whether statements that the user has written run after loading: what they make and change is not known.
    pub fn has_statements_of_user(&self) -> bool {
        !self.afterwards.is_empty() || self.engine_statements.as_ref().is_some_and(|made| made.are_of_user)
    }

    /// Statements that run once when all rows are loaded: the user's, and those that an engine needs in its own words.
    pub fn last_statements(&self, dialect: &dyn Dialect) -> Vec<String> {
        let own = self.engine_statements.as_ref().and_then(|made| (made.texts)(dialect));
        self.afterwards.iter().cloned().chain(own.unwrap_or_default()).collect()
    }
}

/// A file of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Default: by size and layout.
    pub name: Option<String>,
    /// `None`: an existing file of any size.
    pub size_bytes: Option<u64>,
    pub layout: FileLayout,
    /// Bytes from the beginning that are used at least.
    pub reach_bytes: u64,
    /// What is done to it.
    pub access: Access,
}

/// How a file lies on its volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLayout {
    /// Few extents, as the filesystem likes.
    #[default]
    Fresh,
    /// Separate pieces.
    Fragmented {
        /// Larger clusters of the filesystem win.
        piece_bytes: u64,
    },
}

/// How an engine says by which plan it would answer a query, without answering it.
#[derive(Clone, Copy)]
pub struct Explain {
    /// Stands before the query.
    pub prefix: &'static str,
    /// Writes the answer's rows as a plan: without costs, numbers of rows and times, which are others each time.
    pub plan: fn(&[Vec<Datum>]) -> String,
}

/// How an engine reads tables of which étalon knows nothing.
pub trait ContentsDialect: Sync {
    /// SQL that lists every column of every table that a backup holds: table and column, quoted for statements.
    ///
    /// A table's columns come in their order.
    fn columns_sql(&self) -> &'static str;

    /// SQL that lists schema and name of each table and view that a statement may name, quoted for statements.
    ///
    /// An engine without schemas gives an empty schema.
    fn tables_and_views_sql(&self) -> &'static str;

    /// SQL that gives a row if the table has one.
    fn first_row_sql(&self, table: &str) -> String {
        format!("SELECT 1 FROM {table} LIMIT 1")
    }

    /// SQL for a table's number of rows, and a sum over their values that no order of rows changes.
    ///
    /// `None`: étalon reads the rows.
    fn digest_sql(&self, _table: &str, _columns: &[String]) -> Option<String> {
        None
    }
}

/// How an engine writes common SQL.
pub trait Dialect: Sync {
    /// SQL for a column's type; standard SQL's, unless the engine has others.
    fn column_type(&self, kind: ColumnKind) -> String {
        match kind {
            ColumnKind::Int => "INTEGER".to_owned(),
            ColumnKind::BigInt => "BIGINT".to_owned(),
            ColumnKind::Char(length) => format!("CHAR({length})"),
            ColumnKind::VarChar(most) => format!("VARCHAR({most})"),
            ColumnKind::Decimal(digits, places) => format!("DECIMAL({digits}, {places})"),
            ColumnKind::Date => "DATE".to_owned(),
            ColumnKind::Timestamp => "TIMESTAMP".to_owned(),
        }
    }

    /// SQL for a statement's parameter, such as `?` or `$1`; numbers count from 1.
    fn placeholder(&self, number: usize) -> String;

    /// Rewrites a statement of a portable script in the engine's own SQL, where that differs.
    fn translate_statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(sql)
    }

    /// A table's name as it stands in a statement, quoted where étalon quotes it when it makes the table.
    fn table_name(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Names that mark SQL files as the engine's own, as in `q7.NAME.sql`; the first that is found is taken.
    fn file_suffixes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Statements to send before and after one that may only read; nothing of them stays in the session.
    ///
    /// Both are outside what is timed.
    fn read_only_wrapper(&self) -> (&'static str, &'static str) {
        ("", "")
    }

    /// Quotes a text as an SQL literal.
    fn text_literal(&self, text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    /// Statements to send before and after a read-only transaction, so that the server ends its query in time.
    ///
    /// Nothing of them stays in the session. `None`: the engine does not end a query by itself.
    fn time_limit(&self, _limit: Duration) -> Option<(String, String)> {
        None
    }

    /// How the engine's statistics of what statements cost are read; `None` if étalon cannot.
    fn statement_statistics(&self) -> Option<&'static dyn StatementStatistics> {
        None
    }

    /// How the engine's log of statements is switched on and read; `None` if étalon cannot.
    fn statement_log(&self) -> Option<&'static dyn StatementLog> {
        None
    }

    /// Queries for the name of the own session, and for those of the other sessions that are at work.
    ///
    /// `None`: a statement ends with its client.
    fn session_names(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// How the engine is asked for a query's plan; `None`: étalon reads no plans of the engine.
    fn explain_form(&self) -> Option<Explain> {
        None
    }

    /// SQL for how many answers the engine took from its cache of results, in the last column; `None` without a cache.
    fn cache_hits_sql(&self) -> Option<&'static str> {
        None
    }

    /// Whether the engine keeps plans by a statement's text, so that a known text is planned faster.
    fn keeps_plans_by_text(&self) -> bool {
        false
    }

    /// How the engine writes order entry's stored procedures; `None` without stored procedures.
    fn order_entry(&self) -> Option<&'static dyn OrderEntryDialect> {
        None
    }

    /// How the engine's tables that étalon did not make are read whole; `None`: étalon does not know how.
    fn contents_dialect(&self) -> Option<&'static dyn ContentsDialect> {
        None
    }

    /// SQL that selects the first `count` rows; `rest` follows the columns, with the order.
    fn first_rows_sql(&self, columns: &str, rest: &str, count: u64) -> String {
        format!("SELECT {columns} {rest} LIMIT {count}")
    }

    /// SQL that creates an index.
    fn create_index_sql(&self, index: &Index) -> String {
        format!("CREATE INDEX {} ON {} ({})", index.name, index.table, index.columns.join(", "))
    }

    /// SQL that creates a table: the user's own statement, or the dialect's without primary key.
    fn create_table_sql(&self, table: &Table) -> String {
        table.create.clone().unwrap_or_else(|| self.define_table_sql(table))
    }

    /// SQL that creates a table from its columns, without primary key unless the engine needs it here.
    fn define_table_sql(&self, table: &Table) -> String {
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
