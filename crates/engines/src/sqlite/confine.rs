//! Limits a plan's statements at an agent to the allowed database.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::allowed;

/// Names of `settings.allowed`.
pub(super) static PRAGMAS: LazyLock<Vec<&str>> =
    LazyLock::new(|| allowed::listed_names(include_str!("settings.allowed")));

/// Functions of SQLite itself, as it lists them, and those by which full texts and maps are searched. Others could do anything:
/// `fts3_tokenizer` takes an address to be called, `load_extension` loads a library.
static FUNCTIONS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let searching = ["match", "snippet", "offsets", "matchinfo", "optimize", "highlight", "bm25", "rtreecheck"];
    let mut allowed: BTreeSet<String> = searching.map(str::to_owned).into();
    // Without the list none of SQLite's own is allowed.
    allowed.extend(built_in_functions().unwrap_or_default());
    allowed.remove("load_extension");
    allowed
});

/// Lists the functions that SQLite says are built in.
/// <https://sqlite.org/pragma.html#pragma_function_list>
fn built_in_functions() -> rusqlite::Result<Vec<String>> {
    let connection = Connection::open_in_memory()?;
    let mut names = connection.prepare("SELECT DISTINCT lower(name) FROM pragma_function_list WHERE builtin = 1")?;
    names.query_map([], |row| row.get(0))?.collect()
}

/// Has a connection refuse statements that leave the database, when they are prepared.
/// See <https://sqlite.org/c3ref/set_authorizer.html>.
/// `VACUUM INTO` attaches its file, a plain `VACUUM` a nameless temporary one. Extensions are off already.
pub(super) fn confine(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.authorizer(Some(authorize))
}

/// Lifts the confinement of a connection for étalon's own statement; no statement of a plan may follow on it.
pub(super) fn lift_confinement(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
}

/// Whether a statement may do this: no other file, no unlisted pragma or function.
fn authorize(context: AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        AuthAction::Attach { filename } => filename.is_empty(),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let is_read = pragma_value.is_none() && is_among(super::facts::PRAGMAS, pragma_name);
            is_read || is_among(&PRAGMAS, pragma_name)
        }
        AuthAction::Function { function_name } => {
            let name = function_name.to_ascii_lowercase();
            // `ALTER TABLE` calls functions of this name, which no statement may.
            name.starts_with("sqlite_") || FUNCTIONS.contains(&name)
        }
        // A file name by expression, or an unknown action.
        AuthAction::Unknown { .. } => false,
        _ => true,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn is_among(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_at_an_agent_too() {
        let mut connection = Connection::open_in_memory().unwrap();
        confine(&mut connection).unwrap();
        for name in super::super::facts::PRAGMAS {
            connection.execute_batch(&format!("PRAGMA {name}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn no_statement_leads_out_of_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own.db"), folder.path().join("other.db"));
        let mut connection = Connection::open(&own).unwrap();
        connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
        confine(&mut connection).unwrap();
        let shown = other.display();
        for sql in [
            format!("ATTACH '{shown}' AS x"),
            format!("ATTACH DATABASE '{shown}' AS x"),
            format!("ATTACH 'file:{shown}' AS x"),
            format!("ATTACH '{shown}' || '' AS x"),
            "ATTACH ':memory:' AS x".to_owned(),
            format!("VACUUM INTO '{shown}'"),
            format!("VACUUM main INTO '{shown}'"),
            format!("VACUUM INTO '{shown}' || ''"),
            format!("PRAGMA temp_store_directory = '{}'", folder.path().display()),
            "PRAGMA writable_schema = ON".to_owned(),
            // With a journal that stays, its end would be the plan's, and may name another journal.
            "PRAGMA journal_size_limit = 100".to_owned(),
            "PRAGMA journal_size_limit(100)".to_owned(),
            "PRAGMA key = 'x'".to_owned(),
            format!("PRAGMA cipher_log = '{shown}'"),
            format!("SELECT load_extension('{shown}')"),
            // Their arguments may come from a script's variables, for which SQLite's own switch does not hold.
            "SELECT fts3_tokenizer('simple')".to_owned(),
            "SELECT FTS3_Tokenizer('x', a) FROM t".to_owned(),
            // A trigger's statements are checked with the firing one.
            format!(
                "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT load_extension('{shown}'); END; INSERT INTO t VALUES (2)"
            ),
        ] {
            let refused = connection.execute_batch(&sql).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.contains("authoriz"), "{sql}: {refused}");
        }
        assert!(!other.exists());
        connection.execute_batch("DROP TRIGGER x").unwrap();
        for sql in [
            "VACUUM",
            "PRAGMA journal_mode = WAL",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "CREATE TABLE u AS SELECT a, upper('x') FROM t; CREATE INDEX i ON u (a); ANALYZE",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) INSERT INTO t SELECT i FROM n",
            "CREATE VIEW v AS SELECT * FROM t; CREATE TEMP TABLE w AS SELECT * FROM v; DROP TABLE u; REINDEX",
            "CREATE VIRTUAL TABLE f USING fts5 (x); INSERT INTO f VALUES ('a b'); SELECT highlight(f, 0, '<', '>'), bm25(f) FROM f ('a')",
            "CREATE VIRTUAL TABLE g USING fts4 (x); INSERT INTO g VALUES ('a'); SELECT snippet(g), offsets(g) FROM g WHERE x MATCH 'a'",
            "SELECT json_extract('{\"a\": 1}', '$.a'), abs(-1), strftime('%Y', 'now'), group_concat(a), sum(a) OVER (), hex(randomblob(4)) FROM t",
            "SAVEPOINT s; UPDATE t SET a = 2; RELEASE s; ALTER TABLE t RENAME TO r; DELETE FROM r",
        ] {
            connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        assert!(connection.query_row(pages, [], |row| row.get::<_, i64>(0)).unwrap() > 0);
        lift_confinement(&mut connection).unwrap();
        connection.execute("VACUUM INTO ?1", [other.to_string_lossy()]).unwrap();
        assert!(other.exists());
    }
}
