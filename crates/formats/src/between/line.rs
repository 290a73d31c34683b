//! A line between results, without its times and with the numbers that may be those of runs.

use std::collections::BTreeMap;

use super::times::without_times;
use super::tokens::{is_of_decimals, is_process, is_run_number, split};
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

/// Those of the lines that say what was run.
pub fn read(lines: &Lines<'_>) -> Vec<Line> {
    lines.iter().filter_map(|(_, line)| Line::read(line)).collect()
}

impl Line {
    fn read(line: &str) -> Option<Line> {
        let text = without_times(line.trim());
        if !text.contains(char::is_alphanumeric) || is_time_taken(&text) {
            return None;
        }
        let tokens = split(&text);
        let has_words = tokens.iter().any(|token| token.contains(char::is_alphabetic));
        let (mut shape, mut numbers) = (String::new(), Vec::new());
        for (at, token) in tokens.iter().enumerate() {
            let may_count = !has_words && numbers.is_empty() || is_run_number(&tokens, at);
            match token.parse() {
                Ok(number) if may_count && !is_of_decimals(&tokens, at) => {
                    numbers.push(number);
                    shape.push('#');
                }
                _ if is_process(&tokens, at) => shape.push('#'),
                _ => shape.push_str(token),
            }
        }
        let is_of_run = is_of_run(&text) && (has_words || !numbers.is_empty());
        Some(Line { text, shape, numbers, is_of_run })
    }
}

/// The shapes whose numbers count runs up: by one, or again from the first. Numbers without words count from 0 or 1.
pub fn counted_shapes(above: &[Vec<Line>]) -> BTreeMap<String, bool> {
    let mut numbers: BTreeMap<&str, Vec<&[u64]>> = BTreeMap::new();
    for line in above.iter().flatten().filter(|line| !line.numbers.is_empty()) {
        numbers.entry(&line.shape).or_default().push(&line.numbers);
    }
    numbers.into_iter().map(|(shape, all)| (shape.to_owned(), count_runs(shape, &all))).collect()
}

fn count_runs(shape: &str, all: &[&[u64]]) -> bool {
    let is_counted = (0..all[0].len()).all(|at| {
        let first = all[0][at];
        all.windows(2)
            .all(|pair| pair[1][at] == first || pair[1][at].checked_sub(pair[0][at]).is_some_and(|step| step < 2))
    });
    is_counted && (shape.contains(char::is_alphabetic) || all[0].iter().all(|first| *first < 2))
}

/// The lines of a caption without those of runs, each in the text of the first line that says the same.
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
