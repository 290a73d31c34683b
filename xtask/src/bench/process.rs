//! Processes: found, run to their end, and what they took as seen from outside.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use host::watch::{Measured, Watch};
use wait4::Wait4 as _;

/// Where programs are looked for.
#[derive(Debug)]
pub struct Programs(Vec<PathBuf>);

impl Programs {
    /// Makes the list of folders to look for programs in: these before those of `PATH`.
    /// What Debian has there for `pgbench` is a wrapper in Perl.
    pub fn new(first: impl Iterator<Item = PathBuf>) -> Programs {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Programs(first.chain(std::env::split_paths(&path)).collect())
    }

    /// Splits a line into words as a shell does, the first of them the path of its program.
    ///
    /// # Errors
    /// A quote is not closed, or there is no such program.
    pub fn split_line(&self, line: &str) -> Result<Vec<String>> {
        let mut words = shlex::split(line).with_context(|| format!("a quote is not closed: {line}"))?;
        let name = words.first_mut().context("a command line is empty")?;
        let found = self.0.iter().map(|folder| folder.join(&*name)).find(|path| path.is_file());
        *name = found.with_context(|| format!("there is no program {name}"))?.display().to_string();
        Ok(words)
    }

    /// Makes the command of a line, without a shell.
    /// It does not have what the environment tells PostgreSQL's clients.
    ///
    /// # Errors
    /// As [`Programs::split_line`].
    pub fn make_command(&self, line: &str) -> Result<Command> {
        let words = self.split_line(line)?;
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env("PATH", std::env::join_paths(&self.0).context("a folder's name has a separator")?);
        for variable in ["PGOPTIONS", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSSLMODE"] {
            command.env_remove(variable);
        }
        Ok(command)
    }
}

/// What a process took.
#[derive(Debug)]
pub struct Took {
    /// CPU time of it and of those that it started in their own code, from start to end, in seconds.
    pub user_s: f64,
    /// The CPU time in the kernel.
    pub system_s: f64,
    /// The most memory that was resident, in bytes. Of a process smaller than the bench it is the bench's: it begins as a copy.
    pub peak_bytes: f64,
    /// What everybody but it, the servers and the bench used, as a share of all processors.
    pub foreign_share: std::result::Result<f64, String>,
}

/// Runs a command to its end, and gives the time and memory that it took.
/// What it prints goes to `stdout` and `stderr` in a folder.
///
/// # Errors
/// It does not start, or ends badly: with its last words.
pub fn run_command(mut command: Command, folder: &Path, servers: &[u32]) -> Result<Took> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    command.stdin(Stdio::null()).stdout(create_file(folder, "stdout")?).stderr(create_file(folder, "stderr")?);
    let watch = Watch::start(&Measured { listener: None, co_located: servers.to_vec() });
    let usage = command.spawn().and_then(|child| child.wait4()).with_context(|| format!("running {name}"))?;
    let watched = watch.stop();
    if !usage.status.success() {
        let said = ["stderr", "stdout"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default());
        let words: Vec<&str> = said.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()).collect();
        bail!("{name}: {}: {}", usage.status, words[words.len().saturating_sub(8)..].join("; "));
    }
    let [user_s, system_s] = [usage.rusage.utime, usage.rusage.stime].map(|time| time.as_secs_f64());
    let cores = watched.core_count().unwrap_or_else(|| host::cpu::available_cores() as f64);
    let foreign_share = watched.others.map(|load| load.mean_cores / cores);
    Ok(Took { user_s, system_s, peak_bytes: usage.rusage.maxrss as f64, foreign_share })
}

/// Makes an empty file in a folder.
fn create_file(folder: &Path, name: &str) -> Result<File> {
    File::create(folder.join(name)).with_context(|| format!("making {name}"))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        Programs::new(std::iter::empty()).make_command(&format!("sh -c '{script}'")).unwrap()
    }

    #[test]
    fn a_run_costs_its_cpu_time_and_its_memory() {
        let folder = tempfile::tempdir().unwrap();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done";
        let usage = run_command(shell(busy), folder.path(), &[]).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("stdout")).unwrap(), "done\n");
        assert!(usage.user_s > 0.01 && usage.user_s < 20.0, "{usage:?}");
        let idle = run_command(shell("sleep 0.3"), folder.path(), &[]).unwrap();
        assert!(idle.user_s < usage.user_s, "{idle:?}");
        assert!((1e5..1e8).contains(&idle.peak_bytes), "{idle:?}");
    }

    #[test]
    fn what_ends_badly_says_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let error = run_command(shell("echo no table >&2; exit 3"), folder.path(), &[]).unwrap_err();
        assert!(format!("{error:#}").contains("no table"), "{error:#}");
    }
}
