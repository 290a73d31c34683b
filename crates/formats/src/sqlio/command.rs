//! What a command line asks for.

use crate::FormatError;

use super::{Buffering, MAX_FILES, MAX_NAME, MAX_THREADS, Op, ParamLine, Pattern};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// `-k`.
    pub op: Op,
    pub threads: u32,
    pub seconds: u32,
    /// `-f`.
    pub pattern: Pattern,
    pub block_kb: u32,
    /// I/Os of a run; ignored by random and sequential patterns.
    pub ios_per_run: u32,
    /// The I/Os in flight per thread and file; `None` waits for each I/O.
    pub outstanding: Option<u32>,
    /// `None` means [`Buffering::None`] without a printed line.
    pub buffering: Option<Buffering>,
    /// `-L`.
    pub latency: Option<LatencyTimer>,
    /// `-U`.
    pub utilisation: Option<Utilisation>,
    /// `-p` or `-a`.
    pub affinity: Affinity,
    /// First block of I/O.
    pub start_block: u64,
    /// `-F`.
    pub param_file: Option<String>,
    pub files: Vec<String>,
    /// Options without effect here, as sentences.
    pub warnings: Vec<String>,
}

impl Default for Command {
    /// The command without options: `-kR -t1 -s30 -f64 -b2 -i64 -BN testfile.dat`.
    fn default() -> Command {
        Command {
            op: Op::Read,
            threads: 1,
            seconds: 30,
            pattern: Pattern::Stride(64),
            block_kb: 2,
            ios_per_run: 64,
            outstanding: None,
            buffering: None,
            latency: None,
            utilisation: None,
            affinity: Affinity::None,
            start_block: 0,
            param_file: None,
            files: vec![DEFAULT_FILE.to_owned()],
            warnings: Vec::new(),
        }
    }
}

/// The file when none is named.
pub(super) const DEFAULT_FILE: &str = "testfile.dat";

/// `-L`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyTimer {
    pub timer: Timing,
    /// Whether the call that starts an I/O is timed.
    pub initiation: Initiation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// `S`: the system's.
    System,
    /// `P`: the processor's.
    Processor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initiation {
    Untimed,
    Timed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utilisation {
    Total,
    PerProcessor,
}

/// How the affinity binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuKind {
    Hard,
    /// `I`: a preference.
    Ideal,
}

/// How threads share a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Each thread on all of them.
    Together,
    /// `R`: one after the other.
    RoundRobin(CpuKind),
}

/// `-p` or `-a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    None,
    /// `-p`: all threads on one processor, numbered from 0.
    Cpu {
        cpu: u32,
        kind: CpuKind,
    },
    /// `-a`: a mask of processors.
    Mask {
        mask: u64,
        spread: Spread,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub files: Vec<String>,
    pub threads: u32,
    /// 0 for any processor.
    pub mask: u64,
    /// The size in MiB; `None` for the current size.
    pub size_mb: Option<u64>,
}

impl Command {
    /// Gives the caches that are used, none unless the command says otherwise.
    pub fn cache(&self) -> Buffering {
        self.buffering.unwrap_or(Buffering::None)
    }

    /// Makes the pools of threads: one for each line of the parameter file, else one for all files.
    ///
    /// # Errors
    /// A parameter file is named but missing or empty, there are more threads or files than SQLIO takes, or a stride
    /// does not fit the threads.
    pub fn thread_pools(&self, params: Option<&[ParamLine]>) -> Result<Vec<Pool>, FormatError> {
        let pools = match (&self.param_file, params) {
            (Some(path), None | Some([])) => {
                return Err(FormatError::of_whole(format!("the parameter file {path} names no file")));
            }
            (Some(_), Some(lines)) => lines.iter().map(pool_of_line).collect(),
            (None, _) => vec![Pool { files: self.files.clone(), threads: self.threads, mask: 0, size_mb: None }],
        };
        self.check_pools(&pools)?;
        Ok(pools)
    }

    /// Fails if SQLIO does not take the threads, files, names or sizes of these pools.
    fn check_pools(&self, pools: &[Pool]) -> Result<(), FormatError> {
        let threads: u64 = pools.iter().map(|pool| u64::from(pool.threads)).sum();
        if threads > u64::from(MAX_THREADS) {
            return Err(FormatError::of_whole(format!("{threads} threads: SQLIO has at most {MAX_THREADS}")));
        }
        let files: usize = pools.iter().map(|pool| pool.files.len()).sum();
        if files > MAX_FILES {
            return Err(FormatError::of_whole(format!("{files} files: SQLIO takes at most {MAX_FILES}")));
        }
        if let Some(name) = pools.iter().flat_map(|pool| &pool.files).find(|name| name.chars().count() > MAX_NAME) {
            let what = format!("a name of {} characters: SQLIO takes at most {MAX_NAME}", name.chars().count());
            return Err(FormatError::of_whole(what));
        }
        match self.pattern {
            Pattern::Stride(blocks) if pools.iter().any(|pool| pool.threads > blocks) => {
                let what = format!("-f{blocks} with more than {blocks} threads: threads share the blocks of a stripe");
                Err(FormatError::of_whole(what).with_hint("fewer threads, a larger -f, or -fsequential"))
            }
            Pattern::Stride(_) if pools.iter().any(|pool| pool.size_mb.is_some()) => {
                let what = "a size in the parameter file counts only with -frandom and -fsequential";
                Err(FormatError::of_whole(what).with_hint("add -frandom or -fsequential, or leave the size out"))
            }
            _ => Ok(()),
        }
    }
}

/// Makes the pool of a line of the parameter file.
fn pool_of_line(line: &ParamLine) -> Pool {
    Pool { files: vec![line.file.clone()], threads: line.threads, mask: line.mask, size_mb: line.size_mb }
}
