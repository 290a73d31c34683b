//! Keys that had another name: plans that were written then are still read.

use super::changes::QUICK;
use super::tree::{Data, Entry, find};

struct Renamed {
    section: &'static str,
    /// Only in benchmarks of this workload.
    workload: Option<&'static str>,
    was: &'static str,
    is: &'static str,
}

const RENAMED: [Renamed; 2] = [
    Renamed { section: "schedule", workload: None, was: "blocks", is: "rounds" },
    Renamed { section: "benchmarks", workload: Some("spatial"), was: "runs", is: "executions" },
];

impl Renamed {
    fn is_in(&self, section: &str, key: &str) -> bool {
        (self.section, self.was) == (section, key)
    }
}

/// A path of `--set` or `[quick]` with today's names: `schedule.blocks` is `schedule.rounds`.
pub(super) fn path<'k>(keys: &[&'k str]) -> Vec<&'k str> {
    let mut keys = keys.to_vec();
    if let [section, .., key] = &mut keys[..]
        && let Some(renamed) = RENAMED.iter().find(|one| one.is_in(section, key))
    {
        *key = renamed.is;
    }
    keys
}

/// Gives the keys of a plan today's names. A table that has both names keeps them, and the earlier one is unknown.
pub(super) fn keys(root: &mut [Entry]) {
    for section in root {
        match &mut section.value.data {
            Data::Table(entries) => rename(&section.key, entries),
            Data::List(tables) => {
                for table in tables {
                    if let Data::Table(entries) = &mut table.data {
                        rename(&section.key, entries);
                    }
                }
            }
            _ => {}
        }
    }
}

fn rename(section: &str, entries: &mut [Entry]) {
    for renamed in &RENAMED {
        let is_of = |workload: &str| {
            find(entries, "workload").is_some_and(|of| matches!(&of.value.data, Data::Text(text) if text == workload))
        };
        if !renamed.workload.is_none_or(is_of) || find(entries, renamed.is).is_some() {
            continue;
        }
        if let Some(entry) = entries.iter_mut().find(|entry| renamed.is_in(section, &entry.key)) {
            renamed.is.clone_into(&mut entry.key);
        }
    }
}

/// What to tell who wrote a plan, or paths of `--set`, with earlier names: a sentence for each.
pub fn renamed_keys(text: &str, set: &[(String, String)]) -> Vec<String> {
    let root = text.parse::<toml::Table>().unwrap_or_default();
    let mut used: Vec<(String, String)> = Vec::new();
    let mut use_path = |path: &str| {
        if let (Some((section, _)), Some((_, key))) = (path.split_once('.'), path.rsplit_once('.')) {
            used.push((section.to_owned(), key.to_owned()));
        }
    };
    set.iter().for_each(|(path, _)| use_path(path));
    paths(&root, "", &mut use_path);
    if let Some(quick) = root.get(QUICK).and_then(toml::Value::as_table) {
        paths(quick, "", &mut use_path);
    }
    let is_used = |one: &&Renamed| used.iter().any(|(section, key)| one.is_in(section, key));
    let said = |one: &Renamed| format!("`{}` in `{}` is now called `{}`: read as that", one.was, one.section, one.is);
    RENAMED.iter().filter(is_used).map(said).collect()
}

/// Of every value under `table`; those of a list of tables as if they stood in one.
fn paths(table: &toml::Table, above: &str, take: &mut impl FnMut(&str)) {
    for (key, value) in table {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            toml::Value::Table(inner) => paths(inner, &path, take),
            toml::Value::Array(all) => {
                all.iter().filter_map(toml::Value::as_table).for_each(|one| paths(one, &path, take))
            }
            _ => {}
        }
        take(&path);
    }
}
