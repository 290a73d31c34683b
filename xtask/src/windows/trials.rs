//! What étalon for Windows must do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::postgres;
use super::wine::Wine;
use crate::docs;

/// Their transcripts hold under Wine as they do on Linux.
const DOCUMENTS: [&str; 2] = ["docs/import.md", "docs/pages.md"];
/// For a command to get as far as is waited for.
pub const TIMEOUT: Duration = Duration::from_secs(120);

type Trial = fn(&Bench<'_>) -> Result<()>;

/// Runs all trials and prints how each went; true if all hold.
pub fn run_trials(root: &Path, wine: &Wine, command: &Path) -> Result<bool> {
    let bench = Bench { root, command, wine, folder: tempfile::Builder::new().prefix("etalon-windows-").tempdir()? };
    let own: [(&str, Trial); 8] = [
        ("quickstart, report and export", try_quickstart),
        ("doctor names what it looked at", try_doctor),
        ("a killed experiment is resumed", try_resume),
        ("SQLIO's command line, on a drive", try_sqlio),
        ("backups are restored", try_backup),
        ("a private server of Windows", postgres::try_private_server),
        ("a killed étalon leaves no server", postgres::try_killed_with_etalon),
        ("servers of Linux and of Windows in one report", postgres::try_next_to_linux),
    ];
    let mut failed = 0;
    let mut report = |name: &str, started: Instant, passed: Result<()>| {
        let took = started.elapsed().as_secs_f64();
        match passed {
            Ok(()) => eprintln!("ok      {took:>6.1} s  {name}"),
            Err(error) => {
                failed += 1;
                eprintln!("FAILED  {took:>6.1} s  {name}: {error:#}");
            }
        }
    };
    for (name, trial) in own {
        let started = Instant::now();
        report(name, started, trial(&bench));
    }
    let documents = docs::Options { bless: false, documents: DOCUMENTS.map(|name| root.join(name)).into() };
    let started = Instant::now();
    let passed = docs::run_with(root, &documents, command).and_then(|passed| {
        ensure!(passed, "see above");
        Ok(())
    });
    report("the transcripts of documents", started, passed);
    Ok(failed == 0)
}

/// Where trials run.
pub struct Bench<'a> {
    pub root: &'a Path,
    /// `etalon-wine`.
    command: &'a Path,
    pub wine: &'a Wine,
    folder: TempDir,
}

impl Bench<'_> {
    /// Gives a path in the folder of trials.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a command of `etalon` in the folder of trials.
    pub fn etalon_command(&self, words: &str) -> Command {
        let mut command = Command::new(self.command);
        command.args(words.split(' ')).current_dir(self.folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs `etalon` to its end, and gives what it printed; fails with another exit code.
    pub fn run_etalon(&self, words: &str, exit: i32) -> Result<String> {
        let Output { status, stdout, stderr } = self.etalon_command(words).output().context("starting étalon")?;
        let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        ensure!(status.code() == Some(exit), "etalon {words}: {status} instead of {exit}\n{said}");
        Ok(said)
    }

    /// Finds a store in a folder of the folder of trials.
    pub fn find_store(&self, folder: &str) -> Result<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join(folder)).with_context(|| folder.to_owned())?;
        let stores = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut stores = stores.filter(|path| path.extension().is_some_and(|extension| extension == "etalon"));
        stores.next().with_context(|| format!("no store in {folder}"))
    }
}

/// Fails unless all parts were printed.
pub fn ensure_said(said: &str, parts: &[&str]) -> Result<()> {
    match parts.iter().find(|part| !said.contains(**part)) {
        Some(part) => bail!("{part:?} is not in what it said:\n{said}"),
        None => Ok(()),
    }
}

/// Tries to run the first example, report it again and export it.
fn try_quickstart(bench: &Bench<'_>) -> Result<()> {
    let said = bench.run_etalon("run quickstart --quick -o first", 0)?;
    ensure_said(&said, &["A = rollback-journal, B = wal", "throughput, tx/s", "neither Windows nor Linux"])?;
    let store = bench.find_store("first")?;
    let page = fs::read_to_string(store.with_extension("html")).context("the report that a run writes")?;
    ensure_said(&page, &["rollback-journal", "neither Windows nor Linux"])?;
    let store = store.strip_prefix(bench.folder.path())?.display().to_string();
    bench.run_etalon(&format!("report {store} -o again.html"), 0)?;
    ensure!(bench.folder.path().join("again.html").is_file(), "no report was written");
    ensure_said(&bench.run_etalon(&format!("export {store}"), 0)?, &["throughput"])
}

/// Tries that `doctor` names what it looked at.
/// Its exit code is 1 where something is bad, as a debug build is.
fn try_doctor(bench: &Bench<'_>) -> Result<()> {
    let output = bench.etalon_command("doctor").output().context("starting étalon")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure_said(&said, &["QueryPerformanceCounter", "free space", "sync: ", "power plan", "backing: "])
}

/// Tries unbuffered reads and writes by a completion port, on a file of drive C:.
fn try_sqlio(bench: &Bench<'_>) -> Result<()> {
    fs::write(bench.path("param.txt"), "C:\\etalon-trial.dat 2 0x0 32\r\n")?;
    for kind in ["-kR -frandom", "-kW -fsequential"] {
        let said =
            bench.run_etalon(&format!("--quiet sqlio --sqlio-exact {kind} -s1 -o4 -b8 -LS -BH -Fparam.txt"), 0)?;
        let head =
            ["sqlio v1.5.SG", "from file C:\\etalon-trial.dat", "hardware disk cache (but not file cache)", "IOs/sec:"];
        ensure_said(&said.replace(" to file", " from file"), &head)?;
    }
    fs::write(bench.path("disk.toml"), DISK)?;
    let said = bench.run_etalon("run disk.toml -o disk", 0)?;
    ensure_said(&said, &["cache=none, ", "cache=all", "reactor: overlapped I/O on a completion port"])?;
    // With its marker and its stream.
    let left: Vec<_> = fs::read_dir(bench.wine.drive_c())?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    ensure!(!left.iter().any(|name| name.to_string_lossy().contains("etalon")), "files were left behind: {left:?}");
    Ok(())
}

/// Every cache that SQLIO knew, and threads besides the port.
const DISK: &str = "[systems.port]\nurl = \"disk:.\"\n[[benchmarks]]\nworkload = \"disk\"\nsize_mb = 16\nop = \"read\"\ndepth = 4\n\
    block_kb = 8\ncache = [\"none\", \"hw\", \"fs\", \"all\"]\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"200ms\"\n";

/// Tries a comparison of backups, whose restores are verified.
fn try_backup(bench: &Bench<'_>) -> Result<()> {
    let said = bench.run_etalon("run backup-compression --quick --quiet --format backup -o backup", 0)?;
    ensure_said(&said, &["gzip-6 saves 79 %", "zstd-3 saves 80 %", "every restore was verified"])
}

/// Tries to kill a run and resume it.
fn try_resume(bench: &Bench<'_>) -> Result<()> {
    let mut child = bench
        .etalon_command("run quickstart --quick --set schedule.rounds=3 -o killed")
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + TIMEOUT;
    let started = loop {
        ensure!(child.try_wait()?.is_none(), "it ended before it was killed");
        ensure!(Instant::now() < deadline, "no run began");
        if let Ok(store) = bench.find_store("killed") {
            break store;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    std::thread::sleep(Duration::from_secs(2));
    child.kill()?;
    child.wait()?;
    let store = started.strip_prefix(bench.folder.path())?.display().to_string();
    // Volumes may still be without names when the first program of Wine starts, and the drive looks like another one.
    let resume = format!("resume {store}");
    let said = bench.run_etalon(&resume, 0).or_else(|_| bench.run_etalon(&resume, 0))?;
    ensure_said(&said, &["3 rounds of 4 cases", "A = rollback-journal, B = wal"])?;
    ensure!(!said.contains("still to run"), "not all runs were made:\n{said}");
    Ok(())
}
