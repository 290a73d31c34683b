//! Runs an engine's backup and restore programs.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use host::process::{Bounds, Limit, LimitTarget};

use super::backups::check_interrupt;
use load::error::{Failure, FailureKind};

/// Polling interval for programs that write files.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes per read of a pipe.
const CHUNK: usize = 1 << 18;
/// The number of lines of a program's output that messages show.
const SHOWN_LINES: usize = 4;
const MIB: f64 = (1u64 << 20) as f64;

/// Finds a program in `folders`, else on `PATH`; fails with a hint if it is in neither.
pub fn find_program(name: &str, folders: &[PathBuf], hint: &str) -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&path));
    all.map(|folder| folder.join(format!("{name}{EXE_SUFFIX}"))).find(|file| file.is_file()).ok_or_else(|| {
        let cause = "it is neither on PATH nor beside the server's programs";
        Failure::new(FailureKind::Missing, format!("find the program {name}"), cause).with_hint(hint)
    })
}

/// Asks a program for its version, and returns the first line of the answer; empty if it does not answer.
pub fn version_line(program: &Path) -> String {
    let answer = host::answers::ask_program(program, &["--version"]);
    let line =
        answer.and_then(|answer| Some(answer.stdout.lines().chain(answer.stderr.lines()).next()?.trim().to_owned()));
    line.unwrap_or_default()
}

pub struct ToolCall {
    program: PathBuf,
    args: Vec<OsString>,
    /// May hold a password, which must not be an argument.
    environment: Vec<(OsString, OsString)>,
    without: Vec<&'static str>,
    log: PathBuf,
    bounds: Bounds,
}

impl ToolCall {
    /// Prepares a call of a program, whose log goes into a folder.
    pub fn new(program: &Path, folder: &Path) -> ToolCall {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        ToolCall {
            program: program.to_owned(),
            args: Vec::new(),
            environment: Vec::new(),
            without: Vec::new(),
            log: folder.join(format!("{name}.said")),
            bounds: Bounds::default(),
        }
    }

    /// Adds arguments to the call.
    #[must_use]
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> ToolCall {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable of the program, if there is a value.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: Option<&str>) -> ToolCall {
        self.environment.extend(value.map(|value| (name.into(), value.into())));
        self
    }

    /// Removes a variable from the environment.
    #[must_use]
    pub fn without_env(mut self, name: &'static str) -> ToolCall {
        self.without.push(name);
        self
    }

    /// Sets the limits on the program's CPU and I/O.
    #[must_use]
    pub fn with_bounds(mut self, bounds: &Bounds) -> ToolCall {
        self.bounds = bounds.clone();
        self
    }

    /// File name of the program, for messages.
    fn program_name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Starts the program; its errors, and its output unless that goes elsewhere, go to the log.
    fn start(&self, stdin: Stdio, stdout: Option<Stdio>) -> Result<Running, Failure> {
        let tried = format!("start {}", self.program_name());
        let log = File::create(&self.log).map_err(|error| Failure::new(FailureKind::Other, &tried, error))?;
        let stdout = match stdout {
            Some(stdout) => stdout,
            None => log.try_clone().map_err(|error| Failure::new(FailureKind::Other, &tried, error))?.into(),
        };
        let mut command = Command::new(&self.program);
        for name in &self.without {
            command.env_remove(name);
        }
        command.args(&self.args).envs(self.environment.iter().cloned());
        // Its messages are parsed below.
        command.env("LC_ALL", "C").stdin(stdin).stdout(stdout).stderr(log);
        let child = command.spawn().map_err(|error| Failure::new(FailureKind::Missing, &tried, error))?;
        let mut running = Running { child, ended: false, limit: None };
        // Children inherit étalon's disk limits, but not its CPU limit.
        if self.bounds.cores.is_some() {
            running.limit = Some(apply_limit(LimitTarget::Tree(running.child.id()), &self.bounds, "the backup")?);
        }
        Ok(running)
    }

    /// Runs the program to its end; fails unless it succeeds, and after an interrupt.
    pub fn run(&self, interrupt: &AtomicBool) -> Result<(), Failure> {
        let mut running = self.start(Stdio::null(), None)?;
        loop {
            if let Some(succeeded) = running.poll_exit()? {
                return self.check_exit(succeeded);
            }
            check_interrupt(interrupt)?;
            std::thread::sleep(LOOK);
        }
    }

    /// Runs the program to its end while `take` reads its standard output; fails unless it succeeds.
    pub fn run_reading_output(
        &self,
        take: &mut dyn FnMut(&mut dyn Read) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut running = self.start(Stdio::null(), Some(Stdio::piped()))?;
        if let Some(mut out) = running.child.stdout.take() {
            take(&mut out)?;
        }
        let succeeded = running.wait_for_end()?;
        self.check_exit(succeeded)
    }

    /// Runs the program to its end with standard input from `from`; fails unless it succeeds.
    pub fn run_feeding_input(&self, from: &mut dyn Read, interrupt: &AtomicBool) -> Result<(), Failure> {
        let mut running = self.start(Stdio::piped(), None)?;
        let fed = running.child.stdin.take().map_or(Ok(()), |mut stdin| feed_input(from, &mut stdin, interrupt));
        match fed {
            Ok(()) => {}
            // It has ended, and reports the reason itself.
            Err(Fed::Pipe) => {}
            Err(Fed::Failed(failure)) => return Err(failure),
        }
        let succeeded = running.wait_for_end()?;
        self.check_exit(succeeded)
    }

    /// Fails unless the program succeeded, with the lines of its log that say why.
    fn check_exit(&self, succeeded: bool) -> Result<(), Failure> {
        if succeeded {
            return Ok(());
        }
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let said = self.last_words(&said);
        let full = ["No space left", "Errcode: 28", "errno: 28", "Disk full"].iter().any(|words| said.contains(words));
        let kind = if full { FailureKind::DiskFull } else { FailureKind::Other };
        Err(Failure::new(kind, format!("run {}", self.program_name()), format!("it failed: {said}")))
    }

    /// Picks the last lines of a program's log that name an error, else its last ones.
    fn last_words(&self, said: &str) -> String {
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let telling: Vec<&str> = lines
            .iter()
            .filter(|line| {
                let lower = line.to_lowercase();
                lower.contains("error") || lower.contains("fatal") || lower.contains("could not")
            })
            .copied()
            .collect();
        let lines = if telling.is_empty() { lines } else { telling };
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        if last.is_empty() { "it said nothing".to_owned() } else { last.join("; ") }
    }
}

enum Fed {
    Pipe,
    Failed(Failure),
}

/// Copies a reader to the program's standard input until the reader ends.
fn feed_input(from: &mut dyn Read, into: &mut dyn Write, interrupt: &AtomicBool) -> Result<(), Fed> {
    let mut buffer = vec![0; CHUNK];
    loop {
        check_interrupt(interrupt).map_err(Fed::Failed)?;
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => match into.write_all(&buffer[..bytes]) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(Fed::Pipe),
                Err(error) => return Err(Fed::Failed(Failure::new(FailureKind::Other, "feed a program", error))),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let failure = Failure::new(FailureKind::Other, "read the backup", error);
                return Err(Fed::Failed(failure));
            }
        }
    }
}

/// Makes words that say what is limited and to how much, for a message.
pub fn limit_words(what: &str, bounds: &Bounds) -> String {
    let cores = bounds.cores.map(|cores| format!("{:.0} % of a core", cores * 100.0));
    let io = bounds.io.as_ref().map(|io| format!("{:.1} MiB a second on the disk", io.bytes_s as f64 / MIB));
    let parts: Vec<String> = cores.into_iter().chain(io).collect();
    format!("hold {what} to {}", parts.join(" and "))
}

/// Applies limits to processes until the result is dropped or released; fails if the machine cannot.
pub fn apply_limit(target: LimitTarget, bounds: &Bounds, what: &str) -> Result<Limit, Failure> {
    Limit::apply(target, bounds)
        .map_err(|error| Failure::new(FailureKind::Unsupported, limit_words(what, bounds), error))
}

struct Running {
    child: Child,
    ended: bool,
    /// Removed after the program has ended.
    limit: Option<Limit>,
}

impl Running {
    /// Checks without waiting if the program has ended: `Some(true)` for success, `None` while it runs.
    fn poll_exit(&mut self) -> Result<Option<bool>, Failure> {
        let status =
            self.child.try_wait().map_err(|error| Failure::new(FailureKind::Other, "watch a program", error))?;
        self.ended = status.is_some();
        Ok(status.map(|status| status.success()))
    }

    /// Waits until the program has ended; `true` for success.
    fn wait_for_end(&mut self) -> Result<bool, Failure> {
        let status =
            self.child.wait().map_err(|error| Failure::new(FailureKind::Other, "wait for a program", error))?;
        self.ended = true;
        Ok(status.success())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        drop(self.limit.take());
    }
}
