//! `cargo xtask`: the project's own chores, one file per verb.
//!
//! Nothing here is shipped. `cargo xtask test` is the whole test command, for people and for CI.
//! Exit codes: 0 done, 1 something to fix, 2 the command line, 3 could not run.
#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "a tool for developers talks to the terminal directly")]

mod bench;
mod debian;
mod docs;
mod elsewhere;
mod fuzz;
#[cfg(target_os = "linux")]
mod package;
mod releases;
mod requirements;
mod test;
mod tidy;
mod windows;

use std::borrow::BorrowMut;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
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
    Test(test::Options),
    /// Check the rules about sources that the compiler does not know.
    Tidy,
    /// Execute the transcripts in README.md and docs/.
    Docs(docs::Options),
    /// Feed every reader of foreign bytes with what nobody would write; see `fuzz/`.
    Fuzz {
        /// How long each target runs, in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Only these targets.
        targets: Vec<String>,
    },
    /// Build étalon for Windows and try it under Wine.
    Windows(windows::Options),
    /// Check that étalon compiles for macOS, and its crate `host` for illumos.
    Elsewhere,
    /// Measure étalon beside its peers, and write that part of docs/performance.md.
    Bench(bench::Options),
    /// Make what a release consists of: tarballs, a deb, an rpm, a zip, checksums, bills of materials. On Debian, of a commit.
    #[cfg(target_os = "linux")]
    Package(package::Options),
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

/// Runs a verb; false if what it checks or measures is not good.
fn run(verb: Verb) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in no workspace")?;
    match verb {
        Verb::Test(options) => test::run(root, &options),
        Verb::Tidy => tidy::run(root),
        Verb::Docs(options) => docs::run(root, &options),
        Verb::Fuzz { seconds, targets } => fuzz::run(root, &targets, seconds),
        Verb::Windows(options) => windows::run(root, &options),
        Verb::Elsewhere => elsewhere::check(root, &elsewhere::BEFORE_A_RELEASE),
        Verb::Bench(options) => bench::run(root, &options),
        #[cfg(target_os = "linux")]
        Verb::Package(options) => package::run(root, &options),
    }
}

/// Gives the path of the cargo that runs this.
fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or("cargo".into())
}

/// Lists what differs from the commit that is checked out, as git does, but for these paths.
///
/// # Errors
/// git does not answer.
fn git_changes(root: &Path, but_for: &[&str]) -> Result<String> {
    let arguments = ["status", "--porcelain", "--untracked-files=no", "--", "."];
    let but_for = but_for.iter().map(|path| format!(":!{path}"));
    run_for_output(Command::new("git").args(arguments).args(but_for).current_dir(root))
}

/// Runs a command, and gives what it printed; fails if it ends badly.
///
/// # Errors
/// It does not start, or ends badly: with what it printed.
fn run_for_output(mut command: impl BorrowMut<Command>) -> Result<String> {
    let command = command.borrow_mut();
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
