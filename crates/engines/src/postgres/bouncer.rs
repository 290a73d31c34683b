//! A private PgBouncer in front of a private server: its clients go through it, étalon's own starts and stops do not.
//!
//! <https://www.pgbouncer.org/config.html>

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use host::process::{ServerProcess, ServerSpec, StopSignal, User};
use model::catalog::PoolerSpec;
use model::plan::{Connect, PrivatePooler};
use model::{Facts, Value};

use super::connect::Endpoint;
use super::url::Address;
use crate::postgres::lane::Client;
use crate::server::private::{
    Folders, give_to_user, kind_by_log, read_program_release, server_failure, start_on_free_port, without_variables,
};
use crate::server::random_password;
use load::error::{Failure, FailureKind};

/// What étalon can start in front of a server.
pub(super) const POOLERS: &[PoolerSpec] = &[PoolerSpec { name: "pgbouncer", modes: &["transaction", SESSION] }];
const SESSION: &str = "session";
const PROGRAM: &str = "pgbouncer";
/// Folders where packages put it, for a user whose `PATH` has no folders of services.
const FOLDERS: [&str; 5] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
/// A port that is only part of its socket's name.
const SOCKET_PORT: u16 = 6432;
/// What PgBouncer itself takes for `default_pool_size`.
const USUAL_SIZE: u32 = 20;
/// What PostgreSQL itself takes for `max_connections`.
const USUAL_CONNECTIONS: u32 = 100;
/// Sessions of a server that the pool leaves to others: superusers, étalon's questions by the server's own way in.
const LEFT_FREE: u32 = 10;
/// More than any plan has, so that the pool's size alone is a limit.
const CLIENTS: u32 = 20_000;
const TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Searched for the reason of an end.
const LOG_LINES: usize = 10;
const POLL: Duration = Duration::from_millis(20);

const WRITE: &str = "write the private pooler's settings";

/// Runs until it is stopped or dropped.
pub(super) struct Bouncer {
    spec: ServerSpec,
    process: Option<ServerProcess>,
    /// What clients connect to.
    endpoint: Endpoint,
    fact: String,
    program: PathBuf,
}

/// What it stands in front of, and how clients reach it.
pub(super) struct Front<'a> {
    pub(super) pooler: &'a PrivatePooler,
    pub(super) folders: &'a Folders,
    pub(super) user: Option<&'a User>,
    pub(super) connect: Connect,
    /// An address of this machine, for `Connect::Tcp`.
    pub(super) host: &'a str,
    /// The server's own way in: a socket.
    pub(super) server: &'a Address,
    /// Its clients'.
    pub(super) role: &'a str,
    /// `max_connections` of the plan.
    pub(super) connections: Option<&'a Value>,
}

/// Finds the program `pgbouncer` on PATH or where packages put it; the failure says what to install.
///
/// # Errors
/// [`FailureKind::Missing`], with what to install.
pub(super) fn find_program() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    find_in_folders(on_path.into_iter().chain(FOLDERS.map(PathBuf::from)))
}

/// Finds the program `pgbouncer` in these folders.
fn find_in_folders(folders: impl Iterator<Item = PathBuf>) -> Result<PathBuf, Failure> {
    let mut programs = folders.map(|folder| folder.join(PROGRAM)).filter(|program| program.is_file());
    programs.next().ok_or_else(|| {
        let cause = "it is neither on PATH nor in the places where packages put it";
        Failure::new(FailureKind::Missing, "find the pooler `pgbouncer`", cause)
            .with_hint("install it: `apt install pgbouncer`, `dnf install pgbouncer`, `brew install pgbouncer`")
    })
}

impl Bouncer {
    /// Starts a private pooler in front of a server, and waits until a client has a session through it.
    ///
    /// # Errors
    /// It is not installed, or does not start: with its log's words.
    pub(super) fn start(front: &Front<'_>) -> Result<Bouncer, Failure> {
        let program = find_program()?;
        match front.connect {
            Connect::Socket => {
                Bouncer::start_at(front, program, front.folders.socket_folder().as_path(), SOCKET_PORT, None)
            }
            Connect::Tcp => {
                // Everyone on this machine reaches the port, and the server trusts the pooler.
                let password = random_password();
                start_on_free_port(front.host, |port| {
                    Bouncer::start_at(front, program.clone(), Path::new(front.host), port, Some(&password))
                })
            }
        }
    }

    /// Writes the pooler's files and starts it; `place` is its socket's folder, or its host if there is a password.
    fn start_at(
        front: &Front<'_>,
        program: PathBuf,
        place: &Path,
        port: u16,
        password: Option<&str>,
    ) -> Result<Bouncer, Failure> {
        let Front { folders, user, server, role, .. } = *front;
        let place = place.to_string_lossy();
        let endpoint = Endpoint::new(Address::without_tls(&place, port, role, &server.database, password))?;
        // In the one folder that only the server's user may enter.
        let (config, users) = (folders.next_to_socket("pooler.ini"), folders.next_to_socket("pooler-users.txt"));
        let listens = match password {
            None => format!("listen_addr =\nunix_socket_dir = {place}\nauth_type = trust"),
            Some(_) => format!("listen_addr = {place}\nunix_socket_dir =\nauth_type = scram-sha-256"),
        };
        for path in [&*place, &*server.host, &*users.to_string_lossy()] {
            refuse_path_in_settings(path)?;
        }
        let (mode, size) = (check_pool_mode(front.pooler)?, front.pool_size());
        let settings = format!(
            "[databases]\n* = host='{}' port={}\n[pgbouncer]\n{listens}\nlisten_port = {port}\nauth_file = {}\n\
             stats_users = {role}\npool_mode = {mode}\ndefault_pool_size = {size}\nmax_client_conn = {CLIENTS}\n\
             server_login_retry = 1\n",
            server.host,
            server.port,
            users.display(),
        );
        write_for_user(&config, &settings, user)?;
        write_for_user(&users, &format!("\"{role}\" \"{}\"\n", password.unwrap_or_default()), user)?;
        // Its data folder comes and goes.
        let spec =
            folders.program_spec(&program, folders.scratch_path("pooler.log")).in_folder(folders.scratch_path("."));
        let spec = spec.with_args([&config]).end_signal(StopSignal::Terminate);
        let fact = format!("{PROGRAM}: pool_mode = {mode}, default_pool_size = {size}");
        let spec = without_variables(spec, &[], user);
        let mut bouncer = Bouncer { spec, process: None, endpoint, fact, program };
        bouncer.ensure_running()?;
        Ok(bouncer)
    }

    /// Returns the endpoint that clients connect to.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Starts the pooler unless it runs, and waits until a client has a session through it.
    pub(super) fn ensure_running(&mut self) -> Result<(), Failure> {
        let tried = "start the private pooler";
        let started = Instant::now();
        let mut is_new = false;
        loop {
            let has_ended = match &mut self.process {
                Some(process) => process.has_ended().map_err(|error| server_failure(tried, error))?.is_some(),
                None => true,
            };
            match self.process.take_if(|_| has_ended) {
                Some(ended) if is_new => {
                    let log = ended.log_tail(LOG_LINES);
                    return Err(Failure { kind: kind_by_log(&log), ..server_failure(tried, last_words(&log)) });
                }
                _ if has_ended => {
                    let process =
                        ServerProcess::spawn(self.spec.clone()).map_err(|error| server_failure(tried, error))?;
                    self.process = Some(process);
                    is_new = true;
                }
                _ => {}
            }
            match self.endpoint.open_client("").map(Client::close_and_wait) {
                Ok(()) => return Ok(()),
                Err(failure) if started.elapsed() > TIMEOUT => return Err(failure),
                Err(_) => thread::sleep(POLL),
            }
        }
    }

    #[cfg(test)]
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ServerProcess::pid)
    }

    /// Ends the pooler's process; its folder may then be removed.
    pub(super) fn stop_process(&mut self) -> Result<(), Failure> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let stopped = process.stop(StopSignal::Terminate, STOP_TIMEOUT);
        stopped.map(|_| ()).map_err(|error| server_failure("stop the private pooler", error))
    }

    /// Adds the pooler's settings, release and program as facts.
    pub(super) fn add_facts(&self, facts: &mut Facts) {
        facts.record_identity("server.pooler", self.fact.clone());
        match read_program_release(&self.program, &["--version"]) {
            Some(release) => facts.record_identity("server.pooler.version", release),
            None => facts.record_unavailable(
                "server.pooler.version",
                format!("`{} --version` does not tell", self.program.display()),
            ),
        }
        facts.record_passing("server.pooler.program", self.program.display().to_string());
    }
}

impl Front<'_> {
    /// Returns the number of the pool's sessions: the planned one, or else the usual one of its mode.
    /// A pool in session mode usually has nearly as many as the server takes.
    fn pool_size(&self) -> u32 {
        let connections = self.connections.and_then(|most| most.to_string().parse().ok()).unwrap_or(USUAL_CONNECTIONS);
        let usual = if self.pooler.mode == SESSION { connections.saturating_sub(LEFT_FREE).max(1) } else { USUAL_SIZE };
        self.pooler.size.unwrap_or(usual)
    }
}

/// Returns the pooler's mode if étalon knows it, or fails.
/// It becomes a line of the settings, and a conductor's may be any text.
fn check_pool_mode(pooler: &PrivatePooler) -> Result<&'static str, Failure> {
    let PrivatePooler { name, mode, .. } = pooler;
    let known = POOLERS.iter().find(|pooler| pooler.name == name);
    known.and_then(|pooler| pooler.modes.iter().copied().find(|known| known == mode)).ok_or_else(|| {
        let cause = format!("`{}` with the mode `{}` is none", name.escape_debug(), mode.escape_debug());
        Failure::new(FailureKind::Plan, "start a pooler", cause)
    })
}

/// Fails if a path has characters that PgBouncer's settings cannot hold.
/// It becomes part of a line of the settings, and no further line.
fn refuse_path_in_settings(path: &str) -> Result<(), Failure> {
    if !path.contains(|c: char| c.is_control() || matches!(c, '\'' | '"' | '%' | ';')) {
        return Ok(());
    }
    let cause = format!("the path `{}` has characters that PgBouncer's settings cannot hold", path.escape_debug());
    Err(Failure::new(FailureKind::Plan, WRITE, cause).with_hint("name another `folder`, or set TMPDIR"))
}

/// Writes a file that the server's user can read.
fn write_for_user(file: &Path, text: &str, user: Option<&User>) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| server_failure(WRITE, error))?;
    give_to_user(file, user).map_err(|error| server_failure(WRITE, error))
}

/// Extracts the errors and warnings of a log, without each line's time and process; all of it if there are none.
fn last_words(log: &str) -> String {
    let messages: Vec<&str> = log
        .lines()
        .filter_map(|line| {
            ["FATAL ", "ERROR ", "WARNING "].iter().find_map(|word| line.find(word)).map(|at| &line[at..])
        })
        .collect();
    if messages.is_empty() { log.trim().replace('\n', "; ") } else { messages.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_program_is_named_with_what_installs_it() {
        let folder = tempfile::tempdir().unwrap();
        let failure = find_in_folders([folder.path().to_owned()].into_iter()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert!(failure.tried.contains("pgbouncer") && failure.hint.unwrap().contains("apt install pgbouncer"));
        fs::write(folder.path().join(PROGRAM), "").unwrap();
        assert_eq!(find_in_folders([folder.path().to_owned()].into_iter()).unwrap(), folder.path().join(PROGRAM));
    }

    #[test]
    fn path_with_a_line_of_its_own_is_refused() {
        assert_eq!(refuse_path_in_settings("/var/tmp/etalon-pg 1/s"), Ok(()));
        for path in ["/tmp/a\nauth_type = any", "/tmp/a'b", "/tmp/\u{85}"] {
            assert_eq!(refuse_path_in_settings(path).unwrap_err().kind, FailureKind::Plan, "{path}");
        }
    }

    #[test]
    fn a_mode_that_is_none_is_refused_before_it_is_written() {
        let with = |name: &str, mode: &str| {
            let pooler = PrivatePooler { name: name.to_owned(), mode: mode.to_owned(), size: None };
            check_pool_mode(&pooler).map_err(|failure| failure.kind)
        };
        assert_eq!(with(PROGRAM, SESSION), Ok(SESSION));
        for (name, mode) in [(PROGRAM, "session\nlogfile = /tmp/x"), (PROGRAM, "statement"), ("odyssey", SESSION)] {
            assert_eq!(with(name, mode), Err(FailureKind::Plan), "{mode}");
        }
    }

    #[test]
    fn reason_of_an_end_is_told_without_the_time() {
        let log = "2026-01-01 00:00:00.000 UTC [7] ERROR cannot bind: Address already in use\n\
                   2026-01-01 00:00:00.000 UTC [7] LOG process up\n";
        assert_eq!(last_words(log), "ERROR cannot bind: Address already in use");
        assert_eq!(last_words("a\nb\n"), "a; b");
    }
}
