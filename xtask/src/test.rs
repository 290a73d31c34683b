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
use crate::{cargo_path, docs, elsewhere, fuzz, releases, requirements, tidy, windows};

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

/// Folders of the engines.
const ENGINES: &str = "crates/engines/src";

/// An engine that a build has only with a feature, as `conformance.toml` in its folder says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Optional {
    engine: String,
    feature: String,
}

impl Optional {
    /// Names the variable in which the tests of the feature look for an `etalon` that has it.
    fn variable(&self) -> String {
        format!("ETALON_TEST_{}", self.feature.to_ascii_uppercase())
    }
}

/// Lists the engines that only builds with their feature have.
///
/// # Errors
/// The folder of the engines or a file in it cannot be read.
fn optional_engines(root: &Path) -> Result<Vec<Optional>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(ENGINES)).context(ENGINES)? {
        let path = entry.context(ENGINES)?.path().join("conformance.toml");
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let table: toml::Table = toml::from_str(&text).with_context(|| path.display().to_string())?;
        found.extend(table.iter().filter_map(|(engine, known)| {
            let feature = known.get("feature")?.as_str()?.to_owned();
            Some(Optional { engine: engine.clone(), feature })
        }));
    }
    found.sort();
    Ok(found)
}

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
const ELSEWHERE: &str = "macOS";
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
    /// Names the step in the summary.
    fn name(self) -> String {
        match self {
            Self::Requirements => "requirements, fetched beside the steps before".to_owned(),
            Self::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
            Self::Tidy => "cargo xtask tidy".to_owned(),
            Self::Fuzz => "cargo check of fuzz".to_owned(),
            Self::Elsewhere => format!("cargo check of host for {ELSEWHERE}"),
            Self::Compile => "compiling the tests, and étalon for Windows".to_owned(),
            Self::Suites => "tests and documents".to_owned(),
        }
    }

    /// Runs the step; `None` if it succeeded, else how it failed.
    fn run(self, course: &mut Course<'_>) -> Result<Option<String>> {
        let root = course.root;
        Ok(match self {
            Self::Cargo(arguments) => {
                let status = root_cargo_command(root, arguments).status().context("starting cargo")?;
                (!status.success()).then(|| status.to_string())
            }
            Self::Tidy => see_above_unless(tidy::run(root)?),
            Self::Fuzz => see_above_unless(fuzz::check_targets(root)?),
            Self::Requirements => {
                if let Some(fetching) = course.requirements.take() {
                    course.skipped = fetching.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
                }
                None
            }
            Self::Elsewhere if course.is_skipped(ELSEWHERE) => None,
            Self::Elsewhere => see_above_unless(elsewhere::check(root, &[elsewhere::HOST_FOR_MACOS])?),
            Self::Compile => {
                let skips_windows = course.is_skipped(WINDOWS);
                course.suites = compile_suites(root, course.options, skips_windows)?;
                if !skips_windows {
                    // Compiled while the tests run, it would keep the processors from what they time.
                    windows::build_windows(root, "dev")?;
                }
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

/// Refers to what was printed as the cause of a failure; `None` if there is none.
fn see_above_unless(is_good: bool) -> Option<String> {
    (!is_good).then(|| "see above".to_owned())
}

impl Course<'_> {
    /// Tests whether a test is skipped, since something is missing here.
    fn is_skipped(&self, name: &str) -> bool {
        self.skipped.iter().any(|skipped| skipped.test == name)
    }
}

/// Compiles every program of tests, and as two more the documents and étalon for Windows.
fn compile_suites(root: &Path, options: &Options, skips_windows: bool) -> Result<Vec<Suite>> {
    // What the usual build leaves out comes first: the build after it puts the usual `etalon` in its place again. The whole
    // workspace is named, so that nothing else is built with other features.
    let (mut built, mut others) = (Vec::new(), Vec::new());
    for optional in optional_engines(root)? {
        let feature = format!("cli/{}", optional.feature);
        let with = ["build", "--workspace", "--features", &feature, "--bin", "etalon", "--test", "conformance"];
        let usual = debug_etalon_path(root);
        let other = usual.with_file_name(format!("etalon-{}{}", optional.feature, std::env::consts::EXE_SUFFIX));
        for mut suite in suites::compile(root, &with)? {
            suite.name.push_str(&format!(", {}", optional.engine));
            suite.command.arg("every_engine").env("ETALON_TEST_ENGINE", &optional.engine);
            built.push(suite);
        }
        std::fs::copy(&usual, &other).with_context(|| usual.display().to_string())?;
        others.push((optional.variable(), other));
    }
    built.extend(suites::compile(root, &["test", "--workspace", "--no-run"])?);
    built.push(Suite::new("examples in comments", root_cargo_command(root, &["test", "--workspace", "--doc"])));
    let own = std::env::current_exe().context("where xtask is")?;
    for (name, verb) in [("documents", "docs"), (WINDOWS, "windows")] {
        if name != WINDOWS || !skips_windows {
            let mut command = Command::new(&own);
            command.arg(verb).env(docs::ETALON, debug_etalon_path(root));
            built.push(Suite::new(name, command));
        }
    }
    for Suite { command, .. } in &mut built {
        command.envs(others.iter().map(|(variable, program)| (variable, program)));
        if options.slow {
            command.env("ETALON_SLOW", "1");
        }
        if let Some(servers) = releases::programs_variable(root) {
            command.env(releases::VARIABLE, servers);
        }
    }
    Ok(built)
}

/// Gives the path of the debug build of étalon.
fn debug_etalon_path(root: &Path) -> PathBuf {
    root.join("target/debug").join(format!("etalon{}", std::env::consts::EXE_SUFFIX))
}

/// Makes a command of the cargo that runs this, in the root.
pub fn root_cargo_command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_path());
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
        releases::programs_variable(&of);
        let found = [(ELSEWHERE, elsewhere::prepare()), (WINDOWS, windows::prepare(&of))];
        Ok(found
            .into_iter()
            .filter_map(|(name, ready)| Some(Skipped { test: name.to_owned(), reason: format!("{:#}", ready.err()?) }))
            .collect())
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
        let took = seconds_column(start.elapsed());
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
    eprintln!("cargo xtask test: {verdict},{}", seconds_column(total.elapsed()));
    Ok(is_good)
}

/// Writes a time in seconds, for a column of times.
fn seconds_column(time: Duration) -> String {
    format!("{:>6.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_command_is_tested() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let manifest = std::fs::read_to_string(root.join("crates/cli/Cargo.toml")).unwrap();
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let features: Vec<&String> = manifest["features"].as_table().unwrap().keys().collect();
        let optional = optional_engines(root).unwrap();
        assert!(!features.is_empty());
        assert_eq!(optional.iter().map(|one| &one.feature).collect::<Vec<_>>(), features);
    }
}
