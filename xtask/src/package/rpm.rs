//! A package of Fedora's, RHEL's and SUSE's.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::contents::Tree;
use super::release::Release;
use crate::run_for_output;

/// What it says of itself, and what runs before its files go.
const SPEC: &str = "deploy/packages/etalon.spec";
/// Nothing of the machine, the user or the clock, and nothing done to the files: they are as they are to be.
const REPRODUCIBLE: [&str; 8] = [
    "_buildhost etalon",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "_build_id_links none",
    "debug_package %{nil}",
    "__os_install_post %{nil}",
    "_binary_payload w9.xzdio",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
];

/// The folders that every system has. rpm leaves behind what it made for a package that does not call it its own.
const SYSTEMS: [&str; 9] = [
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib/systemd",
    "/usr/lib/systemd/system",
    "/usr/share",
    "/usr/share/doc",
    "/usr/share/man",
    "/usr/share/man/man1",
];

/// Packs a tree as an `.rpm` into a folder.
///
/// # Errors
/// rpmbuild fails, or a file cannot be read or written.
pub fn write_rpm(release: &Release, tree: &Tree, folder: &Path) -> Result<()> {
    let work = tempfile::tempdir().context("making a folder for rpmbuild")?;
    let mut list = String::from("%defattr(-,root,root)\n");
    for entry in tree.entries()? {
        let path = format!("/{}", entry.display());
        if !tree.path().join(&entry).is_dir() {
            writeln!(list, "\"{path}\"")?;
        } else if !SYSTEMS.contains(&path.as_str()) {
            writeln!(list, "%dir \"{path}\"")?;
        }
    }
    let files = work.path().join("files");
    std::fs::write(&files, list).context("writing the list of files")?;
    let mut build = release.tool_command("rpmbuild");
    build.arg("-bb").env("HOME", work.path());
    for define in REPRODUCIBLE {
        build.args(["--define", define]);
    }
    let values = [
        ("_topdir", work.path().display().to_string()),
        ("_rpmdir", folder.display().to_string()),
        ("etalon_version", release.version.clone()),
        ("etalon_tree", tree.path().display().to_string()),
        ("etalon_files", files.display().to_string()),
    ];
    for (name, value) in values {
        build.args(["--define", &format!("{name} {value}")]);
    }
    run_for_output(build.arg(release.root.join(SPEC))).map(|_| ())
}
