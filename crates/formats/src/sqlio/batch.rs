//! Batch files that run SQLIO many times, like those that were published with its results.

use crate::text::{decode, numbered_lines, shorten};

use super::{Command, parse_command};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub runs: Vec<BatchRun>,
    /// What could not be carried out. A script with any problem is not its author's experiment.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRun {
    /// From 1.
    pub line: u64,
    /// The group: text of the last `echo` before it, undecorated.
    pub label: Option<String>,
    pub command: Command,
    /// Where its output goes.
    pub output: Option<Redirect>,
    pub pause_s: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub file: String,
    /// Replace or append.
    pub mode: RedirectMode,
}

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectMode {
    /// `>`: it is written from the start.
    Replace,
    /// `>>`: the output is added.
    Append,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u64,
    pub what: String,
    pub hint: Option<String>,
}

/// Statements that change what runs.
const CONTROL: &[&str] = &["for", "if", "goto", "set", "setlocal", "shift", "start"];
/// Statements that change no measurement.
const HARMLESS: &[&str] = &["cls", "cd", "chdir", "title", "pause", "color", "exit", "endlocal", "date", "time", "ver"];

/// Parses the runs of a batch file that calls `sqlio`; other statements are listed as problems.
/// It knows `sqlio` with redirections, `echo`, `timeout`, `sleep`, `rem`, `::`, `@echo off`, `&`, `&&`, and a `timeout`
/// with the next statement glued to it, as copied from web pages.
pub fn parse_script(bytes: &[u8]) -> Script {
    let mut script = Script::default();
    let mut label = None;
    for (number, line) in numbered_lines(&decode(bytes)) {
        let line = line.trim().trim_start_matches('@').trim_start();
        if is_remark(line) || is_label(line) {
            continue;
        }
        for statement in split_statements(line) {
            take_statement(&mut script, &mut label, number, statement.trim());
        }
    }
    script
}

/// Tests whether a line of a batch file is a remark.
fn is_remark(line: &str) -> bool {
    let lower = line.to_lowercase();
    line.starts_with("::") || lower == "rem" || lower.starts_with("rem ")
}

/// Tests whether a line of a batch file is a label.
fn is_label(line: &str) -> bool {
    line.starts_with(':')
}

/// Splits a line into statements at `&` and `&&`, but not in quotes or behind `>` (as in `2>&1`).
fn split_statements(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut quoted, mut before) = (0, false, ' ');
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '&' if !quoted && before != '>' => {
                parts.push(&line[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts.push(&line[from..]);
    parts
}

/// Takes a statement into the script: a run of `sqlio`, a name for it, a pause, or a problem.
fn take_statement(script: &mut Script, label: &mut Option<String>, line: u64, statement: &str) {
    let words = split_words(statement);
    let Some(first) = words.first() else { return };
    let lower = first.to_lowercase();
    let name = lower.rsplit(['\\', '/']).next().unwrap_or_default().trim_end_matches(".exe");
    let mut problem = |what: String, hint: &str| {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        script.problems.push(Problem { line, what, hint });
    };
    match name {
        "sqlio" => match parse_run(line, label.clone(), &words[1..]) {
            Ok(run) => script.runs.push(run),
            Err(error) => problem(error.to_string(), error.hint().unwrap_or_default()),
        },
        "call" => {
            let rest = statement.get(first.len()..).unwrap_or_default().trim_start();
            take_statement(script, label, line, rest);
        }
        _ if name == "echo" || name.starts_with("echo.") => set_label(label, statement),
        "timeout" | "sleep" => {
            let (seconds, rest) = split_pause(&words[1..]);
            match (seconds, script.runs.last_mut()) {
                (Some(seconds), Some(run)) => run.pause_s = run.pause_s.saturating_add(seconds),
                (Some(_), None) => {}
                (None, _) => problem(format!("{}: no number of seconds", shorten(statement)), ""),
            }
            if !rest.is_empty() {
                take_statement(script, label, line, &rest.join(" "));
            }
        }
        // `ping -n 6 127.0.0.1` is an old way to wait.
        _ if HARMLESS.contains(&name) || name == "ping" => {}
        _ if CONTROL.contains(&name) => {
            problem(format!("{name}: loops, conditions and variables are not carried out"), "write each run as a line");
        }
        _ => problem(format!("{} is not understood", shorten(statement)), ""),
    }
}

/// Sets the name of the next runs to what `echo` prints.
fn set_label(label: &mut Option<String>, statement: &str) {
    let text = statement.get(4..).unwrap_or_default().trim_start_matches(['.', ':', ' ']);
    if matches!(text.to_lowercase().trim(), "on" | "off") {
        return;
    }
    let text = text.split('>').next().unwrap_or_default();
    let bare = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '=' | '-' | '#' | '~' | '"'));
    if !bare.is_empty() {
        *label = Some(bare.to_owned());
    }
}

/// Finds the seconds of a `timeout`, and the words of the statement behind it.
fn split_pause(words: &[String]) -> (Option<u32>, &[String]) {
    let mut seconds = None;
    for (index, word) in words.iter().enumerate() {
        let lower = word.to_lowercase();
        if let Ok(number) = word.parse() {
            if seconds.is_some() {
                return (seconds, &words[index..]);
            }
            seconds = Some(number);
        } else if lower.starts_with('>') || lower == "nul" || matches!(lower.as_str(), "/t" | "/nobreak" | "-t") {
            // Part of the `timeout`.
        } else if let Some(number) = lower.strip_prefix("/t").and_then(|rest| rest.trim_start_matches(':').parse().ok())
        {
            seconds = Some(number);
        } else {
            return (seconds, &words[index..]);
        }
    }
    (seconds, &[])
}

/// Parses a run of `sqlio` with its redirection.
fn parse_run(line: u64, label: Option<String>, words: &[String]) -> Result<BatchRun, crate::FormatError> {
    let mut kept: Vec<&str> = Vec::new();
    let mut output = None;
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "2>&1" || word.starts_with("2>") {
            if word == "2>" || word == "2>>" {
                words.next();
            }
            continue;
        }
        let Some((before, file)) = word.split_once('>') else {
            kept.push(word);
            continue;
        };
        if before.contains('%') || word.contains('|') {
            return Err(crate::FormatError::of_whole(format!("{} is not carried out", shorten(word))));
        }
        if !before.is_empty() && before != "1" {
            kept.push(before);
        }
        let (mode, file) = match file.strip_prefix('>') {
            Some(file) => (RedirectMode::Append, file),
            None => (RedirectMode::Replace, file),
        };
        let file = if file.is_empty() { words.next().unwrap_or_default() } else { file };
        if file.is_empty() {
            return Err(crate::FormatError::of_whole("no file stands behind >"));
        }
        output = Some(Redirect { file: file.to_owned(), mode });
    }
    if let Some(word) = kept.iter().find(|word| word.contains(['%', '|', '<'])) {
        let error = crate::FormatError::of_whole(format!("{} is not carried out", shorten(word)));
        return Err(error.with_hint("write variables and pipes out"));
    }
    Ok(BatchRun { line, label, command: parse_command(&kept)?, output, pause_s: 0 })
}

/// Splits a line into words at blanks; quotes keep blanks and are dropped.
pub fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
