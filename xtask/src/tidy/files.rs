//! Rules about files as such: how long, how large, whose.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Finding;
use crate::run_for_output;

/// Longest source file, in lines.
const MAX_FILE_LINES: usize = 700;

/// Largest file in git, in bytes. Data belongs elsewhere, and history keeps it for ever.
const MAX_FILE_BYTES: u64 = 200_000;

/// What counts as source, by the end of the name.
const SOURCE: [&str; 5] = ["rs", "css", "js", "sql", "html"];

/// Words of unfinished work, spelt so that this file does not hold them.
const UNFINISHED_WORDS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];

/// Lists every file that git tracks or would add, from the root of the repository, sorted.
///
/// # Errors
///
/// When this is no git checkout.
pub fn list_files(root: &Path) -> Result<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let mut files: Vec<String> = run_for_output(Command::new("git").args(arguments).current_dir(root))?
        .split_terminator('\0')
        // Deleted, and not yet so in the index.
        .filter(|path| root.join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Finds files that are too large or too long, vendored, or unfinished.
///
/// # Errors
///
/// When one cannot be read.
pub fn check_files(root: &Path, files: &[String]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files {
        let size_bytes = root.join(path).metadata().context(path.clone())?.len();
        findings.extend(check_name_and_size(path, size_bytes));
        if is_source(path) {
            let text = std::fs::read_to_string(root.join(path)).context(path.clone())?;
            findings.extend(check_text(path, &text));
        }
    }
    Ok(findings)
}

/// Tests whether a file's ending is one of sources.
fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| SOURCE.contains(&extension))
}

/// Makes a finding about a file.
fn file_finding(path: &str, line: usize, rule: &'static str, item: &str, advice: String) -> Finding {
    Finding { path: path.to_owned(), line, rule, item: item.to_owned(), advice }
}

/// Finds a file that is too large for git, or minified code.
fn check_name_and_size(path: &str, size_bytes: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if size_bytes > MAX_FILE_BYTES {
        findings.push(file_finding(
            path,
            1,
            "file-size",
            "",
            format!(
                "{} kB in git, at most {}: generate it, or keep it elsewhere",
                size_bytes / 1000,
                MAX_FILE_BYTES / 1000
            ),
        ));
    }
    if path.ends_with(".min.js") {
        findings.push(file_finding(
            path,
            1,
            "vendored",
            "",
            "write the few lines that are needed instead of vendoring minified code".to_owned(),
        ));
    }
    findings
}

/// Finds a text with too many lines, and words of unfinished work in it.
fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        findings.push(file_finding(
            path,
            lines,
            "file-length",
            "",
            format!("{lines} lines, at most {MAX_FILE_LINES}: split it by subject"),
        ));
    }
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| UNFINISHED_WORDS.contains(word)) {
            findings.push(file_finding(
                path,
                index + 1,
                "unfinished",
                word,
                format!("{word}: finish it, or open an issue and say what is the case"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_long_file_is_found_and_one_at_the_limit_is_not() {
        let text = "x\n".repeat(MAX_FILE_LINES);
        assert_eq!(check_text("a.rs", &text), Vec::new());
        assert_eq!(rules(&check_text("a.rs", &format!("{text}x\n"))), ["file-length"]);
    }

    #[test]
    fn unfinished_words_are_found_as_words() {
        for word in UNFINISHED_WORDS {
            let bad = check_text("a.rs", &format!("ok\n// {word}: later\n"));
            assert_eq!((rules(&bad), bad[0].line), (vec!["unfinished"], 2));
            assert_eq!(check_text("a.rs", &format!("let A{word}B = 1;")), Vec::new());
        }
    }

    #[test]
    fn large_and_vendored_files_are_found() {
        assert_eq!(check_name_and_size("a.bin", MAX_FILE_BYTES), Vec::new());
        assert_eq!(rules(&check_name_and_size("a.bin", MAX_FILE_BYTES + 1)), ["file-size"]);
        assert_eq!(rules(&check_name_and_size("js/d3.min.js", 10)), ["vendored"]);
    }

    #[test]
    fn only_sources_are_read_for_length() {
        assert!(is_source("crates/report/src/page.css"));
        assert!(!is_source("docs/guide.md"));
        assert!(!is_source("LICENSE"));
    }
}
