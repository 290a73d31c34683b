//! What is said of experiments beside what they ask.

use std::path::PathBuf;

use clap::Args;

use super::{Loading, ResultFormat};

/// `etalon resume`.
#[derive(Args, Clone, Debug)]
pub struct ResumeArgs {
    /// The experiment's store
    pub store: PathBuf,
    /// Run what has no result and nothing else. Without it a round that stopped half-way is run again whole, so that what
    /// is compared was measured together; its earlier runs stay in the store, and count no more once they are repeated
    #[arg(long)]
    pub only_pending: bool,
    #[command(flatten)]
    pub conduct: Conduct,
}

/// `etalon extend`.
#[derive(Args, Clone, Debug)]
pub struct ExtendArgs {
    /// The store of an experiment that has ended
    pub store: PathBuf,
    /// So many rounds more, all of them, whatever `max_time` says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Until every row is decided, 100 rounds more at most; the default
    #[arg(long, conflicts_with = "rounds")]
    pub until_sure: bool,
    #[command(flatten)]
    pub conduct: Conduct,
}

/// How an experiment is carried out.
#[derive(Args, Clone, Debug)]
pub struct Conduct {
    /// Let étalon drop tables in its way that it did not make
    #[arg(long)]
    pub yes: bool,
    /// Write what became of each task of a load that consists of `tasks`: a file for each run and process
    #[arg(long, value_name = "DIR")]
    pub task_log: Option<PathBuf>,
    /// How the load is made
    #[command(flatten)]
    pub loading: Loading,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub format: ResultFormat,
}
