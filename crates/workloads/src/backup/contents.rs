//! What a database of others holds, so that its copy can be held against it.

use std::collections::BTreeMap;

use super::data::TableChecksum;
use crate::dataset::Dialect;
use crate::session::{Session, datum_text};
use load::error::{Failure, FailureKind};

const TRIED: &str = "read the whole database";

/// Each table's rows and their checksum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents(BTreeMap<String, (u64, String)>);

impl Contents {
    /// Reads row count and checksum of every table of a database.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: the engine's dialect cannot say. [`FailureKind::Missing`]: there is no table.
    pub(super) fn read_all(
        session: &mut dyn Session,
        dialect: &dyn Dialect,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Contents, Failure> {
        let dialect = dialect.contents_dialect().ok_or_else(|| {
            Failure::new(FailureKind::Unsupported, TRIED, "étalon does not read this engine's databases whole")
                .with_hint("leave out `tables`, so that étalon backs up tables of its own")
        })?;
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in session.query(dialect.columns_sql())? {
            tables.entry(datum_text(row.first())).or_default().push(datum_text(row.get(1)));
        }
        if tables.is_empty() {
            return Err(Failure::new(FailureKind::Missing, TRIED, "it has no table that the login can see"));
        }
        let mut contents = Contents::default();
        for (table, columns) in tables {
            go_on()?;
            let found = match dialect.digest_sql(&table, &columns) {
                Some(sql) => {
                    let row = session.query(&sql)?.into_iter().next().unwrap_or_default();
                    let rows = datum_text(row.first()).parse().map_err(|_| {
                        Failure::new(FailureKind::Verification, TRIED, format!("the rows of {table} are not counted"))
                    })?;
                    (rows, datum_text(row.get(1)))
                }
                None => read_rows(session, &format!("SELECT {} FROM {table}", columns.join(", ")))?,
            };
            contents.0.insert(table, found);
        }
        Ok(contents)
    }

    /// Number of rows of all tables together.
    pub(super) fn row_count(&self) -> u64 {
        self.0.values().map(|(rows, _)| rows).sum()
    }

    /// Describes the first table that differs from the original's; `None` if all are alike.
    pub(super) fn difference_from(&self, original: &Contents) -> Option<String> {
        let names = original.0.keys().chain(self.0.keys());
        let differing = names.into_iter().find(|name| self.0.get(*name) != original.0.get(*name))?;
        Some(format!(
            "table {differing}: {} and not {}",
            describe_table(self.0.get(differing)),
            describe_table(original.0.get(differing))
        ))
    }
}

/// Words for a table's row count and checksum; `none` for a table that is not there.
fn describe_table(found: Option<&(u64, String)>) -> String {
    found.map_or("none".to_owned(), |(rows, checksum)| format!("{rows} rows with the checksum {checksum}"))
}

/// Reads a query's rows, and returns their number and the sum of their checksums.
fn read_rows(session: &mut dyn Session, sql: &str) -> Result<(u64, String), Failure> {
    let (mut rows, mut sum) = (0, 0_u64);
    session.each_row(sql, &mut |row| {
        rows += 1;
        sum = sum.wrapping_add(TableChecksum::of_row(row));
    })?;
    Ok((rows, format!("{sum:016x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(tables: &[(&str, u64, &str)]) -> Contents {
        Contents(tables.iter().map(|(name, rows, sum)| ((*name).to_owned(), (*rows, (*sum).to_owned()))).collect())
    }

    #[test]
    fn the_table_that_differs_is_named() {
        let original = contents(&[("a", 2, "x"), ("b", 3, "y")]);
        assert_eq!(original.difference_from(&original.clone()), None);
        let other = contents(&[("a", 2, "x"), ("b", 3, "z")]);
        assert_eq!(
            other.difference_from(&original).unwrap(),
            "table b: 3 rows with the checksum z and not 3 rows with the checksum y"
        );
        let without = contents(&[("a", 2, "x")]);
        assert_eq!(without.difference_from(&original).unwrap(), "table b: none and not 3 rows with the checksum y");
        assert_eq!(original.difference_from(&without).unwrap(), "table b: 3 rows with the checksum y and not none");
    }
}
