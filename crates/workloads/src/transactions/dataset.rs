//! pgbench's four tables, and the one of the published tasks.

use std::borrow::Cow;
use std::sync::Arc;

use crate::dataset::{Column, ColumnKind, Dataset, Index, Nulls, Table};
use load::datum::Datum;

const ACCOUNTS_PER_SCALE: u64 = 100_000;
const TELLERS_PER_SCALE: u64 = 10;
const BYTES_PER_ACCOUNT: u64 = 150;

/// About what a row of `table_a` takes on disk with its share of the index, in bytes.
const BYTES_PER_VALUE: u64 = 60;

/// pgbench pads this column with blanks; engines that do not pad get the same bytes.
const BLANK_84: &str = "                                                                                    ";

/// Makes a column.
const fn column(name: &'static str, kind: ColumnKind, nulls: Nulls) -> Column {
    Column { name, kind, nulls }
}

/// Makes pgbench's tables at a scale, all balances 0, the history empty.
pub fn pgbench_tables(scale: u64) -> Dataset {
    use ColumnKind::{Char, Int, Timestamp};
    use Nulls::{Allowed, Refused};
    let branches = Table {
        name: Cow::Borrowed("pgbench_branches"),
        columns: vec![
            column("bid", Int, Refused),
            column("bbalance", Int, Allowed),
            column("filler", Char(88), Allowed),
        ],
        primary_key: &["bid"],
        create: None,
        rows: scale,
        unit_rows: 1,
        row: Arc::new(|index, into| into.extend([Datum::Int(index as i64 + 1), Datum::Int(0), Datum::Null])),
    };
    let tellers = Table {
        name: Cow::Borrowed("pgbench_tellers"),
        columns: vec![
            column("tid", Int, Refused),
            column("bid", Int, Allowed),
            column("tbalance", Int, Allowed),
            column("filler", Char(84), Allowed),
        ],
        primary_key: &["tid"],
        create: None,
        rows: TELLERS_PER_SCALE * scale,
        unit_rows: 1,
        row: Arc::new(|index, into| {
            let bid = index / TELLERS_PER_SCALE + 1;
            into.extend([Datum::Int(index as i64 + 1), Datum::Int(bid as i64), Datum::Int(0), Datum::Null]);
        }),
    };
    let history = Table {
        name: Cow::Borrowed("pgbench_history"),
        columns: vec![
            column("tid", Int, Allowed),
            column("bid", Int, Allowed),
            column("aid", Int, Allowed),
            column("delta", Int, Allowed),
            column("mtime", Timestamp, Allowed),
            column("filler", Char(22), Allowed),
        ],
        primary_key: &[],
        create: None,
        rows: 0,
        unit_rows: 1,
        row: Arc::new(|_, _| ()),
    };
    Dataset {
        name: format!("pgbench, scale {scale}"),
        tables: vec![branches, tellers, accounts_table(scale), history],
        indexes: Vec::new(),
        afterwards: Vec::new(),
        engine_statements: None,
        later: Vec::new(),
        size_bytes: scale * ACCOUNTS_PER_SCALE * BYTES_PER_ACCOUNT,
        files: Vec::new(),
    }
}

const VALUES_PER_THREAD: u64 = 100_000;
/// Threads in `table_a`, at scale 1.
const THREADS: u64 = 10;

/// Makes the table of the published comparison of PostgreSQL on Linux and on Windows (Guazzo, 2016).
///
/// Ten threads of 100,000 values each, indexed by thread alone, so a statement reads every row of its thread. A larger
/// scale has more threads.
pub fn table_a(scale: u64) -> Dataset {
    use ColumnKind::Int;
    use Nulls::Allowed;
    let rows = scale * THREADS * VALUES_PER_THREAD;
    let table = Table {
        name: Cow::Borrowed("table_a"),
        columns: vec![column("thread_id", Int, Allowed), column("a_value", Int, Allowed)],
        primary_key: &[],
        create: None,
        rows,
        unit_rows: 1,
        row: Arc::new(|index, into| {
            let (thread, value) = (index / VALUES_PER_THREAD + 1, index % VALUES_PER_THREAD + 1);
            into.extend([Datum::Int(thread as i64), Datum::Int(value as i64)]);
        }),
    };
    Dataset {
        name: format!("table_a, scale {scale}"),
        tables: vec![table],
        indexes: vec![Index { name: "table_a_thread_id_idx", table: "table_a", columns: &["thread_id"] }],
        afterwards: Vec::new(),
        engine_statements: None,
        later: Vec::new(),
        size_bytes: rows * BYTES_PER_VALUE,
        files: Vec::new(),
    }
}

/// Makes the table of accounts at a scale; from scale 20,000 on its key is 64 bits wide, as in pgbench.
fn accounts_table(scale: u64) -> Table {
    let key = if scale >= 20_000 { ColumnKind::BigInt } else { ColumnKind::Int };
    Table {
        name: Cow::Borrowed("pgbench_accounts"),
        columns: vec![
            column("aid", key, Nulls::Refused),
            column("bid", ColumnKind::Int, Nulls::Allowed),
            column("abalance", ColumnKind::Int, Nulls::Allowed),
            column("filler", ColumnKind::Char(84), Nulls::Allowed),
        ],
        primary_key: &["aid"],
        create: None,
        rows: ACCOUNTS_PER_SCALE * scale,
        unit_rows: 1,
        row: Arc::new(|index, into| {
            let bid = index / ACCOUNTS_PER_SCALE + 1;
            into.extend([
                Datum::Int(index as i64 + 1),
                Datum::Int(bid as i64),
                Datum::Int(0),
                Datum::Text(Cow::Borrowed(BLANK_84)),
            ]);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_has_every_pair_once() {
        let data = table_a(1);
        let row = |index: u64| {
            let mut row = Vec::new();
            (data.tables[0].row)(index, &mut row);
            row
        };
        assert_eq!(data.tables[0].rows, 1_000_000);
        assert_eq!(row(0), [Datum::Int(1), Datum::Int(1)]);
        assert_eq!(row(99_999), [Datum::Int(1), Datum::Int(100_000)]);
        assert_eq!(row(999_999), [Datum::Int(10), Datum::Int(100_000)]);
    }

    #[test]
    fn rows_are_pgbench_s_own() {
        let data = pgbench_tables(2);
        let row = |table: usize, index: u64| {
            let mut row = Vec::new();
            (data.tables[table].row)(index, &mut row);
            row
        };
        assert_eq!(data.tables.iter().map(|t| t.rows).collect::<Vec<_>>(), [2, 20, 200_000, 0]);
        assert_eq!(row(1, 19)[..2], [Datum::Int(20), Datum::Int(2)]);
        assert_eq!(row(2, 99_999)[..2], [Datum::Int(100_000), Datum::Int(1)]);
        assert_eq!(row(2, 100_000)[..3], [Datum::Int(100_001), Datum::Int(2), Datum::Int(0)]);
        assert_eq!(BLANK_84.len(), 84);
        for table in &data.tables {
            if table.rows > 0 {
                let mut one = Vec::new();
                (table.row)(0, &mut one);
                assert_eq!(one.len(), table.columns.len(), "{}", table.name);
            }
        }
    }
}
