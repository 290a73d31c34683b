//! Windows: volumes through `sysinfo`. Compiled into the tests on Linux, where its list is held against `/proc`.

#![cfg_attr(not(target_os = "windows"), allow(dead_code, reason = "elsewhere only the tests of its parsers use it"))]

#[cfg(windows)]
use std::path::Path;

use sysinfo::{Disk, DiskKind, DiskRefreshKind, Disks};

#[cfg(windows)]
use super::Backing;
use super::{Device, Media};
use crate::system::mounts::Mount;

pub(super) fn mounts() -> Result<Vec<Mount>, String> {
    Ok(disks()?.iter().map(mount).collect())
}

pub(super) fn device(mount: &Mount) -> Result<Device, String> {
    let disks = disks()?;
    let disk = disks.iter().find(|disk| verbatim(&disk.mount_point().to_string_lossy()) == mount.mount_point);
    let disk = disk.ok_or_else(|| format!("{} is no longer in the list of disks", mount.mount_point.display()))?;
    let name = disk.name().to_string_lossy().into_owned();
    let reason = |what: &str| Err(format!("{what} is not read on this operating system"));
    Ok(Device {
        model: reason("the model of a device"),
        media: match disk.kind() {
            DiskKind::HDD => Ok(Media::Rotating),
            DiskKind::SSD => Ok(Media::SolidState),
            DiskKind::Unknown(_) => Err(format!("the disk \"{name}\" does not tell how it stores")),
        },
        scheduler: reason("the scheduler of a device"),
        write_cache: reason("the write cache of a device"),
        name,
    })
}

#[cfg(windows)]
pub(super) fn backing(mount: &Mount) -> Option<Backing> {
    use crate::system::windows::{Drive, drive};
    Some(match drive(&plain(&mount.mount_point)) {
        Drive::Remote => Backing::Network,
        Drive::Memory => Backing::Memory,
        Drive::Other => Backing::Device,
    })
}

#[cfg(windows)]
pub(super) fn block_size_bytes(_place: &Path, mount: &Mount) -> Result<u64, String> {
    let root = plain(&mount.mount_point);
    crate::system::windows::cluster_bytes(&root).map_err(|cause| format!("cannot ask {}: {cause}", root.display()))
}

fn disks() -> Result<Disks, String> {
    let what = DiskRefreshKind::nothing().with_kind().with_storage();
    Disks::new_with_refreshed_list_specifics(what).map_err(|cause| format!("cannot list the disks: {cause:?}"))
}

fn mount(disk: &Disk) -> Mount {
    Mount {
        device_number: String::new(),
        root: "/".to_owned(),
        mount_point: verbatim(&disk.mount_point().to_string_lossy()),
        options: if disk.is_read_only() { vec!["ro".to_owned()] } else { vec!["rw".to_owned()] },
        kind: disk.file_system().to_string_lossy().into_owned(),
        source: disk.name().to_string_lossy().into_owned(),
    }
}

/// Windows's form of a path without links: `C:\` becomes `\\?\C:\`. Other systems have one form.
fn verbatim(mount_point: &str) -> std::path::PathBuf {
    match mount_point.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => format!(r"\\?\{mount_point}").into(),
        _ => mount_point.into(),
    }
}

/// The form for older calls.
#[cfg(windows)]
fn plain(mount_point: &Path) -> std::path::PathBuf {
    let text = mount_point.to_string_lossy();
    text.strip_prefix(r"\\?\").unwrap_or(&text).into()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_proc_about_the_disks() {
        let proc = super::super::linux::mounts().unwrap();
        for mount in mounts().unwrap() {
            let same = proc.iter().any(|other| other.mount_point == mount.mount_point && other.kind == mount.kind);
            assert!(same, "{mount:?}");
            assert!(device(&mount).unwrap().model.is_err());
        }
    }

    #[test]
    fn drives_get_the_long_form() {
        assert_eq!(verbatim(r"C:\"), std::path::Path::new(r"\\?\C:\"));
        assert_eq!(verbatim("/home"), std::path::Path::new("/home"));
    }
}
