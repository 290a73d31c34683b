//! Properties of YCSB and go-ycsb: which are conditions of the load, and which say where it ran.

use model::Point;

use super::figures::plain_value;
use crate::places;

/// What the properties of a run say.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    pub keys: Point,
    pub places: Point,
}

/// Other names of a key.
const SAME: [(&str, &str); 2] = [("threadcount", "threads"), ("command", "phase")];
/// Lengths, and what is printed. What a proportion comes to is in `operations`.
const ASIDE: [&str; 19] = [
    "operationcount",
    "maxexecutiontime",
    "warmuptime",
    "insertstart",
    "insertcount",
    "dotransactions",
    "dropdata",
    "silence",
    "verbose",
    "outputstyle",
    "measurementtype",
    "status",
    "label",
    "table",
    "workload",
    "keyprefix",
    "exporter",
    "exportfile",
    "reportlatencyforeacherror",
];
/// Beginnings of names of what is printed.
const PRINTED: [&str; 6] = ["measurement.", "histogram.", "hdrhistogram.", "status.", "output", "timeseries."];
/// Conditions whose values are words.
const WORDS: [&str; 7] = [
    "command",
    "requestdistribution",
    "scanlengthdistribution",
    "fieldlengthdistribution",
    "insertorder",
    "tikv.type",
    "tikv.apiversion",
];
const PRIVATE: [&str; 9] = ["pass", "pwd", "user", "secret", "token", "auth", "cred", "key", "debug"];
/// Parts of names whose values are places also where they are numbers.
const PLACES: [&str; 3] = ["host", "port", "addr"];

impl Properties {
    /// Takes a property as a key or a place, unless it is a length, a name or a secret.
    pub fn take_property(&mut self, name: &str, value: &str) {
        let name = name.to_lowercase();
        let is_aside = ASIDE.contains(&name.as_str())
            || name.ends_with("proportion")
            || PRINTED.iter().any(|beginning| name.starts_with(beginning))
            || PRIVATE.iter().any(|part| name.contains(part));
        if is_aside || value.is_empty() {
            return;
        }
        let is_plain = value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
        let is_place = PLACES.iter().any(|part| name.contains(part));
        if is_place || !(is_plain || WORDS.contains(&name.as_str())) {
            places::put_place(&mut self.places, &name, Some(value));
        } else {
            let name = SAME.iter().find(|(from, _)| *from == name).map_or(name.as_str(), |(_, to)| to);
            self.keys.insert(name.to_owned(), plain_value(value));
        }
    }

    /// Takes the properties that a command line sets, as `-p recordcount=1000`.
    pub fn take_words(&mut self, command: &str) {
        let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`']));
        for (name, value) in words.filter(|word| !word.starts_with('-')).filter_map(|word| word.split_once('=')) {
            self.take_property(name, value);
        }
    }
}

/// Finds the phase and the database that a command names behind its tool: `bin/ycsb run mongodb`.
pub fn phase_and_database<'l>(line: &'l str, tools: &[&str]) -> Option<(&'l str, &'l str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_tool =
        |word: &&str| tools.contains(&word.trim_start_matches(['$', '`']).rsplit('/').next().unwrap_or_default());
    let at = words.iter().position(is_tool)?;
    let phase = words.get(at + 1).filter(|word| ["run", "load"].contains(word))?;
    Some((*phase, words.get(at + 2).copied().unwrap_or_default()))
}
