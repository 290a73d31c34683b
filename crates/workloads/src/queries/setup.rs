//! The user's own statements that make the tables of queries, where étalon brings none and the server has none.

use std::sync::Arc;

use indexmap::IndexMap;
use load::error::Failure;
use sha2::{Digest as _, Sha256};

use super::source::{query_and_engine, refuse_queries, text_for_engine};
use crate::dataset::{Dataset, Dialect, EngineStatements};
use crate::texts::Texts;
use crate::transactions::split_message;

/// Texts of a file by the engine that they are for; the empty name is for all others.
type TextsByEngine = IndexMap<String, String>;

/// Makes the data set of a folder of statements, or of a list of files; each file may have one of an engine's own:
/// `tables.mysql.sql` in place of `tables.sql`.
///
/// # Errors
/// A file cannot be read, or there are none.
pub fn setup_dataset(setup: &str, texts: &Texts) -> Result<Dataset, Failure> {
    let mut files: IndexMap<String, TextsByEngine> = IndexMap::new();
    let mut hash = Sha256::new();
    for listed in setup.split(',').map(str::trim).filter(|listed| !listed.is_empty()) {
        for path in texts.list_query_files(listed).map_err(|error| refuse_queries(listed, &error))? {
            let text = texts.read_script(&path).map_err(|error| refuse_queries(&path, &error))?;
            let (name, engine) = query_and_engine(&path, "");
            hash.update(format!("{name} {engine} {} ", text.len()));
            hash.update(&text);
            if files.entry(name.clone()).or_default().insert(engine, text).is_some() {
                return Err(refuse_queries(&path, &format!("another file of `{setup}` is called `{name}`, too")));
            }
        }
    }
    if files.is_empty() {
        return Err(refuse_queries(setup, &"it has no file `*.sql`"));
    }
    let identity: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let made = EngineStatements {
        made: format!("the tables of `{setup}`"),
        are_of_user: true,
        without: (
            format!("text of its own in `{setup}`, and one file there is for other engines alone"),
            "write what it needs: `tables.sql` is for all engines, `tables.mysql.sql` for MySQL",
        ),
        texts: Arc::new(move |dialect: &dyn Dialect| statements_for(&files, dialect)),
    };
    Ok(Dataset { name: format!("setup {identity}"), engine_statements: Some(made), ..Dataset::default() })
}

/// Gives the statements of all files in an engine's words, in the order of the files; `None` if one has no text for it.
fn statements_for(files: &IndexMap<String, TextsByEngine>, dialect: &dyn Dialect) -> Option<Vec<String>> {
    let mut statements = Vec::new();
    for texts in files.values() {
        let text = text_for_engine(texts, dialect)?;
        statements.extend(split_message(text, dialect).into_iter().map(|part| part.sql));
    }
    Some(statements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::source::AsWritten;

    #[test]
    fn setup_is_read_in_order_with_texts_of_engines() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("2-rows.sql", "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (';')");
        write("10-last.sql", "CREATE INDEX i ON t (x);");
        write("1-tables.sql", "CREATE TABLE t (x text);");
        write("1-tables.sqlserver.sql", "CREATE TABLE t (x varchar(9));");
        let path = folder.path().to_str().unwrap();
        let data = setup_dataset(path, &Texts::Files).unwrap();
        let expected = [
            "CREATE TABLE t (x text)",
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t VALUES (';')",
            "CREATE INDEX i ON t (x)",
        ];
        assert_eq!(data.last_statements(&AsWritten), expected);
        assert!(data.has_tables());
        write("1-tables.sql", "CREATE TABLE t (x integer);");
        assert_ne!(setup_dataset(path, &Texts::Files).unwrap().name, data.name);
        std::fs::remove_file(folder.path().join("1-tables.sql")).unwrap();
        let made = setup_dataset(path, &Texts::Files).unwrap().engine_statements.unwrap();
        assert_eq!((made.texts)(&AsWritten), None);
    }
}
