//! The commands and the SQL that a text shows of its load and that no reader knows. Results of one case below different ones are no
//! repetitions of each other, nor to be compared.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use model::Value;

use crate::imported::UNKNOWN_BENCHMARK;
use crate::{Imported, NotUnderstood, between};

/// The key of results whose loads differ.
pub const LOAD: &str = "load";

/// Makes a key of the loads that differ among the results of one case.
pub fn tell_loads_apart(imports: &mut [Imported]) {
    let mut by_case: BTreeMap<String, Vec<&BTreeSet<String>>> = BTreeMap::new();
    for import in imports.iter().filter(|import| !import.loads.is_empty()) {
        let cases: BTreeSet<String> =
            import.results.iter().map(|one| format!("{:?}", (&one.benchmark, &one.keys))).collect();
        cases.into_iter().for_each(|case| by_case.entry(case).or_default().push(&import.loads));
    }
    // A text may show the commands of several cases.
    by_case.retain(|_, loads| loads.iter().any(|one| one.is_disjoint(loads[0])));
    let different: BTreeSet<String> = by_case.into_keys().collect();
    let captions: Vec<Vec<String>> = imports.iter().map(|import| import.loads.iter().cloned().collect()).collect();
    let names = between::names(&captions);
    for (import, name) in imports.iter_mut().zip(names).filter(|(_, name)| !name.is_empty()) {
        let mut is_any = false;
        for result in import.results.iter_mut().filter(|result| result.benchmark != UNKNOWN_BENCHMARK) {
            if different.contains(&format!("{:?}", (&result.benchmark, &result.keys))) {
                result.keys.insert(LOAD.to_owned(), Value::Text(name.clone()));
                is_any = true;
            }
        }
        if is_any {
            import
                .notes
                .push(format!("the commands or the SQL differ among results of one case: they are the key `{LOAD}`"));
        }
    }
}

const TOOLS: [&str; 10] =
    ["pgbench", "sysbench", "fio", "diskspd", "go-ycsb", "ycsb", "mysqlslap", "go-tpc", "tpcc_start", "hammerdbcli"];

/// The loads that lines show.
pub(crate) fn of_lines<'a>(lines: impl Iterator<Item = &'a NotUnderstood>) -> BTreeSet<String> {
    let (mut loads, mut statements) = (BTreeSet::new(), IndexSet::new());
    for line in lines.map(|line| line.text.trim()) {
        if is_sql(line) {
            statements.insert(line);
        }
        loads.extend(command(line));
    }
    if !statements.is_empty() {
        loads.insert(statements.into_iter().collect::<Vec<_>>().join(" "));
    }
    loads
}

fn is_sql(line: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["\\set ", "select ", "insert ", "update ", "delete ", "with "];
    let lower = line.to_lowercase();
    BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning)) && (line.starts_with('\\') || line.ends_with(';'))
}

/// Arguments by which a tool makes or removes tables.
const PREPARING: [&str; 4] = ["prepare", "cleanup", "-i", "--initialize"];

/// The tool and its options, without places, lengths and outputs; `None` for one that makes or removes tables.
fn command(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !ENDS.contains(word)).collect();
    let at = words.iter().position(|word| TOOLS.contains(&base_name(word)))?;
    let arguments = &words[at + 1..];
    let has_options = arguments.iter().any(|word| word.starts_with('-'));
    if !has_options || arguments.iter().any(|word| PREPARING.contains(word)) {
        return None;
    }
    let tool = base_name(words[at]);
    let mut options = BTreeSet::new();
    let mut rest = words[at + 1..].iter().peekable();
    while let Some(word) = rest.next() {
        let (name, attached) = option(word);
        let takes_next = !word.starts_with("--") && attached.is_empty() && !(tool == "pgbench" && FLAGS.contains(word));
        let next = rest.next_if(|next| word.starts_with('-') && takes_next && !next.starts_with('-'));
        let value = next.copied().unwrap_or(attached);
        if word.starts_with('-') && !says_nothing(name) {
            options.insert(format!("{name} {}", base_name(value)).trim_end().to_owned());
        } else if tool == "sysbench" && !word.starts_with('-') && *word != "run" {
            options.insert(base_name(word).trim_end_matches(".lua").to_owned());
        }
    }
    Some(format!("{tool} {}", options.into_iter().collect::<Vec<_>>().join(" ")))
}

/// Words of a shell behind a command.
const ENDS: [&str; 8] = [">", ">>", "|", "&&", ";", "2>&1", "&", "<"];
/// Options of pgbench without a value.
const FLAGS: [&str; 8] = ["-C", "-N", "-S", "-l", "-n", "-r", "-v", "-k"];

fn base_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// The name of an option and the value behind it in one word.
fn option(word: &str) -> (&str, &str) {
    if word.starts_with("--") {
        return word.split_once('=').unwrap_or((word, ""));
    }
    word.split_at(word.char_indices().nth(2).map_or(word.len(), |(at, _)| at))
}

/// Tells whether an option is of a place, a length or an output.
fn says_nothing(name: &str) -> bool {
    const SHORT: [&str; 9] = ["-h", "-p", "-U", "-d", "-T", "-P", "-l", "-n", "-v"];
    const LONG: [&str; 20] = [
        "host",
        "port",
        "user",
        "pass",
        "socket",
        "dbname",
        "-db",
        "mysql-",
        "pgsql-",
        "db-",
        "time",
        "runtime",
        "progress",
        "report",
        "log",
        "output",
        "filename",
        "directory",
        "seed",
        "name",
    ];
    SHORT.contains(&name)
        || name
            .strip_prefix("--")
            .is_some_and(|name| LONG.iter().any(|word| name.starts_with(word) || name.ends_with(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_kept_without_places_and_lengths() {
        for (line, kept) in [
            ("$ pgbench -h 10.0.0.1 -c 8 -T 60 -S bench > run1.log", Some("pgbench -S -c 8")),
            ("+ /usr/bin/pgbench -D range=1000 -f /a/x.sql bench", Some("pgbench -D range=1000 -f x.sql")),
            ("pgbench -i -s 100 bench", None),
            (
                "sysbench oltp_read_only --mysql-host=a --tables=10 --time=60 --rand-seed=7 run",
                Some("sysbench --tables 10 oltp_read_only"),
            ),
            ("sysbench oltp_read_only --tables=10 prepare", None),
            ("we ran sysbench twice", None),
        ] {
            assert_eq!(command(line).as_deref(), kept, "{line}");
        }
    }
}
