//! The extents of a file, as the filesystem reports them.

use std::fs::File;

use super::Flaw;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// 1 for a contiguous file.
    pub count: u64,
    /// Whether extents are shared with other files (a reflink, a snapshot): a write then goes elsewhere first.
    pub are_shared: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The flaw that makes the file useless.
    pub flaw: Option<Flaw>,
    pub extents: Result<Extents, String>,
    pub unseen: Vec<String>,
}

/// Sync the file first: what is only in the page cache has no place yet.
pub fn allocation_of(file: &File, size_bytes: u64) -> Allocation {
    imp::allocation_of(file, size_bytes)
}

#[cfg(windows)]
mod imp {
    use std::os::windows::fs::MetadataExt;

    use super::*;

    const SPARSE: u32 = 0x200;
    const COMPRESSED: u32 = 0x800;

    /// How a file's bytes are allocated, by its attributes.
    pub(super) fn allocation_of(file: &File, _size_bytes: u64) -> Allocation {
        let attributes = file.metadata().map(|data| data.file_attributes()).unwrap_or(0);
        let flaw = match attributes {
            some if some & COMPRESSED != 0 => Some(Flaw::Transformed { how: "compressed" }),
            some if some & SPARSE != 0 => Some(Flaw::Transformed { how: "sparse" }),
            _ => None,
        };
        let unseen = "which parts were never written is not read on Windows".to_owned();
        Allocation { flaw, extents: Err("they are not counted on Windows".to_owned()), unseen: vec![unseen] }
    }
}

#[cfg(unix)]
mod imp {
    use super::*;

    /// How a file's bytes are allocated, by seeking holes.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn allocation_of(file: &File, size_bytes: u64) -> Allocation {
        by_seeking(file, size_bytes, "extents are counted on Linux only")
    }

    /// How a file's bytes are allocated, by the filesystem's map, else by seeking holes.
    #[cfg(target_os = "linux")]
    pub(super) fn allocation_of(file: &File, size_bytes: u64) -> Allocation {
        match fiemap::walk_extents(file, size_bytes) {
            Ok((extents, flaw)) => Allocation { flaw, extents: Ok(extents), unseen: Vec::new() },
            Err(reason) => by_seeking(file, size_bytes, &reason),
        }
    }

    /// Seeking shows holes, but not unwritten extents.
    pub(in crate::target) fn by_seeking(file: &File, size_bytes: u64, why: &str) -> Allocation {
        let mut unseen = vec![format!("extents that are given out but not written ({why})")];
        let flaw = match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)) {
            Ok(hole) if hole < size_bytes => {
                let end = rustix::fs::seek(file, rustix::fs::SeekFrom::Data(hole)).unwrap_or(size_bytes);
                Some(Flaw::NeverWritten { kind: "a hole", offset_bytes: hole, bytes: end.min(size_bytes) - hole })
            }
            Ok(_) => None,
            Err(cause) => {
                unseen.push(format!("holes ({cause})"));
                None
            }
        };
        // The file's other users share its offset.
        let _ = rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0));
        Allocation { flaw, extents: Err(why.to_owned()), unseen }
    }
}

#[cfg(target_os = "linux")]
mod fiemap {
    //! The kernel's map of a file; see Documentation/filesystems/fiemap.rst.

    use rustix::ioctl::{Updater, ioctl, opcode};

    use super::*;

    /// Extents per request.
    const AT_ONCE: usize = 256;

    const SYNC: u32 = 0x1;

    const LAST: u32 = 0x1;
    const UNKNOWN: u32 = 0x2;
    const DELAYED: u32 = 0x4;
    const ENCODED: u32 = 0x8;
    const ENCRYPTED: u32 = 0x80;
    const INLINE: u32 = 0x200;
    const UNWRITTEN: u32 = 0x800;
    const SHARED: u32 = 0x2000;

    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Extent {
        logical: u64,
        physical: u64,
        length: u64,
        reserved64: [u64; 2],
        flags: u32,
        reserved: [u32; 3],
    }

    #[repr(C)]
    struct Header {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        count: u32,
        reserved: u32,
    }

    #[repr(C)]
    struct Map {
        header: Header,
        extents: [Extent; AT_ONCE],
    }

    const FIEMAP: rustix::ioctl::Opcode = opcode::read_write::<Header>(b'f', 11);

    /// Extents up to the file's size, and the first flaw.
    pub(super) fn walk_extents(file: &File, size_bytes: u64) -> Result<(Extents, Option<Flaw>), String> {
        let mut found = Extents { count: 0, are_shared: false };
        let mut flaw = None;
        // Mapped so far, and where that ends on the device.
        let (mut reached, mut physical_end) = (0, None);
        while reached < size_bytes {
            let map = ask_extents(file, reached, size_bytes - reached)?;
            let extents = &map.extents[..(map.header.mapped as usize).min(AT_ONCE)];
            if extents.is_empty() {
                break;
            }
            for extent in extents {
                flaw = flaw.or_else(|| extent_flaw(extent, reached));
                found.count += u64::from(physical_end != Some(extent.physical));
                found.are_shared |= extent.flags & SHARED != 0;
                physical_end = Some(extent.physical + extent.length);
                reached = extent.logical + extent.length;
            }
            if extents.iter().any(|extent| extent.flags & LAST != 0) {
                break;
            }
        }
        if reached < size_bytes {
            let bytes = size_bytes - reached;
            flaw = flaw.or(Some(Flaw::NeverWritten { kind: "a hole", offset_bytes: reached, bytes }));
        }
        Ok((found, flaw))
    }

    /// Asks the filesystem for the extents of a part of the file.
    fn ask_extents(file: &File, start: u64, length: u64) -> Result<Map, String> {
        let header = Header { start, length, flags: SYNC, mapped: 0, count: AT_ONCE as u32, reserved: 0 };
        let mut map = Map { header, extents: [Extent::default(); AT_ONCE] };
        // SAFETY: the structure is the request's, with as many extents behind the header as it says, and both are plain
        // numbers.
        let done = unsafe { ioctl(file, Updater::<FIEMAP, Map>::new(&mut map)) };
        done.map_err(|cause| format!("the filesystem gives no map of a file: {cause}"))?;
        Ok(map)
    }

    /// `reached`: how far the file is mapped.
    fn extent_flaw(extent: &Extent, reached: u64) -> Option<Flaw> {
        let (offset_bytes, bytes) = (extent.logical, extent.length);
        if extent.logical > reached {
            let bytes = extent.logical - reached;
            return Some(Flaw::NeverWritten { kind: "a hole", offset_bytes: reached, bytes });
        }
        if extent.flags & UNWRITTEN != 0 {
            return Some(Flaw::NeverWritten { kind: "an unwritten extent", offset_bytes, bytes });
        }
        if extent.flags & (DELAYED | UNKNOWN) != 0 {
            return Some(Flaw::NeverWritten { kind: "without a place on the disk", offset_bytes, bytes });
        }
        if extent.flags & INLINE != 0 {
            return Some(Flaw::Transformed { how: "inside its own records" });
        }
        // Encryption alone keeps the size.
        if extent.flags & ENCODED != 0 && extent.flags & ENCRYPTED == 0 {
            return Some(Flaw::Transformed { how: "compressed" });
        }
        None
    }
}

#[cfg(all(test, unix))]
pub(super) use imp::by_seeking;
