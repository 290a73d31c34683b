//! The machine étalon runs on: its clock, cores, memory, disks and processes.
//!
//! The only crate that distinguishes operating systems, and the only one with `unsafe`, but for the crates of engines'
//! libraries in C
//! (`docs/extending.md`). What a system cannot report is an error with the reason, never a made-up value.
//!
//! Linux is read from `/proc` and `/sys`; macOS and Windows through `sysinfo`, a few system calls and the text of
//! system commands. illumos reports its mounts, and of the rest what POSIX does: it has never run there, and is only
//! compiled.
//! Parsers take text, so that all of them are tested everywhere.

#![allow(
    unsafe_code,
    reason = "`pre_exec` on Unix, the Windows API, io_uring, pollers, SQLite's VFS and extensions, and some requests to \
              devices have no safe form; see `process::unix`, `interrupt`, `ticks`, `system::windows`, `reactor`, `sqlite_vfs`, `spatialite`, \
              `blocks`, `file_table`, `target`, `volume` and `build`"
)]

pub mod affinity;
pub mod answers;
pub mod blocks;
pub mod build;
pub mod claim;
pub mod clock;
pub mod copy;
pub mod cpu;
pub mod cpu_share;
pub mod disk;
pub mod doctor;
pub mod error;
pub mod facts;
pub mod file_table;
pub mod files;
pub mod identity;
pub mod interrupt;
pub mod limits;
pub mod memory;
pub mod process;
pub mod reactor;
pub mod scratch;
pub mod spatialite;
pub mod sqlite_vfs;
mod system;
pub mod target;
mod ticks;
pub mod volume;
pub mod watch;

pub use error::HostError;
