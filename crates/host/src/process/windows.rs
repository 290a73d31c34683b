//! Windows: starting a server that does not outlive étalon, and the nearest thing to signals.

use std::io;
use std::os::windows::process::CommandExt;
use std::process::{Child, Command};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::server::{ServerSpec, StopSignal};
use crate::system::windows::{Job, send_break};

/// A console group of its own, so that Ctrl-C reaches étalon alone. See CreateProcess.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;

/// The job that ends with étalon.
#[derive(Debug)]
pub(super) struct Tether {
    _job: Job,
}

pub(super) fn spawn(mut command: Command, spec: &ServerSpec) -> io::Result<(Child, Tether)> {
    if spec.run_as.is_some() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "étalon runs servers as another user on Unix only"));
    }
    apart_from_terminal(&mut command);
    let mut child = command.spawn()?;
    match Job::around(&child) {
        Ok(job) => Ok((child, Tether { _job: job })),
        Err(cause) => {
            child.kill()?;
            child.wait()?;
            Err(cause)
        }
    }
}

/// In a console group of its own, so that Ctrl-C reaches étalon alone.
pub(super) fn apart_from_terminal(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Sends Ctrl-Break, or ends it.
pub(super) fn send(pid: u32, signal: StopSignal) -> io::Result<()> {
    match signal {
        StopSignal::Terminate | StopSignal::Fast => send_break(pid),
        StopSignal::Immediate | StopSignal::Kill => end(pid),
    }
}

pub(super) fn kill_group(_pid: u32) {}

fn end(pid: u32) -> io::Result<()> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new().map_err(|cause| io::Error::other(format!("{cause:?}")))?;
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
    match system.process(pid) {
        Some(process) if process.kill() => Ok(()),
        Some(_) => Err(io::Error::other("the process could not be ended")),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "there is no such process")),
    }
}
