//! Files and devices opened so that it is known which caches lie between.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::disk::{self, Backing};
use crate::error::HostError;

/// The caches that may serve an operation; SQLIO's `-BN`, `-BH`, `-BS` and `-BY`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cache {
    /// Direct I/O, and a write completes when durable (`O_DIRECT` with `O_DSYNC`; on Windows `FILE_FLAG_NO_BUFFERING`
    /// with `FILE_FLAG_WRITE_THROUGH`).
    None,
    /// The disk's own: direct I/O only (`O_DIRECT`), like databases that manage their memory.
    #[default]
    Hardware,
    /// The filesystem's: a read may come from the page cache, a write completes when durable (`O_DSYNC`).
    Filesystem,
    /// A write completes in the page cache.
    All,
}

impl Cache {
    pub const ALL: [Cache; 4] = [Cache::None, Cache::Hardware, Cache::Filesystem, Cache::All];

    pub fn as_str(self) -> &'static str {
        match self {
            Cache::None => "none",
            Cache::Hardware => "hw",
            Cache::Filesystem => "fs",
            Cache::All => "all",
        }
    }

    /// The mode of this word.
    pub fn from_name(name: &str) -> Option<Cache> {
        Cache::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// Bypasses the page cache.
    pub fn is_direct(self) -> bool {
        matches!(self, Cache::None | Cache::Hardware)
    }

    /// A write completes only when durable.
    pub fn is_durable(self) -> bool {
        matches!(self, Cache::None | Cache::Filesystem)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Overwrites existing bytes.
    ReadWrite,
}

/// The alignment that direct operations must keep to, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Alignment of offsets and sizes: the device's logical block, or what the filesystem demands.
    pub block_bytes: u32,
    /// Alignment of buffers.
    pub memory_bytes: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file, its filesystem or its device cannot do it. Nothing is rounded to what it can.
    #[error("unsupported: {0}")]
    Unsupported(String),
    #[error(transparent)]
    Host(#[from] HostError),
}

#[derive(Debug)]
pub struct BlockFile {
    /// The open file. For more handles open it again: duplicates share this one.
    pub file: File,
    pub path: PathBuf,
    pub cache: Cache,
    /// Size of the file or the device.
    pub size_bytes: u64,
    /// Alignment of direct operations; the reason where the operating system does not report it.
    pub alignment: Result<Alignment, String>,
}

impl BlockFile {
    /// Opens an existing file or device.
    ///
    /// # Errors
    /// It cannot be opened, or not with direct I/O, as in memory (Linux accepts `O_DIRECT` on tmpfs without effect).
    pub fn open(path: &Path, access: Access, cache: Cache) -> Result<BlockFile, OpenError> {
        if cache.is_direct() {
            if !HAS_DIRECT {
                return Err(no_direct(path, "étalon asks for it on Linux, macOS and Windows only"));
            }
            demand_disk(path)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::ReadWrite);
        set_flags(&mut options, cache);
        let file = options.open(path).map_err(|cause| open_refusal(path, cache, cause))?;
        after_open(&file, cache).map_err(HostError::at("pass the cache by for", path))?;
        let size_bytes = size_of(&file).map_err(HostError::at("read the size of", path))?;
        let alignment = alignment_of(&file, path);
        if let (true, Ok(Alignment { block_bytes: 0, .. })) = (cache.is_direct(), &alignment) {
            return Err(no_direct(path, "its filesystem says so (statx)"));
        }
        Ok(BlockFile { file, path: path.to_owned(), cache, size_bytes, alignment })
    }

    /// Checks that operations of this size, at its multiples from an offset on, are possible.
    ///
    /// # Errors
    /// [`OpenError::Unsupported`] if the device's blocks are larger: `1024` on a disk with sectors of 4096 bytes.
    pub fn demand_alignment(&self, block_bytes: u64, offset_bytes: u64) -> Result<(), OpenError> {
        let (true, Ok(alignment)) = (self.cache.is_direct(), &self.alignment) else { return Ok(()) };
        let unit = u64::from(alignment.block_bytes);
        for (what, bytes) in [("operations", block_bytes), ("an offset", offset_bytes)] {
            if unit > 0 && !bytes.is_multiple_of(unit) {
                return Err(OpenError::Unsupported(format!(
                    "{what} of {bytes} bytes on {}: past the page cache its device takes multiples of {unit} only",
                    self.path.display()
                )));
            }
        }
        if alignment.memory_bytes as usize > super::memory::PAGE_BYTES {
            let words = format!("{} asks for buffers on {} bytes", self.path.display(), alignment.memory_bytes);
            return Err(OpenError::Unsupported(words));
        }
        Ok(())
    }
}

/// Others have ways of their own, as illumos has `directio`.
const HAS_DIRECT: bool = cfg!(any(target_os = "linux", target_os = "macos", windows));

/// Refuses a filesystem without a disk.
fn demand_disk(path: &Path) -> Result<(), OpenError> {
    let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file());
    if !is_file {
        return Ok(());
    }
    let filesystem = disk::filesystem_of(path)?;
    match filesystem.backing {
        Backing::Memory => Err(no_direct(path, &format!("it is in memory ({})", filesystem.kind))),
        _ => Ok(()),
    }
}

/// The error that there is no direct I/O on a path.
fn no_direct(path: &Path, why: &str) -> OpenError {
    OpenError::Unsupported(format!("direct I/O on {}: {why}", path.display()))
}

/// The failure to open a file. Without direct I/O a filesystem refuses it as an invalid argument.
fn open_refusal(path: &Path, cache: Cache, cause: std::io::Error) -> OpenError {
    if cache.is_direct() && cause.kind() == std::io::ErrorKind::InvalidInput {
        let kind = disk::filesystem_of(path).map_or_else(|_| "its filesystem".to_owned(), |filesystem| filesystem.kind);
        return no_direct(path, &format!("{kind} has none"));
    }
    OpenError::Host(HostError::at("open", path)(cause))
}

/// Size of a file or device.
fn size_of(file: &File) -> std::io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    let data = file.metadata()?;
    if data.is_file() {
        return Ok(data.len());
    }
    let mut file = file;
    let end = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    Ok(end)
}

/// Sets the flags by which a file is opened with this use of caches.
#[cfg(target_os = "linux")]
fn set_flags(options: &mut OpenOptions, cache: Cache) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let mut flags = OFlags::empty();
    flags.set(OFlags::DIRECT, cache.is_direct());
    flags.set(OFlags::DSYNC, cache.is_durable());
    options.custom_flags(flags.bits() as i32);
}

/// Sets the flags by which a file is opened with this use of caches.
#[cfg(all(unix, not(target_os = "linux")))]
fn set_flags(options: &mut OpenOptions, cache: Cache) {
    use std::os::unix::fs::OpenOptionsExt;
    if cache.is_durable() {
        options.custom_flags(rustix::fs::OFlags::DSYNC.bits() as i32);
    }
}

/// Sets the flags by which a file is opened with this use of caches.
#[cfg(windows)]
fn set_flags(options: &mut OpenOptions, cache: Cache) {
    use std::os::windows::fs::OpenOptionsExt;
    use windows_sys::Win32::Storage::FileSystem::{
        FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED, FILE_FLAG_WRITE_THROUGH,
    };
    let direct = if cache.is_direct() { FILE_FLAG_NO_BUFFERING } else { 0 };
    let durable = if cache.is_durable() { FILE_FLAG_WRITE_THROUGH } else { 0 };
    // Without the last a handle runs one operation at a time, no matter which thread asks.
    options.custom_flags(direct | durable | FILE_FLAG_OVERLAPPED);
}

/// macOS has no flag for it, but a request on the open file. Pages already cached stay in use.
#[cfg(target_os = "macos")]
fn after_open(file: &File, cache: Cache) -> std::io::Result<()> {
    if cache.is_direct() {
        rustix::fs::fcntl_nocache(file, true)?;
    }
    Ok(())
}

/// Does nothing: the flags of opening are enough.
#[cfg(not(target_os = "macos"))]
fn after_open(_file: &File, _cache: Cache) -> std::io::Result<()> {
    Ok(())
}

/// Fails: the alignment is not known here.
#[cfg(not(any(target_os = "linux", windows)))]
fn alignment_of(_file: &File, _path: &Path) -> Result<Alignment, String> {
    Err("this operating system does not tell what direct operations have to keep to".to_owned())
}

/// The volume's sector, for buffers too: see "File Buffering" in Microsoft's documentation of CreateFile.
#[cfg(windows)]
fn alignment_of(_file: &File, path: &Path) -> Result<Alignment, String> {
    let logical = disk::sectors_under(path).logical?;
    Ok(Alignment { block_bytes: logical, memory_bytes: logical })
}

/// The alignment that direct operations on a file must have.
#[cfg(target_os = "linux")]
fn alignment_of(file: &File, path: &Path) -> Result<Alignment, String> {
    use rustix::fs::{AtFlags, StatxFlags, ioctl_blksszget, statx};
    // A device answers for itself; for a file its filesystem does since Linux 6.1, before that the device's folder.
    let is_file = file.metadata().is_ok_and(|data| data.is_file());
    let logical = if is_file { disk::queue_bytes(path, "logical_block_size").ok() } else { ioctl_blksszget(file).ok() };
    if let Ok(stat) = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        && stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0
    {
        return Ok(Alignment { block_bytes: stat.stx_dio_offset_align, memory_bytes: stat.stx_dio_mem_align });
    }
    let logical = logical.ok_or("neither the filesystem nor a device under it tells")?;
    Ok(Alignment { block_bytes: logical, memory_bytes: logical })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn modes_keep_their_names() {
        for mode in Cache::ALL {
            assert_eq!(Cache::from_name(mode.as_str()), Some(mode));
        }
        assert_eq!(Cache::from_name("some"), None);
        assert!(Cache::Hardware.is_direct() && !Cache::Hardware.is_durable());
    }

    #[test]
    fn every_mode_opens_a_file_on_a_disk() {
        let scratch = Scratch::new("open", None).unwrap();
        if disk::is_memory_backed(scratch.path()).unwrap() {
            println!("skipped: there is no folder on a disk");
            return;
        }
        let path = scratch.path().join("file");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        for cache in Cache::ALL {
            let opened = BlockFile::open(&path, Access::ReadWrite, cache).unwrap();
            assert_eq!((opened.size_bytes, opened.cache), (8192, cache));
            opened.demand_alignment(4096, 8192).unwrap();
            if cfg!(any(target_os = "linux", windows)) && cache.is_direct() {
                let refused = opened.demand_alignment(100, 0).unwrap_err();
                assert!(matches!(&refused, OpenError::Unsupported(words) if words.contains("100 bytes")), "{refused}");
                assert!(opened.demand_alignment(4096, 100).is_err());
            } else {
                opened.demand_alignment(100, 0).unwrap();
            }
        }
        assert!(BlockFile::open(&scratch.path().join("none"), Access::Read, Cache::All).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_has_no_direct_operations() {
        let shared = Path::new("/dev/shm");
        if !shared.exists() || !disk::is_memory_backed(shared).unwrap() {
            println!("skipped: /dev/shm is not in memory");
            return;
        }
        let scratch = Scratch::new("open", Some(shared)).unwrap();
        let path = scratch.path().join("file");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        for cache in [Cache::None, Cache::Hardware] {
            let refused = BlockFile::open(&path, Access::Read, cache).unwrap_err();
            assert!(matches!(&refused, OpenError::Unsupported(words) if words.contains("tmpfs")), "{refused}");
        }
        BlockFile::open(&path, Access::Read, Cache::Filesystem).unwrap();
    }
}
