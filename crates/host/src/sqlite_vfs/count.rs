use std::sync::atomic::{AtomicU64, Ordering};

use super::FileKind;
use crate::ticks::{in_ns, ticks};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIo {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_ns: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub write_ns: u64,
    /// Calls that made the file durable.
    pub syncs: u64,
    pub sync_ns: u64,
    /// Pages read through a memory map, without a call.
    pub fetches: u64,
}

impl FileIo {
    /// What was counted since an earlier reading.
    #[must_use]
    pub fn since(self, before: FileIo) -> FileIo {
        FileIo {
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            read_ns: self.read_ns - before.read_ns,
            writes: self.writes - before.writes,
            write_bytes: self.write_bytes - before.write_bytes,
            write_ns: self.write_ns - before.write_ns,
            syncs: self.syncs - before.syncs,
            sync_ns: self.sync_ns - before.sync_ns,
            fetches: self.fetches - before.fetches,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Traffic of each kind of file, in the order of [`FileKind::ALL`].
    pub files: [FileIo; 4],
}

impl Traffic {
    /// The counters of one kind of file.
    pub fn for_kind(&self, kind: FileKind) -> FileIo {
        self.files[kind as usize]
    }

    /// What was counted since an earlier reading, by kind of file.
    #[must_use]
    pub fn since(&self, before: &Traffic) -> Traffic {
        let mut files = self.files;
        for (now, then) in files.iter_mut().zip(before.files) {
            *now = now.since(then);
        }
        Traffic { files }
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    count: AtomicU64,
    bytes: AtomicU64,
    ticks: AtomicU64,
}

impl Calls {
    /// Counts a call that began at `start_ticks` and has just ended.
    pub(super) fn note_call(&self, bytes: u64, start_ticks: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.ticks.fetch_add(ticks().saturating_sub(start_ticks), Ordering::Relaxed);
    }

    /// Number and bytes of the calls, and the ns that they took.
    fn read_counts(&self) -> (u64, u64, u64) {
        let [count, bytes, ticks] =
            [&self.count, &self.bytes, &self.ticks].map(|counter| counter.load(Ordering::Relaxed));
        (count, bytes, in_ns(ticks))
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: Calls,
    pub(super) writes: Calls,
    pub(super) syncs: Calls,
    pub(super) fetches: AtomicU64,
}

impl Counts {
    /// Reads, writes and syncs with their bytes and times, and the number of fetches.
    pub(super) fn read_io(&self) -> FileIo {
        let (reads, read_bytes, read_ns) = self.reads.read_counts();
        let (writes, write_bytes, write_ns) = self.writes.read_counts();
        let (syncs, _, sync_ns) = self.syncs.read_counts();
        let fetches = self.fetches.load(Ordering::Relaxed);
        FileIo { reads, read_bytes, read_ns, writes, write_bytes, write_ns, syncs, sync_ns, fetches }
    }
}
