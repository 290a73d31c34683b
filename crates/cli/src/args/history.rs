//! What a history is asked.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::heading;

/// `etalon history`.
#[derive(Args, Clone, Debug)]
pub struct HistoryArgs {
    /// What to do; `show` when not given
    #[command(subcommand)]
    pub action: Option<HistoryAction>,
    /// The history's file
    #[arg(long, global = true, value_name = "FILE", default_value = "etalon-history.db", help_heading = heading::OUTPUT)]
    pub history: PathBuf,
}

/// What to do with a history.
#[derive(Subcommand, Clone, Debug)]
pub enum HistoryAction {
    /// Add a point for each row of experiments that have ended
    ///
    /// What is there already stays as it is, unless it has more runs now
    Add(HistoryAddArgs),
    /// Say what moved, since when and by how much, and list all series
    Show,
    /// Write it in the form of a tool that keeps series of its own
    Export(HistoryExportArgs),
}

/// `etalon history add`.
#[derive(Args, Clone, Debug)]
pub struct HistoryAddArgs {
    /// Stores, or folders of them
    #[arg(value_name = "STORE", required = true)]
    pub stores: Vec<PathBuf>,
    /// The system that each experiment runs unchanged next to the others
    ///
    /// Points are ratios to it, so that what a machine does to both cancels. The history remembers the name
    #[arg(long, value_name = "SYSTEM", help_heading = heading::SYSTEMS)]
    pub anchor: Option<String>,
    /// The commit that was measured, for the experiments that are added
    #[arg(long, value_name = "TEXT", help_heading = heading::OUTPUT)]
    pub commit: Option<String>,
}

/// `etalon history export`.
#[derive(Args, Clone, Debug)]
pub struct HistoryExportArgs {
    /// What to write
    #[arg(long, value_name = "FORMAT", help_heading = heading::OUTPUT)]
    pub format: HistoryExportFormat,
    /// Write only rows of which higher, or lower, values are better
    #[arg(long, value_name = "WAY", help_heading = heading::OUTPUT)]
    pub better: Option<Better>,
    /// The file to write; stdout when not given, and with `-`
    #[arg(long, short, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, help_heading = heading::OUTPUT)]
    pub force: bool,
}

/// What an export of a history writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryExportFormat {
    /// CSV for Apache Otava: a line for each experiment, a column for each row
    Otava,
    /// JSON for github-action-benchmark's custom tools: the newest experiment
    GithubActionBenchmark,
    /// The Bencher Metric Format: the newest experiment
    Bencher,
    /// The text format of Prometheus: the newest experiment
    Prometheus,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Better {
    /// Higher values, for `customBiggerIsBetter`
    Higher,
    /// Lower values, for `customSmallerIsBetter`
    Lower,
}
