//! What loaded tables hold, as far as one scan of each tells: how many rows, and a sum over their whole numbers. By it a load
//! that lost, doubled or mixed up rows does not pass for a whole one.

use std::cmp::Reverse;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::dataset::{ColumnKind, Dataset, Dialect, Table};
use crate::session::Session;
use crate::system::System;
use load::datum::Datum;
use load::error::{Failure, FailureKind};

/// Values count by their remainder, so that no sum of a table that fits on a disk leaves 64 bits: 4 billion rows of 20 columns
/// come to a tenth of that.
const MODULUS: i64 = 1_000_003;
/// What NULL counts as: no remainder of the values that tables have.
const NULL: i64 = -1;
/// Zero that widens what it is added to. SQL Server would sum up whole numbers in 32 bits.
const WIDE_ZERO: &str = "0 * 4294967296";
/// The number of rows that one processor sums up at a time.
const CHUNK_ROWS: u64 = 50_000;

/// How many rows, and the sum over their columns of whole numbers: each value's remainder times its column's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableChecksum {
    /// How many.
    pub rows: u64,
    /// 0 for tables of a user's own statement, whose columns are not known.
    pub sum: i64,
}

impl TableChecksum {
    /// Sum of two checksums: those of different parts of a table give that of both.
    #[must_use]
    pub fn plus(self, other: TableChecksum) -> TableChecksum {
        TableChecksum { rows: self.rows + other.rows, sum: self.sum.wrapping_add(other.sum) }
    }

    /// Fails unless the checksum found in a data set's table is this one.
    pub fn verify_found(self, table: &str, data: &str, found: TableChecksum) -> Result<(), Failure> {
        if found == self {
            return Ok(());
        }
        let cause = format!("the table `{table}` was to hold {self}, and holds {found}");
        Err(Failure::new(FailureKind::Verification, format!("load {data}"), cause))
    }
}

impl fmt::Display for TableChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows with the checksum {}", self.rows, self.sum)
    }
}

/// The rows of a part of a table one after the other, counted and summed up as they are taken.
pub struct Rows<'a> {
    table: &'a Table,
    left: Range<u64>,
    weights: Vec<(usize, i64)>,
    tally: TableChecksum,
    stop: Option<&'a AtomicBool>,
}

impl<'a> Rows<'a> {
    /// Begins an iteration over all rows of a table.
    pub fn new(table: &'a Table) -> Rows<'a> {
        Rows::of_part(table, 0..table.rows)
    }

    /// Begins an iteration over the rows of a table that have these indexes.
    pub fn of_part(table: &'a Table, rows: Range<u64>) -> Rows<'a> {
        Rows { table, left: rows, weights: column_weights(table), tally: TableChecksum::default(), stop: None }
    }

    /// Lets the iteration end as soon as the flag is set.
    #[must_use]
    pub fn until_stopped(self, stop: &'a AtomicBool) -> Rows<'a> {
        Rows { stop: Some(stop), ..self }
    }

    /// Replaces `row` by the next one and adds it to the checksum; false if there is none.
    pub fn next_into(&mut self, row: &mut Vec<Datum>) -> bool {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            self.left.start = self.left.end;
        }
        let Some(index) = self.left.next() else { return false };
        row.clear();
        (self.table.row)(index, row);
        let terms = self.weights.iter().map(|(index, weight)| {
            row.get(*index).and_then(Datum::as_int).map_or(NULL, |value| value % MODULUS) * weight
        });
        let sum = terms.sum();
        self.tally = self.tally.plus(TableChecksum { rows: 1, sum });
        true
    }

    /// Whether all rows have been taken, or the iteration was stopped.
    pub fn are_over(&self) -> bool {
        self.left.is_empty()
    }

    /// The checksum of the rows that were taken so far.
    pub fn checksum(&self) -> TableChecksum {
        self.tally
    }
}

/// Indexes of the columns that are summed up, with a weight for each, so that exchanged columns differ.
fn column_weights(table: &Table) -> Vec<(usize, i64)> {
    let columns = table.columns.iter().zip(1..).enumerate();
    columns
        .filter(|(_, (column, _))| matches!(column.kind, ColumnKind::Int | ColumnKind::BigInt))
        .map(|(place, (_, weight))| (place, weight))
        .collect()
}

/// The checksums of a data set's tables, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Name and rows.
    pub tables: Vec<(String, TableChecksum)>,
}

impl Contents {
    /// Computes the checksums that tables have right after loading, before [`Dataset::afterwards`], on all processors.
    pub fn expected_of(data: &Dataset) -> Contents {
        let chunks: Vec<(usize, Range<u64>)> = data
            .tables
            .iter()
            .enumerate()
            .flat_map(|(table, of)| chunk_ranges(of).map(move |rows| (table, rows)))
            .collect();
        let next = AtomicUsize::new(0);
        let count = thread::available_parallelism().map_or(1, NonZero::get).min(chunks.len());
        let of_others: Vec<Vec<TableChecksum>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|_| {
                    scope.spawn(|| {
                        let mut row = Vec::new();
                        let mut sums = vec![TableChecksum::default(); data.tables.len()];
                        while let Some((table, range)) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                            let mut rows = Rows::of_part(&data.tables[*table], range.clone());
                            while rows.next_into(&mut row) {}
                            sums[*table] = sums[*table].plus(rows.checksum());
                        }
                        sums
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        Contents {
            tables: data
                .tables
                .iter()
                .enumerate()
                .map(|(place, table)| {
                    let tally = if table.columns.is_empty() {
                        TableChecksum { rows: table.rows, sum: 0 }
                    } else {
                        of_others.iter().fold(TableChecksum::default(), |sum, of| sum.plus(of[place]))
                    };
                    (table.name.to_string(), tally)
                })
                .collect(),
        }
    }

    /// Reads the checksums of a system's tables, by one scan of each, on several connections.
    ///
    /// # Errors
    /// The system does not answer, or has no such table.
    pub fn read_from(data: &Dataset, system: &dyn System) -> Result<Contents, Failure> {
        // The largest first, lest one be left to a single processor.
        let mut places: Vec<(usize, &Table)> = data.tables.iter().enumerate().collect();
        places.sort_by_key(|(_, table)| Reverse(table.rows));
        let next = AtomicUsize::new(0);
        let work = |mut session: Box<dyn Session>| -> Result<Vec<(usize, TableChecksum)>, Failure> {
            let mut found = Vec::new();
            while let Some((place, table)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                found.push((
                    *place,
                    Contents::read_table(table, system.dialect(), |sql: &str| -> Result<_, Failure> {
                        Ok(session.query(sql)?.into_iter().next().unwrap_or_default())
                    })?,
                ));
            }
            Ok(found)
        };
        let count = thread::available_parallelism().map_or(1, NonZero::get).min(data.tables.len());
        let first = system.patient_session()?;
        let of_threads: Result<Vec<_>, Failure> = thread::scope(|scope| {
            // The account may have fewer connections; the first does the work then.
            let threads: Vec<_> = (1..count)
                .map(|_| scope.spawn(|| system.patient_session().map_or_else(|_| Ok(Vec::new()), work)))
                .collect();
            let own = work(first);
            let others = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            [own].into_iter().chain(others).collect()
        });
        let mut found: Vec<(usize, TableChecksum)> = of_threads?.into_iter().flatten().collect();
        found.sort_unstable_by_key(|(place, _)| *place);
        Ok(Contents {
            tables: found
                .into_iter()
                .filter_map(|(place, tally)| Some((data.tables.get(place)?.name.to_string(), tally)))
                .collect(),
        })
    }

    /// Reads the checksums of all tables one by one through `ask`, which gives the only row of a query's answer.
    ///
    /// # Errors
    /// The first of `ask`.
    pub fn read_by<E>(
        data: &Dataset,
        dialect: &dyn Dialect,
        mut ask: impl FnMut(&str) -> Result<Vec<Datum>, E>,
    ) -> Result<Contents, E> {
        Ok(Contents {
            tables: data
                .tables
                .iter()
                .map(|table| Ok((table.name.to_string(), Contents::read_table(table, dialect, &mut ask)?)))
                .collect::<Result<_, E>>()?,
        })
    }

    /// Reads one table's checksum through `ask`, which gives the only row of a query's answer.
    ///
    /// # Errors
    /// That of `ask`.
    pub fn read_table<E>(
        table: &Table,
        dialect: &dyn Dialect,
        ask: impl FnOnce(&str) -> Result<Vec<Datum>, E>,
    ) -> Result<TableChecksum, E> {
        let row = ask(&checksum_sql(table, dialect))?;
        Ok(TableChecksum { rows: whole_at(&row, 0) as u64, sum: whole_at(&row, 1) })
    }

    /// Fails unless all tables' checksums that were found are these.
    ///
    /// # Errors
    /// [`FailureKind::Verification`] with the first table that differs.
    pub fn verify_found(&self, data: &Dataset, found: &Contents) -> Result<(), Failure> {
        let mut pairs = self.tables.iter().zip(&found.tables);
        pairs.try_for_each(|((name, expected), (_, found))| expected.verify_found(name, &data.name, *found))
    }
}

/// The whole number at an index of a row; 0 if there is none.
fn whole_at(row: &[Datum], index: usize) -> i64 {
    row.get(index).and_then(Datum::as_int).unwrap_or_default()
}

/// Splits a table's rows into ranges that are summed at a time; none for a table without columns.
fn chunk_ranges(table: &Table) -> impl Iterator<Item = Range<u64>> {
    let rows = if table.columns.is_empty() { 0 } else { table.rows };
    (0..rows.div_ceil(CHUNK_ROWS)).map(move |chunk| chunk * CHUNK_ROWS..((chunk + 1) * CHUNK_ROWS).min(rows))
}

/// SQL for a table's number of rows and checksum.
///
/// `%` has the sign of the dividend on all engines, as in Rust.
fn checksum_sql(table: &Table, dialect: &dyn Dialect) -> String {
    let terms: Vec<String> = column_weights(table)
        .iter()
        .filter_map(|(place, weight)| {
            table.columns.get(*place).map(|column| format!("COALESCE({} % {MODULUS}, {NULL}) * {weight}", column.name))
        })
        .collect();
    let sum = if terms.is_empty() { "0".to_owned() } else { format!("SUM({WIDE_ZERO} + {})", terms.join(" + ")) };
    format!("SELECT COUNT(*), {sum} FROM {}", dialect.table_name(&table.name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dataset::{Column, Nulls};
    use crate::transactions::pgbench_tables;

    fn table(rows: u64) -> Table {
        Table {
            name: "t".into(),
            columns: vec![
                column("a", ColumnKind::Int),
                column("note", ColumnKind::Char(3)),
                column("b", ColumnKind::BigInt),
            ],
            primary_key: &[],
            create: None,
            rows,
            unit_rows: 1,
            row: Arc::new(|index, row| {
                let b = if index == 1 { Datum::Null } else { Datum::Int(-2_000_007) };
                row.extend([Datum::Int(index as i64), Datum::Text("7".into()), b]);
            }),
        }
    }

    fn column(name: &'static str, kind: ColumnKind) -> Column {
        Column { name, kind, nulls: Nulls::Allowed }
    }

    fn dataset_with(table: Table) -> Dataset {
        Dataset { name: "data".to_owned(), tables: vec![table], ..Dataset::default() }
    }

    #[test]
    fn rows_are_summed_up_by_column() {
        assert_eq!(tally(0), TableChecksum::default());
        // -2,000,007 leaves -1, thrice; NULL counts the same.
        assert_eq!(tally(1), TableChecksum { rows: 1, sum: -3 });
        assert_eq!(tally(3), TableChecksum { rows: 3, sum: -3 + (1 - 3) + (2 - 3) });
        let parts = [0..70_000, 70_000..123_457].map(|part| {
            let (table, mut row) = (table(123_457), Vec::new());
            let mut rows = Rows::of_part(&table, part);
            while rows.next_into(&mut row) {}
            assert!(rows.are_over());
            rows.checksum()
        });
        assert_eq!(parts[0].plus(parts[1]), tally(123_457));
    }

    fn tally(rows: u64) -> TableChecksum {
        Contents::expected_of(&dataset_with(table(rows))).tables[0].1
    }

    #[test]
    fn a_difference_names_the_table() {
        let data = dataset_with(table(3));
        let expected = Contents::expected_of(&data);
        assert_eq!(expected.verify_found(&data, &expected), Ok(()));
        let mut found = expected.clone();
        found.tables[0].1.sum += 1;
        let failure = expected.verify_found(&data, &found).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Verification);
        assert_eq!(
            failure.to_string(),
            "cannot load data: the table `t` was to hold 3 rows with the checksum -6, and holds 3 rows with the checksum -5"
        );
    }

    #[test]
    fn only_rows_of_the_user_s_own_statement_are_not_summed_up() {
        let own = Table { columns: Vec::new(), create: Some("CREATE TABLE t (x int)".to_owned()), ..table(5) };
        assert_eq!(Contents::expected_of(&dataset_with(own)).tables[0].1, TableChecksum { rows: 5, sum: 0 });
        let contents = Contents::expected_of(&pgbench_tables(1));
        let sums = contents.tables.iter().map(|(_, tally)| tally.sum != 0);
        assert_eq!(sums.collect::<Vec<_>>(), [true, true, true, false], "{contents:?}");
    }
}
