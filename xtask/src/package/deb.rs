//! A package of Debian's and Ubuntu's.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::contents::Tree;
use super::release::Release;
use crate::run_for_output;

/// Its fields, but for what is counted.
const CONTROL: &str = "deploy/packages/control";
/// Nothing is enabled by installing the package; what was enabled since is ended before its program goes.
const BEFORE_REMOVAL: &str = "deploy/packages/prerm";

/// Packs a tree as a `.deb` that needs glibc of the version `glibc` or newer.
///
/// # Errors
/// dpkg-deb fails, or a file cannot be read or written.
pub fn write_deb(release: &Release, tree: &Tree, glibc: &str, folder: &Path) -> Result<()> {
    let architecture = run_for_output(release.tool_command("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let files = tree.files()?;
    let mut size_kib = 0;
    for file in &files {
        size_kib += tree.path().join(file).metadata().context("counting the size")?.len().div_ceil(1024);
    }
    let sums = run_for_output(release.tool_command("md5sum").arg("--").args(&files).current_dir(tree.path()))?;
    let control = String::from_utf8(release.read_file(CONTROL)?).context("control is no text")?;
    let control = control.replace("@VERSION@", &release.version).replace("@ARCHITECTURE@", architecture);
    let control = control.replace("@GLIBC@", glibc).replace("@SIZE@", &size_kib.to_string());
    tree.put_file("DEBIAN/control", 0o644, control.as_bytes())?;
    tree.put_file("DEBIAN/md5sums", 0o644, sums.as_bytes())?;
    tree.put_file("DEBIAN/prerm", 0o755, &release.read_file(BEFORE_REMOVAL)?)?;
    let mut build = release.tool_command("dpkg-deb");
    // One thread, since their number would show in the file.
    build.args(["--root-owner-group", "--threads-max=1", "-Zxz", "--build"]).arg(tree.path());
    run_for_output(build.arg(folder.join(format!("etalon_{}_{architecture}.deb", release.version)))).map(|_| ())
}
