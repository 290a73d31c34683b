//! Expected outputs, one file each: a change fails with its difference and with the command that accepts it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use similar::TextDiff;

/// Set to anything, it rewrites the files.
const BLESS: &str = "ETALON_BLESS";
/// A change shows so many lines; `git diff` shows the rest once it is blessed.
const MOST_LINES: usize = 80;

/// A folder of expected outputs.
pub struct Golden {
    pub folder: PathBuf,
    /// The command that runs the tests which check this folder.
    pub command: &'static str,
}

impl Golden {
    /// Compares outputs with the files of their names, or writes these files when blessing.
    pub fn check(&self, outputs: &[(String, String)]) {
        let mut changed = Vec::new();
        for (name, output) in outputs {
            let path = self.folder.join(name);
            if std::env::var_os(BLESS).is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, output).unwrap();
            }
            // Git may have changed the ends of lines.
            let expected = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
            if expected != *output {
                changed.push((name, difference(&expected, output)));
            }
        }
        let lines: Vec<String> = changed
            .iter()
            .flat_map(|(name, diff)| {
                format!("{name} has changed:\n{diff}").lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let shown = lines[..lines.len().min(MOST_LINES)].join("\n");
        let more = lines.len().saturating_sub(MOST_LINES);
        assert!(
            changed.is_empty(),
            "{} of {} outputs in {} have changed.\n{shown}\n… and {more} more lines\nIf that is right: `{BLESS}=1 {}`, then read `git diff`",
            changed.len(),
            outputs.len(),
            self.folder.display(),
            self.command
        );
    }

    /// Fails on files that no output has, or deletes them when blessing. `is_known` takes a file's name.
    pub fn check_names(&self, is_known: impl Fn(&str) -> bool) {
        let entries = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names: BTreeSet<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        let unknown: Vec<&String> = names.iter().filter(|name| !is_known(name)).collect();
        if std::env::var_os(BLESS).is_some() {
            unknown.iter().for_each(|name| std::fs::remove_file(self.folder.join(name)).unwrap());
        } else {
            assert!(
                unknown.is_empty(),
                "no output has these names; `{BLESS}=1 {}` deletes them: {unknown:?}",
                self.command
            );
        }
    }
}

/// The changed lines with two lines around each.
fn difference(expected: &str, output: &str) -> String {
    TextDiff::from_lines(expected, output).unified_diff().context_radius(2).header("expected", "printed").to_string()
}
