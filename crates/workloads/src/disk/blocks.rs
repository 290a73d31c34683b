//! A load of blocks, pure in (seed, client, index) except for cursors.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use host::blocks::Cache;

use crate::dataset::DataFile;
use crate::work::StreamWork;
use load::rng::Rng;
use load::stream::{Next, Stream};

/// Separates reads among writes from the places' draws.
const MIX_SALT: u64 = 0x6d69_7865_642d_696f;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// Uniform over the span, with replacement.
    Random,
    /// The block after the file's last operation of any thread, wrapping around. SQLIO's `-fsequential`.
    Sequential,
    /// Per thread, each over the whole span.
    SequentialOwn,
    /// Per thread, each over its own part of the span.
    SequentialSplit,
    /// A fixed step; after `rows` operations from the beginning plus one block. SQLIO's `-fN` with `-iN`.
    Stride {
        /// Step.
        blocks: u64,
        /// Default: as many as fit.
        rows: Option<u64>,
    },
}

impl AccessPattern {
    /// Name of the pattern, as in plans.
    pub fn as_str(self) -> &'static str {
        match self {
            AccessPattern::Random => "random",
            AccessPattern::Sequential => "sequential",
            AccessPattern::SequentialOwn => "sequential-own",
            AccessPattern::SequentialSplit => "sequential-split",
            AccessPattern::Stride { .. } => "stride",
        }
    }

    /// Whether blocks follow each other, so that the load is judged by bytes a second and not by operations.
    pub fn is_sequential(self) -> bool {
        matches!(self, AccessPattern::Sequential | AccessPattern::SequentialOwn | AccessPattern::SequentialSplit)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pools {
    /// Each with its depth on each file.
    OnAll(u32),
    /// Per file, like SQLIO's parameter file.
    ByFile(Vec<u32>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ThreadAffinity {
    #[default]
    Free,
    /// Each to one processor of the process, in turn.
    Spread,
    /// Each to one of these, in turn. SQLIO's `-aR`, fio's `cpus_allowed_policy=split`.
    InTurn(Vec<usize>),
    /// Any of these. SQLIO's `-a`, fio's `cpus_allowed`.
    Among(Vec<usize>),
    /// Per file; empty for any. Masks of SQLIO's parameter file.
    ByPool(Vec<Vec<usize>>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct BlockLoad {
    pub read_percent: u32,
    pub pattern: AccessPattern,
    pub block_bytes: u32,
    /// Per thread and file.
    pub depth: u32,
    pub pools: Pools,
    pub files: Vec<DataFile>,
    /// The offset of the span in each file.
    pub offset_bytes: u64,
    /// `None`: to the end of the file.
    pub span_bytes: Option<u64>,
    pub cache: Cache,
    /// Writes per thread and file before a sync, which the last one includes; 0 for never.
    pub fsync_every: u32,
    pub affinity: ThreadAffinity,
}

impl BlockLoad {
    /// Number of threads of all files together.
    pub fn thread_count(&self) -> u32 {
        match &self.pools {
            Pools::OnAll(threads) => *threads,
            Pools::ByFile(threads) => threads.iter().sum(),
        }
    }

    /// Number of operations that a thread has under way at a time; each is a client of the worker loop.
    pub fn clients_per_thread(&self) -> u32 {
        match &self.pools {
            Pools::OnAll(_) => self.depth * self.files.len() as u32,
            Pools::ByFile(_) => self.depth,
        }
    }

    /// Number of clients: operations under way of all threads together.
    pub fn client_count(&self) -> u32 {
        self.thread_count() * self.clients_per_thread()
    }

    /// Which thread a client belongs to, and on which file it works.
    fn thread_and_file(&self, client: u32) -> (u32, u32) {
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

    /// Index of a thread's pool: its file where files have threads of their own, else 0.
    pub fn pool_of(&self, thread: u32) -> u32 {
        match &self.pools {
            Pools::OnAll(_) => 0,
            Pools::ByFile(_) => self.thread_and_file(thread * self.clients_per_thread()).1,
        }
    }

    /// A thread's index among those that work on a file, and how many these are.
    fn place_among(&self, thread: u32, file: u32) -> (u64, u64) {
        match &self.pools {
            Pools::OnAll(threads) => (u64::from(thread), u64::from(*threads)),
            Pools::ByFile(threads) => {
                let before: u32 = threads.iter().take(file as usize).sum();
                let here = threads.get(file as usize).copied().unwrap_or(1);
                (u64::from(thread.saturating_sub(before)), u64::from(here))
            }
        }
    }

    /// Tests whether the load both reads and writes.
    fn is_mixed(&self) -> bool {
        (1..100).contains(&self.read_percent)
    }
}

/// A cursor in a cache line of its own, so that threads do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cursor(AtomicU64);

/// How far each file has been worked through: one shared cursor for `sequential`, else one per thread.
#[derive(Debug, Default)]
pub struct Cursors {
    files: usize,
    all: Vec<Cursor>,
}

impl Cursors {
    /// Makes the counters of how far each file has been worked through; none for a work without blocks.
    pub fn for_work(work: &StreamWork) -> Cursors {
        let StreamWork::Blocks(load) = work else { return Cursors::default() };
        let files = load.files.len();
        let threads = match load.pattern {
            AccessPattern::Random => 0,
            AccessPattern::Sequential => 1,
            _ => load.thread_count() as usize,
        };
        Cursors { files, all: (0..files * threads).map(|_| Cursor::default()).collect() }
    }

    /// Counts an operation of a thread on a file, and returns its number, from 0.
    fn next_number(&self, pattern: AccessPattern, thread: u32, file: u32) -> u64 {
        let thread = if pattern == AccessPattern::Sequential { 0 } else { thread as usize };
        let cursor = self.all.get(thread * self.files + file as usize);
        cursor.map_or(0, |cursor| cursor.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockRequest {
    #[default]
    Nothing,
    Read {
        file: u32,
        offset: u64,
    },
    /// Writes fresh bytes over a block.
    Write {
        file: u32,
        /// Where, in bytes.
        offset: u64,
    },
    /// Makes durable what was written, as the end of the write before it.
    Sync {
        file: u32,
    },
}

/// A case's load on files whose sizes are known.
#[derive(Debug)]
pub struct BlockStream<'a> {
    load: &'a BlockLoad,
    cursors: &'a Cursors,
    /// Blocks in the span of each file.
    blocks: Vec<u64>,
    /// Writes on each file since its last sync. Each thread has a stream of its own.
    unsynced: Vec<AtomicU32>,
}

impl<'a> BlockStream<'a> {
    /// Prepares a stream of block operations; `None` if a file is too small for the span, or the span for a block.
    pub fn new(load: &'a BlockLoad, cursors: &'a Cursors, sizes: &[u64]) -> Option<BlockStream<'a>> {
        let block_bytes = u64::from(load.block_bytes.max(1));
        let blocks = sizes
            .iter()
            .map(|size| {
                let rest = size.checked_sub(load.offset_bytes)?;
                let span = load.span_bytes.unwrap_or(rest);
                (span <= rest && span >= block_bytes).then_some(span / block_bytes)
            })
            .collect::<Option<Vec<u64>>>()?;
        let unsynced = load.files.iter().map(|_| AtomicU32::new(0)).collect();
        (blocks.len() == load.files.len()).then_some(BlockStream { load, cursors, blocks, unsynced })
    }

    /// Counts the bytes that operations can reach in all files.
    pub fn span_bytes(&self) -> u64 {
        self.blocks.iter().sum::<u64>().saturating_mul(u64::from(self.load.block_bytes))
    }

    /// Chooses the client's next block by the access pattern: its number from the beginning of the span.
    fn choose_block(&self, client: &BlockClient, rng: &mut Rng) -> u64 {
        let all = self.blocks.get(client.file as usize).copied().unwrap_or(1).max(1);
        let pattern = self.load.pattern;
        if pattern == AccessPattern::Random {
            // The bias of the multiplication is below all / 2^64.
            return ((u128::from(rng.next_u64()) * u128::from(all)) >> 64) as u64;
        }
        let number = self.cursors.next_number(pattern, client.thread, client.file);
        match pattern {
            AccessPattern::SequentialSplit => {
                let (place, of) = client.among;
                let begin = all * place / of.max(1);
                let part = (all * (place + 1) / of.max(1)).saturating_sub(begin).max(1);
                (begin + number % part).min(all - 1)
            }
            AccessPattern::Stride { blocks, rows } => {
                let blocks = blocks.clamp(1, all);
                let rows = rows.unwrap_or(u64::MAX).clamp(1, all.div_ceil(blocks));
                let column = number / rows % blocks;
                (number % rows * blocks + column) % all
            }
            _ => number % all,
        }
    }
}

/// One outstanding operation of a thread, over and over.
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
    Started,
    Moved,
    Synced,
}

impl Stream for BlockStream<'_> {
    type Op = BlockRequest;
    type Client = BlockClient;

    /// Makes a client with its thread, file and seed.
    fn new_client(&self, seed: u64, client: u32) -> BlockClient {
        let (thread, file) = self.load.thread_and_file(client);
        let among = self.load.place_among(thread, file);
        BlockClient { seed, number: client, thread, file, among, request: BlockRequest::Nothing, stage: Stage::Started }
    }

    /// Draws the client's next operation: a read or a write, and at which block.
    fn begin_transaction(&self, client: &mut BlockClient, index: u64) {
        let mut rng = Rng::of_transaction(client.seed, client.number, index);
        let offset = self.load.offset_bytes + self.choose_block(client, &mut rng) * u64::from(self.load.block_bytes);
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
        client.stage = Stage::Started;
    }

    /// Gives the drawn operation, and a sync behind every `fsync_every`th write.
    fn next_op(&self, client: &mut BlockClient, op: &mut BlockRequest) -> Next {
        match client.stage {
            Stage::Started => {
                *op = client.request;
                client.stage = Stage::Moved;
                Next::Op
            }
            Stage::Moved if self.load.fsync_every > 0 && matches!(client.request, BlockRequest::Write { .. }) => {
                client.stage = Stage::Synced;
                // A sync covers writes that ended before it; those still under way count for the next.
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

    /// Names the kinds of operations, `reads` and `writes`; none if the load has only one.
    fn kind_names(&self) -> Vec<String> {
        if self.load.is_mixed() { vec!["reads".to_owned(), "writes".to_owned()] } else { Vec::new() }
    }

    /// Index of the kind of the client's current operation: 0 for a read, 1 for a write.
    fn current_kind(&self, client: &BlockClient) -> usize {
        usize::from(matches!(client.request, BlockRequest::Write { .. }))
    }
}
