//! The tests as programs: compiled at one go, then run some at a time, since most of them wait for servers and clocks. What a
//! suite prints is kept in a file and shown when it has ended.

use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;
use wait4::Wait4 as _;

use super::skipped::{self, Skipped};

/// Suites that take longest, in this order: started first, none of them is waited for alone.
const LONGEST: [&str; 9] = [
    "cli, cli",
    "engines",
    "conductor, order_entry",
    "conductor, conformance",
    "Windows, under Wine",
    "documents",
    "conductor, backup",
    "report, report",
    "fleet, fleet",
];

/// Tests of what other programs at work change, such as a share of the processors or of a disk: the suites that they are of, and
/// parts of their names. They run one by one when all others have ended.
const ALONE: [(&str, &[&str]); 2] = [
    ("cli, cli", &["beside::", "limits::", "published::sqlio_on_a_disk", "silence::a_silent_listener"]),
    ("conductor, backup", &["loads::postgres_backs_up", "a_server_that_is_held"]),
];

/// A suite that prints nothing for so long hangs. It is ended, so that the others are still heard of.
const LONGEST_SILENCE: Duration = Duration::from_mins(20);

/// One program that tests something.
pub struct Suite {
    /// Its crate, and its place there unless it is the crate's own.
    pub name: String,
    pub command: Command,
    /// It runs when all others have ended.
    is_alone: bool,
}

impl Suite {
    pub fn new(name: impl Into<String>, command: Command) -> Suite {
        Suite { name: name.into(), command, is_alone: false }
    }

    /// Takes the tests of these names out of the suite, as a suite of their own that runs alone.
    fn split_off_alone(&mut self, names: &[&str]) -> Suite {
        let mut command = Command::new(self.command.get_program());
        command.args(self.command.get_args()).arg("--test-threads=1").args(names);
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = self.command.get_current_dir() {
            command.current_dir(folder);
        }
        names.iter().for_each(|name| {
            self.command.args(["--skip", name]);
        });
        Suite { name: format!("{}, alone", self.name), command, is_alone: true }
    }
}

/// How a suite went.
pub struct Ran {
    pub name: String,
    pub wall: Duration,
    /// CPU time of it and of all that it started and waited for.
    pub cpu: Duration,
    /// How it failed.
    pub failure: Option<String>,
    pub skipped: Vec<Skipped>,
}

/// Compiles what these arguments of cargo name, and makes a suite of each program of tests.
///
/// # Errors
/// It does not compile, which is shown, or cargo says something unknown.
pub fn compile(root: &Path, arguments: &[&str]) -> Result<Vec<Suite>> {
    let mut command = super::root_cargo_command(root, arguments);
    let output = command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output();
    let output = output.context("starting cargo")?;
    anyhow::ensure!(output.status.success(), "cargo {}: {}", arguments.join(" "), output.status);
    let text = String::from_utf8(output.stdout).context("what cargo says")?;
    let messages = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    Ok(messages.context("what cargo says")?.iter().filter_map(make_suite).collect())
}

/// Makes the suite that one of cargo's messages names; `None` if it names none.
fn make_suite(message: &Value) -> Option<Suite> {
    if message["profile"]["test"] != true {
        return None;
    }
    let program = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = folder.file_name()?.to_string_lossy();
    let source = Path::new(message["target"]["src_path"].as_str()?).strip_prefix(folder).ok()?;
    // The crate's own are in `src`; of the others the folder or the file says which.
    let own = source.starts_with("src");
    let target = message["target"]["name"].as_str()?;
    let mut command = Command::new(program);
    // As cargo starts it.
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).arg("--show-output");
    Some(Suite::new(if own { package.into_owned() } else { format!("{package}, {target}") }, command))
}

/// Runs the suites, as many at a time as there are processors, and then those that run alone.
/// Those that take long come first. Each is reported when it ends.
///
/// # Errors
/// A suite does not start, or what it printed cannot be kept.
pub fn run(mut suites: Vec<Suite>, folder: &Path) -> Result<Vec<Ran>> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    suites.sort_by_key(|suite: &Suite| LONGEST.iter().position(|name| *name == suite.name).unwrap_or(LONGEST.len()));
    for (suite, names) in ALONE {
        let parted = suites.iter_mut().find(|one| one.name == suite).map(|one| one.split_off_alone(names));
        suites.extend(parted);
    }
    let (alone, together): (Vec<Suite>, Vec<Suite>) = suites.into_iter().partition(|suite| suite.is_alone);
    let left = Mutex::new(together.into_iter());
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..host::cpu::available_cores())
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    loop {
                        let Some(suite) = left.lock().ok().and_then(|mut left| left.next()) else { return Ok(()) };
                        let (ran, printed) = run_suite(suite, folder, LONGEST_SILENCE)?;
                        let Ok(mut ended) = ended.lock() else { return Ok(()) };
                        print_suite(&ran, &printed)?;
                        ended.push(ran);
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
    })?;
    let mut ended = ended.into_inner().unwrap_or_default();
    for suite in alone {
        let (ran, printed) = run_suite(suite, folder, LONGEST_SILENCE)?;
        print_suite(&ran, &printed)?;
        ended.push(ran);
    }
    Ok(ended)
}

/// Runs a suite to its end, or until it has been silent for too long, and gives what is to be shown of it.
fn run_suite(mut suite: Suite, folder: &Path, longest_silence: Duration) -> Result<(Ran, Vec<u8>)> {
    let path = folder.join(format!("{}.txt", suite.name.replace([',', ' '], "-")));
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    let start = Instant::now();
    suite.command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let child = suite.command.spawn().with_context(|| suite.name.clone())?;
    let id = child.id().to_string();
    let (ended, end) = mpsc::channel::<()>();
    let watched = path.clone();
    let watcher = std::thread::spawn(move || {
        let hangs = falls_silent(&watched, &end, longest_silence);
        if hangs {
            // What it has started may be what hangs.
            let _ = Command::new("pkill").args(["-TERM", "-P", &id]).status();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
        }
        hangs
    });
    let usage = child.wait4().with_context(|| suite.name.clone())?;
    drop(ended);
    let hung = watcher.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    let mut printed = Vec::new();
    let found = skipped::copy_and_list_skipped(BufReader::new(File::open(&path)?), &mut printed)?;
    let ran = Ran {
        wall: start.elapsed(),
        cpu: usage.rusage.utime + usage.rusage.stime,
        failure: if hung {
            Some(format!("ended, since it printed nothing for {} s", longest_silence.as_secs()))
        } else {
            (!usage.status.success()).then(|| usage.status.to_string())
        },
        skipped: found,
        name: suite.name,
    };
    Ok((ran, printed))
}

/// Waits until the suite has ended or its file has not grown for that long; true if the second came first.
fn falls_silent(printed: &Path, end: &mpsc::Receiver<()>, longest_silence: Duration) -> bool {
    let (mut known, mut since) = (file_length(printed), Instant::now());
    while end.recv_timeout(Duration::from_secs(1).min(longest_silence)) == Err(RecvTimeoutError::Timeout) {
        if file_length(printed) != known {
            (known, since) = (file_length(printed), Instant::now());
        }
        if since.elapsed() >= longest_silence {
            return true;
        }
    }
    false
}

/// Gives the length of a file in bytes; 0 if it is not there.
fn file_length(printed: &Path) -> u64 {
    fs::metadata(printed).map_or(0, |file| file.len())
}

/// Prints a suite's name and what it printed.
fn print_suite(ran: &Ran, printed: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "-- {}", ran.name)?;
    out.write_all(printed)?;
    Ok(out.flush()?)
}

/// Writes what each suite took, those that took longest first, and which tests were skipped.
pub fn summary(ran: &[Ran], skipped: &[Skipped]) -> Vec<String> {
    let mut longest: Vec<&Ran> = ran.iter().collect();
    longest.sort_by_key(|ran| std::cmp::Reverse(ran.wall));
    let mut lines: Vec<String> = Vec::new();
    for Ran { name, wall, cpu, failure, .. } in longest {
        let how = if failure.is_some() { "FAILED" } else { "ok" };
        let why = failure.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!(
            "  {how:<6}{}, {:>6.1} s of CPU time  {name}{why}",
            super::seconds_column(*wall),
            cpu.as_secs_f64()
        ));
    }
    let mut skipped = skipped.to_vec();
    for one in ran.iter().flat_map(|ran| &ran.skipped) {
        if !skipped.contains(one) {
            skipped.push(one.clone());
        }
    }
    lines.extend(skipped::summary(&skipped));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_run_alone_are_a_suite_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo \"$*\"", "sh", "--show-output"]);
        let ran = run(vec![Suite::new(ALONE[0].0, command)], folder.path()).unwrap();
        let names: Vec<&str> = ran.iter().map(|ran| ran.name.as_str()).collect();
        assert_eq!(names, ["cli, cli", "cli, cli, alone"]);
        let printed = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(printed("cli--cli.txt").starts_with("--show-output --skip beside:: --skip "));
        assert!(printed("cli--cli--alone.txt").starts_with("--show-output --test-threads=1 beside:: "));
    }

    #[test]
    fn a_suite_that_hangs_is_ended_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let limit = Duration::from_secs(3);
        let (hung, printed) = run_suite(shell_suite("echo begun; sleep 600; true"), folder.path(), limit).unwrap();
        assert!(started.elapsed() < Duration::from_secs(60));
        assert_eq!(hung.failure.as_deref(), Some("ended, since it printed nothing for 3 s"));
        assert!(printed.starts_with(b"begun\n"), "what it had printed is shown");
        let (ran, _) =
            run_suite(shell_suite("for i in 1 2 3 4 5; do echo $i; sleep 1; done"), folder.path(), limit).unwrap();
        assert_eq!(ran.failure, None, "one that goes on printing may take longer");
    }

    fn shell_suite(script: &str) -> Suite {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Suite::new("x", command)
    }
}
