//! Names of files of which some are runs of one system.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{is_number, is_of_decimals, is_run_number, split};
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
    fn takes(self, tokens: &[&str]) -> bool {
        match self {
            Counting::Any => true,
            Counting::WholeNames => tokens.len() == 1,
            Counting::Never => false,
        }
    }
}

/// Names of files and folders without the numbers that count runs, and without dates: `old-1` and `old-2` are `old`. A number that
/// does not count from 0 or 1 stays, as does one of a version.
pub fn without_numbers_of_runs(names: &[String], counting: Counting) -> Vec<String> {
    let all: Vec<Vec<&str>> = names.iter().map(|name| split(name)).collect();
    let mut numbers = Numbers::new();
    for tokens in all.iter().filter(|tokens| counting.takes(tokens)) {
        for (at, number) in tokens.iter().enumerate().filter_map(|(at, token)| Some((at, token.parse().ok()?))) {
            numbers.entry((shape_of_name(tokens), at)).or_default().insert(number);
        }
    }
    all.iter().map(|tokens| bare_name(tokens, &numbers)).collect()
}

/// The numbers at a place of names that are alike but for their numbers.
type Numbers = BTreeMap<(String, usize), BTreeSet<u64>>;

fn shape_of_name(tokens: &[&str]) -> String {
    tokens.iter().map(|token| if is_number(token) { "#" } else { *token }).collect()
}

fn bare_name(tokens: &[&str], numbers: &Numbers) -> String {
    let shape = shape_of_name(tokens);
    let date = (0..tokens.len()).find(|at| is_year_of_date(tokens, *at)).unwrap_or(tokens.len());
    let name: String = (0..tokens.len())
        .filter(|at| {
            !is_number(tokens[*at]) || (*at < date && !counts_runs(tokens, *at, numbers.get(&(shape.clone(), *at))))
        })
        .map(|at| tokens[at])
        .collect();
    let parts = name.split(['-', '_', ' ', '.']).filter(|part| !part.is_empty());
    parts.filter(|part| !RUNS.contains(&part.to_lowercase().as_str())).collect::<Vec<_>>().join("-")
}

/// Tells whether the number of a name counts runs, among those of others; long ones are of dates and processes.
fn counts_runs(tokens: &[&str], at: usize, all: Option<&BTreeSet<u64>>) -> bool {
    let word = at.checked_sub(1).map(|before| tokens[before].to_lowercase()).unwrap_or_default();
    if ["v", "version", "patch", "rev"].contains(&word.as_str()) || is_of_decimals(tokens, at) {
        return false;
    }
    let counts = all.is_some_and(|all| {
        all.first().is_some_and(|first| *first < 2)
            && all.iter().zip(all.iter().skip(1)).all(|(one, next)| next - one == 1)
    });
    counts || tokens[at].len() > 5 || is_run_number(tokens, at)
}

/// The year of `2026-11-26`.
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
