//! When a store's files were last written.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The sizes and times of a store's files: while they stay, so does what the store holds. Nothing is opened for it, since an open
/// store cannot be made one file by its writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    file: Option<(u64, SystemTime)>,
    wal: Option<(u64, SystemTime)>,
}

impl Stamp {
    /// Reads size and last change of a store's file and of its write-ahead log.
    pub fn of_store(store: &Path) -> Stamp {
        let mut wal = store.as_os_str().to_owned();
        wal.push("-wal");
        Stamp { file: file_stamp(store), wal: file_stamp(Path::new(&wal)) }
    }

    /// The time when the file or its write-ahead log was last written; `None` without a file.
    pub fn last_written(self) -> Option<SystemTime> {
        let times = [self.file?.1, self.wal.map_or(UNIX_EPOCH, |(_, written)| written)];
        times.into_iter().max()
    }
}

/// Reads the size of a file, and the time of its last change.
fn file_stamp(file: &Path) -> Option<(u64, SystemTime)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.len(), found.modified().ok()?))
}
