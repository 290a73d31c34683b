//! Drops files from the operating system's cache, so that they are next read from the device.

use std::fs::{self, File};
use std::path::Path;

use crate::error::HostError;

/// Writes back and drops a file's cached pages. Pages that a process has mapped or is writing stay, so close the file
/// first.
///
/// # Errors
/// The file cannot be opened or synced, or this operating system has no such request.
pub fn evict_from_cache(path: &Path) -> Result<(), HostError> {
    let file = File::open(path).map_err(HostError::at("open", path))?;
    file.sync_all().map_err(HostError::at("write the changed pages of", path))?;
    give_up(&file, path)
}

/// [`evict_from_cache`] for every file under a folder. Links are skipped; files that vanish are no error.
pub fn evict_tree(folder: &Path) -> Result<(), HostError> {
    let entries = fs::read_dir(folder).map_err(HostError::at("read the folder", folder))?;
    for entry in entries {
        let entry = entry.map_err(HostError::at("read the folder", folder))?;
        let kind = entry.file_type().map_err(HostError::at("look at", &entry.path()))?;
        let done = match (kind.is_dir(), kind.is_file()) {
            (true, _) => evict_tree(&entry.path()),
            (_, true) => evict_from_cache(&entry.path()),
            _ => Ok(()),
        };
        match done {
            Err(HostError::Path { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Drops the cached pages of a file.
#[cfg(target_os = "linux")]
fn give_up(file: &File, path: &Path) -> Result<(), HostError> {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|error| HostError::at("give up the cached pages of", path)(error.into()))
}

/// Fails: cached pages cannot be dropped here.
#[cfg(not(target_os = "linux"))]
fn give_up(_file: &File, path: &Path) -> Result<(), HostError> {
    let tried = format!("give up the cached pages of {}", path.display());
    Err(HostError::unavailable(tried, "étalon knows no way to do so on this operating system"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::disk::{ProcIo, is_memory_backed};

    const SIZE_BYTES: usize = 4 << 20;

    #[test]
    fn what_was_given_up_is_read_from_the_device_again() {
        let folder = crate::scratch::Scratch::new("evict-test", None).unwrap();
        if is_memory_backed(folder.path()).unwrap() {
            return;
        }
        let path = folder.path().join("sub").join("file");
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(&path, vec![7; SIZE_BYTES]).unwrap();
        fn device_read_bytes() -> u64 {
            ProcIo::for_process(std::process::id()).unwrap().device_read_bytes.unwrap()
        }
        evict_tree(folder.path()).unwrap();
        let before = device_read_bytes();
        assert_eq!(fs::read(&path).unwrap().len(), SIZE_BYTES);
        assert!(device_read_bytes() - before >= SIZE_BYTES as u64);
    }
}
