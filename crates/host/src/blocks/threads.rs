//! Blocking operations: on the caller's thread at depth 1, else on a pool.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::memory::Arena;
#[cfg(windows)]
use super::overlapped::{read_at, write_at};
use super::{BlockDone, BlockOp, RingOptions};
use crate::clock;

/// More measure the scheduler, not the disk.
const MOST_THREADS: u32 = 1_024;
/// A thread does little more than a system call.
const STACK_BYTES: usize = 64 << 10;

struct Job {
    slot: u32,
    file: u32,
    op: BlockOp,
    buffer: NonNull<u8>,
}

// SAFETY: the buffer is the slot's, which no one else touches until the operation is reaped; see `execute`.
unsafe impl Send for Job {}

struct Shared {
    files: Vec<File>,
    queues: Mutex<Queues>,
    work: Condvar,
    ends: Condvar,
    entries: AtomicU64,
}

#[derive(Default)]
struct Queues {
    jobs: VecDeque<Job>,
    done: Vec<BlockDone>,
    is_closing: bool,
}

pub(super) struct Threads {
    shared: Arc<Shared>,
    /// Empty if the owner does the work.
    workers: Vec<JoinHandle<()>>,
    /// Submitted and not reaped.
    under_way: usize,
    arena: Arena,
}

impl Threads {
    pub(super) fn new(options: &RingOptions, files: Vec<File>) -> io::Result<Threads> {
        let depth = options.depth;
        if depth > MOST_THREADS {
            let words = format!("{depth} operations at once would need as many threads; {MOST_THREADS} are the limit");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let queues = Queues {
            jobs: VecDeque::with_capacity(depth as usize),
            done: Vec::with_capacity(depth as usize),
            is_closing: false,
        };
        let shared = Arc::new(Shared {
            files,
            queues: Mutex::new(queues),
            work: Condvar::new(),
            ends: Condvar::new(),
            entries: AtomicU64::new(0),
        });
        let arena = Arena::new(depth as usize, options.block_bytes as usize)?;
        let mut threads = Threads { shared, workers: Vec::new(), under_way: 0, arena };
        if depth > 1 {
            for _ in 0..depth {
                let shared = Arc::clone(&threads.shared);
                let builder = std::thread::Builder::new().name("etalon-blocks".to_owned()).stack_size(STACK_BYTES);
                threads.workers.push(builder.spawn(move || shared.work_off())?);
            }
        }
        Ok(threads)
    }

    pub(super) fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// What it runs on, for facts.
    pub(super) fn kind(&self) -> String {
        match self.workers.len() {
            0 => "blocking calls".to_owned(),
            count => format!("blocking calls on {count} threads"),
        }
    }

    /// Number of calls so far.
    pub(super) fn entries(&self) -> u64 {
        self.shared.entries.load(Ordering::Relaxed)
    }

    /// The memory of the slots.
    pub(super) fn arena(&self) -> Option<&Arena> {
        Some(&self.arena)
    }

    /// The memory of the slots.
    pub(super) fn arena_mut(&mut self) -> Option<&mut Arena> {
        Some(&mut self.arena)
    }

    /// Queues an operation for the threads, or for `reap` if there are none.
    pub(super) fn submit(&mut self, slot: u32, file: u32, op: BlockOp) {
        let job = Job { slot, file, op, buffer: self.arena.slot_start(slot as usize) };
        self.under_way += 1;
        self.shared.lock_queues().jobs.push_back(job);
        if !self.workers.is_empty() {
            self.shared.work.notify_one();
        }
    }

    /// Appends what has ended, waiting for it until the deadline; without threads it runs one operation itself.
    pub(super) fn reap(&mut self, deadline_ns: u64, into: &mut Vec<BlockDone>) -> io::Result<()> {
        let before = into.len();
        if self.workers.is_empty() {
            // The guard is dropped before the job is done.
            let job = self.shared.lock_queues().jobs.pop_front();
            into.extend(job.map(|job| self.shared.execute_job(&job)));
        } else if self.under_way > 0 {
            let mut queues = self.shared.lock_queues();
            while queues.done.is_empty() {
                let left_ns = deadline_ns.saturating_sub(clock::now_ns());
                if left_ns == 0 {
                    break;
                }
                let waited = self.shared.ends.wait_timeout(queues, Duration::from_nanos(left_ns));
                queues = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            into.append(&mut queues.done);
        }
        self.under_way -= into.len() - before;
        Ok(())
    }
}

impl Shared {
    /// No thread panics while it holds the lock, and the queues are always consistent.
    fn lock_queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs operations until the ring ends.
    fn work_off(&self) {
        let mut queues = self.lock_queues();
        loop {
            if let Some(job) = queues.jobs.pop_front() {
                drop(queues);
                let done = self.execute_job(&job);
                queues = self.lock_queues();
                queues.done.push(done);
                self.ends.notify_one();
            } else if queues.is_closing {
                return;
            } else {
                queues = self.work.wait(queues).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Runs one operation.
    fn execute_job(&self, job: &Job) -> BlockDone {
        self.entries.fetch_add(1, Ordering::Relaxed);
        let file = &self.files[job.file as usize];
        let result = match job.op {
            BlockOp::Read { offset, bytes } => {
                // SAFETY: the operation's bytes fit into its slot's buffer, which lives until `Threads` is dropped; that
                // waits for all threads. No one else touches it before the operation is reaped.
                let buffer = unsafe { std::slice::from_raw_parts_mut(job.buffer.as_ptr(), bytes as usize) };
                read_at(file, buffer, offset)
            }
            BlockOp::Write { offset, bytes } => {
                // SAFETY: as above.
                let buffer = unsafe { std::slice::from_raw_parts(job.buffer.as_ptr(), bytes as usize) };
                write_at(file, buffer, offset)
            }
            BlockOp::Sync => file.sync_data().map(|()| 0),
        };
        let result = result.map(|bytes| bytes as u32).map_err(|cause| cause.raw_os_error().unwrap_or(0));
        BlockDone { slot: job.slot, result }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock_queues().is_closing = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // A thread that panicked has nothing in flight.
            let _ = worker.join();
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, buffer, offset)
}
