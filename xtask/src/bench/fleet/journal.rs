//! The raw results: what étalon's stores said, a line each.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use stats::{Pairs, Sample, TrialValue, paired};

use super::super::origin::Origin;
use super::super::raw;
use super::super::record::Failure;

/// What all lines have in common.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// The run.
    #[serde(flatten)]
    pub origin: Origin,
    /// Settings of PostgreSQL.
    pub settings: Vec<String>,
}

/// What a metric was in a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Of which cell, as [`entry`] names it.
    pub entry: String,
    /// From 1.
    pub block: u32,
    /// The metric.
    pub metric: String,
    /// Its value, in the metric's unit.
    pub value: f64,
    /// Whether the server's own count of the trial was held against the clients'.
    pub is_counted: bool,
}

/// A verdict of étalon's comparison: the system by the agent against the direct one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judged {
    /// The benchmark.
    pub benchmark: String,
    /// The metric.
    pub metric: String,
    /// The verdict, if there is one.
    pub verdict: Option<String>,
    /// Why there is none.
    pub no_verdict: Option<String>,
    /// By the agent over direct.
    pub ratio: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Blocks with both sides.
    pub blocks: u32,
    /// Blocks that would settle it.
    pub blocks_needed: Option<u32>,
}

/// Histograms of many hosts, merged, beside those of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Merged {
    /// From 1.
    pub block: u32,
    /// How many hosts had a part.
    pub hosts: usize,
    /// Values in the merged histogram.
    pub values: u64,
    /// Whether both histograms are the same.
    pub is_identical: bool,
}

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first.
    Header(Box<Header>),
    /// A metric of a trial.
    Figure(Figure),
    /// A verdict.
    Judged(Judged),
    /// A comparison of histograms.
    Merged(Merged),
    /// A plan or a trial that failed.
    Failed(Failure),
}

/// All lines but the header.
#[derive(Default)]
pub struct Journal {
    /// Metrics.
    pub figures: Vec<Figure>,
    /// Verdicts.
    pub judged: Vec<Judged>,
    /// Comparisons of histograms.
    pub merged: Vec<Merged>,
    /// What failed.
    pub failures: Vec<Failure>,
}

/// The name of a cell.
pub fn entry(plan: &str, benchmark: &str, system: &str) -> String {
    format!("{plan}/{benchmark}/{system}")
}

impl Journal {
    /// Takes a line in.
    pub fn take(&mut self, line: Line) {
        match line {
            Line::Header(_) => {}
            Line::Figure(figure) => self.figures.push(figure),
            Line::Judged(judged) => self.judged.push(judged),
            Line::Merged(merged) => self.merged.push(merged),
            Line::Failed(failure) => self.failures.push(failure),
        }
    }

    /// The trials' figures of a metric.
    pub fn of<'j>(&'j self, entry: &'j str, metric: &'j str) -> impl Iterator<Item = &'j Figure> {
        self.figures.iter().filter(move |figure| figure.entry == entry && figure.metric == metric)
    }

    /// One value for each block.
    pub fn sample(&self, entry: &str, metric: &str) -> Sample {
        let values = self.of(entry, metric);
        Sample::from_trials(values.map(|figure| TrialValue { block: figure.block, value: figure.value }))
    }

    /// Two cells block by block.
    pub fn pairs(&self, a: &str, b: &str, metric: &str) -> Pairs {
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
        match line {
            Line::Header(read) => header = *read,
            other => journal.take(other),
        }
    }
    Ok((header, journal))
}
