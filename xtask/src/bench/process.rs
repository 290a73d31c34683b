//! A load generator's run as seen from outside: what it printed, and what it took of the machine.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use host::cpu::CpuSample;
use wait4::{ResUse, Wait4 as _};

/// How often a running tool is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a tool may take on top of the time that it was asked to run.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a run took.
#[derive(Debug)]
pub struct Usage {
    /// Its standard output.
    pub stdout: String,
    /// CPU time of the whole process, user and system, from its start to its end.
    pub cpu_s: f64,
    /// The most memory that it had resident. None where the operating system does not tell it of a running process.
    pub peak_rss_bytes: Option<u64>,
    /// CPU time of the server and its children meanwhile.
    pub server_cpu_s: Option<f64>,
    /// What everybody but the tool, its server and the bench used, as a share of all processors.
    pub foreign_share: Option<f64>,
}

/// Runs a tool to its end. `server` is the process number of the server that it works on.
///
/// # Errors
/// It does not start, does not end within its time, or ends badly: with what it printed.
pub fn run(mut command: Command, server: Option<u32>, length: Duration) -> Result<Usage> {
    let name = command.get_program().to_string_lossy().into_owned();
    for variable in ["PGOPTIONS", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSSLMODE"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let servers: Vec<u32> = server.into_iter().collect();
    let server_cpu = || server.and_then(|pid| host::process::tree_cpu(pid).ok());
    let (before, cpu_before) = (CpuSample::take_with(&servers), server_cpu());
    let mut child = command.spawn().with_context(|| format!("starting {name}"))?;
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let (usage, peak_rss_bytes) = watch(&mut child, length + PATIENCE).with_context(|| format!("running {name}"))?;
    let (after, cpu_after) = (CpuSample::take_with(&servers), server_cpu());
    let (stdout, stderr) = (text(stdout), text(stderr));
    if !usage.status.success() {
        let words: Vec<&str> = stderr.lines().chain(stdout.lines()).filter(|line| !line.is_empty()).collect();
        let last = words[words.len().saturating_sub(8)..].join("; ");
        bail!("{name}: {}: {last}", usage.status);
    }
    let cpu_s = (usage.rusage.utime + usage.rusage.stime).as_secs_f64();
    let foreign_share = CpuSample::between(&before, &after)
        .ok()
        .map(|machine| (machine.foreign_share - cpu_s / machine.of_core_seconds.max(f64::EPSILON)).max(0.0));
    let server_cpu_s = cpu_after.zip(cpu_before).map(|(after, before)| after.saturating_sub(before).as_secs_f64());
    Ok(Usage { stdout, cpu_s, peak_rss_bytes, server_cpu_s, foreign_share })
}

/// Waits for the end, and notes the memory's peak on the way. What `wait4` says of it would be the peak of the bench
/// itself where that is higher: a process begins as a copy of its parent.
fn watch(child: &mut Child, patience: Duration) -> Result<(ResUse, Option<u64>)> {
    let start = Instant::now();
    let mut peak = None;
    loop {
        peak = peak_rss_bytes(child.id()).or(peak);
        if let Some(usage) = child.try_wait4().context("waiting for its end")? {
            return Ok((usage, peak));
        }
        if start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            bail!("it did not end within {} s", patience.as_secs());
        }
        thread::sleep(LOOK);
    }
}

/// The high-water mark that Linux keeps for a program from its start.
fn peak_rss_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn text(reader: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

/// Runs a command of the preparation, and gives what it printed.
///
/// # Errors
/// It does not start, or ends badly: with what it printed.
pub fn ask(mut command: Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_run_costs_its_cpu_time_and_its_memory() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done";
        let usage = run(shell(busy), None, Duration::from_secs(5)).unwrap();
        assert_eq!(usage.stdout, "done\n");
        assert!(usage.cpu_s > 0.01 && usage.cpu_s < 20.0, "{usage:?}");
        let idle = run(shell("sleep 0.3"), None, Duration::from_secs(5)).unwrap();
        assert!(idle.cpu_s < usage.cpu_s, "{idle:?}");
        if cfg!(target_os = "linux") {
            assert!((100_000..50_000_000).contains(&idle.peak_rss_bytes.unwrap()), "{idle:?}");
        }
    }

    #[test]
    fn what_ends_badly_says_its_last_words() {
        let error = run(shell("echo no table >&2; exit 3"), None, Duration::from_secs(5)).unwrap_err();
        assert!(format!("{error:#}").contains("no table"), "{error:#}");
    }
}
