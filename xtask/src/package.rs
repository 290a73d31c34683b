//! `cargo xtask package`: what a release consists of, made of one commit, in `target/package`.
//!
//! Every file is a function of the commit and of the toolchain: folders' names, clocks, users and locales of who builds do not
//! reach it. `--twice` builds again in another folder and compares bit for bit; `--try` installs each package in a clean root,
//! asks it for its first verdict there, removes it, and compares what is left with what was there before.

mod again;
mod bill;
mod build;
mod contents;
mod deb;
mod linkage;
mod notices;
mod release;
mod rpm;
mod sums;
mod tarball;
#[cfg(test)]
mod tests;
mod toolchain;
mod trial;
mod validity;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::requirements::{self, PACKAGING};
use contents::{Layout, Tree};
use release::Release;

/// Where the packages are, from the root of the repository.
const FOLDER: &str = "target/package";

/// What to make.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Build again in another folder, and compare every file bit for bit.
    #[arg(long)]
    twice: bool,
    /// Install each package in a clean root, run `quickstart` there, remove it, and compare what is left.
    #[arg(long = "try")]
    tried: bool,
}

/// Makes the packages, and puts them to the proofs that are asked for. True if they held.
///
/// # Errors
/// The tree differs from its commit, something that it takes is missing, or a step fails.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    requirements::make_sure(PACKAGING.iter().collect())?;
    let mut is_good = true;
    let made = make(root)?;
    if options.twice {
        is_good &= again::compare(root, &made)?;
    }
    if options.tried {
        is_good &= trial::run(root, &made)?;
    }
    Ok(is_good)
}

/// Makes the packages from the commit in `root`, and gives their folder.
fn make(root: &Path) -> Result<PathBuf> {
    let release = Release::read(root)?;
    let folder = root.join(FOLDER);
    // What an earlier run left would be taken for this one's.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let binary = build::binary(&release)?;
    let floor = linkage::oldest_glibc(&binary)?;
    eprintln!("it needs glibc {floor} or newer");
    let bill = bill::Bill::read(&release, &binary)?;
    bill.write(&folder)?;
    let notices = notices::text(&bill)?;
    let tree = |layout: Layout| Tree::stage(&release, layout, &binary, &binary, &notices);
    tarball::write(&release, &tree(Layout::Archive)?, &build::name(&release), &folder)?;
    deb::write(&release, &tree(Layout::Deb)?, &floor, &folder)?;
    rpm::write(&release, &tree(Layout::Rpm)?, &folder)?;
    sums::write(&folder)?;
    Ok(folder)
}
