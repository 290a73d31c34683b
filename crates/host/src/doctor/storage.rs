use std::path::{Path, PathBuf};

use super::{Check, Status};
use crate::HostError;
use crate::disk::{self, Backing};
use crate::system::text::size_text;

/// Faster synced writes do not wait for a device: drives with a power-safe cache take about as long.
const IMPLAUSIBLE_US: f64 = 20.0;
/// A rotating disk, a share, or a busy one.
const SLOW_US: f64 = 20_000.0;

/// Checks the storage under a path.
pub(super) fn check_storage(name: &str, path: &Path) -> Vec<Check> {
    vec![check_backing(name, path), check_free_space(name, path), check_sync(name, path)]
}

/// Checks what the storage is: a device, memory, a network.
fn check_backing(name: &str, path: &Path) -> Check {
    let why =
        "a commit in memory costs nothing, a share measures the network, and a container's layers copy each file first";
    let filesystem = disk::filesystem_of(path).map_err(error_text);
    let check = Check::from_reading(&format!("{name}: backing"), filesystem, why, |filesystem| {
        let found = format!("{} on {} at {}", filesystem.kind, filesystem.source, filesystem.mount_point.display());
        (backing_status(filesystem.backing), format!("{} ({found})", filesystem.backing.as_str()))
    });
    check.with_fix("choose a folder on a disk of this machine; in a container, a volume")
}

/// Judges the kind of storage.
fn backing_status(backing: Backing) -> Status {
    match backing {
        Backing::Device => Status::Good,
        Backing::Unknown => Status::Unknown,
        Backing::Network | Backing::Layered => Status::Warn,
        Backing::Memory => Status::Bad,
    }
}

/// Checks how much space is free.
fn check_free_space(name: &str, path: &Path) -> Check {
    let why = "a disk that is nearly full writes slower, and a benchmark that fills it ends without a result";
    let space = disk::space(path).map_err(error_text);
    let check = Check::from_reading(&format!("{name}: free space"), space, why, |(free_bytes, total_bytes)| {
        let of = total_bytes.map(|total| format!(" of {}", size_text(total))).unwrap_or_default();
        (space_status(free_bytes, total_bytes), format!("{} free{of}", size_text(free_bytes)))
    });
    check.with_fix("make room, or choose another folder")
}

/// Judges the free space.
fn space_status(free_bytes: u64, total_bytes: Option<u64>) -> Status {
    const GIB: u64 = 1 << 30;
    let share = total_bytes.map_or(1.0, |total| free_bytes as f64 / total.max(1) as f64);
    if share < 0.05 || free_bytes < GIB {
        Status::Bad
    } else if share < 0.10 || free_bytes < 5 * GIB {
        Status::Warn
    } else {
        Status::Good
    }
}

/// Checks how long a sync takes.
fn check_sync(name: &str, path: &Path) -> Check {
    let probe = existing_folder(path).and_then(|folder| disk::fsync_probe(&folder)).map_err(error_text);
    let why =
        "a commit waits for this; below 20 µs no device was waited for, and a power cut would lose what was promised";
    let check = Check::from_reading(&format!("{name}: sync"), probe, why, |median_us| {
        (sync_status(median_us), format!("{median_us:.0} µs per synced write of 4 KiB"))
    });
    check.with_fix(
        "look for a write cache that ignores flushes (hypervisor, RAID controller), or another user of the disk",
    )
}

/// Judges the time of a sync.
fn sync_status(median_us: f64) -> Status {
    if median_us < IMPLAUSIBLE_US {
        Status::Bad
    } else if median_us > SLOW_US {
        Status::Warn
    } else {
        Status::Good
    }
}

/// The nearest folder that exists at or above a path.
fn existing_folder(path: &Path) -> Result<PathBuf, HostError> {
    let place = disk::nearest_existing(path)?;
    match place.parent() {
        Some(parent) if !place.is_dir() => Ok(parent.to_owned()),
        _ => Ok(place),
    }
}

fn error_text(error: HostError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_judged() {
        assert_eq!(backing_status(Backing::Memory), Status::Bad);
        assert_eq!(backing_status(Backing::Layered), Status::Warn);
        assert_eq!(space_status(100 << 30, Some(200 << 30)), Status::Good);
        assert_eq!(space_status(15 << 30, Some(200 << 30)), Status::Warn);
        assert_eq!(space_status(5 << 30, Some(200 << 30)), Status::Bad);
        assert_eq!(space_status(500 << 20, None), Status::Bad);
        assert_eq!(sync_status(3.0), Status::Bad);
        assert_eq!(sync_status(900.0), Status::Good);
        assert_eq!(sync_status(40_000.0), Status::Warn);
    }

    #[test]
    fn a_file_is_probed_next_to_it() {
        let scratch = crate::scratch::Scratch::new("storage-test", None).unwrap();
        let file = scratch.path().join("database");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(existing_folder(&file).unwrap(), scratch.path());
        assert_eq!(existing_folder(&scratch.path().join("not/yet")).unwrap(), scratch.path());
    }
}
