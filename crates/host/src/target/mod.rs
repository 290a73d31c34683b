//! The files that a disk benchmark works on: made so that they cannot fool, and verified before anything is measured.
//!
//! A read of a block that was never written is no I/O: the filesystem answers it with zeros. A block of zeros, or one
//! that is like another, is stored by many arrays and filesystems without its bytes. Published figures of tens of
//! gigabytes a second come from such files. A target of étalon's is therefore written in full, with unique bytes that do
//! not compress, and [`verify`] believes no file before it has looked: holes, unwritten extents, a sample that
//! compresses or repeats, too small a size.

mod allocation;
mod fragment;
mod make;
mod marker;
mod raw;
mod sample;

use std::path::Path;

pub use allocation::{Allocation, Extents, allocation_of};
pub use fragment::make_fragmented;
pub(crate) use make::is_there;
pub use make::{Progress, RESERVE_BYTES, make, remove};
#[cfg(all(test, target_os = "linux"))]
pub(crate) use make::{make_with, reserve};
pub use marker::{Marker, MarkerState};
pub use raw::{RawDevice, is_device};

use crate::blocks::{Access, BlockFile, Cache, OpenError};
use crate::error::HostError;
use crate::system::text::size;

/// The most of a sample that may be saved by compression or by storing equal blocks once.
const MOST_SAVING: f64 = 0.01;

/// What a verified target was found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Sound {
    pub size_bytes: u64,
    /// How its space is given out; the reason where nothing tells.
    pub extents: Result<Extents, String>,
    /// The share of a sample that compression and storing equal blocks once would save: below 0.01.
    pub saving: f64,
    /// What could not be looked at, in words.
    pub unseen: Vec<String>,
}

/// Why a target would give figures of something else than its disk.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Flaw {
    /// It is smaller than what is to be touched.
    #[error("it has {}, and {} are to be touched", size(*.size_bytes), size(*.span_bytes))]
    TooSmall {
        size_bytes: u64,
        /// What is to be touched.
        span_bytes: u64,
    },
    /// A part of it was never written, and a read of it is no I/O.
    #[error("{} at {offset_bytes} were never written ({kind}), so that a read of them is no I/O", size(*.bytes))]
    NeverWritten {
        /// What the filesystem calls it.
        kind: &'static str,
        /// Where the first such part begins.
        offset_bytes: u64,
        /// How long that is.
        bytes: u64,
    },
    /// The filesystem stores it in a form of its own.
    #[error("the filesystem stores it {how}, so that its operations are not the disk's")]
    Transformed {
        /// `compressed`, `inside its inode`, `sparse`.
        how: &'static str,
    },
    /// What is in it compresses.
    #[error("{:.0} % of a sample of it would be saved by compression or by storing equal blocks once: a disk or a \
             filesystem that does so works with less than was asked for", 100.0 * .saving)]
    Compressible {
        /// The share that would be saved.
        saving: f64,
    },
    /// It is neither a file nor a block device.
    #[error("it is neither a file nor a block device")]
    NoFile,
}

/// Whether a target can be believed.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Sound(Sound),
    /// It cannot: the reason.
    Refused(Flaw),
}

/// Looks at a file or block device whose first `span_bytes` are to be touched.
///
/// What is dirty in the page cache is written first, since it has no place on the disk before. The sample is read past
/// the page cache where that can be, and dropped from it where not. On a device, and where the filesystem tells of no
/// extents, a block that was never written shows in the sample only, since it reads as zeros.
pub fn verify(path: &Path, span_bytes: u64) -> Result<Verdict, HostError> {
    let data = std::fs::metadata(path).map_err(HostError::at("look at", path))?;
    let opened = open(path)?;
    if !data.is_file() && opened.size_bytes == 0 {
        return Ok(Verdict::Refused(Flaw::NoFile));
    }
    let size_bytes = opened.size_bytes;
    if size_bytes < span_bytes || size_bytes == 0 {
        return Ok(Verdict::Refused(Flaw::TooSmall { size_bytes, span_bytes }));
    }
    let mut unseen = Vec::new();
    let mut extents = Err("a device has none".to_owned());
    if data.is_file() {
        opened.file.sync_all().map_err(HostError::at("sync", path))?;
        let allocation = allocation_of(&opened.file, size_bytes);
        if let Some(flaw) = allocation.flaw {
            return Ok(Verdict::Refused(flaw));
        }
        unseen.extend(allocation.unseen);
        extents = allocation.extents;
    }
    let saving = sample::saving(&opened, span_bytes.min(size_bytes)).map_err(HostError::at("read", path))?;
    if saving >= MOST_SAVING {
        return Ok(Verdict::Refused(Flaw::Compressible { saving }));
    }
    Ok(Verdict::Sound(Sound { size_bytes, extents, saving, unseen }))
}

/// Past the page cache where that can be.
fn open(path: &Path) -> Result<BlockFile, HostError> {
    let opened = BlockFile::open(path, Access::Read, Cache::Hardware);
    let opened = match opened {
        // A sample is of whole pages, which every disk takes.
        Ok(opened) if opened.demand(sample::PIECE_BYTES as u64, 0).is_ok() => return Ok(opened),
        Ok(_) | Err(OpenError::Unsupported(_)) => BlockFile::open(path, Access::Read, Cache::All),
        Err(error) => Err(error),
    };
    opened.map_err(plain)
}

/// The error in the room's own words.
fn plain(error: OpenError) -> HostError {
    match error {
        OpenError::Host(error) => error,
        OpenError::Unsupported(reason) => HostError::unavailable("open a target", reason),
    }
}

#[cfg(test)]
mod tests;
