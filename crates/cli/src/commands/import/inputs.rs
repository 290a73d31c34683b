//! What the arguments of `etalon import` name: files, folders, archives, standard input.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use formats::{is_number_of_run, packed};

use crate::args::ImportArgs;
use crate::error::CliError;
use crate::output::STDOUT;

/// Folders within folders that are looked into.
const MOST_DEPTH: usize = 16;
/// Most files of all folders.
const MOST_FILES: usize = 100_000;

/// An argument.
pub struct Input {
    pub system: String,
    pub path: PathBuf,
    pub named_by: NamedBy,
    pub kind: Kind,
    /// The folders below the first part of a pattern that its user gave a name; `None` of what is no such pattern.
    pub folders: Option<Vec<String>>,
}

/// What named an input's system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    User,
    File,
    /// The folder or the archive that holds it.
    Folder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    /// ZIP, or tar, which may be packed.
    Archive,
    Stdin,
}

/// Lists the inputs that the arguments name, each with its system; expands patterns.
pub fn read_arguments(args: &ImportArgs) -> Result<Vec<Input>, CliError> {
    let mut inputs = Vec::new();
    for text in &args.files {
        let (system, path) = match text.split_once('=') {
            Some(("", _)) if !Path::new(text).exists() => {
                return Err(CliError::user_error(format!("`{text}` names no system")).with_hint("write SYSTEM=FILE"));
            }
            Some((system, path)) if !Path::new(text).exists() => (Some(system), path),
            _ => (None, text.as_str()),
        };
        let fixed = if system.is_some() { fixed_parts(path) } else { None };
        inputs.extend(matching_files(path)?.into_iter().map(|path| {
            let below = fixed.map(|fixed| folder_names(&path).split_off(fixed));
            Input { folders: below, ..input_at_path(path, system) }
        }));
    }
    name_by_folders(&mut inputs);
    Ok(inputs)
}

/// Lists the files that a pattern names, sorted as people count; a path that exists is no pattern.
/// Shells expand no `SYSTEM=*.json`, and that of Windows no pattern at all.
fn matching_files(path: &str) -> Result<Vec<PathBuf>, CliError> {
    if fixed_parts(path).is_none() {
        return Ok(vec![PathBuf::from(path)]);
    }
    let unreadable = |cause: String| CliError::user_error(format!("`{path}`: {cause}"));
    let found = glob::glob(path).map_err(|error| unreadable(error.to_string()))?;
    let mut found: Vec<PathBuf> = found.collect::<Result<_, _>>().map_err(|error| unreadable(error.to_string()))?;
    if found.is_empty() {
        return Err(unreadable("no file has such a name".to_owned()));
    }
    sort_as_counted(&mut found);
    Ok(found)
}

/// Counts the folders before the first part of a pattern that has a wildcard; `None` if it is a path.
fn fixed_parts(pattern: &str) -> Option<usize> {
    let pattern = Path::new(pattern);
    let mut parts = pattern.components().map(|part| part.as_os_str().to_string_lossy());
    if pattern.exists() { None } else { parts.position(|part| part.contains(['*', '?', '['])) }
}

/// Makes the input for a path: standard input, a folder, an archive or a file, with its system's name.
fn input_at_path(path: PathBuf, system: Option<&str>) -> Input {
    let kind = match () {
        () if path.as_os_str() == STDOUT => Kind::Stdin,
        () if path.is_dir() => Kind::Folder,
        () if is_archive(&path) => Kind::Archive,
        () => Kind::File,
    };
    let named_by = if system.is_some() { NamedBy::User } else { NamedBy::File };
    let system = match (system, kind) {
        (Some(system), _) => system.to_owned(),
        (None, Kind::Stdin) => "stdin".to_owned(),
        (None, Kind::Folder) => folder_name(&path),
        (None, Kind::File | Kind::Archive) => file_stem(&path),
    };
    Input { system, path, named_by, kind, folders: None }
}

/// Whether a file is an archive, by its contents.
pub fn is_archive(path: &Path) -> bool {
    path.is_file() && std::fs::File::open(path).is_ok_and(packed::is_archive)
}

/// The name of a folder, also that of `.`.
fn folder_name(path: &Path) -> String {
    let name = path.file_name().map(OsStr::to_owned);
    let name = name.or_else(|| path.canonicalize().ok()?.file_name().map(OsStr::to_owned));
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The file's name without the ending of its format and its packing.
pub fn file_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let bare = [".gz", ".zst", ".tgz"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let bare = bare.strip_suffix(".tar").unwrap_or(bare);
    let stem = Path::new(bare).file_stem().unwrap_or(OsStr::new(bare));
    stem.to_string_lossy().into_owned()
}

/// Names systems of files of one name after the folders in which their paths differ.
/// `a/pgbench.log` and `b/pgbench.log` are of `a` and `b`.
pub fn name_by_folders(inputs: &mut [Input]) {
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, input) in inputs.iter().enumerate().filter(|(_, input)| input.named_by == NamedBy::File) {
        alike.entry(input.system.clone()).or_default().push(at);
    }
    for (name, places) in alike {
        let paths: Vec<Vec<String>> = places.iter().map(|at| folder_names(&inputs[*at].path)).collect();
        let deepest = paths.iter().map(Vec::len).max().unwrap_or(0);
        let differs = |at: &usize| paths.iter().any(|path| path.get(*at) != paths[0].get(*at));
        let counts_runs = |at: &usize| paths.iter().filter_map(|path| path.get(*at)).all(|part| is_number_of_run(part));
        let differing: Vec<usize> = (0..deepest).filter(differs).filter(|at| !counts_runs(at)).collect();
        if differing.is_empty() {
            continue;
        }
        for (at, path) in places.into_iter().zip(&paths) {
            let parts: Vec<&str> = differing.iter().filter_map(|at| path.get(*at)).map(String::as_str).collect();
            inputs[at].system = if parts.is_empty() { name.clone() } else { parts.join("/") };
        }
    }
}

/// Lists the names of the folders above a file.
fn folder_names(path: &Path) -> Vec<String> {
    let parts = path.parent().into_iter().flat_map(Path::components);
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

/// Lists all files below a folder, sorted as people count: `8.log` before `16.log`; hidden ones and links are left out.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    walk_folder(folder, MOST_DEPTH, &mut found)?;
    sort_as_counted(&mut found);
    Ok(found)
}

/// Sorts paths as people count, `8.log` before `16.log`.
fn sort_as_counted(paths: &mut [PathBuf]) {
    paths.sort_by_cached_key(|path| (counted_key(&path.to_string_lossy()), path.clone()));
}

/// Splits a name around each number, so that names compare by the numbers in them.
fn counted_key(name: &str) -> Vec<(String, Option<u64>)> {
    let mut parts: Vec<(String, Option<u64>)> = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (text, behind) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let (digits, next) = behind.split_at(behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len()));
        parts.push((text.to_owned(), digits.parse().ok()));
        rest = next;
    }
    parts
}

/// Adds the files in a folder, and below it to a depth, to those found; hidden ones are left out.
fn walk_folder(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let unreadable = |error: std::io::Error| super::unreadable(folder, &error);
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_file() && !is_hidden {
            found.push(entry.path());
        } else if kind.is_dir() && !is_hidden && depth > 0 {
            walk_folder(&entry.path(), depth - 1, found)?;
        }
        if found.len() > MOST_FILES {
            let what = format!("{} holds more than {MOST_FILES} files", folder.display());
            return Err(CliError::user_error(what).with_hint("name the folders with results"));
        }
    }
    Ok(())
}

/// Finds for each file below one folder or archive its system, and the folders below the one that names it.
/// Where it is all that is imported, folders within it distinguish systems; else it is one system.
pub fn systems_below(whole: &str, paths: &[PathBuf], is_alone: bool) -> Vec<(String, Vec<String>)> {
    let parts: Vec<Vec<String>> = paths.iter().map(|path| folder_names(path)).collect();
    // An archive has a folder of its own name at its root.
    let depth = (0..)
        .take_while(|at| {
            !parts.is_empty() && parts.iter().all(|path| path.get(*at).is_some() && path.get(*at) == parts[0].get(*at))
        })
        .count();
    // Plain numbers count runs where folders in them may be systems.
    let is_count = |part: &String| part.bytes().all(|byte| byte.is_ascii_digit());
    let count_runs = parts.iter().all(|path| path.get(depth).is_some_and(|part| is_number_of_run(part)))
        || parts.iter().all(|path| path.len() > depth + 1 && is_count(&path[depth]));
    let are_same = parts.iter().all(|path| path.len() == depth);
    let system_and_rest = parts.into_iter().map(|mut path| {
        let mut rest = if are_same { path.clone() } else { path.split_off(depth) };
        let is_system = is_alone && !count_runs && !are_same && !rest.is_empty();
        let system = if is_system { rest.remove(0) } else { whole.to_owned() };
        (system, rest)
    });
    system_and_rest.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        let mut inputs: Vec<Input> = paths.iter().map(|path| input_at_path(PathBuf::from(path), None)).collect();
        name_by_folders(&mut inputs);
        inputs.into_iter().map(|input| input.system).collect()
    }

    #[test]
    fn files_are_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["8-2.log", "16-1.log", "8-10.log", "008-2.log", "b", "a16/1"];
        std::fs::create_dir(folder.path().join("a16")).unwrap();
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let found = files_below(folder.path()).unwrap();
        let found: Vec<&Path> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(found, ["008-2.log", "8-2.log", "8-10.log", "16-1.log", "a16/1", "b"].map(Path::new));
    }

    #[test]
    fn a_pattern_is_the_files_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        ["8.log", "16.log", "x.txt"].iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let text = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let found = matching_files(&text("*.log")).unwrap();
        assert_eq!(found, ["8.log", "16.log"].map(|name| folder.path().join(name)));
        assert!(matching_files(&text("*.json")).unwrap_err().message.contains("no file has such a name"));
        std::fs::write(folder.path().join("[1].log"), "").unwrap();
        assert_eq!(
            matching_files(&text("[1].log")).unwrap(),
            [folder.path().join("[1].log")],
            "a name of a file is itself"
        );
        assert_eq!(
            matching_files("none.log").unwrap(),
            [PathBuf::from("none.log")],
            "the reader says what is wrong with it"
        );
    }

    #[test]
    fn files_of_one_name_are_named_after_their_folders() {
        assert_eq!(names(&["a/pgbench.log", "b/pgbench.log"]), ["a", "b"]);
        assert_eq!(names(&["r/a/1/p.log", "r/b/1/p.log", "r/b/2/p.log"]), ["a/1", "b/1", "b/2"]);
        assert_eq!(names(&["p.log", "b/p.log"]), ["p", "b"]);
        assert_eq!(names(&["a/x.log", "b/y.log.gz"]), ["x", "y"]);
        assert_eq!(names(&["a/x.log", "a/x.log"]), ["x", "x"]);
        assert_eq!(names(&["run1/15.log", "run1/16.log", "run2/15.log", "run2/16.log"]), ["15", "16", "15", "16"]);
    }

    #[test]
    fn folders_below_a_lone_folder_are_systems() {
        let both = ["r/old/1.txt", "r/old/x/2.txt", "r/new/1.txt"];
        assert_eq!(below(&both, true), ["old", "old x", "new"]);
        assert_eq!(below(&both, false), ["z old", "z old x", "z new"]);
        assert_eq!(below(&["1.txt", "2.txt"], true), ["z", "z"]);
        assert_eq!(below(&["r/1.txt", "r/2.txt"], false), ["z r", "z r"]);
        assert!(below(&[], true).is_empty());
        assert_eq!(below(&["run1/a.txt", "run2/a.txt"], true), ["z run1", "z run2"]);
    }

    /// Each file's system, and the folders below it.
    fn below(names: &[&str], is_alone: bool) -> Vec<String> {
        let found = systems_below("z", &paths(names), is_alone).into_iter();
        found.map(|(system, folders)| [vec![system], folders].concat().join(" ")).collect()
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect::<Vec<_>>()
    }
}
