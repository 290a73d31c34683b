//! The tests that did not run what they are for: each prints `skipped: REASON` and ends.

use std::io::{BufRead, Write};

/// What a passing test prints first when it cannot run here.
const SIGN: &str = "skipped: ";
/// The reason of the tests that take minutes.
const SLOW: &str = "ETALON_SLOW=1 runs it";

/// One test and why it was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The test's name, with its modules.
    pub test: String,
    /// Why.
    pub reason: String,
}

/// Copies what `cargo test -- --show-output` prints, without passing tests' output, and lists who skipped.
///
/// # Errors
/// Reading or writing failed.
pub fn copy_and_list_skipped(printed: impl BufRead, mut out: impl Write) -> std::io::Result<Vec<Skipped>> {
    let mut skipped = Vec::new();
    let mut test: Option<String> = None;
    let mut within_successes = false;
    for line in printed.lines() {
        let line = line?;
        if line == "successes:" {
            within_successes = true;
        } else if line == "failures:" || line.starts_with("test result: ") {
            within_successes = false;
        }
        if !within_successes {
            writeln!(out, "{line}")?;
            continue;
        }
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            test = Some(name.to_owned());
        } else if let (Some(reason), Some(test)) = (line.strip_prefix(SIGN), &test) {
            skipped.push(Skipped { test: test.clone(), reason: reason.to_owned() });
        }
    }
    Ok(skipped)
}

/// Writes how many tests were skipped and which, for the end of the summary.
pub fn summary(skipped: &[Skipped]) -> Vec<String> {
    let (slow, others): (Vec<&Skipped>, Vec<&Skipped>) = skipped.iter().partition(|one| one.reason == SLOW);
    let mut lines = vec![format!(
        "{} skipped because something is missing here, {} left to `cargo xtask test --slow`",
        others.len(),
        slow.len()
    )];
    lines.extend(others.iter().map(|one| format!("  skipped {}: {}", one.test, one.reason)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_skipped_is_found_and_who_failed_is_shown() {
        let printed = "running 3 tests\ntest a ... ok\n\nsuccesses:\n\n---- m::a stdout ----\nskipped: no `fio`\nmore\n\n\
                       ---- b stdout ----\nskipped: ETALON_SLOW=1 runs it\n\nsuccesses:\n    m::a\n    b\n\nfailures:\n\n\
                       ---- c stdout ----\nskipped: not this one\n\ntest result: FAILED.\n";
        let mut shown = Vec::new();
        let skipped = copy_and_list_skipped(printed.as_bytes(), &mut shown).unwrap();
        assert_eq!(skipped, [skipped_for("m::a", "no `fio`"), skipped_for("b", SLOW)]);
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("test a ... ok") && shown.contains("---- c stdout ----") && !shown.contains("more"));
        assert_eq!(summary(&skipped).len(), 2);
    }

    fn skipped_for(test: &str, reason: &str) -> Skipped {
        Skipped { test: test.to_owned(), reason: reason.to_owned() }
    }
}
