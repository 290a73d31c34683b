//! Mounting, and what is mounted where étalon works.

use std::path::{Path, PathBuf};

use crate::error::HostError;

/// Time for a volume busy with what has just ended.
#[cfg(target_os = "linux")]
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Lists the mounts under a folder, the innermost first.
#[cfg(target_os = "linux")]
pub(crate) fn mounts_under(folder: &Path) -> Result<Vec<PathBuf>, HostError> {
    use crate::system::mounts::parse_mountinfo;
    let text = crate::system::text::read("/proc/self/mountinfo");
    let text = text.map_err(|reason| HostError::unavailable("list the mounted filesystems", reason))?;
    let mut under: Vec<PathBuf> =
        parse_mountinfo(&text).into_iter().map(|mount| mount.mount_point).filter(|at| at.starts_with(folder)).collect();
    // The list is in mounting order.
    under.reverse();
    Ok(under)
}

/// Lists the mounts under a folder: étalon makes none here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mounts_under(_folder: &Path) -> Result<Vec<PathBuf>, HostError> {
    Ok(Vec::new())
}

/// Unmounts a volume, waiting a little for a busy one.
#[cfg(target_os = "linux")]
pub(crate) fn unmount(mount_point: &Path) -> Result<(), HostError> {
    use rustix::io::Errno;
    use rustix::mount::{UnmountFlags, unmount};
    let deadline = std::time::Instant::now() + TIMEOUT;
    loop {
        match unmount(mount_point, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) if std::time::Instant::now() < deadline => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Err(Errno::BUSY) => {
                let reason = "something on it is still in use: end what works there, then try again";
                return Err(HostError::unavailable(format!("unmount {}", mount_point.display()), reason));
            }
            Err(cause) => return Err(HostError::at("unmount", mount_point)(cause.into())),
        }
    }
}

/// Fails: volumes are made on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unmount(mount_point: &Path) -> Result<(), HostError> {
    Err(HostError::unavailable(format!("unmount {}", mount_point.display()), "volumes are made on Linux only"))
}

/// Mounts a device.
#[cfg(target_os = "linux")]
pub(super) fn mount(device: &Path, mount_point: &Path, fs: super::VolumeFs) -> Result<(), String> {
    use rustix::io::Errno;
    use rustix::mount::{MountFlags, mount};
    let flags = MountFlags::NOATIME | MountFlags::NODEV | MountFlags::NOSUID;
    mount(device, mount_point, fs.as_str(), flags, None).map_err(|cause| match cause {
        Errno::PERM | Errno::ACCESS => {
            "this process may not mount (in a container, it takes the privilege SYS_ADMIN)".to_owned()
        }
        Errno::NODEV => format!("the kernel has no {}", fs.as_str()),
        // XFS takes blocks above the page size since Linux 6.12.
        Errno::NOSYS => format!("the kernel's {} does not take blocks of this size", fs.as_str()),
        other => format!("it cannot be mounted: {other}"),
    })
}
