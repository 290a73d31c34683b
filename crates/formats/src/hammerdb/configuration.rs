//! The configuration of a job, as HammerDB keeps it: a dictionary of Tcl's.

use std::collections::BTreeMap;

use model::{Point, Value};

use crate::places;

/// Most words of a dictionary; HammerDB's has about 60.
const MOST_WORDS: usize = 10_000;
/// Prefixes by which databases tell their options apart.
const PREFIXES: [&str; 6] = ["pg_", "mysql_", "maria_", "mssqls_", "db2_", "ora_"];
/// Names as in the report that `save` writes.
const NAMES: [(&str, &str); 5] = [
    ("count_ware", "warehouses"),
    ("rampup", "rampup_minutes"),
    ("duration", "duration_minutes"),
    ("scale_fact", "scale_factor"),
    ("total_querysets", "query_sets"),
];
/// Options that say how a schema was built, what is printed, or where a run ends that no time ends.
const ASIDE: [&str; 13] = [
    "num_vu",
    "num_tpch_threads",
    "total_iterations",
    "raiseerror",
    "raise_query_error",
    "verbose",
    "async_verbose",
    "refresh_verbose",
    "timeprofile",
    "use_bcp",
    "vacuum",
    "bucket",
    "monreport",
];
/// Options with a word, and the word that HammerDB has of itself.
const WORDS: [(&str, &str); 4] =
    [("driver", "timed"), ("storage_engine", "innodb"), ("durability", "SCHEMA_AND_DATA"), ("organizeby", "NONE")];
/// Options that count only where another is set.
const DEPENDENT: [(&str, &str); 4] = [
    ("async_client", "async_scale"),
    ("async_delay", "async_scale"),
    ("update_sets", "refresh_on"),
    ("trickle_refresh", "refresh_on"),
];

/// Reads the conditions of the load of a workload, `tpcc` or `tpch`, from HammerDB's dictionary.
/// What is off, or as HammerDB has it of itself, is no condition, so that jobs of its versions compare. Names, places
/// and passwords are none.
pub fn parse_conditions(dictionary: &str, workload: &str) -> Point {
    let all = tcl_words(dictionary);
    let section =
        word_pairs(&all).find(|(name, _)| *name == workload).map(|(_, value)| tcl_words(value)).unwrap_or_default();
    conditions_of(&word_pairs(&section).map(|(name, value)| (bare_name(name), value)).collect::<Vec<_>>())
}

/// Collects the conditions among a workload's options, without those that depend on others that are off.
fn conditions_of(options: &[(&str, &str)]) -> Point {
    let counts = options.iter().filter(|(name, _)| {
        DEPENDENT
            .iter()
            .find(|(own, _)| own == name)
            .is_none_or(|(_, needed)| options.iter().any(|(other, value)| other == needed && *value == "true"))
    });
    counts.filter_map(|(name, value)| condition_of(name, value)).collect()
}

/// Strips a setting's name of database and workload: `pg_tpch_gpcompat` is `gpcompat`.
fn bare_name(name: &str) -> &str {
    let name = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    ["tpch_", "tpcc_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// What the console says of the configuration: what was set, by the section of the dictionary and the name.
#[derive(Debug, Default)]
pub struct Settings {
    all: BTreeMap<(String, String), String>,
    /// Those since the last run ended: where HammerDB begins again, they are of the next run.
    fresh: BTreeMap<(String, String), String>,
}

impl Settings {
    /// Takes a line that says that something was set; `false` if it is none.
    pub fn take_line(&mut self, line: &str) -> bool {
        let Some((section, name, value)) = parse_setting(line) else { return false };
        let place = (section.to_owned(), bare_name(name).to_owned());
        self.fresh.insert(place.clone(), value.to_owned());
        self.all.insert(place, value.to_owned());
        true
    }

    /// Notes that HammerDB began again: nothing is known of its configuration but what it says from here on.
    pub fn begin_again(&mut self) {
        self.all.clone_from(&self.fresh);
    }

    /// Notes that a run has ended: what is set from here on is of the next.
    pub fn note_run_end(&mut self) {
        self.fresh.clear();
    }

    /// Collects the conditions of the load of a workload, `tpcc` or `tpch`.
    pub fn conditions_of_workload(&self, workload: &str) -> Point {
        let of_workload = self.all.iter().filter(|((section, _), _)| section == workload);
        conditions_of(&of_workload.map(|((_, name), value)| (name.as_str(), value.as_str())).collect::<Vec<_>>())
    }

    /// Collects the server and the database that were set.
    pub fn server_places(&self) -> Point {
        let mut found = Point::new();
        for ((section, name), value) in &self.all {
            let is_place = if section == "connection" { !is_secret(name) } else { name.contains("dbase") };
            places::put_place(&mut found, name, is_place.then_some(value.as_str()));
        }
        found
    }
}

/// Parses section, name and value of a line that sets something: `diset tpcc pg_count_ware 100`.
/// Also `Changed tpcc:pg_count_ware from 1 to 100 for PostgreSQL` or `Value 100 for tpcc:pg_count_ware is the same as
/// existing value 100, no change made`.
fn parse_setting(line: &str) -> Option<(&str, &str, &str)> {
    // A script that is shown with its output.
    let typed = line.trim_start().trim_start_matches("hammerdb>").trim_start();
    if let Some(words) = typed.strip_prefix("diset ") {
        let mut words = words.split_whitespace();
        let (section, name, value) = (words.next()?, words.next()?, words.next()?);
        return Some((section, name, value.trim_matches(['"', '{', '}'])));
    }
    let (name, value) = match line.strip_prefix("Changed ") {
        Some(changed) => {
            let (name, values) = changed.rsplit_once(" for ")?.0.split_once(" from ")?;
            (name, values.rsplit_once(" to ")?.1)
        }
        None => {
            let (value, rest) = line.strip_prefix("Value ")?.split_once(" for ")?;
            (rest.split_once(" is the same as existing value")?.0, value)
        }
    };
    let (section, name) = name.split_once(':')?;
    Some((section, name, value))
}

/// Tests whether a setting may hold a secret.
fn is_secret(name: &str) -> bool {
    ["pass", "user", "wallet", "key"].iter().any(|part| name.contains(part))
}

/// Makes a condition of a setting, if it is one.
fn condition_of(name: &str, value: &str) -> Option<(String, Value)> {
    if ASIDE.contains(&name) {
        return None;
    }
    let value = match value {
        "true" => Value::Bool(true),
        _ => match (value.parse(), WORDS.iter().find(|(word, _)| *word == name)) {
            (Ok(number), _) if !is_private(name) => Value::Int(number),
            (_, Some((_, usual))) if value != *usual && value.len() <= 32 => Value::Text(value.to_owned()),
            _ => return None,
        },
    };
    let name = NAMES.iter().find(|(own, _)| *own == name).map_or(name, |(_, name)| name);
    Some((name.to_owned(), value))
}

/// Tests whether a setting may be a password, a name or a place, which may be numbers.
fn is_private(name: &str) -> bool {
    ["pass", "user", "dbase", "port", "host"].iter().any(|part| name.contains(part))
}

/// Pairs words two by two.
fn word_pairs(words: &[String]) -> impl Iterator<Item = (&str, &str)> {
    words.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()))
}

/// Splits a list of Tcl's into words: braces and quotation marks keep blanks, a backslash the character behind it.
fn tcl_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && words.len() < MOST_WORDS {
        let (word, end) = match rest.as_bytes()[0] {
            b'{' => braced_word(rest),
            b'"' => quoted_word(rest),
            _ => bare_word(rest),
        };
        words.push(word);
        rest = rest[end..].trim_start();
    }
    words
}

/// Gives what stands between a brace and the one that closes it, and its length with them.
fn braced_word(text: &str) -> (String, usize) {
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' if depth == 1 => return (text[1..at].to_owned(), at + 1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    (text[1..].to_owned(), text.len())
}

/// Gives what stands between quotation marks, and its length with them.
fn quoted_word(text: &str) -> (String, usize) {
    let end = text[1..].find('"').map_or(text.len(), |at| at + 1);
    (text[1..end].to_owned(), (end + 1).min(text.len()))
}

/// Gives a word up to a blank, and its length.
fn bare_word(text: &str) -> (String, usize) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (text[..end].replace('\\', ""), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_options_that_change_the_load() {
        let text = "connection {pg_host localhost pg_port 5432} tpcc {pg_count_ware 100 pg_num_vu 8 pg_superuserpass 12345 \
                    pg_pass {a b\\}c} pg_partition true pg_driver timed pg_rampup 2 pg_duration 5 pg_keyandthink false \
                    pg_async_scale false pg_async_client 10} tpch {pg_scale_fact 3}";
        let expected: Point = [
            ("warehouses", Value::Int(100)),
            ("rampup_minutes", Value::Int(2)),
            ("duration_minutes", Value::Int(5)),
            ("partition", Value::Bool(true)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        assert_eq!(parse_conditions(text, "tpcc"), expected);
        assert_eq!(parse_conditions(text, "tpch"), Point::from([("scale_factor".to_owned(), Value::Int(3))]));
        let scaled = text.replace("async_scale false", "async_scale true").replace("driver timed", "driver test");
        let more = parse_conditions(&scaled, "tpcc");
        assert_eq!(
            (more["async_client"].clone(), more["driver"].clone()),
            (Value::Int(10), Value::Text("test".into()))
        );
    }

    #[test]
    fn no_dictionary_makes_it_panic() {
        for text in ["", "{", "tpcc", "tpcc {", "tpcc {a", "\"", "tpcc \\", "{é", "tpcc {é {é}}", "}}}}"] {
            let _ = parse_conditions(text, "tpcc");
        }
    }
}
