//! The build that packages are made of: étalon for Linux with glibc, under profile `dist`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::release::Release;
use super::toolchain;

/// Cargo's profile, which is also the folder's name.
const PROFILE: &str = "dist";
/// A package is to be fetched in seconds: a program beyond this has grown by something that nobody meant to ship. It has 21.2 MB,
/// and is to come below 20.
const MOST_BYTES: u64 = 22_000_000;

/// What a package that is no system's own is called, without its ending.
pub fn name(release: &Release) -> String {
    format!("etalon-{}-{}-linux-gnu", release.version, std::env::consts::ARCH)
}

/// Compiles étalon, if need be, and gives the program.
///
/// # Errors
/// It does not compile, a tool that it takes cannot be had, or it is larger than anybody expects.
pub fn binary(release: &Release) -> Result<PathBuf> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    eprintln!("building étalon for {target}, profile {PROFILE}");
    let mut cargo = toolchain::cargo(release)?;
    cargo.args(["build", "--locked", "--package", "cli", "--bin", "etalon"]);
    // With a target named, flags are for étalon alone, and not for what helps to build it.
    cargo.args(["--profile", PROFILE, "--target", &target, "--target-dir"]).arg(release.root.join("target"));
    let status = cargo.current_dir(&release.root).stdin(Stdio::null()).status().context("starting cargo")?;
    if !status.success() {
        bail!("étalon does not compile for {target}: {status}");
    }
    let binary = release.root.join("target").join(target).join(PROFILE).join("etalon");
    refuse_large(&binary)?;
    Ok(binary)
}

fn refuse_large(binary: &Path) -> Result<()> {
    let bytes = binary.metadata().with_context(|| format!("looking at {}", binary.display()))?.len();
    eprintln!("{}: {:.1} MB", binary.display(), bytes as f64 / 1e6);
    if bytes > MOST_BYTES {
        bail!(
            "{} has {bytes} bytes, at most {MOST_BYTES} are shipped; hint: `cargo bloat` shows what it is",
            binary.display()
        );
    }
    Ok(())
}
