//! Linux: mounts from `/proc/self/mountinfo`, devices from `/sys/block`.

use std::path::{Path, PathBuf};

use super::{Backing, Device, Media};
use crate::system::mounts::{Mount, parse_mountinfo};
use crate::system::text;

/// Lists the mounts that this process sees.
pub(super) fn mounts() -> Result<Vec<Mount>, String> {
    mounts_of("self")
}

/// Lists the mounts that a process sees.
pub(super) fn mounts_of(process: &str) -> Result<Vec<Mount>, String> {
    Ok(parse_mountinfo(&text::read(format!("/proc/{process}/mountinfo"))?))
}

/// Finds memory behind an overlay or a loop device; `None` otherwise.
pub(super) fn backing(mount: &Mount) -> Option<Backing> {
    is_in_memory(mount, DEEPEST).then_some(Backing::Memory)
}

/// Layers that are followed: a recorded path may lead back to its own mount.
const DEEPEST: u32 = 8;

/// Tests whether an overlay or a loop device lies on a file system in memory, within a number of layers.
fn is_in_memory(mount: &Mount, layers: u32) -> bool {
    if layers == 0 {
        return false;
    }
    let Some(file) = file_behind(mount) else { return false };
    let below = super::nearest_existing(&file).ok().and_then(|place| super::mount_of(&place).ok());
    below.is_some_and(|below| super::MEMORY.contains(&below.kind.as_str()) || is_in_memory(&below, layers - 1))
}

/// Finds the folder that an overlay writes to, or the file behind a loop device.
fn file_behind(mount: &Mount) -> Option<PathBuf> {
    let file = match mount.kind.as_str() {
        "overlay" => mount.options.iter().find_map(|option| option.strip_prefix("upperdir="))?.to_owned(),
        _ => text::read(device_folder(mount).ok()?.join("loop/backing_file")).ok()?,
    };
    let file = PathBuf::from(file.trim_end_matches(" (deleted)"));
    file.is_absolute().then_some(file)
}

/// The disk under a mount, with what `/sys` says of it.
pub(super) fn device(mount: &Mount) -> Result<Device, String> {
    let folder = device_folder(mount)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let media = text::read(folder.join("queue/rotational")).and_then(|flag| match flag.as_str() {
        "0" => Ok(Media::SolidState),
        "1" => Ok(Media::Rotating),
        other => Err(format!("queue/rotational of {name} is {other}")),
    });
    Ok(Device {
        model: device_model(&folder, &name),
        media,
        scheduler: text::read(folder.join("queue/scheduler")).map(|choices| text::chosen(&choices).to_owned()),
        write_cache: text::read(folder.join("queue/write_cache")),
        name,
    })
}

/// The folder of a mount's disk in `/sys`; of a partition that of the whole disk.
fn device_folder(mount: &Mount) -> Result<PathBuf, String> {
    let folder = own_device_folder(mount)?;
    match folder.parent() {
        Some(whole) if folder.join("partition").exists() => Ok(whole.to_owned()),
        _ => Ok(folder),
    }
}

pub(super) fn own_device_folder(mount: &Mount) -> Result<PathBuf, String> {
    // btrfs subvolumes have numbers of their own; the source then names a device.
    let folder = folder_of_number(&mount.device_number).or_else(|| folder_of_number(&device_number_of(&mount.source)?));
    folder.ok_or_else(|| format!("{} ({}) is on no block device that this system shows", mount.source, mount.kind))
}

fn folder_of_number(number: &str) -> Option<PathBuf> {
    std::fs::canonicalize(format!("/sys/dev/block/{number}")).ok()
}

pub(super) fn device_number_of(source: &str) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let number = source.starts_with("/dev/").then(|| std::fs::metadata(source).ok())??.rdev();
    Some(format!("{}:{}", rustix::fs::major(number as _), rustix::fs::minor(number as _)))
}

/// Vendor and model; for composed devices those below, for virtual ones the driver.
fn device_model(folder: &Path, name: &str) -> Result<String, String> {
    let read = |file: &str| text::read(folder.join(file)).ok().filter(|text| !text.is_empty());
    if let Some(model) = read("device/model") {
        // SATA disks give their bus as vendor, virtual ones a PCI number.
        let maker = read("device/vendor").filter(|maker| maker != "ATA" && !maker.starts_with("0x"));
        return Ok(maker.map_or_else(|| model.clone(), |maker| format!("{maker} {model}")));
    }
    if let Some(file) = read("loop/backing_file") {
        return Ok(format!("file {file}"));
    }
    let parts: Vec<String> =
        slaves_with_models(folder).iter().map(|(slave, part)| format!("{slave} ({part})")).collect();
    if !parts.is_empty() {
        return Ok(format!("made of {}", parts.join(", ")));
    }
    let driver = std::fs::read_link(folder.join("device/driver")).ok();
    let driver = driver.as_deref().and_then(Path::file_name).map(|driver| driver.to_string_lossy().into_owned());
    driver.ok_or_else(|| format!("{name} names neither a model nor a driver"))
}

/// The devices that a device consists of, with their models.
fn slaves_with_models(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder.join("slaves")) else { return Vec::new() };
    let mut parts: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let slave = entry.ok()?.file_name().to_string_lossy().into_owned();
            let folder = std::fs::canonicalize(format!("/sys/class/block/{slave}")).ok()?;
            let whole = if folder.join("partition").exists() { folder.parent()?.to_owned() } else { folder };
            let part = device_model(&whole, &slave).unwrap_or_else(|_| "unknown".to_owned());
            Some((slave, part))
        })
        .collect();
    parts.sort();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_describes_itself_as_far_as_it_can() {
        let mounts = mounts().unwrap();
        for mount in &mounts {
            match device(mount) {
                Ok(device) => assert!(!device.name.is_empty() && !device.name.contains('/')),
                Err(reason) => assert!(reason.contains(&mount.source), "{reason}"),
            }
        }
    }

    fn overlay(upper: &str) -> Mount {
        Mount {
            kind: "overlay".to_owned(),
            source: "overlay".to_owned(),
            options: vec!["rw".to_owned(), format!("upperdir={upper}")],
            device_number: "0:77".to_owned(),
            root: "/".to_owned(),
            mount_point: "/merged".into(),
        }
    }

    #[test]
    fn an_overlay_that_writes_to_memory_is_memory() {
        if crate::disk::is_memory_backed(Path::new("/dev/shm")).unwrap() {
            assert_eq!(backing(&overlay("/dev/shm/not/there/yet")), Some(Backing::Memory));
        }
        assert_eq!(backing(&overlay("/sys")), None);
        assert_eq!(backing(&overlay("dev/shm")), None, "a relative path is not of this process");
    }

    #[test]
    fn no_device_file_has_no_number() {
        assert_eq!(device_number_of("tmpfs"), None);
        assert_eq!(device_number_of("/dev/null"), Some("1:3".to_owned()));
    }
}
