//! Windows: overlapped operations whose ends come in at a completion port, as SQLIO did it.
//!
//! The files were opened for overlapped I/O (`open::set_flags`), without which a handle runs one operation at a time.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::IO::{
    CancelIoEx, CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
};
use windows_sys::Win32::System::Threading::INFINITE;

use super::memory::Arena;
use super::overlapped::{self, Direction, Until};
use super::{BlockDone, BlockOp, Polling, RingOptions, SubmitError};
use crate::clock;

/// Wait at the end for the device.
const DRAIN_PATIENCE_NS: u64 = 10_000_000_000;
/// Ends taken by one call.
const MOST_ENTRIES: usize = 256;

pub(super) struct Port {
    port: OwnedHandle,
    files: Vec<File>,
    /// `None` once leaked: the device did not let go.
    memory: Option<Memory>,
    /// The file of each slot's operation.
    file_of: Vec<u32>,
    /// Ended without the port: syncs, and what Windows refused.
    ended: Vec<BlockDone>,
    entries: Vec<OVERLAPPED_ENTRY>,
    /// Submitted and not reaped, at the port.
    under_way: usize,
    kernel_entries: u64,
}

/// The memory that the kernel writes to while an operation is under way.
struct Memory {
    arena: Arena,
    /// One for each slot.
    overlapped: Box<[OVERLAPPED]>,
}

impl Port {
    /// Leaves the files in place on failure.
    pub(super) fn new(options: &RingOptions, files: &mut Vec<File>) -> Result<(Port, Vec<String>), String> {
        if options.polling != Polling::Interrupts {
            return Err("a completion port waits for interrupts; polling needs io_uring".to_owned());
        }
        let depth = options.depth as usize;
        let arena = Arena::new(depth, options.block_bytes as usize).map_err(|cause| cause.to_string())?;
        // SAFETY: no pointers; a port that is not null is open and owned by no one else.
        let port = unsafe {
            let port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1);
            if port.is_null() {
                return Err(format!("CreateIoCompletionPort failed: {}", io::Error::last_os_error()));
            }
            OwnedHandle::from_raw_handle(port)
        };
        for file in files.iter() {
            // SAFETY: two handles that are open.
            if unsafe { CreateIoCompletionPort(file.as_raw_handle(), port.as_raw_handle(), 0, 0) }.is_null() {
                return Err(format!("a file takes no completion port: {}", io::Error::last_os_error()));
            }
        }
        let overlapped = (0..depth).map(|_| overlapped::none()).collect();
        // SAFETY: the structure is plain numbers and pointers, for which zero is a value.
        let none: OVERLAPPED_ENTRY = unsafe { std::mem::zeroed() };
        let port = Port {
            port,
            files: std::mem::take(files),
            memory: Some(Memory { arena, overlapped }),
            file_of: vec![0; depth],
            ended: Vec::with_capacity(depth),
            entries: vec![none; depth.min(MOST_ENTRIES)],
            under_way: 0,
            kernel_entries: 0,
        };
        Ok((port, Vec::new()))
    }

    /// What it runs on, for facts.
    pub(super) fn kind(&self) -> String {
        "overlapped I/O on a completion port".to_owned()
    }

    /// Number of kernel entries so far.
    pub(super) fn entries(&self) -> u64 {
        self.kernel_entries
    }

    /// The memory of the slots.
    pub(super) fn arena(&self) -> Option<&Arena> {
        self.memory.as_ref().map(|memory| &memory.arena)
    }

    /// The memory of the slots.
    pub(super) fn arena_mut(&mut self) -> Option<&mut Arena> {
        self.memory.as_mut().map(|memory| &mut memory.arena)
    }

    /// Starts an operation; a sync is done at once.
    #[inline]
    pub(super) fn submit(&mut self, slot: u32, file: u32, op: BlockOp) -> Result<(), SubmitError> {
        let Some(memory) = &mut self.memory else { return Err(SubmitError::NoSlot(slot)) };
        let target = &self.files[file as usize];
        self.kernel_entries += 1;
        let (direction, offset, bytes) = match op {
            BlockOp::Read { offset, bytes } => (Direction::Read, offset, bytes),
            BlockOp::Write { offset, bytes } => (Direction::Write, offset, bytes),
            // Windows has no flush that does not wait.
            BlockOp::Sync => {
                let result = target.sync_data().map(|()| 0).map_err(|cause| cause.raw_os_error().unwrap_or(0));
                self.ended.push(BlockDone { slot, result });
                return Ok(());
            }
        };
        self.file_of[slot as usize] = file;
        let buffer = memory.arena.slot_start(slot as usize).as_ptr();
        let own = &mut memory.overlapped[slot as usize];
        *own = overlapped::none();
        // SAFETY: the buffer and `own` are the slot's, which no one touches until the operation is reaped; they are freed
        // only once nothing is under way, or leaked (`drop`).
        match unsafe { overlapped::start(target, direction, offset, (buffer, bytes), own) } {
            // Its end comes in at the port, even if it has ended by now.
            Ok(()) => self.under_way += 1,
            Err(error) => self.ended.push(BlockDone { slot, result: overlapped::bytes_or_end(error) }),
        }
        Ok(())
    }

    /// Does nothing, since nothing queues: each operation is submitted at once.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Appends what has ended; waits for it until the deadline if nothing has.
    pub(super) fn reap(&mut self, deadline_ns: u64, into: &mut Vec<BlockDone>) -> io::Result<()> {
        let is_done = !self.ended.is_empty();
        into.append(&mut self.ended);
        if self.under_way == 0 {
            return Ok(());
        }
        self.collect(if is_done { 0 } else { wait_ms(deadline_ns) }, into)
    }

    /// Takes the operations that have ended off the port, waiting up to `wait_ms`.
    fn collect(&mut self, wait_ms: u32, into: &mut Vec<BlockDone>) -> io::Result<()> {
        let (mut taken, most) = (0, self.entries.len() as u32);
        self.kernel_entries += 1;
        // SAFETY: an open port, and pointers to what is owned here, with its length.
        let done = unsafe {
            let port = self.port.as_raw_handle();
            GetQueuedCompletionStatusEx(port, self.entries.as_mut_ptr(), most, &mut taken, wait_ms, 0)
        };
        if done == 0 {
            let cause = io::Error::last_os_error();
            let is_timeout = cause.raw_os_error() == Some(WAIT_TIMEOUT as i32);
            return if is_timeout { Ok(()) } else { Err(cause) };
        }
        for entry in &self.entries[..taken as usize] {
            into.extend(self.end_of(entry.lpOverlapped));
        }
        self.under_way -= taken as usize;
        Ok(())
    }

    /// The slot and the result of an operation that has ended.
    fn end_of(&self, ended: *const OVERLAPPED) -> Option<BlockDone> {
        let own = &self.memory.as_ref()?.overlapped;
        let slot = (ended as usize).checked_sub(own.as_ptr() as usize)? / size_of::<OVERLAPPED>();
        let file = &self.files[*self.file_of.get(slot)? as usize];
        // SAFETY: the operation of this file that has just come in at the port.
        let result = unsafe { overlapped::end(file, ended, Until::Now) };
        Some(BlockDone { slot: slot as u32, result })
    }
}

/// Rounded up: a millisecond is what Windows counts in.
fn wait_ms(deadline_ns: u64) -> u32 {
    if deadline_ns == u64::MAX {
        return INFINITE;
    }
    let left_ns = deadline_ns.saturating_sub(clock::now_ns());
    u32::try_from(left_ns.div_ceil(1_000_000)).unwrap_or(INFINITE - 1).min(INFINITE - 1)
}

impl Drop for Port {
    fn drop(&mut self) {
        for file in &self.files {
            // SAFETY: an open handle; null is for all of its operations. Some may have ended.
            unsafe { CancelIoEx(file.as_raw_handle(), null()) };
        }
        let deadline_ns = clock::now_ns() + DRAIN_PATIENCE_NS;
        let mut done = Vec::with_capacity(self.under_way);
        while self.under_way > 0 && clock::now_ns() < deadline_ns {
            if self.collect(wait_ms(deadline_ns), &mut done).is_err() {
                break;
            }
        }
        if self.under_way > 0 {
            // Better leaked than freed: the device may still write into it.
            std::mem::forget(self.memory.take());
        }
    }
}
