//! Rows of a given compressibility, equal on every machine, and their checksum.

use std::borrow::Cow;
use std::sync::Arc;

use crate::dataset::{Column, ColumnKind, Dataset, Dialect, Index, Nulls, Table};
use crate::session::Session;
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::rng::Rng;

pub(super) const TABLE: &str = "item";
/// MySQL's `CHAR` holds at most 255.
pub(super) const BODY: usize = 250;
/// Approximate.
const ROW_BYTES: u64 = 560;
/// Place of the note in a row.
const NOTE: usize = 3;
/// Per verification query.
const PAGE: u64 = 2_000;
/// Repetitive text. Must not end in a blank, which `CHAR` drops.
const FILLER: &[u8] = b"the-same-words-again-and-again-";
/// Visible ASCII without SQL's quotes.
const LETTERS: std::ops::RangeInclusive<u8> = b'!'..=b'~';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Material {
    pub(super) size_mib: u64,
    /// Percent of a row's text that is a pattern.
    pub(super) compressible: u64,
    pub(super) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableChecksum {
    pub(super) rows: u64,
    pub(super) checksum: u64,
}

impl TableChecksum {
    /// The checksum of no rows.
    const NONE: TableChecksum = TableChecksum { rows: 0, checksum: 0xcbf2_9ce4_8422_2325 };

    /// Computes the checksum of a single row.
    pub(super) fn of_row(row: &[Datum]) -> u64 {
        let mut one = TableChecksum::NONE;
        one.add_row(row);
        one.checksum
    }

    /// Adds a row to the count and the checksum.
    fn add_row(&mut self, row: &[Datum]) {
        self.rows += 1;
        for datum in row {
            let text = match datum {
                Datum::Null => Cow::Borrowed("\u{0}"),
                Datum::Int(number) => Cow::Owned(number.to_string()),
                Datum::Double(number) => Cow::Owned(number.to_string()),
                Datum::Text(text) => Cow::Borrowed(text.trim_end_matches(' ')),
            };
            self.checksum = fnv1a_mix(fnv1a_mix(self.checksum, text.as_bytes()), b"\t");
        }
    }
}

impl std::fmt::Display for TableChecksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows with the checksum {:016x}", self.rows, self.checksum)
    }
}

impl Material {
    /// Number of rows that the size of the data makes.
    pub(super) fn row_count(&self) -> u64 {
        (self.size_mib << 20) / ROW_BYTES
    }

    /// Computes the checksum of the rows as they were loaded, with another note in the first row.
    pub(super) fn expected_checksum(self, first_note: &str) -> TableChecksum {
        let mut answer = TableChecksum::NONE;
        let mut row = Vec::new();
        for index in 0..self.row_count() {
            row.clear();
            self.make_row(index, &mut row);
            if index == 0 {
                row[NOTE] = Datum::Text(Cow::Owned(first_note.to_owned()));
            }
            answer.add_row(&row);
        }
        answer
    }

    /// The note that the first row was loaded with.
    pub(super) fn first_note(self) -> String {
        let mut row = Vec::new();
        self.make_row(0, &mut row);
        match row.pop() {
            Some(Datum::Text(note)) => note.into_owned(),
            _ => String::new(),
        }
    }

    /// Makes the row of an index, counted from 0, and appends its values to `row`.
    fn make_row(self, index: u64, row: &mut Vec<Datum>) {
        let mut rng = Rng::of_transaction(self.seed, 0, index);
        let random = BODY * (100 - self.compressible.min(100)) as usize / 100;
        row.push(Datum::Int(index as i64 + 1));
        row.push(Datum::Int((rng.next_u64() % 1_000) as i64));
        for _ in 0..2 {
            row.push(Datum::Text(Cow::Owned(random_body(&mut rng, random))));
        }
    }

    /// Makes the data set of the backup's table.
    pub(super) fn dataset(self) -> Dataset {
        let Material { size_mib, compressible, seed } = self;
        let table = Table {
            name: Cow::Borrowed(TABLE),
            columns: vec![
                column("id", ColumnKind::BigInt),
                column("kind", ColumnKind::Int),
                column("body", ColumnKind::Char(BODY as u32)),
                column("note", ColumnKind::Char(BODY as u32)),
            ],
            primary_key: &["id"],
            create: None,
            rows: self.row_count(),
            unit_rows: 1,
            row: Arc::new(move |index, row| self.make_row(index, row)),
        };
        Dataset {
            name: format!("backup data of {size_mib} MiB, {compressible} % of it patterns, seed {seed}"),
            tables: vec![table],
            indexes: vec![Index { name: "item_kind", table: TABLE, columns: &["kind"] }],
            size_bytes: size_mib << 20,
            ..Dataset::default()
        }
    }
}

/// Makes a column that refuses NULL.
fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind, nulls: Nulls::Refused }
}

/// Draws a row's body, of which `random` bytes are random.
fn random_body(rng: &mut Rng, random: usize) -> String {
    let span = u64::from(LETTERS.end() - LETTERS.start()) + 1;
    let mut bytes = Vec::with_capacity(BODY);
    while bytes.len() < random {
        // Eight letters per draw, from the highest bits.
        let mut draw = rng.next_u64();
        for _ in 0..8.min(random - bytes.len()) {
            let wide = u128::from(draw) * u128::from(span);
            bytes.push(match LETTERS.start() + (wide >> 64) as u8 {
                b'\\' | b'\'' | b'"' => b'_',
                letter => letter,
            });
            draw = wide as u64;
        }
    }
    bytes.extend(FILLER.iter().cycle().take(BODY - bytes.len()));
    if bytes.last() == Some(&b' ') {
        bytes.pop();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Mixes bytes into a hash by FNV-1a, 64 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
fn fnv1a_mix(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Reads all rows of the backup's table in order, and returns their number and checksum.
pub(super) fn read_checksum(
    session: &mut dyn Session,
    dialect: &dyn Dialect,
    go_on: &dyn Fn() -> Result<(), Failure>,
) -> Result<TableChecksum, Failure> {
    let mut answer = TableChecksum::NONE;
    let mut last = 0;
    loop {
        go_on()?;
        let rest = format!("FROM {TABLE} WHERE id > {last} ORDER BY id");
        let sql = dialect.first_rows_sql("id, kind, body, note", &rest, PAGE);
        let rows = session.query(&sql)?;
        rows.iter().for_each(|row| answer.add_row(row));
        let Some(id) = rows.last().and_then(|row| row.first()) else { return Ok(answer) };
        last = match id {
            Datum::Int(id) => *id,
            Datum::Text(id) => id.parse().map_err(|_| unreadable_row(id))?,
            other => return Err(unreadable_row(&format!("{other:?}"))),
        };
        if (rows.len() as u64) < PAGE {
            return Ok(answer);
        }
    }
}

/// Makes the failure that a row's id is no number.
fn unreadable_row(id: &str) -> Failure {
    Failure::new(FailureKind::Verification, "read the rows of the backup's table", format!("`{id}` is no row's number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::codec::{Compression, Encoder};
    use std::io::Write as _;

    /// After zstd.
    fn share_left(compressible: u64) -> f64 {
        let material = Material { size_mib: 1, compressible, seed: 1 };
        let (mut whole, mut row) = (0, Vec::new());
        let mut encoder = Encoder::new(Compression::new("zstd", 0, 0).unwrap(), Vec::new()).unwrap();
        for index in 0..material.row_count() {
            row.clear();
            material.make_row(index, &mut row);
            for datum in &row {
                let Datum::Text(text) = datum else { continue };
                assert_eq!(text.len(), BODY);
                whole += text.len();
                encoder.write_all(text.as_bytes()).unwrap();
            }
        }
        encoder.finish().unwrap().len() as f64 / whole as f64
    }

    #[test]
    fn the_data_compress_as_much_as_they_say() {
        // Letters carry 6.5 of 8 bits.
        let shares = [0, 50, 90, 100].map(share_left);
        for (share, expected) in shares.into_iter().zip([0.82, 0.42, 0.09, 0.0]) {
            assert!((share - expected).abs() < 0.04, "{shares:?}");
        }
    }

    /// From memory, with one changed row.
    struct Memory(Vec<Vec<Datum>>);

    impl Session for Memory {
        fn execute(&mut self, _: &str) -> Result<(), Failure> {
            Ok(())
        }

        fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
            let after: usize = sql.split("id > ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            Ok(self.0.iter().skip(after).take(PAGE as usize).cloned().collect())
        }
    }

    /// The dialect of most engines.
    struct Words;

    impl Dialect for Words {
        fn placeholder(&self, _: usize) -> String {
            String::new()
        }
    }

    #[test]
    fn a_row_that_is_missing_or_changed_is_another_answer() {
        let material = Material { size_mib: 2, compressible: 50, seed: 3 };
        let mut rows: Vec<Vec<Datum>> = (0..material.row_count())
            .map(|index| {
                let mut row = Vec::new();
                material.make_row(index, &mut row);
                row
            })
            .collect();
        let right = read_checksum(&mut Memory(rows.clone()), &Words, &|| Ok(())).unwrap();
        assert_eq!(right.rows, material.row_count());
        let mut changed = rows.clone();
        changed[3_000][2] = Datum::Text(Cow::Borrowed("x"));
        assert_ne!(read_checksum(&mut Memory(changed), &Words, &|| Ok(())).unwrap(), right);
        rows.pop();
        assert_ne!(read_checksum(&mut Memory(rows), &Words, &|| Ok(())).unwrap(), right);
    }
}
