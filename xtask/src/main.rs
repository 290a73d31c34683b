//! `cargo xtask`: the project's own chores, one file per verb.
//!
//! Nothing here is shipped. `cargo xtask test` is the whole test command, for people and for CI.
//! Exit codes: 0 done, 1 something to fix, 2 the command line, 3 could not run.
#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "a tool for developers talks to the terminal directly")]

mod bench;
mod docs;
mod requirements;
mod shots;
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
    /// Measure étalon beside its peers, and write docs/performance.md.
    Bench {
        #[command(subcommand)]
        what: BenchVerb,
    },
    /// Screenshots of an HTML report: light, dark, as on a phone, and printed.
    Shots {
        /// The report.
        report: PathBuf,
        /// Where to put the pictures.
        #[arg(short, long, default_value = "target/shots")]
        output: PathBuf,
    },
}

#[derive(Subcommand)]
enum BenchVerb {
    /// Transactions: cost and rate beside pgbench, sysbench and mysqlslap, on private servers.
    Transactions {
        /// How often everything is run; 6 are the fewest that are judged.
        #[arg(long, default_value_t = 10)]
        blocks: u32,
        /// How long each run lasts, in seconds.
        #[arg(long, default_value_t = 5)]
        seconds: u32,
        /// Only what has this in its key, as `unix/16`; the document goes to target/bench/.
        #[arg(long)]
        only: Option<String>,
        /// Two blocks of one second: shows that it works, and judges nothing.
        #[arg(long)]
        quick: bool,
        /// Cargo's profile for étalon.
        #[arg(long, default_value = "release")]
        profile: String,
        /// Seed of the order.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only write the document again, from these raw results.
        #[arg(long, value_name = "FILE")]
        render: Option<PathBuf>,
    },
    /// Page inserts: what étalon adds to SQLite, beside a loop in C.
    Pages {
        /// How often both are run; 6 are the fewest that are judged.
        #[arg(long, default_value_t = 10)]
        blocks: u32,
        /// Statements of each run.
        #[arg(long, default_value_t = 5_000)]
        statements: u32,
        /// SQLite's `synchronous`.
        #[arg(long, default_value = "FULL")]
        synchronous: String,
        /// Cargo's profile for étalon.
        #[arg(long, default_value = "release")]
        profile: String,
        /// Seed of the order.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Disks: rate, CPU and latency beside fio, and the rate without a disk.
    Disk {
        /// How often everything is run; 6 are the fewest that are judged.
        #[arg(long, default_value_t = 10)]
        blocks: u32,
        /// How long each run lasts, in seconds.
        #[arg(long, default_value_t = 5)]
        seconds: u32,
        /// Only what has this in its key, as `read/8`; the document goes to target/bench/.
        #[arg(long)]
        only: Option<String>,
        /// Two blocks of one second on a small file: shows that it works, and judges nothing.
        #[arg(long)]
        quick: bool,
        /// Cargo's profile for étalon.
        #[arg(long, default_value = "release")]
        profile: String,
        /// Seed of the order.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only write the document again, from these raw results.
        #[arg(long, value_name = "FILE")]
        render: Option<PathBuf>,
        /// The folder in which the file is made: its disk is measured.
        #[arg(long, value_name = "DIR", default_value = "target")]
        target: PathBuf,
        /// Size of the file in MiB.
        #[arg(long, default_value_t = 4096)]
        size_mb: u64,
    },
    /// Several hosts: what agents on NATS cost beside the direct run, what they add up to, how they begin.
    Fleet {
        /// Blocks of the comparison; 6 are the fewest that are judged.
        #[arg(long, default_value_t = 10)]
        blocks: u32,
        /// How long each trial is measured, in seconds.
        #[arg(long, default_value_t = 4)]
        seconds: u32,
        /// Two blocks of one second: shows that it works, and judges nothing.
        #[arg(long)]
        quick: bool,
        /// Cargo's profile for étalon.
        #[arg(long, default_value = "release")]
        profile: String,
        /// Seed of the orders and of the loads.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only write the document again, from these raw results.
        #[arg(long, value_name = "FILE")]
        render: Option<PathBuf>,
    },
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
        Verb::Bench { what: BenchVerb::Transactions { blocks, seconds, only, quick, profile, seed, render } } => {
            let (blocks, seconds) = if quick { (2, 1) } else { (blocks, seconds) };
            bench::transactions(root, &bench::Options { blocks, seconds, only, profile, seed, render })
        }
        Verb::Bench { what: BenchVerb::Pages { blocks, statements, synchronous, profile, seed } } => {
            bench::pages::run(root, &bench::pages::Options { blocks, statements, synchronous, profile, seed })
        }
        Verb::Bench {
            what: BenchVerb::Disk { blocks, seconds, only, quick, profile, seed, render, target, size_mb },
        } => {
            let (blocks, seconds, size_mb) = if quick { (2, 1, 64) } else { (blocks, seconds, size_mb) };
            let options = bench::disk::Options { blocks, seconds, only, profile, seed, render, target, size_mb };
            bench::disk::disk(root, &options)
        }
        Verb::Bench { what: BenchVerb::Fleet { blocks, seconds, quick, profile, seed, render } } => {
            let (blocks, seconds) = if quick { (2, 1) } else { (blocks, seconds) };
            bench::fleet::fleet(root, &bench::fleet::Options { blocks, seconds, profile, seed, render })
        }
        Verb::Shots { report, output } => shots::run(&report, &output),
    }
}
