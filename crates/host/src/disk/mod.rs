//! Filesystems and the devices under them.

mod counters;
mod evict;
mod flushes;
#[cfg(any(target_os = "illumos", test))]
mod illumos;
mod layers;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", test))]
mod macos;
mod probe;
mod reached;
mod seen;
mod temperature;
#[cfg(windows)]
mod windows;
#[cfg(target_os = "illumos")]
use illumos as os;
#[cfg(target_os = "linux")]
use linux as os;
#[cfg(target_os = "macos")]
use macos as os;
#[cfg(windows)]
use windows as os;

use std::path::{Path, PathBuf};

pub use counters::{DeviceCounters, ProcIo};
pub use evict::{evict_from_cache, evict_tree};
pub use flushes::{Flushes, flush_eater, flushes_of};
pub use layers::{Layer, LayerKind, layers_of};
pub use probe::fsync_probe;
pub use reached::{LayerCounters, LayerTraffic, Reached, ReachedShare, RequestedBytes};
pub use seen::{diverted_entries, seen_by, working_folder};
pub use temperature::{Temperature, device_temperatures};

use crate::error::HostError;
use crate::system::mounts;

/// The kind of storage that a filesystem's bytes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A block device of this machine, as far as it can be seen.
    Device,
    /// Lost at the next boot.
    Memory,
    /// Another machine, or this virtual machine's host.
    Network,
    /// Over other filesystems, as a container's; those cannot be seen.
    Layered,
    Unknown,
}

impl Backing {
    pub fn as_str(self) -> &'static str {
        match self {
            Backing::Device => "device",
            Backing::Memory => "memory",
            Backing::Network => "network",
            Backing::Layered => "layered",
            Backing::Unknown => "unknown",
        }
    }
}

/// The medium as the device reports it; a virtual disk says what its hypervisor likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Rotating,
    /// Flash or other memory.
    SolidState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The name without `/dev/`: `nvme0n1`, `sda`. The whole device if the filesystem is on a partition.
    pub name: String,
    /// Vendor and model, or a virtual device's driver.
    pub model: Result<String, String>,
    pub media: Result<Media, String>,
    /// `none`, `mq-deadline`.
    pub scheduler: Result<String, String>,
    /// `write back` if the kernel flushes a volatile cache, else `write through`.
    pub write_cache: Result<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// `ext4`, `apfs`, `NTFS`.
    pub kind: String,
    pub mount_point: PathBuf,
    pub mount_options: Vec<String>,
    pub source: String,
    /// Unit of allocation.
    pub block_size_bytes: Result<u64, String>,
    pub backing: Backing,
    pub device: Result<Device, String>,
}

/// Also for a path that does not exist yet, by its nearest existing folder.
pub fn filesystem_of(path: &Path) -> Result<Filesystem, HostError> {
    let place = nearest_existing(path)?;
    let found = mount_of(&place);
    let mount = &found
        .map_err(|reason| HostError::unavailable(format!("find the filesystem of {}", path.display()), reason))?;
    let device = os::device(mount);
    Ok(Filesystem {
        kind: mount.kind.clone(),
        mount_point: mount.mount_point.clone(),
        mount_options: mount.options.clone(),
        source: mount.source.clone(),
        block_size_bytes: block_size_bytes(&place, mount),
        backing: os::backing(mount).unwrap_or_else(|| backing_of_mount(mount, device.as_ref().ok())),
        device,
    })
}

#[cfg(windows)]
use os::{block_size_bytes, mount_of};

#[cfg(unix)]
fn block_size_bytes(place: &Path, _mount: &mounts::Mount) -> Result<u64, String> {
    let stat = rustix::fs::statvfs(place).map_err(|cause| format!("statvfs of {} failed: {cause}", place.display()))?;
    Ok(stat.f_frsize)
}

/// The mount that a path lies in.
#[cfg(unix)]
fn mount_of(place: &Path) -> Result<mounts::Mount, String> {
    let (mounts, place) = mounts_over(place)?;
    let above = mounts::find(&mounts, &place).ok_or("no mounted filesystem is above it in the system's list")?;
    Ok(above.clone())
}

/// The mounts among which a path without links lies, and the path as it is written there.
#[cfg(unix)]
fn mounts_over(place: &Path) -> Result<(Vec<mounts::Mount>, PathBuf), String> {
    let (mounts, place) = match seen::split(place) {
        Some((process, place)) => (seen::mounts_of(process), place),
        None => (os::mounts(), place.to_owned()),
    };
    Ok((mounts.map_err(|reason| format!("the mounted filesystems cannot be listed: {reason}"))?, place))
}

/// Lists no mounts here, and leaves the path as it is.
#[cfg(windows)]
fn mounts_over(place: &Path) -> Result<(Vec<mounts::Mount>, PathBuf), String> {
    Ok((Vec::new(), place.to_owned()))
}

/// Also for a path that does not exist yet.
pub fn is_memory_backed(path: &Path) -> Result<bool, HostError> {
    Ok(filesystem_of(path)?.backing == Backing::Memory)
}

/// Free space for this user. Also for a path that does not exist yet.
pub fn free_bytes(path: &Path) -> Result<u64, HostError> {
    Ok(space(path)?.0)
}

/// Sector sizes of the device under a path, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sectors {
    pub logical: Result<u32, String>,
    pub physical: Result<u32, String>,
}

/// Sector sizes of the device under a path.
#[cfg(target_os = "linux")]
pub fn sectors_under(path: &Path) -> Sectors {
    Sectors { logical: queue_bytes(path, "logical_block_size"), physical: queue_bytes(path, "physical_block_size") }
}

/// Sector sizes of the device under a path.
#[cfg(windows)]
pub fn sectors_under(path: &Path) -> Sectors {
    match nearest_existing(path) {
        Ok(place) => os::sectors_under(&place),
        Err(error) => Sectors { logical: Err(error.to_string()), physical: Err(error.to_string()) },
    }
}

/// Fails: sector sizes are not read here.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn sectors_under(_path: &Path) -> Sectors {
    let reason = "the sectors of a device are read on Linux and Windows only".to_owned();
    Sectors { logical: Err(reason.clone()), physical: Err(reason) }
}

/// `name` is in `/sys/block/*/queue`.
#[cfg(target_os = "linux")]
pub(crate) fn queue_bytes(path: &Path, name: &str) -> Result<u32, String> {
    let place = nearest_existing(path).map_err(|error| error.to_string())?;
    let file = Path::new("/sys/class/block").join(os::device(&mount_of(&place)?)?.name).join("queue").join(name);
    crate::system::text::read(&file)?.parse().map_err(|_| format!("{} is no number", file.display()))
}

/// Free and total bytes of the filesystem of a path.
#[cfg(unix)]
pub(crate) fn space(path: &Path) -> Result<(u64, Option<u64>), HostError> {
    let place = nearest_existing(path)?;
    let stat =
        rustix::fs::statvfs(&place).map_err(|cause| HostError::at("read the free space of", &place)(cause.into()))?;
    Ok((stat.f_bavail.saturating_mul(stat.f_frsize), Some(stat.f_blocks.saturating_mul(stat.f_frsize))))
}

/// Free bytes of the volume of a path; the total is not read here.
#[cfg(windows)]
pub(crate) fn space(path: &Path) -> Result<(u64, Option<u64>), HostError> {
    let place = nearest_existing(path)?;
    let free = crate::system::windows::free_bytes(&place).map_err(HostError::at("read the free space of", &place))?;
    Ok((free, None))
}

/// Links resolved; or the nearest existing folder above.
pub(crate) fn nearest_existing(path: &Path) -> Result<PathBuf, HostError> {
    let absolute = std::path::absolute(path).map_err(HostError::at("find", path))?;
    if let Some((process, path)) = seen::split(&absolute) {
        let place = seen::resolved(process, &path).map_err(HostError::at("find", &path))?;
        return Ok(seen::below_root(process, &place));
    }
    let mut candidate = absolute.as_path();
    loop {
        match dunce::canonicalize(candidate) {
            Ok(place) => return Ok(place),
            Err(cause) => match candidate.parent() {
                Some(parent) if cause.kind() == std::io::ErrorKind::NotFound => candidate = parent,
                _ => return Err(HostError::at("find", candidate)(cause)),
            },
        }
    }
}

/// Filesystems in memory.
const MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
/// Filesystems that keep their files with another machine, or with the virtual machine's host.
const NETWORK: [&str; 27] = [
    "nfs",
    "nfs3",
    "nfs4",
    "cifs",
    "smb2",
    "smb3",
    "smbfs",
    "afpfs",
    "webdav",
    "davfs",
    "9p",
    "virtiofs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "ceph",
    "glusterfs",
    "lustre",
    "gpfs",
    "beegfs",
    "afs",
    "orangefs",
    "drvfs",
    "ncpfs",
    "coda",
    "moosefs",
    "osxfs",
];
/// [`NETWORK`] filesystems behind `fuse.`.
const NETWORK_FUSE: [&str; 10] =
    ["sshfs", "s3fs", "rclone", "glusterfs", "ceph", "ceph-fuse", "vmhgfs-fuse", "grpcfuse", "gcsfuse", "mfs"];
/// Filesystems that lie over others.
const LAYERED: [&str; 7] = ["overlay", "aufs", "unionfs", "ecryptfs", "fuse.fuse-overlayfs", "fuse.mergerfs", "lofs"];
/// Filesystems whose devices have no path under `/dev`.
const POOLED: [&str; 3] = ["zfs", "btrfs", "bcachefs"];

/// The kind of storage under a mount.
fn backing_of_mount(mount: &mounts::Mount, device: Option<&Device>) -> Backing {
    let kind = mount.kind.as_str();
    if MEMORY.contains(&kind) || device.is_some_and(|device| is_memory_device(&device.name)) {
        Backing::Memory
    } else if NETWORK.contains(&kind) || kind.strip_prefix("fuse.").is_some_and(|kind| NETWORK_FUSE.contains(&kind)) {
        Backing::Network
    } else if LAYERED.contains(&kind) {
        Backing::Layered
    } else if mount.source.starts_with("/dev/") || POOLED.contains(&kind) {
        Backing::Device
    } else {
        Backing::Unknown
    }
}

fn is_memory_device(name: &str) -> bool {
    let number = name.strip_prefix("zram").or_else(|| name.strip_prefix("ram"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backing_of(kind: &str, source: &str, device: Option<&str>) -> Backing {
        let mount = mounts::Mount {
            device_number: "0:1".to_owned(),
            root: "/".to_owned(),
            mount_point: "/".into(),
            options: Vec::new(),
            kind: kind.to_owned(),
            source: source.to_owned(),
        };
        let device = device.map(|name| Device {
            name: name.to_owned(),
            model: Err(String::new()),
            media: Err(String::new()),
            scheduler: Err(String::new()),
            write_cache: Err(String::new()),
        });
        backing_of_mount(&mount, device.as_ref())
    }

    #[test]
    fn backing_follows_the_type_and_the_device() {
        assert_eq!(backing_of("ext4", "/dev/vda", Some("vda")), Backing::Device);
        assert_eq!(backing_of("zfs", "tank/db", None), Backing::Device);
        assert_eq!(backing_of("tmpfs", "tmpfs", None), Backing::Memory);
        assert_eq!(backing_of("ext4", "/dev/zram0", Some("zram0")), Backing::Memory);
        assert_eq!(backing_of("nfs4", "server:/share", None), Backing::Network);
        assert_eq!(backing_of("fuse.sshfs", "me@server:", None), Backing::Network);
        assert_eq!(backing_of("overlay", "overlay", None), Backing::Layered);
        assert_eq!(backing_of("fuse.something", "x", None), Backing::Unknown);
    }

    #[test]
    fn a_path_that_is_not_there_yet_is_found_above() {
        let here = std::env::temp_dir();
        let filesystem = filesystem_of(&here.join("not/there/yet")).unwrap();
        assert_eq!(filesystem.mount_point, filesystem_of(&here).unwrap().mount_point);
        assert!(free_bytes(&here.join("not/there/yet")).unwrap() > 0);
        assert!(!filesystem.kind.is_empty());
        assert!(filesystem.block_size_bytes.unwrap() >= 512);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_differs_from_disk() {
        if Path::new("/dev/shm").exists() {
            assert!(is_memory_backed(Path::new("/dev/shm/x")).unwrap());
        }
    }
}
