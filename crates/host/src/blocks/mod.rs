//! Reads and writes of blocks, many in flight from one thread: io_uring on Linux, a completion port
//! on Windows, else blocking threads.
//!
//! A [`BlockRing`] owns `depth` slots, each with a buffer and at most one operation. Requests are queued, submitted
//! together and completed by [`BlockRing::reap`]; once warm nothing is allocated. A ring's buffers and files are
//! registered, so the kernel neither pins pages nor counts references per operation, and one entry submits the queue
//! and waits. [`BlockRing::kind`] names the form and [`BlockRing::shortfalls`] what it does not have, since both change
//! results.
//!
//! The **null** form completes every operation at once without I/O: its rate is the ceiling of the driving code.

mod content;
mod memory;
mod null;
mod open;
#[cfg(windows)]
mod overlapped;
#[cfg(windows)]
mod port;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(test)]
mod tests;
mod threads;

use std::fs::File;
use std::io;
use std::marker::PhantomData;

pub use content::Content;
pub(crate) use content::split_mix;
pub use open::{Access, Alignment, BlockFile, Cache, OpenError};

use self::memory::Arena;
use self::null::Null;
#[cfg(windows)]
use self::port::Port as Ring;
#[cfg(target_os = "linux")]
use self::ring::Ring;
use self::threads::Threads;
use crate::error::HostError;

/// How operations are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RingForm {
    /// The ring if available, else threads.
    #[default]
    Auto,
    /// io_uring on Linux, a completion port on Windows.
    Ring,
    /// `pread` and `pwrite` (`ReadFile` and `WriteFile` on Windows) on one thread per operation in flight; on the
    /// caller's own at depth 1.
    Blocking,
    /// Every operation succeeds at once without I/O.
    Null,
}

/// Anything but the default needs a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    #[default]
    Interrupts,
    /// The reaping thread polls the device, using up its core. Needs the device's polling queues (`nvme.poll_queues`)
    /// and direct I/O.
    Device,
    /// A kernel thread takes requests without a system call; it uses up a second core.
    KernelThread,
}

/// The form and size of a [`BlockRing`].
#[derive(Clone, Copy, Debug)]
pub struct RingOptions {
    pub form: RingForm,
    pub polling: Polling,
    /// Operations in flight.
    pub depth: u32,
    /// Largest operation. Each slot's buffer is as large, rounded up to a page.
    pub block_bytes: u32,
    /// Requests that may queue before they are submitted. With 1, each goes when the next is queued or completions are
    /// awaited, so the device is never idle without need. More saves kernel entries and CPU, but leaves a quick device
    /// idle: on a virtual disk at depths of 8 and 32, submitting everything when completions are awaited cost 7 % of
    /// the reads a second and 15 % of the writes.
    pub batch: u32,
}

impl RingOptions {
    /// The best available form, without polling or batching.
    pub fn new(depth: u32, block_bytes: u32) -> RingOptions {
        RingOptions { form: RingForm::Auto, polling: Polling::Interrupts, depth, block_bytes, batch: 1 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOp {
    /// Fills the first `bytes` of the slot's buffer from a place of the file.
    Read { offset: u64, bytes: u32 },
    /// Writes the first `bytes` of the slot's buffer to a place of the file.
    Write { offset: u64, bytes: u32 },
    /// Makes durable what was written and *completed* before it was submitted: `fdatasync`, `F_FULLFSYNC` on macOS,
    /// `FlushFileBuffers` on Windows.
    Sync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDone {
    pub slot: u32,
    /// Bytes read or written, fewer at the end of a file; 0 for a sync. Or the operating system's error number, for
    /// [`io::Error::from_raw_os_error`].
    pub result: Result<u32, i32>,
}

/// An operation that was not submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The slot is not below the depth.
    #[error("there is no slot {0}")]
    NoSlot(u32),
    /// The slot's operation has not been reaped.
    #[error("the operation of slot {0} has not ended")]
    Busy(u32),
    /// The index is not below the number of files.
    #[error("there is no file {0}")]
    NoFile(u32),
    /// The operation is larger than the slot's buffer.
    #[error("{bytes} bytes do not fit into a buffer of {most_bytes}")]
    TooLarge { bytes: u32, most_bytes: u32 },
    /// The operating system's error number.
    #[error("the kernel takes no request: {}", io::Error::from_raw_os_error(*.0))]
    Kernel(i32),
}

enum Inner {
    #[cfg(any(target_os = "linux", windows))]
    Ring(Box<Ring>),
    Threads(Threads),
    Null(Null),
}

pub struct BlockRing {
    inner: Inner,
    kind: String,
    shortfalls: Vec<String>,
    /// Whether each slot is in flight, or completed and not reaped.
    busy: Vec<bool>,
    files: u32,
    block_bytes: u32,
    /// The kernel accepts a ring's requests only from the thread that made it.
    _one_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for BlockRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockRing").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The name of a ring on this operating system.
const RING: &str = if cfg!(windows) { "a completion port" } else { "io_uring" };

/// A parameter, so that a kernel without rings can be tested on one with them.
type RingResult = Result<(Inner, Vec<String>), String>;

/// Opens a ring for these files.
#[cfg(any(target_os = "linux", windows))]
fn open_ring(options: &RingOptions, files: &mut Vec<File>) -> RingResult {
    let (ring, shortfalls) = Ring::new(options, files)?;
    Ok((Inner::Ring(Box::new(ring)), shortfalls))
}

/// Fails: there is no ring here.
#[cfg(not(any(target_os = "linux", windows)))]
fn open_ring(_options: &RingOptions, _files: &mut Vec<File>) -> RingResult {
    Err("this operating system has none".to_owned())
}

impl BlockRing {
    /// A ring for operations on `files`, by index, used on this thread only.
    ///
    /// # Errors
    /// A ring was demanded by form or polling and is not available; or memory or threads for this many slots are not.
    pub fn new(options: &RingOptions, files: Vec<File>) -> Result<BlockRing, HostError> {
        BlockRing::with_ring(options, files, open_ring)
    }

    /// Makes the ring that `open` gives, else one of threads or the null one; fails if the kernel's was demanded.
    fn with_ring(
        options: &RingOptions,
        mut files: Vec<File>,
        open: impl Fn(&RingOptions, &mut Vec<File>) -> RingResult,
    ) -> Result<BlockRing, HostError> {
        let mut options = *options;
        options.depth = options.depth.max(1);
        let count = files.len() as u32;
        let needs_ring = options.form == RingForm::Ring || options.polling != Polling::Interrupts;
        let ring = match options.form {
            RingForm::Auto | RingForm::Ring => open(&options, &mut files),
            RingForm::Blocking | RingForm::Null => Err("it was not asked for".to_owned()),
        };
        let (inner, shortfalls) = match ring {
            Ok(opened) => opened,
            Err(reason) if needs_ring => return Err(HostError::unavailable(format!("use {RING}"), reason)),
            Err(reason) => {
                let is_auto = options.form == RingForm::Auto;
                let shortfalls = if is_auto { vec![format!("{RING}: {reason}")] } else { Vec::new() };
                let made = match options.form {
                    RingForm::Null => Null::new(&options).map(Inner::Null),
                    _ => Threads::new(&options, files).map(Inner::Threads),
                };
                (made.map_err(|cause| HostError::unavailable("make the slots", cause.to_string()))?, shortfalls)
            }
        };
        let kind = match &inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.kind(),
            Inner::Threads(threads) => threads.kind(),
            Inner::Null(_) => "null".to_owned(),
        };
        Ok(BlockRing {
            inner,
            kind,
            shortfalls,
            busy: vec![false; options.depth as usize],
            files: count,
            block_bytes: options.block_bytes,
            _one_thread: PhantomData,
        })
    }

    /// Whether threads of the ring's own make the calls, and so use processor time for its thread.
    pub fn has_helper_threads(&self) -> bool {
        matches!(&self.inner, Inner::Threads(threads) if threads.has_workers())
    }

    /// The form that runs, with what the kernel gave it.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The features that were not available and are done without, with reasons.
    pub fn shortfalls(&self) -> &[String] {
        &self.shortfalls
    }

    /// How many operations can be under way at once.
    pub fn depth(&self) -> u32 {
        self.busy.len() as u32
    }

    /// Number of entries by this thread. The threads of [`RingForm::Blocking`] enter the kernel once per operation;
    /// their waiting for each
    /// other is not counted.
    pub fn kernel_entries(&self) -> u64 {
        match &self.inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.entries(),
            Inner::Threads(threads) => threads.entries(),
            Inner::Null(_) => 0,
        }
    }

    /// `None` while its operation has not been reaped, or if there is no such slot.
    pub fn slot_buffer(&self, slot: u32) -> Option<&[u8]> {
        if *self.busy.get(slot as usize)? {
            return None;
        }
        // SAFETY: nothing is under way in the slot, as just checked.
        let buffer = unsafe { self.arena()?.slot_bytes(slot as usize) };
        buffer.get(..self.block_bytes as usize)
    }

    /// `None` while its operation has not been reaped, or if there is no such slot.
    pub fn buffer_mut(&mut self, slot: u32) -> Option<&mut [u8]> {
        if *self.busy.get(slot as usize)? {
            return None;
        }
        let block_bytes = self.block_bytes as usize;
        let arena = match &mut self.inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.arena_mut(),
            Inner::Threads(threads) => threads.arena_mut(),
            Inner::Null(null) => Some(null.arena_mut()),
        };
        // SAFETY: nothing is under way in the slot, as just checked.
        let buffer = unsafe { arena?.slot_mut(slot as usize) };
        buffer.get_mut(..block_bytes)
    }

    /// The memory of the slots.
    fn arena(&self) -> Option<&Arena> {
        match &self.inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.arena(),
            Inner::Threads(threads) => threads.arena(),
            Inner::Null(null) => Some(null.arena()),
        }
    }

    /// Queues an operation, submitted by the next [`BlockRing::flush`] or [`BlockRing::reap`], or earlier by
    /// [`RingOptions::batch`].
    ///
    /// # Errors
    /// The slot, file or size does not fit this ring; or the kernel refuses earlier requests, and the ring is broken.
    #[inline]
    pub fn submit(&mut self, slot: u32, file: u32, op: BlockOp) -> Result<(), SubmitError> {
        match self.busy.get(slot as usize) {
            None => return Err(SubmitError::NoSlot(slot)),
            Some(true) => return Err(SubmitError::Busy(slot)),
            Some(false) if file >= self.files => return Err(SubmitError::NoFile(file)),
            Some(false) => {}
        }
        if let BlockOp::Read { bytes, .. } | BlockOp::Write { bytes, .. } = op
            && bytes > self.block_bytes
        {
            return Err(SubmitError::TooLarge { bytes, most_bytes: self.block_bytes });
        }
        match &mut self.inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.submit(slot, file, op)?,
            Inner::Threads(threads) => threads.submit(slot, file, op),
            Inner::Null(null) => null.submit(slot, op),
        }
        self.busy[slot as usize] = true;
        Ok(())
    }

    /// Submits the queue without waiting. [`BlockRing::reap`] does so too, with one kernel entry less: flush before it
    /// only to measure submission alone.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.flush(),
            Inner::Threads(_) | Inner::Null(_) => Ok(()),
        }
    }

    /// Submits the queue, waits until an operation completes or [`crate::clock::now_ns`] reaches `deadline_ns`
    /// (`u64::MAX`: never), and appends all completions. Returns none only at the deadline, or if nothing is in
    /// flight.
    #[inline]
    pub fn reap(&mut self, deadline_ns: u64, into: &mut Vec<BlockDone>) -> io::Result<()> {
        let before = into.len();
        let reaped = match &mut self.inner {
            #[cfg(any(target_os = "linux", windows))]
            Inner::Ring(ring) => ring.reap(deadline_ns, into),
            Inner::Threads(threads) => threads.reap(deadline_ns, into),
            Inner::Null(null) => {
                null.reap(into);
                Ok(())
            }
        };
        for done in &into[before..] {
            self.busy[done.slot as usize] = false;
        }
        reaped
    }
}
