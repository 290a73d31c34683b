//! Makes the tables, loads them, builds the indexes: two phases, timed apart.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use model::Reading;

use super::data::Country;
use super::dialects::{self, SpatialDialect};
use crate::error::Failure;
use crate::session::Session;
use crate::step::{Spent, Stopwatch};
use crate::target::Target;

/// Rows of one statement: SQL Server takes a thousand.
const ROWS: usize = 500;
/// Bytes of one statement, about: far below every engine's limit.
const STATEMENT_BYTES: usize = 256 * 1024;

/// What loading took.
pub(super) struct Loaded {
    /// Inserting the rows, in one transaction, from its first statement to the end of its commit.
    pub(super) load: Spent,
    /// Building the spatial indexes and bringing the planner's statistics up to date.
    pub(super) index: Spent,
}

/// Makes, loads and indexes the tables of a country.
///
/// # Errors
/// The engine refused a statement, or the connection is gone.
pub(super) fn load(
    target: &dyn Target,
    session: &mut dyn Session,
    dialect: &dyn SpatialDialect,
    country: &Country,
) -> Result<Loaded, Failure> {
    for statement in dialect.tables() {
        session.execute(&statement)?;
    }
    let load = insert_all(target, session, dialect, country)?;
    let watch = Stopwatch::start(target);
    for statement in dialect.indexes(country.extent()) {
        session.execute(&statement)?;
    }
    Ok(Loaded { load, index: watch.read(target) })
}

/// Inserts every row. What it takes étalon to write the statements is not counted.
fn insert_all(
    target: &dyn Target,
    session: &mut dyn Session,
    dialect: &dyn SpatialDialect,
    country: &Country,
) -> Result<Spent, Failure> {
    let (begin, commit) = dialect.transaction();
    let watch = Stopwatch::start(target);
    let mut elapsed = Duration::ZERO;
    let mut send = |sql: &str| {
        let started = Instant::now();
        let sent = session.execute(sql);
        elapsed += started.elapsed();
        sent
    };
    let mut writing = Ok(Duration::ZERO);
    send(begin)?;
    for table in TABLES {
        let mut id = 1;
        while id <= table.rows(country) {
            let before = host::cpu::thread_cpu();
            let (statement, next) = table.statement(country, id, dialect.geometry());
            let wrote = before.and_then(|before| Ok(host::cpu::thread_cpu()?.saturating_sub(before)));
            writing = writing.and_then(|sum: Duration| Ok(sum + wrote?));
            send(&statement)?;
            id = next;
        }
    }
    send(commit)?;
    let cpu_s = match (watch.read(target).cpu_s, writing) {
        (Reading::Value(all), Ok(own)) if all > own.as_secs_f64() => Reading::Value(all - own.as_secs_f64()),
        (Reading::Value(_), Ok(_)) => Reading::Unavailable("too little to tell from étalon's own work".to_owned()),
        (Reading::Value(_), Err(reason)) | (Reading::Unavailable(reason), _) => Reading::Unavailable(reason),
    };
    Ok(Spent { elapsed_s: elapsed.as_secs_f64(), cpu_s })
}

/// A table of the suite.
#[derive(Clone, Copy)]
enum Table {
    Cell,
    Road,
    Point,
    Shape,
}

const TABLES: [Table; 4] = [Table::Cell, Table::Road, Table::Point, Table::Shape];

impl Table {
    fn name(self) -> &'static str {
        match self {
            Table::Cell => "cell",
            Table::Road => "road",
            Table::Point => "pt",
            Table::Shape => "shape",
        }
    }

    fn rows(self, country: &Country) -> i64 {
        match self {
            Table::Cell => country.cells(),
            Table::Road => country.roads(),
            Table::Point => country.points(),
            Table::Shape => country.shapes(),
        }
    }

    /// The statement that inserts some rows from `first` on, and the number of the first row that is not in it.
    fn statement(self, country: &Country, first: i64, geometry: (&str, &str)) -> (String, i64) {
        let mut text = format!("INSERT INTO {} VALUES ", self.name());
        let end = self.rows(country).min(first + ROWS as i64 - 1);
        let mut id = first;
        while id <= end && text.len() < STATEMENT_BYTES {
            if id > first {
                text.push(',');
            }
            self.row(country, id, geometry, &mut text);
            id += 1;
        }
        (text, id)
    }

    fn row(self, country: &Country, id: i64, (before, after): (&str, &str), text: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "({id},");
        let (i, j) = ((id - 1) % country.side, (id - 1) / country.side);
        let _ = match self {
            Table::Cell => write!(text, "{},", country.department(i, j)),
            Table::Road => write!(text, "{},", country.class(id)),
            Table::Point | Table::Shape => Ok(()),
        };
        text.push_str(before);
        match self {
            Table::Cell => dialects::polygon(&country.cell(i, j), text),
            Table::Road => dialects::line(&country.road(id), text),
            Table::Point => dialects::point(country.point(id), text),
            Table::Shape => dialects::polygon(&country.shape(id), text),
        }
        text.push_str(after);
        text.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Spread;
    use super::*;

    #[test]
    fn every_row_is_in_exactly_one_statement() {
        let country = Country { side: 12, seed: 1, spread: Spread::Uniform };
        for table in TABLES {
            let mut next = 1;
            let mut rows = 0;
            while next <= table.rows(&country) {
                let (text, after) = table.statement(&country, next, ("<", ">"));
                assert!(text.starts_with(&format!("INSERT INTO {} VALUES ({next},", table.name())), "{text:.60}");
                assert!(text.len() < STATEMENT_BYTES + 10_000 && after - next <= ROWS as i64);
                rows += text.matches('<').count() as i64;
                next = after;
            }
            assert_eq!(rows, table.rows(&country));
        }
        let (text, _) = Table::Point.statement(&country, country.points(), ("f('", "')"));
        let p = country.point(country.points());
        assert_eq!(text, format!("INSERT INTO pt VALUES ({},f('POINT({} {})'))", country.points(), p.x, p.y));
    }
}
