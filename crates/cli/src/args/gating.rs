//! What passes and what fails.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Comparing, heading};

/// `etalon gate`.
#[derive(Args, Clone, Debug)]
pub struct GateArgs {
    /// The experiment's store, or `last`; with `--baseline` that of the candidate, as STORE or STORE:SYSTEM
    pub store: String,
    /// Earlier experiment to compare the candidate with, as STORE or STORE:SYSTEM
    ///
    /// The answer includes whatever changed between the two
    #[arg(long, value_name = "STORE", help_heading = heading::SYSTEMS)]
    pub baseline: Option<String>,
    /// History to judge the store by: the gate fails where its newest point is an alarm for the worse
    ///
    /// `etalon history` makes it; the store need not have been added
    #[arg(
        long, value_name = "FILE", conflicts_with_all = [
            "baseline", "limit", "max_regression", "min_rows", "inconclusive", "margin", "level", "estimator", "metrics",
            "cols", "rows", "by", "allow_unequal_durability", "allow_sequential_order", "allow_different_rows",
        ],
        help_heading = heading::COMPARISON
    )]
    pub history: Option<PathBuf>,
    /// How
    #[command(flatten)]
    pub comparing: Comparing,
    /// Fail on a regression beyond this, such as `5%` [default: the plan's margin]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = heading::COMPARISON)]
    pub max_regression: Option<String>,
    /// Fail where a metric is beyond this, whatever the baseline is, such as `p99 <= 20ms`
    ///
    /// METRIC or BENCHMARK/METRIC, `<=` or `>=`, and a value with its unit. One system is enough; with two the candidate has to
    /// keep it. The limit is held where a one-sided interval of the runs lies within it, and broken where it lies beyond
    #[arg(long, value_name = "LIMIT", help_heading = heading::COMPARISON)]
    pub limit: Vec<String>,
    /// What a row does that the runs leave undecided
    #[arg(long, value_name = "WHAT", default_value = "fail-limits", help_heading = heading::COMPARISON)]
    pub inconclusive: OnInconclusive,
    /// Fewest compared rows with which the gate passes [default: all rows of the plan]
    #[arg(long, value_name = "N", help_heading = heading::COMPARISON)]
    pub min_rows: Option<usize>,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = heading::OUTPUT)]
    pub format: GateFormat,
}

/// What an inconclusive row does to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnInconclusive {
    /// It passes, but for a `--limit` that is not kept for sure, which ends with exit code 4
    FailLimits,
    /// It passes, with exit code 0, and is listed
    Pass,
    /// It ends with exit code 4
    Fail,
}

/// How a gate says its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// Lines of text
    Text,
    /// Annotations of GitHub Actions
    Github,
    /// JUnit XML
    Junit,
    /// Markdown
    Markdown,
}
