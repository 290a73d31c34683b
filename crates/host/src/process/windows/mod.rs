//! Windows: servers that do not outlive étalon, and the nearest thing to signals.

mod restricted;

use std::fs::File;
use std::io;
use std::os::windows::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub(super) use restricted::Child;

use super::server::{ServerSpec, StopSignal};
use super::tree::tree_cpu;
use crate::system::windows::{Job, end_process, process_cpu, send_break};

/// A console group of its own, so that Ctrl-C reaches étalon alone. See CreateProcess.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;

/// Whatever étalon starts from now on ends with it, however it ends: étalon itself is in a job, its children are born
/// into it, and the job's only handle is closed by étalon's end.
pub(super) fn bind_children() -> io::Result<()> {
    own_job().map(|_| ()).map_err(io::Error::other)
}

/// The job that étalon and its children are in.
fn own_job() -> Result<&'static Job, String> {
    static OWN: OnceLock<Result<Job, String>> = OnceLock::new();
    let own = OWN.get_or_init(|| Job::around_this_process().map_err(|cause| cause.to_string()));
    own.as_ref().map_err(|reason| format!("étalon is in no job of its own: {reason}"))
}

/// CPU time of the job without étalon and those that still run.
pub fn ended_children_cpu() -> Result<Duration, String> {
    let all = own_job()?.cpu().map_err(|cause| format!("the job that étalon is in cannot be asked: {cause}"))?;
    if all < process_cpu()? {
        return Err("the job that étalon is in counts no CPU time (as under Wine)".to_owned());
    }
    Ok(all.saturating_sub(tree_cpu(std::process::id())?))
}

/// Starts a server without an administrator's rights, which PostgreSQL refuses, as root's on Unix.
pub(super) fn spawn(spec: &ServerSpec, log: File) -> io::Result<Child> {
    if spec.run_as.is_some() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "étalon runs servers as another user on Unix only"));
    }
    bind_children()?;
    restricted::spawn(spec, log, CREATE_NEW_PROCESS_GROUP)
}

/// Puts a command in a console group of its own, so that Ctrl-C reaches étalon alone.
pub(super) fn apart_from_terminal(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Sends Ctrl-Break, or ends it.
pub(super) fn send(pid: u32, signal: StopSignal) -> io::Result<()> {
    match signal {
        StopSignal::Terminate | StopSignal::Fast => send_break(pid),
        StopSignal::Immediate | StopSignal::Kill => end_process(pid),
    }
}

/// Tests whether a process was killed: exit codes do not tell.
pub(super) fn was_killed(_status: std::process::ExitStatus) -> bool {
    false
}

/// Does nothing: a server's job ends with it.
pub(super) fn kill_group(_pid: u32) {}
