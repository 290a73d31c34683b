//! The private servers of a part.

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use host::process::{ServerProcess, ServerSpec, StopSignal, User, chown, is_root, user_by_name};
use host::scratch::Scratch;

use super::Bench;
use super::part::Server;
use crate::run_for_output;

/// How long one of them may take until it answers.
const TIMEOUT: Duration = Duration::from_secs(90);

/// All of them. They end with it, the last one first.
pub struct Servers(Vec<ServerProcess>);

impl Drop for Servers {
    fn drop(&mut self) {
        while let Some(mut server) = self.0.pop() {
            // What does not end in order is killed with all that descends from it.
            let _ = server.stop(StopSignal::Terminate, Duration::from_secs(15));
        }
    }
}

impl Servers {
    /// Starts the part's servers one after the other, each in a folder of its own and with a free port.
    ///
    /// # Errors
    /// One of them does not answer.
    pub fn start_all(bench: &mut Bench<'_>, scratch: &Scratch) -> Result<Servers> {
        let mut servers = Servers(Vec::new());
        for server in &bench.part.servers {
            eprintln!("starting {}", server.name);
            let started = start_one(bench, server, scratch).with_context(|| format!("starting {}", server.name))?;
            servers.0.push(started);
        }
        Ok(servers)
    }

    /// Lists the servers' process numbers.
    pub fn pids(&self) -> Vec<u32> {
        self.0.iter().map(ServerProcess::pid).collect()
    }
}

/// Starts a server in a folder of its own, and waits until it is ready.
fn start_one(bench: &mut Bench<'_>, server: &Server, scratch: &Scratch) -> Result<ServerProcess> {
    let folder = scratch.path().join(&server.name);
    fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
    let user = match &server.user {
        Some(name) if is_root() => Some(user_by_name(name)?),
        _ => None,
    };
    user.as_ref().map(|user| chown(&folder, user)).transpose().context("giving the server its folder")?;
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    bench.values.add(&format!("{}_port", server.name), listener.local_addr()?.port());
    bench.values.add(&format!("{}_dir", server.name), folder.display());
    drop(listener);
    for line in &server.prepare {
        let line = bench.values.fill_in(line)?;
        let mut command = bench.programs.make_command(&as_user(user.as_ref(), &line))?;
        run_for_output(command.current_dir(&folder))?;
    }
    let words = bench.programs.split_line(&bench.values.fill_in(&server.start)?)?;
    let spec = ServerSpec::new(&words[0], folder.join("log")).with_args(&words[1..]).in_folder(&folder);
    let spec = spec.in_scratch(scratch).end_signal(StopSignal::Terminate);
    let mut process = ServerProcess::spawn(user.into_iter().fold(spec, ServerSpec::run_as))?;
    let begin = Instant::now();
    while let Err(error) = run_for_output(bench.programs.make_command(&bench.values.fill_in(&server.ready)?)?) {
        if process.has_ended()?.is_some() || begin.elapsed() > TIMEOUT {
            bail!("{error:#}; its log ends: {}", process.log_tail(5));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(process)
}

/// Makes a command line that a user runs, if one is given.
fn as_user(user: Option<&User>, line: &str) -> String {
    user.map_or_else(
        || line.to_owned(),
        |user| format!("setpriv --reuid={} --regid={} --clear-groups {line}", user.uid, user.gid),
    )
}
