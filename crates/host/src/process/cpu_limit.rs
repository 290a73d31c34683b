//! Holds a process and its children to a share of the processors, by a control group of étalon's own (Linux).
//!
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files>; version 1 in
//! <https://docs.kernel.org/scheduler/sched-bwc.html>.

use std::fs;
use std::path::{Path, PathBuf};

use super::tree::tree_pids;
use crate::error::HostError;
use crate::system::cgroup::{self, Version};

/// The period over which a share is held, in microseconds: the kernel's usual one.
const PERIOD_US: u64 = 100_000;

/// A limit that holds until it is dropped; then the processes go back to where they were.
#[derive(Debug)]
pub struct CpuLimit {
    /// The group that was made.
    group: PathBuf,
    /// The group that the processes came from.
    home: PathBuf,
}

impl CpuLimit {
    /// Holds a process, its children and theirs to `cores`, such as 0.5. Children that they start from now on are held too.
    ///
    /// # Errors
    /// The reason: another operating system, no control groups, or no right to make one here.
    pub fn hold(pid: u32, cores: f64) -> Result<CpuLimit, HostError> {
        let refused = |reason: String| HostError::unavailable("limit a server's CPU time", reason);
        let pids = tree_pids(pid).map_err(refused)?;
        let controller = cgroup::own("cpu").map_err(refused)?;
        let home =
            controller.folders.first().cloned().ok_or_else(|| refused("étalon is in no control group".to_owned()))?;
        let mut reason = String::new();
        // In version 2 a group with processes in it gives no limits to groups below it, but one above may.
        for folder in &controller.folders {
            match make(folder, controller.version, cores) {
                Ok(group) => {
                    let limit = CpuLimit { group, home };
                    for pid in pids {
                        enter(&limit.group, pid).map_err(|error| refused(error.to_string()))?;
                    }
                    return Ok(limit);
                }
                Err(error) => reason = error,
            }
        }
        Err(refused(reason))
    }

    /// Lets the processes go.
    fn release(&self) {
        let procs = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        for pid in procs.lines().filter_map(|line| line.parse().ok()) {
            // It may have ended.
            let _ = enter(&self.home, pid);
        }
        let _ = fs::remove_dir(&self.group);
    }
}

impl Drop for CpuLimit {
    fn drop(&mut self) {
        // A process that was just being started may be missed by the first look.
        for _ in 0..3 {
            self.release();
            if !self.group.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn enter(group: &Path, pid: u32) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

/// Makes a group under `folder` with the quota; nothing is left if that fails.
fn make(folder: &Path, version: Version, cores: f64) -> Result<PathBuf, String> {
    let group = folder.join(format!("etalon-{}-{}", std::process::id(), crate::scratch::random_name()));
    fs::create_dir(&group).map_err(|error| format!("cannot make the control group {}: {error}", group.display()))?;
    let quota_us = (cores * PERIOD_US as f64).max(1_000.0) as u64;
    let written = match version {
        Version::Two => fs::write(group.join("cpu.max"), format!("{quota_us} {PERIOD_US}")),
        Version::One => fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())
            .and_then(|()| fs::write(group.join("cpu.cfs_quota_us"), quota_us.to_string())),
    };
    written.map_err(|error| {
        let _ = fs::remove_dir(&group);
        format!("cannot set the quota of the control group {}: {error}", group.display())
    })?;
    Ok(group)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::print_stdout, reason = "says why it is skipped")]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn a_busy_process_is_held_to_its_share_and_let_go() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        let limit = CpuLimit::hold(busy.id(), 0.1);
        let used = || super::super::tree_cpu(busy.id()).unwrap();
        let held = limit.map(|limit| {
            let (before, started) = (used(), Instant::now());
            std::thread::sleep(Duration::from_millis(1_500));
            let share = (used() - before).as_secs_f64() / started.elapsed().as_secs_f64();
            let group = limit.group.clone();
            drop(limit);
            (share, group)
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        match held {
            Ok((share, group)) => {
                assert!(share < 0.2, "{share} of a core");
                assert!(!group.exists());
            }
            Err(reason) => println!("skipped: {reason}"),
        }
    }
}
