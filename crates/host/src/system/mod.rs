//! Shared helpers: reading text, commands with a deadline, and one backend per operating system.
//!
//! [`linux`] and [`portable`] offer the same functions; [`os`] is the one in use. Tests compile both on Linux and
//! compare them.

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    pub(crate) pid: u32,
    /// 0 if none.
    pub(crate) parent: u32,
    /// Cut to 15 bytes on Linux; without `.exe`.
    pub(crate) name: String,
    /// In the operating system's unit; identifies a process together with the pid.
    pub(crate) started: u64,
    /// With that of children waited for (Linux only).
    pub(crate) cpu: Duration,
    /// Zombie or not.
    pub(crate) life: Life,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// A zombie.
    Ended,
}
