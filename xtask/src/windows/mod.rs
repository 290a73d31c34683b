//! `cargo xtask windows`: étalon for Windows, built on Linux and tried under Wine.

mod build;
mod postgres;
mod trials;
mod wine;

use std::path::Path;

use anyhow::Result;
use clap::Args;

pub use self::build::{TARGET, build_windows};
pub use self::wine::Wine;
use crate::elsewhere;
use crate::requirements::{MINGW, WINE, ensure_present};

/// What to do.
#[derive(Args)]
pub struct Options {
    /// The profile of the build.
    #[arg(long, default_value = "dev")]
    profile: String,
    /// Build it and its command `etalon-wine`, and try nothing.
    #[arg(long)]
    build_only: bool,
}

/// Makes sure that the compiler, Wine and PostgreSQL for [`run`] are there.
///
/// # Errors
/// Something cannot be had here.
pub fn prepare(root: &Path) -> Result<()> {
    ensure_present(vec![&MINGW, &WINE])?;
    elsewhere::prepare()?;
    postgres::programs_folder(root).map(|_| ())
}

/// Runs all trials on Windows by Wine; `true` if every trial holds, or if only a build was asked for.
///
/// # Errors
/// It does not compile, or there is no Wine.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    let etalon = build_windows(root, &options.profile)?;
    let wine = Wine::start(root)?;
    let command = wine.write_wrapper(&etalon)?;
    eprintln!("étalon for Windows: {}", etalon.display());
    eprintln!("under Wine: {}", command.display());
    if options.build_only { Ok(true) } else { trials::run_trials(root, &wine, &command) }
}
