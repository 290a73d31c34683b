//! Files for disk benchmarks, verified before anything is measured.
//!
//! Reading a never-written block is no I/O: the filesystem answers with zeros. Many arrays and filesystems store
//! blocks of zeros or repeated blocks without their bytes. Published figures of tens of gigabytes a second come from
//! such files. So étalon writes a target in full, with unique incompressible bytes, and [`verify_target`] looks for holes,
//! unwritten extents, a sample that compresses or repeats, and too small a size.

mod allocation;
mod fragment;
mod make;
mod marker;
mod raw;
mod sample;

use std::io;
use std::path::Path;

pub use allocation::{Allocation, Extents, allocation_of};
pub use fragment::make_fragmented;
pub(crate) use make::has_leftovers;
pub use make::{Progress, RESERVE_BYTES, make_file, remove_with_companions};
#[cfg(all(test, target_os = "linux"))]
pub(crate) use make::{make_with, reserve};
pub use marker::{Marker, MarkerState};
pub use raw::{RawDevice, is_device};

use crate::blocks::{Access, BlockFile, Cache, OpenError};
use crate::error::HostError;
use crate::system::text::size_text;

/// Largest share that compression or deduplication may save of a sample.
const MOST_SAVING: f64 = 0.01;

#[derive(Clone, Debug, PartialEq)]
pub struct Sound {
    pub size_bytes: u64,
    pub extents: Result<Extents, String>,
    /// Share of a sample that compression and deduplication would save: below 0.01.
    pub saving: f64,
    pub unseen: Vec<String>,
}

/// Why a target would not measure its disk.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Flaw {
    /// Smaller than the span.
    #[error("it has {}, and {} are to be touched", size_text(*.size_bytes), size_text(*.span_bytes))]
    TooSmall { size_bytes: u64, span_bytes: u64 },
    /// Reading it is no I/O.
    #[error("{} at {offset_bytes} were never written ({kind}), so that a read of them is no I/O", size_text(*.bytes))]
    NeverWritten { kind: &'static str, offset_bytes: u64, bytes: u64 },
    /// Stored in another form.
    #[error("the filesystem stores it {how}, so that its operations are not the disk's")]
    Transformed {
        /// `compressed`, `inside its inode`, `sparse`.
        how: &'static str,
    },
    /// The content compresses or repeats.
    #[error("{:.0} % of a sample of it would be saved by compression or by storing equal blocks once: a disk or a \
             filesystem that does so works with less than was asked for", 100.0 * .saving)]
    Compressible { saving: f64 },
    /// Neither a file nor a block device.
    #[error("it is neither a file nor a block device")]
    NoFile,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TargetVerdict {
    Sound(Sound),
    /// The file is refused, with the reason.
    Refused(Flaw),
}

/// Verifies a file or block device of which the first `span_bytes` are used.
///
/// Dirty pages are written first, since they have no place on the disk yet. The sample bypasses the page cache, or is
/// dropped from it. On a device, and where the filesystem reports no extents, a never-written block shows only in the
/// sample, as zeros.
pub fn verify_target(path: &Path, span_bytes: u64) -> Result<TargetVerdict, HostError> {
    let data = std::fs::metadata(path).map_err(HostError::at("look at", path))?;
    let opened = open_direct(path)?;
    if !data.is_file() && opened.size_bytes == 0 {
        return Ok(TargetVerdict::Refused(Flaw::NoFile));
    }
    let size_bytes = opened.size_bytes;
    if size_bytes < span_bytes || size_bytes == 0 {
        return Ok(TargetVerdict::Refused(Flaw::TooSmall { size_bytes, span_bytes }));
    }
    let mut unseen = Vec::new();
    let mut extents = Err("a device has none".to_owned());
    if data.is_file() {
        // What is only in the page cache has no place yet. Windows reports none, and syncs no file opened for reading.
        if cfg!(unix) {
            opened.file.sync_all().map_err(HostError::at("sync", path))?;
        }
        let allocation = allocation_of(&opened.file, size_bytes);
        if let Some(flaw) = allocation.flaw {
            return Ok(TargetVerdict::Refused(flaw));
        }
        unseen.extend(allocation.unseen);
        extents = allocation.extents;
    }
    let saving =
        sample::compression_saving(&opened, span_bytes.min(size_bytes)).map_err(HostError::at("read", path))?;
    if saving >= MOST_SAVING {
        return Ok(TargetVerdict::Refused(Flaw::Compressible { saving }));
    }
    Ok(TargetVerdict::Sound(Sound { size_bytes, extents, saving, unseen }))
}

/// Opens the file with direct I/O where possible.
fn open_direct(path: &Path) -> Result<BlockFile, HostError> {
    let opened = BlockFile::open(path, Access::Read, Cache::Hardware);
    let opened = match opened {
        // A sample is of whole pages, which every disk takes.
        Ok(opened) if opened.demand_alignment(sample::PIECE_BYTES as u64, 0).is_ok() => return Ok(opened),
        Ok(_) | Err(OpenError::Unsupported(_)) => BlockFile::open(path, Access::Read, Cache::All),
        Err(error) => Err(error),
    };
    opened.map_err(host_error)
}

/// Turns an error of opening into a [`HostError`].
fn host_error(error: OpenError) -> HostError {
    match error {
        OpenError::Host(error) => error,
        OpenError::Unsupported(reason) => HostError::refused(io::ErrorKind::Unsupported, "open a target", reason),
    }
}

#[cfg(test)]
mod tests;
