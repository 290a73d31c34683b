//! How long the disk takes to make a small write durable.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::HostError;

/// Writes per probe.
const WRITES: usize = 20;
const WRITE_BYTES: usize = 4096;

/// The median of 20 writes of 4 KiB, each with `fdatasync` (`F_FULLFSYNC` on macOS, `FlushFileBuffers` on Windows), in
/// microseconds, to a temporary file in `dir`.
///
/// The writes overwrite one existing block, so that the filesystem's journal stays out of it: the least a commit
/// costs. Below some 20 µs nothing waits for a device.
pub fn fsync_probe(dir: &Path) -> Result<f64, HostError> {
    let probe = ProbeFile::make_probe(dir)?;
    let mut file = &probe.file;
    let mut block = [0_u8; WRITE_BYTES];
    let mut times_us = Vec::with_capacity(WRITES);
    // The first write allocates the block and does not count.
    for round in 0..=WRITES {
        block.fill(round as u8);
        let started = Instant::now();
        let written =
            file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&block)).and_then(|()| file.sync_data());
        written.map_err(HostError::at("write and sync", &probe.path))?;
        if round > 0 {
            times_us.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    times_us.sort_by(f64::total_cmp);
    Ok((times_us[WRITES / 2 - 1] + times_us[WRITES / 2]) / 2.0)
}

struct ProbeFile {
    path: PathBuf,
    file: File,
}

impl ProbeFile {
    /// Makes a file to probe the storage with.
    fn make_probe(dir: &Path) -> Result<ProbeFile, HostError> {
        let path = dir.join(format!("etalon-probe-{}-{}", std::process::id(), crate::scratch::random_name()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(HostError::at("create", &path))?;
        Ok(ProbeFile { path, file })
    }
}

impl Drop for ProbeFile {
    fn drop(&mut self) {
        // A file that was just made and cannot be removed is a sign of worse, which will show elsewhere.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_takes_time_and_leaves_nothing() {
        let folder = crate::scratch::Scratch::new("probe-test", None).unwrap();
        assert!(fsync_probe(folder.path()).unwrap() > 0.0);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("probe-")), "{left:?}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        assert!(fsync_probe(Path::new("/no/such/folder")).unwrap_err().to_string().contains("/no/such/folder"));
    }
}
