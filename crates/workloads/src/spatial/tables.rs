//! Makes the tables, loads them, builds the indexes: two phases, timed apart.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use model::Reading;

use super::dialect::SpatialDialect;
use super::land::{LandTable, SpatialData};
use crate::session::{Session, datum_number, query_number};
use crate::step::{Spent, Stopwatch};
use crate::system::System;
use load::error::{Failure, FailureKind};

/// Rows of one statement: SQL Server takes a thousand.
const ROWS: usize = 500;
/// Bytes of one statement, about: far below every engine's limit.
const STATEMENT_BYTES: usize = 256 * 1024;

pub(super) struct LoadCost {
    /// Inserting the rows, in one transaction, from its first statement to the end of its commit.
    pub(super) load: Spent,
    /// Building the spatial indexes and bringing the planner's statistics up to date.
    pub(super) index: Spent,
}

/// Creates, loads and indexes the tables of a land; returns the times of loading and indexing.
pub(super) fn load_tables(
    system: &dyn System,
    session: &mut dyn Session,
    dialect: &dyn SpatialDialect,
    land: &dyn SpatialData,
) -> Result<LoadCost, Failure> {
    for statement in dialect.create_spatial_tables_sql() {
        session.execute(&statement)?;
    }
    let load = insert_all(system, session, dialect, land)?;
    let watch = Stopwatch::start(system);
    for statement in dialect.create_indexes_sql(land.extent()) {
        session.execute(&statement)?;
    }
    Ok(LoadCost { load, index: watch.spent_since_start(system) })
}

/// Tables that have a spatial index.
const INDEXED: f64 = 3.0;

/// Fails unless another session sees every row of the land once, and the indexes.
pub(super) fn check_tables(
    session: &mut dyn Session,
    dialect: &dyn SpatialDialect,
    land: &dyn SpatialData,
) -> Result<(), Failure> {
    for table in LandTable::ALL {
        let (name, rows) = (table.as_str(), land.row_count(table));
        let found = session.query(&format!("SELECT count(*), min(id), max(id) FROM {name}"))?;
        let (count, first, last) = (
            datum_number(found.first().and_then(|row| row.first())).unwrap_or_default(),
            datum_number(found.first().and_then(|row| row.get(1))).unwrap_or_default(),
            datum_number(found.first().and_then(|row| row.get(2))).unwrap_or_default(),
        );
        // The number is the primary key, so as many rows between the first and the last are all of them.
        if count != rows as f64 || (rows > 0 && (first != 1.0 || last != rows as f64)) {
            let cause = format!("`{name}` was to hold the rows 1 to {rows}, and holds {count}, {first} to {last}");
            return untrusted_load(cause);
        }
    }
    let Some(sql) = dialect.indexed_table_count_sql() else { return Ok(()) };
    let found = query_number(session, sql)?;
    if found != INDEXED {
        return untrusted_load(format!("{INDEXED} tables were to have a spatial index, and {found} have one"));
    }
    Ok(())
}

/// Makes the failure of a load that cannot be trusted, as a result.
fn untrusted_load(cause: String) -> Result<(), Failure> {
    Err(Failure::new(FailureKind::Verification, "trust the load of the tables", cause))
}

/// Inserts all rows in one transaction; returns the time without that in which étalon writes the statements.
fn insert_all(
    system: &dyn System,
    session: &mut dyn Session,
    dialect: &dyn SpatialDialect,
    land: &dyn SpatialData,
) -> Result<Spent, Failure> {
    let (begin, commit) = dialect.load_transaction();
    let watch = Stopwatch::start(system);
    let mut elapsed = Duration::ZERO;
    let mut send = |sql: &str| {
        let started = Instant::now();
        let sent = session.execute(sql);
        elapsed += started.elapsed();
        sent
    };
    let mut writing: Result<Duration, String> = Ok(Duration::ZERO);
    send(begin)?;
    for table in LandTable::ALL {
        let mut id = 1;
        while id <= land.row_count(table) {
            let before = host::cpu::thread_cpu();
            let (statement, next) = insert_statement(land, table, id, dialect.geometry_literal());
            let wrote = before.and_then(|before| Ok(host::cpu::thread_cpu()?.saturating_sub(before)));
            writing = writing.and_then(|sum| Ok(sum + wrote?));
            send(&statement)?;
            id = next;
        }
    }
    send(commit)?;
    let cpu_s = match (watch.spent_since_start(system).cpu_s, writing) {
        (Reading::Value(all), Ok(own)) if all > own.as_secs_f64() => Reading::Value(all - own.as_secs_f64()),
        (Reading::Value(_), Ok(_)) => Reading::unavailable("too little to tell from étalon's own work"),
        (Reading::Value(_), Err(reason)) => Reading::unavailable(reason),
        (unavailable, _) => unavailable,
    };
    Ok(Spent { elapsed_s: elapsed.as_secs_f64(), cpu_s })
}

/// Writes one insert statement from a row on; returns it and the number of the first row after it.
fn insert_statement(
    land: &dyn SpatialData,
    table: LandTable,
    first: i64,
    (before, after): (&str, &str),
) -> (String, i64) {
    let mut text = format!("INSERT INTO {} VALUES ", table.as_str());
    let end = land.row_count(table).min(first + ROWS as i64 - 1);
    let mut id = first;
    while id <= end && text.len() < STATEMENT_BYTES {
        if id > first {
            text.push(',');
        }
        // Writing to a `String` cannot fail.
        let _ = write!(text, "({id},");
        if let Some(group) = land.group_number(table, id) {
            let _ = write!(text, "{group},");
        }
        text.push_str(before);
        land.write_geometry(table, id, &mut text);
        text.push_str(after);
        text.push(')');
        id += 1;
    }
    (text, id)
}

#[cfg(test)]
mod tests {
    use super::super::data::{Country, PointSpread};
    use super::*;

    #[test]
    fn every_row_is_in_exactly_one_statement() {
        let country = Country { side: 12, seed: 1, spread: PointSpread::Uniform };
        for table in LandTable::ALL {
            let mut next = 1;
            let mut rows = 0;
            while next <= country.row_count(table) {
                let (text, after) = insert_statement(&country, table, next, ("<", ">"));
                assert!(text.starts_with(&format!("INSERT INTO {} VALUES ({next},", table.as_str())), "{text:.60}");
                assert!(text.len() < STATEMENT_BYTES + 10_000 && after - next <= ROWS as i64);
                rows += text.matches('<').count() as i64;
                next = after;
            }
            assert_eq!(rows, country.row_count(table));
        }
        let (text, _) = insert_statement(&country, LandTable::Point, country.point_count(), ("f('", "')"));
        let p = country.point_at(country.point_count());
        assert_eq!(text, format!("INSERT INTO pt VALUES ({},f('POINT({} {})'))", country.point_count(), p.x, p.y));
    }
}
