//! How a change of a server is undone, where that follows from the change.

use super::line::Line;

/// The name that an index without one is given, so that it can be dropped.
const INDEX: &str = "etalon_index";

/// Words that statements which change a server begin with.
const BEGINNINGS: [&str; 7] = ["create", "drop", "alter", "set", "analyze", "reindex", "vacuum"];

/// Whether a word is a statement that changes a server.
fn is_change(word: &str) -> bool {
    let first = word.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    word.contains(' ') && BEGINNINGS.contains(&first.as_str())
}

impl Line {
    /// Moves statements from the words to `--change` and `--undo`; without any, puts words in their place.
    pub fn take_change(&mut self) {
        let mut statements = self.words.extract_if(.., |word| is_change(word)).collect::<Vec<_>>().into_iter();
        if !self.has_option(&["--change", "--set-a", "--set-b"]) {
            let change = statements.next().unwrap_or_else(|| "SQL of the change".to_owned());
            self.options.extend(["--change".to_owned(), change]);
        }
        if let Some(undo) = statements.next() {
            self.options.extend(["--undo".to_owned(), undo]);
        }
        self.add_undo();
    }

    /// Adds the statement that undoes `--change`, where it follows from the change, else a word in its place.
    pub fn add_undo(&mut self) {
        if self.has_option(&["--undo"]) {
            return;
        }
        let names_table = self.words.iter().any(|word| word.starts_with("mysql") || word.starts_with("mariadb"));
        let Some(change) = self.value_mut("--change") else { return };
        let undo = match undo_of(change, names_table) {
            Some(undoable) => {
                *change = undoable.change;
                undoable.undo
            }
            None => "SQL that undoes it".to_owned(),
        };
        self.add_option("--undo", undo);
        self.add_note("`--undo` is the statement that undoes the change: look at it before you type the line");
    }
}

/// A change with the statement that undoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoable {
    /// The change, in which an index has a name.
    pub change: String,
    pub undo: String,
}

/// Finds how to undo `CREATE INDEX`, which is given a name if it has none; `None` for any other statement.
/// `names_table` is for servers that drop an index of a table.
pub fn undo_of(change: &str, names_table: bool) -> Option<Undoable> {
    let words: Vec<&str> = change.trim().trim_end_matches(';').split_whitespace().collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let at = match lower.as_slice() {
        ["create", "index", ..] => 2,
        ["create", "unique", "index", ..] => 3,
        _ => return None,
    };
    let at = at + usize::from(lower.get(at) == Some(&"concurrently"));
    let at = if lower.get(at) == Some(&"if") { at + 3 } else { at };
    let mut named = words;
    if lower.get(at) == Some(&"on") {
        named.insert(at, INDEX);
    }
    let name = *named.get(at)?;
    let table = named.get(at + 2)?.split('(').next()?;
    let undo = if names_table { format!("drop index {name} on {table}") } else { format!("drop index {name}") };
    Some(Undoable { change: named.join(" "), undo })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undoable(change: &str, undo: &str) -> Option<Undoable> {
        Some(Undoable { change: change.to_owned(), undo: undo.to_owned() })
    }

    #[test]
    fn an_index_is_undone_by_its_name() {
        assert_eq!(
            undo_of("create index on t(a)", false),
            undoable("create index etalon_index on t(a)", "drop index etalon_index")
        );
        assert_eq!(
            undo_of("CREATE UNIQUE INDEX i ON t (a);", true),
            undoable("CREATE UNIQUE INDEX i ON t (a)", "drop index i on t")
        );
        assert_eq!(
            undo_of("CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON t (a)", false).map(|found| found.undo),
            Some("drop index i".to_owned())
        );
        assert_eq!(undo_of("alter table t add b int", false), None);
        assert_eq!(undo_of("create index", false), None);
    }
}
