//! The scripts of sysbench, and étalon's that come nearest.

use super::line::Line;

/// Commands of sysbench: étalon makes its tables, runs and removes them in one.
const COMMANDS: [&str; 4] = ["prepare", "prewarm", "run", "cleanup"];

/// Scripts of sysbench by how their names begin, with étalon's.
const SCRIPTS: [(&str, &str); 4] = [
    ("oltp_read_write", "tpcb-like"),
    ("oltp_point_select", "select-only"),
    ("oltp_read_only", "select-only"),
    ("select_random", "select-only"),
];

/// Whether a word is a test of sysbench that is not one of databases, as `cpu` or `--test=fileio`.
pub fn is_test_of_machine(word: &str) -> bool {
    let name = word.strip_prefix("--test=").unwrap_or(word);
    ["cpu", "memory", "threads", "mutex", "fileio"].contains(&name)
}

/// Replaces a script of sysbench among the words by étalon's, and leaves out what sysbench is to do; returns what to know.
pub fn replace_script(rest: &[String]) -> (Vec<String>, String) {
    let (mut words, mut about) = (Vec::new(), String::new());
    for word in rest.iter().filter(|word| !COMMANDS.contains(&word.as_str())) {
        let name = word.strip_suffix(".lua").unwrap_or(word);
        let nearest = match SCRIPTS.iter().find(|(begins, _)| name.starts_with(begins)) {
            Some((_, nearest)) => nearest,
            // Inserts, deletes and updates.
            None if name.starts_with("oltp_") => "simple-update",
            None => {
                words.push(word.clone());
                continue;
            }
        };
        about =
            format!("`{name}` is sysbench's: `{nearest}` is the nearest of étalon's scripts, and does not do the same");
        words.extend(["--script".to_owned(), nearest.to_owned()]);
    }
    (words, about)
}

impl Line {
    /// Renames `--threads` to `--clients` in a line of another tool's words that has no clients, since those are its threads.
    pub(super) fn take_threads_as_clients(&mut self) {
        if !self.strange.is_empty() {
            self.rename_threads();
        }
    }

    /// Renames `--threads` to `--clients`, unless the line has clients.
    pub fn rename_threads(&mut self) {
        if self.has_option(&["-c", "--clients"]) {
            return;
        }
        if let Some(threads) = self.options.iter_mut().find(|option| *option == "--threads") {
            "--clients".clone_into(threads);
            self.add_note(
                "the threads of sysbench are `--clients` here, each with a connection; `--threads` are those of étalon itself",
            );
        }
    }
}
