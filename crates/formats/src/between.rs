//! Lines between results that no reader knows. Results of one case are repetitions only if the lines above them say the same
//! but for the number and the time of a run.

mod file_names;
mod line;
mod times;
mod tokens;

use std::collections::BTreeMap;

use indexmap::IndexSet;

use crate::captions::{bare_words, is_warm_up};
use crate::loads;
use crate::sections::Lines;
pub use file_names::{Counting, without_numbers_of_runs};
use line::{Line, counted_shapes, distinct_texts};
pub use times::parse_moment_s;

/// Lines that readers know, and those above them that none does.
#[derive(Clone, Debug, Default)]
pub struct Block<'a> {
    pub above: Lines<'a>,
    pub lines: Lines<'a>,
}

/// Lists for each block of results what the lines above it say, without numbers and times of runs.
/// A block without such lines has those of the one before. `below` stands below the last block.
pub fn list_captions(blocks: &[Block<'_>], below: &Lines<'_>) -> Vec<Vec<String>> {
    let mut above: Vec<Vec<Line>> = blocks.iter().map(|block| line::read_lines(&block.above)).collect();
    let below = line::read_lines(below);
    // What is printed behind every run, the last one too, is of the run above it.
    for lines in above.iter_mut().skip(1) {
        let alike = lines.iter().zip(&below).take_while(|(one, other)| one.shape == other.shape).count();
        lines.drain(..alike);
    }
    // Lines are compared from the result upwards: more stands at the beginning of a text.
    let most = above.iter().skip(1).map(Vec::len).max().unwrap_or_default();
    if let Some(first) = above.first_mut() {
        first.drain(..first.len().saturating_sub(most));
    }
    let counted = counted_shapes(&above);
    let mut first = BTreeMap::new();
    let captions: Vec<Vec<String>> = above.iter().map(|lines| distinct_texts(lines, &counted, &mut first)).collect();
    let mut captions: Vec<Caption> = captions.into_iter().map(Caption::from_lines).collect();
    let is_separator = captions.len() > 2
        && captions[0].conditions.is_empty()
        && captions[2..].iter().all(|one| one.conditions == captions[1].conditions)
        && !captions[1].conditions.iter().any(|line| sets_something(line));
    if is_separator {
        captions.iter_mut().for_each(|caption| caption.conditions.clear());
    }
    for at in 1..captions.len() {
        let (before, rest) = captions.split_at_mut(at);
        // `Run 1` behind a warm-up is none.
        let is_run_said = above[at].iter().any(|line| !loads::is_command(&line.text));
        let ends_warm_up = is_run_said && before[at - 1].conditions.iter().any(|line| is_warm_up(line));
        rest[0].fill_in_from(&before[at - 1], !ends_warm_up);
    }
    captions.into_iter().map(|caption| [caption.conditions, caption.commands].concat()).collect()
}

/// Lists for each file what its head says, without numbers and times of runs.
pub fn captions_of_files(heads: &[&[String]]) -> Vec<Vec<String>> {
    let lines = |head: &&[String]| line::read_lines(&head.iter().map(|line| (0, line.as_str())).collect());
    let above: Vec<Vec<Line>> = heads.iter().map(lines).collect();
    let counted = counted_shapes(&above);
    let mut first = BTreeMap::new();
    above.iter().map(|lines| distinct_texts(lines, &counted, &mut first)).collect()
}

/// The lines above results: each kind holds until the next lines of the kind.
struct Caption {
    conditions: Vec<String>,
    /// What the shell shows of the load.
    commands: Vec<String>,
}

impl Caption {
    /// Splits lines into those on conditions and commands.
    fn from_lines(lines: Vec<String>) -> Caption {
        let (commands, conditions) = lines.into_iter().partition(|line| loads::is_command(line));
        Caption { conditions, commands }
    }

    /// Fills in the commands of the caption before where there are none, and its conditions if asked.
    fn fill_in_from(&mut self, before: &Caption, with_conditions: bool) {
        if self.conditions.is_empty() && with_conditions {
            self.conditions.clone_from(&before.conditions);
        }
        if self.commands.is_empty() {
            self.commands.clone_from(&before.commands);
        }
    }
}

/// Tells whether a line sets something, so that results above the first such line are of something else.
fn sets_something(line: &str) -> bool {
    line.contains('=') || line.to_lowercase().contains(" set ")
}

/// Makes a name of each caption: its lines, of long ones and commands the words in which they differ.
pub fn caption_names(captions: &[Vec<String>]) -> Vec<String> {
    let distinct: IndexSet<&Vec<String>> = captions.iter().collect();
    let texts = without_common_lines(&distinct);
    let is_long = texts.iter().any(|text| text.chars().count() > LONG || text.contains(" -"));
    let names = if is_long { without_common_words(&texts) } else { texts };
    captions.iter().filter_map(|caption| names.get(distinct.get_index_of(caption)?).cloned()).collect()
}

/// Joins the lines of each caption that not all of them have into one line.
fn without_common_lines(captions: &IndexSet<&Vec<String>>) -> Vec<String> {
    let filled: Vec<_> = captions.iter().filter(|caption| !caption.is_empty()).collect();
    let text_of = captions.iter().map(|caption| {
        let lines = caption.iter().filter(|line| filled.len() < 2 || !filled.iter().all(|other| other.contains(line)));
        lines.map(|line| bare_words(line)).collect::<Vec<_>>().join(" ")
    });
    text_of.collect()
}

/// Leaves out the words that all texts begin and end with, but for an option in front of what differs.
fn without_common_words(texts: &[String]) -> Vec<String> {
    let all: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let mut filled = all.iter().filter(|words| words.as_slice() != [""]);
    let (Some(first), 2..) = (filled.next(), texts.len()) else { return texts.to_vec() };
    let shortest = filled.clone().map(Vec::len).min().unwrap_or_default().min(first.len());
    let front = (0..shortest).take_while(|at| filled.clone().all(|words| words[*at] == first[*at])).count();
    let back = (1..=shortest - front)
        .take_while(|at| filled.clone().all(|words| words[words.len() - at] == first[first.len() - at]))
        .count();
    let from = if front > 0 && first[front - 1].starts_with('-') { front - 1 } else { front };
    let cut = all.iter().map(|words| words.get(from..words.len().saturating_sub(back)).unwrap_or_default().join(" "));
    let cut: Vec<String> = cut.collect();
    let is_any_lost = cut.iter().zip(texts).any(|(cut, text)| cut.is_empty() && !text.is_empty());
    if is_any_lost { texts.to_vec() } else { cut }
}

/// A caption with more characters is cut to what tells it apart.
const LONG: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    /// `R` is a result.
    fn captions_of(text: &str) -> Vec<String> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let mut above = Lines::new();
        for (line, number) in text.lines().zip(1..) {
            if line == "R" {
                blocks.push(Block { above: std::mem::take(&mut above), lines: vec![(number, line)] });
            } else {
                above.push((number, line));
            }
        }
        caption_names(&list_captions(&blocks, &above))
    }

    #[test]
    fn what_counts_runs_up_tells_nothing_apart() {
        for text in [
            "run 1\nR\nrun 2\nR\n",
            "=== iteration 1 of 3 ===\nR\n=== iteration 2 of 3 ===\nR\n=== iteration 3 of 3 ===\nR\n",
            "1\nR\n2\nR\n3\nR\n",
            "First run\nR\nOnce more\nR\n",
            "Thu Nov 26 05:09:19 UTC 2026\nR\nThu Nov 26 05:10:19 UTC 2026\nR\n",
            "2026-11-26 05:09:19.123 UTC [4711] LOG:  starting\nR\n2026-11-26 05:10:20.456 UTC [4799] LOG:  starting\nR\n",
            "R\nreal 0m5.1s\nR\nreal 0m5.2s\n",
            "done in 1.52 s (vacuum)\nR\ndone in 1.63 s (vacuum)\nR\n",
            "head\nof all\n$ pgbench\nR\n$ pgbench\nR\n",
            "R\nCHECKPOINT\nR\nCHECKPOINT\nR\n",
            "R\nCHECKPOINT\nR\nCHECKPOINT\n",
            "dropping old tables...\n100000 of 100000 tuples (100%) done (elapsed 0.23 s, remaining 0.00 s)\nvacuuming...\n\
             done in 0.59 s (drop tables 0.00 s, vacuum 0.19 s).\nR\nNOTICE:  table \"pgbench_history\" does not exist, skipping\n\
             100000 of 100000 tuples (100%) done (elapsed 0.31 s, remaining 0.00 s)\nR\n",
            " 10:01:33 up 3 days,  2:11,  1 user,  load average: 0.83, 0.31, 1.90\nR\n \
             10:02:33 up 3 days,  2:12,  1 user,  load average: 0.78, 0.77, 1.33\nR\n",
            "Mem:          64215       1693       36365\nR\nMem:          64215       1804       35046\nR\n",
            "nvme0n1          3.63    62.00  380.65\nR\nnvme0n1          6.73    14.99  434.08\nR\n",
            " 0/2A4E47E\n(1 row)\nR\n 0/4A2F0BD\n(1 row)\nR\n",
            "Script started on 2023-11-24 10:06:10+01:00\nR\nR\nScript done on 2023-11-24 10:06:10+01:00\n",
        ] {
            let found = captions_of(text);
            assert!(found.iter().all(|name| *name == found[0]), "{text}: {found:?}");
        }
    }

    #[test]
    fn a_condition_holds_until_the_next_one() {
        for (first, second) in [
            ("server 15.4", "server 16.0"),
            ("psql (15.4)", "psql (16.0)"),
            ("PostgreSQL 15.4 on x86_64-pc-linux-gnu", "PostgreSQL 16.0 on x86_64-pc-linux-gnu"),
            ("$ export PGOPTIONS=\"-c jit=on\"", "$ export PGOPTIONS=\"-c jit=off\""),
            ("$ psql -c \"ALTER SYSTEM SET jit = on\"", "$ psql -c \"ALTER SYSTEM SET jit = off\""),
            ("# mount -o noatime /dev/sdb /data", "# mount -o atime /dev/sdb /data"),
            ("+ sysctl -w vm.swappiness=1", "+ sysctl -w vm.swappiness=60"),
            ("$ date", "$ sudo systemctl restart postgresql"),
        ] {
            for command in ["$ pgbench -T60 b\nR\n", "$ sysbench cpu run\nR\n", "R\n"] {
                let runs = command.repeat(3);
                let found = captions_of(&format!("{first}\n{runs}{second}\n{runs}"));
                let text = format!("{command}: {found:?}");
                assert!(found[..3].iter().all(|name| *name == found[0]), "{text}");
                assert!(found[3..].iter().all(|name| *name == found[3] && *name != found[0]), "{text}");
            }
        }
        let restarts = "$ pgbench b\nR\n$ systemctl restart pg\n".repeat(3);
        assert_eq!(captions_of(&restarts)[1..], captions_of(&restarts)[..2], "it stands between all of them");
    }

    #[test]
    fn every_other_line_names_what_stands_below_it() {
        for (text, expected) in [
            ("=== master ===\nR\n=== patched ===\nR\n=== master ===\nR\n", &["master", "patched", "master"][..]),
            (
                "=== random_page_cost 1.1 ===\nR\n=== random_page_cost 2.0 ===\nR\n",
                &["random_page_cost 1.1", "random_page_cost 2.0"],
            ),
            ("=== PostgreSQL 15 ===\nR\n=== PostgreSQL 16 ===\nR\n", &["PostgreSQL 15", "PostgreSQL 16"]),
            ("jit=on\nR\nR\njit=off\nR\n", &["jit=on", "jit=on", "jit=off"]),
            ("R\npatched\nR\n", &["", "patched"]),
            ("test 100\nR\ntest 1000\nR\n", &["test 100", "test 1000"]),
            ("with 4 workers test\nR\nwith 8 workers test\nR\n", &["with 4 workers test", "with 8 workers test"]),
            ("commit_delay 10 ms\nR\ncommit_delay 100 ms\nR\n", &["commit_delay 10 ms", "commit_delay 100 ms"]),
            ("Test 1: master\nR\nTest 2: patched\nR\n", &["Test 1: master", "Test 2: patched"]),
            ("05:09 old\nR\n05:19 new\nR\n05:29 old\nR\n", &["old", "new", "old"]),
            ("$ pgbench -h 10.0.0.1 -S bench\nR\n$ pgbench -h 10.0.0.2 -S bench\nR\n", &["-h 10.0.0.1", "-h 10.0.0.2"]),
            ("15\nR\n16\nR\n", &["15", "16"]),
            ("ratio 1 2 4\nR\nratio 1 2 8\nR\n", &["ratio 1 2 4", "ratio 1 2 8"]),
            ("Warmup run\nR\nRun 1\nR\nRun 2\nR\n", &["Warmup run", "", ""]),
            (
                "100000 of 100000 tuples (100%) done\nR\n500000 of 500000 tuples (100%) done\nR\n",
                &["100000 of 100000 tuples (100%)", "500000 of 500000 tuples (100%)"],
            ),
            ("jit 0 run 1\nR\njit 1 run 1\nR\n", &["jit 0 run 1", "jit 1 run 1"]),
            ("Warmup run\n$ pgbench b\nR\nRun 1\n$ pgbench b\nR\nRun 2\nR\n", &["Warmup run", "", ""]),
            (
                "on\n$ pgbench -S b\nR\n$ pgbench -N b\nR\noff\n$ pgbench -S b\nR\n$ pgbench -N b\nR\n",
                &["on $ pgbench -S", "on $ pgbench -N", "off $ pgbench -S", "off $ pgbench -N"],
            ),
            (
                "x\n$ pgbench -S b\nR\ny\nR\nx\n$ pgbench -N b\nR\ny\nR\n",
                &["x $ pgbench -S", "y $ pgbench -S", "x $ pgbench -N", "y $ pgbench -N"],
            ),
        ] {
            assert_eq!(captions_of(text), expected, "{text}");
        }
    }
}
