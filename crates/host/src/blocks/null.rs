use std::io;

use super::memory::Arena;
use super::{BlockDone, BlockOp, RingOptions};

pub(super) struct Null {
    arena: Arena,
    done: Vec<BlockDone>,
}

impl Null {
    pub(super) fn new(options: &RingOptions) -> io::Result<Null> {
        let depth = options.depth as usize;
        let arena = Arena::new(depth, options.block_bytes as usize)?;
        Ok(Null { arena, done: Vec::with_capacity(depth) })
    }

    /// The memory of the slots.
    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// The memory of the slots.
    pub(super) fn arena_mut(&mut self) -> &mut Arena {
        &mut self.arena
    }

    /// Ends an operation at once, without doing it.
    #[inline]
    pub(super) fn submit(&mut self, slot: u32, op: BlockOp) {
        let bytes = match op {
            BlockOp::Read { bytes, .. } | BlockOp::Write { bytes, .. } => bytes,
            BlockOp::Sync => 0,
        };
        self.done.push(BlockDone { slot, result: Ok(bytes) });
    }

    /// Appends the operations that were submitted.
    #[inline]
    pub(super) fn reap(&mut self, into: &mut Vec<BlockDone>) {
        into.append(&mut self.done);
    }
}
