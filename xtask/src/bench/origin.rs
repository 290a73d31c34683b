//! How figures came about: what the headers of all raw results have in common.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::{Extent, process};

/// The run that figures are of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// Whether this is everything, often and long enough to be judged, and a release build.
    pub is_whole: bool,
    /// The command that made it.
    pub command: String,
    /// The day.
    pub date: String,
    /// The machine, by the names that étalon's facts have for it.
    pub machine: Vec<(String, String)>,
    /// Program and version.
    pub versions: Vec<(String, String)>,
    /// How often everything was to be run.
    pub blocks: u32,
    /// How long each run was to last.
    pub seconds: u32,
    /// Seed of the order.
    pub seed: u64,
}

impl Origin {
    /// Of a run that begins now, of everything or of what `only` names. Its programs are still to be asked for their
    /// versions.
    pub fn now(extent: &Extent, only: Option<&str>, command: String) -> Origin {
        Origin {
            is_whole: only.is_none() && extent.is_whole(),
            command,
            date: date(),
            machine: machine(),
            versions: Vec::new(),
            blocks: extent.blocks,
            seconds: extent.seconds,
            seed: extent.seed,
        }
    }
}

/// Refuses to measure a tree that no commit reproduces. The document is excepted, since one bench after the other writes into it.
///
/// # Errors
/// Files differ from the commit, or git does not say.
pub fn refuse_changes(root: &Path) -> Result<()> {
    let mut status = Command::new("git");
    status
        .args(["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/performance.md"])
        .current_dir(root);
    let changed = process::ask(status)?;
    if changed.is_empty() {
        return Ok(());
    }
    bail!(
        "nobody could measure this tree again: it differs from its commit\n{changed}hint: commit the changes, or put them aside with `git stash`"
    )
}

/// What étalon, with its commit, and other programs say of their versions, each in one line.
pub fn versions(root: &Path, etalon: &Path, others: &[(&str, Option<&Path>)]) -> Vec<(String, String)> {
    let say = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(root).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let version = |program: &Path| say(program, &["--version"]);
    let commit = say(Path::new("git"), &["describe", "--always", "--dirty"]);
    let etalon = version(etalon).zip(commit).map(|(version, commit)| format!("{version}, {commit}"));
    let others = others.iter().map(|(name, program)| (*name, program.and_then(version)));
    let said = |said: Option<String>| said.unwrap_or_else(|| "not there".to_owned());
    [("étalon", etalon)].into_iter().chain(others).map(|(name, text)| (name.to_owned(), said(text))).collect()
}

/// The facts of this machine that the figures depend on.
fn machine() -> Vec<(String, String)> {
    const NAMES: [&str; 9] = [
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
    let facts = host::facts::client_facts(&[]);
    let value = |name: &str| facts.get(name).unwrap_or("not known").to_owned();
    NAMES.map(|name| (name.to_owned(), value(name))).to_vec()
}

/// Today, in UTC. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn date() -> String {
    let days = host::clock::unix_ms().div_euclid(86_400_000) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_its_usual_form() {
        let date = date();
        let parts: Vec<(usize, bool)> =
            date.split('-').map(|part| (part.len(), part.bytes().all(|byte| byte.is_ascii_digit()))).collect();
        assert_eq!(parts, [(4, true), (2, true), (2, true)], "{date}");
    }
}
