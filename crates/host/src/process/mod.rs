//! Child servers, users and process trees.

mod limit;
mod server;
mod tree;
#[cfg(unix)]
mod unix;
mod user;
#[cfg(windows)]
pub(crate) mod windows;

#[cfg(unix)]
use unix as os;
#[cfg(windows)]
use windows as os;

pub(crate) use limit::Group;
pub use limit::{Bounds, IoBound, Limit, LimitTarget};
pub use server::{Ended, ServerProcess, ServerSpec, StopSignal};
pub use tree::{is_alive, start_mark, tree_cpu, tree_io, tree_pids};
pub use user::{User, chown, is_root, user_by_name};

pub(crate) use server::SERVER_PIDS;

/// Sends a signal to any process.
pub(crate) fn send_signal(pid: u32, signal: StopSignal) -> Result<(), crate::HostError> {
    os::send(pid, signal).map_err(|cause| crate::HostError::Process { tried: "signal", pid, reason: cause.to_string() })
}

/// Whether a process ended by a signal that it cannot answer: from a user, or from a system without memory. Windows
/// does not report such an end.
pub fn was_killed(status: std::process::ExitStatus) -> bool {
    os::was_killed(status)
}

/// Makes what this process starts from now on end with it, on Windows; on Linux each server does by itself.
pub fn bind_children() -> Result<(), crate::HostError> {
    os::bind_children().map_err(|cause| crate::HostError::unavailable("tie children to étalon", cause.to_string()))
}

/// Runs a command line as a user's shell would.
pub fn shell_command(text: &str) -> std::process::Command {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = std::process::Command::new(shell);
    command.arg(option).arg(text);
    command
}
