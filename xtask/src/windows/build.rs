//! Étalon for Windows, built on Linux.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::requirements::{MINGW, RUST_FOR_WINDOWS, make_sure};
use crate::{ask, test};

/// What it is built for.
const TARGET: &str = "x86_64-pc-windows-gnu";
/// Debian's compiler, whose standard library for Windows is compiled along: Debian packages its source alone.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// Builds `etalon.exe` and gives its path, `target/x86_64-pc-windows-gnu/PROFILE/etalon.exe`.
///
/// # Errors
/// The compilers are not there, or it does not compile.
pub fn build(root: &Path, profile: &str) -> Result<PathBuf> {
    make_sure(vec![&MINGW])?;
    let mut command = if has_standard_library()? {
        test::command(root, &["build"])
    } else {
        make_sure(RUST_FOR_WINDOWS.iter().collect())?;
        let mut debian = Command::new(DEBIAN_CARGO);
        // `-Z build-std` is for nightly compilers; `RUSTC_BOOTSTRAP` lets a stable one do it.
        debian.args(["build", "-Zbuild-std=std,panic_abort"]).env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1");
        debian.current_dir(root).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        debian
    };
    command.args(["--package", "cli", "--target", TARGET, "--profile", profile]);
    if profile == "dev" {
        // Optimised, SQLite alone takes a minute to compile: a build to try things with needs it less than one to measure with.
        command.args(["--config", "profile.dev.package.libsqlite3-sys.opt-level=1"]);
    }
    eprintln!("building étalon for Windows, profile {profile}");
    let status = command.status().context("starting cargo")?;
    if !status.success() {
        bail!("étalon was not built for Windows: cargo: {status}");
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(root.join("target").join(TARGET).join(folder).join("etalon.exe"))
}

/// Whether the compiler in use has one for Windows, as after `rustup target add x86_64-pc-windows-gnu`.
fn has_standard_library() -> Result<bool> {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let folder = ask(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]))?;
    Ok(Path::new(folder.trim()).is_dir())
}
