//! A tarball: one folder, sorted, everything of the commit's time and without an owner.

use std::path::Path;

use anyhow::Result;

use super::contents::Tree;
use super::release::Release;
use crate::run_for_output;

/// Packs a tree as `NAME.tar.gz`, in which everything is under `NAME/`.
///
/// # Errors
/// tar or gzip fail.
pub fn write_tarball(release: &Release, tree: &Tree, name: &str, folder: &Path) -> Result<()> {
    let mut tar = release.tool_command("tar");
    tar.args(["--create", "--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", release.committed_s)).arg("--use-compress-program=gzip -n -9");
    tar.arg(format!("--transform=s,^\\.,{name},")).arg("--file").arg(folder.join(format!("{name}.tar.gz")));
    run_for_output(tar.arg("--directory").arg(tree.path()).arg(".")).map(|_| ())
}
