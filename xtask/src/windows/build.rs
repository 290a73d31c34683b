//! Étalon for Windows, built on Linux.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::elsewhere;
use crate::requirements::{MINGW, ensure_present};

/// What it is built for.
pub const TARGET: &str = "x86_64-pc-windows-gnu";

/// What the profile `dev` optimises, to measure with: to try étalon with, that is time lost.
const LEVELS: [(&str, u8); 8] = [
    ("audit", 0),
    ("hdrhistogram", 0),
    ("host", 0),
    ("libsqlite3-sys", 1),
    ("lz4-sys", 1),
    ("stats", 0),
    ("zlib-rs", 1),
    ("zstd-sys", 1),
];

/// Builds `etalon.exe` and gives its path, `target/elsewhere/x86_64-pc-windows-gnu/PROFILE/etalon.exe`.
///
/// # Errors
/// The compilers are not there, or it does not compile.
pub fn build_windows(root: &Path, profile: &str) -> Result<PathBuf> {
    ensure_present(vec![&MINGW])?;
    let mut command = elsewhere::cargo_command(root, "build", "cli", TARGET)?;
    command.args(["--profile", profile]);
    if profile == "dev" {
        command.args(["--config", "profile.dev.debug=false"]);
        for (package, level) in LEVELS {
            command.args(["--config", &format!("profile.dev.package.{package}.opt-level={level}")]);
        }
    }
    eprintln!("building étalon for Windows, profile {profile}");
    let status = command.status().context("starting cargo")?;
    if !status.success() {
        bail!("étalon was not built for Windows: cargo: {status}");
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(root.join(elsewhere::FOLDER).join(TARGET).join(folder).join("etalon.exe"))
}
