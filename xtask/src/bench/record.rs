//! The raw results: what the tools said and what was measured from outside, a line each.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use stats::{Pairs, Sample, TrialValue, paired};

use super::origin::Origin;
use super::raw;

/// What all runs have in common.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// The run.
    #[serde(flatten)]
    pub origin: Origin,
    /// What is missing, and what it would have measured.
    pub missing: Vec<String>,
    /// Rates of the runs before the blocks, by entry without its threads: threads, then the rates.
    pub searched: BTreeMap<String, Vec<(u32, Vec<f64>)>>,
    /// Threads of each entry.
    pub threads: BTreeMap<String, u32>,
    /// Entries that another stands for, since both would be the same command.
    pub same_as: BTreeMap<String, String>,
    /// CPU time that étalon needs for a run of almost no length.
    pub start_up_cpu_s: Option<f64>,
    /// What the latency test printed: what was measured, what came out, the bar.
    pub truth: Vec<String>,
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observation {
    /// The entry.
    pub key: String,
    /// From 1.
    pub block: u32,
    /// Selects a second, as the tool says.
    pub rate_per_s: f64,
    /// Selects, as the server counted them; as the tool says where there is no server.
    pub selects: f64,
    /// CPU time of the client for one select, in microseconds.
    pub cpu_us: f64,
    /// CPU time of the server for one select, in microseconds.
    pub server_cpu_us: Option<f64>,
    /// Share of all processors that others used.
    pub foreign_share: Option<f64>,
    /// The most memory that the client had resident.
    pub peak_rss_bytes: Option<u64>,
}

/// A run that gave nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The entry.
    pub key: String,
    /// From 1; 0 before the blocks.
    pub block: u32,
    /// Why.
    pub reason: String,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first.
    Header(Box<Header>),
    /// A run.
    Run(Observation),
    /// A run that failed.
    Failed(Failure),
}

/// What one run is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Selects a second.
    Rate,
    /// Client CPU time for a select.
    Cpu,
    /// Peak memory.
    Memory,
}

/// All runs.
#[derive(Default)]
pub struct Journal {
    /// Those that were measured.
    pub runs: Vec<Observation>,
    /// Those that failed.
    pub failures: Vec<Failure>,
    same_as: BTreeMap<String, String>,
}

impl Journal {
    /// Takes a line in.
    pub fn take(&mut self, line: Line) {
        match line {
            Line::Header(header) => self.same_as = header.same_as,
            Line::Run(run) => self.runs.push(run),
            Line::Failed(failure) => self.failures.push(failure),
        }
    }

    /// The runs of an entry, or of the one that stands for it.
    pub fn of(&self, key: &str) -> Vec<&Observation> {
        let key = self.same_as.get(key).map_or(key, String::as_str);
        self.runs.iter().filter(|run| run.key == key).collect()
    }

    /// One value for each block.
    pub fn sample(&self, key: &str, metric: Metric) -> Sample {
        Sample::from_trials(self.of(key).into_iter().filter_map(|run| {
            let value = match metric {
                Metric::Rate => Some(run.rate_per_s),
                Metric::Cpu => Some(run.cpu_us),
                Metric::Memory => run.peak_rss_bytes.map(|bytes| bytes as f64),
            };
            value.map(|value| TrialValue { block: run.block, value })
        }))
    }

    /// Two entries block by block.
    pub fn pairs(&self, a: &str, b: &str, metric: Metric) -> Pairs {
        paired(&self.sample(a, metric), &self.sample(b, metric))
    }
}

/// Reads the file again.
///
/// # Errors
/// It cannot be read, or a line is not what it should be.
pub fn read(path: &Path) -> Result<(Header, Journal)> {
    let (mut header, mut journal) = (Header::default(), Journal::default());
    for line in raw::read(path)? {
        if let Line::Header(read) = &line {
            header = (**read).clone();
        }
        journal.take(line);
    }
    Ok((header, journal))
}

#[cfg(test)]
pub mod tests {
    use super::super::raw::Raw;
    use super::*;

    /// A run with a rate, a cost, and a memory of 16 MB.
    pub fn run(key: &str, block: u32, rate_per_s: f64, cpu_us: f64) -> Observation {
        Observation {
            key: key.to_owned(),
            block,
            rate_per_s,
            selects: rate_per_s,
            cpu_us,
            server_cpu_us: None,
            foreign_share: Some(0.01),
            peak_rss_bytes: Some(16 << 20),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/raw.jsonl");
        let same_as = BTreeMap::from([("x/best".to_owned(), "x/one-thread".to_owned())]);
        let origin = Origin { blocks: 6, ..Origin::default() };
        let header = Header { origin, same_as, ..Header::default() };
        let mut raw = Raw::create(path.clone()).unwrap();
        raw.keep(&Line::Header(Box::new(header))).unwrap();
        for block in 1..=2 {
            raw.keep(&Line::Run(run("x/one-thread", block, 100.0 * f64::from(block), 2.0))).unwrap();
        }
        let failure = Failure { key: "y".to_owned(), block: 1, reason: "gone".to_owned() };
        raw.keep(&Line::Failed(failure)).unwrap();
        let (header, again) = read(&path).unwrap();
        assert_eq!((header.origin.blocks, again.runs.len(), again.failures.len()), (6, 2, 1));
        assert_eq!(again.sample("x/best", Metric::Rate).values(), [100.0, 200.0]);
        assert_eq!(again.pairs("x/best", "x/one-thread", Metric::Cpu).n(), 2);
    }
}
