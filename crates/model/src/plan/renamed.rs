//! Keys that had another name: plans that were written then are still read.

use super::changes::QUICK;
use super::tree::{Data, Entry};

/// A table of the plan, the key's earlier name and its name.
const RENAMED: [(&str, &str, &str); 1] = [("schedule", "blocks", "rounds")];

/// The name of a path of `--set` or `[quick]`: `schedule.blocks` is `schedule.rounds`.
pub(super) fn path<'k>(keys: &[&'k str]) -> Vec<&'k str> {
    match *keys {
        [table, key] => vec![table, name(table, key).unwrap_or(key)],
        _ => keys.to_vec(),
    }
}

/// Renames the keys of a plan's tables. A table that has both names keeps them, and the earlier one is unknown.
pub(super) fn keys(root: &mut [Entry]) {
    for table in root {
        let Data::Table(entries) = &mut table.value.data else { continue };
        let known: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for entry in entries {
            if let Some(name) = name(&table.key, &entry.key).filter(|name| !known.iter().any(|key| key == name)) {
                name.clone_into(&mut entry.key);
            }
        }
    }
}

fn name(table: &str, key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(in_table, old, _)| (*in_table, *old) == (table, key)).map(|(.., name)| *name)
}

/// What to tell who wrote a plan with earlier names: one sentence for each. None for a text that is not TOML.
pub fn renamed_keys(text: &str) -> Vec<String> {
    let Ok(root) = text.parse::<toml::Table>() else { return Vec::new() };
    let quick = root.get(QUICK).and_then(toml::Value::as_table);
    let of = |table: &toml::Table, section: &str, key: &str| {
        table.get(&format!("{section}.{key}")).is_some()
            || table.get(section).and_then(toml::Value::as_table).is_some_and(|inner| inner.contains_key(key))
    };
    let is_used =
        |section: &str, key: &str| of(&root, section, key) || quick.is_some_and(|quick| of(quick, section, key));
    let used = RENAMED.iter().filter(|(section, old, _)| is_used(section, old));
    used.map(|(section, old, name)| format!("`{old}` in `[{section}]` is now called `{name}`: read as that")).collect()
}
