//! A line between results, without its times and with the numbers that may be those of runs.

use std::collections::BTreeMap;

use super::times::without_times;
use super::tokens::{is_of_decimals, is_process_number, is_run_number, split_tokens};
use crate::captions::{is_of_run, is_time_taken};
use crate::sections::Lines;

#[derive(Clone, Debug)]
pub struct Line {
    /// The line without times.
    pub text: String,
    /// The text with `#` for `numbers`.
    pub shape: String,
    numbers: Vec<u64>,
    /// True if it says nothing but the number of a run.
    is_of_run: bool,
}

/// Reads the lines that say what was run, without times; others are left out.
pub fn read_lines(lines: &Lines<'_>) -> Vec<Line> {
    lines.iter().filter_map(|(_, line)| Line::read_line(line)).collect()
}

impl Line {
    /// Reads a line without times; `None` if nothing is left, or it is of a time taken or of the server.
    fn read_line(line: &str) -> Option<Line> {
        let text = without_times(line.trim());
        let text = text
            .split_once(" done")
            .filter(|(tuples, _)| tuples.contains(" tuples ("))
            .map_or(&*text, |(tuples, _)| tuples);
        if !text.contains(char::is_alphanumeric) || is_time_taken(text) || is_of_server(text) {
            return None;
        }
        let text = text.to_owned();
        let tokens = split_tokens(&text);
        let has_words = tokens.iter().any(|token| token.contains(char::is_alphabetic));
        let (mut shape, mut numbers) = (String::new(), Vec::new());
        for (at, token) in tokens.iter().enumerate() {
            let may_count = !has_words && numbers.is_empty() || is_run_number(&tokens, at);
            match token.parse() {
                Ok(number) if may_count && !is_of_decimals(&tokens, at) => {
                    numbers.push(number);
                    shape.push('#');
                }
                _ if is_process_number(&tokens, at) => shape.push('#'),
                _ => shape.push_str(token),
            }
        }
        let is_of_run = is_of_run(&text) && (has_words || !numbers.is_empty());
        Some(Line { text, shape, numbers, is_of_run })
    }
}

/// What pgbench prints of making its tables, and `script` of itself.
const STEPS: [&str; 13] = [
    "dropping old tables",
    "creating tables",
    "creating partitions",
    "creating primary keys",
    "creating foreign keys",
    "set primary key",
    "generating data",
    "vacuuming",
    "vacuum",
    "done in",
    "NOTICE:  table \"pgbench_",
    "Script started",
    "Script done",
];

/// Tells whether a line says what a server or a machine was doing, which is another thing each time.
/// Such lines are a step of initialisation, a row of numbers, a load, a place in the log.
fn is_of_server(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let numbers = words.iter().filter(|word| word.trim_end_matches([',', '%']).parse::<f64>().is_ok()).count();
    let is_progress = text.contains(" tuples (") && !text.contains("(100%)");
    is_progress
        || STEPS.iter().any(|step| text.starts_with(step))
        || ["load average:", "LOG:  checkpoint ", "°C"].iter().any(|sign| text.contains(sign))
        || (numbers > 2 && words.len() <= numbers + 1 && words.iter().any(|word| is_measured(word)))
        || words.iter().all(|word| is_place_in_log(word))
}

/// Tests whether a word is a number that no one sets: one with decimals, or a large one.
fn is_measured(word: &str) -> bool {
    word.parse::<f64>().is_ok() && (word.contains('.') || word.len() > 3)
}

/// Tests whether a word is a place in a server's log, such as `0/2A4E47E`.
fn is_place_in_log(word: &str) -> bool {
    word.split_once('/').is_some_and(|(_, at)| at.len() > 4) && word.chars().all(|c| c == '/' || c.is_ascii_hexdigit())
}

/// Tells of each shape with numbers whether these count runs up: by one, or again from the first.
/// Numbers without words count from 0 or 1.
pub fn counted_shapes(above: &[Vec<Line>]) -> BTreeMap<String, bool> {
    let mut numbers: BTreeMap<&str, Vec<&[u64]>> = BTreeMap::new();
    for line in above.iter().flatten().filter(|line| !line.numbers.is_empty()) {
        numbers.entry(&line.shape).or_default().push(&line.numbers);
    }
    numbers.into_iter().map(|(shape, all)| (shape.to_owned(), count_runs(shape, &all))).collect()
}

/// Tests whether the numbers in lines of one shape count runs.
fn count_runs(shape: &str, all: &[&[u64]]) -> bool {
    let is_counted = (0..all[0].len()).all(|at| {
        let first = all[0][at];
        all.windows(2)
            .all(|pair| pair[1][at] == first || pair[1][at].checked_sub(pair[0][at]).is_some_and(|step| step < 2))
    });
    is_counted && (shape.contains(char::is_alphabetic) || all[0].iter().all(|first| *first < 2))
}

/// Lists a caption's lines without those of runs, each in the text of the first line that says the same.
pub fn distinct_texts(
    lines: &[Line],
    counted: &BTreeMap<String, bool>,
    first: &mut BTreeMap<String, String>,
) -> Vec<String> {
    let with_counts = lines.iter().map(|line| (line, counted.get(&line.shape).copied().unwrap_or(true)));
    with_counts
        .filter(|(line, is_counted)| !(line.is_of_run && *is_counted))
        .map(|(line, is_counted)| {
            let identity = if is_counted { &line.shape } else { &line.text };
            first.entry(identity.clone()).or_insert_with(|| line.text.clone()).clone()
        })
        .collect()
}
