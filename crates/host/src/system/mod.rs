//! What the other modules share: small reads of text, commands with a deadline, and one backend per operating system.
//!
//! [`linux`] and [`portable`] answer the same questions under the same names; [`os`] is the one that serves here. The
//! tests compile both on Linux and hold them against each other.

pub(crate) mod cgroup;
pub(crate) mod command;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
pub(crate) mod mounts;
#[cfg(any(not(target_os = "linux"), test))]
pub(crate) mod portable;
mod power;
pub(crate) mod text;
#[cfg(target_os = "linux")]
pub(crate) mod uring;
#[cfg(windows)]
pub(crate) mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux as os;
#[cfg(not(target_os = "linux"))]
pub(crate) use portable as os;

pub(crate) use power::{Power, power};

use std::time::Duration;

/// A process, as the operating system's table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    pub(crate) pid: u32,
    /// Its parent's number; 0 if it has none.
    pub(crate) parent: u32,
    /// The program's name, cut to 15 bytes on Linux, without `.exe`.
    pub(crate) name: String,
    /// When it started, in a unit of the operating system's own: together with the number it names one process.
    pub(crate) started: u64,
    /// CPU time it has used, with that of its children that have ended and were waited for (Linux only).
    pub(crate) cpu: Duration,
    /// CPU time of its own.
    pub(crate) own_cpu: Duration,
    /// Whether it has ended and waits for its parent to notice.
    pub(crate) life: Life,
}

/// Whether a process still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It runs, sleeps or is stopped.
    Running,
    /// It has ended, and its parent has not asked how.
    Ended,
}
