//! Files of queries, which other tools take one by one.

use std::path::Path;

use super::address::is_url;
use super::line::{Line, typed_line};

/// Whether a verb asks for the time of each query, so that files `*.sql` are queries and no scripts.
pub fn is_verb_of_queries(verb: &str) -> bool {
    verb == "sql" || verb.contains("query") || verb.contains("queries")
}

/// Moves files `*.sql` from the words to `--queries`: as their folder where they are all that is in it.
pub fn name_queries(line: &mut Line) {
    let files: Vec<String> = line
        .words
        .extract_if(.., |word| crate::ask::words::file_ending(word) == "sql" && !word.contains("://"))
        .collect();
    let Some(first) = files.first() else { return };
    let folder = Path::new(first).parent().filter(|folder| !folder.as_os_str().is_empty());
    let queries = match folder.filter(|folder| is_all_queries_of(folder, &files)) {
        Some(folder) => format!("{}/", folder.display()),
        None => files.join(","),
    };
    line.options.splice(0..0, ["--queries".to_owned(), queries]);
}

/// Says how the queries in a server's statistics are timed, for a line that names a system and no query.
pub fn lines_of_queries(line: &Line) -> Option<String> {
    let [url] = line.words.as_slice() else { return None };
    if !is_url(url) || line.has_option(&["--queries", "--script"]) {
        return None;
    }
    let (write, run) = (typed_line(&["queries", url, "-o", "sql"]), typed_line(&["run", url, "sql/"]));
    Some(format!("type `{write}`, which writes the queries in the server's statistics, then `{run}`, which times each"))
}

/// Whether these files are all queries in a folder.
fn is_all_queries_of(folder: &Path, files: &[String]) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let in_it = entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "sql")).count();
    files.iter().all(|file| Path::new(file).parent() == Some(folder)) && in_it == files.len()
}
