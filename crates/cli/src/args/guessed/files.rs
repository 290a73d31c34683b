//! Lines that import other tools' files, so that a verb takes their store.

use std::collections::BTreeMap;
use std::path::Path;

use crate::results::is_store;

/// Two lines to type: the import of other tools' files, and what is done with their store.
pub struct ImportLines {
    /// The words of the import, without the program's name.
    pub import: Vec<String>,
    /// Those of the verb that takes the store.
    pub then: Vec<String>,
}

/// Makes the lines that import files of other tools and give their store to a verb, with options of its own.
pub fn import_lines(verb: &str, files: &[String], options: &[String]) -> ImportLines {
    let store = imported_name(files);
    let words = grouped_files(files).unwrap_or_else(|| files.to_vec());
    let import = ["import".to_owned()].into_iter().chain(words).chain(["-o".to_owned(), store.clone()]);
    let then = [verb.to_owned(), store].into_iter().chain(options.iter().cloned());
    ImportLines { import: import.collect(), then: then.collect() }
}

/// Whether a word is a file that is neither a store nor an SQLite database.
pub fn is_foreign_file(word: &str) -> bool {
    let path = Path::new(word);
    path.is_file() && !is_store(word) && !super::has_sqlite_magic(path)
}

/// Groups files that are told apart by a number at their end, `a1.txt` and `a2.txt`, as runs of one system: `a=a*.txt`.
/// `None` where that does not make at least two systems of several files.
pub fn grouped_files(files: &[String]) -> Option<Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        groups.entry(name_before_number(file)?).or_default().push(file.clone());
    }
    let is_grouped = groups.len() > 1 && groups.values().all(|files| files.len() > 1);
    is_grouped.then(|| groups.iter().flat_map(|(name, files)| label_files(name, files)).collect())
}

/// Gives files the name of one system: a pattern where one names them and no others, else each by itself.
pub fn label_files(name: &str, files: &[String]) -> Vec<String> {
    match common_pattern(files) {
        Some(pattern) => vec![format!("{name}={pattern}")],
        None => files.iter().map(|file| format!("{name}={file}")).collect(),
    }
}

/// The letters at the beginning of a file's name, with a number behind them and nothing between: `a` of `x/a1.txt`.
/// A number behind `-`, `_` or a point may be of clients, and the import itself looks at those.
fn name_before_number(file: &str) -> Option<String> {
    let path = Path::new(file);
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    let name = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_name = name.len() < stem.len() && name.ends_with(char::is_alphabetic) && !file.contains('=');
    (is_name && is_foreign_file(file)).then(|| name.to_owned())
}

/// Finds the pattern `BEGINNING*END` that names these files and no others; `None` for a single file.
fn common_pattern(files: &[String]) -> Option<String> {
    let (first, others) = files.split_first()?;
    let mut start = first.len();
    let mut end = first.len();
    for other in others {
        start = start.min(common_bytes(first.chars().zip(other.chars())));
        end = end.min(common_bytes(first.chars().rev().zip(other.chars().rev())));
    }
    // A pattern that begins with a star could be an option or hidden by a shell.
    let shortest = files.iter().map(String::len).min()?;
    if others.is_empty() || start == 0 || start + end > shortest || first.contains(['*', '?', '[']) {
        return None;
    }
    let pattern = format!("{}*{}", &first[..start], &first[first.len() - end..]);
    let found = glob::glob(&pattern).ok()?.flatten().map(|path| path.display().to_string());
    let mut found: Vec<String> = found.collect();
    let mut asked = files.to_vec();
    found.sort();
    asked.sort();
    (found == asked).then_some(pattern)
}

/// Counts the bytes in which two texts begin alike, by their letters in pairs.
fn common_bytes(pairs: impl Iterator<Item = (char, char)>) -> usize {
    pairs.take_while(|(one, other)| one == other).map(|(letter, _)| letter.len_utf8()).sum()
}

/// Names the store for imported files: `old-vs-new.etalon` for `a/old.txt` and `b/new.txt`, numbered where that is taken.
pub fn imported_name(files: &[String]) -> String {
    let mut names: Vec<String> = Vec::new();
    for file in &grouped_files(files).unwrap_or_else(|| files.to_vec()) {
        let label = file.split_once('=').map(|(label, _)| label.to_owned());
        let label = if Path::new(file).exists() { None } else { label };
        let stem = || Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name: String = label
            .or_else(stem)
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .collect();
        let name = name.trim_matches(['-', '.']).to_owned();
        if !name.is_empty() && !names.contains(&name) && names.len() < 2 {
            names.push(name);
        }
    }
    let name = if names.is_empty() { "imported".to_owned() } else { names.join("-vs-") };
    let numbered = (2..).map(|number| format!("{name}-{number}.{}", store::EXTENSION));
    std::iter::once(format!("{name}.{}", store::EXTENSION))
        .chain(numbered)
        .find(|file| !Path::new(file).exists())
        .unwrap_or_default()
}
