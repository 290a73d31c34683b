//! The PostgreSQL server that readers of a document are taken to have.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use host::process::{ServerProcess, ServerSpec, StopSignal, User, chown, is_root, user_by_name};
use tempfile::TempDir;

use crate::requirements::POSTGRES;
use crate::run_for_output;

/// How long it may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A server in a folder of its own, without passwords, whose superuser is `me`. It ends with the document.
pub struct Postgres {
    address: String,
    _process: ServerProcess,
    _folder: TempDir,
}

impl Postgres {
    /// The address that documents name.
    pub const DOCUMENTED: &str = "127.0.0.1:5432";

    /// Makes a server of PostgreSQL in a folder of its own, and waits until it answers.
    ///
    /// # Errors
    ///
    /// PostgreSQL is not installed, or the server does not start.
    pub fn start() -> Result<Postgres> {
        let folder = tempfile::Builder::new().prefix("etalon-docs-postgres-").tempdir()?;
        // PostgreSQL refuses to run as root.
        let user = is_root().then(|| user_by_name("postgres")).transpose()?;
        user.as_ref().map(|user| chown(folder.path(), user)).transpose()?;
        let data = folder.path().join("data");
        let mut init = command_as(user.as_ref(), &POSTGRES.sibling_path("initdb")?);
        init.args(["--username=me", "--auth=trust", "--encoding=UTF8", "--locale=C", "--pgdata"]).arg(&data);
        run_for_output(init.current_dir(folder.path()))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        fs::write(
            data.join("postgresql.auto.conf"),
            format!(
                "port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n\
                 shared_preload_libraries = 'pg_stat_statements'\n"
            ),
        )?;
        let spec = ServerSpec::new(POSTGRES.sibling_path("postgres")?, folder.path().join("log"));
        let spec =
            spec.with_args(["-D".as_ref(), data.as_os_str()]).in_folder(folder.path()).end_signal(StopSignal::Fast);
        let mut process = ServerProcess::spawn(user.into_iter().fold(spec, ServerSpec::run_as))?;
        let (psql, deadline) = (POSTGRES.sibling_path("psql")?, Instant::now() + START_LIMIT);
        let url = format!("postgres://me@127.0.0.1:{port}/postgres");
        while let Err(error) = run_for_output(Command::new(&psql).args(["-c", "SELECT 1", &url])) {
            if process.has_ended()?.is_some() || Instant::now() >= deadline {
                return Err(error).context(process.log_tail(5));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Postgres { address: format!("127.0.0.1:{port}"), _process: process, _folder: folder })
    }

    /// Gives the address at which the server listens.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Makes the command of a program that `user` runs, if there is one.
fn command_as(user: Option<&User>, program: &Path) -> Command {
    let Some(user) = user else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={}", user.uid), format!("--regid={}", user.gid)]);
    command.arg("--clear-groups").arg(program);
    command
}
