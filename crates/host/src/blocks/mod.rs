//! Reads and writes of blocks, many under way at once from one thread: io_uring where the kernel gives it, threads
//! that block elsewhere.
//!
//! A [`BlockRing`] owns `depth` slots, each with a buffer and at most one operation. Requests are queued, go to the
//! kernel together, and are told of by [`BlockRing::reap`]; once warm nothing is allocated. With a ring, the buffers and
//! files are registered, so that the kernel neither pins pages nor counts references for each operation, and one entry
//! submits all that is queued and waits. Which form runs is told by [`BlockRing::kind`], and what it had to do without by
//! [`BlockRing::shortfalls`], since both change results.
//!
//! The **null** form ends every operation at once without any I/O: what it yields is the ceiling of whoever drives it.

mod content;
mod memory;
mod null;
mod open;
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
#[cfg(target_os = "linux")]
use self::ring::Ring;
use self::threads::Threads;
use crate::error::HostError;

/// How operations are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The ring where it can be had, else threads.
    #[default]
    Auto,
    Ring,
    /// `pread` and `pwrite` (`ReadFile` and `WriteFile` on Windows), by a thread for each operation that is to be under
    /// way; on the caller's own thread if that is one.
    Blocking,
    /// Not at all: each operation ends at once, and well.
    Null,
}

/// Who looks for completions. Anything but the default needs a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    #[default]
    Interrupts,
    /// The thread that reaps asks the device, and uses its core up. The device needs queues for it (`nvme.poll_queues`),
    /// and files must bypass the page cache.
    Device,
    /// A thread of the kernel's takes requests without being called; it uses up a second core.
    KernelThread,
}

/// What a [`BlockRing`] is to be.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How operations are carried out.
    pub form: Form,
    /// Who looks for completions.
    pub polling: Polling,
    /// Slots: operations that can be under way at once.
    pub depth: u32,
    /// The largest operation, in bytes. Each slot's buffer is as large, rounded up to a page.
    pub block_bytes: u32,
    /// How many requests may wait for each other before they are handed to the kernel. With 1, each goes as soon as the
    /// next one is queued or ends are waited for, so that the device is never left with less than it could have. More
    /// spare entries into the kernel, and CPU time with them, but leave the device idle where it is quick to answer: on a
    /// virtual disk at depths of 8 and 32, handing over all at once when ends are waited for cost 7 % of the reads a
    /// second and 15 % of the writes.
    pub batch: u32,
}

impl Options {
    /// The best form there is, without polling, and no request waits for another.
    pub fn new(depth: u32, block_bytes: u32) -> Options {
        Options { form: Form::Auto, polling: Polling::Interrupts, depth, block_bytes, batch: 1 }
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOp {
    /// Fills the first `bytes` of the slot's buffer from a place of the file.
    Read {
        /// Where in the file, in bytes.
        offset: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// Writes the first `bytes` of the slot's buffer to a place of the file.
    Write {
        /// Where in the file, in bytes.
        offset: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// Makes durable what was written and has *ended* before this was submitted: `fdatasync`, `F_FULLFSYNC` on macOS,
    /// `FlushFileBuffers` on Windows.
    Sync,
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDone {
    pub slot: u32,
    /// Bytes that were read or written, fewer than asked for at the end of a file; 0 for a sync. Or the operating
    /// system's error number ([`io::Error::from_raw_os_error`] words it).
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
    /// There are fewer files.
    #[error("there is no file {0}")]
    NoFile(u32),
    /// The operation is larger than the slot's buffer.
    #[error("{bytes} bytes do not fit into a buffer of {most_bytes}")]
    TooLarge {
        /// What was asked for.
        bytes: u32,
        /// What a buffer holds.
        most_bytes: u32,
    },
    /// The operating system took no more requests, by this number of its own.
    #[error("the kernel takes no request: {}", io::Error::from_raw_os_error(*.0))]
    Kernel(i32),
}

enum Inner {
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
    Threads(Threads),
    Null(Null),
}

/// Many block operations at once, driven by one thread.
pub struct BlockRing {
    inner: Inner,
    kind: String,
    shortfalls: Vec<String>,
    /// Whether each slot's operation is under way, or has ended and not been reaped.
    busy: Vec<bool>,
    files: u32,
    block_bytes: u32,
    /// The kernel takes a ring's requests from the thread that made it, and from no other.
    _one_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for BlockRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockRing").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// How a ring is come by; a parameter, so that a kernel without one can be tested on a kernel with one.
type RingResult = Result<(Inner, Vec<String>), String>;

#[cfg(target_os = "linux")]
fn open_ring(options: &Options, files: &mut Vec<File>) -> RingResult {
    let (ring, shortfalls) = Ring::new(options, files)?;
    Ok((Inner::Ring(Box::new(ring)), shortfalls))
}

#[cfg(not(target_os = "linux"))]
fn open_ring(_options: &Options, _files: &mut Vec<File>) -> RingResult {
    Err("this operating system has none".to_owned())
}

impl BlockRing {
    /// A ring for operations on these files, to be used on this thread. Operations name a file by its place.
    ///
    /// # Errors
    /// The ring was asked for by name, or for polling, and cannot be had; or there is no memory, or there are no
    /// threads, for so many slots.
    pub fn new(options: &Options, files: Vec<File>) -> Result<BlockRing, HostError> {
        BlockRing::with_ring(options, files, open_ring)
    }

    fn with_ring(
        options: &Options,
        mut files: Vec<File>,
        open: impl Fn(&Options, &mut Vec<File>) -> RingResult,
    ) -> Result<BlockRing, HostError> {
        let mut options = *options;
        options.depth = options.depth.max(1);
        let count = files.len() as u32;
        let needs_ring = options.form == Form::Ring || options.polling != Polling::Interrupts;
        let ring = match options.form {
            Form::Auto | Form::Ring => open(&options, &mut files),
            Form::Blocking | Form::Null => Err("it was not asked for".to_owned()),
        };
        let (inner, shortfalls) = match ring {
            Ok(opened) => opened,
            Err(reason) if needs_ring => return Err(HostError::unavailable("use io_uring", reason)),
            Err(reason) => {
                let slots = |cause: io::Error| HostError::unavailable("make the slots", cause.to_string());
                let asked = options.form == Form::Auto;
                let shortfalls = if asked { vec![format!("io_uring: {reason}")] } else { Vec::new() };
                let inner = match options.form {
                    Form::Null => Inner::Null(Null::new(&options).map_err(slots)?),
                    _ => Inner::Threads(Threads::new(&options, files).map_err(slots)?),
                };
                (inner, shortfalls)
            }
        };
        let kind = match &inner {
            #[cfg(target_os = "linux")]
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

    /// Which form runs, with what the kernel gave it.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// What could not be had and was done without, each with the reason. Empty if everything was had.
    pub fn shortfalls(&self) -> &[String] {
        &self.shortfalls
    }

    pub fn depth(&self) -> u32 {
        self.busy.len() as u32
    }

    /// Times that this thread has entered the kernel for operations so far. The threads of [`Form::Blocking`] enter it
    /// once for each operation, and what they do to wait for each other is not counted.
    pub fn kernel_entries(&self) -> u64 {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.entries(),
            Inner::Threads(threads) => threads.entries(),
            Inner::Null(_) => 0,
        }
    }

    /// A slot's buffer; `None` while its operation has not been reaped, or if there is no such slot.
    pub fn buffer(&self, slot: u32) -> Option<&[u8]> {
        if *self.busy.get(slot as usize)? {
            return None;
        }
        // SAFETY: nothing is under way in the slot, as just checked.
        let buffer = unsafe { self.arena()?.slot(slot as usize) };
        buffer.get(..self.block_bytes as usize)
    }

    /// A slot's buffer to be filled; `None` while its operation has not been reaped, or if there is no such slot.
    pub fn buffer_mut(&mut self, slot: u32) -> Option<&mut [u8]> {
        if *self.busy.get(slot as usize)? {
            return None;
        }
        let block_bytes = self.block_bytes as usize;
        let arena = match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.arena_mut(),
            Inner::Threads(threads) => threads.arena_mut(),
            Inner::Null(null) => Some(null.arena_mut()),
        };
        // SAFETY: nothing is under way in the slot, as just checked.
        let buffer = unsafe { arena?.slot_mut(slot as usize) };
        buffer.get_mut(..block_bytes)
    }

    fn arena(&self) -> Option<&Arena> {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.arena(),
            Inner::Threads(threads) => threads.arena(),
            Inner::Null(null) => Some(null.arena()),
        }
    }

    /// Queues an operation. It goes to the kernel with the next [`BlockRing::flush`] or [`BlockRing::reap`], or earlier
    /// as [`Options::batch`] says.
    ///
    /// # Errors
    /// The slot, the file or the size is not one that this ring has; or the kernel refuses those queued before, and the
    /// ring is broken then.
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
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.submit(slot, file, op)?,
            Inner::Threads(threads) => threads.submit(slot, file, op),
            Inner::Null(null) => null.submit(slot, op),
        }
        self.busy[slot as usize] = true;
        Ok(())
    }

    /// Hands what is queued to the kernel, without waiting. [`BlockRing::reap`] does so, too, and a ring then needs one
    /// entry less: whoever reaps next flushes before only to learn what submission alone costs.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.flush(),
            Inner::Threads(_) | Inner::Null(_) => Ok(()),
        }
    }

    /// Hands over what is queued, waits until an operation ends or [`crate::clock::now_ns`] reaches `deadline_ns`
    /// (`u64::MAX`: never), and appends all that have ended. Returns without one only at the deadline, or if nothing is
    /// under way.
    #[inline]
    pub fn reap(&mut self, deadline_ns: u64, into: &mut Vec<BlockDone>) -> io::Result<()> {
        let before = into.len();
        let reaped = match &mut self.inner {
            #[cfg(target_os = "linux")]
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
