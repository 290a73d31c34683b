use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
pub(super) use std::process::Child;
use std::process::{Command, ExitStatus, Stdio};

use nix::sys::signal::{self, SigHandler};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::server::{ServerSpec, StopSignal};

/// Does nothing: on Linux each server is tied to étalon by itself; see `linux::spawn`.
pub(super) fn bind_children() -> io::Result<()> {
    Ok(())
}

/// Starts a server whose output and errors go to `log`.
pub(super) fn spawn(spec: &ServerSpec, log: File) -> io::Result<Child> {
    let mut command = Command::new(&spec.program);
    command.args(&spec.args);
    for name in &spec.without_env {
        command.env_remove(name);
    }
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &spec.working_dir {
        command.current_dir(folder);
    }
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    apart_from_terminal(&mut command);
    if let Some(user) = &spec.run_as {
        // `std` drops the other groups as well when root changes the user.
        command.uid(user.uid).gid(user.gid);
    }
    // SAFETY: between fork and exec, `hear_again` makes system calls only; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(hear_again) };
    #[cfg(target_os = "linux")]
    return linux::spawn(command, spec.end_signal);
    // macOS and illumos have no such tie: `scratch::find_abandoned` finds what a killed étalon leaves behind.
    #[cfg(not(target_os = "linux"))]
    command.spawn()
}

/// Puts a command in a process group of its own, so that Ctrl-C reaches étalon alone.
pub(super) fn apart_from_terminal(command: &mut Command) {
    command.process_group(0);
}

/// A shell makes background jobs ignore SIGINT and SIGQUIT, and children inherit that: a server would not hear that it
/// is to stop.
fn hear_again() -> io::Result<()> {
    for default_again in [signal::Signal::SIGINT, signal::Signal::SIGQUIT] {
        // SAFETY: the default action is no handler that could run at a bad moment.
        unsafe { signal::signal(default_again, SigHandler::SigDfl) }?;
    }
    Ok(())
}

/// Tests whether SIGKILL ended a process.
pub(super) fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

/// Sends a signal to a process.
pub(super) fn send(pid: u32, signal: StopSignal) -> io::Result<()> {
    Ok(kill_process(number(pid)?, raw(signal))?)
}

/// An empty group is no error.
pub(super) fn kill_group(pid: u32) {
    if let Ok(pid) = number(pid) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// The process's number, unless it is one that must not get a signal.
fn number(pid: u32) -> io::Result<Pid> {
    // 0 and 1 are never servers, and a signal to 0 would reach étalon itself.
    let number = i32::try_from(pid).ok().filter(|&pid| pid > 1).and_then(Pid::from_raw);
    number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{pid} is no server's process number")))
}

/// The system's signal for a way of stopping.
fn raw(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Terminate => Signal::TERM,
        StopSignal::Fast => Signal::INT,
        StopSignal::Immediate => Signal::QUIT,
        StopSignal::Kill => Signal::KILL,
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::sync::{OnceLock, mpsc};

    use rustix::process::{Pid, getppid, set_parent_process_death_signal};

    use super::{StopSignal, raw};

    /// A command, and where to send the child.
    type Job = (Command, mpsc::Sender<io::Result<Child>>);

    /// Starts all servers. The parent-death signal is sent when the forking *thread* ends, so a worker's end would
    /// kill the server; this thread never ends.
    static SPAWNER: OnceLock<Result<mpsc::Sender<Job>, String>> = OnceLock::new();

    /// The child gets `signal` when étalon ends in any way.
    pub(super) fn spawn(mut command: Command, signal: StopSignal) -> io::Result<Child> {
        let signal = raw(signal);
        let etalon = Pid::from_raw(std::process::id() as i32);
        let tie = move || {
            // After `std` has changed the user, which would undo this.
            set_parent_process_death_signal(Some(signal))?;
            // Étalon may have ended before the line above, and nothing would be sent.
            if getppid() == etalon {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()))
            }
        };
        // SAFETY: between fork and exec, `tie` makes two system calls and neither allocates nor takes a lock.
        unsafe { command.pre_exec(tie) };
        let (reply, child) = mpsc::channel();
        let spawner = SPAWNER.get_or_init(start).as_ref().map_err(|reason| io::Error::other(reason.as_str()))?;
        let gone = "the thread that starts servers has ended";
        spawner.send((command, reply)).map_err(|_| io::Error::other(gone))?;
        child.recv().map_err(|_| io::Error::other(gone))?
    }

    /// Starts the thread that spawns processes, and lives as long as étalon.
    fn start() -> Result<mpsc::Sender<Job>, String> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("etalon-spawn".to_owned());
        let thread = thread.spawn(move || {
            for (mut command, reply) in queue {
                // The asker may be gone.
                let _ = reply.send(command.spawn());
            }
        });
        thread.map(|_| jobs).map_err(|cause| format!("cannot start the thread that starts servers: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_to_everybody_is_refused() {
        assert!(send(0, StopSignal::Kill).is_err());
        assert!(send(1, StopSignal::Kill).is_err());
        assert!(send(u32::MAX, StopSignal::Kill).is_err());
    }
}
