//! `SHA256SUMS`: what `sha256sum --check` reads.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run_for_output;

/// The name of the file, next to what it sums.
pub const FILE: &str = "SHA256SUMS";

/// Lists the names of all files in a folder, sorted.
///
/// # Errors
/// It cannot be read.
pub fn file_names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Writes the SHA-256 of every file of a folder into `SHA256SUMS` there.
///
/// # Errors
/// sha256sum fails, or the sums cannot be written.
pub fn write_sums(folder: &Path) -> Result<()> {
    let names = file_names(folder)?;
    let sums = run_for_output(Command::new("sha256sum").arg("--").args(&names).current_dir(folder))?;
    eprint!("{sums}");
    fs::write(folder.join(FILE), sums).with_context(|| format!("writing {FILE}"))
}
