//! The same commit once more, from another folder: bit for bit the same, or a difference that must be looked at.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use host::scratch::Scratch;

use super::platform::Platform;
use super::{make_packages, sums};
use crate::run_for_output;

/// Makes the packages from a clone of the commit, and compares them with those in `made`. True if none differs.
///
/// # Errors
/// The clone cannot be made, or the packages not be made from it.
pub fn compare_again(root: &Path, made: &Path, platforms: &[Platform]) -> Result<bool> {
    // A longer name than the first folder's: what holds it somewhere has another length.
    let scratch =
        Scratch::new("packages-made-once-more-elsewhere", None).context("making a folder for the second build")?;
    let clone = scratch.path().join("etalon");
    run_for_output(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(root).arg(&clone))?;
    // The tools are not built by it but by their own sources.
    let tools = clone.join("target/tools");
    fs::create_dir_all(clone.join("target")).context("making the second build's folder")?;
    std::os::unix::fs::symlink(root.join("target/tools"), tools).context("linking the tools")?;
    let again = make_packages(&clone, platforms)?;
    let mut is_same = true;
    for name in sums::file_names(made)? {
        match first_difference(&read_package(made, &name)?, &read_package(&again, &name)?) {
            None => eprintln!("the same  {name}"),
            Some(at) => {
                is_same = false;
                eprintln!("DIFFERENT {name}: from byte {at} on");
            }
        }
    }
    if !is_same {
        let kept = made.with_file_name("package-again");
        let _ = fs::remove_dir_all(&kept);
        run_for_output(Command::new("cp").arg("-r").arg(&again).arg(&kept))?;
        eprintln!("hint: the second ones are in {}; diffoscope shows what is different", kept.display());
    }
    Ok(is_same)
}

/// Reads a package in a folder.
fn read_package(folder: &Path, name: &str) -> Result<Vec<u8>> {
    fs::read(folder.join(name)).with_context(|| format!("reading {name}"))
}

/// Finds the byte where two files begin to differ; `None` if they are equal.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let common = one.iter().zip(other).position(|(one, other)| one != other);
    common.or_else(|| (one.len() != other.len()).then_some(one.len().min(other.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_differ_in_a_byte_or_in_their_length() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!(first_difference(b"abc", b"axc"), Some(1));
        assert_eq!(first_difference(b"abc", b"abcd"), Some(3));
    }
}
