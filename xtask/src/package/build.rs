//! The builds that packages are made of: étalon for one platform, under profile `dist`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::platform::Platform;
use super::release::Release;
use super::toolchain;

/// Cargo's profile, which is also the folder's name.
const PROFILE: &str = "dist";
/// A package is to be fetched in seconds: a program beyond this has grown by something that was not meant to be shipped.
const MOST_BYTES: u64 = 20_000_000;
/// The largest size of a program that brings a C library along, musl or MinGW's.
const MOST_BYTES_WITH_LIBRARY: u64 = 22_000_000;

/// Compiles étalon, if need be, and gives the program.
///
/// # Errors
/// It does not compile, a tool that it takes cannot be had, or it is larger than anybody expects.
pub fn build_program(release: &Release, platform: Platform) -> Result<PathBuf> {
    let triple = platform.target_triple();
    eprintln!("building étalon for {triple}, profile {PROFILE}");
    let mut cargo = toolchain::cargo_build(release, platform)?;
    cargo.args(["--locked", "--package", "cli", "--bin", "etalon"]);
    // With a target named, flags are for étalon alone, and not for what helps to build it.
    cargo.args(["--profile", PROFILE, "--target", &triple, "--target-dir"]).arg(release.root.join("target"));
    let status = cargo.current_dir(&release.root).stdin(Stdio::null()).status().context("starting cargo")?;
    if !status.success() {
        bail!("étalon does not compile for {triple}: {status}");
    }
    let binary = release.root.join("target").join(triple).join(PROFILE).join(platform.program_name());
    refuse_large(&binary, if platform == Platform::Glibc { MOST_BYTES } else { MOST_BYTES_WITH_LIBRARY })?;
    Ok(binary)
}

/// Fails if a program is larger than this number of bytes.
fn refuse_large(binary: &Path, most: u64) -> Result<()> {
    let bytes = binary.metadata().with_context(|| format!("looking at {}", binary.display()))?.len();
    eprintln!("{}: {:.1} MB", binary.display(), bytes as f64 / 1e6);
    if bytes > most {
        bail!(
            "{} has {bytes} bytes, at most {most} are shipped; hint: `cargo bloat` shows what it is",
            binary.display()
        );
    }
    Ok(())
}
