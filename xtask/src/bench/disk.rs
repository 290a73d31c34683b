//! `cargo xtask bench disk`: étalon beside fio on one file, and both without a disk at all.
//!
//! Both run as whole processes, one after the other, at their best settings: io_uring with fixed buffers and registered
//! files, past the page cache. What is compared is what each says of itself, and the CPU time of the whole process as
//! the kernel gives it. The outcome is the part "Disk" of `docs/performance.md`.

mod document;
mod tools;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use clap::builder::ArgPredicate;
use host::blocks::Content;
use host::scratch::Scratch;
use serde::{Deserialize, Serialize};
use stats::{Pairs, Rng, Sample, TrialValue, paired};

use super::build::Build;
use super::origin::Origin;
use super::part::Part;
use super::raw::{self, Raw};
use super::record::Failure;
use super::{Extent, shuffle};
use crate::requirements::{self, FIO};
use tools::Runner;

/// Depths at which the tools are compared.
pub const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Depths without a disk.
pub const NULL_DEPTHS: [u32; 3] = [1, 8, 32];
/// The block, in KiB.
pub const BLOCK_KB: u32 = 8;
/// Where the raw results are kept.
const RESULTS: &str = "target/bench/disk.jsonl";
/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How much.
    #[command(flatten)]
    pub extent: Extent,
    /// Only what has this in its key, as `read/8`; the document goes to target/bench/.
    #[arg(long)]
    pub only: Option<String>,
    /// The folder in which the file is made: its disk is measured.
    #[arg(long, value_name = "DIR", default_value = "target")]
    pub target: PathBuf,
    /// Size of the file in MiB; a quick run has a small one.
    #[arg(long, default_value_t = 4096, default_value_if("quick", ArgPredicate::IsPresent, "64"))]
    pub size_mb: u64,
}

impl Options {
    fn command(&self) -> String {
        let Options { extent: Extent { blocks, seconds, seed, .. }, size_mb, .. } = self;
        let only = self.only.as_ref().map(|part| format!(" --only {part}")).unwrap_or_default();
        format!("cargo xtask bench disk --blocks {blocks} --seconds {seconds} --size-mb {size_mb} --seed {seed}{only}")
    }
}

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// The one under test.
    Etalon,
    /// The one that others are compared with.
    Fio,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// Random reads of the file.
    Read,
    /// Random writes of the file.
    Write,
    /// Nothing: every operation ends at once.
    Null,
}

/// One thing that is run in every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// By which tool.
    pub tool: Tool,
    /// What.
    pub op: Op,
    /// How many at a time.
    pub depth: u32,
}

impl Entry {
    /// Its name in the raw results, and for `--only`.
    pub fn key(self) -> String {
        let op = match self.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Null => "null",
        };
        let tool = if self.tool == Tool::Etalon { "etalon" } else { "fio" };
        format!("{op}/{}/{tool}", self.depth)
    }
}

/// Everything.
pub fn entries() -> Vec<Entry> {
    let of = |op: Op, depths: &'static [u32]| {
        depths.iter().flat_map(move |depth| [Tool::Etalon, Tool::Fio].map(|tool| Entry { tool, op, depth: *depth }))
    };
    of(Op::Read, &DEPTHS).chain(of(Op::Write, &DEPTHS)).chain(of(Op::Null, &NULL_DEPTHS)).collect()
}

/// What one run is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Operations a second.
    Iops,
    /// CPU time for an operation in the measured part, as the tool says of itself.
    OwnCpu,
    /// CPU time of the whole process for an operation, from its start to its end.
    Cpu,
    /// The median latency.
    P50,
    /// The 99th percentile of the latency.
    P99,
    /// Operations for a second of CPU time: what one core carries.
    PerCore,
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The entry.
    pub key: String,
    /// From 1.
    pub block: u32,
    /// Operations a second.
    pub iops: f64,
    /// CPU time for an operation as the tool says, in microseconds.
    pub own_cpu_us: Option<f64>,
    /// CPU time of the whole process for an operation, in microseconds.
    pub cpu_us: f64,
    /// Median latency, in microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile, in microseconds.
    pub p99_us: Option<f64>,
    /// Share of all processors that others used.
    pub foreign_share: Option<f64>,
}

/// What all runs have in common.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// The run.
    #[serde(flatten)]
    pub origin: Origin,
    /// Size of the file, in MiB.
    pub size_mb: u64,
    /// What is missing.
    pub missing: Vec<String>,
}

/// One line of the raw results.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Header(Box<Header>),
    Run(Run),
    Failed(Failure),
}

/// All runs.
#[derive(Default)]
pub struct Journal {
    /// Those that were measured.
    pub runs: Vec<Run>,
    /// Those that failed.
    pub failures: Vec<Failure>,
}

impl Journal {
    fn take(&mut self, line: Line) {
        match line {
            Line::Header(_) => {}
            Line::Run(run) => self.runs.push(run),
            Line::Failed(failure) => self.failures.push(failure),
        }
    }

    /// One value for each block.
    pub fn sample(&self, key: &str, metric: Metric) -> Sample {
        let of = |run: &Run| match metric {
            Metric::Iops => Some(run.iops),
            Metric::OwnCpu => run.own_cpu_us,
            Metric::Cpu => Some(run.cpu_us),
            Metric::P50 => run.p50_us,
            Metric::P99 => run.p99_us,
            Metric::PerCore => run.own_cpu_us.map(|us| 1e6 / us),
        };
        let runs = self.runs.iter().filter(|run| run.key == key);
        Sample::from_trials(runs.filter_map(|run| Some(TrialValue { block: run.block, value: of(run)? })))
    }

    /// Fio and étalon block by block.
    pub fn pairs(&self, op: Op, depth: u32, metric: Metric) -> Pairs {
        let of = |tool| self.sample(&Entry { tool, op, depth }.key(), metric);
        paired(&of(Tool::Fio), &of(Tool::Etalon))
    }
}

/// Measures, and writes the document's part. True unless a run failed.
///
/// # Errors
/// When étalon cannot be built, there is no fio, or a file cannot be written.
pub fn disk(root: &Path, options: &Options) -> Result<bool> {
    let extent = &options.extent;
    if let Some(results) = &extent.render {
        let (header, journal) = read(results)?;
        return conclude(root, &header, &journal);
    }
    let missing = requirements::ensure_optional(&[&FIO])?;
    let build = Build::make(root, &extent.profile)?;
    let scratch = Scratch::new("bench-disk", Some(&options.target)).context("making a folder for the bench")?;
    let file = scratch.path().join("blocks");
    eprintln!("making {} of {} MiB", file.display(), options.size_mb);
    make(&file, options.size_mb)?;
    let runner = Runner::new(&build, FIO.find(&["fio"]), &file, scratch.path());
    let mut origin = Origin::now(extent, options.only.as_deref(), options.command());
    origin.machine.extend(facts_under(&file));
    origin.versions = runner.versions(root);
    let header = Header { origin, size_mb: options.size_mb, missing };
    let journal = measure(root, &runner, options, &header)?;
    conclude(root, &header, &journal)
}

fn measure(root: &Path, runner: &Runner, options: &Options, header: &Header) -> Result<Journal> {
    let mut raw = Raw::create(root.join(RESULTS))?;
    raw.keep(&Line::Header(Box::new(header.clone())))?;
    let wanted = |entry: &Entry| options.only.as_deref().is_none_or(|part| entry.key().contains(part));
    let mut entries: Vec<Entry> = entries().into_iter().filter(wanted).collect();
    let Extent { blocks, seconds, seed, .. } = options.extent;
    let (mut journal, mut rng) = (Journal::default(), Rng::new(seed));
    for block in 1..=blocks {
        shuffle(&mut entries, &mut rng);
        for entry in &entries {
            let key = entry.key();
            let line = match runner.run(*entry, seconds) {
                Ok(run) => {
                    let own = run.own_cpu_us.unwrap_or(f64::NAN);
                    eprintln!("block {block}/{blocks} {key}: {:.0} IOPS, {own:.2} µs CPU", run.iops);
                    Line::Run(Run { block, ..run })
                }
                Err(error) => {
                    let failure = Failure { key, block, reason: format!("{error:#}") };
                    eprintln!("block {block}/{blocks}: {}: {}", failure.key, failure.reason);
                    Line::Failed(failure)
                }
            };
            raw.keep(&line)?;
            journal.take(line);
        }
    }
    eprintln!("raw results: {}", raw.path().display());
    Ok(journal)
}

fn read(path: &Path) -> Result<(Header, Journal)> {
    let (mut header, mut journal) = (Header::default(), Journal::default());
    for line in raw::read(path)? {
        match line {
            Line::Header(read) => header = *read,
            other => journal.take(other),
        }
    }
    Ok((header, journal))
}

fn conclude(root: &Path, header: &Header, journal: &Journal) -> Result<bool> {
    Part::Disk.write(root, &header.origin, &document::render(header, journal))?;
    Ok(journal.failures.is_empty())
}

/// A file of bytes that do not compress, all of them written.
fn make(path: &Path, size_mb: u64) -> Result<()> {
    let mut file = fs::File::create(path).with_context(|| format!("making {}", path.display()))?;
    let (mut content, mut chunk) = (Content::new(host::clock::now_ns()), vec![0; 1 << 20]);
    for _ in 0..size_mb {
        content.fill(&mut chunk);
        file.write_all(&chunk).with_context(|| format!("writing {}", path.display()))?;
    }
    file.sync_all().with_context(|| format!("syncing {}", path.display()))
}

/// What is under the file.
fn facts_under(file: &Path) -> Vec<(String, String)> {
    const NAMES: [&str; 6] = ["filesystem", "block_size", "device", "device.model", "device.media", "device.scheduler"];
    let facts = host::facts::path_facts(file);
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), facts.get(name)?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_all_entries_apart_and_every_one_has_its_peer() {
        let all = entries();
        let mut keys: Vec<String> = all.iter().map(|entry| entry.key()).collect();
        assert!(keys.contains(&"read/32/fio".to_owned()) && keys.contains(&"null/1/etalon".to_owned()));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
        for entry in &all {
            let peer = if entry.tool == Tool::Fio { Tool::Etalon } else { Tool::Fio };
            assert!(all.contains(&Entry { tool: peer, ..*entry }), "{entry:?}");
        }
    }

    #[test]
    fn a_file_has_its_size_and_does_not_compress() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks");
        make(&path, 2).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 2 << 20);
        let mut counts = [0_u32; 256];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (6_000..10_500).contains(count)), "{counts:?}");
    }
}
