//! The commands and the SQL that a text shows of its load and that no reader knows. Results of one case below different ones are no
//! repetitions of each other, nor to be compared.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use model::Value;

use crate::imported::UNKNOWN_BENCHMARK;
use crate::{Imported, ImportedResult, between, heads, lengths};

/// The key of results whose loads differ.
pub const LOAD: &str = "load";

/// Makes a key of the loads that differ among the results of one case, and of the settings that files of one system show.
pub fn tell_loads_apart(imports: &mut [Imported]) {
    lengths::tell_lengths_apart(imports);
    heads::put_warehouses(imports);
    heads::tell_files_apart(imports);
    let mut by_case: BTreeMap<String, Vec<&BTreeSet<String>>> = BTreeMap::new();
    for import in imports.iter().filter(|import| !import.loads.is_empty()) {
        let cases: BTreeSet<String> = import.results.iter().map(ImportedResult::case_text).collect();
        cases.into_iter().for_each(|case| by_case.entry(case).or_default().push(&import.loads));
    }
    // A text may show the commands of several cases.
    by_case.retain(|_, loads| loads.iter().any(|one| one.is_disjoint(loads[0])));
    let different: BTreeSet<String> = by_case.into_keys().collect();
    let captions: Vec<Vec<String>> = imports.iter().map(|import| import.loads.iter().cloned().collect()).collect();
    let names = between::caption_names(&captions);
    for (import, name) in imports.iter_mut().zip(names).filter(|(_, name)| !name.is_empty()) {
        let mut is_any = false;
        for result in import.results.iter_mut().filter(|result| result.benchmark != UNKNOWN_BENCHMARK) {
            if different.contains(&result.case_text()) {
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

/// Puts each command of a text in one line, with empty lines for those that it went on in.
pub(crate) fn with_whole_commands(text: &str) -> Cow<'_, str> {
    if !text.lines().any(continues_below) {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (mut command, mut count) = (line.to_owned(), 1);
        while let Some(front) = command.trim_end().strip_suffix('\\') {
            let Some(next) = lines.next_if(|next| !next.trim().is_empty() && names_tool_or_goes_on(front, next)) else {
                break;
            };
            // A shell prompts for each further line.
            let next = next.trim_start();
            command = format!("{} {}", front.trim_end(), next.strip_prefix("> ").unwrap_or(next));
            count += 1;
        }
        whole.push_str(&command);
        whole.extend(std::iter::repeat_n('\n', count));
    }
    if !text.ends_with('\n') {
        whole.pop();
    }
    Cow::Owned(whole)
}

/// Tests whether a line goes on in the next one.
fn continues_below(line: &str) -> bool {
    line.trim_end().ends_with('\\')
}

/// Tells whether a line that goes on is a command of a benchmark, as far as the next line shows.
fn names_tool_or_goes_on(line: &str, next: &str) -> bool {
    [line, next].iter().any(|line| line.trim_start().starts_with("$ ") || names_tool(line))
}

/// Tests whether a line calls one of the tools that are known.
fn names_tool(line: &str) -> bool {
    line.split_whitespace().any(|word| TOOLS.contains(&base_name(word)) || word == "tiup")
}

/// Collects the loads that lines show: commands, and all statements of SQL together.
pub(crate) fn loads_in_lines<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let (mut loads, mut statements) = (BTreeSet::new(), IndexSet::new());
    for line in lines.map(str::trim) {
        if is_sql(line) {
            statements.insert(line);
        }
        loads.extend(load_command(line));
    }
    if !statements.is_empty() {
        loads.insert(statements.into_iter().collect::<Vec<_>>().join(" "));
    }
    loads
}

/// Tests whether a line looks like a statement of a script.
fn is_sql(line: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["\\set ", "select ", "insert ", "update ", "delete ", "with "];
    let lower = line.to_lowercase();
    BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning)) && (line.starts_with('\\') || line.ends_with(';'))
}

/// Tells whether a line is the command of a load.
pub(crate) fn is_command(line: &str) -> bool {
    let has_prompt = line.starts_with(['$', '+', '#']);
    load_command(line).is_some() || (has_prompt && names_tool(line))
}

/// Arguments by which a tool makes or removes tables.
const PREPARING: [&str; 4] = ["prepare", "cleanup", "-i", "--initialize"];

/// Gives the tool and its options of a command, without places, lengths and outputs.
/// `None` for one that makes or removes tables.
fn load_command(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !ends_command(word)).collect();
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
        let (name, attached) = split_option(word);
        let takes_next = !word.starts_with("--") && attached.is_empty() && !(tool == "pgbench" && FLAGS.contains(word));
        let next = rest.next_if(|next| word.starts_with('-') && takes_next && !next.starts_with('-'));
        let value = next.copied().unwrap_or(attached);
        if word.starts_with('-') && !is_of_place_or_length(name) {
            options.insert(format!("{name} {}", base_name(value)).trim_end().to_owned());
        } else if tool == "sysbench" && !word.starts_with('-') && *word != "run" {
            options.insert(base_name(word).trim_end_matches(".lua").to_owned());
        }
    }
    Some(format!("{tool} {}", options.into_iter().collect::<Vec<_>>().join(" ")))
}

/// Tells whether a word of a shell stands behind a command: `|`, `2>&1`, `>run1.log`.
fn ends_command(word: &str) -> bool {
    ["|", "&&", ";", "&", "<"].contains(&word)
        || word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with('>')
}

/// Options of pgbench without a value.
const FLAGS: [&str; 8] = ["-C", "-N", "-S", "-l", "-n", "-r", "-v", "-k"];

/// Gives a program's name without folder and `.exe`.
fn base_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Splits an option from the value behind it in one word.
fn split_option(word: &str) -> (&str, &str) {
    if word.starts_with("--") {
        return word.split_once('=').unwrap_or((word, ""));
    }
    word.split_at(word.char_indices().nth(2).map_or(word.len(), |(at, _)| at))
}

/// Tells whether an option is of a place, a length or an output.
fn is_of_place_or_length(name: &str) -> bool {
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
    use crate::recognise::{Captions, Text, read};

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
            ("$ sysbench cpu --threads=2 run >run1.log 2>err", Some("sysbench --threads 2 cpu")),
        ] {
            assert_eq!(load_command(line).as_deref(), kept, "{line}");
        }
    }

    fn loads_of(text: &str) -> BTreeSet<String> {
        let options = crate::Options::default();
        let text = Text {
            text,
            source: "f",
            below: "f",
            system: "f",
            captions: Captions::Keys,
            reader: None,
            options: &options,
        };
        read(&text).unwrap().imports[0].loads.clone()
    }

    #[test]
    fn commands_are_compared_to_their_ends() {
        let slap = "Benchmark\n\tAverage number of seconds to run all queries: 0.5 seconds\n";
        for (command, one, other) in [
            ("$ pgbench -h db1.example.com -p 5432 -U postgres -c 8 -j 8 -D rows=N -f b.sql b", "10", "9999"),
            (
                "$ mysqlslap --concurrency=8 --iterations=10 --number-of-queries=100 --auto-generate-sql-load-type=N",
                "read",
                "write",
            ),
            (
                "$ fio --name=a --filename=/dev/nvme0n1 --ioengine=libaio --iodepth=32 --rw=randread --bs=4k --direct=N",
                "0",
                "1",
            ),
            ("$ mysqlslap --concurrency=8 \\\n> --iterations=10 \\\n  --engine=N", "innodb", "myisam"),
        ] {
            let [one, other] = [one, other].map(|value| loads_of(&format!("{}\n{slap}", command.replace('N', value))));
            assert!(!one.is_empty() && one.is_disjoint(&other), "{command}: {one:?}");
        }
    }

    #[test]
    fn a_command_in_several_lines_is_made_one() {
        for (text, whole) in [
            ("$ sysbench cpu \\\n   --threads=2 \\\n run\nx", "$ sysbench cpu --threads=2 run\n\n\nx"),
            ("$ A=1 \\\n  pgbench -S\n", "$ A=1 pgbench -S\n\n"),
            ("a \\\nb\n", "a \\\nb\n"),
            ("pgbench -S \\\n\nx\n", "pgbench -S \\\n\nx\n"),
        ] {
            assert_eq!(with_whole_commands(text), whole);
        }
    }
}
