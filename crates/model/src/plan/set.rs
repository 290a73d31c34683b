//! `--set PATH=VALUE`: changes to the tree of a plan before it is validated.

use super::error::{Problems, quote};
use super::file::{benchmark_name, list_names};
use super::tree::{Data, Entry, Node, Origin, find_entry, parse_value};
use super::{placed, renamed};
use crate::catalog::Catalog;
use crate::near::nearest;

/// Setting one drops the other from the file: it is meant to replace it.
const SCHEDULE_RIVALS: (&str, &str) = ("duration", "transactions");
/// Setting one drops the other, like [`SCHEDULE_RIVALS`].
const SYSTEM_RIVALS: (&str, &str) = ("url", "server");

pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Refusal {
    fn new(message: String) -> Refusal {
        Refusal { message, hint: None }
    }
}

/// Applies the `--set` arguments in order. They only change what exists: an unknown system or benchmark is an error.
pub(super) fn apply_overrides(
    root: &mut Vec<Entry>,
    overrides: &[(String, String)],
    catalog: &Catalog,
    problems: &mut Problems<'_>,
) {
    for (index, (path, value)) in overrides.iter().enumerate() {
        let at = Origin::Set(index);
        let outcome = match (split_path(path), parse_value(value, &at, problems)) {
            (None, _) => Err(no_path_refusal(path)),
            (_, Err(message)) => Err(Refusal::new(format!("the argument's value is not TOML: {message}"))),
            (Some(keys), Ok(value)) => set_placed(root, keys, &value, catalog, problems),
        };
        if let Err(refusal) = outcome {
            problems.add(&at, refusal.message, refusal.hint);
        }
    }
}

/// Sets a value at every path that the keys are short for.
fn set_placed(
    root: &mut Vec<Entry>,
    keys: Vec<String>,
    value: &Node,
    catalog: &Catalog,
    problems: &mut Problems<'_>,
) -> Result<(), Refusal> {
    for path in placed::full_paths(root, keys, catalog)? {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        set_value(root, &keys, value, problems)?;
    }
    Ok(())
}

/// Applies a table whose keys are paths, `"benchmarks.*.clients" = 4`, or nested tables, `schedule.rounds = 2`.
pub(super) fn apply_table(root: &mut Vec<Entry>, table: &Entry, problems: &mut Problems<'_>) {
    let Data::Table(entries) = &table.value.data else {
        let message = format!("`{}` must be a table, not {}", quote(&table.key), table.value.type_name());
        return problems.add(&table.at, message, None);
    };
    entries.iter().for_each(|entry| apply_entry(root, &mut Vec::new(), entry, problems));
}

/// Applies an entry of the quick form, below the keys `above`; a table's entries one by one.
fn apply_entry(root: &mut Vec<Entry>, above: &mut Vec<String>, entry: &Entry, problems: &mut Problems<'_>) {
    let Some(keys) = split_path(&entry.key) else {
        let refusal = no_path_refusal(&entry.key);
        return problems.add(&entry.at, refusal.message, refusal.hint);
    };
    let depth = above.len();
    above.extend(keys);
    if let Data::Table(inner) = &entry.value.data {
        inner.iter().for_each(|entry| apply_entry(root, above, entry, problems));
    } else {
        let path: Vec<&str> = above.iter().map(String::as_str).collect();
        if let Err(refusal) = set_value(root, &path, &entry.value, problems) {
            problems.add(&entry.at, refusal.message, refusal.hint);
        }
    }
    above.truncate(depth);
}

/// Makes the refusal of a text that is no path.
fn no_path_refusal(path: &str) -> Refusal {
    Refusal {
        message: format!("`{}` is not a path in a plan", quote(path)),
        hint: Some("a path looks like `schedule.rounds` or `benchmarks.NAME.clients`".to_owned()),
    }
}

/// Splits a dotted path into its keys; those with a dot in them are quoted, as in TOML: `systems."a.b".url`.
fn split_path(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut rest = path.trim();
    loop {
        let (key, after) = match rest.chars().next()? {
            quote @ ('"' | '\'') => rest[1..].split_once(quote)?,
            _ => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if key.is_empty() {
            return None;
        }
        keys.push(key.to_owned());
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(keys),
            None => return None,
        }
    }
}

/// Sets a value at a path of a plan, and drops the keys that it excludes.
fn set_value(root: &mut Vec<Entry>, keys: &[&str], value: &Node, problems: &mut Problems<'_>) -> Result<(), Refusal> {
    let keys = &renamed::rename_path(keys, problems)[..];
    match keys {
        ["systems", which, rest @ ..] => set_systems(root, which, rest, value),
        ["benchmarks", which, rest @ ..] => set_benchmarks(root, which, rest, value),
        ["schedule", key, ..] => {
            set_path(root, keys, value)?;
            if let Some(Data::Table(schedule)) = data_mut(root, "schedule") {
                drop_rival(schedule, key, &value.at, SCHEDULE_RIVALS);
                if *key == "rounds" && !is_range(&value.data) {
                    drop_keys_of_range(schedule);
                }
            }
            Ok(())
        }
        _ => set_path(root, keys, value),
    }
}

/// Sets a key of a system, or of all systems by `*`; fails if there is none of that name.
fn set_systems(root: &mut [Entry], which: &str, keys: &[&str], value: &Node) -> Result<(), Refusal> {
    let Some(Data::Table(systems)) = data_mut(root, "systems") else {
        return Err(Refusal::new("the plan has no table of systems".to_owned()));
    };
    let [key, ..] = keys else {
        return Err(Refusal::new("the argument names a system, but none of its keys".to_owned()));
    };
    if which != "*" && find_entry(systems, which).is_none() {
        let names: Vec<&str> = systems.iter().map(|entry| entry.key.as_str()).collect();
        return Err(unknown_name_refusal("system", which, &names));
    }
    for system in systems.iter_mut().filter(|entry| which == "*" || entry.key == which) {
        if let Data::Table(entries) = &mut system.value.data {
            set_path(entries, keys, value)?;
            drop_rival(entries, key, &value.at, SYSTEM_RIVALS);
        }
    }
    Ok(())
}

/// Sets a key of a benchmark by name or index, or of all by `*`; fails if there is none.
fn set_benchmarks(root: &mut [Entry], which: &str, keys: &[&str], value: &Node) -> Result<(), Refusal> {
    let Some(Data::List(benchmarks)) = data_mut(root, "benchmarks") else {
        return Err(Refusal::new("the plan has no list of benchmarks".to_owned()));
    };
    let names: Vec<String> = benchmarks
        .iter()
        .map(|benchmark| match &benchmark.data {
            Data::Table(entries) => benchmark_name(entries).unwrap_or_default(),
            _ => String::new(),
        })
        .collect();
    let named = names.iter().position(|name| name == which);
    let chosen = named.or_else(|| which.parse().ok().filter(|index| *index < benchmarks.len()));
    if keys.is_empty() {
        return Err(match chosen {
            None if which != "*" => unnamed_benchmark_refusal(which),
            _ => Refusal::new("the argument names a benchmark, but none of its keys".to_owned()),
        });
    }
    if which != "*" && chosen.is_none() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(unknown_name_refusal("benchmark", which, &names));
    }
    for (index, benchmark) in benchmarks.iter_mut().enumerate() {
        if let Data::Table(entries) = &mut benchmark.data
            && (which == "*" || Some(index) == chosen)
        {
            set_path(entries, keys, value)?;
        }
    }
    Ok(())
}

/// Makes the refusal of a benchmark's key without the benchmark.
fn unnamed_benchmark_refusal(key: &str) -> Refusal {
    let key = quote(key);
    let option = match &*key {
        "script" | "clients" | "scale" | "threads" => format!("; without a plan `--{key}` sets it"),
        _ => String::new(),
    };
    Refusal {
        message: format!("`benchmarks.{key}` does not say of which benchmark"),
        hint: Some(format!("`benchmarks.*.{key}` is that of all of them, `benchmarks.NAME.{key}` that of one{option}")),
    }
}

/// Makes the refusal of a name that the plan does not have, with the nearest one.
pub(super) fn unknown_name_refusal(noun: &str, which: &str, names: &[&str]) -> Refusal {
    let hint = match nearest(which, names.iter().copied()) {
        Some(name) => format!("did you mean `{}`?", quote(name)),
        None => format!("it has {}", list_names(names)),
    };
    Refusal { message: format!("the plan has no {noun} `{}`", quote(which)), hint: Some(hint) }
}

/// Sets a value at a path of keys, making missing tables on the way; fails where a key is no table.
fn set_path(entries: &mut Vec<Entry>, keys: &[&str], value: &Node) -> Result<(), Refusal> {
    let [key, rest @ ..] = keys else { return Ok(()) };
    let index = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
        entries.push(Entry {
            key: (*key).to_owned(),
            at: value.at.clone(),
            value: match rest {
                [] => value.clone(),
                _ => Node { at: value.at.clone(), data: Data::Table(Vec::new()) },
            },
        });
        entries.len() - 1
    });
    let entry = &mut entries[index];
    match (&mut entry.value.data, rest) {
        (_, []) => entry.value = value.clone(),
        (Data::Table(inner), _) => return set_path(inner, rest, value),
        _ => return Err(Refusal::new(format!("`{}` in the plan is not a table", quote(key)))),
    }
    Ok(())
}

/// Gives the data of a key, to be changed.
fn data_mut<'t>(entries: &'t mut [Entry], key: &str) -> Option<&'t mut Data> {
    entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value.data)
}

/// Whether the rounds are a range, such as `"6..60"`.
fn is_range(rounds: &Data) -> bool {
    matches!(rounds, Data::Text(text) if text.contains(".."))
}

/// Removes the keys that only a range of rounds has. Arguments stay, to be refused.
pub(super) fn drop_keys_of_range(schedule: &mut Vec<Entry>) {
    schedule.retain(|entry| {
        !["stop", "max_time"].contains(&entry.key.as_str()) || matches!(entry.value.at, Origin::Set(_))
    });
}

/// Removes the key that the set one excludes, such as `transactions` for `duration`.
fn drop_rival(entries: &mut Vec<Entry>, key: &str, at: &Origin, rivals: (&str, &str)) {
    let rival = match key {
        _ if key == rivals.0 => rivals.1,
        _ if key == rivals.1 => rivals.0,
        _ => return,
    };
    // Two contradicting arguments are left for validation to report.
    let is_argument = matches!(at, Origin::Set(_));
    entries.retain(|entry| entry.key != rival || (is_argument && matches!(entry.value.at, Origin::Set(_))));
}
