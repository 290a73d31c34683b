//! Whether the tables of others that a load names hold rows: what reads an empty one is fast.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use load::error::{Failure, FailureKind};

use crate::dataset::Dialect;
use crate::session::{Session, SessionKind, datum_text};
use crate::system::System;
use crate::transactions::Program;

/// Prefix of the facts that say whether a table holds rows.
pub const TABLE: &str = "table.";
pub const HOLDS_ROWS: &str = "holds rows";
pub const EMPTY: &str = "is empty";

/// A view may take long to give its first row; then it is not known whether it has one.
const LONGEST: Duration = Duration::from_secs(2);

/// Asks a system for each table or view that programs name whether it holds rows or is empty.
///
/// What [`TABLE`]'s facts say of each table or view that a program names; nothing where the engine does not list its tables. What the
/// login may not read, or the engine does not answer for within [`LONGEST`], is left out; so is all of it through a pooler that keeps no
/// session.
///
/// # Errors
/// The system does not answer.
pub fn which_hold_rows(system: &dyn System, programs: &[&Program]) -> Result<BTreeMap<String, &'static str>, Failure> {
    let mut held = BTreeMap::new();
    let used = used_names(programs);
    if used.is_empty() {
        return Ok(held);
    }
    let Some(contents) = system.dialect().contents_dialect() else { return Ok(held) };
    let mut session = match system.connect_session(SessionKind::OnTablesOfOthers) {
        // A pooler that lends sessions for a transaction.
        Err(failure) if failure.kind == FailureKind::Unsupported => return Ok(held),
        opened => opened?,
    };
    for row in session.query(contents.tables_and_views_sql())? {
        let (schema, table) = (datum_text(row.first()), datum_text(row.get(1)));
        let (in_schema, name) = (bare(&schema), bare(&table));
        // The engine finds the one that is meant by a name alone as it does for the script.
        let written = [(None, table.clone()), (Some(in_schema.clone()), format!("{schema}.{table}"))];
        for (schema, words) in written {
            if !used.contains(&(schema.clone(), name.clone())) {
                continue;
            }
            if let Some(holds) = holds_rows(&mut *session, system.dialect(), &contents.first_row_sql(&words)) {
                let key = schema.map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
                let said = held.entry(key).or_insert(EMPTY);
                *said = if holds { HOLDS_ROWS } else { *said };
            }
        }
    }
    Ok(held)
}

/// Whether a query that may take two seconds gives a row; `None` if it fails or takes longer.
fn holds_rows(session: &mut dyn Session, dialect: &dyn Dialect, sql: &str) -> Option<bool> {
    let (begin, end) = dialect.read_only_wrapper();
    let run = |session: &mut dyn Session, sql: &str| if sql.is_empty() { Ok(()) } else { session.execute(sql) };
    let asked =
        run(session, begin).and_then(|()| session.limit_queries(Some(LONGEST))).and_then(|()| session.query(sql));
    let ended = run(session, end).and_then(|()| session.limit_queries(None));
    let rows = asked.and_then(|rows| ended.map(|()| rows)).ok()?;
    Some(!rows.is_empty())
}

/// Strips a name's quotes, and turns it to lower case.
fn bare(name: &str) -> String {
    name.trim_matches(['"', '`']).to_lowercase()
}

/// A table's name, with its schema where a statement names it.
type UsedName = (Option<String>, String);

/// Collects each word of the programs' statements that may be a table's name, without quotes and in lower case.
fn used_names(programs: &[&Program]) -> BTreeSet<UsedName> {
    let statements = programs.iter().flat_map(|program| program.statements());
    statements.flat_map(|statement| &statement.pieces).flat_map(|piece| names_in(piece)).collect()
}

/// Lists each word of a statement, and the word before its dot as its schema, in lower case.
fn names_in(sql: &str) -> Vec<UsedName> {
    let unquoted = sql.replace(['"', '`'], "").to_lowercase();
    let mut found = Vec::new();
    for dotted in unquoted.split(|letter: char| !letter.is_alphanumeric() && !"_$.".contains(letter)) {
        let mut schema = None;
        for word in dotted.split('.') {
            found.push((schema.replace(word.to_owned()), word.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_their_schemas() {
        let found = names_in("SELECT o.id FROM shop.`Orders` o, plain WHERE x=1");
        for (schema, name) in [(Some("shop"), "orders"), (None, "plain"), (None, "o"), (Some("o"), "id")] {
            assert!(found.contains(&(schema.map(str::to_owned), name.to_owned())), "{found:?}");
        }
        assert!(!found.contains(&(None, "orders".to_owned())), "{found:?}");
        assert_eq!(bare("\"Orders\""), "orders");
    }
}
