//! SQLIO: Microsoft's disk load generator of 1999 to 2015, whose output DBAs have kept.
//!
//! Facts about it come from the readme of version 1.5 and from outputs that were published between 2007 and 2015.

mod batch;
mod command;
mod import;
mod options;
mod output;
mod params;
mod read;

use std::fmt;

pub use batch::{BatchRun, Problem, Redirect, RedirectMode, Script, parse_script, split_words};
pub use command::{Affinity, Command, CpuKind, Initiation, LatencyTimer, Pool, Spread, Timing, Utilisation};
pub use import::{READER, group_name, import_output, little_latency_ms};
pub use options::parse_command;
pub use output::{
    InitiationUs, LatencyCounts, LatencyMs, PoolLine, Report, SizeLine, SizeOrigin, SqlioMeasured, Wording,
};
pub use params::{ParamLine, parse_params};
pub use read::{Ending, SqlioOutput, SqlioRun, read_output};

/// Most threads.
pub const MAX_THREADS: u32 = 256;
pub const MAX_FILES: usize = 256;
pub const MAX_NAME: usize = 256;
/// Columns of the histogram: 0 to 23 ms, and 24 ms and more.
pub const BUCKETS: usize = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `-kR`.
    Read,
    /// `-kW`.
    Write,
}

impl Op {
    /// The operation's letter on the command line.
    pub fn letter(self) -> char {
        match self {
            Op::Read => 'R',
            Op::Write => 'W',
        }
    }

    /// The operation's word, `read` or `write`: the value of the key `op`.
    pub fn as_str(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
        }
    }
}

/// Which block comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `-frandom`: any block of the file, with replacement.
    Random,
    /// `-fsequential`: the block after the last one of that file; the first follows the last.
    Sequential,
    /// `-fN`: N blocks further, in runs.
    Stride(u32),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Random => f.pad("random"),
            Pattern::Sequential => f.pad("sequential"),
            Pattern::Stride(blocks) => write!(f, "stride {blocks}"),
        }
    }
}

/// Which caches the files are opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// `-BN`, the default: no buffering, write through.
    None,
    /// `-BH`: no buffering; the drive's cache may be used.
    Hardware,
    /// `-BS`: write through; the file cache may be used.
    Software,
    /// `-BY`: both caches.
    All,
}

impl Buffering {
    /// The cache mode's letter behind `-B`.
    pub fn letter(self) -> char {
        match self {
            Buffering::None => 'N',
            Buffering::Hardware => 'H',
            Buffering::Software => 'S',
            Buffering::All => 'Y',
        }
    }

    /// The name of the cache mode: the value of the key `cache`.
    pub fn as_str(self) -> &'static str {
        match self {
            Buffering::None => "none",
            Buffering::Hardware => "hw",
            Buffering::Software => "fs",
            Buffering::All => "all",
        }
    }
}

/// Two decimals, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hundredths(pub u64);

impl Hundredths {
    /// Converts to an `f64`, as near as it can be.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / 100.0
    }

    /// Parses a number with at most two decimals.
    pub fn parse(text: &str) -> Option<Hundredths> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        if !are_digits(whole) || !are_digits(fraction) || fraction.len() > 2 {
            return None;
        }
        let fraction: u64 = format!("{fraction:0<2}").parse().ok()?;
        Some(Hundredths(whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(fraction)?))
    }
}

/// Tests whether a text has nothing but digits.
fn are_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:02}", self.0 / 100, self.0 % 100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundredths_are_exact() {
        for (text, figure) in [("421.88", 42_188), ("421.9", 42_190), ("421", 42_100), ("0.05", 5)] {
            assert_eq!(Hundredths::parse(text), Some(Hundredths(figure)), "{text}");
        }
        for wrong in ["", ".5", "5.", "1,5", "1.234", "-1", "99999999999999999999"] {
            assert_eq!(Hundredths::parse(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{:>9}", Hundredths(42_188)), "   421.88");
    }
}
