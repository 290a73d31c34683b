//! Arguments of `etalon queries`.

use std::path::PathBuf;

use clap::Args;

/// `etalon queries`.
#[derive(Args, Clone, Debug)]
pub struct QueriesArgs {
    /// The server's URL, with the database whose queries are meant
    #[arg(value_name = "URL")]
    pub url: String,
    /// The folder to write: a new or an empty one
    #[arg(long, short, value_name = "DIR", default_value = "sql")]
    pub output: PathBuf,
    /// The number of queries, those that took most time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub top: u16,
}
