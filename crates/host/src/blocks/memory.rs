use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;

/// Each buffer begins on a page, which suits every device's direct I/O.
pub(super) const PAGE_BYTES: usize = 4096;

/// The buffers of all slots in one allocation.
///
/// Lent to the operating system during an operation; the forms make sure that no one else touches a slot's bytes
/// meanwhile.
pub(super) struct Arena {
    memory: NonNull<u8>,
    layout: Layout,
    stride_bytes: usize,
}

// SAFETY: it owns its memory as a `Vec` does.
unsafe impl Send for Arena {}

impl Arena {
    pub(super) fn new(slots: usize, slot_bytes: usize) -> io::Result<Arena> {
        let stride_bytes = slot_bytes.max(1).checked_next_multiple_of(PAGE_BYTES);
        let bytes = stride_bytes.and_then(|stride_bytes| stride_bytes.checked_mul(slots.max(1)));
        let (Some(stride_bytes), Some(bytes)) = (stride_bytes, bytes) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the buffers are larger than memory can be"));
        };
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        Ok(Arena { memory, layout, stride_bytes })
    }

    /// Size of all slots.
    #[cfg(target_os = "linux")]
    pub(super) fn size_bytes(&self) -> usize {
        self.layout.size()
    }

    pub(super) fn slot_start(&self, slot: usize) -> NonNull<u8> {
        let offset = slot * self.stride_bytes;
        assert!(offset < self.layout.size(), "slot {slot} lies behind the arena");
        // SAFETY: inside the allocation, as just checked.
        unsafe { self.memory.add(offset) }
    }

    /// The bytes of a slot.
    ///
    /// # Safety
    /// No operation is under way in the slot.
    pub(super) unsafe fn slot_bytes(&self, slot: usize) -> &[u8] {
        // SAFETY: `stride_bytes` from `start` on are inside the allocation, were zeroed, and no one writes them.
        unsafe { std::slice::from_raw_parts(self.slot_start(slot).as_ptr(), self.stride_bytes) }
    }

    /// # Safety
    /// No operation is under way in the slot.
    pub(super) unsafe fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` keeps everybody else away.
        unsafe { std::slice::from_raw_parts_mut(self.slot_start(slot).as_ptr(), self.stride_bytes) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout. The forms drop it only once nothing is under way, or leak it.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) }
    }
}
