//! What étalon is built for, and what each of them asks of the compilers.

use std::env::consts::ARCH;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;

use super::library;
use super::release::Release;
use crate::debian;
use crate::requirements::{DEBIAN_RUST, FOR_MUSL, MINGW, Requirement};
use crate::windows;

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// Linux with the distribution's own C library.
    Glibc,
    /// Any Linux: musl is linked in.
    Musl,
    /// Windows, linked by MinGW.
    Windows,
}

/// For a program that no loader touches.
const MUSL_FLAGS: [&str; 6] = [
    // `musl-gcc` knows where Debian's musl is, and links no static program that can be loaded anywhere.
    "-Clink-self-contained=no",
    "-Crelocation-model=static",
    // Panics are caught, of threads and of what an agent does, and gcc's own unwinder asks glibc for frames.
    "-Lnative=/usr/lib/llvm-19/lib",
    // By what only glibc has, Debian's unwinder would print why it ends a program that it cannot unwind: it ends it unsaid.
    "-Clink-arg=-Wl,--defsym=__fprintf_chk=getpid",
    // What C code asks its compiler's own library for, as mimalloc does to count bits.
    "-Clink-arg=-lgcc",
    // What zstd starts gets 128 KiB from musl otherwise; Rust's own threads have as much as this.
    "-Clink-arg=-Wl,-z,stack-size=2097152",
];

/// gcc's exception for its helpers of arithmetic, which every program gets; MinGW's gcc is of the same source.
const LIBGCC: &str = "/usr/share/doc/libgcc-s1/copyright";

impl Platform {
    /// Lists what compiles and links for the platform, besides the toolchain in use.
    pub fn requirements(self) -> Vec<&'static Requirement> {
        match self {
            Self::Glibc => Vec::new(),
            Self::Musl => DEBIAN_RUST.iter().chain(&FOR_MUSL).collect(),
            Self::Windows => DEBIAN_RUST.iter().chain([&MINGW]).collect(),
        }
    }

    /// Gives the platform's name among compilers, its target triple.
    pub fn target_triple(self) -> String {
        match self {
            Self::Glibc => format!("{ARCH}-unknown-linux-gnu"),
            Self::Musl => format!("{ARCH}-unknown-linux-musl"),
            Self::Windows => windows::TARGET.to_owned(),
        }
    }

    /// Names a package that is no system's own, without its ending.
    pub fn package_name(self, release: &Release) -> String {
        let of = match self {
            Self::Glibc => format!("{ARCH}-linux-gnu"),
            Self::Musl => format!("{ARCH}-linux-musl"),
            Self::Windows => "x86_64-windows-gnu".to_owned(),
        };
        format!("etalon-{}-{of}", release.version)
    }

    /// Names the program's file.
    pub fn program_name(self) -> &'static str {
        if self == Self::Windows { "etalon.exe" } else { "etalon" }
    }

    /// Lists the flags of the compiler, besides those that every build has.
    pub fn compiler_flags(self) -> &'static [&'static str] {
        if self == Self::Musl { &MUSL_FLAGS } else { &[] }
    }

    /// Names the C compiler, which also links, where it is not the system's own.
    pub fn c_compiler(self) -> Option<&'static str> {
        match self {
            Self::Glibc => None,
            Self::Musl => Some("musl-gcc"),
            Self::Windows => Some("x86_64-w64-mingw32-gcc"),
        }
    }

    /// Gives the folder where the compiler of the platform's program has the standard library.
    ///
    /// # Errors
    /// The compiler does not start.
    pub fn sysroot(self) -> Result<PathBuf> {
        match self {
            Self::Glibc => library::compiler_sysroot(),
            Self::Musl | Self::Windows => Ok(debian::SYSROOT.into()),
        }
    }

    /// Lists the licences, on Debian, of what is linked in and is no crate.
    pub fn copyright_files(self) -> &'static [&'static str] {
        match self {
            Self::Glibc => &[LIBGCC],
            Self::Musl => &[LIBGCC, "/usr/share/doc/musl-dev/copyright", "/usr/share/doc/libunwind-19-dev/copyright"],
            Self::Windows => &[LIBGCC, "/usr/share/doc/mingw-w64-x86-64-dev/copyright"],
        }
    }
}
