//! Memory: of this process, and of the machine.

use crate::system::os;

/// The machine's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The memory that the operating system manages.
    pub total_bytes: u64,
    /// The memory available without swapping, within the control group's limit.
    pub available_bytes: u64,
    /// The control group's; `None` is no limit.
    pub limit_bytes: Option<u64>,
    pub swap_bytes: u64,
    /// Swap space in use.
    pub swap_used_bytes: u64,
}

/// Reads how much memory the machine has and how much is available.
pub fn memory() -> Result<Memory, String> {
    os::memory()
}

#[cfg(unix)]
pub fn peak_rss_bytes() -> Result<u64, String> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|cause| format!("getrusage failed: {cause}"))?;
    // See getrusage(2): macOS counts bytes, others KiB.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    match u64::try_from(usage.max_rss()) {
        // As on illumos.
        Ok(0) => Err("getrusage does not count it on this operating system".to_owned()),
        Ok(amount) => Ok(amount * unit),
        Err(_) => Err("getrusage gave a negative size".to_owned()),
    }
}

#[cfg(windows)]
pub fn peak_rss_bytes() -> Result<u64, String> {
    crate::system::windows::peak_working_set_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_plausible() {
        let memory = memory().unwrap();
        assert!(memory.available_bytes > 0 && memory.available_bytes <= memory.total_bytes);
        let peak = peak_rss_bytes().unwrap();
        assert!(peak > 500 << 10 && peak < memory.total_bytes, "{peak}");
    }
}
