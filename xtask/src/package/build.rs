//! The builds that packages are made of: étalon for one platform, under profile `dist`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::platform::Platform;
use super::release::Release;
use super::toolchain;

/// Cargo's profile, which is also the folder's name.
const PROFILE: &str = "dist";
/// A package is to be fetched in seconds: a program beyond this has grown by something that nobody meant to ship.
const MOST_BYTES: u64 = 22_000_000;

/// Compiles étalon, if need be, and gives the program.
///
/// # Errors
/// It does not compile, a tool that it takes cannot be had, or it is larger than anybody expects.
pub fn binary(release: &Release, platform: Platform) -> Result<PathBuf> {
    let triple = platform.triple();
    eprintln!("building étalon for {triple}, profile {PROFILE}");
    let mut cargo = toolchain::cargo_build(release, platform)?;
    cargo.args(["--locked", "--package", "cli", "--bin", "etalon"]);
    // With a target named, flags are for étalon alone, and not for what helps to build it.
    cargo.args(["--profile", PROFILE, "--target", &triple, "--target-dir"]).arg(release.root.join("target"));
    let status = cargo.current_dir(&release.root).stdin(Stdio::null()).status().context("starting cargo")?;
    if !status.success() {
        bail!("étalon does not compile for {triple}: {status}");
    }
    let binary = release.root.join("target").join(triple).join(PROFILE).join(platform.program());
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
