//! `cargo xtask fuzz`: each target of `fuzz/` for a while, one after the other, by libFuzzer. Needs a nightly compiler and
//! `cargo install cargo-fuzz --locked`.
//!
//! No corpus is kept in git. Seeds and words are taken from the files that a target's `//! Seeds:` lines name: of a document
//! its blocks of code, of Rust its longer literals, of any other file all of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::test;

/// What a first byte can choose between, at most, in a target with seeds.
const CHOICES: u8 = 8;
/// Longest input, in bytes.
const LONGEST: &str = "4096";
/// Longest time for one input, in seconds.
const HANG: &str = "1";
/// Most memory of a target, in MiB.
const MEMORY: &str = "1024";

/// How a target went.
struct Ran {
    executions: u64,
    per_second: u64,
    peak_mib: u64,
    passed: bool,
}

/// Fuzzes the targets, or all, each for that many seconds. True if all passed.
pub fn run(root: &Path, targets: &[String], seconds: u32) -> Result<bool> {
    let output = fuzz_command(root, &["list"]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("cargo-fuzz did not answer; hint: rustup toolchain install nightly && cargo install cargo-fuzz --locked");
    }
    let known = String::from_utf8(output.stdout)?;
    let known: Vec<&str> = known.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = targets.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no target `{unknown}`; there are {}", known.join(", "));
    }
    let chosen: Vec<&str> =
        known.into_iter().filter(|name| targets.is_empty() || targets.iter().any(|t| t == name)).collect();
    update_lock(root)?;
    let rows = chosen.iter().map(|name| Ok((*name, fuzz_one(root, name, seconds)?))).collect::<Result<Vec<_>>>()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "| target | executions | a second | peak MiB | result |\n|---|--:|--:|--:|---|")?;
    for (name, Ran { executions, per_second, peak_mib, passed }) in &rows {
        let result = if *passed { "held" } else { "FAILED" };
        writeln!(out, "| `{name}` | {executions} | {per_second} | {peak_mib} | {result} |")?;
    }
    writeln!(out, "| sum | {} | | | |", rows.iter().map(|(_, ran)| ran.executions).sum::<u64>())?;
    Ok(rows.iter().all(|(_, ran)| ran.passed))
}

/// Copies the shipped `Cargo.lock` for the targets whenever it has changed, so that they have the same versions.
fn update_lock(root: &Path) -> Result<()> {
    let (shipped, lock) = (root.join("Cargo.lock"), root.join("fuzz/Cargo.lock"));
    let is_current =
        matches!((modified_time(&shipped), modified_time(&lock)), (Ok(shipped), Ok(own)) if own >= shipped);
    if !is_current {
        fs::copy(shipped, lock)?;
    }
    Ok(())
}

/// Gives the time when a file was last written.
fn modified_time(path: &Path) -> std::io::Result<std::time::SystemTime> {
    fs::metadata(path).and_then(|found| found.modified())
}

/// Whether the targets compile, by the usual compiler: nothing else builds them but who fuzzes.
pub fn check_targets(root: &Path) -> Result<bool> {
    update_lock(root)?;
    // With the workspace's profiles what it has built already serves here, too.
    let shared = ["--target-dir", "target", "--config", "Cargo.toml"];
    let mut command =
        test::root_cargo_command(root, &[&["check", "--manifest-path", "fuzz/Cargo.toml"], &shared[..]].concat());
    // What is only checked links nothing, so libFuzzer itself need not be compiled: any file stands in.
    command.env("CUSTOM_LIBFUZZER_PATH", root.join("fuzz/Cargo.toml"));
    Ok(command.status().context("starting cargo")?.success())
}

/// Makes a command of `cargo fuzz` with these arguments.
fn fuzz_command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).args(arguments).arg("--fuzz-dir").arg(root.join("fuzz"));
    // What cargo says of the toolchain that runs this.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(root).stdin(Stdio::null());
    command
}

/// Fuzzes a target for some seconds, and reads its figures from the log.
fn fuzz_one(root: &Path, name: &str, seconds: u32) -> Result<Ran> {
    let folder = root.join("fuzz/corpus").join(name);
    let (seeds, log) = (folder.join("seeds"), folder.join("log"));
    let found = folder.join("found");
    [&seeds, &found].into_iter().try_for_each(fs::create_dir_all)?;
    let words = write_seeds(root, name, &seeds)?;
    eprintln!("{name}: {seconds} s, see {}", log.display());
    // Memory is safe by the language, and the sanitizer would cost half of the executions.
    let mut command = fuzz_command(root, &["run", "--sanitizer", "none", name]);
    command.args([&found, &seeds]).arg("--");
    if !words.is_empty() {
        fs::write(folder.join("words"), words)?;
        command.arg(format!("-dict={}", folder.join("words").display()));
    }
    command.args([format!("-max_total_time={seconds}"), format!("-timeout={HANG}"), format!("-rss_limit_mb={MEMORY}")]);
    command.args([format!("-max_len={LONGEST}"), "-print_final_stats=1".to_owned()]);
    command.env("ETALON_FUZZ_SEEDS", &seeds).stdout(Stdio::null()).stderr(fs::File::create(&log)?);
    let passed = command.status().context("starting cargo-fuzz")?.success();
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if !passed {
        let tail: Vec<&str> =
            text.lines().filter(|line| line.contains("panicked at") || line.contains("ERROR")).collect();
        eprintln!("{name}: failed; see {}\n{}", log.display(), tail.join("\n"));
    }
    let [executions, per_second, peak_mib] =
        ["stat::number_of_executed_units", "stat::average_exec_per_sec", "stat::peak_rss_mb"].map(|what| {
            let found = text
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix(what)?.trim_start_matches(':').trim().parse().ok());
            found.unwrap_or_default()
        });
    Ok(Ran { executions, per_second, peak_mib, passed })
}

/// Writes a target's seeds, and gives its dictionary of words.
fn write_seeds(root: &Path, name: &str, into: &Path) -> Result<String> {
    let source = fs::read_to_string(root.join("fuzz/targets").join(format!("{name}.rs")))?;
    let named = source.lines().filter_map(|line| line.strip_prefix("//! Seeds: ")).flat_map(str::split_whitespace);
    let mut files: Vec<PathBuf> = named.map(|path| root.join(path)).collect();
    let (mut words, mut number) = (BTreeSet::new(), 0);
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?);
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).with_context(|| path.display().to_string())?).into_owned();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        words.extend(
            text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
                .filter(|word| (2..=24).contains(&word.len()))
                .map(str::to_owned),
        );
        let pieces: Vec<&str> = match extension.as_str() {
            // What stands between quotes, and the code between that, which does no harm.
            "rs" => text.split('"').filter(|piece| (60..4096).contains(&piece.len())).collect(),
            "md" => text.split("```").skip(1).step_by(2).filter_map(|block| Some(block.split_once('\n')?.1)).collect(),
            _ => vec![&text],
        };
        for piece in pieces {
            let piece = piece.replace("\\n", "\n");
            for choice in 0..CHOICES {
                fs::write(into.join(format!("{number}-{choice}")), [&[choice], piece.as_bytes()].concat())?;
            }
            number += 1;
        }
    }
    Ok(words.iter().filter(|word| word.is_ascii()).map(|word| format!("\"{word}\"\n")).collect())
}
