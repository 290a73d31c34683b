//! Versions that tools print: runs of two versions are no repetitions of each other.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use model::Value;

use crate::{Imported, ImportedResult, tidy};

/// The key of results whose versions differ within a system.
pub const VERSION: &str = "version";

/// Tells results of one case apart whose tool or server printed different versions.
/// As systems where all is of one that its user did not name, else by the key [`VERSION`].
pub fn tell_versions_apart(imports: &mut [Imported], is_named: bool) {
    let tables = [tidy::READER.name, tidy::wide::READER.name];
    for import in imports.iter_mut().filter(|import| !tables.contains(&import.tool)) {
        // A file has one version where not each run has its own.
        if import.results.iter().all(|result| result.version.is_none()) {
            let version = import.version.clone();
            import.results.iter_mut().for_each(|result| result.version.clone_from(&version));
        }
    }
    let mixed = tools_of_several_versions(imports);
    if mixed.is_empty() {
        return;
    }
    let systems: BTreeSet<String> = all_results(imports).map(|result| result.system.clone()).collect();
    let names_systems = systems.len() == 1 && !is_named;
    for import in imports.iter_mut().filter(|import| mixed.contains(import.tool)) {
        for result in &mut import.results {
            let Some(version) = &result.version else { continue };
            if !names_systems {
                result.keys.insert(VERSION.to_owned(), Value::Text(version.clone()));
                continue;
            }
            let name = format!("{} {version}", import.tool);
            let of_all = import.facts.get(&result.system).cloned();
            if let (Some(mut facts), false) = (of_all, import.facts.contains_key(&name)) {
                if let Some((_, server)) = version.split_once("server ") {
                    facts.record_identity(SERVER_VERSION, server);
                }
                import.facts.insert(name.clone(), facts);
            }
            result.system = name;
        }
    }
}

/// The fact of the server's version.
pub(crate) const SERVER_VERSION: &str = "server.version";

/// Joins the different versions of a file; `None` where none is known.
pub(crate) fn distinct_versions<'a>(versions: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let versions: IndexSet<&str> = versions.flatten().collect();
    if versions.is_empty() { None } else { Some(versions.into_iter().collect::<Vec<_>>().join(" and ")) }
}

/// Lists the results of all imports.
fn all_results(imports: &[Imported]) -> impl Iterator<Item = &ImportedResult> {
    imports.iter().flat_map(|import| &import.results)
}

/// Lists the tools of which a case of a system has results of several versions.
fn tools_of_several_versions(imports: &[Imported]) -> BTreeSet<&'static str> {
    let mut versions: BTreeMap<(&str, &str, String), &str> = BTreeMap::new();
    let mut mixed = BTreeSet::new();
    for import in imports {
        for result in &import.results {
            let Some(version) = result.version.as_deref() else { continue };
            let case = (result.system.as_str(), result.benchmark.as_str(), format!("{:?}", result.keys));
            if *versions.entry(case).or_insert(version) != version {
                mixed.insert(import.tool);
            }
        }
    }
    mixed
}
