use std::path::Path;

use crate::error::HostError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// A physical disk, as far as this machine sees.
    Disk,
    /// A part of a disk.
    Partition,
    Loop,
    /// A device on other devices: device mapper, RAID.
    Composed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub name: String,
    pub kind: LayerKind,
    /// 0 for the filesystem's device. Several devices at one depth share the traffic.
    pub depth: u32,
}

/// The block devices under a file, folder or device file, the uppermost first.
///
/// # Errors
/// The file is on no visible device (a share, memory, a pool that hides its disks), or this is not Linux.
pub fn layers_of(path: &Path) -> Result<Vec<Layer>, HostError> {
    found(path).map_err(|reason| HostError::unavailable(format!("find the devices under {}", path.display()), reason))
}

/// Fails: devices are followed down to the disks on Linux only.
#[cfg(not(target_os = "linux"))]
fn found(_path: &Path) -> Result<Vec<Layer>, String> {
    Err("devices are followed down to the disks on Linux only".to_owned())
}

/// The layers of devices under a path, down to the disks.
#[cfg(target_os = "linux")]
fn found(path: &Path) -> Result<Vec<Layer>, String> {
    let mut layers = Vec::new();
    linux::layers_below_path(path, 0, &mut layers)?;
    Ok(layers)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::fs::FileTypeExt;
    use std::path::{Path, PathBuf};

    use super::super::{mount_of, nearest_existing, os};
    use super::{Layer, LayerKind};
    use crate::system::text;

    /// Ends a loop device that lies on itself.
    const DEEPEST: u32 = 16;

    /// Adds the layers below a path's filesystem.
    pub(super) fn layers_below_path(path: &Path, depth: u32, layers: &mut Vec<Layer>) -> Result<(), String> {
        let place = nearest_existing(path).map_err(|error| error.to_string())?;
        let is_device = std::fs::metadata(&place).is_ok_and(|data| data.file_type().is_block_device());
        let folder = if is_device {
            let number = os::device_number_of(&place.to_string_lossy()).ok_or("it is no device file under /dev")?;
            let folder = format!("/sys/dev/block/{number}");
            std::fs::canonicalize(&folder).map_err(|cause| format!("cannot find {folder}: {cause}"))?
        } else {
            os::own_device_folder(&mount_of(&place)?)?
        };
        layers_below_device(&folder, depth, layers)
    }

    /// Adds a device and the layers below it.
    fn layers_below_device(folder: &Path, depth: u32, layers: &mut Vec<Layer>) -> Result<(), String> {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if depth > DEEPEST {
            return Err(format!("{name} lies on more than {DEEPEST} other devices"));
        }
        if layers.iter().any(|layer| layer.name == name) {
            return Ok(());
        }
        let slaves = slave_folders(folder);
        let backing = text::read(folder.join("loop/backing_file")).ok();
        let is_partition = folder.join("partition").exists();
        let kind = match &backing {
            Some(_) => LayerKind::Loop,
            None if is_partition => LayerKind::Partition,
            None if slaves.is_empty() => LayerKind::Disk,
            None => LayerKind::Composed,
        };
        layers.push(Layer { name, kind, depth });
        if let Some(file) = backing {
            // The kernel's suffix for a file removed while in use.
            layers_below_path(Path::new(file.trim_end_matches(" (deleted)")), depth + 1, layers)?;
        }
        if let (true, Some(whole)) = (is_partition, folder.parent()) {
            layers_below_device(whole, depth + 1, layers)?;
        }
        for slave in slaves {
            layers_below_device(&slave, depth + 1, layers)?;
        }
        Ok(())
    }

    /// The folders of the devices that a device consists of.
    fn slave_folders(folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder.join("slaves")) else { return Vec::new() };
        let mut slaves: Vec<PathBuf> =
            entries.filter_map(|entry| std::fs::canonicalize(entry.ok()?.path()).ok()).collect();
        slaves.sort();
        slaves
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn parts_lead_to_the_whole_and_to_what_it_is_made_of() {
            let scratch = crate::scratch::Scratch::new("layers", None).unwrap();
            let root = std::fs::canonicalize(scratch.path()).unwrap();
            for folder in ["md0/slaves", "sda/sda1", "sdb"] {
                std::fs::create_dir_all(root.join(folder)).unwrap();
            }
            std::fs::write(root.join("sda/sda1/partition"), "1").unwrap();
            for slave in ["sda/sda1", "sdb"] {
                let name = Path::new(slave).file_name().unwrap();
                std::os::unix::fs::symlink(root.join(slave), root.join("md0/slaves").join(name)).unwrap();
            }
            let mut layers = Vec::new();
            layers_below_device(&root.join("md0"), 0, &mut layers).unwrap();
            let found: Vec<_> = layers.iter().map(|layer| (layer.name.as_str(), layer.kind, layer.depth)).collect();
            let (disk, part) = (LayerKind::Disk, LayerKind::Partition);
            let expected = [("md0", LayerKind::Composed, 0), ("sda1", part, 1), ("sda", disk, 2), ("sdb", disk, 1)];
            assert_eq!(found, expected);
        }

        #[test]
        fn a_file_in_memory_is_on_no_device() {
            let refused = super::super::layers_of(Path::new("/proc/self/stat")).unwrap_err();
            assert!(refused.to_string().contains("on no block device"), "{refused}");
        }
    }
}
