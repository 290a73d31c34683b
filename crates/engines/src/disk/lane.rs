use host::affinity;
use host::blocks::{Access, BlockFile, OpenError};

use super::DiskSystem;
use super::files::DiskFile;
use crate::disk::blocks::BlockLane;
use load::clock::RealClock;
use load::error::{Failure, FailureKind};
use load::lane::Helpers;
use load::rng::Rng;
use load::worker::{self, LoadCounts, WorkerContext};
use workloads::disk::{BlockLoad, BlockStream, Cursors, ThreadAffinity};

/// Separates written bytes from the load's random draws.
const CONTENT_SALT: u64 = 0x636f_6e74_656e_7473;

/// Opens the files, and runs one worker's part of a load of blocks on them.
pub(super) fn drive_worker(
    system: &DiskSystem,
    load: &BlockLoad,
    cursors: &Cursors,
    files: &[DiskFile],
    context: WorkerContext<'_>,
) -> Result<LoadCounts, Failure> {
    let thread = context.clients.start / load.clients_per_thread().max(1);
    bind_thread(load, thread)?;
    let opened = files.iter().map(|file| open_file(file, load)).collect::<Result<Vec<_>, _>>()?;
    let sizes: Vec<u64> = opened.iter().map(|file| file.size_bytes).collect();
    let stream = BlockStream::new(load, cursors, &sizes).ok_or_else(|| {
        Failure::new(
            FailureKind::Plan,
            "work on the files",
            "the span reaches beyond the end of one, or holds no block",
        )
        .with_hint("lower `span_mb` or `offset_kb`, or raise `size_mb`")
    })?;
    let depth = context.clients.len() as u32;
    let ring = system.make_ring(depth, load.block_bytes, opened.into_iter().map(|file| file.file).collect())?;
    let helpers = if ring.has_helper_threads() { Helpers::Threads } else { Helpers::None };
    // Fresh for every worker of every run: no block is written twice.
    let seed = Rng::of_transaction(context.seed ^ CONTENT_SALT, thread, host::clock::now_ns()).next_u64();
    let lane = BlockLane::new(ring, load.block_bytes, seed, helpers);
    let mut counts = worker::run_worker(lane, &stream, &RealClock, context)?;
    if let Some(transfer) = &mut counts.transfer {
        transfer.span_bytes = stream.span_bytes();
    }
    Ok(counts)
}

/// Opens a file with the access and caches that the load wants, and checks its alignment.
fn open_file(file: &DiskFile, load: &BlockLoad) -> Result<BlockFile, Failure> {
    let access = if load.read_percent == 100 { Access::Read } else { Access::ReadWrite };
    let tried = format!("open {} with the caches `{}`", file.path.display(), load.cache.as_str());
    let opened = BlockFile::open(&file.path, access, load.cache).map_err(|error| open_failure(&tried, error))?;
    opened
        .demand_alignment(u64::from(load.block_bytes), load.offset_bytes)
        .map_err(|error| open_failure(&tried, error))?;
    Ok(opened)
}

/// Makes the failure of a file that cannot be opened as the load wants, with a hint.
fn open_failure(tried: &str, error: OpenError) -> Failure {
    match &error {
        OpenError::Unsupported(_) => Failure::new(FailureKind::Unsupported, tried, error).with_hint(
            "take blocks that it can do, a folder on a disk, or `cache = \"fs\"` or `\"all\"`, which use the page \
             cache; nothing is rounded up",
        ),
        OpenError::Host(cause) => Failure::new(cause.kind().into(), tried, error),
    }
}

/// Binds the calling thread to the processors that the load gives it.
fn bind_thread(load: &BlockLoad, thread: u32) -> Result<(), Failure> {
    let cores: Vec<usize> = match &load.affinity {
        ThreadAffinity::Free => Vec::new(),
        ThreadAffinity::Spread => core_in_turn(&affinity::allowed_cores().map_err(binding_failure)?, thread),
        ThreadAffinity::InTurn(cores) => core_in_turn(cores, thread),
        ThreadAffinity::Among(cores) => cores.clone(),
        ThreadAffinity::ByPool(pools) => pools.get(load.pool_of(thread) as usize).cloned().unwrap_or_default(),
    };
    if cores.is_empty() { Ok(()) } else { affinity::pin_thread(&cores).map_err(binding_failure) }
}

/// Picks the core at a thread's number, going round the list; empty for no cores.
fn core_in_turn(cores: &[usize], thread: u32) -> Vec<usize> {
    cores.get(thread as usize % cores.len().max(1)).copied().into_iter().collect()
}

/// Makes the failure that a thread cannot be bound to its processors.
fn binding_failure(cause: String) -> Failure {
    Failure::new(FailureKind::Unsupported, "bind the load's threads to processors", cause)
        .with_hint("leave `affinity` out, or name processors that this process may use")
}
