//! `cargo xtask tidy`: the project's rules about its own sources, each with what to do instead.
//!
//! A rule that must be broken somewhere is listed with its reason in `xtask/tidy.toml`. An entry
//! that nothing needs any more is itself an error, so the list only ever shrinks by itself.

mod book;
mod files;
mod plain;
mod rooms;
mod rust;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Where the exceptions are, from the root of the repository.
const EXCEPTIONS: &str = "xtask/tidy.toml";

/// One breach of one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// From the root of the repository, with `/` on every platform.
    path: String,
    /// Counted from 1.
    line: usize,
    /// The name that `tidy.toml` uses.
    rule: &'static str,
    /// The function, crate or word concerned, where a file may hold several.
    item: String,
    /// What to do.
    advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.advice)
    }
}

/// `xtask/tidy.toml`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    #[serde(default)]
    exception: Vec<toml::Spanned<Exception>>,
    /// The rules about the language of the code.
    #[serde(default)]
    plain: plain::Plain,
}

/// One allowed breach.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    rule: String,
    path: String,
    /// Only this function, crate or word; without it, every breach of the rule in the file.
    item: Option<String>,
    reason: String,
}

impl Exception {
    /// Tests whether an exception is about a finding.
    fn covers(&self, finding: &Finding) -> bool {
        self.rule == finding.rule
            && self.path == finding.path
            && self.item.as_ref().is_none_or(|item| *item == finding.item)
    }
}

/// Checks the repository at `root`, prints what it finds on stderr, and says whether it is tidy.
///
/// # Errors
///
/// When git does not list the files or one of them cannot be read.
pub fn run(root: &Path) -> Result<bool> {
    let exceptions = match std::fs::read_to_string(root.join(EXCEPTIONS)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context(EXCEPTIONS),
    };
    let rules: Exceptions = toml::from_str(&exceptions).context(EXCEPTIONS)?;
    let files = files::list_files(root)?;
    let mut findings = files::check_files(root, &files)?;
    findings.extend(rust::check_all(root, &files)?);
    findings.extend(rooms::check_all(root, &files)?);
    findings.extend(plain::check_all(root, &files, &rules.plain)?);
    findings.extend(book::check_pages(root, &files)?);
    let findings = apply_exceptions(findings, &exceptions)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => eprintln!("tidy: {} files, nothing to do", files.len()),
        count => eprintln!("tidy: {count} to fix; what must stay is listed with its reason in {EXCEPTIONS}"),
    }
    Ok(findings.is_empty())
}

/// Removes the findings that `text` (the exceptions) allows, and adds the entries that allow nothing.
fn apply_exceptions(findings: Vec<Finding>, text: &str) -> Result<Vec<Finding>> {
    let exceptions: Exceptions = toml::from_str(text).context(EXCEPTIONS)?;
    let mut left = Vec::new();
    for entry in &exceptions.exception {
        let allowed = entry.get_ref();
        let advice = if allowed.reason.trim().is_empty() {
            "give the reason".to_owned()
        } else if findings.iter().any(|finding| allowed.covers(finding)) {
            continue;
        } else {
            format!("remove it, {} no longer breaks {}", allowed.path, allowed.rule)
        };
        left.push(Finding {
            path: EXCEPTIONS.to_owned(),
            line: 1 + text[..entry.span().start].matches('\n').count(),
            rule: "exception",
            item: allowed.rule.clone(),
            advice,
        });
    }
    let entries = &exceptions.exception;
    left.extend(findings.into_iter().filter(|finding| !entries.iter().any(|entry| entry.get_ref().covers(finding))));
    left.sort();
    left.dedup();
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(path: &str, item: &str) -> Finding {
        Finding {
            path: path.to_owned(),
            line: 7,
            rule: "file-length",
            item: item.to_owned(),
            advice: "split it".to_owned(),
        }
    }

    #[test]
    fn an_exception_covers_its_item_and_nothing_else() {
        let text = "[[exception]]\nrule = \"file-length\"\npath = \"a.rs\"\nitem = \"long\"\n\
                    reason = \"a table\"\n";
        let left = apply_exceptions(vec![finding("a.rs", "long"), finding("a.rs", "other")], text).unwrap();
        assert_eq!(left, vec![finding("a.rs", "other")]);
    }

    #[test]
    fn an_exception_that_nothing_needs_is_an_error() {
        let text = "# why\n[[exception]]\nrule = \"file-length\"\npath = \"a.rs\"\n\
                    reason = \"was long\"\n";
        let left = apply_exceptions(Vec::new(), text).unwrap();
        assert_eq!(left[0].to_string(), "xtask/tidy.toml:2: exception: remove it, a.rs no longer breaks file-length");
    }

    #[test]
    fn an_exception_needs_a_reason() {
        let text = "[[exception]]\nrule = \"file-length\"\npath = \"a.rs\"\nreason = \" \"\n";
        let left = apply_exceptions(vec![finding("a.rs", "long")], text).unwrap();
        assert_eq!(left[0].to_string(), "xtask/tidy.toml:1: exception: give the reason");
        let without = text.replace("reason = \" \"\n", "");
        assert!(apply_exceptions(Vec::new(), &without).is_err());
    }
}
