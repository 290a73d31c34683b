//! Whole devices as targets: their contents are lost, so they need consent and must be unused.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::HostError;

/// Tests whether a path is a block device.
#[cfg(unix)]
pub fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_block_device())
}

/// Tests whether a path is a block device: there are none here.
#[cfg(not(unix))]
pub fn is_device(_path: &Path) -> bool {
    false
}

/// A device that is opened exclusively, so that no one can mount it.
#[derive(Debug)]
pub struct RawDevice {
    pub path: PathBuf,
    /// The name without `/dev/`.
    pub name: String,
    pub size_bytes: u64,
    /// Exclusive; the workers have handles of their own.
    _claim: File,
}

impl RawDevice {
    /// Claims a device whose contents may be lost; `consent` is the path that the user repeated.
    ///
    /// # Errors
    /// It is no block device; `consent` does not name it; it, a part of it or a device made of it is mounted, swapped
    /// to or otherwise in use; it is read-only; or this is not Linux.
    pub fn claim(path: &Path, consent: Option<&Path>) -> Result<RawDevice, HostError> {
        claim(path, consent)
            .map_err(|reason| HostError::unavailable(format!("use the device {}", path.display()), reason))
    }

    /// Like [`super::make`], on the first `bytes`.
    pub fn fill_with_blocks(&self, bytes: u64, progress: super::Progress<'_>) -> Result<(), HostError> {
        super::make::fill_device(&self.path, bytes, progress)
    }
}

/// Fails: whole devices are used on Linux only.
#[cfg(not(target_os = "linux"))]
fn claim(_path: &Path, _consent: Option<&Path>) -> Result<RawDevice, String> {
    Err("whole devices are used on Linux only".to_owned())
}

/// Opens a device exclusively, unless something uses it or its contents are not given up.
#[cfg(target_os = "linux")]
fn claim(path: &Path, consent: Option<&Path>) -> Result<RawDevice, String> {
    use std::fs::OpenOptions;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    use crate::system::text;

    let real = std::fs::canonicalize(path).map_err(|cause| cause.to_string())?;
    let data = std::fs::metadata(&real).map_err(|cause| cause.to_string())?;
    if !data.file_type().is_block_device() {
        return Err("it is no block device".to_owned());
    }
    match consent.map(std::fs::canonicalize) {
        Some(Ok(named)) if named == real => {}
        Some(_) => return Err("the consent to lose its data names another device".to_owned()),
        None => return Err("everything on it would be lost, and nobody said that it may be".to_owned()),
    }
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = std::fs::canonicalize(Path::new("/sys/class/block").join(&name)).map_err(|cause| cause.to_string())?;
    if let Some(user) = linux::user_of(&folder)? {
        return Err(format!("it is in use: {user}"));
    }
    if text::read(folder.join("ro")).is_ok_and(|flag| flag == "1") {
        return Err("it is read-only".to_owned());
    }
    // Without creating a file, `O_EXCL` asks for a device that no one else has.
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    let file = OpenOptions::new().read(true).write(true).custom_flags(exclusive).open(&real);
    let file = file.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::ResourceBusy => "it is in use (the kernel says busy)".to_owned(),
        _ => cause.to_string(),
    })?;
    let sectors: u64 = text::read(folder.join("size"))?.parse().map_err(|_| "its size is no number".to_owned())?;
    Ok(RawDevice { path: real, name, size_bytes: sectors * 512, _claim: file })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::{Path, PathBuf};

    use crate::system::mounts::parse_mountinfo;
    use crate::system::text;

    /// The user of the device, of a part of it or of one made of it; for a message.
    pub(super) fn user_of(folder: &Path) -> Result<Option<String>, String> {
        let mounts = parse_mountinfo(&text::read("/proc/self/mountinfo")?);
        let swaps = text::read("/proc/swaps").unwrap_or_default();
        for device in std::iter::once(folder.to_owned()).chain(partitions_of(folder)) {
            let name = device.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let number = text::read(device.join("dev"))?;
            let path = format!("/dev/{name}");
            let mut mounts = mounts.iter();
            if let Some(mount) = mounts.find(|mount| mount.device_number == number || mount.source == path) {
                return Ok(Some(format!("{name} is mounted on {}", mount.mount_point.display())));
            }
            if swaps.lines().any(|line| line.split_ascii_whitespace().next() == Some(&path)) {
                return Ok(Some(format!("{name} is swapped to")));
            }
            if let Some(holder) = entry_names(&device.join("holders")).first() {
                return Ok(Some(format!("{name} is a part of {holder}")));
            }
        }
        Ok(None)
    }

    /// The folders of a disk's partitions in `/sys`.
    fn partitions_of(folder: &Path) -> Vec<PathBuf> {
        let inside = entry_names(folder).into_iter().map(|name| folder.join(name));
        inside.filter(|path| path.join("partition").exists()).collect()
    }

    /// Names of a folder's entries; none if it cannot be read.
    fn entry_names(folder: &Path) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_holds_the_system_is_never_taken() {
        let Ok(layers) = crate::disk::layers_of(Path::new("/")) else {
            println!("skipped: / is on no device");
            return;
        };
        for layer in layers {
            let path = PathBuf::from("/dev").join(&layer.name);
            if !path.exists() {
                continue;
            }
            let refused = RawDevice::claim(&path, Some(&path)).unwrap_err().to_string();
            assert!(refused.contains("it is in use"), "{refused}");
            let refused = RawDevice::claim(&path, None).unwrap_err().to_string();
            assert!(refused.contains("would be lost"), "{refused}");
        }
    }

    #[test]
    fn a_file_or_a_terminal_is_no_device() {
        for path in ["/dev/null", "/etc/passwd"] {
            let refused = RawDevice::claim(Path::new(path), Some(Path::new(path))).unwrap_err().to_string();
            assert!(refused.contains("no block device") && refused.contains(path), "{refused}");
        }
    }
}
