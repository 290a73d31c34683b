//! SQLite's prepared select in a loop in C, on the same SQLite that étalon is built with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::process::ask;

const SOURCE: &str = include_str!("select_loop.c");

/// SQLite's page cache in the comparison, as `PRAGMA cache_size` takes it: 200 MB, so that the table is in it.
pub const CACHE_SIZE: i32 = -200_000;

/// Compiles the loop. `sqlite` is the folder of the compiled SQLite.
///
/// # Errors
/// There is no C compiler, or it fails.
pub fn compile(folder: &Path, sqlite: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join("select_loop.c"), folder.join("select_loop"));
    std::fs::write(&source, SOURCE).with_context(|| format!("writing {}", source.display()))?;
    let mut command = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    command.args(["-O2", "-Wall", "-Werror", "-o"]).arg(&program).arg(&source).arg(sqlite.join("libsqlite3.a"));
    command.args(["-lpthread", "-ldl", "-lm"]);
    ask(command).context("compiling the loop in C")?;
    Ok(program)
}

/// The command of a run.
pub fn command(program: &Path, folder: &Path, seconds: u32, reads_clock: bool) -> Command {
    let mut command = Command::new(program);
    command.arg(folder.join("loop.db")).arg(seconds.to_string()).arg(CACHE_SIZE.to_string());
    command.arg(if reads_clock { "clock" } else { "no-clock" });
    command
}

/// Selects and seconds.
///
/// # Errors
/// The loop printed something else.
pub fn counts(output: &str) -> Result<(f64, f64)> {
    let mut words = output.split_whitespace().map(str::parse::<f64>);
    let mut next = || words.next().and_then(Result::ok).with_context(|| format!("the loop printed {output}"));
    Ok((next()?, next()?))
}
