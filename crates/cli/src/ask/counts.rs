//! Numbers of options: clients, threads, the size of tables.

use std::ops::RangeInclusive;

use crate::args::guessed::{process_arguments, typed_line};
use crate::error::CliError;

/// Parses the numbers of an option, each once; fails on one that is out of the range.
pub fn parse_counts(
    option: &str,
    what: &str,
    written: &[String],
    range: RangeInclusive<u32>,
) -> Result<Vec<u32>, CliError> {
    let mut counts = Vec::new();
    for text in written {
        let count = text.trim().parse().ok().filter(|count| range.contains(count)).ok_or_else(|| {
            CliError::user_error(format!("`{option} {text}`: {what} is from {} to {}", range.start(), range.end()))
                .with_hint(match option {
                    "--clients" | "--scale" => match steps_of_range(text, &range) {
                        Some(steps) => explain_range(option, text, &steps),
                        None => format!("give one or several, as in `{option} 1,8`"),
                    },
                    "--threads" => "give one; `--set 'benchmarks.*.threads=[1, 8]'` compares several".to_owned(),
                    _ => format!("give one, as in `{option} 200`"),
                })
        })?;
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    Ok(counts)
}

/// Lists the numbers of `1-32`, `1..32` or `1:32`, each twice the one before, with the last; `None` for any other text.
fn steps_of_range(text: &str, range: &RangeInclusive<u32>) -> Option<Vec<u32>> {
    let (first, last) = ["..", "-", ":"].iter().find_map(|sign| text.split_once(sign))?;
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim_start_matches('=').trim().parse().ok()?);
    if first == 0 || first >= last || !range.contains(&first) || !range.contains(&last) {
        return None;
    }
    let doubled = std::iter::successors(Some(first), |step| step.checked_mul(2)).take_while(|step| *step < last);
    Some(doubled.chain([last]).collect())
}

/// Says what to type in place of a range: the whole line with its numbers.
fn explain_range(option: &str, text: &str, steps: &[u32]) -> String {
    let steps = steps.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut words = process_arguments();
    for word in &mut words {
        if let Some(start) = word.strip_suffix(text).filter(|start| start.is_empty() || start.starts_with('-')) {
            *word = format!("{start}{steps}");
        }
    }
    format!(
        "a range is written as its numbers, each of them a case (`{option} {steps}`): type `{}`",
        typed_line(&words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_steps_of_two_and_its_end() {
        for (text, steps) in [
            ("1-32", Some(vec![1, 2, 4, 8, 16, 32])),
            ("1..10", Some(vec![1, 2, 4, 8, 10])),
            ("3:7", Some(vec![3, 6, 7])),
            ("1..=4", Some(vec![1, 2, 4])),
            ("8-1", None),
            ("0-4", None),
            ("x-4", None),
            ("1-200", None),
        ] {
            assert_eq!(steps_of_range(text, &(1..=100)), steps, "{text}");
        }
    }
}
