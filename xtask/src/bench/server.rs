//! The private servers of the bench, with the tables of all tools.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use host::process::{ServerProcess, ServerSpec, StopSignal, User};
use host::scratch::Scratch;

use super::entries::{Place, System, Transport};
use super::process::ask;

/// The role that all tools log in as.
pub const ROLE: &str = "bench";
/// Rows of sysbench's table.
pub const SBTEST_ROWS: u32 = 1_000_000;
/// Scale of pgbench's tables: 100,000 accounts each.
pub const SCALE: u32 = 10;
/// Connections that a server takes.
const MAX_CONNECTIONS: u32 = 700;
/// How long a server may take until it answers.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Settings of PostgreSQL: nothing waits for the disk, since the clients are compared and not the disk, and nothing
/// wakes up in the middle of a run.
pub const POSTGRES_SETTINGS: [(&str, &str); 7] = [
    ("shared_buffers", "1GB"),
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("autovacuum", "off"),
    ("max_wal_size", "8GB"),
    ("checkpoint_timeout", "1h"),
];
/// The same for MariaDB.
pub const MARIADB_SETTINGS: [(&str, &str); 4] = [
    ("innodb_buffer_pool_size", "1G"),
    ("innodb_flush_log_at_trx_commit", "0"),
    ("skip_log_bin", "1"),
    ("skip_name_resolve", "1"),
];

/// Where a server's programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `initdb` or `mariadb-install-db`.
    pub install: PathBuf,
    /// The server.
    pub server: PathBuf,
    /// The command line client: `psql` or `mariadb`.
    pub client: PathBuf,
}

/// A private server, which ends with this value.
pub struct Server {
    process: ServerProcess,
    system: System,
    programs: Programs,
    socket_folder: PathBuf,
    port: u16,
}

impl Server {
    /// Makes a server in the scratch folder, starts it, and waits until it answers.
    ///
    /// # Errors
    /// Its programs fail, or it does not answer.
    pub fn start(system: System, programs: Programs, scratch: &Scratch) -> Result<Server> {
        let user = server_user(system)?;
        let name = match system {
            System::Postgres => "pg",
            System::MariaDb => "my",
        };
        let folder = scratch.path().join(name);
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        if let Some(user) = &user {
            host::process::chown(&folder, user).context("giving the server its folder")?;
        }
        let port = free_port()?;
        let data = folder.join("data");
        let spec = match system {
            System::Postgres => postgres(&programs, &data, &folder, port, user.as_ref())?,
            System::MariaDb => mariadb(&programs, &data, &folder, port, user.as_ref())?,
        };
        let spec = user.into_iter().fold(spec.working_dir(&folder).in_scratch(scratch), ServerSpec::run_as);
        let process = ServerProcess::spawn(spec).context("starting the server")?;
        let mut server = Server { process, system, programs, socket_folder: folder, port };
        server.await_answer()?;
        Ok(server)
    }

    fn await_answer(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            let answer = match self.system {
                System::Postgres => self.sql("SELECT 1"),
                System::MariaDb => self.make_role(),
            };
            match answer {
                Ok(_) => return Ok(()),
                Err(error) => {
                    let ended = self.process.has_ended().context("watching the server")?.is_some();
                    if ended || start.elapsed() > START_PATIENCE {
                        return Err(error.context(format!("the server's log ends: {}", self.process.log_tail(5))));
                    }
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// MariaDB comes with `root` alone.
    fn make_role(&self) -> Result<String> {
        let mut text = String::from("CREATE DATABASE IF NOT EXISTS sbtest;");
        for host in ["localhost", "127.0.0.1"] {
            let role = format!("'{ROLE}'@'{host}'");
            text.push_str(&format!("CREATE USER IF NOT EXISTS {role}; GRANT ALL ON *.* TO {role};"));
        }
        let mut command = Command::new(&self.programs.client);
        command.args(["--no-defaults", "--user=root"]).arg(self.socket_argument("--socket=")).args(["-e", &text]);
        ask(command)
    }

    /// What a statement answers, as text without decoration.
    ///
    /// # Errors
    /// The server's.
    pub fn sql(&self, text: &str) -> Result<String> {
        let mut command = Command::new(&self.programs.client);
        match self.system {
            System::Postgres => {
                let port = self.port.to_string();
                command.args(["-XAtq", "-U", ROLE, "-p", &port, "-h"]).arg(&self.socket_folder);
                command.args(["-c", text, "postgres"]);
            }
            System::MariaDb => {
                command.args(["--no-defaults", "-NB", "--user", ROLE]).arg(self.socket_argument("--socket="));
                command.args(["-e", text, "sbtest"]);
            }
        }
        ask(command)
    }

    /// How many rows of users' tables the server has found by an index since its start: one for each point select,
    /// whatever a client claims.
    ///
    /// # Errors
    /// The server's.
    pub fn rows_served(&self) -> Result<f64> {
        let text = match self.system {
            System::Postgres => self.sql("SELECT coalesce(sum(idx_tup_fetch), 0) FROM pg_stat_user_tables")?,
            System::MariaDb => self.sql(
                "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'HANDLER_READ_KEY'",
            )?,
        };
        text.trim().parse().with_context(|| format!("reading the server's counter `{}`", text.trim()))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The URL by which étalon reaches it.
    pub fn url(&self, place: Place) -> String {
        let folder = self.socket_folder.display();
        let port = self.port;
        match (self.system, place.transport) {
            (System::Postgres, Transport::Unix) => format!("postgres://{ROLE}@/postgres?host={folder}&port={port}"),
            (System::Postgres, Transport::Tcp) => {
                format!("postgres://{ROLE}@127.0.0.1:{port}/postgres?sslmode=disable")
            }
            (System::MariaDb, Transport::Unix) => format!("mysql://{ROLE}@localhost/sbtest?socket={folder}/s"),
            (System::MariaDb, Transport::Tcp) => format!("mysql://{ROLE}@127.0.0.1:{port}/sbtest?ssl-mode=disabled"),
        }
    }

    /// The folder of its socket, as libpq takes it for a host name.
    pub fn socket_folder(&self) -> &Path {
        &self.socket_folder
    }

    /// The path of MariaDB's socket behind the name of an option.
    pub fn socket_argument(&self, option: &str) -> String {
        format!("{option}{}", self.socket_folder.join("s").display())
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(mut self) -> Result<()> {
        let signal = match self.system {
            System::Postgres => StopSignal::Immediate,
            System::MariaDb => StopSignal::Kill,
        };
        self.process.stop(signal, Duration::from_secs(10)).map(|_| ()).context("stopping the server")
    }
}

fn postgres(programs: &Programs, data: &Path, folder: &Path, port: u16, user: Option<&User>) -> Result<ServerSpec> {
    let mut command = as_user(&programs.install, user);
    command.args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username", ROLE, "-D"]).arg(data);
    command.current_dir("/");
    ask(command).context("initialising the server")?;
    let mut settings: Vec<String> = POSTGRES_SETTINGS.iter().map(|(name, value)| format!("{name}={value}")).collect();
    settings.extend([
        format!("max_connections={MAX_CONNECTIONS}"),
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        "unix_socket_permissions=0777".to_owned(),
        format!("unix_socket_directories={}", folder.display()),
    ]);
    let arguments = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
    let spec = ServerSpec::new(&programs.server, folder.join("log"));
    Ok(spec.args([OsStr::new("-D"), data.as_os_str()]).args(arguments).end_signal(StopSignal::Immediate))
}

fn mariadb(programs: &Programs, data: &Path, folder: &Path, port: u16, user: Option<&User>) -> Result<ServerSpec> {
    let mut command = as_user(&programs.install, user);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(format!("--datadir={}", data.display())).current_dir("/");
    ask(command).context("initialising the server")?;
    let mut arguments = vec!["--no-defaults".to_owned(), format!("--datadir={}", data.display())];
    arguments.extend(MARIADB_SETTINGS.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
    arguments.extend([
        format!("--socket={}", folder.join("s").display()),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--max-connections={MAX_CONNECTIONS}"),
        format!("--pid-file={}", folder.join("pid").display()),
    ]);
    Ok(ServerSpec::new(&programs.server, folder.join("log")).args(arguments))
}

/// Both servers refuse to run as root.
fn server_user(system: System) -> Result<Option<User>> {
    if !host::process::is_root() {
        return Ok(None);
    }
    let name = match system {
        System::Postgres => "postgres",
        System::MariaDb => "mysql",
    };
    let found = [name, "nobody"].iter().find_map(|name| host::process::user_by_name(name).ok());
    let Some(user) = found else { bail!("no user {name} or nobody to run the server as") };
    Ok(Some(user))
}

fn as_user(program: &Path, user: Option<&User>) -> Command {
    let Some(user) = user else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={}", user.uid), format!("--regid={}", user.gid), "--clear-groups".to_owned()]);
    command.arg(program);
    command
}

/// A port that was free a moment ago.
///
/// # Errors
/// None is.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    Ok(listener.local_addr().context("looking for a free port")?.port())
}
