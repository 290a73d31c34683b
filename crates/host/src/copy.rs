//! Copies of files and of folders, with blocks of their own or with the original's until one of the two is written.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use crate::error::HostError;

const PIECE_BYTES: usize = 1 << 20;
/// The operating system would begin to write when a tenth of the memory waits for it, and the device stand idle until then.
const BEGIN_BYTES: u64 = 8 << 20;
/// Asked for before it is read: else nothing would be read while this thread waits for what is written.
const AHEAD_BYTES: u64 = 32 << 20;

/// Says that a copy is to be broken off.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Whose blocks a copy has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Its own. A system's own way to copy may share them (XFS, btrfs, ZFS and APFS do), and who writes to one of the
    /// two files then pays for parting them.
    Own,
    /// The original's where the filesystem can, else its own.
    SharedIfPossible,
}

/// The extent of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The files' lengths together.
    pub bytes: u64,
    /// Some of them share blocks with their originals.
    pub shares_blocks: bool,
}

/// Copies a file, which is on the device afterwards: else a later run would pay for its write-back.
///
/// # Errors
/// One of the two cannot be read, made or written.
pub fn copy_file(from: &Path, to: &Path, blocks: Blocks, stop: Stop<'_>) -> Result<Copied, HostError> {
    let (copied, file) = copy_content(from, to, blocks, stop)?;
    file.sync_all().map_err(HostError::at("write to the device", to))?;
    Ok(copied)
}

/// Copies a folder that holds files and folders alone, with their owners and permissions, into one that is not there yet.
/// It is on the device afterwards.
///
/// # Errors
/// `to` is there, something in `from` is neither file nor folder, or one of them cannot be read, made or written.
pub fn copy_tree(from: &Path, to: &Path, blocks: Blocks, stop: Stop<'_>) -> Result<Copied, HostError> {
    let copied = copy_folder(from, to, blocks, stop)?;
    sync(to)?;
    Ok(copied)
}

/// Reads all files of a folder, so that the operating system holds as much of them as fits.
///
/// # Errors
/// One of them cannot be read.
pub fn read_through(folder: &Path, stop: Stop<'_>) -> Result<(), HostError> {
    let mut piece = vec![0; PIECE_BYTES];
    for entry in fs::read_dir(folder).map_err(HostError::at("read the folder", folder))? {
        let path = entry.map_err(HostError::at("read the folder", folder))?.path();
        if path.is_dir() {
            read_through(&path, stop)?;
            continue;
        }
        let mut file = File::open(&path).map_err(HostError::at("open", &path))?;
        while !stop() && file.read(&mut piece).map_err(HostError::at("read", &path))? > 0 {}
    }
    Ok(())
}

/// Whether copies within a folder can share blocks: tried with a small file.
pub fn can_share(folder: &Path) -> bool {
    let original = folder.join(format!(".etalon-{}", std::process::id()));
    let copy = original.with_extension("shared");
    // An empty file is shared by filesystems that could share no block.
    let written =
        File::create_new(&original).and_then(|mut file| file.write_all(&[1; 4096]).and_then(|()| file.sync_all()));
    let shared = written.and_then(|()| imp::share(&original, &copy));
    for file in [&original, &copy] {
        let _ = fs::remove_file(file);
    }
    shared.is_ok()
}

/// The lengths of a folder's files together.
///
/// # Errors
/// It cannot be read.
pub fn bytes_of(folder: &Path) -> Result<u64, HostError> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(HostError::at("read the folder", folder))? {
        let entry = entry.map_err(HostError::at("read the folder", folder))?;
        let metadata = entry.metadata().map_err(HostError::at("look at", &entry.path()))?;
        bytes += if metadata.is_dir() { bytes_of(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Copies a folder and all below it into a new one.
fn copy_folder(from: &Path, to: &Path, blocks: Blocks, stop: Stop<'_>) -> Result<Copied, HostError> {
    fs::create_dir(to).map_err(HostError::at("make the folder", to))?;
    let mut all = Copied::default();
    for entry in fs::read_dir(from).map_err(HostError::at("read the folder", from))? {
        let entry = entry.map_err(HostError::at("read the folder", from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(HostError::at("look at", &from))?;
        let copied = match (kind.is_dir(), kind.is_file()) {
            (true, _) => copy_folder(&from, &to, blocks, stop)?,
            (_, true) => copy_content(&from, &to, blocks, stop)?.0,
            _ => {
                let reason = "it is neither a file nor a folder";
                return Err(HostError::unavailable(format!("copy {}", from.display()), reason));
            }
        };
        all.bytes += copied.bytes;
        all.shares_blocks |= copied.shares_blocks;
    }
    let metadata = fs::metadata(from).map_err(HostError::at("look at", from))?;
    imp::give_as(to, &metadata).map_err(HostError::at("change the owner of", to))?;
    Ok(all)
}

/// Copies a file's content, sharing blocks where that is asked for; nothing is synced.
fn copy_content(from: &Path, to: &Path, blocks: Blocks, stop: Stop<'_>) -> Result<(Copied, File), HostError> {
    let metadata = fs::metadata(from).map_err(HostError::at("look at", from))?;
    let shared = match blocks {
        Blocks::Own => None,
        Blocks::SharedIfPossible => imp::share(from, to).ok(),
    };
    let copied = Copied { bytes: metadata.len(), shares_blocks: shared.is_some() && metadata.len() > 0 };
    let file = match shared {
        Some(file) => file,
        None => copy_bytes(from, to, stop)?,
    };
    imp::give_as(to, &metadata).map_err(HostError::at("change the owner of", to))?;
    Ok((copied, file))
}

/// Holes stay holes, and what is written goes to the device while the rest is read.
fn copy_bytes(from: &Path, to: &Path, stop: Stop<'_>) -> Result<File, HostError> {
    let mut source = File::open(from).map_err(HostError::at("open", from))?;
    let mut target = imp::create(to).map_err(HostError::at("make", to))?;
    let bytes = source.metadata().map_err(HostError::at("look at", from))?.len();
    let mut piece = vec![0; PIECE_BYTES];
    let mut is_copied_by_kernel = kernel::has_own_blocks_only(&source) && kernel::has_own_blocks_only(&target);
    let (mut at, mut flushed) = (0, 0);
    kernel::begin_reading(&source, 0..AHEAD_BYTES);
    while let Some(data) = kernel::data_from(&source, at, bytes).map_err(HostError::at("look for holes in", from))? {
        source.seek(SeekFrom::Start(data.start)).map_err(HostError::at("read", from))?;
        target.seek(SeekFrom::Start(data.start)).map_err(HostError::at("write", to))?;
        at = data.start;
        while at < data.end {
            if stop() {
                let tried = format!("copy {}", from.display());
                return Err(HostError::refused(io::ErrorKind::Interrupted, tried, "it was interrupted"));
            }
            let most = usize::try_from(data.end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            if is_copied_by_kernel {
                match kernel::copy_piece(&source, &target, most) {
                    Ok(copied) if copied > 0 => at += copied as u64,
                    // An old or a confined kernel, or a full device: the other way shows which.
                    _ => is_copied_by_kernel = false,
                }
            } else {
                let room = piece.get_mut(..most).unwrap_or_default();
                source.read_exact(room).map_err(HostError::at("read", from))?;
                target.write_all(room).map_err(HostError::at("write", to))?;
                at += most as u64;
            }
            if at - flushed >= BEGIN_BYTES {
                kernel::begin_writing(&target, flushed..at);
                kernel::begin_reading(&source, at + AHEAD_BYTES - BEGIN_BYTES..at + AHEAD_BYTES);
                flushed = at;
            }
        }
    }
    kernel::begin_writing(&target, flushed..at);
    // A hole at its end.
    target.set_len(bytes).map_err(HostError::at("write", to))?;
    Ok(target)
}

/// Syncs a folder's files to the device by one request for the whole filesystem, where there is one: a server's folder
/// has a thousand files.
#[cfg(target_os = "linux")]
fn sync(folder: &Path) -> Result<(), HostError> {
    let opened = File::open(folder).map_err(HostError::at("open", folder))?;
    rustix::fs::syncfs(&opened).map_err(|error| HostError::at("write to the device", folder)(error.into()))
}

/// Syncs a folder's files to the device, one by one.
#[cfg(not(target_os = "linux"))]
fn sync(folder: &Path) -> Result<(), HostError> {
    for entry in fs::read_dir(folder).map_err(HostError::at("read the folder", folder))? {
        let path = entry.map_err(HostError::at("read the folder", folder))?.path();
        if path.is_dir() {
            sync(&path)?;
        } else {
            let file = File::options().write(true).open(&path).map_err(HostError::at("open", &path))?;
            file.sync_all().map_err(HostError::at("write to the device", &path))?;
        }
    }
    Ok(())
}

/// Linux's own ways to copy.
#[cfg(target_os = "linux")]
mod kernel {
    use std::num::NonZeroU64;
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{Advice, SeekFrom};
    use rustix::io::Errno;

    use super::{File, Range, io};

    /// Bytes of one request: of a longer one Linux reads no more than the device takes at once.
    const READ_BYTES: usize = 512 << 10;

    /// The next part of a file from `at` on that has data, up to `bytes`; `None` where only a hole follows.
    pub(super) fn data_from(file: &File, at: u64, bytes: u64) -> io::Result<Option<Range<u64>>> {
        if at >= bytes {
            return Ok(None);
        }
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            // A hole reaches to the end.
            Err(Errno::NXIO) => return Ok(None),
            // The filesystem reports none.
            Err(Errno::INVAL) => return Ok(Some(at..bytes)),
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start))?;
        Ok((start < bytes).then(|| start..end.min(bytes)))
    }

    /// Whether no two files of its filesystem share blocks, so that the kernel's own copy is one of blocks: it does not carry
    /// each byte through this process, which takes twice as long where the original is in memory.
    pub(super) fn has_own_blocks_only(file: &File) -> bool {
        /// Magic number of ext2 to ext4.
        const EXT: u64 = 0xef53;
        rustix::fs::fstatfs(file).is_ok_and(|of| u64::try_from(of.f_type) == Ok(EXT))
    }

    /// Copies up to `bytes` within the kernel; returns how many.
    pub(super) fn copy_piece(from: &File, to: &File, bytes: usize) -> io::Result<usize> {
        Ok(rustix::fs::copy_file_range(from, None, to, None, bytes)?)
    }

    /// Does not wait until it is done. What is in memory already is not read again.
    pub(super) fn begin_reading(file: &File, part: Range<u64>) {
        for start in part.step_by(READ_BYTES) {
            let _ = rustix::fs::fadvise(file, start, NonZeroU64::new(READ_BYTES as u64), Advice::WillNeed);
        }
    }

    /// Does not wait until it is done. The sync at the end reports a failure.
    pub(super) fn begin_writing(file: &File, part: Range<u64>) {
        let length = part.end.saturating_sub(part.start);
        let (Ok(start), Ok(length)) = (part.start.try_into(), length.try_into()) else { return };
        // SAFETY: no memory is passed, and the file is open.
        let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, libc::SYNC_FILE_RANGE_WRITE) };
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use super::{File, Range, io};

    /// The rest of a file from `at` up to `bytes`: holes are not looked for here.
    pub(super) fn data_from(_file: &File, at: u64, bytes: u64) -> io::Result<Option<Range<u64>>> {
        Ok((at < bytes).then_some(at..bytes))
    }

    pub(super) fn has_own_blocks_only(_file: &File) -> bool {
        false
    }

    /// Fails: the kernel does not copy files here.
    pub(super) fn copy_piece(_from: &File, _to: &File, _bytes: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Does nothing: the kernel takes no advice here.
    pub(super) fn begin_reading(_file: &File, _part: Range<u64>) {}

    /// Does nothing: the kernel takes no advice here.
    pub(super) fn begin_writing(_file: &File, _part: Range<u64>) {}
}

#[cfg(unix)]
mod imp {
    use super::{File, Metadata, Path, fs, io};

    /// Makes or empties a file, and follows no link that others may have put in its place.
    pub(super) fn create(to: &Path) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        File::options().write(true).create(true).truncate(true).custom_flags(no_follow).open(to)
    }

    /// Gives a copy the owner and the permissions of its original.
    pub(super) fn give_as(to: &Path, original: &Metadata) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        // Only root gives a file away; a file of another user could not have been read as this user's own, either.
        if original.uid() != fs::symlink_metadata(to)?.uid() {
            std::os::unix::fs::lchown(to, Some(original.uid()), Some(original.gid()))?;
        }
        fs::set_permissions(to, original.permissions())
    }

    /// Makes a copy that shares the original's blocks.
    #[cfg(target_os = "linux")]
    pub(super) fn share(from: &Path, to: &Path) -> io::Result<File> {
        let (source, target) = (File::open(from)?, create(to)?);
        rustix::fs::ioctl_ficlone(&target, &source)?;
        Ok(target)
    }

    /// Makes a copy that shares the original's blocks.
    #[cfg(target_os = "macos")]
    pub(super) fn share(from: &Path, to: &Path) -> io::Result<File> {
        let source = File::open(from)?;
        rustix::fs::fclonefileat(&source, rustix::fs::CWD, to, rustix::fs::CloneFlags::empty())?;
        File::options().write(true).open(to)
    }

    /// Fails: files cannot share blocks here.
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub(super) fn share(_from: &Path, _to: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
mod imp {
    use super::{File, Metadata, Path, fs, io};

    /// Makes or empties a file.
    pub(super) fn create(to: &Path) -> io::Result<File> {
        File::create(to)
    }

    /// Gives a copy the permissions of its original.
    pub(super) fn give_as(to: &Path, original: &Metadata) -> io::Result<()> {
        fs::set_permissions(to, original.permissions())
    }

    /// Fails: files cannot share blocks here.
    pub(super) fn share(_from: &Path, _to: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("sub/empty")).unwrap();
        fs::write(from.join("one"), vec![1; 3 * PIECE_BYTES + 5]).unwrap();
        fs::write(from.join("sub/none"), "").unwrap();
        for blocks in [Blocks::Own, Blocks::SharedIfPossible] {
            let copied = copy_tree(&from, &to, blocks, &|| false).unwrap();
            assert_eq!(copied.bytes, 3 * PIECE_BYTES as u64 + 5);
            assert_eq!(copied.shares_blocks, blocks == Blocks::SharedIfPossible && can_share(folder.path()));
            assert_eq!(fs::read(from.join("one")).unwrap(), fs::read(to.join("one")).unwrap());
            assert!(to.join("sub/empty").is_dir() && to.join("sub/none").is_file());
            assert!(copy_tree(&from, &to, blocks, &|| false).is_err(), "it is there already");
            fs::remove_dir_all(&to).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what was tried stayed behind");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("from")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("from/link")).unwrap();
        let failed = copy_tree(&folder.path().join("from"), &folder.path().join("to"), Blocks::Own, &|| false);
        assert!(failed.unwrap_err().to_string().ends_with("neither a file nor a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_copy_s_place_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to, theirs] = ["from", "to", "theirs"].map(|name| folder.path().join(name));
        [(&from, "copied"), (&theirs, "kept")].into_iter().for_each(|(path, text)| fs::write(path, text).unwrap());
        std::os::unix::fs::symlink(&theirs, &to).unwrap();
        for blocks in [Blocks::Own, Blocks::SharedIfPossible] {
            assert!(copy_file(&from, &to, blocks, &|| false).is_err());
            assert_eq!(fs::read_to_string(&theirs).unwrap(), "kept");
        }
    }

    #[test]
    fn holes_are_copied_as_they_are_read_and_take_no_space() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let holes: [(u64, &[u64]); 5] =
            [(0, &[]), (9 << 20, &[]), (9 << 20, &[0]), (30 << 20, &[4 << 20, 20 << 20]), ((9 << 20) + 5, &[9 << 20])];
        for (length, places) in holes {
            let mut original = File::create(&from).unwrap();
            original.set_len(length).unwrap();
            for place in places {
                original.seek(SeekFrom::Start(*place)).unwrap();
                original.write_all(&[7; 5]).unwrap();
            }
            original.sync_all().unwrap();
            let copied = copy_file(&from, &to, Blocks::Own, &|| false).unwrap();
            assert_eq!(copied.bytes, length);
            assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap(), "{length} bytes, with data at {places:?}");
            // Others report no holes.
            #[cfg(target_os = "linux")]
            {
                use std::os::unix::fs::MetadataExt as _;
                let [copy, original] = [&to, &from].map(|path| fs::metadata(path).unwrap().blocks());
                assert!(copy <= original, "{copy} of {original}");
            }
        }
    }

    #[test]
    fn a_copy_stops_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, vec![1; 5 * PIECE_BYTES]).unwrap();
        let calls = std::cell::Cell::new(0);
        let error = copy_file(&from, &to, Blocks::Own, &|| calls.replace(calls.get() + 1) == 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert_eq!(fs::metadata(&to).unwrap().len(), 2 * PIECE_BYTES as u64);
    }

    /// A system's own copy would share blocks in one call. The kernel counts a thread's writes.
    #[test]
    fn a_copy_is_written_piece_by_piece() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let bytes: Vec<u8> = (0..(5 << 20) + 17).map(|n: u32| (n >> 3) as u8).collect();
        fs::write(&from, &bytes).unwrap();
        // Other systems do not count.
        let counts = std::env::consts::OS == "linux";
        let written = || -> u64 {
            let account = fs::read_to_string("/proc/thread-self/io").unwrap();
            account.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap().parse().unwrap()
        };
        let before = counts.then(written);
        copy_file(&from, &to, Blocks::Own, &|| false).unwrap();
        assert!(before.is_none_or(|before| written() - before >= 6));
        assert_eq!(fs::read(&to).unwrap(), bytes);
    }
}
