//! A load of blocks: what each thread does where, pure in (seed, client, index) but for the cursors.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use host::blocks::Cache;

use crate::dataset::DataFile;
use crate::rng::Rng;
use crate::stream::{Next, Stream};
use crate::workloads::Work;

/// Keeps the draws of reads among writes apart from those of places.
const MIX_SALT: u64 = 0x6d69_7865_642d_696f;

/// Where the next operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Any block of the span, each with the same chance, whether it was touched before or not.
    Random,
    /// The block behind that of the last operation on the file, whichever thread asked for it; from the beginning again
    /// at the end. SQLIO's `-fsequential`.
    Sequential,
    /// The same for each thread by itself: all of them go over the whole span.
    SequentialOwn,
    /// The same for each thread in a part of the span that is its own.
    SequentialSplit,
    /// So many blocks further each time; after so many operations from the beginning again, one block further. SQLIO's
    /// `-fN` with `-iN`.
    Stride {
        /// Blocks from one operation to the next.
        blocks: u64,
        /// Operations until it begins again; without it as many as the span has.
        rows: Option<u64>,
    },
}

impl Pattern {
    /// Its name in plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
            Pattern::SequentialOwn => "sequential-own",
            Pattern::SequentialSplit => "sequential-split",
            Pattern::Stride { .. } => "stride",
        }
    }

    /// Whether it is judged by bytes a second, as published tables have it; else by operations a second.
    pub fn is_sequential(self) -> bool {
        matches!(self, Pattern::Sequential | Pattern::SequentialOwn | Pattern::SequentialSplit)
    }
}

/// Which threads work on which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pools {
    /// So many threads, each with its outstanding operations on each of the files.
    OnAll(u32),
    /// So many threads for each file, as the lines of SQLIO's parameter file have it.
    ByFile(Vec<u32>),
}

/// To which processors threads are bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// To none.
    #[default]
    Free,
    /// Each to one of those that the process may use, in turn.
    Spread,
    /// Each to one of these, in turn. SQLIO's `-aR`, fio's `cpus_allowed_policy=split`.
    InTurn(Vec<usize>),
    /// Each may run on any of these. SQLIO's `-a`, fio's `cpus_allowed`.
    Among(Vec<usize>),
    /// The threads of each file may run on any of its own; none for any. The masks of a parameter file of SQLIO's.
    ByPool(Vec<Vec<usize>>),
}

/// Reads and writes of blocks by several threads.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockLoad {
    /// The share of reads among the operations, in percent.
    pub read_percent: u32,
    pub pattern: Pattern,
    /// The size of each, in bytes.
    pub block_bytes: u32,
    /// Operations that a thread has under way at a time, on each of its files.
    pub depth: u32,
    pub pools: Pools,
    pub files: Vec<DataFile>,
    /// Where in each file the span begins, in bytes.
    pub offset_bytes: u64,
    /// How long it is; to the end of the file without it.
    pub span_bytes: Option<u64>,
    /// Which caches may serve an operation.
    pub cache: Cache,
    /// After how many writes of a thread on a file the last of them ends only with a sync; 0 for never.
    pub fsync_every: u32,
    /// To which processors its threads are bound.
    pub affinity: Affinity,
}

impl BlockLoad {
    pub fn threads(&self) -> u32 {
        match &self.pools {
            Pools::OnAll(threads) => *threads,
            Pools::ByFile(threads) => threads.iter().sum(),
        }
    }

    /// The operations that a thread has under way at a time: each is a client of the worker loop.
    pub fn clients_per_thread(&self) -> u32 {
        match &self.pools {
            Pools::OnAll(_) => self.depth * self.files.len() as u32,
            Pools::ByFile(_) => self.depth,
        }
    }

    /// All operations that are under way at a time.
    pub fn clients(&self) -> u32 {
        self.threads() * self.clients_per_thread()
    }

    /// Thread and file of a client.
    fn place(&self, client: u32) -> (u32, u32) {
        let thread = client / self.clients_per_thread().max(1);
        let file = match &self.pools {
            Pools::OnAll(_) => client % self.clients_per_thread().max(1) / self.depth.max(1),
            Pools::ByFile(threads) => {
                let up_to = threads.iter().scan(0, |sum, of_file| {
                    *sum += of_file;
                    Some(*sum)
                });
                up_to.filter(|sum| *sum <= thread).count() as u32
            }
        };
        (thread, file.min(self.files.len().saturating_sub(1) as u32))
    }

    /// The pool that a thread belongs to: that of its file, where files have threads of their own.
    pub fn pool(&self, thread: u32) -> u32 {
        match &self.pools {
            Pools::OnAll(_) => 0,
            Pools::ByFile(_) => self.place(thread * self.clients_per_thread()).1,
        }
    }

    /// The place of a thread among those that work on a file, and how many these are.
    fn among(&self, thread: u32, file: u32) -> (u64, u64) {
        match &self.pools {
            Pools::OnAll(threads) => (u64::from(thread), u64::from(*threads)),
            Pools::ByFile(threads) => {
                let before: u32 = threads.iter().take(file as usize).sum();
                let here = threads.get(file as usize).copied().unwrap_or(1);
                (u64::from(thread.saturating_sub(before)), u64::from(here))
            }
        }
    }

    /// Whether reads and writes are told apart.
    fn is_mixed(&self) -> bool {
        (1..100).contains(&self.read_percent)
    }
}

/// A count in a cache line of its own: threads do not slow each other down by it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cursor(AtomicU64);

/// How far the threads of a trial have come in each file. A cursor that threads share is what `sequential` means; the
/// others are each one thread's own.
#[derive(Debug, Default)]
pub struct Cursors {
    files: usize,
    all: Vec<Cursor>,
}

impl Cursors {
    /// Cursors at the beginning.
    pub fn of(work: &Work) -> Cursors {
        let Work::Blocks(load) = work else { return Cursors::default() };
        let files = load.files.len();
        let threads = match load.pattern {
            Pattern::Random => 0,
            Pattern::Sequential => 1,
            _ => load.threads() as usize,
        };
        Cursors { files, all: (0..files * threads).map(|_| Cursor::default()).collect() }
    }

    /// The number of a thread's next operation in a file.
    fn take(&self, pattern: Pattern, thread: u32, file: u32) -> u64 {
        let thread = if pattern == Pattern::Sequential { 0 } else { thread as usize };
        let cursor = self.all.get(thread * self.files + file as usize);
        cursor.map_or(0, |cursor| cursor.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a lane of blocks executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockRequest {
    #[default]
    Nothing,
    Read {
        file: u32,
        /// Where, in bytes.
        offset: u64,
    },
    /// Writes fresh bytes over a block.
    Write {
        file: u32,
        /// Where, in bytes.
        offset: u64,
    },
    /// Makes durable what was written, as the end of the write before it.
    Sync { file: u32 },
}

/// The stream of a trial: the load on files whose sizes are known.
#[derive(Debug)]
pub struct BlockStream<'a> {
    load: &'a BlockLoad,
    cursors: &'a Cursors,
    /// Blocks in the span of each file.
    blocks: Vec<u64>,
    /// Writes on each file since its last sync: a worker has a stream, and a thread, of its own.
    unsynced: Vec<AtomicU32>,
}

impl<'a> BlockStream<'a> {
    /// A stream on files of these sizes, in bytes. `None` if a span does not fit, or holds no block.
    pub fn new(load: &'a BlockLoad, cursors: &'a Cursors, sizes: &[u64]) -> Option<BlockStream<'a>> {
        let block_bytes = u64::from(load.block_bytes.max(1));
        let blocks_of = |size: &u64| {
            let rest = size.checked_sub(load.offset_bytes)?;
            let span = load.span_bytes.unwrap_or(rest);
            (span <= rest && span >= block_bytes).then_some(span / block_bytes)
        };
        let blocks = sizes.iter().map(blocks_of).collect::<Option<Vec<u64>>>()?;
        let unsynced = load.files.iter().map(|_| AtomicU32::new(0)).collect();
        (blocks.len() == load.files.len()).then_some(BlockStream { load, cursors, blocks, unsynced })
    }

    /// The block of a client's operation, counted from the beginning of the span.
    fn block(&self, client: &BlockClient, rng: &mut Rng) -> u64 {
        let all = self.blocks.get(client.file as usize).copied().unwrap_or(1).max(1);
        let pattern = self.load.pattern;
        if pattern == Pattern::Random {
            // The bias of the multiplication is below all / 2^64.
            return ((u128::from(rng.next_u64()) * u128::from(all)) >> 64) as u64;
        }
        let number = self.cursors.take(pattern, client.thread, client.file);
        match pattern {
            Pattern::SequentialSplit => {
                let (place, of) = client.among;
                let begin = all * place / of.max(1);
                let part = (all * (place + 1) / of.max(1)).saturating_sub(begin).max(1);
                (begin + number % part).min(all - 1)
            }
            Pattern::Stride { blocks, rows } => {
                let blocks = blocks.clamp(1, all);
                let rows = rows.unwrap_or(u64::MAX).clamp(1, all.div_ceil(blocks));
                let column = number / rows % blocks;
                (number % rows * blocks + column) % all
            }
            _ => number % all,
        }
    }
}

/// An outstanding operation of a thread, again and again.
#[derive(Clone, Debug)]
pub struct BlockClient {
    seed: u64,
    number: u32,
    thread: u32,
    file: u32,
    among: (u64, u64),
    request: BlockRequest,
    stage: Stage,
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begun,
    Moved,
    Synced,
}

impl Stream for BlockStream<'_> {
    type Op = BlockRequest;
    type Client = BlockClient;

    fn client(&self, seed: u64, client: u32) -> BlockClient {
        let (thread, file) = self.load.place(client);
        let among = self.load.among(thread, file);
        BlockClient { seed, number: client, thread, file, among, request: BlockRequest::Nothing, stage: Stage::Begun }
    }

    fn begin(&self, client: &mut BlockClient, index: u64) {
        let mut rng = Rng::of_transaction(client.seed, client.number, index);
        let offset = self.load.offset_bytes + self.block(client, &mut rng) * u64::from(self.load.block_bytes);
        let file = client.file;
        let reads = match self.load.read_percent {
            0 => false,
            100.. => true,
            percent => {
                let draw = Rng::of_transaction(client.seed ^ MIX_SALT, client.number, index).next_u64();
                ((u128::from(draw) * 100) >> 64) < u128::from(percent)
            }
        };
        client.request = if reads { BlockRequest::Read { file, offset } } else { BlockRequest::Write { file, offset } };
        client.stage = Stage::Begun;
    }

    fn next(&self, client: &mut BlockClient, op: &mut BlockRequest) -> Next {
        match client.stage {
            Stage::Begun => {
                *op = client.request;
                client.stage = Stage::Moved;
                Next::Op
            }
            Stage::Moved if self.load.fsync_every > 0 && matches!(client.request, BlockRequest::Write { .. }) => {
                client.stage = Stage::Synced;
                // A sync makes durable what has ended before it: those that are under way beside it count for the next.
                let Some(unsynced) = self.unsynced.get(client.file as usize) else { return Next::End };
                if unsynced.fetch_add(1, Ordering::Relaxed) + 1 < self.load.fsync_every {
                    return Next::End;
                }
                unsynced.store(0, Ordering::Relaxed);
                *op = BlockRequest::Sync { file: client.file };
                Next::Op
            }
            Stage::Moved | Stage::Synced => Next::End,
        }
    }

    fn kinds(&self) -> Vec<String> {
        if self.load.is_mixed() { vec!["reads".to_owned(), "writes".to_owned()] } else { Vec::new() }
    }

    fn kind(&self, client: &BlockClient) -> usize {
        usize::from(matches!(client.request, BlockRequest::Write { .. }))
    }
}
