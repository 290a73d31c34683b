//! Names of files of which some are runs of one system.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{is_number, is_of_decimals, is_run_number, split_tokens};
use crate::captions::RUNS;

/// Which numbers may count runs, if they count from 0 or 1. Those of words such as `run-3` always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    Any,
    /// A number that is all of a name.
    WholeNames,
    Never,
}

impl Counting {
    /// Tests whether a number may count in a name of these tokens.
    fn may_count_in(self, tokens: &[&str]) -> bool {
        match self {
            Counting::Any => true,
            Counting::WholeNames => tokens.len() == 1,
            Counting::Never => false,
        }
    }
}

/// Strips names of files and folders of dates and the numbers that count runs: `old-1` and `old-2` are `old`.
/// A number that does not count from 0 or 1 stays, as does one of a version.
pub fn without_numbers_of_runs(names: &[String], counting: Counting) -> Vec<String> {
    let all: Vec<Vec<&str>> = names.iter().map(|name| split_tokens(name)).collect();
    let mut numbers = Numbers::new();
    for tokens in all.iter().filter(|tokens| counting.may_count_in(tokens)) {
        for (at, number) in tokens.iter().enumerate().filter_map(|(at, token)| Some((at, token.parse().ok()?))) {
            numbers.entry((shape_of_name(tokens), at)).or_default().insert(number);
        }
    }
    let mut days: BTreeMap<String, usize> = BTreeMap::new();
    all.iter().for_each(|tokens| *days.entry(day_in_name(tokens)).or_default() += 1);
    // Days with several runs each are of different systems or states.
    let tell_apart = days.len() > 1 && !days.contains_key("") && days.values().all(|count| *count > 1);
    let bare = all.iter().map(|tokens| (name_without_run(tokens, &numbers), day_in_name(tokens)));
    bare.map(|(name, day)| match (tell_apart, name.is_empty()) {
        (true, true) => day,
        (true, false) => format!("{day}-{name}"),
        (false, _) => name,
    })
    .collect()
}

/// Gives the day of the date in a name; empty if there is none.
fn day_in_name(tokens: &[&str]) -> String {
    let date = date_tokens(tokens);
    tokens.get(date.start..(date.start + 5).min(date.end)).unwrap_or_default().concat()
}

/// Endings of files that were rotated.
const ENDINGS: [&str; 3] = ["log", "out", "txt"];

/// The numbers at a place of names that are alike but for their numbers.
type Numbers = BTreeMap<(String, usize), BTreeSet<u64>>;

/// Joins a name's tokens with `#` for each number.
fn shape_of_name(tokens: &[&str]) -> String {
    tokens.iter().map(|token| if is_number(token) { "#" } else { *token }).collect()
}

/// Strips a file's name of the run's number, the date, long numbers, words for a run and endings.
fn name_without_run(tokens: &[&str], numbers: &Numbers) -> String {
    let shape = shape_of_name(tokens);
    let run = number_of_run(tokens, |at| numbers.get(&(shape.clone(), at)));
    let date = date_tokens(tokens);
    let kept = tokens.iter().enumerate().filter(|(at, token)| {
        let is_long = token.len() > 5 && !is_of_version(tokens, *at);
        !is_number(token) || !(date.contains(at) || is_long || run == Some(*at))
    });
    let name: String = kept.map(|(_, token)| *token).collect();
    let parts = name.split(['-', '_', ' ', '.']).filter(|part| part.contains(char::is_alphanumeric));
    let parts = parts.filter(|part| !RUNS.contains(&part.to_lowercase().as_str()) && !ENDINGS.contains(part));
    parts.collect::<Vec<_>>().join("-")
}

/// Finds the number in a name that counts runs: the last one that a word says to do so, or else that counts up.
/// One of a machine or a disk counts none.
fn number_of_run<'n>(tokens: &[&str], all: impl Fn(usize) -> Option<&'n BTreeSet<u64>>) -> Option<usize> {
    const THINGS: [&str; 17] = [
        "box", "db", "dev", "disk", "hdd", "host", "ip", "machine", "nvme", "node", "server", "srv", "ssd", "system",
        "vm", "vol", "volume",
    ];
    let places: Vec<usize> =
        (0..tokens.len()).rev().filter(|at| is_number(tokens[*at]) && !is_of_version(tokens, *at)).collect();
    let of_run = places.iter().find(|at| {
        let word = at.checked_sub(1).map(|before| tokens[before].to_lowercase()).unwrap_or_default();
        is_run_number(tokens, **at) || ["r", "try"].contains(&word.as_str())
    });
    let mut counting = places.iter().filter(|at| {
        let word = at.checked_sub(1).map(|before| tokens[before].to_lowercase()).unwrap_or_default();
        !THINGS.contains(&word.as_str()) && all(**at).is_some_and(counts_up)
    });
    let alone = counting.clone().find(|at| is_alone(tokens, **at));
    of_run.or(alone).or_else(|| counting.next()).copied()
}

/// Tells whether a number stands next to no letters.
fn is_alone(tokens: &[&str], at: usize) -> bool {
    let around = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| tokens.get(at));
    around.flat_map(|token| token.chars()).all(|c| !c.is_alphabetic())
}

/// Tests whether numbers count from 0 or 1 without a gap.
fn counts_up(numbers: &BTreeSet<u64>) -> bool {
    numbers.first().is_some_and(|first| *first < 2)
        && numbers.iter().zip(numbers.iter().skip(1)).all(|(one, next)| next - one == 1)
}

/// Tells whether a number is of a version: `v2`, `patch-3` or `16.4`.
fn is_of_version(tokens: &[&str], at: usize) -> bool {
    let word = at.checked_sub(1).map(|before| tokens[before].to_lowercase()).unwrap_or_default();
    ["v", "version", "patch", "rev"].contains(&word.as_str()) || is_of_decimals(tokens, at)
}

/// Finds the tokens of a date, with those of the time behind it: `2026-11-26_05-09-19`.
fn date_tokens(tokens: &[&str]) -> std::ops::Range<usize> {
    let Some(year) = (0..tokens.len()).find(|at| is_year_of_date(tokens, *at)) else { return 0..0 };
    let mut end = year + 5;
    while let [separator, number, ..] = &tokens[end..]
        && ["-", "_", ":", ".", " ", "T", "T-"].contains(separator)
        && is_number(number)
        && [2, 4, 6].contains(&number.len())
    {
        end += 2;
    }
    year..end
}

/// Tests whether a token is the year of a date such as `2026-11-26`.
fn is_year_of_date(tokens: &[&str], at: usize) -> bool {
    tokens[at].len() == 4
        && tokens[at].starts_with("20")
        && is_number(tokens[at])
        && [at + 2, at + 4].iter().all(|at| tokens.get(*at).is_some_and(|token| is_number(token) && token.len() == 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &[&str]) {
        check_as(Counting::Any, names, expected);
    }

    fn check_as(counting: Counting, names: &[&str], expected: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(without_numbers_of_runs(&names, counting), expected);
    }

    #[test]
    fn numbers_of_hosts_count_no_runs_where_none_may() {
        check_as(Counting::Never, &["host-1", "host-2"], &["host-1", "host-2"]);
        check_as(Counting::Never, &["1", "2"], &["1", "2"]);
        check_as(Counting::Never, &["run1", "run2"], &["", ""]);
        check_as(Counting::WholeNames, &["host-1", "host-2"], &["host-1", "host-2"]);
        check_as(Counting::WholeNames, &["1", "2"], &["", ""]);
        check_as(Counting::WholeNames, &["sync_on_run1", "sync_on_run2"], &["sync-on", "sync-on"]);
    }

    #[test]
    fn downloads_and_rotated_logs_are_runs_and_days_are_none() {
        check(&["old", "old (1)", "old (2)"], &["old", "old", "old"]);
        check(&["old", "old.log", "old.log"], &["old", "old", "old"]);
        let days = ["2026-11-26_pgbench_1", "2026-11-26_pgbench_2", "2026-11-27_pgbench_1", "2026-11-27_pgbench_2"];
        check(&days, &["2026-11-26-pgbench", "2026-11-26-pgbench", "2026-11-27-pgbench", "2026-11-27-pgbench"]);
        check(&["2026-11-26_1", "2026-11-27_1"], &["", ""]);
    }

    #[test]
    fn numbers_of_machines_count_no_runs() {
        check(&["db01_1", "db01_2", "db02_1", "db02_2"], &["db01", "db01", "db02", "db02"]);
        check(&["node1-try1", "node2-try1"], &["node1", "node2"]);
        check(&["c8_r1_m1", "c8_r2_m1", "c8_r1_m2"], &["c8-r-m1", "c8-r-m1", "c8-r-m2"]);
        check(&["1-sb1GB", "2-sb1GB", "1-sb2GB"], &["sb1GB", "sb1GB", "sb2GB"]);
        check(&["srv1", "srv2"], &["srv1", "srv2"]);
        check(&["nvme0n1_run2", "nvme1n1_run1"], &["nvme0n1", "nvme1n1"]);
        check(&["sb_1GB_1", "sb_2GB_1", "sb_2GB_2"], &["sb-1GB", "sb-2GB", "sb-2GB"]);
        check(
            &["2024-05-01T110000_pg15_threads8", "2024-05-01T120000_pg16_threads8"],
            &["T-pg15-threads8", "T-pg16-threads8"],
        );
    }

    #[test]
    fn names_of_files_are_without_numbers_of_runs() {
        check(&["r1", "r2", "r3"], &["r", "r", "r"]);
        check(&["1", "2"], &["", ""]);
        check(&["pg15", "pg16"], &["pg15", "pg16"]);
        check(&["pg15_c8_run1", "pg15_c8_run2", "pg16_c8_run1"], &["pg15-c8", "pg15-c8", "pg16-c8"]);
        check(&["patch-v1", "patch-v2"], &["patch-v1", "patch-v2"]);
        check(&["old-20261126T050919", "old-20261127T060000"], &["old-T", "old-T"]);
        check(&["old_2026-11-26_05-09-19", "old_2026-11-27_06-00-00"], &["old", "old"]);
        check(&["sql2019", "sql2022"], &["sql2019", "sql2022"]);
        check(&["old", "new"], &["old", "new"]);
    }
}
