//! How an experiment is carried out, whatever it asks.

use std::path::PathBuf;

use clap::Args;

use super::{Loading, ResultFormat, heading};

/// `etalon resume`.
#[derive(Args, Clone, Debug)]
pub struct ResumeArgs {
    /// The experiment's store
    pub store: PathBuf,
    /// Run only what has no result yet
    ///
    /// Without it a round that stopped half-way is run again as a whole, so that what is compared was measured together; its
    /// earlier runs stay in the store, and no longer count once they are repeated
    #[arg(long, help_heading = heading::SCHEDULE)]
    pub only_pending: bool,
    /// Only undo the change that an étalon that was killed has left in a server
    #[arg(long, help_heading = heading::SAFETY)]
    pub undo_only: bool,
    /// Change what may change: `schedule.max_time` of a range of rounds, or `schedule.on_error`
    ///
    /// It holds for what is still to be run. Whatever would change the runs themselves takes another experiment
    #[arg(long, value_name = "KEY=VALUE", help_heading = heading::SCHEDULE)]
    pub set: Vec<String>,
    #[command(flatten)]
    pub conduct: Conduct,
}

/// `etalon extend`.
#[derive(Args, Clone, Debug)]
pub struct ExtendArgs {
    /// The store of an experiment that has ended
    pub store: PathBuf,
    /// Add this many rounds, whatever `schedule.max_time` says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = heading::SCHEDULE)]
    pub rounds: Option<u32>,
    /// Add rounds until every row is decided, at most 100; the default
    #[arg(long, conflicts_with = "rounds", help_heading = heading::SCHEDULE)]
    pub until_sure: bool,
    /// Change what may change: `schedule.rounds` (in all), `schedule.max_time` (of the rounds that are added), or
    /// `schedule.on_error`
    #[arg(long, value_name = "KEY=VALUE", help_heading = heading::SCHEDULE)]
    pub set: Vec<String>,
    #[command(flatten)]
    pub conduct: Conduct,
}

/// `etalon watch`.
#[derive(Args, Clone, Debug)]
pub struct WatchArgs {
    /// The experiment's store, or a folder, of which the store that was written last is taken
    #[arg(default_value = "etalon-results")]
    pub store: PathBuf,
}

/// How an experiment is carried out.
#[derive(Args, Clone, Debug)]
pub struct Conduct {
    /// Drop tables in the way that étalon did not make
    #[arg(long, help_heading = heading::SAFETY)]
    pub yes: bool,
    /// Write what became of each of a load's `tasks`, a file for each run and process
    #[arg(long, value_name = "DIR", help_heading = heading::OUTPUT, hide_short_help = true)]
    pub task_log: Option<PathBuf>,
    /// How the load is made
    #[command(flatten)]
    pub loading: Loading,
    /// How to print the results
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "json",
        help_heading = heading::OUTPUT,
        hide_short_help = true
    )]
    pub format: ResultFormat,
}
