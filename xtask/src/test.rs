//! `cargo xtask test`: everything that must hold, in the order in which it fails soonest. At its end stands who was skipped.

mod skipped;

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use self::skipped::Skipped;
use crate::docs::Binary;
use crate::requirements::Missing;
use crate::{docs, fuzz, releases, requirements, tidy};

/// What to run.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// Run the rest too after a step has failed.
    #[arg(long)]
    keep_going: bool,
    /// Also run the tests that take minutes: they look for `ETALON_SLOW=1`.
    #[arg(long)]
    slow: bool,
}

/// One thing to do.
enum Step {
    Requirements,
    Cargo(&'static [&'static str]),
    Tidy,
    Fuzz,
    Docs,
}

const STEPS: [Step; 8] = [
    Step::Requirements,
    Step::Cargo(&["fmt", "--all", "--check"]),
    Step::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    Step::Tidy,
    Step::Fuzz,
    // One run tells all that is wrong.
    Step::Cargo(&["test", "--workspace", "--no-fail-fast"]),
    Step::Docs,
    // What the usual build leaves out. The whole workspace is named, so that nothing else is built with other features. It comes
    // last, since it leaves another `etalon` where the documents' commands look for it.
    Step::Cargo(&[
        "test",
        "--workspace",
        "--features",
        "cli/sqlcipher",
        "--test",
        "cli",
        "--test",
        "conformance",
        "--",
        "cipher::",
        "every_engine",
    ]),
];

impl Step {
    fn name(&self) -> String {
        match self {
            Self::Requirements => "requirements".to_owned(),
            Self::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
            Self::Tidy => "cargo xtask tidy".to_owned(),
            Self::Fuzz => "cargo check of fuzz".to_owned(),
            Self::Docs => "cargo xtask docs".to_owned(),
        }
    }

    /// `None` if it succeeded, else how it failed.
    fn run(&self, root: &Path, options: &Options, skipped: &mut Vec<Skipped>) -> Result<Option<String>> {
        let said = |is_good: bool| (!is_good).then(|| "see above".to_owned());
        Ok(match self {
            Self::Requirements => {
                requirements::ensure_all()?;
                None
            }
            Self::Cargo(arguments @ ["test", ..]) => {
                let (failure, found) = cargo_test(root, arguments, options)?;
                skipped.extend(found.into_iter().filter(|one| !skipped.contains(one)).collect::<Vec<_>>());
                failure
            }
            Self::Cargo(arguments) => {
                let status = command(root, arguments).status().context("starting cargo")?;
                (!status.success()).then(|| status.to_string())
            }
            Self::Tidy => said(tidy::run(root)?),
            Self::Fuzz => said(fuzz::check(root)?),
            Self::Docs => said(docs::run(root, &docs::Options::default(), Binary::AsTested)?),
        })
    }
}

/// Of the same toolchain.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(arguments).current_dir(root).stdin(Stdio::null());
    command
}

/// Runs tests: how they failed, and who was skipped.
fn cargo_test(root: &Path, arguments: &[&str], options: &Options) -> Result<(Option<String>, Vec<Skipped>)> {
    let mut command = command(root, arguments);
    command.args((!arguments.contains(&"--")).then_some("--")).arg("--show-output").stdout(Stdio::piped());
    if options.slow {
        command.env("ETALON_SLOW", "1");
    }
    if let Some(programs) = releases::postgres_18(root) {
        command.env(releases::VARIABLE, programs);
    }
    let mut tests = command.spawn().context("starting cargo")?;
    let printed = tests.stdout.take().context("reading what the tests print")?;
    let skipped = skipped::watch(BufReader::new(printed), std::io::stdout())?;
    let status = tests.wait().context("waiting for cargo")?;
    Ok(((!status.success()).then(|| status.to_string()), skipped))
}

/// Runs every step and prints a summary on stderr. True if all succeeded.
///
/// # Errors
///
/// [`Missing`] when there is something to install by hand: nothing after it means much.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    let total = Instant::now();
    let mut summary = Vec::new();
    let mut is_good = true;
    let mut skipped = Vec::new();
    for (index, step) in STEPS.iter().enumerate() {
        let (number, name) = (index + 1, step.name());
        eprintln!("== {number}/{} {name}", STEPS.len());
        let start = Instant::now();
        let failure = match step.run(root, options, &mut skipped) {
            Err(error) if !error.is::<Missing>() => Some(format!("{error:#}")),
            other => other?,
        };
        let took = seconds(start.elapsed());
        let line = match failure {
            None => format!("ok      {took}  {name}"),
            Some(how) => {
                is_good = false;
                format!("FAILED  {took}  {name}: {how}")
            }
        };
        eprintln!("== {number}/{} {line}", STEPS.len());
        summary.push(line);
        if !is_good && !options.keep_going {
            let rest = STEPS[number..].iter().map(Step::name);
            summary.extend(rest.map(|name| format!("not run           {name}")));
            break;
        }
    }
    let verdict = if is_good { "ok" } else { "FAILED" };
    eprintln!();
    for line in summary.into_iter().chain(skipped::summary(&skipped)) {
        eprintln!("{line}");
    }
    eprintln!("cargo xtask test: {verdict},{}", seconds(total.elapsed()));
    Ok(is_good)
}

fn seconds(time: Duration) -> String {
    format!("{:>6.1} s", time.as_secs_f64())
}
