//! Targets in many pieces.

use std::path::{Path, PathBuf};

use super::{Extents, Progress};
use crate::error::HostError;
use crate::system::text::size_text;

/// Makes a target like [`super::make`], but in pieces of `piece_bytes` that lie apart, and returns in how many it
/// actually lies.
///
/// Space is taken in turn with a second file (`<name>.filler`), removed at the end or with the target. That takes
/// twice the space for a while. Pieces below the filesystem's cluster come out as clusters.
///
/// # Errors
/// As [`super::make`]; or `piece_bytes` is no multiple of 4096, the filesystem cannot reserve space, or this is not
/// Linux.
pub fn make_fragmented(
    path: &Path,
    size_bytes: u64,
    piece_bytes: u64,
    progress: Progress<'_>,
) -> Result<Extents, HostError> {
    let refused = |reason: String| {
        HostError::unavailable(format!("make {} in pieces of {}", path.display(), size_text(piece_bytes)), reason)
    };
    if piece_bytes == 0 || !piece_bytes.is_multiple_of(4096) {
        return Err(refused("multiples of 4096 bytes can be had".to_owned()));
    }
    imp::make(path, size_bytes, piece_bytes, progress, &refused)
}

/// Path of the file that fills the gaps between fragments.
pub(super) fn filler_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".filler");
    name.into()
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::*;

    /// Fails: fragmented files are made on Linux only.
    pub(super) fn make(
        _path: &Path,
        _size_bytes: u64,
        _piece_bytes: u64,
        _progress: Progress<'_>,
        refused: &dyn Fn(String) -> HostError,
    ) -> Result<Extents, HostError> {
        Err(refused("space is reserved piece by piece on Linux only".to_owned()))
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::File;
    use std::io;

    use rustix::fs::{FallocateFlags, fallocate};

    use super::super::make::{demand_space, make_with, remove_with_companions};
    use super::super::marker::{Marker, MarkerState};
    use super::*;
    use crate::target::allocation_of;

    /// Makes a file whose pieces lie apart, with a filler file between them that is then removed.
    pub(super) fn make(
        path: &Path,
        size_bytes: u64,
        piece_bytes: u64,
        progress: Progress<'_>,
        refused: &dyn Fn(String) -> HostError,
    ) -> Result<Extents, HostError> {
        remove_with_companions(path)?;
        demand_space(path, size_bytes.saturating_mul(2))?;
        let filler = Filler::create_filler(path)?;
        let interleave = |file: &File, size_bytes: u64| -> io::Result<()> {
            for begin in (0..size_bytes).step_by(piece_bytes as usize) {
                let bytes = piece_bytes.min(size_bytes - begin);
                fallocate(file, FallocateFlags::empty(), begin, bytes)?;
                fallocate(&filler.file, FallocateFlags::empty(), begin, bytes)?;
            }
            Ok(())
        };
        make_with(path, size_bytes, &interleave, progress)?;
        drop(filler);
        let made = File::open(path).map_err(HostError::at("open", path))?;
        allocation_of(&made, size_bytes).extents.map_err(refused)
    }

    /// Lies between the pieces; removed when dropped.
    struct Filler {
        path: PathBuf,
        file: File,
    }

    impl Filler {
        /// Makes the file that fills the gaps.
        fn create_filler(path: &Path) -> Result<Filler, HostError> {
            let path = filler_path(path);
            let file = File::create_new(&path).map_err(HostError::at("create", &path))?;
            let filler = Filler { path, file };
            Marker::write_marker(&filler.path, MarkerState::Making, 0)?;
            Ok(filler)
        }
    }

    impl Drop for Filler {
        fn drop(&mut self) {
            // The target's removal takes it.
            let _ = std::fs::remove_file(&self.path);
            let _ = Marker::remove_marker(&self.path);
        }
    }
}
