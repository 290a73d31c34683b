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
const PRIVATE: [&str; 9] = ["pass", "pwd", "user", "secret", "token", "auth", "cred", "key", "debug"];
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
/// Parts of names of what a commit promises or a read may see: conditions, whatever their values look like.
const PROMISES: [&str; 12] = [
    "durability",
    "consistency",
    "concern",
    "preference",
    "isolation",
    "persistto",
    "replicateto",
    "sync",
    "journal",
    "acks",
    "quorumread",
    "compress",
];
/// Options of MongoDB's URL by which a write is confirmed.
const CONFIRMED: [&str; 2] = ["w", "j"];
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
        let is_promise = PROMISES.iter().any(|part| name.contains(part)) && !value.contains(['/', ':']);
        let is_plain = value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
        let is_place = PLACES.iter().any(|part| name.contains(part));
        if is_place || !(is_promise || is_plain || WORDS.contains(&name.as_str())) {
            self.take_url_options(&name, value);
            places::put_place(&mut self.places, &name, Some(value));
        } else {
            let name = SAME.iter().find(|(from, _)| *from == name).map_or(name.as_str(), |(_, to)| to);
            self.keys.insert(name.to_owned(), plain_value(value));
        }
    }

    /// Takes the options of a URL that say what is promised as keys: `w` of `mongodb://h/d?w=0` is what a write waits for.
    fn take_url_options(&mut self, name: &str, url: &str) {
        let options =
            url.split_once("://").and_then(|(_, rest)| rest.split_once('?')).map_or("", |(_, options)| options);
        for (option, value) in options.split('&').filter_map(|option| option.split_once('=')) {
            let option = option.to_lowercase();
            if CONFIRMED.contains(&option.as_str()) || PROMISES.iter().any(|part| option.contains(part)) {
                self.keys.insert(format!("{name}.{option}"), plain_value(value));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_commit_promises_is_a_condition_and_no_place() {
        let mut found = Properties::default();
        found.take_words(
            "-db site.ycsb.Client -p durability=SYNC_WAL -p cassandra.writeconsistencylevel=ONE -p hosts=10.0.0.1 \
             -p mongodb.url=mongodb://me:secret@h/d?w=0&readPreference=nearest&password=x -p rocksdb.dir=/a -p db.driver=x \
             -p db.user=me -p mysql.db=test -p pg.sslmode=disable",
        );
        let keys: Vec<&str> = found.keys.keys().map(String::as_str).collect();
        let conditions =
            ["cassandra.writeconsistencylevel", "durability", "mongodb.url.readpreference", "mongodb.url.w"];
        assert_eq!(keys, conditions);
        let places: Vec<&str> = found.places.keys().map(String::as_str).collect();
        assert_eq!(places, ["db.driver", "hosts", "mongodb.url", "mysql.db", "pg.sslmode", "rocksdb.dir"]);
    }
}
