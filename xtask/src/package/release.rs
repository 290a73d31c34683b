//! The commit that is released: its version and its time, and tools that see nothing else of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

use crate::{git_changes, run_for_output};

/// A commit in a folder.
pub struct Release {
    pub root: PathBuf,
    pub version: String,
    /// When it was committed, in seconds since 1970: the time of every file.
    pub committed_s: u64,
    /// The same, as documents write it.
    pub committed: String,
    /// What cargo says of the packages that the workspace's lock names.
    pub metadata: Json,
}

impl Release {
    /// Reads version, time and crates of the commit that is checked out in `root`; fails if the tree differs.
    ///
    /// # Errors
    /// The tree differs from its commit, or git or cargo do not answer.
    pub fn read(root: &Path) -> Result<Self> {
        let changed = git_changes(root, &[])?;
        if !changed.is_empty() {
            bail!(
                "nobody could make these packages again: the tree differs from its commit\n{changed}hint: commit the changes, or put them aside with `git stash`"
            );
        }
        let log = |format: &str| {
            run_for_output(Command::new("git").args(["log", "-1", format]).env("TZ", "UTC").current_dir(root))
        };
        let arguments = ["metadata", "--locked", "--format-version=1"];
        let metadata = run_for_output(Command::new(crate::cargo_path()).args(arguments).current_dir(root))?;
        let metadata: Json = serde_json::from_str(&metadata).context("reading cargo's metadata")?;
        let packages = metadata["packages"].as_array().context("cargo told of no packages")?;
        let of_cli = packages.iter().find(|package| package["name"] == "cli" && package["source"].is_null());
        let version = of_cli.and_then(|cli| cli["version"].as_str()).context("the workspace has no cli")?.to_owned();
        Ok(Self {
            root: root.to_owned(),
            version,
            committed_s: log("--format=%ct")?.trim().parse().context("reading the commit's time")?,
            committed: log("--format=%cI")?.trim().to_owned(),
            metadata,
        })
    }

    /// Reads a file of the repository.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        std::fs::read(self.root.join(path)).with_context(|| format!("reading {path}"))
    }

    /// Makes the command of a tool that packs, which does not see who calls it, where or when.
    pub fn tool_command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("LC_ALL", "C").env("TZ", "UTC").env("HOME", "/nonexistent");
        command.env("SOURCE_DATE_EPOCH", self.committed_s.to_string());
        command
    }
}
