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

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    pub(crate) pid: u32,
    /// 0 if none.
    pub(crate) parent: u32,
    pub(crate) name: ProcessName,
    /// Start time in the operating system's unit; identifies a process together with the pid.
    pub(crate) started: u64,
    /// CPU time, with that of children waited for (Linux only).
    pub(crate) cpu: Duration,
    /// Zombie or not.
    pub(crate) life: Life,
    pub(crate) nature: ProcessNature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessNature {
    Program,
    /// The kernel's own: it writes back, compresses and encrypts for other processes.
    Kernel,
}

/// Cut to 15 bytes on Linux; without `.exe`. It needs no allocation, so that a table of processes can be read again
/// into the same memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessName {
    bytes: [u8; ProcessName::MOST_BYTES],
    length: u8,
}

impl ProcessName {
    const MOST_BYTES: usize = 31;

    /// Longer names are cut.
    pub(crate) fn new(name: &str) -> ProcessName {
        let length = name.floor_char_boundary(ProcessName::MOST_BYTES);
        let mut bytes = [0; ProcessName::MOST_BYTES];
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        ProcessName { bytes, length: length as u8 }
    }
}

impl Deref for ProcessName {
    type Target = str;

    fn deref(&self) -> &str {
        // It was cut between characters.
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Debug for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// A signal holds it.
    Stopped,
    /// A zombie.
    Ended,
}
