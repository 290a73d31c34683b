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
mod library;
mod linkage;
mod notices;
mod platform;
mod release;
mod rpm;
mod sums;
mod tarball;
#[cfg(test)]
mod tests;
mod toolchain;
mod trial;
mod validity;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::requirements;
use contents::{Layout, Tree};
use platform::Platform;
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
    /// What to make packages for.
    #[arg(long = "for", value_enum, default_value = "glibc")]
    platforms: Vec<Platform>,
}

/// Makes the packages, and puts them to the proofs that are asked for. True if they passed.
///
/// # Errors
/// The tree differs from its commit, something that it takes is missing, or a step fails.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    requirements::ensure_packaging(
        options.platforms.iter().flat_map(|platform| platform.requirements()),
        options.tried,
    )?;
    let mut is_good = true;
    let made = make_packages(root, &options.platforms)?;
    if options.twice {
        is_good &= again::compare_again(root, &made, &options.platforms)?;
    }
    if options.tried {
        is_good &= trial::run(root, &made)?;
    }
    Ok(is_good)
}

/// Makes the packages from the commit in `root`, and gives their folder.
fn make_packages(root: &Path, platforms: &[Platform]) -> Result<PathBuf> {
    let release = Release::read(root)?;
    let folder = root.join(FOLDER);
    // What an earlier run left would be taken for this one's.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    // Only what runs here can print its manual.
    let speaker = build::build_program(&release, Platform::Glibc)?;
    for platform in platforms {
        pack_platform(&release, *platform, &speaker, &folder)?;
    }
    sums::write_sums(&folder)?;
    Ok(folder)
}

/// Makes the packages for one platform in a folder.
fn pack_platform(release: &Release, platform: Platform, speaker: &Path, folder: &Path) -> Result<()> {
    let binary = build::build_program(release, platform)?;
    let bill = bill::Bill::read_from_program(release, platform, &binary)?;
    bill.write(folder)?;
    let notices = notices::notices_text(&bill, platform)?;
    let tree = |layout: Layout| Tree::stage_package(release, layout, &binary, speaker, &notices);
    let name = platform.package_name(release);
    match platform {
        Platform::Glibc => {
            let floor = linkage::oldest_glibc(&binary)?;
            eprintln!("it needs glibc {floor} or newer");
            tarball::write_tarball(release, &tree(Layout::Archive)?, &name, folder)?;
            deb::write_deb(release, &tree(Layout::Deb)?, &floor, folder)?;
            rpm::write_rpm(release, &tree(Layout::Rpm)?, folder)
        }
        Platform::Musl => {
            linkage::refuse_dynamic(&binary)?;
            tarball::write_tarball(release, &tree(Layout::Archive)?, &name, folder)
        }
        Platform::Windows => {
            linkage::refuse_mingw(&binary)?;
            zip::write_zip(release, &tree(Layout::Windows)?, &name, folder)
        }
    }
}
