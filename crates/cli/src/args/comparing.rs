//! How results are compared.

use clap::Args;

use super::heading;

/// How to compare.
#[derive(Args, Clone, Debug)]
pub struct Comparing {
    /// Half width of the zone of equivalence, such as `3%`
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = heading::COMPARISON)]
    pub margin: Option<String>,
    /// Level of the intervals, such as `95%`
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = heading::COMPARISON)]
    pub level: Option<String>,
    /// How the columns A and B sum up the runs: mean, trimmed, median or best
    #[arg(long, value_name = "NAME", help_heading = heading::COMPARISON)]
    pub estimator: Option<String>,
    /// Metrics to show: names separated by commas, or `all`
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub metrics: Vec<String>,
    /// Compare the values of these keys instead of the systems
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub cols: Vec<String>,
    /// Keys that tell rows apart
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub rows: Vec<String>,
    /// Keys that tell tables apart
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub by: Vec<String>,
    /// What is compared although it differs
    #[command(flatten)]
    pub allowing: Allowing,
}

/// Verdicts that are refused otherwise.
#[derive(Args, Clone, Debug, Default)]
pub struct Allowing {
    /// Compare systems that promise different things at commit; the output says so
    #[arg(long, help_heading = heading::SAFETY, hide_short_help = true)]
    pub allow_unequal_durability: bool,
    /// Compare sides that ran one after the other; the output says so
    #[arg(long, help_heading = heading::SAFETY, hide_short_help = true)]
    pub allow_sequential_order: bool,
    /// Compare systems that did different work; the output says so
    ///
    /// Their transactions returned or changed different numbers of rows, or their disk operations reached different spans
    #[arg(long, help_heading = heading::SAFETY, hide_short_help = true)]
    pub allow_different_rows: bool,
}
