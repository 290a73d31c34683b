//! io_uring: one kernel entry submits a batch and waits for the next.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::types::{Fd, Fixed, FsyncFlags};
use io_uring::{IoUring, opcode, squeue};
use rustix::io::Errno;

use super::memory::Arena;
use super::{BlockDone, BlockOp, Polling, RingOptions, SubmitError};
use crate::clock;
use crate::system::text::size_text;
use crate::system::uring::{self, MOST_COMPLETIONS, Mode, Wait, refusal_reason};

/// Idle time before the kernel's polling thread sleeps.
const KERNEL_THREAD_IDLE_MS: u32 = 100;
/// The kernel's limit on queued requests; half of it holds for registered buffers.
const MOST_ENTRIES: usize = 32_768;
const MOST_BUFFERS: usize = 16_384;
/// Wait at the end for the device.
const DRAIN_PATIENCE_NS: u64 = 10_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    Registered,
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffers {
    Registered,
    Plain,
}

pub(super) struct Ring {
    io: IoUring,
    /// `None` once leaked: the device did not let go.
    arena: Option<Arena>,
    files: Vec<File>,
    fds: Vec<RawFd>,
    file_names: Files,
    buffer_names: Buffers,
    polling: Polling,
    /// Number of operations not submitted yet; and the maximum.
    queued: u32,
    batch: u32,
    given: Vec<&'static str>,
    /// Submitted and not reaped.
    under_way: usize,
    /// A ring that polls its device takes no syncs: this thread does them.
    synced: Vec<BlockDone>,
    entries: u64,
}

impl Ring {
    /// Leaves the files in place on failure; also returns what it does not have.
    pub(super) fn new(options: &RingOptions, files: &mut Vec<File>) -> Result<(Ring, Vec<String>), String> {
        let depth = options.depth as usize;
        if depth > MOST_ENTRIES {
            return Err(format!("it has room for {MOST_ENTRIES} operations at most"));
        }
        let mode = match options.polling {
            Polling::Interrupts => Mode::Entered,
            Polling::Device => Mode::DevicePolled,
            Polling::KernelThread => Mode::KernelThread(KERNEL_THREAD_IDLE_MS),
        };
        let entries = depth.next_power_of_two().max(8);
        let (io, given) = uring::open_ring(entries, (2 * entries).min(MOST_COMPLETIONS), mode)?;
        demand_features(&io)?;
        let arena = Arena::new(depth, options.block_bytes as usize).map_err(|cause| cause.to_string())?;
        let mut ring = Ring {
            io,
            arena: Some(arena),
            files: Vec::new(),
            fds: files.iter().map(AsRawFd::as_raw_fd).collect(),
            file_names: Files::Plain,
            buffer_names: Buffers::Plain,
            polling: options.polling,
            queued: 0,
            batch: options.batch.max(1),
            given,
            under_way: 0,
            synced: Vec::with_capacity(depth),
            entries: 0,
        };
        let mut shortfalls = Vec::new();
        if let Err(reason) = ring.register_files() {
            shortfalls.push(format!("registered files: {reason}"));
        }
        if let Err(reason) = ring.register_buffers(depth, options.block_bytes as usize) {
            shortfalls.push(format!("registered buffers: {reason}"));
        }
        ring.files = std::mem::take(files);
        Ok((ring, shortfalls))
    }

    /// Registers the files with the kernel.
    fn register_files(&mut self) -> Result<(), String> {
        if self.fds.is_empty() {
            return Ok(());
        }
        self.io.submitter().register_files(&self.fds).map_err(|cause| cause.to_string())?;
        self.file_names = Files::Registered;
        self.given.push("registered files");
        Ok(())
    }

    /// Registers the memory of the slots with the kernel.
    fn register_buffers(&mut self, depth: usize, block_bytes: usize) -> Result<(), String> {
        let Some(arena) = &self.arena else { return Ok(()) };
        if depth > MOST_BUFFERS {
            return Err(format!("the kernel takes {MOST_BUFFERS} at most"));
        }
        if !self.probe_opcodes().is_some_and(|probe| {
            probe.is_supported(opcode::ReadFixed::CODE) && probe.is_supported(opcode::WriteFixed::CODE)
        }) {
            return Err("the kernel has no operations on them".to_owned());
        }
        let vectors: Vec<libc::iovec> = (0..depth)
            .map(|slot| libc::iovec { iov_base: arena.slot_start(slot).as_ptr().cast(), iov_len: block_bytes.max(1) })
            .collect();
        // SAFETY: the arena is freed only after the ring is closed or its buffers are unregistered (`drop`).
        unsafe { self.io.submitter().register_buffers(&vectors) }.map_err(|cause| {
            match Errno::from_io_error(&cause) {
                // Without the privilege to lock memory, pages count against the user's limit.
                Some(Errno::NOMEM) => format!(
                    "{} of buffers are more than may be locked here ({}): raise RLIMIT_MEMLOCK (`ulimit -l`)",
                    size_text(arena.size_bytes() as u64),
                    locked_memory_limit(),
                ),
                _ => cause.to_string(),
            }
        })?;
        self.buffer_names = Buffers::Registered;
        self.given.push("registered buffers");
        Ok(())
    }

    /// Asks the kernel which operations it knows.
    fn probe_opcodes(&self) -> Option<io_uring::Probe> {
        let mut probe = io_uring::Probe::new();
        self.io.submitter().register_probe(&mut probe).ok()?;
        Some(probe)
    }

    /// What it runs with, for facts.
    pub(super) fn kind(&self) -> String {
        format!("io_uring ({})", self.given.join(", "))
    }

    /// Number of kernel entries so far.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// The memory of the slots.
    pub(super) fn arena(&self) -> Option<&Arena> {
        self.arena.as_ref()
    }

    /// The memory of the slots.
    pub(super) fn arena_mut(&mut self) -> Option<&mut Arena> {
        self.arena.as_mut()
    }

    /// Queues an operation, after submitting a full batch; if the device is polled, a sync is done at once.
    #[inline]
    pub(super) fn submit(&mut self, slot: u32, file: u32, op: BlockOp) -> Result<(), SubmitError> {
        if op == BlockOp::Sync && self.polling == Polling::Device {
            // A polling ring takes only what can be polled.
            self.entries += 1;
            let synced = self.files[file as usize].sync_data();
            let result = synced.map(|()| 0).map_err(|cause| cause.raw_os_error().unwrap_or(0));
            self.synced.push(BlockDone { slot, result });
            return Ok(());
        }
        if self.queued >= self.batch {
            self.flush().map_err(|cause| SubmitError::Kernel(cause.raw_os_error().unwrap_or(0)))?;
        }
        let entry = self.request_entry(slot, file, op).user_data(u64::from(slot));
        // SAFETY: the entry's memory is its slot's, which no one touches until the operation is reaped, and which is
        // freed only once nothing is under way, or leaked (`drop`). There are at least as many places as slots, so that
        // the push succeeds.
        let pushed = unsafe { self.io.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "there are fewer places than slots");
        self.under_way += 1;
        self.queued += 1;
        Ok(())
    }

    /// The request of an operation as the kernel reads it.
    fn request_entry(&self, slot: u32, file: u32, op: BlockOp) -> squeue::Entry {
        let Some(arena) = &self.arena else { return opcode::Nop::new().build() };
        let (start, index) = (arena.slot_start(slot as usize).as_ptr(), slot as u16);
        // Descriptors and registered files have different types; an operation takes either.
        macro_rules! request {
            ($target:expr) => {
                match (op, self.buffer_names) {
                    (BlockOp::Read { offset, bytes }, Buffers::Registered) => {
                        opcode::ReadFixed::new($target, start, bytes, index).offset(offset).build()
                    }
                    (BlockOp::Read { offset, bytes }, Buffers::Plain) => {
                        opcode::Read::new($target, start, bytes).offset(offset).build()
                    }
                    (BlockOp::Write { offset, bytes }, Buffers::Registered) => {
                        opcode::WriteFixed::new($target, start, bytes, index).offset(offset).build()
                    }
                    (BlockOp::Write { offset, bytes }, Buffers::Plain) => {
                        opcode::Write::new($target, start, bytes).offset(offset).build()
                    }
                    (BlockOp::Sync, _) => opcode::Fsync::new($target).flags(FsyncFlags::DATASYNC).build(),
                }
            };
        }
        match self.file_names {
            Files::Registered => request!(Fixed(file)),
            Files::Plain => request!(Fd(self.fds[file as usize])),
        }
    }

    /// Submits the queue without waiting.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.io.submission().is_empty() {
            self.enter_kernel(Wait::No)?;
            if self.polling == Polling::KernelThread {
                // The kernel's thread takes them in its own time.
                break;
            }
        }
        Ok(())
    }

    /// Appends what has ended; waits for it until the deadline if nothing has.
    pub(super) fn reap(&mut self, deadline_ns: u64, into: &mut Vec<BlockDone>) -> io::Result<()> {
        let before = into.len();
        into.append(&mut self.synced);
        loop {
            self.collect(into);
            let is_done = into.len() > before || self.under_way == 0;
            if is_done && self.io.submission().is_empty() {
                return Ok(());
            }
            let wait = if is_done { Wait::No } else { Wait::until(deadline_ns) };
            self.enter_kernel(wait)?;
            if wait == Wait::No {
                self.collect(into);
                return Ok(());
            }
        }
    }

    /// Enters the kernel once, and counts it.
    fn enter_kernel(&mut self, wait: Wait) -> io::Result<()> {
        self.entries += 1;
        // What the kernel leaves in the queue is seen there by the caller's loop.
        self.queued = 0;
        if wait == Wait::No && self.polling == Polling::KernelThread {
            return uring::accept_interruption(self.io.submitter().submit());
        }
        uring::enter_and_wait(&mut self.io, wait)
    }

    /// Takes all completions.
    #[inline]
    fn collect(&mut self, into: &mut Vec<BlockDone>) {
        let before = into.len();
        into.extend(self.io.completion().map(|entry| BlockDone {
            slot: entry.user_data() as u32,
            result: u32::try_from(entry.result()).map_err(|_| -entry.result()),
        }));
        self.under_way -= into.len() - before;
    }

    /// Waits until the device has let go of all memory; whether it did.
    fn drain(&mut self) -> bool {
        let deadline_ns = clock::now_ns() + DRAIN_PATIENCE_NS;
        let mut done = Vec::new();
        while self.under_way > 0 && clock::now_ns() < deadline_ns {
            if self.reap(deadline_ns, &mut done).is_err() {
                break;
            }
        }
        self.under_way == 0
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.drain() {
            // Better leaked than freed: the device may still write into it.
            std::mem::forget(self.arena.take());
            return;
        }
        // Otherwise the kernel unregisters only some time after closing, and the filesystem stays busy for an unmount.
        let _ = self.io.submitter().unregister_files();
        let _ = self.io.submitter().unregister_buffers();
    }
}

/// Refuses a ring without the features that it cannot do without.
fn demand_features(io: &IoUring) -> Result<(), String> {
    let parameters = io.params();
    if !(parameters.is_feature_ext_arg() && parameters.is_feature_nodrop()) {
        return Err("the kernel is older than 5.11".to_owned());
    }
    let mut probe = io_uring::Probe::new();
    io.submitter().register_probe(&mut probe).map_err(|cause| refusal_reason(&cause))?;
    let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE];
    if !needed.into_iter().all(|code| probe.is_supported(code)) {
        return Err("the kernel does not take reads, writes and syncs by it".to_owned());
    }
    Ok(())
}

/// The limit on locked memory, for a message.
fn locked_memory_limit() -> String {
    match rustix::process::getrlimit(rustix::process::Resource::Memlock).current {
        Some(bytes) => size_text(bytes),
        None => "no limit".to_owned(),
    }
}
