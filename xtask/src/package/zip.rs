//! A zip: one folder, sorted, everything of the commit's time.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use super::contents::Tree;
use super::release::Release;
use crate::run_for_output;

/// Packs a tree as `NAME.zip`, in which everything is under `NAME/`.
///
/// # Errors
/// zip fails, or a file's time cannot be set.
pub fn write_zip(release: &Release, tree: &Tree, name: &str, folder: &Path) -> Result<()> {
    let committed = UNIX_EPOCH + Duration::from_secs(release.committed_s);
    let files = tree.files()?;
    for file in &files {
        let opened = File::options().append(true).open(tree.path().join(file));
        opened.and_then(|opened| opened.set_modified(committed)).context("setting a file's time")?;
    }
    let work = tempfile::tempdir().context("making a folder for zip")?;
    symlink(tree.path(), work.path().join(name)).context("giving the folder its name")?;
    let mut zip = release.tool_command("zip");
    zip.args(["-X", "-q", "-9"]).arg(folder.join(format!("{name}.zip")));
    zip.args(files.iter().map(|file| Path::new(name).join(file)));
    run_for_output(zip.current_dir(work.path())).map(|_| ())
}
