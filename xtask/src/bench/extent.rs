//! How much is run.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;
use stats::MIN_BLOCKS;

/// The shortest run that a whole bench has, in seconds.
pub const SHORTEST_S: u32 = 3;

/// What every bench is told that writes the document.
#[derive(Args, Clone, Debug)]
pub struct Extent {
    /// How often everything is run; 6 are the fewest that are judged.
    #[arg(long, default_value_t = 10, default_value_if("quick", ArgPredicate::IsPresent, "2"))]
    pub blocks: u32,
    /// How long each run lasts, in seconds.
    #[arg(long, default_value_t = 5, default_value_if("quick", ArgPredicate::IsPresent, "1"))]
    pub seconds: u32,
    /// Two blocks of one second, if nothing else is said: shows that it works, and judges nothing.
    #[arg(long)]
    pub quick: bool,
    /// Cargo's profile for étalon.
    #[arg(long, default_value = "release")]
    pub profile: String,
    /// Seed of the order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only write the document again, from these raw results.
    #[arg(long, value_name = "FILE")]
    pub render: Option<PathBuf>,
}

impl Extent {
    /// Whether the outcome stands for what the document claims, if everything is run.
    pub fn is_whole(&self) -> bool {
        !self.quick && self.blocks >= MIN_BLOCKS && self.seconds >= SHORTEST_S && self.profile == "release"
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        extent: Extent,
    }

    fn extent(arguments: &str) -> Extent {
        Arguments::parse_from(["bench"].into_iter().chain(arguments.split_whitespace())).extent
    }

    #[test]
    fn a_partial_run_is_no_whole_one() {
        assert!(extent("").is_whole() && extent("--blocks 6 --seconds 3").is_whole());
        for partial in ["--blocks 5", "--seconds 2", "--profile dev", "--quick --blocks 6 --seconds 3"] {
            assert!(!extent(partial).is_whole(), "{partial}");
        }
    }

    #[test]
    fn a_quick_run_is_short() {
        let quick = extent("--quick");
        assert_eq!((quick.blocks, quick.seconds), (2, 1));
        assert_eq!((extent("").blocks, extent("").seconds), (10, 5));
    }
}
