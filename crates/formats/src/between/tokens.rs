//! Numbers, words and what stands between them in a text.

use crate::captions::RUNS;

/// Splits a text wherever digits, letters and other characters change.
pub fn split_tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| char_kind(c) != char_kind(first)).unwrap_or(rest.len());
        let (token, behind) = rest.split_at(end);
        tokens.push(token);
        rest = behind;
    }
    tokens
}

/// Gives the kind of a character: digit 0, letter 1, other 2.
fn char_kind(c: char) -> u8 {
    match c {
        _ if c.is_ascii_digit() => 0,
        _ if c.is_alphabetic() => 1,
        _ => 2,
    }
}

/// Tests whether a token begins with a digit.
pub fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// Tests whether a token is the number of a run: `run 3`, `run-3`, `Run #3`, `3rd run`, `3. run`.
pub fn is_run_number(tokens: &[&str], at: usize) -> bool {
    let mut before = tokens[..at].iter().rev().skip_while(|token| is_gap(token));
    let is_ordinal =
        tokens.get(at + 1).is_some_and(|next| ["st", "nd", "rd", "th"].contains(next) || next.starts_with('.'));
    let mut behind = tokens[at + 1..].iter().skip(1).skip_while(|token| is_gap(token));
    is_run_word(before.next()) || (is_ordinal && is_run_word(behind.next()))
}

/// Tests whether a token stands for a run, as in `run 3`.
fn is_run_word(token: Option<&&str>) -> bool {
    token.is_some_and(|word| RUNS.contains(&word.to_lowercase().as_str()))
}

/// Tests whether a token has neither letters nor digits.
fn is_gap(token: &str) -> bool {
    token.chars().all(|c| !c.is_alphanumeric())
}

/// Tests whether a token is a part of a number with points: `1.5`, `16.1` or `10.0.0.1`.
pub fn is_of_decimals(tokens: &[&str], at: usize) -> bool {
    is_point_and_number([tokens.get(at + 1), tokens.get(at + 2)])
        || (at > 1 && is_point_and_number([tokens.get(at - 1), tokens.get(at - 2)]))
}

/// Tests whether two tokens are a point and a number.
fn is_point_and_number(pair: [Option<&&str>; 2]) -> bool {
    matches!(pair, [Some(point), Some(number)] if *point == "." && is_number(number))
}

/// Tests whether a token is the number of a process: `pid 4711`, `[4711]`.
pub fn is_process_number(tokens: &[&str], at: usize) -> bool {
    let is_number = tokens[at].bytes().all(|byte| byte.is_ascii_digit());
    let before = at.checked_sub(1).map(|before| tokens[before]).unwrap_or_default();
    let word = at.checked_sub(2).map(|before| tokens[before].to_lowercase()).unwrap_or_default();
    let is_in_brackets = before.ends_with('[') && tokens.get(at + 1).is_some_and(|behind| behind.starts_with(']'));
    is_number && (is_in_brackets && tokens[at].len() > 2 || ["pid", "process"].contains(&word.as_str()))
}
