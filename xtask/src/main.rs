//! `cargo xtask`: the project's own chores, one file per verb.
//!
//! Nothing here is shipped. `cargo xtask test` is the whole test command, for people and for CI.
//! Exit codes: 0 done, 1 something to fix, 2 the command line, 3 could not run.
#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "a tool for developers talks to the terminal directly")]

mod bench;
mod docs;
mod fuzz;
mod releases;
mod requirements;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// The chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Everything that must hold before a commit: requirements, format, lints, tidy, tests, docs.
    Test {
        /// Run the rest too after a step has failed.
        #[arg(long)]
        keep_going: bool,
        /// Also run the tests that take minutes.
        #[arg(long)]
        slow: bool,
    },
    /// Check the rules about sources that the compiler does not know.
    Tidy,
    /// Execute the transcripts in README.md and docs/.
    Docs {
        /// Write output that differs into the documents.
        #[arg(long)]
        bless: bool,
        /// Only these documents.
        documents: Vec<PathBuf>,
    },
    /// Feed every reader of foreign bytes with what nobody would write; see `fuzz/`.
    Fuzz {
        /// How long each target runs, in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Only these targets.
        targets: Vec<String>,
    },
    /// Measure étalon beside its peers, and write that part of docs/performance.md.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn run(verb: Verb) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in no workspace")?;
    match verb {
        Verb::Test { keep_going, slow } => {
            let on_failure = match keep_going {
                true => test::OnFailure::KeepGoing,
                false => test::OnFailure::Stop,
            };
            let extent = match slow {
                true => test::Extent::Slow,
                false => test::Extent::Usual,
            };
            test::run(root, on_failure, extent)
        }
        Verb::Tidy => tidy::run(root),
        Verb::Docs { bless, documents } => {
            let difference = match bless {
                true => docs::Difference::Bless,
                false => docs::Difference::Fail,
            };
            docs::run(root, &documents, difference, docs::Binary::Build)
        }
        Verb::Fuzz { seconds, targets } => fuzz::run(root, &targets, seconds),
        Verb::Bench(options) => bench::run(root, &options),
    }
}
