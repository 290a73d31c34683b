//! What a program asks of the system that it is started on, read from the program.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::run_for_output;

/// The libraries that every Linux with glibc has.
const EXPECTED: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux"];
/// glibc of Ubuntu 22.04, of RHEL 9 and of Amazon Linux 2023. Debian 12, where packages are built, has 2.36.
const OLDEST: (u32, u32) = (2, 34);

/// Finds the oldest glibc that has all that `program` imports; fails if it is newer than systems have.
///
/// # Errors
/// objdump cannot read it, or it asks for a library or a glibc that systems which are named in the documents do not have.
pub fn oldest_glibc(program: &Path) -> Result<String> {
    let head = objdump("--private-headers", program)?;
    let strange =
        needed_libraries(&head).into_iter().find(|name| !EXPECTED.iter().any(|known| name.starts_with(known)));
    if let Some(strange) = strange {
        bail!("{} asks for {strange}, which not every system has", program.display());
    }
    let newest = glibc_versions(&head).last().copied().context("objdump lists no version of glibc")?;
    if newest > OLDEST {
        let symbols = objdump("--dynamic-syms", program)?;
        let culprits: Vec<&str> = imported_symbols(&symbols, newest).collect();
        let (major, minor) = OLDEST;
        bail!("{} is not for glibc {major}.{minor}: it imports {}", program.display(), culprits.join(", "));
    }
    Ok(format!("{}.{}", newest.0, newest.1))
}

/// Fails unless a program is static: needs no loader and no library of the system.
///
/// # Errors
/// objdump cannot read it, or it is not static.
pub fn refuse_dynamic(program: &Path) -> Result<()> {
    let head = objdump("--private-headers", program)?;
    if is_static(&head) {
        return Ok(());
    }
    let libraries: Vec<&str> = needed_libraries(&head).into_iter().collect();
    bail!("{} is not static: it asks for a loader, and for {:?}", program.display(), libraries.join(", "))
}

/// Fails if a program asks for more than Windows has: MinGW's own libraries, named as those of Unix.
///
/// # Errors
/// objdump cannot read it, or it does.
pub fn refuse_mingw(program: &Path) -> Result<()> {
    let head = objdump("--private-headers", program)?;
    let foreign: Vec<&str> = windows_libraries(&head).filter(|name| name.starts_with("lib")).collect();
    if !foreign.is_empty() {
        bail!("{} asks for {}, which Windows has not", program.display(), foreign.join(", "));
    }
    Ok(())
}

/// Runs `objdump` on a program, and gives what it prints.
fn objdump(what: &str, program: &Path) -> Result<String> {
    run_for_output(Command::new("objdump").arg(what).arg(program).env("LC_ALL", "C"))
}

/// Lists the libraries that `objdump --private-headers` says are needed.
fn needed_libraries(head: &str) -> BTreeSet<&str> {
    head.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim).collect()
}

/// Lists the libraries that a program of Windows needs.
fn windows_libraries(head: &str) -> impl Iterator<Item = &str> {
    head.lines().filter_map(|line| line.trim().strip_prefix("DLL Name:")).map(str::trim)
}

/// Whether the kernel starts a program without a loader, by `objdump --private-headers`.
fn is_static(head: &str) -> bool {
    let mut words = head.lines().filter_map(|line| line.split_whitespace().next());
    head.contains("Program Header:") && !words.any(|word| word == "INTERP" || word == "NEEDED")
}

/// Lists the versions of glibc that the loader will ask for, by `objdump --private-headers`.
fn glibc_versions(head: &str) -> BTreeSet<(u32, u32)> {
    let references = head.split_once("Version References:").map_or("", |(_, references)| references);
    references
        .split_whitespace()
        .filter_map(|word| {
            let mut parts = word.strip_prefix("GLIBC_")?.split('.').map(str::parse);
            Some((parts.next()?.ok()?, parts.next()?.ok()?))
        })
        .collect()
}

/// Lists the symbols of `objdump --dynamic-syms` that are imported from one version of glibc.
fn imported_symbols(symbols: &str, version: (u32, u32)) -> impl Iterator<Item = &str> {
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
        assert_eq!(glibc_versions(head).into_iter().collect::<Vec<_>>(), [(2, 2), (2, 9), (2, 34)]);
        let symbols = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34)  pthread_create\n\
            0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) write\n";
        assert_eq!(imported_symbols(symbols, (2, 34)).collect::<Vec<_>>(), ["pthread_create"]);
    }

    #[test]
    fn a_static_program_has_no_loader() {
        let head = "Program Header:\n    LOAD off    0x0000000000000000 vaddr 0x0000000000400000\n";
        assert!(is_static(head));
        assert!(!is_static(&format!("{head}  INTERP off    0x0000000000000318\n")));
        assert!(!is_static(&format!("{head}  NEEDED               libc.so\n")));
        assert!(!is_static("something else"), "not what objdump prints");
        let windows = "The Import Tables\n\tDLL Name: KERNEL32.dll\n\tDLL Name: libgcc_s_seh-1.dll\n";
        assert_eq!(windows_libraries(windows).collect::<Vec<_>>(), ["KERNEL32.dll", "libgcc_s_seh-1.dll"]);
    }

    #[test]
    fn this_test_is_a_dynamic_program_and_says_so() {
        let own = std::env::current_exe().unwrap();
        let head = objdump("--private-headers", &own).unwrap();
        assert!(needed_libraries(&head).contains("libc.so.6") && !is_static(&head), "{head}");
        let newest = glibc_versions(&head).last().copied().unwrap();
        assert!(imported_symbols(&objdump("--dynamic-syms", &own).unwrap(), newest).count() > 0);
    }
}
