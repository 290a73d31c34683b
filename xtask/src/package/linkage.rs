//! What a program asks of the system that it is started on, read from the program.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::ask;

/// The libraries that every Linux with glibc has.
const EXPECTED: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux"];
/// glibc of Ubuntu 22.04, of RHEL 9 and of Amazon Linux 2023. Debian 12, where packages are built, has 2.36.
const OLDEST: (u32, u32) = (2, 34);

/// The oldest glibc that has all that `program` imports.
///
/// # Errors
/// objdump cannot read it, or it asks for a library or a glibc that systems which are named in the documents lack.
pub fn oldest_glibc(program: &Path) -> Result<String> {
    let head = objdump("--private-headers", program)?;
    let strange = needed(&head).into_iter().find(|name| !EXPECTED.iter().any(|known| name.starts_with(known)));
    if let Some(strange) = strange {
        bail!("{} asks for {strange}, which not every system has", program.display());
    }
    let newest = versions(&head).last().copied().context("objdump lists no version of glibc")?;
    if newest > OLDEST {
        let symbols = objdump("--dynamic-syms", program)?;
        let culprits: Vec<&str> = importing(&symbols, newest).collect();
        let (major, minor) = OLDEST;
        bail!("{} is not for glibc {major}.{minor}: it imports {}", program.display(), culprits.join(", "));
    }
    Ok(format!("{}.{}", newest.0, newest.1))
}

fn objdump(what: &str, program: &Path) -> Result<String> {
    ask(Command::new("objdump").arg(what).arg(program).env("LC_ALL", "C"))
}

/// The libraries of `objdump --private-headers`.
fn needed(head: &str) -> BTreeSet<&str> {
    head.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim).collect()
}

/// The versions of glibc that the loader will ask for, by `objdump --private-headers`.
fn versions(head: &str) -> BTreeSet<(u32, u32)> {
    let references = head.split_once("Version References:").map_or("", |(_, references)| references);
    let version = |word: &str| {
        let mut parts = word.strip_prefix("GLIBC_")?.split('.').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    references.split_whitespace().filter_map(version).collect()
}

/// The symbols of `objdump --dynamic-syms` that are imported from one version of glibc.
fn importing(symbols: &str, version: (u32, u32)) -> impl Iterator<Item = &str> {
    let mark = format!("(GLIBC_{}.{})", version.0, version.1);
    symbols.lines().filter_map(move |line| Some(line.split_once(&mark)?.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_numbers() {
        let head = "  NEEDED               libc.so.6\n\nVersion References:\n  required from libc.so.6:\n\
            \x20   0x09691a75 0x00 04 GLIBC_2.2.5\n    0x06969194 0x00 03 GLIBC_2.34\n    0x069691b9 0x00 02 GLIBC_2.9\n";
        assert_eq!(versions(head).into_iter().collect::<Vec<_>>(), [(2, 2), (2, 9), (2, 34)]);
        let symbols = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34)  pthread_create\n\
            0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) write\n";
        assert_eq!(importing(symbols, (2, 34)).collect::<Vec<_>>(), ["pthread_create"]);
    }

    #[test]
    fn this_test_is_a_dynamic_program_and_says_so() {
        let own = std::env::current_exe().unwrap();
        let head = objdump("--private-headers", &own).unwrap();
        assert!(needed(&head).contains("libc.so.6"), "{head}");
        let newest = versions(&head).last().copied().unwrap();
        assert!(importing(&objdump("--dynamic-syms", &own).unwrap(), newest).count() > 0);
    }
}
