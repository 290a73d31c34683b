use std::time::Duration;

use host::blocks::{Access, Cache};

use super::blocks::{AccessPattern, BlockLoad, Pools, ThreadAffinity};
use crate::dataset::{DataFile, FileLayout};
use crate::promise;
use load::error::{Failure, FailureKind};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const DEFAULT_SIZE_MB: u64 = 1_024;
const MOST_MB: u64 = 1_000_000_000;
/// Default: the smallest allocation of ext4 and XFS.
const DEFAULT_FRAGMENT_KB: u64 = 4;
/// More operations in flight measure the queue.
const MOST_CLIENTS: u64 = 65_536;

model::keys! {
    pub(super) struct DiskKeys {
        /// What is done; `mixed` takes the share of reads from `read_percent`
        op: String = choice(&["read", "write", "mixed"]).or("read"),
        /// Where it is done: `random`, any block of the span with the same chance; `sequential`, the block behind the
        /// last, whichever thread asked for that; `sequential-own`, each thread over the whole span by itself;
        /// `sequential-split`, each in a part of its own; `stride`, so many blocks further each time
        pattern: String = choice(&["random", "sequential", "sequential-own", "sequential-split", "stride"]).or("random"),
        /// Size of each operation in KiB; places are multiples of it
        block_kb: u64 = int(1..=65_536).or(8),
        /// Threads that ask
        threads: u32 = int(1..=256).or(1),
        /// Operations that each thread has under way at a time, on each of its files
        depth: u32 = int(1..=4_096).or(1),
        /// Which caches may serve: `none` (O_DIRECT with O_DSYNC), `hw`, the device's (O_DIRECT), `fs`, the
        /// filesystem's, but a write ends when it is durable (O_DSYNC), or `all`
        cache: String = choice(&["none", "hw", "fs", "all"]).or("hw"),
        /// The share of reads where `op` is `mixed`
        read_percent: Option<u32> = int(1..=99),
        /// Of so many writes of a thread on a file, whichever of its outstanding operations made them, the last ends
        /// only with an `fdatasync`, which is part of its latency; no syncs without it
        fsync_every: Option<u32> = int(1..=1_000_000_000),
        /// Operations a second, all threads together, with response times from the intended start; as fast as the
        /// device answers without it
        rate: Option<f64> = float(0.0..=1e9),
        /// How long the measured part is; as the schedule says without it
        duration: Option<Duration> = DURATION,
        /// In the place of a `rate`: each run finds the highest at which 99 of 100 responses come within this time of their
        /// intended start, by short runs of the schedule's length
        promise_p99 as "promise.response_p99": Option<Duration> = DURATION,
        /// The share of operations that may fail at that rate; 0.001 without it
        promise_errors as "promise.errors": Option<f64> = SHARE,
        /// Size in MiB of each file that étalon makes; 1024 without it. A file that is there is taken as it is
        size_mb: Option<u64> = int(1..=MOST_MB as i64),
        /// Where in each file the span begins, in KiB; at its beginning without it
        offset_kb: Option<u64> = int(0..=1_000_000_000_000),
        /// How much of each file is worked on, in MiB; the rest of it without it
        span_mb: Option<u64> = int(1..=1_000_000_000),
        /// Files to work on, as in `a.dat, b.dat`, from the system's folder on; `a.dat@4, b.dat@1` gives each file
        /// threads of its own, `a.dat@4:5000, b.dat@1:100` also a size in MiB in place of `size_mb`. One file of
        /// étalon's without it
        targets: Option<String> = TEXT,
        /// Blocks from one operation of a `stride` to the next; 64 without it, as in SQLIO
        stride_blocks as "stride.blocks": Option<u64> = int(1..=1_000_000_000),
        /// Operations of a `stride` until it begins again one block further; as many as the span has without it
        stride_rows as "stride.rows": Option<u64> = int(1..=1_000_000_000),
        /// How a file lies that étalon makes: `fresh`, in as few pieces as the filesystem likes, or `fragmented`, in
        /// pieces of `fragment_kb` that lie apart; `fresh` without it
        layout: Option<String> = choice(&["fresh", "fragmented"]),
        /// Size of a fragmented file's pieces in KiB, a multiple of 4; 4 without it. A filesystem with larger clusters
        /// makes them of clusters
        fragment_kb: Option<u64> = int(4..=1_048_576),
        /// Processors that the threads are bound to: a mask such as `0x3`, each thread to any of it; `spread 0x3`, each
        /// to one of it, in turn; `spread`, in turn to all; `0x1, 0x2`, a mask for the threads of each of the
        /// `targets`; to none without it
        affinity: Option<String> = TEXT,
    }
}

/// Makes the failure of keys that do not go together.
fn refuse_keys(cause: impl std::fmt::Display, hint: &str) -> Failure {
    Failure::new(FailureKind::Plan, "run the benchmark as its keys say", cause).with_hint(hint)
}

/// Makes a load of blocks from the plan's keys; fails if the keys do not go together.
pub(super) fn load_from_keys(keys: &DiskKeys) -> Result<BlockLoad, Failure> {
    promise::check_keys(keys.promise_p99, keys.promise_errors, None)?;
    check_duration(keys)?;
    let read_percent = read_percent(keys)?;
    let block_bytes = keys.block_kb * KIB;
    let offset_bytes = keys.offset_kb.unwrap_or_default() * KIB;
    let span_bytes = keys.span_mb.map(|mb| mb * MIB);
    if span_bytes.is_some_and(|span| span < block_bytes) {
        return Err(refuse_keys("a block is larger than the span", "raise `span_mb`, or take smaller blocks"));
    }
    let fsync_every = keys.fsync_every.unwrap_or_default();
    if fsync_every > 0 && read_percent == 100 {
        return Err(refuse_keys("`fsync_every` is about writes, and there are none", "leave it out, or write"));
    }
    let file = DataFile {
        name: None,
        size_bytes: keys.size_mb.map(|mb| mb * MIB),
        layout: file_layout(keys)?,
        reach_bytes: offset_bytes + span_bytes.unwrap_or(block_bytes),
        access: if read_percent == 100 { Access::Read } else { Access::ReadWrite },
    };
    let (files, pools) = files_and_pools(keys.targets.as_deref(), &file, keys.threads)?;
    let load = BlockLoad {
        read_percent,
        pattern: access_pattern(keys)?,
        block_bytes: block_bytes as u32,
        depth: keys.depth,
        affinity: thread_affinity(keys.affinity.as_deref(), &pools)?,
        pools,
        files,
        offset_bytes,
        span_bytes,
        cache: Cache::from_name(&keys.cache).unwrap_or_default(),
        fsync_every,
    };
    let clients = u64::from(load.thread_count()) * u64::from(load.clients_per_thread());
    if clients > MOST_CLIENTS {
        let cause = format!("{clients} operations would be under way at a time, more than {MOST_CLIENTS}");
        return Err(refuse_keys(cause, "lower `depth` or `threads`"));
    }
    Ok(load)
}

/// Fails if `duration` is 0, or is set along with a promise.
fn check_duration(keys: &DiskKeys) -> Result<(), Failure> {
    match keys.duration {
        Some(length) if length.is_zero() => {
            Err(refuse_keys("`duration` is 0", "write a length of time such as \"10s\""))
        }
        Some(_) if keys.promise_p99.is_some() => {
            let cause = "the short runs that find the rate of a `promise` are as long as the schedule says";
            Err(refuse_keys(cause, "set `schedule.duration`"))
        }
        _ => Ok(()),
    }
}

/// Reads the share of reads in percent from `op` and `read_percent`; fails if they do not go together.
fn read_percent(keys: &DiskKeys) -> Result<u32, Failure> {
    match (keys.op.as_str(), keys.read_percent) {
        ("mixed", Some(percent)) => Ok(percent),
        ("mixed", None) => Err(refuse_keys("`op` is `mixed`, and nothing says how", "set `read_percent`, as to 70")),
        (_, Some(_)) => Err(refuse_keys("`read_percent` is set, and `op` is not `mixed`", "set `op = \"mixed\"`")),
        ("write", None) => Ok(0),
        (_, None) => Ok(100),
    }
}

/// Reads from the keys in which order blocks are accessed; fails if `stride` keys are set for another pattern.
fn access_pattern(keys: &DiskKeys) -> Result<AccessPattern, Failure> {
    let (blocks, rows) = (keys.stride_blocks, keys.stride_rows);
    if keys.pattern != "stride" && (blocks.is_some() || rows.is_some()) {
        return Err(refuse_keys("`stride` is set, and `pattern` is not `stride`", "set `pattern = \"stride\"`"));
    }
    Ok(match keys.pattern.as_str() {
        "sequential" => AccessPattern::Sequential,
        "sequential-own" => AccessPattern::SequentialOwn,
        "sequential-split" => AccessPattern::SequentialSplit,
        "stride" => AccessPattern::Stride { blocks: blocks.unwrap_or(64), rows },
        _ => AccessPattern::Random,
    })
}

/// Reads from the keys how files lie on the volume; fails if pieces are set for a fresh file.
fn file_layout(keys: &DiskKeys) -> Result<FileLayout, Failure> {
    if keys.layout.as_deref() == Some("fragmented") {
        let kb = keys.fragment_kb.unwrap_or(DEFAULT_FRAGMENT_KB);
        if !kb.is_multiple_of(4) {
            return Err(refuse_keys(format!("pieces of {kb} KiB cannot be had"), "write a multiple of 4"));
        }
        return Ok(FileLayout::Fragmented { piece_bytes: kb * KIB });
    }
    match keys.fragment_kb {
        Some(_) => Err(refuse_keys("`fragment_kb` is set, and the file is fresh", "set `layout = \"fragmented\"`")),
        None => Ok(FileLayout::Fresh),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetPart<'a> {
    pub name: &'a str,
    pub threads: Option<u32>,
    /// Overrides `size_mb`.
    pub size_mb: Option<u64>,
}

/// Splits the `targets` key into files with their threads and sizes, such as `a.dat`, `a.dat@4` or `a.dat@4:5000`.
///
/// An `@` without number is part of the name.
pub fn split_targets(written: &str) -> impl Iterator<Item = TargetPart<'_>> {
    written.split(',').map(str::trim).map(|part| {
        let own = part.rsplit_once('@').and_then(|(name, own)| {
            let (threads, size_mb) = match own.split_once(':') {
                None => (own, None),
                Some((threads, mb)) => (threads, Some(mb.parse().ok()?)),
            };
            Some(TargetPart { name, threads: Some(threads.parse().ok()?), size_mb })
        });
        own.unwrap_or(TargetPart { name: part, threads: None, size_mb: None })
    })
}

/// Reads the files to work on, and how many threads each has, from the `targets` key; fails if only some have threads.
fn files_and_pools(written: Option<&str>, file: &DataFile, threads: u32) -> Result<(Vec<DataFile>, Pools), Failure> {
    let Some(written) = written else { return Ok((vec![file.clone()], Pools::OnAll(threads))) };
    let mut files = Vec::new();
    let mut pools = Vec::new();
    for part in split_targets(written) {
        if part.name.is_empty() {
            return Err(refuse_keys(format!("`{written}` names no file between two commas"), "write `a.dat, b.dat`"));
        }
        if let Some(mb) = part.size_mb.filter(|mb| !(1..=MOST_MB).contains(mb)) {
            let cause = format!("`{written}`: {} cannot have {mb} MiB", part.name);
            return Err(refuse_keys(cause, "write 1 to 1000000000, as in `a.dat@4:5000`"));
        }
        if let Some(count) = part.threads.filter(|count| !(1..=256).contains(count)) {
            let cause = format!("`{written}`: {} cannot have {count} threads", part.name);
            return Err(refuse_keys(cause, "write 1 to 256, as in `a.dat@4`"));
        }
        pools.extend(part.threads);
        let size_bytes = part.size_mb.map(|mb| mb * MIB).or(file.size_bytes);
        files.push(DataFile { name: Some(part.name.to_owned()), size_bytes, ..file.clone() });
    }
    match pools.len() {
        0 => Ok((files, Pools::OnAll(threads))),
        count if count == files.len() => Ok((files, Pools::ByFile(pools))),
        _ => {
            let cause = format!("`{written}` gives threads to some of the files only");
            Err(refuse_keys(cause, "give each of them 1 to 256, as in `a.dat@4, b.dat@1`, or none"))
        }
    }
}

/// Reads which processors threads are bound to: masks like SQLIO's, decimal or hexadecimal, or a word.
fn thread_affinity(written: Option<&str>, pools: &Pools) -> Result<ThreadAffinity, Failure> {
    let Some(written) = written else { return Ok(ThreadAffinity::Free) };
    let mask = |text: &str| processors_of_mask(text.trim(), written);
    if let Some(rest) = written.trim().strip_prefix("spread") {
        return match rest.trim() {
            "" => Ok(ThreadAffinity::Spread),
            rest => mask(rest)
                .map(|cores| if cores.is_empty() { ThreadAffinity::Spread } else { ThreadAffinity::InTurn(cores) }),
        };
    }
    let mut masks = written.split(',').map(mask).collect::<Result<Vec<_>, _>>()?;
    match (masks.len(), pools) {
        (1, _) => match masks.swap_remove(0) {
            // SQLIO's "any processor".
            cores if cores.is_empty() => Ok(ThreadAffinity::Free),
            cores => Ok(ThreadAffinity::Among(cores)),
        },
        (count, Pools::ByFile(threads)) if count == threads.len() => Ok(ThreadAffinity::ByPool(masks)),
        (count, _) => {
            let cause =
                format!("`affinity = \"{written}\"` holds {count} masks, and not as many files have own threads");
            Err(refuse_keys(cause, "write one mask, or one for each of `targets = \"a.dat@4, b.dat@1\"`"))
        }
    }
}

/// Lists the numbers of the processors whose bits a decimal or hexadecimal mask sets; fails if it is no number.
fn processors_of_mask(text: &str, written: &str) -> Result<Vec<usize>, Failure> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let mask = match digits {
        Some(digits) => u128::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match mask {
        Ok(mask) => Ok((0..128).filter(|core| mask >> core & 1 == 1).collect()),
        Err(_) => Err(refuse_keys(
            format!("`affinity = \"{written}\"`: `{text}` is no mask"),
            "write `0x3`, `spread 0x3` or `spread`",
        )),
    }
}

/// Size in bytes that a file is made with: the plan's, else 1 GiB, or more if the load reaches farther.
pub fn size_to_make(file: &DataFile) -> u64 {
    file.size_bytes.unwrap_or((DEFAULT_SIZE_MB * MIB).max(file.reach_bytes))
}
