//! Making a target, and removing it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::fragment::filler_path;
use super::host_error;
use super::marker::{Marker, MarkerState};
use crate::blocks::{Access, BlockDone, BlockFile, BlockOp, BlockRing, Cache, Content, OpenError, RingOptions};
use crate::disk;
use crate::error::HostError;
use crate::system::text::size_text;

/// Keeps any disk busy.
const CHUNK_BYTES: u32 = 1 << 20;
/// Writes in flight.
const DEPTH: u32 = 8;
/// Left free for others on the volume.
pub const RESERVE_BYTES: u64 = 64 << 20;

/// Called with the bytes written so far; says whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> std::ops::ControlFlow<()>;

/// Writes a synced file of unique incompressible bytes, with direct I/O where possible. On failure or stop the file is
/// removed. A file of étalon's (see [`Marker`]) is replaced, any other is not.
///
/// # Errors
/// There is a file that étalon did not make, the volume is too small or full, or it cannot be written.
pub fn make_file(path: &Path, size_bytes: u64, progress: Progress<'_>) -> Result<(), HostError> {
    if std::fs::symlink_metadata(path).is_ok() {
        remove_with_companions(path)?;
    }
    if Marker::is_someone_elses(path) {
        let tried = format!("make {}", path.display());
        let reason = format!(
            "{} is in its marker's place. Name another file, or move that one",
            Marker::marker_path(path).display()
        );
        return Err(HostError::refused(io::ErrorKind::AlreadyExists, tried, reason));
    }
    demand_space(path, size_bytes)?;
    make_with(path, size_bytes, &reserve, progress)
}

/// [`make_file`] where there is no such file and enough space; `reserve` takes it.
pub(crate) fn make_with(
    path: &Path,
    size_bytes: u64,
    reserve: &dyn Fn(&File, u64) -> io::Result<()>,
    progress: Progress<'_>,
) -> Result<(), HostError> {
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(HostError::at("create", path))?;
    let made = Marker::write_marker(path, MarkerState::Making, size_bytes)
        .and_then(|()| fill_file(file, path, size_bytes, reserve, progress))
        .and_then(|()| Marker::write_marker(path, MarkerState::Made, size_bytes));
    if made.is_err() {
        // The first error is reported.
        let _ = std::fs::remove_file(path);
        let _ = Marker::remove_marker(path);
    }
    made
}

/// Removes the file with its marker and filler. No file is no error.
pub fn remove_with_companions(path: &Path) -> Result<(), HostError> {
    let filler = filler_path(path);
    if Marker::read_marker(&filler).is_some() {
        remove_marked(&filler)?;
    }
    remove_marked(path)
}

/// Tests whether [`remove_with_companions`] would remove something.
pub(crate) fn has_leftovers(path: &Path) -> bool {
    Marker::read_marker(path).is_some() || Marker::read_marker(&filler_path(path)).is_some()
}

/// Removes a file with its marker; refuses one without étalon's marker.
fn remove_marked(path: &Path) -> Result<(), HostError> {
    if std::fs::symlink_metadata(path).is_err() {
        return Marker::remove_marker(path);
    }
    if Marker::read_marker(path).is_none() {
        let tried = format!("write over or remove {}", path.display());
        let reason = format!(
            "étalon did not make it (there is no {} that fits it). Name another file, or remove this one yourself",
            Marker::marker_path(path).display()
        );
        return Err(HostError::refused(io::ErrorKind::AlreadyExists, tried, reason));
    }
    std::fs::remove_file(path).map_err(HostError::at("remove", path))?;
    Marker::remove_marker(path)
}

/// Fails unless the filesystem has this much space and what is to be left to others.
pub(super) fn demand_space(path: &Path, size_bytes: u64) -> Result<(), HostError> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let free_bytes = disk::free_bytes(folder)?;
    if free_bytes < size_bytes.saturating_add(RESERVE_BYTES) {
        return Err(disk_full(path, size_bytes, &format!("its volume has {} free", size_text(free_bytes))));
    }
    Ok(())
}

/// The error of a disk without the space for a file.
fn disk_full(path: &Path, size_bytes: u64, why: &str) -> HostError {
    let tried = format!("make {} with {}", path.display(), size_text(size_bytes));
    let reason = format!("{why}, and {} are to be left to others", size_text(RESERVE_BYTES));
    HostError::refused(io::ErrorKind::StorageFull, tried, reason)
}

/// Reserves a file's space and fills it with blocks.
fn fill_file(
    file: File,
    path: &Path,
    size_bytes: u64,
    reserve: &dyn Fn(&File, u64) -> io::Result<()>,
    progress: Progress<'_>,
) -> Result<(), HostError> {
    reserve(&file, size_bytes).map_err(|cause| making_error(path, size_bytes, cause))?;
    let opened = match BlockFile::open(path, Access::ReadWrite, Cache::Hardware) {
        Ok(opened) if opened.demand_alignment(4096, 0).is_ok() => opened,
        Ok(_) | Err(OpenError::Unsupported(_)) => {
            BlockFile::open(path, Access::ReadWrite, Cache::All).map_err(host_error)?
        }
        Err(OpenError::Host(error)) => return Err(error),
    };
    let handle = opened.file.try_clone().map_err(HostError::at("open", path))?;
    let mut ring = BlockRing::new(&RingOptions::new(DEPTH, CHUNK_BYTES), vec![handle])?;
    write_all(&mut ring, size_bytes, &opened, progress).map_err(|cause| making_error(path, size_bytes, cause))?;
    drop(ring);
    // Whole pages were written.
    file.set_len(size_bytes).map_err(HostError::at("cut", path))?;
    file.sync_all().map_err(|cause| making_error(path, size_bytes, cause))
}

/// Fills the first bytes of a device with blocks.
pub(super) fn fill_device(path: &Path, size_bytes: u64, progress: Progress<'_>) -> Result<(), HostError> {
    let opened = BlockFile::open(path, Access::ReadWrite, Cache::Hardware).map_err(host_error)?;
    let handle = opened.file.try_clone().map_err(HostError::at("open", path))?;
    let mut ring = BlockRing::new(&RingOptions::new(DEPTH, CHUNK_BYTES), vec![handle])?;
    write_all(&mut ring, size_bytes, &opened, progress).map_err(HostError::at("write", path))?;
    drop(ring);
    opened.file.sync_all().map_err(HostError::at("sync", path))
}

/// Takes a file's space at once: few extents, and a full volume shows early.
#[cfg(target_os = "linux")]
pub(crate) fn reserve(file: &File, size_bytes: u64) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size_bytes) {
        // Such filesystems allocate as they go.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

/// Does nothing: space is taken as the file is written.
#[cfg(not(target_os = "linux"))]
pub(crate) fn reserve(_file: &File, _size_bytes: u64) -> io::Result<()> {
    Ok(())
}

/// The error of a write or reservation that failed: a full disk, or another cause.
fn making_error(path: &Path, size_bytes: u64, cause: io::Error) -> HostError {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            disk_full(path, size_bytes, &cause.to_string())
        }
        _ => HostError::at("write", path)(cause),
    }
}

/// Rounded up to whole pages with direct I/O.
fn write_all(ring: &mut BlockRing, size_bytes: u64, opened: &BlockFile, progress: Progress<'_>) -> io::Result<()> {
    let size_bytes = if opened.cache.is_direct() { size_bytes.next_multiple_of(4096) } else { size_bytes };
    // Two targets made at one instant must differ.
    let mut content = Content::new(crate::clock::now_ns() ^ crate::scratch::random_number());
    let mut free: Vec<u32> = (0..DEPTH).collect();
    let mut chunks = vec![0_u32; DEPTH as usize];
    let mut done: Vec<BlockDone> = Vec::with_capacity(DEPTH as usize);
    let (mut next, mut written) = (0_u64, 0_u64);
    while written < size_bytes {
        while next < size_bytes
            && let Some(slot) = free.pop()
        {
            let bytes = u64::from(CHUNK_BYTES).min(size_bytes - next) as u32;
            content.fill_next(
                ring.buffer_mut(slot).and_then(|buffer| buffer.get_mut(..bytes as usize)).unwrap_or_default(),
            );
            ring.submit(slot, 0, BlockOp::Write { offset: next, bytes }).map_err(io::Error::other)?;
            chunks[slot as usize] = bytes;
            next += u64::from(bytes);
        }
        ring.reap(u64::MAX, &mut done)?;
        for ended in done.drain(..) {
            let bytes = ended.result.map_err(io::Error::from_raw_os_error)?;
            if bytes != chunks[ended.slot as usize] {
                // A short write did not fit.
                return Err(io::ErrorKind::StorageFull.into());
            }
            written += u64::from(bytes);
            free.push(ended.slot);
        }
        if progress(written.min(size_bytes)).is_break() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "it was stopped"));
        }
    }
    Ok(())
}
