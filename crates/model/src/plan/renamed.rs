//! Keys that had another name: plans that were written then are still read.

use super::error::Problems;
use super::tree::{Data, Entry, find_entry};

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
    /// Tests whether this is the old name of a key in this section.
    fn is_in(&self, section: &str, key: &str) -> bool {
        (self.section, self.was) == (section, key)
    }

    /// Notes that an old name was read, and gives the new one.
    fn note_renaming(&self, problems: &mut Problems<'_>) -> &'static str {
        problems.note(format!("`{}` in `{}` is now called `{}`: read as that", self.was, self.section, self.is));
        self.is
    }
}

/// Replaces an old name in a path of `--set` or `[quick]`: `schedule.blocks` becomes `schedule.rounds`.
pub(super) fn rename_path<'k>(keys: &[&'k str], problems: &mut Problems<'_>) -> Vec<&'k str> {
    let mut keys = keys.to_vec();
    if let [section, .., key] = &mut keys[..]
        && let Some(renamed) = RENAMED.iter().find(|one| one.is_in(section, key))
    {
        *key = renamed.note_renaming(problems);
    }
    keys
}

/// Renames the old keys of a plan to today's names; a table that has both keeps them, and the old one is unknown.
pub(super) fn rename_keys(root: &mut [Entry], problems: &mut Problems<'_>) {
    for section in root {
        match &mut section.value.data {
            Data::Table(entries) => rename_in(&section.key, entries, problems),
            Data::List(tables) => {
                for table in tables {
                    if let Data::Table(entries) = &mut table.data {
                        rename_in(&section.key, entries, problems);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Renames the old keys of one table to today's names.
fn rename_in(section: &str, entries: &mut [Entry], problems: &mut Problems<'_>) {
    for renamed in &RENAMED {
        if !renamed.workload.is_none_or(|workload: &str| {
            find_entry(entries, "workload")
                .is_some_and(|of| matches!(&of.value.data, Data::Text(text) if text == workload))
        }) || find_entry(entries, renamed.is).is_some()
        {
            continue;
        }
        if let Some(entry) = entries.iter_mut().find(|entry| renamed.is_in(section, &entry.key)) {
            renamed.note_renaming(problems).clone_into(&mut entry.key);
        }
    }
}
