//! A server that étalon starts and ends.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::user::User;
use super::{os, tree};
use crate::error::HostError;
use crate::scratch::Scratch;

/// File in a scratch folder that lists its servers, one per line as pid and start mark.
pub(crate) const SERVER_PIDS: &str = "server.pid";
/// Grace period of a dropped server before it is killed.
const DROP_PATIENCE: Duration = Duration::from_secs(3);
/// Polling interval for a server that is stopping.
const LOOK: Duration = Duration::from_millis(2);

/// How a server is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM: MySQL, MariaDB, SQL Server and Redis shut down cleanly; PostgreSQL first waits for its clients.
    Terminate,
    /// SIGINT: PostgreSQL disconnects its clients and shuts down cleanly.
    Fast,
    /// SIGQUIT: PostgreSQL ends without a checkpoint and recovers at its next start. A process without a handler ends
    /// too, perhaps with a core file.
    Immediate,
    /// SIGKILL: ends now, whatever it is.
    Kill,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ended by itself or by the signal, in time.
    AsAsked(ExitStatus),
    /// Killed with its children after the grace period.
    Killed(ExitStatus),
}

#[derive(Clone, Debug)]
pub struct ServerSpec {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Added to étalon's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Removed from étalon's environment.
    pub without_env: Vec<OsString>,
    /// `None`: étalon's own.
    pub working_dir: Option<PathBuf>,
    /// Standard output and error are appended to it.
    pub log: PathBuf,
    /// Needs root; `None`: étalon's own user.
    pub run_as: Option<User>,
    /// The folder in which its pid is noted, to be found if étalon is killed.
    pub scratch: Option<PathBuf>,
    /// Sent when étalon ends without stopping it (Linux), and first on drop.
    pub end_signal: StopSignal,
}

impl ServerSpec {
    pub fn new(program: impl Into<PathBuf>, log: impl Into<PathBuf>) -> ServerSpec {
        ServerSpec {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            without_env: Vec::new(),
            working_dir: None,
            log: log.into(),
            run_as: None,
            scratch: None,
            end_signal: StopSignal::Kill,
        }
    }

    #[must_use]
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> ServerSpec {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> ServerSpec {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Leaves out a variable, for instance `PGOPTIONS`, which would change what is measured.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<OsString>) -> ServerSpec {
        self.without_env.push(name.into());
        self
    }

    /// Sets the working folder.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> ServerSpec {
        self.working_dir = Some(folder.into());
        self
    }

    /// Sets the user it runs as.
    #[must_use]
    pub fn run_as(mut self, user: User) -> ServerSpec {
        self.run_as = Some(user);
        self
    }

    /// Notes its pid in a scratch folder. Its working folder or an argument must lie in there, or the cleaning after a
    /// crash will not touch it.
    #[must_use]
    pub fn in_scratch(mut self, scratch: &Scratch) -> ServerSpec {
        self.scratch = Some(scratch.path().to_owned());
        self
    }

    /// Default: [`StopSignal::Kill`]. PostgreSQL leaves a shared memory segment behind when killed: give it
    /// [`StopSignal::Immediate`].
    #[must_use]
    pub fn end_signal(mut self, signal: StopSignal) -> ServerSpec {
        self.end_signal = signal;
        self
    }
}

/// Dropping it stops it and waits.
#[derive(Debug)]
pub struct ServerProcess {
    child: os::Child,
    spec: ServerSpec,
}

impl ServerProcess {
    /// Starts a server, which may not answer yet. It leads its own process group, out of Ctrl-C's reach. On Linux and
    /// Windows it ends with étalon in any case; on macOS a killed étalon leaves it to
    /// [`crate::scratch::find_abandoned`].
    pub fn spawn(spec: ServerSpec) -> Result<ServerProcess, HostError> {
        let log = OpenOptions::new().create(true).append(true).open(&spec.log);
        let log = log.map_err(HostError::at("open the server's log", &spec.log))?;
        let child = os::spawn(&spec, log).map_err(|cause| HostError::Start { program: spec.program.clone(), cause })?;
        let server = ServerProcess { child, spec };
        // On failure dropping `server` ends it.
        server.note_pid()?;
        Ok(server)
    }

    /// The process's number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What was started.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// `None` while it runs.
    pub fn has_ended(&mut self) -> Result<Option<ExitStatus>, HostError> {
        let pid = self.pid();
        self.child.try_wait().map_err(|cause| HostError::Process { tried: "look at", pid, reason: cause.to_string() })
    }

    /// CPU time with its children.
    pub fn cpu(&self) -> Result<Duration, String> {
        tree::tree_cpu(self.pid())
    }

    /// Input and output with its children.
    pub fn io(&self) -> Result<crate::disk::ProcIo, String> {
        tree::tree_io(self.pid())
    }

    /// Does not wait.
    pub fn send_signal(&mut self, signal: StopSignal) -> Result<(), HostError> {
        // A reaped process has given up its pid.
        if self.has_ended()?.is_none() { super::send_signal(self.pid(), signal) } else { Ok(()) }
    }

    /// Asks it to end and waits; after `timeout` it is killed with its children.
    pub fn stop(&mut self, signal: StopSignal, timeout: Duration) -> Result<Ended, HostError> {
        let deadline = Instant::now() + timeout;
        // A signal that cannot be sent (Windows without a console) leaves only the kill.
        if signal != StopSignal::Kill && self.send_signal(signal).is_ok() {
            loop {
                if let Some(status) = self.has_ended()? {
                    return Ok(Ended::AsAsked(status));
                }
                if Instant::now() >= deadline {
                    break;
                }
                std::thread::sleep(LOOK);
            }
        }
        let status = self.kill_tree()?;
        Ok(if signal == StopSignal::Kill { Ended::AsAsked(status) } else { Ended::Killed(status) })
    }

    /// The log's last lines for an error message; empty if there is none.
    pub fn log_tail(&self, lines: usize) -> String {
        last_lines(&self.spec.log, lines).unwrap_or_default()
    }

    /// Kills the server and its descendants, and waits for the server.
    fn kill_tree(&mut self) -> Result<ExitStatus, HostError> {
        if let Some(status) = self.has_ended()? {
            return Ok(status);
        }
        let pid = self.pid();
        // Listed before the kill, since orphans have no parent.
        let descendants: Vec<(u32, u64)> = tree::tree_pids(pid)
            .unwrap_or_default()
            .into_iter()
            .filter(|&descendant| descendant != pid)
            .filter_map(|descendant| Some((descendant, tree::start_mark(descendant).ok()?)))
            .collect();
        super::send_signal(pid, StopSignal::Kill)?;
        os::kill_group(pid);
        for (descendant, start) in descendants {
            if tree::is_alive(descendant, start) {
                // It may have ended.
                let _ = super::send_signal(descendant, StopSignal::Kill);
            }
        }
        self.child.wait().map_err(|cause| HostError::Process { tried: "wait for", pid, reason: cause.to_string() })
    }

    /// Adds this server to the list in its scratch folder.
    fn note_pid(&self) -> Result<(), HostError> {
        let Some(scratch) = &self.spec.scratch else { return Ok(()) };
        let pid = self.pid();
        // Already ended.
        let Ok(start) = tree::start_mark(pid) else { return Ok(()) };
        let path = scratch.join(SERVER_PIDS);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(format!("{pid} {start}\n").as_bytes()));
        written.map_err(HostError::at("note the server's process number in", &path))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Call `stop` to learn how it ended.
        let _ = self.stop(self.spec.end_signal, DROP_PATIENCE);
    }
}

/// The last lines of a file, from its last 64 KiB at most.
fn last_lines(path: &Path, lines: usize) -> std::io::Result<String> {
    const MOST_BYTES: u64 = 64 * 1024;
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.trim_end().lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].join("\n"))
}
