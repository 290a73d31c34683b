//! Debian's compiler, for targets that have no standard library here: Debian packages its source, which is compiled along.

use std::process::Command;

use anyhow::Result;

use crate::requirements::{DEBIAN_RUST, ensure_present};

/// The path of Debian's cargo: on `PATH` rustup's may come first.
pub const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";
pub const SYSROOT: &str = "/usr";

/// Makes a command of Debian's cargo compile the standard library along.
/// Its verb stands already.
///
/// # Errors
/// The compiler is not there and cannot be installed.
pub fn use_debian_cargo(cargo: &mut Command) -> Result<()> {
    ensure_present(DEBIAN_RUST.iter().collect())?;
    add_library_build(cargo);
    cargo.env("RUSTC", RUSTC).env("CARGO", CARGO).env_remove("RUSTUP_TOOLCHAIN");
    Ok(())
}

/// Makes a command of any cargo that has the source compile the standard library along.
pub fn add_library_build(cargo: &mut Command) {
    // `-Z build-std` is for nightly compilers; `RUSTC_BOOTSTRAP` lets a stable one do it.
    cargo.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
}
