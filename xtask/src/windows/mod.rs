//! `cargo xtask windows`: étalon for Windows, built on Linux and tried under Wine.

mod build;
mod postgres;
mod trials;
mod wine;

use std::path::Path;

use anyhow::Result;
use clap::Args;

pub use self::build::{TARGET, build};
pub use self::wine::Wine;
use crate::elsewhere;
use crate::requirements::{MINGW, WINE, make_sure};

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

/// Makes sure that what [`run`] takes is there.
///
/// # Errors
/// Something cannot be had here.
pub fn ready(root: &Path) -> Result<()> {
    make_sure(vec![&MINGW, &WINE])?;
    elsewhere::ready()?;
    postgres::programs(root).map(|_| ())
}

/// True if every trial holds.
///
/// # Errors
/// It does not compile, or there is no Wine.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    let etalon = build(root, &options.profile)?;
    let wine = Wine::start(root)?;
    let command = wine.wrap(&etalon)?;
    eprintln!("étalon for Windows: {}", etalon.display());
    eprintln!("under Wine: {}", command.display());
    if options.build_only { Ok(true) } else { trials::run(root, &wine, &command) }
}
