//! Block I/O by the host's ring or blocking threads.

use host::blocks::{BlockDone, BlockOp, BlockRing, Content};

use load::error::FailureKind;
use load::lane::{
    Completion, ErrorClass, Helpers, Instants, Lane, OpError, OpOutcome, Submitted, Transfer, connection_lost,
};
use workloads::disk::BlockRequest;

/// One in this many submissions is timed, which costs a kernel entry of its own.
const SAMPLED: u64 = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    request: BlockRequest,
    sent_ns: u64,
    ended_ns: u64,
}

/// Clients are the ring's slots.
#[derive(Debug)]
pub struct BlockLane {
    ring: BlockRing,
    content: Content,
    block_bytes: u32,
    slots: Vec<Slot>,
    done: Vec<BlockDone>,
    submitted: u64,
    transfer: Transfer,
}

impl BlockLane {
    /// Makes a lane over a ring, which writes random content by `seed`.
    pub fn new(ring: BlockRing, block_bytes: u32, seed: u64, helpers: Helpers) -> BlockLane {
        let depth = ring.depth() as usize;
        let transfer = Transfer::new(ring.kind().to_owned(), ring.shortfalls().to_vec(), helpers);
        BlockLane {
            ring,
            content: Content::new(seed),
            block_bytes,
            slots: vec![Slot::default(); depth],
            done: Vec::with_capacity(depth),
            submitted: 0,
            transfer,
        }
    }

    /// Converts a request to an operation on its file, and fills a write's buffer with new content.
    fn prepare_op(&mut self, slot: u32, request: BlockRequest) -> Option<(u32, BlockOp)> {
        let bytes = self.block_bytes;
        match request {
            BlockRequest::Nothing => None,
            BlockRequest::Read { file, offset } => Some((file, BlockOp::Read { offset, bytes })),
            BlockRequest::Write { file, offset } => {
                let buffer = self.ring.buffer_mut(slot).unwrap_or_default();
                self.content.fill_next(buffer);
                Some((file, BlockOp::Write { offset, bytes }))
            }
            BlockRequest::Sync { file } => Some((file, BlockOp::Sync)),
        }
    }

    /// Returns the outcome of an operation that ended, and counts it if it moved its whole block.
    fn finish_op(&mut self, done: BlockDone) -> OpOutcome {
        let request = self.slots.get(done.slot as usize).map_or(BlockRequest::Nothing, |slot| slot.request);
        let expected = if matches!(request, BlockRequest::Sync { .. }) { 0 } else { self.block_bytes };
        match done.result {
            Ok(bytes) if bytes == expected => {
                match request {
                    BlockRequest::Read { .. } => self.transfer.read_bytes += u64::from(bytes),
                    BlockRequest::Write { .. } => self.transfer.written_bytes += u64::from(bytes),
                    BlockRequest::Sync { .. } => self.transfer.syncs += 1,
                    BlockRequest::Nothing => {}
                }
                OpOutcome::Ok
            }
            Ok(bytes) => {
                let what = if matches!(request, BlockRequest::Read { .. }) { "read" } else { "write" };
                let message = format!("a {what} of {expected} bytes ended after {bytes}");
                OpOutcome::Failed(OpError { class: ErrorClass::Statement, message })
            }
            Err(number) => {
                let cause = std::io::Error::from_raw_os_error(number);
                let full = FailureKind::from(cause.kind()) == FailureKind::DiskFull;
                let class = if full { ErrorClass::DiskFull } else { ErrorClass::Statement };
                OpOutcome::Failed(OpError { class, message: cause.to_string() })
            }
        }
    }
}

impl Lane for BlockLane {
    const INSTANTS: Instants = Instants::Lane;

    type Op = BlockRequest;

    /// Begins a block operation in the client's slot of the ring.
    fn submit(&mut self, client: usize, op: &BlockRequest) -> Submitted {
        let slot = client as u32;
        let Some((file, operation)) = self.prepare_op(slot, *op) else { return Submitted::Done(OpOutcome::Ok) };
        let now_ns = host::clock::now_ns();
        if let Some(state) = self.slots.get_mut(client) {
            state.request = *op;
            if !matches!(op, BlockRequest::Sync { .. }) {
                state.sent_ns = now_ns;
            }
        }
        if let Err(error) = self.ring.submit(slot, file, operation) {
            return Submitted::Done(OpOutcome::Failed(connection_lost(&error)));
        }
        if self.submitted.is_multiple_of(SAMPLED) {
            // A broken ring shows when nothing more is reaped.
            let _ = self.ring.flush();
            self.transfer.submission.record_successes((host::clock::now_ns() - now_ns).max(1), 1);
        }
        self.submitted += 1;
        Submitted::Queued
    }

    /// Waits for operations that ended until a deadline, and appends their outcomes.
    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        // A broken ring yields nothing; the worker gives up in time.
        let _ = self.ring.reap(deadline_ns, &mut self.done);
        if self.done.is_empty() {
            return;
        }
        let reaped_ns = host::clock::now_ns();
        let mut done = std::mem::take(&mut self.done);
        for ended in done.drain(..) {
            let client = ended.slot as usize;
            if let Some(state) = self.slots.get_mut(client) {
                state.ended_ns = reaped_ns;
            }
            let outcome = self.finish_op(ended);
            into.push(Completion { client, outcome });
        }
        self.done = done;
    }

    /// Returns success: a failed block operation leaves nothing to bring back.
    fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Ok)
    }

    /// Instants at which a client's last operation was submitted and reaped, by the machine's clock.
    fn instants_ns(&self, client: usize) -> (u64, u64) {
        self.slots.get(client).map_or((0, 0), |slot| (slot.sent_ns, slot.ended_ns))
    }

    /// Forgets the submissions that were timed so far.
    fn begin_measurement(&mut self) {
        self.transfer.submission.reset();
        self.submitted = 0;
    }

    /// Returns what was read and written so far.
    fn block_transfer(&mut self) -> Option<Transfer> {
        Some(self.transfer.clone())
    }

    /// Counts the ring's entries into the kernel so far.
    fn kernel_entries(&self) -> Option<u64> {
        Some(self.ring.kernel_entries())
    }

    /// Does nothing: the ring closes its files when it is dropped.
    fn close(self) {}
}
