//! Tables and views that others put into a database file of étalon's: the file is then not étalon's alone, and stays.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::owner::MARKER_TABLE;

/// SpatiaLite's table of coordinate systems. It makes others next to it, named after it, when it first needs them.
const COORDINATE_SYSTEMS: &str = "spatial_ref_sys";

/// Writes into the marker table the names of what étalon is about to make.
pub(super) fn note_names(connection: &Connection, names: &BTreeSet<String>) -> rusqlite::Result<()> {
    connection
        .execute_batch(&format!("CREATE TABLE IF NOT EXISTS {MARKER_TABLE} (name TEXT PRIMARY KEY) WITHOUT ROWID"))?;
    let mut insert = connection.prepare(&format!("INSERT OR IGNORE INTO {MARKER_TABLE} VALUES (?)"))?;
    names.iter().try_for_each(|name| insert.execute([name]).map(|_| ()))
}

/// Writes everything that is there into the marker table, such as an extension's tables that étalon has just had made.
pub(super) fn note_all(connection: &Connection) -> rusqlite::Result<()> {
    note_names(connection, &BTreeSet::new())?;
    connection.execute_batch(&format!("INSERT OR IGNORE INTO {MARKER_TABLE} SELECT name FROM sqlite_schema"))
}

/// Lists the tables and views of a file that étalon did not note; none if the file cannot be read.
/// Such a file is half of one that étalon made, or encrypted by a key that only étalon had.
pub(super) fn foreign_things(path: &Path) -> Vec<String> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW)
        .and_then(|connection| find_foreign(&connection))
        .unwrap_or_default()
}

/// Lists the tables and views that étalon did not note, by their kind and name.
fn find_foreign(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let found = format!(
        "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> \
         '{MARKER_TABLE}' ORDER BY name"
    );
    let found = query_pairs(connection, &found)?;
    let spatial = "SELECT name, name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING rtree%'";
    let spatial = query_pairs(connection, spatial)?;
    let is_marked = connection.query_row(
        &format!("SELECT count(*) FROM sqlite_schema WHERE name = '{MARKER_TABLE}'"),
        [],
        |row| row.get::<_, i64>(0),
    )?;
    let own = format!("SELECT name, name FROM {MARKER_TABLE}");
    let own = if is_marked == 0 { Vec::new() } else { query_pairs(connection, &own)? };
    let strangers = found.into_iter().filter(|(_, name)| {
        // A spatial index is a virtual table, named after the one that it is of, and a few that are named after it.
        let index =
            spatial.iter().map(|(index, _)| index.as_str()).find(|index| name == index || has_name_prefix(name, index));
        let indexed = index.and_then(|index| index.strip_prefix("idx_"));
        !own.iter().any(|(known, _)| {
            name.eq_ignore_ascii_case(known)
                || indexed.is_some_and(|table| has_name_prefix(table, known))
                || (known == COORDINATE_SYSTEMS && has_name_prefix(name, known))
        })
    });
    Ok(strangers.map(|(kind, name)| format!("{kind} {name}")).collect())
}

/// Whether a name is another one with `_` and more behind it.
fn has_name_prefix(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.starts_with('_'))
}

/// Runs a query for rows of two texts.
fn query_pairs(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<(String, String)>> {
    connection.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_named_as_a_spatial_index_is_somebodys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE cell (id INTEGER PRIMARY KEY)").unwrap();
        note_names(&connection, &["cell".to_owned()].into()).unwrap();
        connection
            .execute_batch("CREATE VIRTUAL TABLE idx_cell_geom USING rtree(pkid, xmin, xmax, ymin, ymax)")
            .unwrap();
        assert_eq!(foreign_things(&path), Vec::<String>::new(), "the index is of étalon's table");
        connection.execute_batch("CREATE TABLE idx_cell_notes (note TEXT)").unwrap();
        assert_eq!(foreign_things(&path), ["table idx_cell_notes"]);
    }
}
