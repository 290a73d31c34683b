//! `cargo xtask test`: everything that must hold, in the order in which it fails soonest. At its end stands where the time went
//! and who was skipped.

mod skipped;
mod suites;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use self::skipped::Skipped;
use self::suites::{Ran, Suite};
use crate::requirements::Missing;
use crate::{cargo, docs, elsewhere, fuzz, releases, requirements, tidy, windows};

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

/// Where the tests of SQLCipher look for an `etalon` that has it.
const SQLCIPHER: &str = "ETALON_TEST_SQLCIPHER";

/// One thing to do.
#[derive(Clone, Copy)]
enum Step {
    Cargo(&'static [&'static str]),
    Tidy,
    Fuzz,
    /// What the tests start, which was fetched meanwhile.
    Requirements,
    Elsewhere,
    Compile,
    Suites,
}

const STEPS: [Step; 8] = [
    Step::Cargo(&["fmt", "--all", "--check"]),
    Step::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    Step::Tidy,
    Step::Fuzz,
    Step::Requirements,
    Step::Elsewhere,
    Step::Compile,
    Step::Suites,
];

/// What cannot be had everywhere, as it is named where it is skipped.
const ELSEWHERE: &str = "macOS and illumos";
const WINDOWS: &str = "Windows, under Wine";

/// What one step leaves for the next.
struct Course<'a> {
    root: &'a Path,
    options: &'a Options,
    /// The thread that fetches what the tests start.
    requirements: Option<std::thread::JoinHandle<Result<Vec<Skipped>>>>,
    suites: Vec<Suite>,
    ran: Vec<Ran>,
    skipped: Vec<Skipped>,
}

impl Step {
    fn name(self) -> String {
        match self {
            Self::Requirements => "requirements, fetched beside the steps before".to_owned(),
            Self::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
            Self::Tidy => "cargo xtask tidy".to_owned(),
            Self::Fuzz => "cargo check of fuzz".to_owned(),
            Self::Elsewhere => format!("cargo check for {ELSEWHERE}"),
            Self::Compile => "compiling the tests".to_owned(),
            Self::Suites => "tests and documents".to_owned(),
        }
    }

    /// `None` if it succeeded, else how it failed.
    fn run(self, course: &mut Course<'_>) -> Result<Option<String>> {
        let root = course.root;
        let said = |is_good: bool| (!is_good).then(|| "see above".to_owned());
        Ok(match self {
            Self::Cargo(arguments) => {
                let status = command(root, arguments).status().context("starting cargo")?;
                (!status.success()).then(|| status.to_string())
            }
            Self::Tidy => said(tidy::run(root)?),
            Self::Fuzz => said(fuzz::check(root)?),
            Self::Requirements => {
                if let Some(fetching) = course.requirements.take() {
                    course.skipped = fetching.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
                }
                None
            }
            Self::Elsewhere if course.skips(ELSEWHERE) => None,
            Self::Elsewhere => said(elsewhere::check(root)?),
            Self::Compile => {
                course.suites = compile(root, course.options, course.skips(WINDOWS))?;
                None
            }
            Self::Suites => {
                course.ran = suites::run(std::mem::take(&mut course.suites), &root.join("target/tests"))?;
                let failed: Vec<&str> =
                    course.ran.iter().filter(|ran| ran.failure.is_some()).map(|ran| ran.name.as_str()).collect();
                (!failed.is_empty()).then(|| failed.join(", "))
            }
        })
    }
}

impl Course<'_> {
    fn skips(&self, name: &str) -> bool {
        self.skipped.iter().any(|skipped| skipped.test == name)
    }
}

/// Every program of tests, and as two more the documents and étalon for Windows.
fn compile(root: &Path, options: &Options, skips_windows: bool) -> Result<Vec<Suite>> {
    // What the usual build leaves out comes first: the build after it puts the usual `etalon` in its place again. The whole
    // workspace is named, so that nothing else is built with other features.
    let with = ["build", "--workspace", "--features", "cli/sqlcipher", "--bin", "etalon", "--test", "conformance"];
    let mut built = suites::compile(root, &with)?;
    let other = etalon(root);
    let sqlcipher = other.with_file_name(format!("etalon-sqlcipher{}", std::env::consts::EXE_SUFFIX));
    std::fs::copy(&other, &sqlcipher).with_context(|| other.display().to_string())?;
    for suite in &mut built {
        suite.name.push_str(", SQLCipher");
        suite.command.arg("every_engine").env("ETALON_TEST_ENGINE", "sqlcipher");
    }
    built.extend(suites::compile(root, &["test", "--workspace", "--no-run"])?);
    built.push(Suite::new("examples in comments", command(root, &["test", "--workspace", "--doc"])));
    let own = std::env::current_exe().context("where xtask is")?;
    for (name, verb) in [("documents", "docs"), (WINDOWS, "windows")] {
        if name != WINDOWS || !skips_windows {
            let mut command = Command::new(&own);
            command.arg(verb).env(docs::ETALON, etalon(root));
            built.push(Suite::new(name, command));
        }
    }
    for Suite { command, .. } in &mut built {
        command.env(SQLCIPHER, &sqlcipher);
        if options.slow {
            command.env("ETALON_SLOW", "1");
        }
        if let Some(servers) = releases::variable(root) {
            command.env(releases::VARIABLE, servers);
        }
    }
    Ok(built)
}

/// The debug build.
fn etalon(root: &Path) -> PathBuf {
    root.join("target/debug").join(format!("etalon{}", std::env::consts::EXE_SUFFIX))
}

/// Of the same toolchain.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo());
    command.args(arguments).current_dir(root).stdin(Stdio::null());
    command
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
    let of = root.to_owned();
    let requirements = Some(std::thread::spawn(move || {
        requirements::ensure_all()?;
        releases::variable(&of);
        let skipped = |name: &str, cause| Skipped { test: name.to_owned(), reason: format!("{cause:#}") };
        let found = [(ELSEWHERE, elsewhere::ready()), (WINDOWS, windows::ready(&of))];
        Ok(found.into_iter().filter_map(|(name, ready)| Some(skipped(name, ready.err()?))).collect())
    }));
    let mut course = Course { root, options, requirements, suites: Vec::new(), ran: Vec::new(), skipped: Vec::new() };
    for (index, step) in STEPS.into_iter().enumerate() {
        let (number, name) = (index + 1, step.name());
        eprintln!("== {number}/{} {name}", STEPS.len());
        let start = Instant::now();
        let failure = match step.run(&mut course) {
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
            let rest = STEPS[number..].iter().map(|step| step.name());
            summary.extend(rest.map(|name| format!("not run           {name}")));
            break;
        }
    }
    let verdict = if is_good { "ok" } else { "FAILED" };
    eprintln!();
    for line in summary.into_iter().chain(suites::summary(&course.ran, &course.skipped)) {
        eprintln!("{line}");
    }
    eprintln!("cargo xtask test: {verdict},{}", seconds(total.elapsed()));
    Ok(is_good)
}

fn seconds(time: Duration) -> String {
    format!("{:>6.1} s", time.as_secs_f64())
}
