//! Where figures come from, and where they go.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Bench;
use crate::{git_changes, run_for_output};

const DOCUMENT: &str = "docs/performance.md";
/// The facts of this machine that the figures depend on.
const FACTS: [&str; 9] = [
    "cpu.model",
    "cpu.available",
    "cpu.governor",
    "cpu.mitigations",
    "memory.total",
    "virtualisation",
    "kernel.version",
    "os.name",
    "clock.source",
];

/// Fails if the tree differs from its commit elsewhere than in the document: it could not be measured again.
///
/// # Errors
/// The tree differs from its commit elsewhere than in the document.
pub fn refuse_changes(root: &Path) -> Result<()> {
    let changed = git_changes(root, &[DOCUMENT])?;
    if changed.is_empty() {
        return Ok(());
    }
    bail!(
        "nobody could measure this tree again: it differs from its commit\n{changed}hint: commit the changes, or put them aside with `git stash`"
    )
}

/// Writes the head of a part's text: title, command, versions and machine.
///
/// # Errors
/// git does not give the commit, or a version's command fails.
pub fn part_head(root: &Path, bench: &Bench<'_>) -> Result<String> {
    let day = run_for_output(Command::new("date").args(["-u", "+%F"]))?;
    let commit = run_for_output(Command::new("git").args(["describe", "--always"]).current_dir(root))?;
    // The parts that were measured before this one have changed the document, and nothing that is measured.
    let changed = if git_changes(root, &[DOCUMENT])?.is_empty() { "" } else { "-dirty" };
    let version = run_for_output(Command::new(&bench.etalon).arg("--version"))?;
    let mut said = vec![format!("{}, commit {}{changed}", version.trim(), commit.trim())];
    for line in &bench.part.versions {
        let answer = run_for_output(bench.programs.make_command(&bench.values.fill_in(line)?)?)?;
        said.extend(answer.lines().next().map(|line| line.trim().to_owned()));
    }
    let facts = host::facts::client_facts(&[]);
    said.extend(FACTS.iter().filter_map(|name| Some(format!("{name} {}", facts.get(name)?))));
    let mut text = format!("## {}\n\n{}\n", bench.part.title, bench.part.text.trim());
    let _ = write!(text, "\n    {}\n\n{}: {}.\n", bench.options.command_line(), day.trim(), said.join("; "));
    Ok(text)
}

/// Writes a part's text next to its tables, and into the document if all of it was measured in full.
///
/// # Errors
/// A file cannot be written.
pub fn write_part(root: &Path, bench: &Bench<'_>, text: &str) -> Result<()> {
    let name = &bench.options.part;
    let path = bench.output.join("text.md");
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    eprintln!("tables, stores and text: {}", bench.output.display());
    if bench.options.is_whole() {
        let path = root.join(DOCUMENT);
        let before = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        fs::write(&path, put_part(&before, name, text)).with_context(|| format!("writing {}", path.display()))?;
        eprintln!("document: {}", path.display());
    }
    Ok(())
}

/// Puts a part's text between its two marks in the document, or at the end.
fn put_part(document: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let (before, rest) = document.split_once(&begin).unwrap_or((document, ""));
    let after = rest.split_once(&end).map_or("", |(_, after)| after);
    let after = after.trim_start_matches('\n');
    let gap = if after.is_empty() { "" } else { "\n" };
    format!("{}\n\n{begin}\n{}\n{end}\n{gap}{after}", before.trim_end(), text.trim())
}

#[cfg(test)]
mod tests {
    use super::put_part;

    #[test]
    fn a_part_is_put_and_replaced_and_others_stay() {
        let first = put_part("# Performance\n", "disk", "## Disk\n\none\n");
        assert_eq!(first, "# Performance\n\n<!-- disk: begin -->\n## Disk\n\none\n<!-- disk: end -->\n");
        let both = put_part(&first, "fleet", "hosts");
        let again = put_part(&both, "disk", "## Disk\n\ntwo");
        assert_eq!(again, both.replace("one", "two"));
    }
}
