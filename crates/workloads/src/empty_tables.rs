//! Whether the tables of others that a load names hold rows: what reads an empty one is fast.

use std::collections::BTreeMap;

use load::error::Failure;

use crate::dataset::ContentsDialect;
use crate::session::{Session, SessionKind, text};
use crate::system::System;
use crate::transactions::Program;

/// Prefix of the facts that say whether a table holds rows.
pub const TABLE: &str = "table.";
pub const HOLDS_ROWS: &str = "holds rows";
pub const EMPTY: &str = "is empty";

/// What [`TABLE`]'s facts say of each table that a program names; nothing where the engine does not list its tables. A table that the
/// login may not read is left out.
///
/// # Errors
/// The system does not answer.
pub fn which_hold_rows(system: &dyn System, programs: &[&Program]) -> Result<BTreeMap<String, &'static str>, Failure> {
    let mut held = BTreeMap::new();
    if programs.is_empty() {
        return Ok(held);
    }
    let Some(dialect) = system.dialect().contents() else { return Ok(held) };
    let mut session = system.session(SessionKind::OnTablesOfOthers)?;
    let mut tables: Vec<String> = session.query(dialect.columns())?.iter().map(|row| text(row.first())).collect();
    tables.dedup();
    for table in tables {
        let name = bare(&table);
        if !programs.iter().any(|program| names(program, &name)) {
            continue;
        }
        if let Some(holds) = holds_rows(&mut *session, dialect, &table) {
            // Where several schemas have a table of that name, one with rows may be the one that is meant.
            let said = held.entry(name).or_insert(EMPTY);
            *said = if holds { HOLDS_ROWS } else { *said };
        }
    }
    Ok(held)
}

fn holds_rows(session: &mut dyn Session, dialect: &dyn ContentsDialect, table: &str) -> Option<bool> {
    let rows = session.query(&dialect.first_row(table)).ok()?;
    Some(!rows.is_empty())
}

/// A table's name without its schema and its quotes.
fn bare(table: &str) -> String {
    let quote = ['"', '`'];
    let name = match table.strip_suffix(quote) {
        Some(quoted) => quoted.rsplit(quote).next().unwrap_or(quoted),
        None => table.rsplit('.').next().unwrap_or(table),
    };
    name.to_lowercase()
}

fn names(program: &Program, table: &str) -> bool {
    let pieces = program.statements().iter().flat_map(|statement| &statement.pieces);
    pieces.into_iter().any(|piece| {
        let mut words = piece.split(|letter: char| !letter.is_alphanumeric() && !"_$".contains(letter));
        words.any(|word| word.to_lowercase() == table)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_schema_and_quotes() {
        for (table, name) in [
            ("public.orders", "orders"),
            ("public.\"Orders\"", "orders"),
            ("\"My s\".\"a.b\"", "a.b"),
            ("`orders`", "orders"),
            ("\"orders\"", "orders"),
        ] {
            assert_eq!(bare(table), name);
        }
    }
}
