//! Receive buffers that the kernel picks from on arrival: a few serve thousands of idle sockets.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// A large answer comes in pieces of this size.
pub(super) const BUFFER_BYTES: usize = 16 << 10;
/// The kernel wants the list on a page of its own: the largest page size of any platform with io_uring.
const ALIGNMENT: usize = 64 << 10;
pub(super) const GROUP: u16 = 0;

/// Buffers and their list, shared with the kernel.
pub(super) struct Buffers {
    /// The list, then the buffers.
    memory: NonNull<u8>,
    layout: Layout,
    count: u16,
    tail: u16,
}

impl Buffers {
    pub(super) fn new(io: &IoUring, count: u16) -> io::Result<Buffers> {
        let bytes = Buffers::list_bytes(count) + usize::from(count) * BUFFER_BYTES;
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        let mut buffers = Buffers { memory, layout, count, tail: 0 };
        // SAFETY: the list lies at the beginning of `memory`, is large enough for `count` entries and on a page's border.
        // It stays until the ring is dropped: `Ring` drops its `IoUring` first, or leaks this.
        unsafe { io.submitter().register_buf_ring_with_flags(memory.as_ptr() as u64, count, GROUP, 0)? };
        for number in 0..count {
            buffers.give_back(number);
        }
        Ok(buffers)
    }

    /// Rounded up to a page.
    fn list_bytes(count: u16) -> usize {
        (usize::from(count) * size_of::<BufRingEntry>()).next_multiple_of(4096)
    }

    /// Address of a buffer.
    fn start_of(&self, number: u16) -> NonNull<u8> {
        debug_assert!(number < self.count);
        // SAFETY: `number` is below `count`, so that the buffer lies inside `memory`.
        unsafe { self.memory.add(Buffers::list_bytes(self.count) + usize::from(number) * BUFFER_BYTES) }
    }

    /// Bytes of a buffer that the kernel has filled and not got back.
    pub(super) fn filled_bytes(&self, number: u16, begin: u32, end: u32) -> &[u8] {
        let number = number % self.count;
        let (begin, end) = (begin as usize, (end as usize).min(BUFFER_BYTES));
        let length = end.saturating_sub(begin);
        // SAFETY: the range lies inside the buffer, which was zeroed when it was made. The kernel does not write into a
        // buffer that it has handed over; the caller keeps its number until `give_back`, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start_of(number).add(begin.min(end)).as_ptr(), length) }
    }

    /// Returns a buffer to the kernel.
    pub(super) fn give_back(&mut self, number: u16) {
        let number = number % self.count;
        let list = self.memory.cast::<BufRingEntry>();
        let place = usize::from(self.tail & (self.count - 1));
        let address = self.start_of(number).as_ptr() as u64;
        // SAFETY: `place` is below `count`. The kernel does not read entries at or behind the tail, and this thread is the
        // only one that writes them. The tail lies in a field of entry 0 that the setters do not touch, and the pointer
        // to it is aligned and valid as long as `memory` is.
        unsafe {
            let entry = list.add(place).as_mut();
            entry.set_addr(address);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(number);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(list.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout. `Ring` drops this only once no receive is under way.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) }
    }
}
