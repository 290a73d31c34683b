//! Files of folders: their names, and the folders in between, tell results of one case apart, unless they only count runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use formats::{Counting, Imported, ImportedResult, without_numbers_of_runs};
use model::Value;

use super::inputs::file_stem;

/// The key of results that files of other names hold, too.
const FILE: &str = "file";
/// The key of results that stand in other folders below that of their system, too.
const FOLDER: &str = "folder";
/// Names in a remark.
const SHOWN: usize = 3;

/// Where results come from.
pub struct Place {
    pub system: String,
    /// The folders between the one that names the system and the file.
    pub folders: Vec<String>,
    /// The file's name without its ending.
    pub name: String,
    /// True if the user named the system.
    pub is_named: bool,
}

/// What folders and the file's name say of results, without numbers of runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    folder: String,
    file: String,
}

/// The results of each source.
type BySource<'i> = BTreeMap<&'i str, Vec<&'i ImportedResult>>;

/// The labels by source.
type Labels = BTreeMap<String, Label>;

/// Distinguishes results of one case and system by their folders and files: as systems or by a key; returns remarks on it.
pub fn tell_files_apart(imports: &mut [Imported], places: &BTreeMap<String, Place>, is_alone: bool) -> Vec<String> {
    let labels = labels_by_source(imports, places);
    let mut remarks = Vec::new();
    if let Some((_, folders)) = parted_case(imports, &labels, |label| &label.folder) {
        let shown = names_text(&folders);
        let systems: BTreeSet<&str> = places.values().map(|place| place.system.as_str()).collect();
        if is_alone && systems.len() == 1 && !places.values().any(|place| place.is_named) {
            rename_systems(imports, &labels, |label| &label.folder);
            remarks.push(format!("results in different folders ({shown}) are of different systems"));
        } else {
            put_key(imports, &labels, FOLDER, |label| &label.folder);
            remarks.push(format!("results in different folders ({shown}) are different cases, by the key `{FOLDER}`"));
        }
    }
    remarks.extend(tell_names_apart(imports, places, &labels, is_alone));
    remarks
}

/// Distinguishes results by their files' names, and returns a remark: by the key [`FILE`] or as systems.
/// They are a key where each system has files of the same names, and systems where all is of one folder.
fn tell_names_apart(
    imports: &mut [Imported],
    places: &BTreeMap<String, Place>,
    labels: &Labels,
    is_alone: bool,
) -> Option<String> {
    let (system, names) = parted_case(imports, labels, |label| &label.file)?;
    let shown = names_text(&names);
    let mut by_system: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut systems_of_case: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let systems: BTreeSet<&str> = imports.iter().flat_map(|import| &import.results).map(|one| &*one.system).collect();
    for (result, label) in labelled_results(imports, labels) {
        by_system.entry(&result.system).or_default().insert(&label.file);
        systems_of_case.entry(result.case_text()).or_default().insert(&result.system);
    }
    let is_named = places.values().any(|place| place.is_named);
    let is_grid = by_system.len() == systems.len()
        && by_system.values().collect::<BTreeSet<_>>().len() == 1
        && (systems.len() > 1 || is_alone)
        && !(is_named && systems.len() == 1);
    // Where sides have some names in common, the other names are of cases that one side has not.
    let names_of_all = by_system.values().map(BTreeSet::len).sum::<usize>();
    let are_shared = systems.len() > 1 && by_system.values().flatten().collect::<BTreeSet<_>>().len() < names_of_all;
    if are_shared && !is_grid {
        put_key(imports, labels, FILE, |label| &label.file);
        return Some(format!("files of different names ({shown}) are different cases, by the key `{FILE}`"));
    }
    if !is_grid {
        return Some(format!(
            "files of different names ({shown}) have results of one case of {system}, which count as its repetitions; `NAME=FILE` for each makes systems of them"
        ));
    }
    if systems.len() > 1 && (is_named || systems_of_case.values().any(|systems| systems.len() > 1)) {
        put_key(imports, labels, FILE, |label| &label.file);
        return Some(format!("files of different names ({shown}) are different cases, by the key `{FILE}`"));
    }
    rename_systems(imports, labels, |label| &label.file);
    Some(format!("files of different names ({shown}) are different systems; `SYSTEM=FOLDER` makes one of them"))
}

/// Joins the first names by commas, with `…` if there are more.
fn names_text(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if names.len() > SHOWN { ", …" } else { "" })
}

/// Finds the first system of which a case has results with several labels, and these labels.
fn parted_case(
    imports: &[Imported],
    labels: &Labels,
    part: fn(&Label) -> &String,
) -> Option<(String, BTreeSet<String>)> {
    let mut by_case: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (result, label) in labelled_results(imports, labels) {
        by_case.entry((result.system.clone(), result.case_text())).or_default().insert(part(label).clone());
    }
    by_case.into_iter().find(|(_, labels)| labels.len() > 1).map(|((system, _), labels)| (system, labels))
}

/// Gives results a key whose value is a part of their label.
fn put_key(imports: &mut [Imported], labels: &Labels, key: &str, part: fn(&Label) -> &String) {
    for import in imports.iter_mut() {
        let Some(value) = label_of(labels, import).map(part).filter(|value| !value.is_empty()) else { continue };
        for result in &mut import.results {
            result.keys.insert(key.to_owned(), Value::Text(value.clone()));
        }
    }
}

/// Lists the results that have a label, each with it.
fn labelled_results<'i>(
    imports: &'i [Imported],
    labels: &'i Labels,
) -> impl Iterator<Item = (&'i ImportedResult, &'i Label)> {
    let with_labels = imports.iter().filter_map(|import| Some((import, label_of(labels, import)?)));
    with_labels.flat_map(|(import, label)| import.results.iter().map(move |result| (result, label)))
}

/// Finds the label of an import by its source, or by the first of several, since several logs of a run have one folder.
fn label_of<'l>(labels: &'l Labels, import: &Imported) -> Option<&'l Label> {
    labels.get(&import.source).or_else(|| labels.get(import.source.split(", ").next()?))
}

/// Makes the labels of all sources from their places, without numbers of runs.
/// A file with several results of one case is no single run, so that its name counts none.
pub fn labels_by_source(imports: &[Imported], places: &BTreeMap<String, Place>) -> Labels {
    let with_repetitions: BTreeSet<&str> =
        imports.iter().filter(|import| has_repetitions(&import.results)).map(|import| import.source.as_str()).collect();
    let mut by_system: BTreeMap<&str, Vec<(&String, &Place)>> = BTreeMap::new();
    places.iter().for_each(|(source, place)| by_system.entry(&place.system).or_default().push((source, place)));
    let mut by_source = BySource::new();
    for import in imports {
        by_source.entry(&import.source).or_default().extend(&import.results);
    }
    let mut labels = Labels::new();
    for places in by_system.values() {
        let has_repetitions = places.iter().any(|(source, _)| with_repetitions.contains(source.as_str()));
        let counting = if has_repetitions { Counting::Never } else { Counting::Any };
        let names: Vec<String> = places.iter().map(|(_, place)| place.name.clone()).collect();
        let files = without_numbers_of_runs(&names, counting);
        let files = drop_key_parts(files, places, &by_source);
        let folders = bare_folders(places);
        let found = places.iter().zip(folders).zip(files);
        labels.extend(found.map(|(((source, _), folder), file)| ((*source).clone(), Label { folder, file })));
    }
    labels
}

/// Drops from names sysbench's script and the parts that are the value of a key: `8` of `pg15-8`, if results have 8 clients.
fn drop_key_parts(names: Vec<String>, places: &[(&String, &Place)], by_source: &BySource<'_>) -> Vec<String> {
    let results: Vec<&[&ImportedResult]> =
        places.iter().map(|(source, _)| by_source.get(source.as_str()).map_or(&[][..], Vec::as_slice)).collect();
    let names: Vec<String> = names.iter().zip(&results).map(|(name, results)| without_script(name, results)).collect();
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split('-').collect()).collect();
    let longest = parts.iter().map(Vec::len).max().unwrap_or_default();
    let dropped: Vec<bool> = (0..longest).map(|at| is_key_value(at, &parts, &results)).collect();
    let kept = parts.iter().map(|parts| {
        let kept = parts.iter().zip(&dropped).filter(|(_, is_dropped)| !**is_dropped).map(|(part, _)| *part);
        kept.collect::<Vec<_>>().join("-")
    });
    kept.collect()
}

/// Whether the parts of all names at a position are the values of one key of their results.
fn is_key_value(at: usize, parts: &[Vec<&str>], results: &[&[&ImportedResult]]) -> bool {
    let keys: BTreeSet<&String> = results.iter().copied().flatten().flat_map(|result| result.keys.keys()).collect();
    keys.into_iter().any(|key| {
        parts.iter().zip(results).all(|(parts, results)| {
            let of_name = parts.get(at).and_then(|part| value_of_key(part, key));
            let mut of_results = results.iter().map(|result| result.keys.get(key).map(Value::to_string));
            of_name.is_some() && of_results.all(|value| value.as_deref() == of_name)
        })
    })
}

/// Drops the script's name from a file's name.
fn without_script(name: &str, results: &[&ImportedResult]) -> String {
    let script = results.first().and_then(|result| result.keys.get("script")).map(ToString::to_string);
    let script = script.unwrap_or_default().replace('_', "-");
    let bare = if script.is_empty() { name.to_owned() } else { name.replace(&script, "") };
    bare.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// What names of files call the size of a load, besides the names of its keys.
const SIZES: [&str; 15] =
    ["", "c", "client", "conn", "connections", "j", "t", "th", "thr", "threads", "u", "users", "vu", "wh", "qd"];

/// The number in a part of a name that a key may have: `8` of `8`, `c8` and `8clients`, where the key is `clients`.
fn value_of_key<'p>(part: &'p str, key: &str) -> Option<&'p str> {
    let number = number_with_letters(part)?;
    let letters = part.replacen(number, "", 1).to_lowercase();
    (SIZES.contains(&letters.as_str()) || key.starts_with(&letters)).then_some(number)
}

/// The number in a word with letters around it: `8` of `8`, `c8` and `8clients`.
fn number_with_letters(part: &str) -> Option<&str> {
    let number = part.trim_matches(char::is_alphabetic);
    Some(number).filter(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Names systems after their files where those differ by a number at their end that counts runs; returns a remark.
/// Each case of each system has to have as many runs, at least two:
/// `pg15_8_1.txt`, `pg15_8_2.txt`, `pg16_8_1.txt`, `pg16_8_2.txt`.
pub fn name_by_runs(imports: &mut [Imported], sources: &[String]) -> Option<String> {
    let names: Vec<String> = sources.iter().map(|source| file_stem(Path::new(source))).collect();
    let are_named_after_files = imports.iter().all(|import| {
        let stem = file_stem(Path::new(&import.source));
        import.results.iter().all(|result| result.system == stem)
    });
    let is_one_folder = sources.iter().all(|source| Path::new(source).parent() == Path::new(&sources[0]).parent());
    let end_in_numbers = names.iter().all(|name| {
        let last = name.rsplit(['-', '_', '.']).next().filter(|last| last.len() < name.len());
        last.and_then(number_with_letters).is_some()
    });
    if sources.len() < 4 || !is_one_folder || !end_in_numbers || !are_named_after_files {
        return None;
    }
    let place =
        |name: &String| Place { system: String::new(), folders: Vec::new(), name: name.clone(), is_named: false };
    let places: BTreeMap<String, Place> = sources.iter().cloned().zip(names.iter().map(place)).collect();
    let labels = labels_by_source(imports, &places);
    let mut runs: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (result, label) in labelled_results(imports, &labels) {
        *runs.entry((&label.file, result.case_text())).or_default() += 1;
    }
    let counts: BTreeSet<usize> = runs.values().copied().collect();
    let systems: BTreeSet<String> = runs.keys().map(|(label, _)| (*label).to_owned()).collect();
    if systems.len() < 2 || systems.contains("") || counts.len() != 1 || counts.contains(&1) {
        return None;
    }
    rename_systems(imports, &labels, |label| &label.file);
    Some(format!(
        "files whose names differ by a number at their end are runs of one system ({}); `NAME=FILE` for each makes systems of them",
        names_text(&systems)
    ))
}

/// Renames the systems of imports, and of their facts, to a part of their labels.
fn rename_systems(imports: &mut [Imported], labels: &Labels, part: fn(&Label) -> &String) {
    for import in imports {
        let Some(name) = label_of(labels, import).map(part).filter(|part| !part.is_empty()) else { continue };
        for result in &mut import.results {
            if let Some(facts) = import.facts.get(&result.system).cloned() {
                import.facts.entry(name.clone()).or_insert(facts);
            }
            result.system.clone_from(name);
        }
    }
}

/// Whether a case of a system has several results.
fn has_repetitions(results: &[ImportedResult]) -> bool {
    let mut cases = BTreeSet::new();
    results.iter().any(|result| !cases.insert((&result.system, result.case_text())))
}

/// Joins the folders of each place of a system by `/`, without those that count runs.
fn bare_folders(places: &[(&String, &Place)]) -> Vec<String> {
    let mut bare = vec![String::new(); places.len()];
    let deepest = places.iter().map(|(_, place)| place.folders.len()).max().unwrap_or_default();
    for depth in 0..deepest {
        let names = places.iter().map(|(_, place)| place.folders.get(depth).cloned().unwrap_or_default());
        let names = without_numbers_of_runs(&names.collect::<Vec<_>>(), Counting::WholeNames);
        for (path, name) in bare.iter_mut().zip(names).filter(|(_, name)| !name.is_empty()) {
            *path = if path.is_empty() { name } else { format!("{path}/{name}") };
        }
    }
    bare
}
