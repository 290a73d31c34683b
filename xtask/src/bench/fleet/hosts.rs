//! nats-server and agents, as processes that end with the bench.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use host::process::{ServerProcess, ServerSpec, StopSignal};
use host::scratch::Scratch;

use super::super::server::free_port;

/// How long one of them may take until it answers.
const START_PATIENCE: Duration = Duration::from_secs(90);
/// How long they may take to end.
const STOP_PATIENCE: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(20);

/// Starts an agent for each name behind the program and the URL, as one process group that ends as one.
const START_AGENTS: &str = "trap 'trap - TERM; kill 0' TERM\nprogram=$1 url=$2\nshift 2\n\
                            for name; do \"$program\" agent --nats \"$url\" --name \"$name\" \\
                            --allow 127.0.0.1 --allow-any-login & done\nwait\n";

/// Calls until what is asked for is there, or its process has ended, or it took too long.
fn await_it(process: &mut ServerProcess, what: &str, mut is_there: impl FnMut() -> bool) -> Result<()> {
    let started = Instant::now();
    while !is_there() {
        let ended = process.has_ended().context("watching it")?;
        if let Some(status) = ended {
            bail!("{what} ended ({status}): {}", process.log_tail(5));
        }
        if started.elapsed() > START_PATIENCE {
            bail!("{what} did not answer within {} s: {}", START_PATIENCE.as_secs(), process.log_tail(5));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// A private nats-server on a free port of the loopback.
pub struct Nats {
    _process: ServerProcess,
    port: u16,
}

impl Nats {
    /// Starts it with JetStream in the scratch folder.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(program: &Path, scratch: &Scratch) -> Result<Nats> {
        let (port, folder) = (free_port()?, scratch.path().join("nats"));
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        let config = folder.join("nats.conf");
        let store = folder.join("stream");
        let text = format!("listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\" }}\n", store.display());
        fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
        let spec = ServerSpec::new(program, folder.join("log")).args(["--config".into(), config.into_os_string()]);
        let spec = spec.in_scratch(scratch).end_signal(StopSignal::Terminate);
        let mut process = ServerProcess::spawn(spec).context("starting nats-server")?;
        await_it(&mut process, "nats-server", || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Nats { _process: process, port })
    }

    /// What `--nats` takes.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

/// Agents of one process group. Dropping it ends them.
pub struct Agents {
    process: ServerProcess,
}

impl Agents {
    /// Starts them, and waits until all of them serve.
    ///
    /// # Errors
    /// One of them does not.
    pub fn start(etalon: &Path, nats: &str, names: &[String], scratch: &Scratch) -> Result<Agents> {
        let log: PathBuf = scratch.path().join(format!("agents-{}.log", names.len()));
        let arguments = ["-c".to_owned(), START_AGENTS.to_owned(), "agents".to_owned()];
        let spec = ServerSpec::new("sh", &log).args(arguments).args([etalon.as_os_str()]).args([nats]).args(names);
        let spec = spec.working_dir(scratch.path()).in_scratch(scratch).end_signal(StopSignal::Terminate);
        let mut process = ServerProcess::spawn(spec).context("starting agents")?;
        let serve = || fs::read_to_string(&log).is_ok_and(|said| said.matches(" serves").count() >= names.len());
        await_it(&mut process, "a shell with agents", serve)?;
        Ok(Agents { process })
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        // What does not end in order is killed with all that descends from it.
        let _ = self.process.stop(StopSignal::Terminate, STOP_PATIENCE);
    }
}
