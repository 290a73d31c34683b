//! Files of one folder: their names tell results of one case apart, unless they only count runs.

use std::collections::{BTreeMap, BTreeSet};

use formats::{Imported, without_numbers_of_runs};
use model::Value;

/// The key of results that files of other names hold, too.
const FILE: &str = "file";
/// Names of files in a remark.
const SHOWN: usize = 3;

/// Where results come from.
pub struct Place {
    pub system: String,
    /// The file's name without its ending.
    pub name: String,
    /// True if the user named the system.
    pub is_named: bool,
}

/// Tells results of one case and system apart by the names of their files: by the key [`FILE`] where each system has files of the same
/// names, and as systems where all is of one folder. Returns what to say of it.
pub fn tell_files_apart(imports: &mut [Imported], places: &BTreeMap<String, Place>, is_alone: bool) -> Option<String> {
    let files = bare_names(places);
    let mut by_case: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    let mut by_system: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut systems: BTreeSet<&str> = BTreeSet::new();
    let mut systems_of_case: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for import in imports.iter() {
        for result in &import.results {
            systems.insert(&result.system);
            let Some(file) = files.get(&import.source) else { continue };
            let case = format!("{:?}", (&result.benchmark, &result.keys));
            by_case.entry((&result.system, case.clone())).or_default().insert(file);
            by_system.entry(&result.system).or_default().insert(file.clone());
            systems_of_case.entry(case).or_default().insert(&result.system);
        }
    }
    let (system, names) =
        by_case.iter().find(|(_, files)| files.len() > 1).map(|((system, _), files)| (*system, files))?;
    let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    let shown = format!("{}{}", shown.join(", "), if names.len() > SHOWN { ", …" } else { "" });
    let is_named = places.values().any(|place| place.is_named);
    let is_grid = by_system.len() == systems.len()
        && by_system.values().collect::<BTreeSet<_>>().len() == 1
        && (systems.len() > 1 || is_alone)
        && !(is_named && systems.len() == 1);
    if !is_grid {
        return Some(format!(
            "files of different names ({shown}) have results of one case of {system}, which count as its repetitions; `NAME=FILE` for each makes systems of them"
        ));
    }
    let are_systems = systems.len() == 1 || systems_of_case.values().all(|systems| systems.len() == 1) && !is_named;
    for import in imports.iter_mut() {
        let Some(file) = files.get(&import.source).filter(|file| !file.is_empty()) else { continue };
        for result in &mut import.results {
            if are_systems {
                if let Some(facts) = import.facts.get(&result.system).cloned() {
                    import.facts.entry(file.clone()).or_insert(facts);
                }
                result.system.clone_from(file);
            } else {
                result.keys.insert(FILE.to_owned(), Value::Text(file.clone()));
            }
        }
    }
    Some(if are_systems {
        format!("files of different names ({shown}) are different systems; `SYSTEM=FOLDER` makes one of them")
    } else {
        format!("files of different names ({shown}) are different cases, by the key `{FILE}`")
    })
}

/// The names by source, without the numbers that count runs.
fn bare_names(places: &BTreeMap<String, Place>) -> BTreeMap<String, String> {
    let mut by_system: BTreeMap<&str, Vec<(&String, &Place)>> = BTreeMap::new();
    places.iter().for_each(|(source, place)| by_system.entry(&place.system).or_default().push((source, place)));
    let mut names = BTreeMap::new();
    for places in by_system.values() {
        let own: Vec<String> = places.iter().map(|(_, place)| place.name.clone()).collect();
        let bare = without_numbers_of_runs(&own);
        names.extend(places.iter().zip(bare).map(|((source, _), name)| ((*source).clone(), name)));
    }
    names
}
