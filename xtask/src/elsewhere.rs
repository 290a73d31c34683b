//! Étalon for other systems than this one, compiled here: by the compiler in use where that has their standard libraries, else
//! with the source of the standard library, which is compiled along.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::requirements::{DEBIAN_RUST, ensure_present};
use crate::{debian, run_for_output, test};

/// A system whose programs cannot run here, and the crate that is checked for it.
type Checked = (&'static str, &'static str);
/// What every run of the tests checks: the only crate that knows operating systems.
pub const HOST_FOR_MACOS: Checked = ("aarch64-apple-darwin", "host");
/// What is checked before a release: the others compile for Windows in every run of the tests.
pub const BEFORE_A_RELEASE: [Checked; 2] = [("aarch64-apple-darwin", "cli"), ("x86_64-unknown-illumos", "host")];
/// Another compiler's crates, and locks of its own.
pub const FOLDER: &str = "target/elsewhere";

/// Whether étalon's packages compile for systems that it is only checked for.
///
/// # Errors
/// There is no compiler for them.
pub fn check(root: &Path, systems: &[Checked]) -> Result<bool> {
    for (target, package) in systems {
        let mut command = cargo_command(root, "check", package, target)?;
        // What is only checked links nothing, so that C need not be compiled: a program that does nothing stands in, and any
        // folder for Apple's headers.
        command.env("TARGET_CC", "true").env("TARGET_AR", "true").env("SDKROOT", root);
        if !command.status().context("starting cargo")?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes sure that [`check`] has its compiler for macOS.
///
/// # Errors
/// It cannot be had here.
pub fn prepare() -> Result<()> {
    find_toolchain(HOST_FOR_MACOS.0).map(|_| ())
}

/// Makes a command of cargo that does this with a crate for another system.
///
/// # Errors
/// There is no compiler for it.
pub fn cargo_command(root: &Path, verb: &str, package: &str, target: &str) -> Result<Command> {
    let mut command = test::root_cargo_command(root, &[verb]);
    match find_toolchain(target)? {
        Toolchain::Whole => {}
        Toolchain::WithSource => debian::add_library_build(&mut command),
        Toolchain::Debian => {
            command = Command::new(debian::CARGO);
            debian::use_debian_cargo(command.arg(verb).current_dir(root))?;
        }
    }
    command.args(["--package", package, "--target", target, "--target-dir", FOLDER]);
    Ok(command)
}

/// A compiler for other systems.
enum Toolchain {
    /// The one in use, with their standard libraries, as after `rustup target add`.
    Whole,
    /// The one in use, as after `rustup component add rust-src`.
    WithSource,
    Debian,
}

/// Finds the toolchain that can check for a target; requires Debian's if there is no other.
fn find_toolchain(target: &str) -> Result<Toolchain> {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let sysroot = run_for_output(Command::new(rustc).args(["--print", "sysroot"]))?;
    let libraries: PathBuf = [sysroot.trim(), "lib", "rustlib"].iter().collect();
    if libraries.join(target).join("lib").is_dir() {
        return Ok(Toolchain::Whole);
    }
    if libraries.join("src/rust/library/std/Cargo.toml").is_file() {
        return Ok(Toolchain::WithSource);
    }
    ensure_present(DEBIAN_RUST.iter().collect())?;
    Ok(Toolchain::Debian)
}
