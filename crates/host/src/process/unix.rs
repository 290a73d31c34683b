//! Unix: starting a server that does not outlive étalon, and signals.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::sys::signal::{self, SigHandler};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::server::{ServerSpec, StopSignal};

/// What holds a child besides its handle. Nothing on Unix.
#[derive(Debug)]
pub(super) struct Tether;

/// Starts a server that the terminal's Ctrl-C does not reach.
pub(super) fn spawn(mut command: Command, spec: &ServerSpec) -> io::Result<(Child, Tether)> {
    apart_from_terminal(&mut command);
    if let Some(user) = &spec.run_as {
        // When root changes the user, `std` drops the other groups as well.
        command.uid(user.uid).gid(user.gid);
    }
    // SAFETY: between fork and exec, `hear_again` makes system calls only; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(hear_again) };
    #[cfg(target_os = "linux")]
    let child = linux::spawn(command, spec.end_signal)?;
    // macOS has no such tie: a server that a killed étalon leaves behind is found by `scratch::find_abandoned`.
    #[cfg(not(target_os = "linux"))]
    let child = command.spawn()?;
    Ok((child, Tether))
}

/// Starts a program in a process group of its own, so that the terminal's Ctrl-C reaches étalon alone.
pub(super) fn apart_from_terminal(command: &mut Command) {
    command.process_group(0);
}

/// A shell lets what it starts in the background ignore these two, and a child inherits that: a server that trusts in
/// their usual meaning would not hear that it is to stop.
fn hear_again() -> io::Result<()> {
    for heard in [signal::Signal::SIGINT, signal::Signal::SIGQUIT] {
        // SAFETY: the default action is no handler that could run at a bad moment.
        unsafe { signal::signal(heard, SigHandler::SigDfl) }?;
    }
    Ok(())
}

/// Sends a signal to one process.
pub(super) fn send(pid: u32, signal: StopSignal) -> io::Result<()> {
    Ok(kill_process(number(pid)?, raw(signal))?)
}

/// Kills a process group; that it is empty already is no error.
pub(super) fn kill_group(pid: u32) {
    if let Ok(pid) = number(pid) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn number(pid: u32) -> io::Result<Pid> {
    // 0 and 1 are never servers, and a signal to 0 would reach étalon itself.
    let number = i32::try_from(pid).ok().filter(|&pid| pid > 1).and_then(Pid::from_raw);
    number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{pid} is no server's process number")))
}

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

    /// A command to start, and where to send the child.
    type Job = (Command, mpsc::Sender<io::Result<Child>>);

    /// The thread that starts all servers. The kernel takes "parent" to be the *thread* that forked, and sends the
    /// signal when that thread ends; a worker's end must not take the server with it. This thread never ends.
    static SPAWNER: OnceLock<Result<mpsc::Sender<Job>, String>> = OnceLock::new();

    /// Starts a child that gets `signal` when étalon ends, in whatever way.
    pub(super) fn spawn(mut command: Command, signal: StopSignal) -> io::Result<Child> {
        let signal = raw(signal);
        let etalon = Pid::from_raw(std::process::id() as i32);
        let tie = move || {
            // `std` has changed the user by now, which would undo this.
            set_parent_process_death_signal(Some(signal))?;
            // Étalon may have ended before the line above: then nothing would ever be sent.
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
        let gone = |_| io::Error::other("the thread that starts servers has ended");
        spawner.send((command, reply)).map_err(|_| gone(mpsc::RecvError))?;
        child.recv().map_err(gone)?
    }

    fn start() -> Result<mpsc::Sender<Job>, String> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let run = move || {
            for (mut command, reply) in queue {
                // The asker waits for the reply, unless its thread has been torn down.
                let _ = reply.send(command.spawn());
            }
        };
        let thread = std::thread::Builder::new().name("etalon-spawn".to_owned()).spawn(run);
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
