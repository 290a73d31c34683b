//! A server of Windows as a system: one that étalon for Windows starts itself, and one next to a server of Linux.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::trials::{Bench, TIMEOUT, ensure_said};
use crate::{docs, releases, run_for_output};

/// Gives the folder of PostgreSQL's programs for Windows, fetched at the first call.
pub fn programs_folder(root: &Path) -> Result<PathBuf> {
    releases::POSTGRES_FOR_WINDOWS.ensure_fetched(&root.join("target/servers"))
}

/// Memory that a server shares from its start. Under Wine its processes cannot share what it takes later, and hang.
const SHARED: &str = "64MB";

/// Writes a plan with a private server of étalon's own, with the programs of a folder of Windows.
fn private_plan(bin_dir: &Path) -> String {
    format!(
        "[systems.windows]\nserver = {{ engine = \"postgres\", connect = \"tcp\", bin_dir = '{}' }}\n\
         settings = {{ min_dynamic_shared_memory = \"{SHARED}\" }}\n\
         [[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-update\"\nclients = 2\n\
         [schedule]\nrounds = 1\nwarmup = \"100ms\"\nduration = \"1s\"\n",
        windows_path(bin_dir)
    )
}

/// Converts a path to the one by which Wine shows a file of Linux's root.
fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.display().to_string().replace('/', "\\"))
}

/// Tries that étalon starts a server without an administrator's rights, measures it, and removes it.
pub fn try_private_server(bench: &Bench<'_>) -> Result<()> {
    let bin_dir = programs_folder(bench.root)?;
    fs::write(bench.path("private.toml"), private_plan(&bin_dir))?;
    let said = bench.run_etalon("run private.toml -o private", 0)?;
    ensure_said(&said, &["windows", "throughput of select-update", "neither Windows nor Linux"])?;
    ensure!(running_processes(&bin_dir).is_empty(), "its server still runs");
    Ok(())
}

/// Tries that a killed étalon takes its server with it.
pub fn try_killed_with_etalon(bench: &Bench<'_>) -> Result<()> {
    let bin_dir = programs_folder(bench.root)?;
    fs::write(bench.path("long.toml"), private_plan(&bin_dir).replace("duration = \"1s\"", "duration = \"600s\""))?;
    let mut etalon = bench.etalon_command("run long.toml -o long").stderr(Stdio::null()).spawn()?;
    let started = wait_for(|| {
        Ok(bench.find_store("long").is_ok() && running_processes(&bin_dir).len() > 3 || etalon.try_wait()?.is_some())
    });
    let has_ended = etalon.try_wait()?;
    etalon.kill()?;
    etalon.wait()?;
    started.context("its server was not started")?;
    ensure!(has_ended.is_none(), "étalon ended by itself");
    wait_for(|| Ok(running_processes(&bin_dir).is_empty()))
        .with_context(|| format!("still running: {:?}", running_processes(&bin_dir)))
}

/// Tries the same plan on a server of Linux and on one of Windows, in one report: the question of 2016.
pub fn try_next_to_linux(bench: &Bench<'_>) -> Result<()> {
    let bin_dir = programs_folder(bench.root)?;
    let data = bench.path("pgdata");
    let words = ["-A", "trust", "-U", "etalon", "-E", "UTF8", "--locale", "C", "--no-sync", "-D"];
    run_for_output(bench.wine.windows_command(&bin_dir.join("initdb.exe")).args(words).arg(windows_path(&data)))?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let pg_ctl = || {
        let mut command = bench.wine.windows_command(&bin_dir.join("pg_ctl.exe"));
        command.args(["-D", &windows_path(&data)]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let options = format!("-p {port} -h 127.0.0.1 -c max_connections=300 -c min_dynamic_shared_memory={SHARED}");
    let log = windows_path(&bench.path("pg.log"));
    pg_ctl().args(["start", "-W", "-l", &log, "-o", &options]).status().context("starting pg_ctl.exe")?;
    wait_for(|| Ok(TcpStream::connect(("127.0.0.1", port)).is_ok()))
        .context("the server of Windows does not answer")?;
    let ran = run_side_by_side(bench, port);
    pg_ctl().args(["stop", "-m", "immediate"]).status().context("stopping the server of Windows")?;
    wait_for(|| Ok(running_processes(&bin_dir).is_empty()))?;
    ran
}

/// Runs a plan on a server of Linux and on the one of Windows at a port, and checks the report.
fn run_side_by_side(bench: &Bench<'_>, port: u16) -> Result<()> {
    let plan = fs::read_to_string(bench.root.join("plans/postgresql-select-update.toml"))?;
    let systems = format!(
        "[systems.linux]\nserver = {{ engine = \"postgres\", connect = \"tcp\" }}\nsettings = {{ max_connections = 300 }}\n\
         [systems.windows]\nurl = \"postgres://etalon@127.0.0.1:{port}/postgres?connect_timeout=100\"\n\n"
    );
    let (before, rest) = plan.split_once("[systems.postgresql]").context("the plan has another system")?;
    let (_, after) = rest.split_once("[[benchmarks]]").context("the plan has no benchmarks")?;
    fs::write(bench.path("both.toml"), format!("{before}{systems}[[benchmarks]]{after}"))?;
    let mut command = Command::new(docs::etalon_path(bench.root)?);
    command.args(["run", "both.toml", "--quick", "-o", "both"]).current_dir(bench.path(""));
    let said = run_for_output(&mut command)?;
    ensure_said(&said, &["A = linux, B = windows", "creation", "tasks", "figures are of neither"])?;
    let page = fs::read_to_string(bench.find_store("both")?.with_extension("html"))?;
    ensure_said(&page, &["figures are of neither"])
}

/// Lists the processes in `/proc` that run programs of a folder of Windows.
fn running_processes(bin_dir: &Path) -> Vec<PathBuf> {
    let programs = windows_path(bin_dir);
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|process| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('/', "\\").contains(&programs)
    })
    .collect()
}

/// Waits until a condition holds; fails after a timeout.
fn wait_for(mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so()? {
        ensure!(Instant::now() < deadline, "nothing happened within {} s", TIMEOUT.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
